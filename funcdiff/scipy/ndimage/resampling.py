"""Images at coordinates, by B-splines: linear in the image, and smooth in the coordinates.

The spline's coefficients are a matrix times the image along each axis, which SciPy itself gives.
Which pixels a place sees is a constant; their weights are polynomials of where it is between them.

P. Thévenaz, T. Blu, M. Unser, "Interpolation revisited", IEEE Trans. Medical Imaging 19, 2000.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.numpy import asarray, take
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import borrow_functions
from funcdiff.scipy.covered import covers
from funcdiff.scipy.ndimage.outputs import write
from funcdiff.scipy.places import place

# --------------------------------------------------------------------------------------------------
# Images beyond their borders: which pixel stands for a place outside, and where for a coordinate.
#
# Everything here is a matter of integers, but for coordinates, which are reflected and wrapped by
# sums and differences: these have their derivatives by the coordinate.


NEAREST, WRAP, REFLECT, MIRROR, CONSTANT, GRID_WRAP, GRID_CONSTANT = range(7)
"""SciPy's codes of its modes; filters have the first five, and take wrap for grid-wrap."""

_BY_CONSTANT: Final = (CONSTANT, GRID_CONSTANT)

_REACH: Final = 8.0
"""So far from an image no spline sees more than its border: their orders are at most 5."""


def pixels(place: Any, n: int, mode: int) -> tuple[Any, Any]:
    """Return the pixel that stands for an integral place, and whether it is one of the image."""
    inside = (place >= 0) & (place < n)
    if mode in _BY_CONSTANT or mode == NEAREST:
        return np.clip(place, 0, n - 1), inside | (mode == NEAREST)
    if mode in (WRAP, GRID_WRAP) or n == 1:
        return place % n, inside | True
    period = 2 * n - 2 if mode == MIRROR else 2 * n
    folded = place % period
    last = period if mode == MIRROR else period - 1
    return np.where(folded < n, folded, last - folded), inside | True


def extend(x: Any, axis: int, before: int, behind: int, mode: int, cval: Any) -> Any:
    """Return an image with so many more pixels at both ends of an axis, or with fewer."""
    if x.shape[axis] == 0:  # no pixel stands for any
        return array(np.zeros([before + behind if k == axis else n for k, n in enumerate(x.shape)]))
    index, inside = pixels(np.arange(-before, x.shape[axis] + behind), x.shape[axis], mode)
    y = take(x, index, axis=axis)
    if mode not in _BY_CONSTANT:
        return y
    shape = [1] * x.ndim
    shape[axis] = -1
    return np.where(inside.reshape(shape), y, cval)


def coordinate(x: Any, n: int, mode: int) -> tuple[Any, Any]:
    """Return where in an image a coordinate is looked up, and whether it is in the image."""
    last = n - 1
    inside = (x >= 0) & (x <= last)
    if mode == GRID_CONSTANT:
        return x, inside | True
    if mode == CONSTANT:
        return np.where(inside, x, 0.0), inside
    if mode == NEAREST or n == 1:  # near the border a spline still sees pixels of the image
        return np.clip(x, -_REACH, last + _REACH), inside | True
    if mode == MIRROR:
        folded = x - 2 * last * np.floor(x / (2 * last))
        found = np.where(folded > last, 2 * last - folded, folded)
    elif mode == REFLECT:
        folded = x - 2 * n * np.floor(x / (2 * n))
        found = np.where(folded >= n, 2 * n - 1 - folded, folded)
    elif mode == WRAP:
        behind = x - last * np.floor(x / last)
        found = np.where(x < 0, x + last * (np.floor(-x / last) + 1), behind)
    else:
        behind = x - n * np.trunc(x / n)
        found = np.where(x < 0, x + n * (np.trunc((-1 - x) / n) + 1), behind)
    return np.where(inside, x, found), inside | True


_COMPILED = "scipy.ndimage._nd_image"


@lru_cache(maxsize=64)
def _prefilter(n: int, order: int, mode: int) -> Any:
    """Return the matrix of what turns pixels into coefficients of a spline."""
    matrix = np.empty((n, n))
    place(_COMPILED, "spline_filter1d")(np.eye(n), order, 0, matrix, mode)
    return matrix


@covers(_COMPILED)
def spline_filter1d(x: Any, order: int, axis: int, output: Any, mode: int) -> None:
    """Let the output be the coefficients of the spline through the pixels along an axis."""
    matrix = _prefilter(x.shape[axis], order, mode)
    y = np.tensordot(matrix, asarray(x, float), (1, axis))
    write(output, np.moveaxis(y, 0, axis))


def _weights(x: Any, order: int) -> tuple[Any, Any]:
    """Return the first of the pixels that a place sees, and the weights of all: a first axis."""
    half = 0.0 if order % 2 else 0.5
    first = np.floor(x + half)
    t = x + half - first
    w = [np.ones_like(t)]
    for p in range(1, order + 1):
        before, same = [0.0, *w], [*w, 0.0]
        w = [((t + p - j) * before[j] + (1 - t + j) * same[j]) / p for j in range(p + 1)]
    return first.astype(np.int64) - order // 2, np.stack(w)


def _pixels_around(x: Any, n: int, order: int, mode: int) -> tuple[Any, Any, Any, Any]:
    """Return pixels, their weights, which of them are in the image, and which places are."""
    place, inside = coordinate(x, n, mode)
    first, weights = _weights(place, order)
    steps = np.arange(order + 1).reshape(-1, *(1 for _ in x.shape))
    index, known = pixels(first + steps, n, MIRROR if mode in (CONSTANT, WRAP) else mode)
    return index, weights, known, inside


@covers(_COMPILED)
def geometric_transform(
    x: Any,
    mapping: Any,
    coordinates: Any,
    matrix: Any,
    offset: Any,
    output: Any,
    order: int,
    mode: int,
    cval: Any,
    npad: int,
    *_arguments: Any,
) -> None:
    """Look up coordinates, given or an affine function of the pixel."""
    if coordinates is None:
        grid = np.indices(output.shape).reshape(output.ndim, -1)
        coordinates = array(matrix) @ grid + asarray(offset)[:, None]
    places = asarray(coordinates, float).reshape(x.ndim, -1) + npad
    found = [_pixels_around(places[d], n, order, mode) for d, n in enumerate(x.shape)]
    shapes = [[order + 1 if k == d else 1 for k in range(x.ndim)] for d in range(x.ndim)]
    indices = [f[0].reshape(*s, -1) for f, s in zip(found, shapes, strict=True)]
    y = array(asarray(x, float))[tuple(indices)]
    if mode == GRID_CONSTANT:
        for (_, _, known, _), shape in zip(found, shapes, strict=True):
            y = np.where(known.reshape(*shape, -1), y, cval)
    for _, weights, _, _ in found:
        y = np.sum(weights.reshape(order + 1, *(1 for _ in y.shape[2:]), -1) * y, axis=0)
    inside = np.all(np.stack([f[3] for f in found]), axis=0)
    write(output, np.where(inside, y, cval).reshape(output.shape), rounds=True)


@covers(_COMPILED)
def zoom_shift(
    x: Any,
    zoom: Any,
    shift: Any,
    output: Any,
    order: int,
    mode: int,
    cval: Any,
    npad: int,
    grid_mode: bool,
) -> None:
    """Look up coordinates that are linear in the pixel, axis by axis."""
    y, flags = asarray(x, float), []
    for axis, n in enumerate(x.shape):
        places = np.arange(output.shape[axis], dtype=float)
        if shift is not None:
            places = places + shift[axis]
        if zoom is not None:
            places = (places + 0.5) * zoom[axis] - 0.5 if grid_mode else places * zoom[axis]
        index, weights, known, inside = _pixels_around(places + npad, n, order, mode)
        shape = (order + 1, -1, *(1 for _ in x.shape[1:]))
        seen = take(np.moveaxis(y, axis, 0), index, axis=0)
        if mode == GRID_CONSTANT:
            seen = np.where(known.reshape(shape), seen, cval)
        y = np.moveaxis(np.sum(weights.reshape(shape) * seen, axis=0), 0, axis)
        flags.append(inside.reshape([-1 if k == axis else 1 for k in range(x.ndim)]))
    for inside in flags:
        y = np.where(inside, y, cval)
    write(output, y, rounds=True)


borrow_functions(
    "scipy.ndimage",
    "spline_filter spline_filter1d map_coordinates affine_transform shift rotate",
    note="By the image, the coordinates, the matrix, the offset, shift and angle.",
)
borrow_functions("scipy.ndimage", "zoom", note="By the image.")
