"""Singular values and vectors: equal and zero values, what depends on a choice, constant rank."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import FuncdiffError
from tests.differences import differences
from tests.semantics.modes import gradient

RANDOM = np.random.default_rng(29)
A = RANDOM.normal(size=(3, 3)) + 3 * np.eye(3)
LEFT, RIGHT = np.linalg.qr(RANDOM.normal(size=(4, 4)))[0], np.linalg.qr(A - A.T + np.ones(3))[0]
WEIGHTS = RANDOM.normal(size=(4, 3))


def _with_singular_values(*values: float, phase: Any = 1.0) -> Any:
    """Return a matrix of four rows and three columns."""
    turned = LEFT * np.array([1.0, phase, 1.0, np.conj(phase)])
    return turned @ (LEFT.T[:, :3] * values) @ RIGHT


def _rebuilt(x: Any) -> Any:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u * s**3) @ vh


def _rebuilt_of_full(x: Any) -> Any:
    u, s, vh = np.linalg.svd(x)
    return u[:, :3] @ np.diag(np.sinh(s)) @ vh


def _turned(x: Any) -> Any:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (np.conj(u) * np.tan(s / 4)) @ np.conj(vh)


def _nearest_of_rank_two(x: Any) -> Any:
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return (u[:, :2] * s[:2]) @ vh[:2]


def _polar(x: Any) -> Any:
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return u @ vh


def _projected(x: Any) -> Any:
    u = np.linalg.svd(x)[0][:, 2:]
    return u @ np.conj(u.T) @ np.ones((4, 3))


def _assert_derivatives(f: Callable[[Any], Any], x: Any) -> None:
    """Compare both modes, and forward over reverse, with central differences."""

    def weighted(x: Any) -> Any:
        return np.sum(np.real(f(x)) * WEIGHTS)

    t = WEIGHTS[::-1] * (1.0 if x.dtype.kind == "f" else 0.6 - 0.8j)
    h = 1e-5
    slope = (weighted(x + h * t) - weighted(x - h * t)) / (2 * h)
    np.testing.assert_allclose(fd.jvp(weighted, (x,), (t,))[1], slope, rtol=1e-7, atol=1e-8)
    gradient = fd.grad(weighted)(x)
    np.testing.assert_allclose(np.sum(np.conj(gradient) * t).real, slope, rtol=1e-7, atol=1e-8)
    moved = (fd.grad(weighted)(x + h * t) - fd.grad(weighted)(x - h * t)) / (2 * h)
    np.testing.assert_allclose(fd.hvp(weighted, (x,), (t,)), moved, rtol=1e-4, atol=1e-4)


@pytest.mark.thinned(15)
@pytest.mark.parametrize("phase", [1.0, 0.6 + 0.8j], ids=["real", "complex"])
@pytest.mark.parametrize(("f", "values"), [
    (_rebuilt, (1.0, 1.0, 1.0)),
    (_rebuilt, (2.0, 1.0, 1.0)),
    (_rebuilt, (2.0, 0.0, 0.0)),
    (_rebuilt_of_full, (2.0, 2.0, 1.0)),
    (_rebuilt_of_full, (2.0, 1.0, 0.0)),
    (_turned, (1.0, 1.0, 0.0)),
    (_nearest_of_rank_two, (2.0, 1.0, 1.0 / 3)),
    (_nearest_of_rank_two, (2.0, 1.0, 0.0)),
    (_polar, (1.0, 1.0, 1.0)),
    (_polar, (2.0, 1.0, 1.0)),
    (_projected, (2.0, 2.0, 1.0)),
    (_projected, (2.0, 1.0, 0.0)),
])  # fmt: skip
def test_what_does_not_depend_on_the_singular_vectors_is_exact_at_equal_and_zero_values(
    f: Callable[[Any], Any], values: tuple[float, ...], phase: Any
) -> None:
    _assert_derivatives(f, _with_singular_values(*values, phase=phase))


@pytest.mark.parametrize("dtype", [float, complex])
def test_a_matrix_of_zeros_is_rebuilt_from_its_singular_values_with_the_derivative_one(
    dtype: Any,
) -> None:
    def f(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        return np.sum(((u * s) @ vh).real * WEIGHTS)

    np.testing.assert_allclose(fd.grad(f)(np.zeros((4, 3), dtype)), WEIGHTS, atol=1e-15)


@pytest.mark.parametrize(("f", "values"), [
    (lambda u, s, vh: np.sum(u[:, 1] ** 3), (2.0, 1.0, 1.0)),
    (lambda u, s, vh: np.sum(u[:, 2] ** 2 * WEIGHTS[:, 0]), (2.0, 1.0, 0.0)),
    (lambda u, s, vh: np.sum((u[:, :3] @ vh) * WEIGHTS), (2.0, 1.0, 0.0)),
    (lambda u, s, vh: np.sum(vh[2] * WEIGHTS[2]), (2.0, 0.0, 0.0)),
    (lambda u, s, vh: s[0] + np.sum((u[:, :3] @ (vh @ A)) * WEIGHTS), (1.0, 1.0, 1.0)),
    (lambda u, s, vh: np.sum(((u[:, :3] * np.exp(s)) @ vh) * WEIGHTS), (2.0, 1.0, 0.0)),
])  # fmt: skip
@pytest.mark.parametrize("full", [True, False])
def test_a_gauge_dependent_use_of_singular_vectors_raises(f: Any, values: Any, full: bool) -> None:
    with pytest.raises(FuncdiffError):
        fd.grad(lambda x: f(*np.linalg.svd(x, full_matrices=full)))(_with_singular_values(*values))


def test_a_factor_that_moves_away_from_zero_at_a_singular_value_zero_raises() -> None:
    x, t = _with_singular_values(2.0, 1.0, 0.0), WEIGHTS[::-1]

    def slope(f: Any, p: Any) -> Any:
        def weighted(x: Any) -> Any:
            u, s, vh = np.linalg.svd(x, full_matrices=False)
            return np.sum(((u * f(s, p)) @ vh) * WEIGHTS)

        return fd.jvp(weighted, (x,), (t,))[1]

    p = np.array([0.3, 0.2, 0.0])
    with pytest.raises(FuncdiffError, match=r"f\(0\) different from 0"):
        fd.grad(lambda p: slope(lambda s, p: s**3 + p, p))(p)
    np.testing.assert_allclose(
        fd.grad(lambda p: slope(np.multiply, p))(p),
        differences(lambda p: slope(np.multiply, p), p),
        rtol=1e-6,
    )


def test_the_vectors_that_full_matrices_adds_raise_and_the_message_says_what_to_pass() -> None:
    x = RANDOM.normal(size=(5, 3))
    with pytest.raises(FuncdiffError, match="full_matrices=False"):
        fd.grad(lambda x: np.sum(np.linalg.svd(x)[0] ** 3))(x)
    result = fd.grad(lambda x: np.sum(np.linalg.svd(x, full_matrices=False)[0] ** 3))(x)
    assert np.isfinite(result).all()


def test_the_phase_of_complex_singular_vectors_has_no_derivative() -> None:
    with pytest.raises(FuncdiffError, match="any phase"):
        fd.grad(lambda x: np.sum(np.linalg.svd(x)[0].real * A))(A + 1j * A.T)


@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_singular_values_that_are_equal_or_zero_share_their_derivatives(shape: Any) -> None:
    unit, zero = np.eye(*shape), np.zeros(shape)
    k = min(shape)
    for f in (np.linalg.svdvals, lambda x: np.linalg.svd(x, compute_uv=False)):
        np.testing.assert_allclose(gradient(lambda x, f=f: f(x)[0], unit), unit / k, atol=1e-15)
        assert not gradient(lambda x, f=f: np.sum(f(x)), zero).any()
    halved = unit * np.array([1.0] + [0.0] * (shape[1] - 1))
    np.testing.assert_allclose(
        gradient(lambda x: np.linalg.norm(x, "nuc"), halved), halved, atol=1e-15
    )


@pytest.mark.parametrize("f", [
    lambda s: np.sum(s**2), lambda s: s @ s, lambda s: np.sum(np.cos(s)),
    lambda s: 0.7 * np.sum(s**4 + 2 * s**2),
])  # fmt: skip
@pytest.mark.parametrize("values", [(0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (2.0, 1.0, 0.0)])
def test_sums_of_smooth_functions_have_second_derivatives_at_zero(f: Any, values: Any) -> None:
    rng = np.random.default_rng(11)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (4, 3))
    a, t = (left[:, :3] * values) @ right, rng.normal(size=(4, 3))
    steps = 1e-3 * np.arange(-2, 3)
    for of in (np.linalg.svdvals, lambda x: np.linalg.svd(x)[1]):

        def along(h: Any, of: Any = of) -> Any:
            return f(of(a + h * t))

        expected = np.dot([-1, 16, -30, 16, -1], [along(h) for h in steps]) / 12e-6
        for found in (
            fd.derivative(along, n=2)(0.0), fd.jacfwd(fd.grad(along))(0.0),
            fd.grad(fd.grad(along))(0.0), fd.jit(fd.jacrev(fd.jacfwd(along)))(0.0),
        ):  # fmt: skip
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def _applied(x: Any) -> Any:
    """Return U·(s·(Vᴴ·B)), which is not recognised."""
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return np.sum((u @ (s[:, None] * (vh @ A))) * WEIGHTS)


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (2.0, 1.0, 0.0), (2.0, 0.0, 0.0)])
def test_what_is_not_recognised_raises_in_every_mode(values: Any) -> None:
    x = _with_singular_values(*values)
    with pytest.raises(FuncdiffError, match="in different ways"):
        fd.jvp(_applied, (x,), (WEIGHTS[::-1],))
    for derive in (fd.grad, fd.jacrev, fd.jacfwd):
        with pytest.raises(FuncdiffError, match="in different ways"):
            derive(_applied)(x)


@pytest.mark.slow
@pytest.mark.parametrize("seen", [True, False], ids=["a function of the matrix", "vectors turn"])
@pytest.mark.parametrize("phase", [0.0, 1.0], ids=["real", "complex"])
@pytest.mark.parametrize("side", [0, 2], ids=["left", "right"])
@pytest.mark.parametrize(("rows", "values", "full"), [
    (3, (1.0, 0.0), False),
    (3, (1.0, 0.0), True),
    (4, (2.0, 2.0, 0.0), True),
    (4, (2.0, 2.0, 0.0), False),
    (4, (1.0, 0.0, 0.0), True),
    (3, (1.0, 1.0, 0.0), True),
])  # fmt: skip
def test_projectors_have_second_derivatives_in_every_nesting_at_equal_and_zero_values(
    rows: int, values: tuple[float, ...], full: bool, side: int, phase: float, seen: bool
) -> None:
    rng = np.random.default_rng(rows)
    count, equal = len(values), values.count(values[0])

    def numbers(*shape: int) -> Any:
        real = rng.normal(size=shape)
        return real + 1j * phase * rng.normal(size=shape) if phase else real

    left, right = (np.linalg.qr(numbers(n, n))[0] for n in (rows, count))
    x, t = (left[:, :count] * values) @ right, numbers(rows, count)
    weights = numbers(*[rows if side == 0 else count] * 2)

    def along(h: Any) -> Any:
        vectors = np.linalg.svd(x + h * t, full_matrices=full)[side]
        kept: Any = slice(equal) if seen else np.arange(equal)
        v = vectors[:, kept] if side == 0 else np.conj(vectors[kept].T)
        return np.sum(np.real(weights * (v @ np.conj(v.T))))

    steps = 1e-3 * np.arange(-2, 3)
    expected = np.dot([-1, 16, -30, 16, -1], [along(h) for h in steps]) / 12e-6
    for found in (
        fd.derivative(along, n=2)(0.0), fd.jacfwd(fd.grad(along))(0.0),
        fd.grad(fd.grad(along))(0.0), fd.jacrev(fd.jacfwd(along))(0.0),
    ):  # fmt: skip
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_what_is_zero_of_a_turn_of_null_vectors_moves_with_the_matrix() -> None:
    test_projectors_have_second_derivatives_in_every_nesting_at_equal_and_zero_values(
        4, (2.0, 2.0, 0.0), full=True, side=2, phase=0.0, seen=False
    )
