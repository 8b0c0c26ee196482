"""Filters: sums of products, extrema and ranks over a window around each pixel.

SciPy's Python code is run as it is; what it has compiled is a convolution of the image that goes
on beyond its borders, linear in image and weights, or a reduction over windows.
"""

from __future__ import annotations

from math import pi
from numbers import Integral
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy import asarray
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.products.convolution import Convolution, convolve
from funcdiff.scipy.borrowed import borrow_functions, copy_of
from funcdiff.scipy.covered import covers, load
from funcdiff.scipy.ndimage.outputs import write
from funcdiff.scipy.ndimage.resampling import extend
from funcdiff.scipy.places import place

_COMPILED = "scipy.ndimage._nd_image"
_MODULE = "scipy.ndimage._filters"


def _extend_by_window(x: Any, shape: Any, origins: Any, mode: int, cval: Any) -> Any:
    """Return an image that goes on as far as windows of a shape reach."""
    for axis, (size, origin) in enumerate(zip(shape, origins, strict=True)):
        before = size // 2 + origin
        x = extend(x, axis, before, size - 1 - before, mode, cval)
    return x


@covers(_COMPILED)
def correlate(x: Any, weights: Any, output: Any, mode: int, cval: Any, origins: Any) -> None:
    """Let the output be Σ_j w[j]·x[i + j - size//2 - origin]."""
    image = _extend_by_window(asarray(x, float), weights.shape, list(origins), mode, cval)
    axes = len(weights.shape)
    p = Convolution((), (), (), ((1, -1, 1),) * axes, (0,) * axes, tuple(x.shape))
    y: Any = convolve(array(image), array(asarray(weights, float)), p)
    write(output, y)


@covers(_COMPILED)
def correlate1d(
    x: Any, weights: Any, axis: int, output: Any, mode: int, cval: Any, origin: int
) -> None:
    """Correlate along an axis."""
    before = len(weights) // 2 + origin
    image = extend(asarray(x, float), axis, before, len(weights) - 1 - before, mode, cval)
    others = tuple(range(x.ndim - 1))
    p = Convolution(others, (), others, ((1, -1, 1),), (0,), (x.shape[axis],))
    y: Any = convolve(array(np.moveaxis(image, axis, -1)), array(asarray(weights, float)), p)
    write(output, np.moveaxis(y, -1, axis))


@covers(_COMPILED)
def uniform_filter1d(
    x: Any, size: int, axis: int, output: Any, mode: int, cval: Any, origin: int
) -> None:
    """Take means along an axis."""
    correlate1d(array(x), np.full(size, 1 / size), axis, output, mode, cval, origin)


# ---- extrema and ranks ---------------------------------------------------------------------------


def _windows(x: Any, footprint: Any, mode: int, cval: Any, origins: Any) -> Any:
    """Return the pixels under a footprint around each pixel, along a first axis."""
    footprint = np.asarray(footprint, bool)
    image = _extend_by_window(asarray(x), footprint.shape, list(origins), mode, cval)
    starts = np.argwhere(footprint)
    parts = [
        image[tuple(slice(i, i + n) for i, n in zip(start, x.shape, strict=True))]
        for start in starts
    ]
    return np.stack(parts)


@covers(_COMPILED)
def min_or_max_filter(
    x: Any,
    footprint: Any,
    structure: Any,
    output: Any,
    mode: int,
    cval: Any,
    origins: Any,
    minimum: int,
) -> None:
    """Take minima or maxima, of pixels from which a structure is taken, or to which it is added."""
    windows = _windows(x, footprint, mode, cval, origins)
    if structure is not None:
        heights = asarray(structure, float)[np.asarray(footprint, bool)]
        heights = heights.reshape(-1, *(1 for _ in x.shape))
        windows = windows - heights if minimum else windows + heights
    write(output, (np.min if minimum else np.max)(windows, axis=0))


@covers(_COMPILED)
def min_or_max_filter1d(
    x: Any, size: int, axis: int, output: Any, mode: int, cval: Any, origin: int, minimum: int
) -> None:
    """Take minima or maxima along an axis."""
    origins, shape = [0] * x.ndim, [1] * x.ndim
    origins[axis], shape[axis] = origin, size
    min_or_max_filter(array(x), np.ones(shape, bool), None, output, mode, cval, origins, minimum)


@covers(_COMPILED)
def rank_filter(
    x: Any, rank: Any, footprint: Any, output: Any, mode: int, cval: Any, origins: Any
) -> None:
    """Take the pixel that has a rank in its window."""
    windows = np.sort(_windows(x, footprint, mode, cval, origins), axis=0)
    write(output, windows[int(rank)])


@covers("scipy.ndimage._rank_filter_1d", "rank_filter")
def _rank_filter_1d(
    x: Any, rank: Any, size: int, output: Any, mode: int, cval: Any, origin: int
) -> None:
    rank_filter(array(x), rank, np.ones(size, bool), output, mode, cval, [origin])


# ---- SciPy's code --------------------------------------------------------------------------------


@covers(_MODULE)
def _complex_via_real_components(
    func: Any, input: Any, weights: Any, output: Any, cval: Any, **kwargs: Any
) -> Any:
    """Filter real and imaginary parts of image and weights."""
    if input.dtype.kind != "c" and np.iscomplexobj(cval):
        raise ValueError("Cannot provide a complex-valued cval when the input is real.")

    def apply(x: Any, w: Any, border: Any) -> Any:
        return func(x, w, output=output.real.dtype, cval=border, **kwargs)

    parts = [(input.real, np.real(cval), 1), (input.imag, np.imag(cval), 1j)]
    factors = [(weights.real, 1), (weights.imag, 1j)]
    if input.dtype.kind != "c":
        parts = parts[:1]
    if weights.dtype.kind != "c":
        factors = factors[:1]
    found = sum(u * v * apply(x, w, border) for x, border, u in parts for w, v in factors)
    write(output, found)
    return output


@covers(_MODULE)
def _gaussian_kernel1d(sigma: Any, order: int, radius: int) -> Any:
    """Return a derivative of a Gaussian: a polynomial times it, of which the sum is one."""
    x = np.arange(-radius, radius + 1.0)
    phi = np.exp(-0.5 / sigma**2 * x**2)
    q: list[Any] = [1.0]
    for _ in range(order):
        rises = [*(k * c for k, c in enumerate(q[1:], 1)), 0.0, 0.0]
        q = [a - b / sigma**2 for a, b in zip(rises, [0.0, *q], strict=True)]
    return sum(c * x**k for k, c in enumerate(q)) * (phi / np.sum(phi))


@covers("scipy.ndimage", note="The radius is a constant where sigma is traced.")
def gaussian_filter1d(
    input: Any,
    sigma: Any,
    axis: int = -1,
    order: int = 0,
    output: Any = None,
    mode: str = "reflect",
    cval: Any = 0.0,
    truncate: float = 4.0,
    *,
    radius: Any = None,
) -> Any:
    """Correlate with derivatives of a Gaussian, also by its width."""
    reach = radius
    if radius is None:
        width: Any = truncate * sigma + 0.5
        is_traced = isinstance(width, Tracer)
        reach = int(width.astype(int) if is_traced else width)
    if not isinstance(reach, Integral) or reach < 0:
        raise ValueError("Radius must be a nonnegative integer.")
    kernel = _gaussian_kernel1d(sigma, order, int(reach))[::-1]
    return copy_of(load("scipy.ndimage").correlate1d)(input, kernel, axis, output, mode, cval, 0)


borrow_functions(
    "scipy.ndimage",
    "convolve correlate convolve1d correlate1d gaussian_filter uniform_filter uniform_filter1d "
    "sobel prewitt laplace gaussian_laplace gaussian_gradient_magnitude minimum_filter "
    "maximum_filter minimum_filter1d maximum_filter1d rank_filter median_filter "
    "percentile_filter grey_erosion grey_dilation grey_opening grey_closing "
    "morphological_gradient morphological_laplace white_tophat black_tophat",
)


# ---- Filters in the frequency domain: factors that are functions of the frequency ----------------


_COMPILED_FOURIER = "scipy.ndimage._nd_image"
_GAUSSIAN, _UNIFORM = 0, 1


def _frequencies(shape: Any, n: int, axis: int) -> list[Any]:
    """Return the frequencies along each axis, one of which may be that of a real transform."""
    found = []
    for k, length in enumerate(shape):
        real = n >= 0 and k == axis
        f = np.arange(length) / n if real else np.fft.fftfreq(max(length, 1))[:length]
        found.append(f.reshape([-1 if j == k else 1 for j in range(len(shape))]))
    return found


@covers(_COMPILED_FOURIER)
def fourier_filter(x: Any, sizes: Any, n: int, axis: int, output: Any, kind: int) -> None:
    """Multiply by the transform of a Gaussian, a box or an ellipsoid."""
    x, y = asarray(x), asarray(x)
    if kind in (_GAUSSIAN, _UNIFORM):
        for size, f in zip(sizes, _frequencies(x.shape, n, axis), strict=True):
            y = y * (np.exp(-2 * (pi * size * f) ** 2) if kind == _GAUSSIAN else np.sinc(size * f))
    else:
        if isinstance(sizes, Tracer):
            raise NotDifferentiableError(
                f"fourier_ellipsoid was given a traced size at {user_location()}: its factor is "
                "compiled. Keep the size out of the differentiated arguments."
            )
        factor = np.empty(x.shape)
        place(_COMPILED_FOURIER, "fourier_filter")(np.ones(x.shape), sizes, n, axis, factor, kind)
        y = y * factor
    write(output, y)


@covers(_COMPILED_FOURIER)
def fourier_shift(x: Any, shifts: Any, n: int, axis: int, output: Any) -> None:
    """Multiply by exp(-2πi Σ s_k·f_k)."""
    terms = zip(shifts, _frequencies(x.shape, n, axis), strict=True)
    phase: Any = sum(shift * f for shift, f in terms)
    write(output, x * np.exp(-2j * pi * phase))


borrow_functions("scipy.ndimage", "fourier_gaussian fourier_uniform fourier_shift")
borrow_functions("scipy.ndimage", "fourier_ellipsoid", note="By the image.")
