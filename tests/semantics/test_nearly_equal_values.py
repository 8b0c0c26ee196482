"""Eigenvalues and singular values that are nearly equal: no digit is lost without a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError

Function = Callable[[Any], Any]
Factored = Callable[[Any, Any, Any], Any]
"""Of U, s and V; of a Hermitian matrix U is V."""

RANDOM = np.random.default_rng(47)


def _adjoint(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


def _random(*shape: int, real: bool = True) -> Any:
    return RANDOM.normal(size=shape) + (0 if real else 1j * RANDOM.normal(size=shape))


def _unitary(n: int, *, real: bool) -> Any:
    return np.linalg.qr(_random(n, n, real=real))[0]


def _late(u: Any, s: Any, v: Any) -> Any:
    e = np.exp(s)
    return (u[:, :2] * e[:2]) @ _adjoint(v[:, :2])


def _largest_first(u: Any, s: Any, v: Any) -> Any:
    count = s.shape[-1]
    u, s, v = u[..., :count][..., ::-1], s[..., ::-1], v[..., :count][..., ::-1]
    return (u[..., -2:] / s[..., None, -2:]) @ _adjoint(v)[..., -2:, :]


def _last(u: Any, s: Any, v: Any) -> Any:
    return (u[:, 2 : len(s)] * np.sin(s[2:])) @ _adjoint(v[:, 2 : len(s)])


def _sliced_behind(u: Any, s: Any, v: Any) -> Any:
    return (u[:, : len(s)] * np.cos(s))[:, 1::-1] @ _adjoint(v[:, 1::-1])


OF_SOME: dict[str, Factored] = {
    "projector": lambda u, _s, v: u[:, :2] @ _adjoint(v[:, :2]),
    "truncated": lambda u, s, v: (u[..., :2] * s[..., None, :2]) @ _adjoint(v[..., :2]),
    "the last": _last,
    "a diagonal matrix": lambda u, s, v: u[:, :2] @ np.diag(s[:2] ** 2) @ _adjoint(v)[:2],
    "a part of an exponential": _late,
    "sliced behind": _sliced_behind,
    "largest first": _largest_first,
    "one side": lambda u, s, _v: (u[..., :2] * s[..., None, :2]) @ _adjoint(u[..., :2]),
    "the other side": lambda _u, s, v: v[..., :2] @ (s[..., :2, None] ** 2 * _adjoint(v[..., :2])),
}
"""Functions of the matrix that use some of the values, the first two of which are near."""

KERNEL = _random(4, 4)
OTHERS: dict[str, Factored] = {
    "scores": lambda u, _s, _v: _gram(KERNEL @ u[:, :2]),
    "by their numbers": lambda u, _s, _v: u[:, [0, 1]] @ _adjoint(u[:, [0, 1]]),
}
"""Functions of the matrix that are not seen to be."""


def _gram(z: Any) -> Any:
    return np.sin((z @ _adjoint(z)).real)


def _of_eigh(f: Factored) -> Function:
    def function(a: Any) -> Any:
        w, v = np.linalg.eigh((a + _adjoint(a)) / 2)
        return f(v, w, v)

    return function


def _of_svd(f: Factored) -> Function:
    def function(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        return f(u, s, _adjoint(vh))

    return function


def _matrix(kind: str, gap: float, *, real: bool) -> tuple[Any, Any, Any]:
    """Return a matrix of which the first two values are near each other, and a direction."""
    if kind == "hermitian":
        basis = _unitary(4, real=real)
        a, d = (basis * [1.0, 1.0 + gap, 2.0, 3.5]) @ _adjoint(basis), _random(4, 4, real=real)
        return a, d + _adjoint(d), _of_eigh
    rows, columns = {"tall": (5, 3), "wide": (3, 5), "square": (4, 4)}[kind]
    count = min(rows, columns)
    values = [3.5 + gap, 3.5, 2.0, 1.0][:count]
    u, v = _unitary(rows, real=real)[:, :count], _unitary(columns, real=real)[:, :count]
    return (u * values) @ _adjoint(v), _random(rows, columns, real=real), _of_svd


def _number(f: Function) -> Function:
    def function(a: Any) -> Any:
        y = f(a)
        weights = np.cos(np.arange(float(y.size))).reshape(y.shape)
        return np.sum((y * np.conj(y)).real * weights + 2 * (y * weights).real)

    return function


def _along(f: Function, a: Any, d: Any) -> Function:
    return lambda t: f(a + t * d)


SECOND: dict[str, Callable[[Function], Any]] = {
    "derivative": lambda f: fd.derivative(f, n=2)(0.0),
    "forward over reverse": lambda f: fd.hvp(f, (0.0,), (1.0,)),
    "reverse over reverse": lambda f: fd.grad(fd.grad(f))(0.0),
    "reverse over forward": lambda f: fd.grad(lambda t: fd.jvp(f, (t,), (1.0,))[1])(0.0),
    "jit": lambda f: fd.jit(fd.grad(fd.grad(f)))(0.0),
}


def _second_difference(f: Function) -> Any:
    """Return a second difference with steps that are large beside the gap."""

    def difference(h: float) -> Any:
        return (f(h) - 2 * f(0.0) + f(-h)) / h**2

    return (4 * difference(1e-3) - difference(2e-3)) / 3


@pytest.mark.parametrize("gap", [0.0, 1e-13, 1e-9, 1e-6, 1e-2])
@pytest.mark.parametrize("kind", ["hermitian", "tall", "wide", "square"])
@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("real", [True, False])
@pytest.mark.parametrize("name", OF_SOME)
def test_a_function_of_some_values_keeps_its_digits(
    name: str, real: bool, second: str, kind: str, gap: float
) -> None:
    a, d, of = _matrix(kind, gap, real=real)
    f = _number(of(OF_SOME[name]))
    along = _along(f, a, d)
    first = (along(1e-5) - along(-1e-5)) / 2e-5
    np.testing.assert_allclose(fd.grad(along)(0.0), first, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fd.jvp(along, (0.0,), (1.0,))[1], first, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        SECOND[second](along), _second_difference(along), rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("kind", ["hermitian", "square"])
@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_seen_to_be_one_is_refused_where_no_digit_is_left(
    name: str, second: str, kind: str
) -> None:
    for gap in (1e-13, 1e-9):
        a, d, of = _matrix(kind, gap, real=True)
        f = _number(of(OTHERS[name]))
        with pytest.raises(NotDifferentiableError, match="nearly equal"):
            SECOND[second](_along(f, a, d))
    for gap in (0.0, 1e-4):
        a, d, of = _matrix(kind, gap, real=True)
        f = _number(of(OTHERS[name]))
        along = _along(f, a, d)
        np.testing.assert_allclose(
            SECOND[second](along), _second_difference(along), rtol=1e-3, atol=1e-3
        )


@pytest.mark.parametrize("gap", [1e-3, 1e-8, 1e-12])
@pytest.mark.parametrize("second", SECOND)
def test_a_vector_that_turns_fast_keeps_its_large_derivatives(second: str, gap: float) -> None:
    turn, shift = np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([0.0, 1.0])

    def vectors(t: Any) -> Any:
        w, v = np.linalg.eigh(np.eye(2) + 0.3 * t * turn + gap * (1 + t) * shift)
        return v[0, 0] ** 2 + np.sin(w[0])

    def angle(t: Any) -> Any:
        half = np.arctan2(2 * 0.3 * t, gap * (1 + t)) / 2
        w = 1 + gap * (1 + t) / 2 - np.hypot(gap * (1 + t), 0.6 * t) / 2
        return np.cos(half) ** 2 + np.sin(w)

    np.testing.assert_allclose(
        SECOND[second](vectors), SECOND[second](angle), rtol=max(1e-8, 1e-14 / gap)
    )


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 2), (2, 0, 0), (1, 1)])
def test_matrices_without_elements_have_second_derivatives(shape: tuple[int, ...]) -> None:
    def f(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        vectors = np.linalg.eigh(a)[1] if shape[-1] == shape[-2] else s
        return np.sum(u**3) + np.sum(vectors**3) + np.sum(vh[..., ::-1, :] ** 3)

    a = np.ones(shape)
    assert not np.any(fd.hvp(f, (a,), (a,)))
    assert not np.any(fd.jvp(lambda a: fd.jvp(f, (a,), (a,))[1], (a,), (a,))[1])


@pytest.mark.parametrize("kind", ["hermitian", "square"])
def test_equal_values_of_which_some_are_kept_are_refused(kind: str) -> None:
    a, d, of = _matrix(kind, 0.0, real=True)
    f = _number(of(lambda u, s, v: (u[:, :1] * s[:1]) @ _adjoint(v[:, :1])))
    for derive in (
        lambda: fd.grad(f)(a), lambda: fd.jvp(f, (a,), (d,)), lambda: fd.hvp(f, (a,), (d,))
    ):  # fmt: skip
        with pytest.raises(NotDifferentiableError, match="which eigenvectors"):
            derive()


@pytest.mark.parametrize("part", [slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(2, 3)])
@pytest.mark.parametrize("second", SECOND)
def test_parameters_of_some_values(second: str, part: slice) -> None:
    a, d, _ = _matrix("hermitian", 0.3, real=True)
    scales, number = _random(4)[part], 0.7

    def f(a: Any, scales: Any, number: Any) -> Any:
        w, v = np.linalg.eigh((a + a.T) / 2)
        kept = v[:, part]
        return np.sum(np.sin((kept * (scales * np.exp(number * w[part]))) @ kept.T) * KERNEL)

    def along(t: Any) -> Any:
        return f(a + t * d, scales + t, number + t)

    np.testing.assert_allclose(
        SECOND[second](along), _second_difference(along), rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("kind", ["hermitian", "tall", "wide"])
@pytest.mark.parametrize("name", ["truncated", "largest first", "one side", "the other side"])
def test_a_stack_of_matrices_in_both_precisions(name: str, kind: str) -> None:
    gaps = (0.0, 1e-9, 0.5)
    matrices, directions, ways = zip(*(_matrix(kind, g, real=True) for g in gaps), strict=True)
    f, direction = ways[0](OF_SOME[name]), directions[0]

    def second(a: Any) -> Any:
        direction_ = direction.astype(a.dtype)
        return fd.derivative(lambda t: np.sum(np.sin(f(a + t * direction_)), axis=(-1, -2)), n=2)(
            a.dtype.type(0)
        )

    one_by_one = np.stack([second(a) for a in matrices])
    stack = np.stack(matrices)
    np.testing.assert_allclose(second(stack), one_by_one, rtol=1e-9)
    np.testing.assert_allclose(fd.vmap(second)(stack), one_by_one, rtol=1e-9)
    single = second(stack.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, one_by_one, rtol=1e-2, atol=1e-2)


GRADED: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "left projector": lambda u, _s, _v, k: u[:, k] @ u[:, k].T,
    "pseudoinverse": lambda u, s, v, k: (v[:, k] / s[k]) @ u[:, k].T,
    "polar factor": lambda u, _s, v, k: u[:, k] @ v[:, k].T,
    "right projector": lambda _u, _s, v, k: v[:, k] @ v[:, k].T,
    "square": lambda _u, s, v, k: (v[:, k] * s[k] ** 2) @ v[:, k].T,
}
"""Functions of those singular values with the numbers k."""


@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (4, 5)])
@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("name", GRADED)
def test_small_singular_values_above_smaller_ones_keep_their_digits(
    name: str, second: str, shape: tuple[int, int]
) -> None:
    u, v = (_unitary(n, real=True)[:, :4] for n in shape)
    turn = _random(4, 4)

    def along(numbers: Any, s: Any) -> Function:
        a, d = (u * s) @ v.T, (u * np.sqrt(s)) @ turn @ (v * np.sqrt(s)).T
        return lambda t: _number(_of_svd(lambda u, s, v: GRADED[name](u, s, v, numbers)))(a + t * d)

    s = np.array([1.0, 1e-5, 1e-9, 1e-10])
    expected = fd.grad(along([0, 1, 2], s))(0.0)  # by the derivatives of the vectors
    for derive in (fd.grad, lambda f: lambda t: fd.jvp(f, (t,), (1.0,))[1]):
        np.testing.assert_allclose(derive(along(slice(3), s))(0.0), expected, rtol=1e-4)
    s = np.array([1.0, 0.3, 1e-5, 1e-6])
    expected = fd.grad(fd.grad(along([0, 1, 2], s)))(0.0)
    np.testing.assert_allclose(SECOND[second](along(slice(3), s)), expected, rtol=1e-5)
