"""Singular values of traced arrays: svd, norms, pseudoinverse, least squares, rank, condition."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError
from funcdiff.testing import check_grads
from tests.together import together

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here

RANDOM = np.random.default_rng(23)


def _spread(*shape: int, dtype: Any = float) -> Any:
    """Return matrices of singular values near 1, 2, 3, ..."""
    a = RANDOM.normal(size=shape).astype(dtype)
    if a.dtype.kind == "c":
        a += 1j * RANDOM.normal(size=shape)
    u, s, vh = linalg.svd(a, full_matrices=False)
    return (u * (0.9 + np.arange(s.shape[-1])[::-1])) @ vh


SHAPES = ((3, 3), (4, 2), (2, 4), (2, 3, 2))
MATRICES = [_spread(*shape, dtype=dtype) for dtype in (float, complex) for shape in SHAPES]
SQUARE = [MATRICES[0], MATRICES[4], _spread(2, 3, 3)]
NAMES = [f"{x.dtype.kind}{x.shape}" for x in MATRICES]
SQUARE_NAMES = [f"{x.dtype.kind}{x.shape}" for x in SQUARE]


def _value(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.vjp(lambda x: (x, f(x)), x, has_aux=True)[2]


def _conditions(a: Any) -> list[Any]:
    return [linalg.cond(a), linalg.cond(a, 2), linalg.cond(a, -2)]


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "svdvals": linalg.svdvals,
    "values of svd": lambda a: linalg.svd(a, compute_uv=False),
    "norm 2": lambda a: linalg.norm(a, 2, axis=(-2, -1)),
    "norm -2": lambda a: linalg.norm(a, -2, axis=(-1, -2), keepdims=True),
    "nuclear norm": lambda a: linalg.norm(a, "nuc", axis=(-2, -1)),
    "matrix norm": lambda a: linalg.matrix_norm(a, ord=2, keepdims=True),
    "cond": _conditions,
    "pinv": linalg.pinv,
    "pinv rcond": lambda a: linalg.pinv(a, rcond=1e-9),
    "pinv rtol": lambda a: linalg.pinv(a, rtol=None),
}


def _leaves(tree: Any) -> list[Any]:
    return list(tree) if isinstance(tree, tuple | list) else [tree]


def _assert_equal(result: Any, expected: Any) -> None:
    for y, z in zip(_leaves(result), _leaves(expected), strict=True):
        assert (y.dtype, y.shape) == (z.dtype, z.shape)
        np.testing.assert_array_equal(y, z)


# ---- values and derivatives ----------------------------------------------------------------------


@together
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", MATRICES, ids=NAMES)
def test_values_are_those_of_numpy_bit_for_bit(name: str, x: Any) -> None:
    f = FUNCTIONS[name]
    for a in (x, x.astype("F" if x.dtype.kind == "c" else "f"), np.asfortranarray(x)):
        _assert_equal(_value(f, a), f(a))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("x", MATRICES, ids=NAMES)
def test_singular_vectors_are_those_of_numpy_bit_for_bit(full: bool, x: Any) -> None:
    def f(a: Any) -> Any:
        return linalg.svd(a, full_matrices=full)

    for a in (x, x.astype("F" if x.dtype.kind == "c" else "f")):
        result = _value(f, a)
        _assert_equal(result, f(a))
        assert type(result) is type(f(a))


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 2, 3)])
@pytest.mark.parametrize("f", [
    linalg.svdvals,
    linalg.pinv,
    lambda a: linalg.svd(a).U,
    lambda a: linalg.svd(a, full_matrices=False).Vh,
])  # fmt: skip
def test_empty_matrices_have_derivatives(f: Callable[[Any], Any], shape: Any) -> None:
    x = np.zeros(shape)
    y, f_vjp = fd.vjp(f, x)
    np.testing.assert_array_equal(y, f(x))
    assert f_vjp(np.ones_like(y))[0].shape == shape
    assert fd.jvp(f, (x,), (x,))[1].shape == y.shape


def test_the_gradient_of_singular_values_costs_one_decomposition() -> None:
    for f in (linalg.svdvals, lambda a: linalg.norm(a, 2), lambda a: linalg.norm(a, "nuc")):
        text = str(fd.trace(fd.grad(lambda a, f=f: np.sum(f(a))))(MATRICES[1]))
        assert text.count("= svd{") == 1
        assert "eigh" not in text


# ---- rank and condition --------------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    linalg.matrix_rank,
    lambda x: linalg.matrix_rank(x, 1.5),
    lambda x: linalg.matrix_rank(x, rtol=0.5),
    lambda x: linalg.matrix_rank(x + np.conj(np.swapaxes(x, -1, -2)), hermitian=True),
    lambda x: linalg.matrix_rank(x[..., 0, 0].ravel()),
    lambda x: linalg.matrix_rank(x, rtol=np.full(x.shape[:-2], 0.5)),
])  # fmt: skip
@pytest.mark.parametrize("x", SQUARE, ids=SQUARE_NAMES)
def test_a_rank_is_that_of_numpy_and_a_constant(f: Callable[[Any], Any], x: Any) -> None:
    for a in (x, x * (np.arange(3) > 0), 0 * x):
        np.testing.assert_array_equal(_value(f, a), f(a))
    gradient = fd.grad(lambda a: np.sum(f(a) * np.real(np.sum(a))))(x)
    np.testing.assert_array_equal(gradient, np.full(x.shape, np.sum(f(x))))


def test_the_condition_of_a_singular_matrix_is_infinite_without_a_slope() -> None:
    x = np.diag([2.0, 0.0])
    for p in (None, 2, -2):
        f = partial(linalg.cond, p=p)
        assert _value(f, x) == f(x)
    assert not fd.grad(linalg.cond)(x).any()


# ---- least squares -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
@pytest.mark.parametrize("columns", [None, 1, 2])
@pytest.mark.parametrize("rcond", [None, -1, 1e-9])
def test_least_squares_are_those_of_numpy(dtype: Any, shape: Any, columns: Any, rcond: Any) -> None:
    a = _spread(*shape, dtype=dtype)
    b = RANDOM.normal(size=(shape[0], columns or 1)) + 0.3 * (1j if dtype is complex else 1)
    b = b[:, 0] if columns is None else b

    def f(a: Any, b: Any) -> Any:
        return linalg.lstsq(a, b, rcond)

    result = _value(lambda a: f(a, b), a)
    expected = f(a, b)
    for y, z in zip(result, expected, strict=True):
        assert np.asarray(y).dtype == np.asarray(z).dtype
        np.testing.assert_array_equal(y, z)
    if rcond is None and columns != 1:
        check_grads(f, (a, b))


def test_least_squares_of_single_precision_have_its_dtype() -> None:
    a, b = MATRICES[1].astype("f"), np.ones((4, 2), "f")
    y, f_vjp = fd.vjp(lambda a, b: linalg.lstsq(a, b)[0], a, b)
    assert {x.dtype for x in (y, *f_vjp(y))} == {np.dtype("f")}


def test_least_squares_of_rank_deficient_matrices_have_no_residuals() -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    x, squares, rank, _ = _value(lambda a: linalg.lstsq(a, np.ones(3)), a)
    np.testing.assert_array_equal(x, linalg.lstsq(a, np.ones(3))[0])
    assert squares.shape == (0,)
    assert rank == 1


def test_least_squares_are_batched_example_by_example() -> None:
    a = np.stack([MATRICES[1], _spread(4, 2)])
    b = RANDOM.normal(size=(4, 3))

    def solution(a: Any) -> Any:
        x, squares, _, s = linalg.lstsq(a, b)
        return x, squares, s

    result = fd.vmap(solution)(a)
    for k, y in enumerate(result):
        np.testing.assert_allclose(y, [solution(x)[k] for x in a], rtol=1e-13)


@pytest.mark.parametrize("f", [
    lambda a: linalg.lstsq(a, np.ones(2)),
    lambda a: linalg.lstsq(a[0], np.ones(4)),
    lambda a: linalg.svd(a[0]),
    lambda a: linalg.pinv(a[0]),
    lambda a: linalg.cond(a[:0]),
])  # fmt: skip
def test_what_numpy_cannot_factorize_raises_its_error(f: Callable[[Any], Any]) -> None:
    for call in (f, lambda x: fd.vjp(f, x)):
        with pytest.raises(linalg.LinAlgError):
            call(MATRICES[1])


def test_two_tolerances_raise_as_in_numpy() -> None:
    def f(a: Any) -> Any:
        return linalg.pinv(a, 1e-9, rtol=1e-9)

    for call in (f, lambda x: fd.vjp(f, x)):
        with pytest.raises(ValueError, match="can't be both set"):
            call(MATRICES[1])


# ---- constant rank -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [float, complex])
def test_the_derivative_of_a_pseudoinverse_holds_along_constant_rank(dtype: Any) -> None:
    left, right = _spread(4, 2, dtype=dtype), _spread(2, 3, dtype=dtype)
    check_grads(lambda x, y: linalg.pinv(x @ y), (left, right))
    b = _spread(4, 2, dtype=dtype)
    check_grads(lambda x, y, b: linalg.lstsq(x @ y, b)[0], (left, right, b))


def test_a_tolerance_for_each_matrix_is_honoured() -> None:
    stack = np.stack([np.diag([2.0, 1e-9]), np.diag([3.0, 1e-9])])
    tolerances = np.array([1e-6, 1e-12])

    def f(a: Any) -> Any:
        return linalg.pinv(a, tolerances)

    np.testing.assert_array_equal(_value(f, stack), f(stack))
    np.testing.assert_array_equal(_value(f, stack)[:, 1, 1] == 0, [True, False])


@pytest.mark.slow
def test_a_pseudoinverse_that_neglects_what_is_not_zero_raises_and_says_what_to_write() -> None:
    x = _spread(3, 3)
    weights = RANDOM.normal(size=(3, 3))

    def written_out(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        keep = s > 0.5 * s[0]
        f = np.where(keep, 1 / np.where(keep, s, 1), 0)
        return np.sum(((u * f) @ vh).conj().T * weights)

    for f in (lambda a: linalg.pinv(a, 0.5), lambda a: linalg.lstsq(a, weights, 0.5)[0]):
        with pytest.raises(NotDifferentiableError, match="neglects"):
            fd.grad(lambda a, f=f: np.sum(f(a)))(x)
    np.testing.assert_allclose(written_out(x), np.sum(linalg.pinv(x, 0.5) * weights), rtol=1e-13)
    check_grads(written_out, (x,))
