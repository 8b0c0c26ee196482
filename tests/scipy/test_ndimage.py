"""Images: filters, interpolation, transforms and measurements, and their derivatives."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import ndimage as plain

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError, UnsupportedNumPyError
from funcdiff.scipy import ndimage
from tests.scipy.agreement import assert_agrees

GENERATOR = np.random.default_rng(1)
A, W, V = (GENERATOR.normal(size=shape) for shape in ((5, 6), (3, 2), 3))
PLACES = np.array([[0.3, 1.2, 2.7, 3.6, -0.4, 4.4], [0.7, 3.3, 4.6, 1.1, 5.3, -0.6]])
MODES = ["reflect", "constant", "nearest", "mirror", "wrap"]
GRID_MODES = ["grid-wrap", "grid-constant"]
CORNER = np.array([[1, 0, 1], [0, 1, 1]])
LABELS = np.array([[0, 1, 1, 2, 2, 0]] * 2 + [[3] * 6] + [[0, 1, 1, 2, 2, 0]] * 2)
MATRIX, OFFSET = np.array([[0.9, 0.2], [-0.1, 1.1]]), np.array([0.3, 0.2])
Z = A + 1j * A[::-1]

CALLS: dict[str, tuple[Any, ...]] = {
    **{
        f"correlate {m}": (
            lambda s, x, w, m=m: s.correlate(x, w, mode=m, cval=0.5, origin=(1, 0)), A, W,
        )
        for m in (*MODES, *GRID_MODES)
    },
    **{
        f"convolve1d {m}": (
            lambda s, x, w, m=m: s.convolve1d(x, w, axis=0, mode=m, cval=0.5, origin=-1), A, V,
        )
        for m in MODES
    },
    "a kernel wider than the image": (lambda s, x, w: s.convolve1d(x, w), A[0, :2], A[0]),
    "complex": (lambda s, x, w: s.convolve(x, w), Z, W + 1j),
    "complex weights": (lambda s, x: s.correlate1d(x, [1, 2j, 3]), A),
    "gaussian": (lambda s, x, g: s.gaussian_filter(x, [g, 1.0], mode=["wrap", "mirror"]), A, 0.7),
    "gaussian derivative": (
        lambda s, x, g: s.gaussian_filter1d(x, g, order=2, radius=3, axis=0), A, 0.7,
    ),
    "gaussian axes": (lambda s, x: s.gaussian_filter(x, 0.7, order=(0, 2), truncate=2.0), A),
    "uniform": (lambda s, x: s.uniform_filter1d(x, 3, origin=1, mode="constant", cval=1.0), Z),
    **{f: (lambda s, x, f=f: getattr(s, f)(x), A) for f in ("sobel", "prewitt", "laplace")},
    "laplace of a gaussian": (lambda s, x: s.gaussian_laplace(x, 0.8), A),
    "gradient magnitude": (lambda s, x: s.gaussian_gradient_magnitude(x, 0.8), A),
    **{
        f"{f} footprint": (lambda s, x, f=f: getattr(s, f)(x, footprint=CORNER, mode="mirror"), A)
        for f in ("maximum_filter", "minimum_filter", "median_filter")
    },
    "maximum": (lambda s, x: s.maximum_filter(x, (3, 2), origin=(1, 0)), A),
    "rank": (lambda s, x: s.rank_filter(x, 2, size=(2, 3), origin=(0, 1)), A),
    "rank of a line": (lambda s, x: s.rank_filter(x, 1, size=3), A[0]),
    "erosion": (lambda s, x: s.grey_erosion(x, structure=np.array([[0, 1.0], [2, 0.5]])), A),
    "tophat": (lambda s, x: s.white_tophat(x, size=(2, 3)), A),
    **{
        f"coordinates {m} {order}": (
            lambda s, x, c, m=m, k=order: s.map_coordinates(x, c, order=k, mode=m, cval=0.3), A,
            PLACES,
        )
        for m in (*MODES, *GRID_MODES)
        for order in range(6)
    },
    "coordinates without a filter": (
        lambda s, x, c: s.map_coordinates(x, c, prefilter=False), Z, PLACES,
    ),
    "coordinates beyond the border without a filter": (
        lambda s, x, c: s.map_coordinates(x, c, order=4, mode="nearest", prefilter=False), A,
        1.7 * PLACES - 1.0,
    ),
    **{
        f"shift {m}": (lambda s, x, v, m=m: s.shift(x, v, mode=m, cval=0.2), A, OFFSET - 1.2)
        for m in (*MODES, *GRID_MODES)
    },
    "affine": (lambda s, x, m, o: s.affine_transform(x, m, o, mode="mirror"), A, MATRIX, OFFSET),
    "affine of a diagonal": (
        lambda s, x, m, o: s.affine_transform(x, m, o, (3, 4), mode="nearest"), A, np.diag(MATRIX),
        OFFSET,
    ),
    "zoom": (lambda s, x: s.zoom(x, (1.6, 0.8)), A),
    "zoom of cells": (lambda s, x: s.zoom(x, 2, grid_mode=True, mode="grid-constant"), A),
    "rotation": (lambda s, x: s.rotate(x, 30.0), A),
    "rotation of planes": (
        lambda s, x: s.rotate(x, 30.0, (0, 2), reshape=False, order=1), np.stack([A, A + 1]),
    ),
    "spline": (lambda s, x: s.spline_filter(x, 5), A),
    "spline of complex": (lambda s, x: s.spline_filter1d(x, 4, 0, complex, "wrap"), Z),
    **{
        f"fourier {f}": (lambda s, x, z, f=f: getattr(s, f"fourier_{f}")(x, z, 9, 0), Z, OFFSET)
        for f in ("gaussian", "uniform", "shift")
    },
    "fourier ellipsoid": (lambda s, x: s.fourier_ellipsoid(x, 2.0), Z),
    **{
        f"{f} {what}": (lambda s, x, f=f, args=args: getattr(s, f)(x, *args), A + 3)
        for f in (
            "sum_labels", "mean", "standard_deviation", "minimum", "maximum", "median",
            "center_of_mass",
        )
        for what, args in (("all", ()), ("labelled", (LABELS,)), ("each", (LABELS, [1, 3, 2])))
        if what != "each" or f != "center_of_mass"
    },
    "no pixels": (lambda s, x: [s.sum(x, LABELS, [9, 1]), s.maximum(x, LABELS, [9, 1])], A),
    "variance each": (lambda s, x: s.variance(x, LABELS, [1, 3, 2]), A),
    "center of mass each": (lambda s, x: s.center_of_mass(x, LABELS, [1, 3]), A + 3),
}  # fmt: skip
TWICE = {"gaussian", "coordinates mirror 3", "median each", "gradient magnitude"}


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", CALLS)
def test_images_have_scipys_values_and_all_derivatives(name: str) -> None:
    call, *arrays = CALLS[name]
    order = 2 if name in TWICE else 1
    assert_agrees("scipy.ndimage", call, *arrays, order=order, rtol=1e-10)


def test_single_precision_and_other_dtypes_are_kept() -> None:
    image = A.astype(np.float32)
    calls: tuple[Any, ...] = (
        lambda s, x: s.gaussian_filter(x, 1.2),
        lambda s, x: s.uniform_filter(x, (2, 3), output=np.float64),
        lambda s, x: s.map_coordinates(x, PLACES, order=1),
    )
    for call in calls:
        expected = call(plain, image)
        found = fd.vjp(partial(call, ndimage), image)[0]
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


def test_percentiles_are_ranks() -> None:
    assert_agrees(
        "scipy.ndimage", lambda s, x: s.percentile_filter(x, 30, size=4), A, order=1, batched=False
    )


def test_equal_pixels_share_the_derivative_of_an_extremum() -> None:
    gradient = fd.grad(lambda x: ndimage.maximum_filter1d(x, 3)[1])(np.ones(4))
    np.testing.assert_allclose(gradient, [1 / 3, 1 / 3, 1 / 3, 0])


def test_at_a_whole_coordinate_the_derivative_is_that_on_the_right() -> None:
    ramp = np.array([0.0, 1.0, 5.0])
    slope = fd.grad(lambda x: ndimage.map_coordinates(ramp, np.reshape(x, (1, 1)), order=1)[0])(1.0)
    assert slope == 4.0


def test_labels_and_sizes_that_are_traced_are_refused() -> None:
    with pytest.raises(NotDifferentiableError, match="traced labels"):
        fd.vjp(lambda x: ndimage.mean(x, x, [1, 2]), A)
    with pytest.raises(NotDifferentiableError, match="traced size"):
        fd.vjp(lambda size: ndimage.fourier_ellipsoid(A, size), 2.0)
    with pytest.raises(UnsupportedNumPyError, match="use map_coordinates"):
        fd.vjp(lambda x: ndimage.geometric_transform(x, lambda p: p), A)


@pytest.mark.parametrize("name", ["gaussian_filter", "uniform_filter", "median_filter", "laplace"])
def test_an_empty_image_stays_empty(name: str) -> None:
    options = () if name == "laplace" else (3,)
    for shape in ((0,), (0, 3)):
        value, pull = fd.vjp(lambda x: getattr(ndimage, name)(x, *options), np.ones(shape))
        assert value.shape == shape
        assert pull(np.ones(shape))[0].shape == shape


INTEGRAL: dict[str, Any] = {
    "affine": lambda s, x, m: s.affine_transform(x, m, order=1),
    "affine in two axes": lambda s, x, m: s.affine_transform(x, np.stack([m, m[::-1]]), [0.3, 1]),
    "coordinates": lambda s, x, m: s.map_coordinates(x, np.stack([m, 2 * m]), order=2),
    "shift": lambda s, x, m: s.shift(x, m, mode="reflect", order=3),
    "rotated": lambda s, x, m: s.rotate(x, 60 * m[0], reshape=False),
    "correlate": lambda s, x, m: s.correlate1d(x, 3 - 5 * m),
    "complex weights": lambda s, x, m: s.correlate1d(x, m * (1 + 0.5j)),
    "gaussian": lambda s, x, m: s.gaussian_filter(x, m[1]),
}


def _unmoved(f: Any, x: Any) -> Any:
    """Return what has no derivative, of a traced array."""
    return fd.vjp(lambda x: (x.ravel()[0], f(x)), x, has_aux=True)[2]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", INTEGRAL)
def test_images_of_integers_are_rounded_or_cut_off_as_scipy_has_them(name: str) -> None:
    shift = np.array([0.55, 1.15])
    whole = np.array([[1, 2, 3, 90], [4, 251, 6, 7], [5, 1, 9, 0]])
    for image in (whole.astype(dtype) for dtype in ("u1", "i1", "i8", "u4")):
        found = _unmoved(partial(INTEGRAL[name], ndimage, image), shift)
        expected = INTEGRAL[name](plain, image, shift)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-13)


REFUSED: list[tuple[Any, Any]] = [
    (lambda s, x: s.correlate1d(A[0], x * (1 + 1j), mode="constant", cval=1j), ValueError),
    (lambda s, x: s.gaussian_filter1d(x, 1.0, radius=-1), ValueError),
    (lambda s, x: s.gaussian_filter(x.astype("f2"), 1.0), RuntimeError),
]


@pytest.mark.parametrize(("f", "error"), REFUSED)
def test_what_scipy_refuses_is_refused_with_traced_values(f: Any, error: Any) -> None:
    with pytest.raises(error):
        f(plain, A[0])
    with pytest.raises(error):
        fd.vjp(partial(f, ndimage), A[0])


def test_positions_of_a_label_that_no_pixel_has_are_integers() -> None:
    def positions(s: Any, x: Any) -> Any:
        return s.maximum_position(x, LABELS, [1, 9])

    assert _unmoved(partial(positions, ndimage), A) == positions(plain, A)
