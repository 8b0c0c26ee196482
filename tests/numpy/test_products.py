"""Products: NumPy's values to rounding, both modes to second order, and clear errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.numpy.agreement import assert_derivatives, value_under_trace
from tests.together import together

_random = np.random.default_rng(0)
NO: Any = "no"


def _array(*shape: int) -> Any:
    return _random.normal(size=shape)


def _complex(*shape: int) -> Any:
    return _random.normal(size=shape) + 1j * _random.normal(size=shape)


V, W = _array(3), _array(3)
M, N = _array(2, 3), _array(3, 4)
T, U = _array(2, 4, 3), _array(5, 3, 2)
S = np.float64(1.5)
X, Y = _array(5, 2), _array(5, 2)

CALLS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (np.matmul, (T, N)),
    (np.matmul, (V, N)),
    (np.matmul, (_complex(2, 3), N)),
    (lambda x, y: x @ y, (V, W)),
    (np.dot, (V, W)),
    (np.dot, (M, N)),
    (np.dot, (M, V)),
    (np.dot, (T, U)),
    (np.dot, (T, W)),
    (np.dot, (S, M)),
    (lambda x, y: np.dot(x, y, out=np.zeros_like(x[:, 0])), (M, V)),
    (lambda x, y: x.dot(y), (T, N)),
    (np.inner, (V, W)),
    (np.inner, (T, M)),
    (np.inner, (M, 2.0)),
    (np.outer, (M, V)),
    (lambda x, y: np.outer(x, y, out=1j * np.zeros_like(x[:, None] * y)), (V, W)),
    (np.multiply.outer, (V, M)),
    (np.vdot, (_complex(2, 3), _complex(3, 2))),
    (np.vdot, (M, _complex(6))),
    (np.tensordot, (T, _array(4, 3, 2))),
    (lambda x, y: np.tensordot(x, y, axes=1), (M, N)),
    (lambda x, y: np.tensordot(x, y, axes=0), (V, M)),
    (lambda x, y: np.tensordot(x, y, axes=([2, 0], [1, 2])), (T, U)),
    (lambda x, y: np.tensordot(x, y, axes=(-1, -2)), (T, U)),
    (np.kron, (M, N)),
    (np.kron, (V, M)),
    (np.kron, (T, V)),
    (np.kron, (S, V)),
    (np.cross, (V, W)),
    (np.cross, (M, W)),
    (lambda x, y: np.cross(x, y, axisa=1, axisc=0), (U, V)),
    (lambda x, y: np.cross(x, y, axis=0), (N, N[::-1] * N)),
    (np.vecdot, (M, V)),
    (np.vecdot, (_complex(4, 3), _complex(3))),
    (np.matvec, (T, V)),
    (np.matvec, (T, M)),
    (np.vecmat, (_complex(3), U)),
    (np.vecmat, (V, N)),
    (np.convolve, (V, X[:, 0])),
    (lambda x, y: np.convolve(x, y, "same"), (X[:, 0], V)),
    (lambda x, y: np.convolve(x, y, "same"), (N[0], X[:, 0])),
    (lambda x, y: np.convolve(x, y, "valid"), (V, X[:, 0])),
    (np.correlate, (X[:, 0], V)),
    (np.correlate, (V, X[:, 0])),
    (lambda x, y: np.correlate(x, y, "full"), (_complex(3), _complex(5))),
    (lambda x, y: np.correlate(x, y, "same"), (N[0], X[:, 0])),
    (lambda x, y: np.correlate(x, y, "same"), (_complex(5), _complex(4))),
    (lambda x, y: np.correlate(x, y, "same"), (_complex(4), _complex(7))),
    (lambda x, y: np.correlate(x, y, "same"), (_complex(3), _complex(6))),
    (np.polyval, (V, M)),
    (np.polyval, ([1, 2, 3], M)),
    (np.polyval, (V, 2)),
]
EINSUM: list[tuple[str, tuple[Any, ...]]] = [
    ("ij,jk->ik", (M, N)),
    ("ij,jk", (M, N)),
    ("ij, jk -> ki", (M, N)),
    ("i,i", (V, W)),
    ("i,j", (V, W)),
    ("ij->ji", (M,)),
    ("ba", (M,)),
    ("ij->", (M,)),
    ("ij->j", (M,)),
    ("ii", (X[:2],)),
    ("ii->i", (X[:2],)),
    ("iij->ji", (_array(2, 2, 3),)),
    ("iii->i", (_array(2, 2, 2),)),
    ("ii,ij->j", (X[:2], M)),
    ("i,i,i", (V, W, V * W)),
    ("ij,jk,kl->il", (M, N, _array(4, 2))),
    ("ij,jk,ki", (M, N, _array(4, 2))),
    ("a,ab,abc->abc", (M[:, 0], M, _array(2, 3, 2))),
    ("ij,ij->ij", (M, M * M)),
    ("ij,kl->", (M, N)),
    ("...ij,...jk->...ik", (T, N)),
    ("...ij,...j", (T, V)),
    ("i...->...", (T,)),
    ("...", (T,)),
    ("i...j,j->...i", (T, V)),
    ("...,...", (T, V)),
    ("ij,ij->ij", (M[:1], M)),
    ("bij,bjk->bik", (T[:1], _array(2, 3, 2))),
    ("ij,jk->ik", (M, _complex(3, 2))),
]


@together
@pytest.mark.parametrize(("f", "args"), CALLS)
def test_values_are_those_of_numpy_to_rounding(f: Callable[..., Any], args: Any) -> None:
    _assert_close(f, args)


@pytest.mark.thinned(3)
@pytest.mark.parametrize(("f", "args"), CALLS)
def test_derivatives_agree_in_both_modes(f: Callable[..., Any], args: Any) -> None:
    assert_derivatives(f, *args)


@pytest.mark.parametrize(("subscripts", "args"), EINSUM)
def test_einsum_is_that_of_numpy(subscripts: str, args: Any) -> None:
    def f(*xs: Any) -> Any:
        return np.einsum(subscripts, *xs)

    _assert_close(f, args)
    assert_derivatives(f, *args)


def _assert_close(f: Callable[..., Any], args: Any) -> None:
    expected, found = f(*args), value_under_trace(f, *args)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)
    assert found.shape == expected.shape


@pytest.mark.parametrize("optimize", [False, True, "optimal", "greedy"])
def test_einsum_takes_every_order_of_contraction(optimize: Any) -> None:
    def f(x: Any) -> Any:
        return np.einsum("ij,jk,kl,ml->im", x, N, x, M, optimize=optimize)

    x = _array(4, 3)
    _assert_close(f, (x,))
    assert_derivatives(f, x)


def test_einsum_follows_a_given_path() -> None:
    path = ["einsum_path", (1, 2), (0, 1)]
    _assert_close(lambda x: np.einsum("ij,jk,k->i", x, N, N[0], optimize=path), (M,))


def test_einsum_takes_labels_as_lists() -> None:
    _assert_close(lambda x, y: np.einsum(x, [0, 1], y, [1, 2]), (M, N))
    _assert_close(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [2, 0]), (M, N))
    _assert_close(lambda x, y: np.einsum(x, [..., 1, 2], y, [2, 3], [..., 3, 1]), (T, N))


def test_einsum_honours_its_keywords() -> None:
    _assert_close(lambda x, y: np.einsum("ij,jk", x, y, dtype=complex), (M, N))
    _assert_close(lambda x, y: np.einsum("ij,jk", x, y, out=np.zeros_like(x @ y)), (M, N))
    _assert_close(lambda x: np.einsum("ij->i", x, dtype="f4", casting="same_kind"), (M,))
    with pytest.raises(TypeError, match="cast"):
        fd.vjp(lambda x: np.einsum("ij->i", x, dtype="f4"), M)


def test_integer_products_stay_integer() -> None:
    def f(x: Any) -> Any:
        k = np.floor(x).astype(int)
        return np.dot(k, k), np.einsum("i,j", k, k), np.convolve(k, k), np.matmul(k > 0, k > 0)

    for found, expected in zip(value_under_trace(f, 3 * V), f(3 * V), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: x @ x, ValueError, "do not match"),
    (lambda x: x @ np.float64(1), ValueError, "0-d"),
    (lambda x: np.dot(x, x), ValueError, "not aligned"),
    (lambda x: np.dot(x, x.T, out=np.ones((2, 2))), UnsupportedNumPyError, "out="),
    (lambda x: np.inner(x, x.T), ValueError, "not aligned"),
    (lambda x: np.tensordot(x, x, axes=([0], [0, 1])), ValueError, "shape-mismatch"),
    (lambda x: np.tensordot(x, x, axes=([0], [1])), ValueError, "not aligned"),
    (lambda x: np.cross(x, x[:, :2]), ValueError, "dimension 3"),
    (lambda x: np.vecdot(x, x[:, :2]), ValueError, "not aligned"),
    (lambda x: np.matvec(x[0], x[0]), ValueError, "enough dimensions"),
    (lambda x: np.convolve(x, x), ValueError, "must be a vector"),
    (lambda x: np.convolve(x[0], x[0, :0]), ValueError, "cannot be empty"),
    (lambda x: np.convolve(x[0], x[0], NO), ValueError, "mode"),
    (lambda x: np.einsum("ij,jk", x, x), ValueError, "label 'j' has length"),
    (lambda x: np.einsum("ij,jk", x), ValueError, r"2 operand\(s\)"),
    (lambda x: np.einsum("ijk", x), ValueError, r"3 label\(s\)"),
    (lambda x: np.einsum("ij->k", x), ValueError, "output 'k'"),
    (lambda x: np.einsum("i...->i", x), ValueError, "no ellipsis"),
    (lambda x: np.einsum("i%->i", x), ValueError, "invalid subscripts"),
])  # fmt: skip
def test_what_does_not_fit_is_said(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, M)
