"""What NumPy refuses of its arguments is refused, with words that say what does not fit."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.together import together

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays, or forbid what is tested."""
NO: Any = "no"
HALF: Any = 1.5
HALVES = np.array([0.5])
V = np.random.default_rng(7).normal(size=6)
CUBE = np.random.default_rng(0).normal(size=(2, 3, 4))
TABLE = np.random.default_rng(1).normal(size=(2, 3))
NUMBERS = np.arange(3.0)
PAIR = np.array([1.0, 2.0])

Refused = tuple[Any, type[Exception], str]

OF_CUBE: Final[list[Refused]] = [
    (lambda x: np.reshape(x, (5, 5)), ValueError, "cannot reshape array of size 24"),
    (lambda x: np.reshape(x, (-1, -1)), ValueError, "cannot reshape"),
    (lambda x: np.reshape(x, (24,), order=NO), ValueError, "order must be one of"),
    (lambda x: np.reshape(x + np.copy(x, "F"), 24, copy=False), UnsupportedNumPyError, "Leave"),
    (lambda x: (x + np.copy(x, "F")).ravel("K"), UnsupportedNumPyError, "lies in memory"),
    (lambda x: np.transpose(x, (0, 0, 1)), ValueError, "don't match"),
    (lambda x: np.swapaxes(x, 0, 3), np.exceptions.AxisError, "out of bounds"),
    (lambda x: np.moveaxis(x, (0, 1), (0,)), ValueError, "same number of elements"),
    (lambda x: np.rollaxis(x, 0, 9), np.exceptions.AxisError, "-3 <= start < 4"),
    (lambda x: np.squeeze(x, 0), ValueError, "not equal to one"),
    (lambda x: np.expand_dims(x, (0, 0)), ValueError, "repeated axis"),
    (lambda x: np.broadcast_to(x, (2, 3, 5)), ValueError, "could not broadcast"),
    (lambda x: np.broadcast_to(x[0, 0, 0], -1), ValueError, "negative lengths"),
    (lambda x: np.matrix_transpose(x[0, 0]), ValueError, "at least 2-dimensional"),
    (lambda x: np.concatenate((x, x[0])), ValueError, "must match exactly"),
    (lambda x: np.concatenate((x, x[:, :2]), axis=0), ValueError, "must match exactly"),
    (lambda x: np.concatenate((x[0, 0, 0], 1.0)), ValueError, "zero-dimensional"),
    (lambda x: np.concatenate((x, x), axis=3), np.exceptions.AxisError, "out of bounds"),
    (lambda x: np.concatenate((x, x), dtype=int), TypeError, "Cannot cast"),
    (lambda x: np.concatenate((x, x), out=np.ones((4, 3, 4))), UnsupportedNumPyError, "out="),
    (lambda x: np.stack((x, x[0])), ValueError, "same shape"),
    (lambda x: np.split(x, 2, axis=1), ValueError, "equal division"),
    (lambda x: np.array_split(x, 0), ValueError, "larger than 0"),
    (lambda x: np.vsplit(x[0, 0], 2), ValueError, "2 or more dimensions"),
    (lambda x: np.block([[x], x]), ValueError, "depths are mismatched"),
    (lambda x: np.insert(x, 9, 1.0, axis=0), IndexError, "out of bounds"),
    (lambda x: np.flip(x, 3), np.exceptions.AxisError, "out of bounds"),
    (lambda x: np.fliplr(x[0, 0]), ValueError, "2-d"),
    (lambda x: np.rot90(x, axes=(1, 1)), ValueError, "different"),
    (lambda x: np.repeat(x, -1), ValueError, "negative"),
    (lambda x: np.meshgrid(x[0, 0], indexing=NO), ValueError, "indexing"),
    (lambda x: np.trim_zeros(x, NO), ValueError, "trim"),
    (lambda x: np.vander(x), ValueError, "one-dimensional"),
    (lambda x: np.diag(x), ValueError, "1- or 2-d"),
    (lambda x: np.diagonal(x, 0, 1, 1), ValueError, "cannot be the same"),
    (lambda x: np.pad(x, 1, NO), ValueError, "not supported"),
    (lambda x: np.pad(x, 1, "edge", end_values=3), ValueError, "unsupported keyword"),
    (lambda x: np.pad(x, -1), ValueError, "negative"),
    (lambda x: np.pad(x, HALF), TypeError, "integral"),
    (lambda x: np.pad(x[:0], 1, "edge"), ValueError, "can't extend empty axis"),
    (lambda x: np.where(x > 0, x), ValueError, "both or neither"),
    (lambda x: np.select([x], [x]), TypeError, "boolean"),
    (lambda x: np.select([x > 0], [x, x]), ValueError, "same length"),
    (lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]), ValueError, "functions are expected"),
    (lambda x: np.take(x, 24), IndexError, "out of bounds"),
    (lambda x: np.take(x, HALVES), TypeError, "Cannot cast"),
    (lambda x: np.take(x, 0, mode=NO), ValueError, "clipmode"),
    (lambda x: np.take_along_axis(x, np.array([0]), 0), ValueError, "same number of dimensions"),
    (lambda x: np.take_along_axis(x, np.array([[[9]]]), 0), IndexError, "out of bounds"),
    (lambda x: np.choose([0, 2], [x[0, 0, :2], 1.0]), ValueError, "invalid entry"),
    (lambda x: np.compress([[True]], x), ValueError, "1-d"),
]

OF_TABLE: Final[list[Refused]] = [
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
    (lambda x: np.clip(x, 1), TypeError, "missing 1 required positional argument: 'a_max'"),
    (lambda x: np.clip(x, 1, 2, max=3), ValueError, "`a_min` and `a_max` are provided"),
    (lambda x: np.i0(x + 1j).real, TypeError, "i0 not supported for complex values"),
    (lambda x: np.isposinf(x + 1j) * x, TypeError, "not supported for complex128 values"),
]

OF_NUMBERS: Final[list[Refused]] = [
    (lambda x: np.linspace(x, 1, -1), ValueError, "Number of samples, -1, must be non-negative"),
    (lambda x: np.geomspace(x * 0, 1), ValueError, "Geometric sequence cannot include zero"),
    (lambda x: np.array([x, x[0]], like=x), ValueError, r"parts have the shapes \(\), \(3,\)"),
    (lambda x: np.zeros_like(x, dtype=object), UnsupportedNumPyError, "dtype=object"),
    (lambda x: NP.zeros_like(x, device="gpu"), UnsupportedNumPyError, r"zeros_like\(device=\)"),
    (lambda x: np.diff(x, -1), ValueError, "order must be non-negative but got -1"),
    (lambda x: np.diff(x[0]), ValueError, "at least one dimensional"),
    (lambda x: np.cumulative_sum(x[None]), ValueError, "``axis`` argument is required"),
    (lambda x: np.ediff1d(x.astype("f4"), to_end=1j), TypeError, "`to_end` must be compatible"),
    (lambda x: NP.gradient(x, 1, 2), TypeError, "invalid number of arguments"),
    (lambda x: np.gradient(x, [1.0, 2]), ValueError, "distances must match the length"),
    (lambda x: np.gradient(x, np.ones((2, 2))), ValueError, "either scalars or 1d"),
    (lambda x: NP.gradient(x, edge_order=3), ValueError, "greater than 2 not supported"),
    (lambda x: np.gradient(x[:1]), ValueError, "Shape of array too small"),
    (lambda x: np.interp(1, x, x[1:]), ValueError, "not of the same length"),
    (lambda x: np.interp(1, x[:0], x[:0]), ValueError, "array of sample points is empty"),
    (lambda x: np.interp(1, x[None], x[None]), ValueError, "must be 1-D sequences"),
    (lambda x: np.interp(1, x, x, period=0), ValueError, "non-zero value"),
    (lambda x: NP.interp(x + 1j, V, V), TypeError, "x is complex128.*real part"),
    (lambda x: NP.interp(1, x * 1j, x), TypeError, "xp is complex128"),
    (lambda x: NP.interp(1, V, x.astype("g")), TypeError, "fp is (float|complex)"),
    (lambda x: np.cumsum(x, axis=3), np.exceptions.AxisError, "out of bounds"),
]

OF_PAIR: Final[list[Refused]] = [
    *(
        (lambda x, f=f: f(x[:0]), ValueError, r"zero-size array .* no identity.*specify 'initial'")
        for f in (np.max, np.min, np.amax, np.nanmax)
    ),
    (lambda x: x[np.argmax(x[:0])], ValueError, r"attempt to get argmax of an empty sequence"),
    (lambda x: x[np.argmin(x[:0])], ValueError, r"attempt to get argmin of an empty sequence"),
    (lambda x: np.max(x, where=x > 0), ValueError, "one has to specify 'initial'"),
    (lambda x: NP.sum(x, where=[1, 0]), TypeError, "where= is an array .* int64 .* needs booleans"),
    (lambda x: np.sum(x, initial=x), ValueError, r"initial= has shape \(2,\)"),
    (lambda x: NP.sum(x, out=np.zeros(())), UnsupportedNumPyError, "np.sum.* an ordinary array"),
    *(
        (lambda x, f=f: f(x, axis=0, out=np.zeros_like(x[0], dtype=int)), TypeError, "cannot cast")
        for f in (np.sum, np.prod, np.max, np.mean, np.median, np.std)
    ),
    (
        lambda x: np.sum(x, out=np.zeros_like(x)),
        ValueError,
        r"out= has shape \(2,\), .* shape \(\)",
    ),
    (lambda x: np.sum(x, axis=1), np.exceptions.AxisError, "axis 1 is out of bounds"),
    (lambda x: x[np.nanargmax(x * np.nan)], ValueError, "All-NaN slice encountered"),
    (lambda x: np.sum(x, dtype=object), UnsupportedNumPyError, "dtype=object"),
    (lambda x: np.average(x, weights=[1, -1]), ZeroDivisionError, "Weights sum to zero"),
    (lambda x: np.average(x, weights=np.ones(3)), TypeError, "Axis must be specified"),
    (lambda x: np.average(x, axis=0, weights=np.ones(3)), ValueError, "Shape of weights"),
    (lambda x: np.var(x, ddof=1, correction=1), ValueError, "provided simultaneously"),
    (lambda x: np.quantile(x, 1.5), ValueError, r"Quantiles must be in the range \[0, 1\]"),
    (lambda x: np.percentile(x, -1), ValueError, r"Percentiles must be in the range \[0, 100\]"),
    (lambda x: np.quantile(x, x[0] * 2), ValueError, "Quantiles must be in the range"),
    (lambda x: NP.quantile(x, 0.5, method="mid"), ValueError, "'mid' is not a valid method"),
    (lambda x: np.quantile(x, 0.5, weights=x), ValueError, "Only method 'inverted_cdf'"),
    (lambda x: np.quantile(x, 0.5, weights=-x, method="inverted_cdf"), ValueError, "non-negative"),
    (lambda x: np.quantile(x, 0.5, weights=0 * x, method="inverted_cdf"), ValueError, "all zero"),
    (lambda x: np.quantile(x[:0], 0.5), IndexError, "axis of size 0"),
    (lambda x: np.quantile(x + 0j, 0.5).real, TypeError, "array of real numbers"),
    (lambda x: np.cov(x, ddof=0.5), ValueError, "ddof must be integer"),
    (lambda x: np.cov(x[None, None]), ValueError, "m has more than 2 dimensions"),
    (lambda x: np.cov(x, aweights=[1.0]), RuntimeError, "incompatible numbers of samples"),
    (lambda x: np.cov(x, aweights=-x), ValueError, "aweights cannot be negative"),
    (lambda x: np.cov(x, fweights=x / 3), TypeError, "fweights must be integer"),
    (lambda x: np.nanmean(x, dtype=int), TypeError, "dtype must be inexact"),
]

TABLES: Final = [(CUBE, OF_CUBE), (TABLE, OF_TABLE), (NUMBERS, OF_NUMBERS), (PAIR, OF_PAIR)]


@together
@pytest.mark.parametrize(
    ("x", "f", "error", "message"), [(x, *row) for x, rows in TABLES for row in rows]
)
def test_what_does_not_fit_is_said(x: Any, f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, x)
