"""Images at coordinates, by B-splines: linear in the image, and smooth in the coordinates.

The spline's coefficients are a matrix times the image along each axis, which SciPy itself gives.
Which pixels a place sees is a constant; their weights are polynomials of where it is between them.

P. Thévenaz, T. Blu, M. Unser, "Interpolation revisited", IEEE Trans. Medical Imaging 19, 2000.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from funcdiff.numpy import asarray, take
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowing import borrow_functions
from funcdiff.scipy.covered import covers
from funcdiff.scipy.ndimage.borders import CONSTANT, GRID_CONSTANT, MIRROR, WRAP, coordinate, pixels
from funcdiff.scipy.ndimage.outputs import write
from funcdiff.scipy.places import place

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
