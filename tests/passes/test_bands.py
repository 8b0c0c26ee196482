"""Unit vectors keep to their diagonals, and Jacobians are what dense unit vectors give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.passes.bands import MOST
from tests.properties.calling import every_call

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
    assert set(square) <= {"add_slice", "reshape", "permute"}
    assert square.count("add_slice") == 3


def test_a_matrix_in_front_is_not_multiplied_by_a_unit_matrix() -> None:
    A, B = np.ones((3, 4)), np.ones((2, 3))
    program = fd.trace(fd.jacobian(lambda x, A, B: B @ np.tanh(A @ x), mode="forward"))(
        np.ones(4), A, B
    )
    products = [eq for eq in program.equations if eq.primitive.name == "contract"]
    assert [len(eq.results[0].type.shape) for eq in products] == [1, 2]


def test_what_spreads_over_many_diagonals_is_dense() -> None:
    n = 4 * MOST

    def f(x: Any) -> Any:
        return sum(np.pad(x[k:], (0, k)) * float(k + 1) for k in range(2 * MOST))

    offset = np.subtract.outer(np.arange(n), np.arange(n)) * -1.0
    expected = np.where((offset >= 0) & (offset < 2 * MOST), offset + 1.0, 0.0)
    np.testing.assert_array_equal(fd.jacobian(f)(np.ones(n)), expected)
