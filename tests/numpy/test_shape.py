"""Shape functions: NumPy's values and aliasing, both modes of derivative, and clear errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.numpy.agreement import assert_derivatives, assert_value, each_of
from tests.together import together

A = np.random.default_rng(0).normal(size=(2, 3, 4))
NO: Any = "no"
ONE = np.random.default_rng(1).normal(size=(1, 3, 1))
V = np.random.default_rng(2).normal(size=5)
S = np.float64(1.5)

CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("reshape", lambda x: np.reshape(x, (4, -1)), (A,)),
    ("reshape to one axis", lambda x: np.reshape(x, -1), (A,)),
    ("reshape in Fortran order", lambda x: np.reshape(x, (3, 8), order="F"), (A,)),
    ("reshape of an empty array", lambda x: np.reshape(x, (0, 7)), (A[:0],)),
    ("reshape with copy", lambda x: np.reshape(x, (6, 4), copy=True), (A,)),
    ("reshape method", lambda x: x.reshape(2, 12) + x.reshape((2, 12), order="F"), (A,)),
    ("ravel", np.ravel, (A,)),
    ("ravel in Fortran order", lambda x: np.ravel(x, order="F"), (A,)),
    ("ravel of a scalar", np.ravel, (S,)),
    ("ravel in layout order of a vector", lambda x: np.ravel(x, "K"), (V,)),
    ("flatten method", lambda x: x.flatten(), (A,)),
    ("transpose", np.transpose, (A,)),
    ("transpose with axes", lambda x: np.transpose(x, (1, 2, 0)), (A,)),
    ("transpose with negative axes", lambda x: np.transpose(x, (-1, 0, -2)), (A,)),
    ("transpose method", lambda x: x.transpose(2, 0, 1), (A,)),
    ("T", lambda x: x.T, (A,)),
    ("mT", lambda x: x.mT, (A,)),
    ("permute_dims", lambda x: np.permute_dims(x, (1, 2, 0)), (A,)),
    ("matrix_transpose", np.matrix_transpose, (A,)),
    ("swapaxes", lambda x: np.swapaxes(x, 0, -1), (A,)),
    ("swapaxes method", lambda x: x.swapaxes(1, 2), (A,)),
    ("moveaxis", lambda x: np.moveaxis(x, 0, -1), (A,)),
    ("moveaxis of several", lambda x: np.moveaxis(x, (0, 1), (-1, 0)), (A,)),
    ("rollaxis", lambda x: np.rollaxis(x, 2), (A,)),
    ("rollaxis to a place", lambda x: np.rollaxis(x, 0, 3), (A,)),
    ("rollaxis to a negative place", lambda x: np.rollaxis(x, 2, -2), (A,)),
    ("expand_dims", lambda x: np.expand_dims(x, 1), (A,)),
    ("expand_dims of several", lambda x: np.expand_dims(x, (0, -1)), (A,)),
    ("squeeze", np.squeeze, (ONE,)),
    ("squeeze of an axis", lambda x: np.squeeze(x, -1), (ONE,)),
    ("squeeze of several axes", lambda x: x.squeeze((0, 2)), (ONE,)),
    ("atleast_1d", lambda x, y: np.atleast_1d(x, y, 1.0), (S, A)),
    ("atleast_2d", lambda x, y, z: np.atleast_2d(x, y, z), (S, V, A)),
    ("atleast_3d", lambda x, y, z: np.atleast_3d(x, y, z), (S, V, A[0])),
    ("broadcast_to", lambda x: np.broadcast_to(x, (5, 2, 3, 4)), (A,)),
    ("broadcast_to along ones", lambda x: np.broadcast_to(x, (2, 3, 4)), (ONE,)),
    ("broadcast_arrays", lambda x, y: np.broadcast_arrays(x, y, 2.0), (ONE, A)),
    ("copy", np.copy, (A,)),
    ("astype", lambda x: np.astype(x, np.complex128).astype(complex), (A,)),
]


@together
@each_of(CALLS)
def test_values_are_those_of_numpy(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_value(f, *args)


@together
@each_of(CALLS)
def test_derivatives_agree_in_both_modes(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_derivatives(f, *args, order=1)


def test_reading_the_shape_gives_plain_numbers() -> None:
    def f(x: Any) -> Any:
        assert np.shape(x) == (2, 3, 4)
        assert np.ndim(x) == 3
        assert (np.size(x), np.size(x, 1), len(x)) == (24, 3, 2)
        return x.sum()

    np.testing.assert_array_equal(fd.grad(f)(A), np.ones_like(A))


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: np.reshape(x, (5, 5)), ValueError, "cannot reshape array of size 24"),
    (lambda x: np.reshape(x, (-1, -1)), ValueError, "cannot reshape"),
    (lambda x: np.reshape(x, (24,), order=NO), ValueError, "order must be one of"),
    (lambda x: np.reshape(np.where(x > 0, x, 1), 24, copy=False), UnsupportedNumPyError, "Leave"),
    (lambda x: np.where(x > 0, x, 1).ravel("K"), UnsupportedNumPyError, "lies in memory"),
    (lambda x: np.transpose(x, (0, 0, 1)), ValueError, "don't match"),
    (lambda x: np.swapaxes(x, 0, 3), np.exceptions.AxisError, "out of bounds"),
    (lambda x: np.moveaxis(x, (0, 1), (0,)), ValueError, "same number of elements"),
    (lambda x: np.rollaxis(x, 0, 9), np.exceptions.AxisError, "-3 <= start < 4"),
    (lambda x: np.squeeze(x, 0), ValueError, "not equal to one"),
    (lambda x: np.expand_dims(x, (0, 0)), ValueError, "repeated axis"),
    (lambda x: np.broadcast_to(x, (2, 3, 5)), ValueError, "could not broadcast"),
    (lambda x: np.broadcast_to(x[0, 0, 0], -1), ValueError, "negative lengths"),
    (lambda x: np.matrix_transpose(x[0, 0]), ValueError, "at least 2-dimensional"),
])  # fmt: skip
def test_what_does_not_fit_is_said(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, A)
