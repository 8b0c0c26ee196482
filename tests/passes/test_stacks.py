"""Jacobians by entries are what dense unit vectors give, and are written by slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from tests.properties.calling import every_call
from tests.properties.every_way import assert_every_way_agrees

W = np.random.default_rng(0).normal(size=(5, 6))
V = np.random.default_rng(1).normal(size=(6, 4))


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


FUNCTIONS = {
    "elementwise": lambda x: np.sin(x) * x / (1.0 + x * x),
    "shifted": lambda x: x[1:] * np.exp(x[:-1]) - 2.0 * x[1:],
    "padded": lambda x: np.pad(x[2:] ** 2, (1, 3)) + np.pad(x, 1),
    "masked": lambda x: np.where(x > 0.0, np.sqrt(np.where(x > 0.0, x, 1.0)), x * x),
    "infinite slope beside a mask": lambda x: np.where(x > 0.0, np.sqrt(x), 0.0),
    "product beside a mask": lambda x: np.where(x > 0.5, x * x, W.T @ (W @ x)),
    "sum": lambda x: np.sum(x * x) * x,
    "sums of slices": lambda x: np.stack([np.sum(x[1:] * x[:-1]), np.sum(x[2:] ** 3), x[0]]),
    "product in front": lambda x: np.tanh(W @ (x * x)),
    "product behind": lambda x: np.cos(x * 2.0) @ V,
    "product of shifts": lambda x: W[:, 1:] @ (x[1:] * x[:-1]) + W @ x,
    "scaled by a dense vector": lambda x: (x @ x) * x,
    "reshaped": lambda x: np.sin(x.reshape(2, 3)) * x.reshape(2, 3),
    "transposed": lambda x: np.sin(x.reshape(2, 3)).T @ x.reshape(2, 3),
    "reversed": lambda x: x[::-1] * x,
    "strided": lambda x: x[::2] * x[1::2],
    "cumulated": lambda x: np.cumsum(x * x),
    "many diagonals": lambda x: sum(np.pad(x[k:], (0, k)) * float(k + 1) for k in range(6)),
    "two outputs": lambda x: (x * x, {"y": np.sum(np.exp(x)), "z": x[:0]}),
    "rolled": lambda x: np.roll(x, 1) * x - np.roll(x, -2),
    "rolled grid": lambda x: (
        np.roll(np.sin(x).reshape(2, 3), 1, 1) + np.roll(x.reshape(2, 3), 1, 0)
    ),
    "padded grid": lambda x: (np.pad(x.reshape(2, 3), 1)[1:-1, :-2] * x.reshape(2, 3)).ravel(),
    "turned around": lambda x: np.rot90(x.reshape(2, 3)) * np.flip(x.reshape(3, 2)),
    "sum over an axis": lambda x: np.sum(np.sin(x.reshape(2, 3)), axis=0) * x[:3],
    "matrix of vectors": lambda x: np.outer(np.sin(x), x),
    "repeated": lambda x: np.tile(np.exp(x), 2) * x[2],
    "without elements": lambda x: np.sin(x[:0]),
    "complex": lambda x: np.exp(1j * x),
    "a number": rosenbrock,
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_jacobian_is_that_of_dense_unit_vectors(name: str, mode: Any) -> None:
    f: Any = FUNCTIONS[name]
    if name == "complex" and mode == "reverse":
        mode = None
    x = np.array([0.3, -0.7, 1.1, 0.0, 0.9, -0.2])
    with np.errstate(all="ignore"):
        found = fd.jacobian(f, mode=mode)(x)
        expected = fd.jacobian(f, mode=mode, chunk_size=1)(x)
        compiled = fd.jit(fd.jacobian(f, mode=mode))(x)
    for results in (found, compiled):
        pairs = zip(*(fd.pytree.flatten(r)[0] for r in (results, expected)), strict=True)
        for y, z in pairs:
            np.testing.assert_allclose(y, z, rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from("*+s<>pv"), st.integers(0, 5)), max_size=8),
    st.sampled_from(["forward", "reverse"]),
)
def test_random_stencils_have_the_jacobian_of_dense_unit_vectors(steps: Any, mode: Any) -> None:
    def f(x: Any) -> Any:
        values = [x]
        for name, k in steps:
            y = values[k % len(values)]
            if name in "*+":
                values.append(y * values[-1] if name == "*" else y + values[-1])
            elif name == "s":
                values.append(np.sin(y))
            elif name == "v":
                values.append(y * np.sum(values[-1]))
            elif name == "p":
                values.append(np.pad(y[1:-1], 1))
            else:
                values.append(np.pad(y[1:], (0, 1)) if name == "<" else np.pad(y[:-1], (1, 0)))
        return values[-1]

    x = np.linspace(-0.9, 0.8, 7)
    found = every_call(fd.jacobian(f, mode=mode), x)
    np.testing.assert_allclose(found, fd.jacobian(f, mode=mode, chunk_size=1)(x), atol=1e-11)


MOVES: dict[str, Callable[[Any], Any]] = {
    "rolled": lambda y: np.roll(y, 1, 1),
    "rolled as a vector": lambda y: np.roll(y, 2),
    "flipped": lambda y: y[::-1],
    "transposed": lambda y: y.T,
    "rotated": np.rot90,
    "cut and padded": lambda y: np.pad(y[1:, :-1], ((0, 1), (1, 0))),
    "every other row": lambda y: np.repeat(y[::2], 2, 0)[:3],
    "added to sums": lambda y: y + np.sum(y, 0),
    "added to itself elsewhere": lambda y: y[::-1] + np.roll(y, 1, 0),
    "multiplied": lambda y: y * np.sin(y),
}


@pytest.mark.slow
@given(st.lists(st.sampled_from(sorted(MOVES)), min_size=1, max_size=4))
def test_all_ways_to_derivatives_of_what_moves_in_a_grid_agree(names: list[str]) -> None:
    def f(x: Any) -> list[Any]:
        for name in names:
            x = MOVES[name](x)
        return [x]

    assert_every_way_agrees(f, [np.linspace(-0.9, 0.8, 9).reshape(3, 3)], order=2)


def test_two_arguments_are_one_space() -> None:
    def f(a: Any, b: Any) -> Any:
        return a[1:] * b[:-1], np.outer(a, b)

    a, b = np.array([1.0, 2.0, -0.5]), np.array([0.3, 0.1, 4.0])
    for mode in ("forward", "reverse"):
        found = fd.jacobian(f, argnums=(0, 1), mode=mode)(a, b)
        expected = fd.jacobian(f, argnums=(0, 1), mode=mode, chunk_size=1)(a, b)
        for pair, other in zip(found, expected, strict=True):
            for y, z in zip(pair, other, strict=True):
                np.testing.assert_allclose(y, z)


def test_a_hessian_of_neighbours_works_on_diagonals_only() -> None:
    n = 50
    program = fd.trace(fd.hessian(rosenbrock))(np.linspace(-1.0, 1.0, n))
    square = [eq.primitive.name for eq in program.equations if eq.results[0].type.size >= n * n]
    assert set(square) == {"add_slice", "reshape"}
    assert square.count("add_slice") == 4


def test_a_matrix_in_front_is_not_multiplied_by_a_unit_matrix() -> None:
    A, B = np.ones((3, 4)), np.ones((2, 3))
    program = fd.trace(fd.jacobian(lambda x, A, B: B @ np.tanh(A @ x), mode="forward"))(
        np.ones(4), A, B
    )
    products = [eq for eq in program.equations if eq.primitive.name == "contract"]
    assert [len(eq.results[0].type.shape) for eq in products] == [1, 2]


GRID: dict[str, tuple[Callable[[Any], Any], int]] = {
    "stencil": (lambda u: np.pad(u, 1)[1:-1, :-2] + np.pad(u, 1)[:-2, 1:-1] - 3.0 * u**2, 3),
    "periodic stencil": (lambda u: np.roll(u, 1, 0) * u + np.roll(u, -1, 1), 5),
    "stencil, flat": (lambda u: (np.pad(u, 1)[2:, 1:-1] + np.pad(u, 1)[1:-1, 2:]).ravel(), 2),
    "every other row": (lambda u: u[::2, 1::3] ** 2, 1),
    "rows backwards": (lambda u: np.sin(u)[::-1], 0),
    "transposed": (lambda u: np.sin(u).T, 0),
    "sums of rows": (lambda u: np.sum(np.sin(u), axis=1), 1),
}
"""Functions of a grid, and how many slices their Jacobian has at least; 0 where it has others."""


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", GRID)
def test_jacobians_of_grids_are_written_without_images_of_unit_vectors(
    name: str, mode: Any
) -> None:
    f, slices = GRID[name]
    u = np.cos(np.arange(90.0)).reshape(9, 10)
    derive = fd.jacobian(f, mode=mode)
    np.testing.assert_allclose(every_call(derive, u), fd.jacobian(f, chunk_size=1)(u), atol=1e-14)
    program = fd.trace(derive)(u)
    whole = program.outputs[0].type.size
    square = [eq.primitive.name for eq in program.equations if eq.results[0].type.size >= whole]
    assert set(square) <= {"add_slice", "scatter_add", "reshape"}
    assert square.count("add_slice") >= slices or "scatter_add" in square


def test_what_spreads_over_many_diagonals() -> None:
    n, width = 32, 16

    def f(x: Any) -> Any:
        return sum(np.pad(x[k:], (0, k)) * float(k + 1) for k in range(width))

    offset = np.subtract.outer(np.arange(n), np.arange(n)) * -1.0
    expected = np.where((offset >= 0) & (offset < width), offset + 1.0, 0.0)
    np.testing.assert_array_equal(fd.jacobian(f)(np.ones(n)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_other_dtypes_and_short_vectors(n: int, dtype: Any) -> None:
    def f(x: Any) -> Any:
        return {"a": np.roll(x, 1) * x - x[::-1], "b": np.sum(x**3) * x[n // 2 :]}

    x = np.linspace(-0.9, 0.8, n).astype(dtype)
    options: dict[str, Any] = {"holomorphic": dtype == np.complex64}
    found = every_call(fd.jacobian(f, **options), x)
    expected = fd.jacobian(f, chunk_size=1, **options)(x)
    for name in found:
        assert found[name].dtype == dtype
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, atol=1e-6)


def test_entries_go_through_further_transforms() -> None:
    def f(x: Any) -> Any:
        return np.roll(x, 1) ** 2 * x

    x, t = np.linspace(-0.9, 0.8, 6), np.arange(6.0)
    J = fd.jacobian(f)
    second = fd.jacobian(J)(x)
    np.testing.assert_allclose(second, fd.jacobian(fd.jacobian(f, chunk_size=1), chunk_size=2)(x))
    np.testing.assert_allclose(fd.jvp(J, (x,), (t,))[1], second @ t)
    np.testing.assert_allclose(fd.vmap(J)(np.stack([x, t])), [J(x), J(t)])
    looped = fd.scan(lambda c, _: (c + J(c)[0], None), x, length=3)[0]
    expected = x
    for _ in range(3):
        expected = expected + J(expected)[0]
    np.testing.assert_allclose(looped, expected)


def test_entries_do_not_double_with_each_step() -> None:
    def simulated(p: Any) -> Any:
        y = np.stack([p[0], p[1]])
        for _ in range(6):
            y = y + 0.1 * np.stack([p[2] * y[0] - y[0] * y[1], y[0] * y[1] - p[3] * y[1]])
        return y

    p = np.array([1.0, 0.5, 1.5, 0.7])
    jacobian = fd.jacobian(simulated)
    assert len(fd.trace(jacobian)(p).equations) < 500
    rows = [fd.grad(lambda p, k=k: simulated(p)[k])(p) for k in range(2)]
    np.testing.assert_allclose(jacobian(p), rows, rtol=1e-12)
