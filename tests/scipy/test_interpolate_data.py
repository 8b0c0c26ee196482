"""Interpolation of data: splines of FITPACK, grids, scattered points, polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate
from scipy.sparse.linalg import spsolve

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.scipy import interpolate
from tests.scipy.agreement import assert_agrees

GENERATOR = np.random.default_rng(5)
X = np.array([0.0, 0.7, 1.5, 3.1, 3.5, 4.2])
Y, Y2 = GENERATOR.normal(size=6), GENERATOR.normal(size=(6, 2))
OUTER = np.array([-1, -1, -1, 1.0, 5.0, 5.0, 5.0])
P = np.array([0.2, 1.0, 1.6, 2.9])
NODES = np.array([0.2, 1.5, 2.9])
GX, GY = np.array([0, 1, 2.2, 3, 4.5]), np.array([0, 0.8, 2, 3.0, 3.7, 5])
Z = GENERATOR.normal(size=(5, 6))
Q = np.array([[0.5, 0.6], [1.7, 2.2], [2.9, 4.0]])
CORNERS = np.array([[0.0, 0.1], [1.1, 0.0], [0.1, 1.2], [1.0, 1.1], [0.45, 0.6], [0.7, 0.3]])
V = GENERATOR.normal(size=6)
INSIDE = np.array([[0.3, 0.4], [0.62, 0.7], [0.55, 0.2]])
TCK = [*interpolate.RectBivariateSpline(GX, GY, Z).tck, 3, 3]
KINDS = [
    "linear", "nearest", "nearest-up", "zero", "slinear", "previous", "next", "quadratic", "cubic",
]  # fmt: skip

CONDITIONS = {
    "not-a-knot": "not-a-knot",
    "clamped": "clamped",
    "natural": "natural",
    "by derivatives": ((1, 0.5), (2, 0.3)),
}


def closed(y: Any) -> Any:
    return np.concatenate([y, y[:1]])


CALLS: dict[str, tuple[Any, ...]] = {
    **{
        f"cubic {name}": (lambda s, x, y, p, bc=bc: s.CubicSpline(x, y, bc_type=bc)(p), X, Y, P)
        for name, bc in CONDITIONS.items()
    },
    "cubic of three": (lambda s, x, y: s.CubicSpline(x, y)(P), X[:3], Y[:3]),
    "cubic of two": (lambda s, x, y: s.CubicSpline(x, y)(P), X[:2], Y[:2] + 1j),
    "cubic periodic": (
        lambda s, x, y: s.CubicSpline(x, closed(y), bc_type="periodic")(2 * P), X, Y[:5],
    ),
    "cubic axis": (lambda s, x, y: s.CubicSpline(x, y, 1).integrate(0.3, 4.0), X, Y2.T),
    "cubic by values of derivatives": (
        lambda s, y, d: s.CubicSpline(X, y, bc_type=((1, d[0]), (2, d[1])))(P, nu=1), Y2, Y2[:2],
    ),
    **{
        f"interpolating k={k}": (lambda s, x, y, k=k: s.make_interp_spline(x, y, k)(P), X, Y)
        for k in (2, 3, 5)
    },
    **{
        f"interpolating {bc}": (
            lambda s, x, y, bc=bc: s.make_interp_spline(x, y, bc_type=bc)(P), X, Y,
        )
        for bc in ("natural", "clamped")
    },
    "interpolating by derivatives": (
        lambda s, x, y: s.make_interp_spline(x, y, bc_type=([(1, 0.5)], [(2, 0.3)]))(P), X, Y + 1j,
    ),
    "interpolating periodic": (
        lambda s, x, y: s.make_interp_spline(x, closed(y), bc_type="periodic")(P), X, Y[:5],
    ),
    "normal equations": (
        lambda s, x, y: s.make_lsq_spline(x, y, OUTER, 2, method="norm-eq")(P), X, Y,
    ),
    "barycentric": (lambda s, x, y, p: s.BarycentricInterpolator(x, y, rng=1)(p), X, Y, NODES),
    "barycentric derivative": (
        lambda s, y, p: s.BarycentricInterpolator(X, y, rng=1).derivative(p), Y2, NODES,
    ),
    "krogh": (lambda s, y, p: s.KroghInterpolator(X, y)(p), Y2, NODES),
    "krogh derivatives": (lambda s, y, p: s.krogh_interpolate(X, y, p, der=[0, 2]), Y2, NODES),
    "interp1d outside": (
        lambda s, y, p: s.interp1d(X, y, axis=1, bounds_error=False, fill_value=(1.0, 2.0))(p),
        Y2.T, 1.6 * P,
    ),
    "interp1d continued": (lambda s, y, p: s.interp1d(X, y, fill_value="extrapolate")(p), Y, 2 * P),
    **{
        f"interp1d {kind}": (lambda s, x, y, p, kind=kind: s.interp1d(x, y, kind)(p), X, Y, P)
        for kind in KINDS
    },
    **{
        f"fitpack {k}": (lambda s, x, y, k=k: s.InterpolatedUnivariateSpline(x, y, k=k)(P), X, Y)
        for k in (1, 2, 3)
    },
    "univariate": (lambda s, x, y, p: s.UnivariateSpline(x, y, s=0)(p, nu=1), X, Y, P),
    "univariate derivative": (lambda s, y: s.UnivariateSpline(X, y, s=0).derivative()(P), Y),
    "univariate integral": (lambda s, y, a: s.UnivariateSpline(X, y, s=0).integral(a, 3), Y, 0.8),
    "univariate derivatives": (lambda s, y: s.UnivariateSpline(X, y, s=0).derivatives(0.8), Y),
    "univariate least squares": (
        lambda s, y, w: s.LSQUnivariateSpline(X, y, [1.6], k=2, w=w)(P), Y, X + 1,
    ),
    **{
        f"splev {ext}": (lambda s, y, p, e=ext: s.splev(1.6 * p, s.splrep(X, y), 0, e), Y, P)
        for ext in (0, 1, 3)
    },
    "splev refusing": (lambda s, x, y, p: s.splev(p, s.splrep(x, y, k=2), 1, 2), X, Y, P),
    "splrep with knots": (lambda s, y: s.splev(P, s.splrep(X, y, t=[1.6], k=2)), Y),
    "splint": (lambda s, x, y: s.splint(-1, 3.0, s.splrep(x, y)), X, Y),
    "rectangle": (lambda s, x, z, p: s.RectBivariateSpline(x, GY, z)(p, 1.0), GX, Z, Q[:, 0]),
    "rectangle at points": (
        lambda s, z, q: s.RectBivariateSpline(GX, GY, z, kx=2).ev(q[:, 0], q[:, 1], dx=1), Z, Q,
    ),
    "rectangle integral": (
        lambda s, z, a: s.RectBivariateSpline(GX, GY, z).integral(a, 3.0, 0.6, 4.0), Z, 0.5,
    ),
    "rectangle derivative": (
        lambda s, x, z: s.RectBivariateSpline(x, GY, z, kx=4).partial_derivative(2, 1)(1.3, 1.1),
        GX, Z,
    ),
    "bisplev": (lambda s, q: s.bisplev(q[:, 0], q[:, 1], TCK, dx=1), Q),
    "grid linear": (
        lambda s, x, z, q: s.RegularGridInterpolator((x, GY), z)(q), GX, np.stack([Z, 1j * Z], -1),
        Q,
    ),
    **{
        f"grid {m}": (lambda s, z, q, m=m: s.RegularGridInterpolator((GX, GY), z, m)(q), Z, Q)
        for m in ("linear", "cubic_legacy")
    },
    "grid nearest": (
        lambda s, z, q: s.RegularGridInterpolator((GX, GY), z, "nearest", False)(q), Z, Q,
    ),
    "scattered in one variable": (lambda s, x: s.griddata(x, Y, P, "cubic"), X),
    "splev of a period": (lambda s, p: s.splev(p, s.splrep(X, np.sin(X), per=1)), P),
    "a table": (lambda s, q: s.RegularGridInterpolator((GX, GY), Z)(q), Q),
    "grid pchip": (lambda s, z, q: s.RegularGridInterpolator((GX, GY), z, "pchip")(q), Z, Q[:1]),
    "grid outside": (
        lambda s, z, q: s.interpn((GX, GY), z, q, bounds_error=False, fill_value=None), Z, 1.4 * Q,
    ),
    "interpn splinef2d": (lambda s, z, q: s.interpn((GX, GY), z, q, "splinef2d"), Z, Q),
    "simplices": (lambda s, x, v, q: s.LinearNDInterpolator(x, v)(q), CORNERS, V, INSIDE),
    "simplices outside": (
        lambda s, v, q: s.LinearNDInterpolator(CORNERS, v, 0.0, rescale=True)(q[:, 0], q[:, 1]),
        np.stack([V, 1j * V], -1), 3 * INSIDE - 0.6,
    ),
    "neighbours": (lambda s, x, v, q: s.NearestNDInterpolator(x, v)(q), CORNERS, V, INSIDE),
    "griddata": (lambda s, x, v, q: s.griddata(x, v, q), CORNERS, V, INSIDE),
    **{
        f"cubics on triangles {rescale}": (
            lambda s, x, v, q, rescale=rescale: s.CloughTocher2DInterpolator(
                x, v, 0.5, tol=1e-13, maxiter=2000, rescale=rescale
            )(1.7 * q[:, 0], q[:, 1]),
            CORNERS * [1.0, 0.7],
            np.stack([V, 1j * V], -1),
            INSIDE,
        )
        for rescale in (False, True)
    },
    "griddata on a line": (lambda s, x, y, p: s.griddata(x, y, p), X, Y, P),
    **{
        f"radial {kernel}": (
            lambda s, x, v, q, kernel=kernel: s.RBFInterpolator(x, v, kernel=kernel, epsilon=1.5)(
                q
            ),
            CORNERS,
            V,
            INSIDE,
        )
        for kernel in ("linear", "thin_plate_spline", "cubic", "quintic", "multiquadric")
    },
    "radial smoothing": (
        lambda s, v, w: s.RBFInterpolator(CORNERS, v, smoothing=w)(INSIDE),
        np.stack([V, 1j * V], -1), V**2,
    ),
    "radial of neighbours": (
        lambda s, x, v, q: s.RBFInterpolator(x, v, neighbors=4, kernel="linear")(q), CORNERS,
        np.stack([V, 1j * V], -1), INSIDE,
    ),
    "radial at a centre": (
        lambda s, x, q: s.RBFInterpolator(x, V, kernel="gaussian", epsilon=3.0)(q), CORNERS,
        CORNERS[:2],
    ),
}  # fmt: skip
TWICE = {"barycentric", "radial at a centre", "cubic of three"}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_interpolants_have_scipys_values_and_all_derivatives(name: str) -> None:
    call, *arrays = CALLS[name]
    order = 2 if name in TWICE else 1
    assert_agrees("scipy.interpolate", call, *arrays, order=order, rtol=1e-9)


def test_an_interpolant_of_plain_data_takes_traced_points() -> None:
    for spline in (
        interpolate.interp1d(X, Y),
        interpolate.UnivariateSpline(X, Y, s=1.0),
        interpolate.KroghInterpolator(X, Y),
        interpolate.BarycentricInterpolator(X, Y),
    ):
        h = 1e-6
        difference = (spline(1.1 + h) - spline(1.1 - h)) / (2 * h)
        np.testing.assert_allclose(fd.grad(spline)(1.1), difference, rtol=1e-6)


def test_what_chooses_its_knots_by_the_data_is_refused() -> None:
    for make in (
        lambda y: interpolate.splrep(X, y, s=0.1, per=True),
        lambda z: interpolate.RectBivariateSpline(X, X, z + np.zeros((6, 6)), s=0.1),
    ):
        with pytest.raises(UnsupportedNumPyError, match=r"no traced data.*give the knots"):
            fd.vjp(make, Y)


def test_splines_on_a_grid_are_those_of_an_exact_solver() -> None:
    def evaluate(z: Any, **solver: Any) -> Any:
        return interpolate.RegularGridInterpolator((GX, GY), z, "cubic", **solver)(Q)

    expected = scipy.interpolate.RegularGridInterpolator((GX, GY), Z, "cubic", solver=spsolve)(Q)
    np.testing.assert_allclose(fd.vjp(evaluate, Z)[0], expected, rtol=1e-10)
    tangent = np.flip(Z)
    found = fd.jvp(evaluate, (Z,), (tangent,))[1]
    np.testing.assert_allclose(found, fd.vjp(evaluate, tangent)[0], rtol=1e-10)


def test_cubics_on_triangles_are_those_of_exact_gradients() -> None:
    exact = scipy.interpolate.CloughTocher2DInterpolator(CORNERS, V, tol=1e-13, maxiter=2000)
    found = fd.vjp(lambda v: interpolate.griddata(CORNERS, v, INSIDE, "cubic"), V)[0]
    np.testing.assert_allclose(found, exact(INSIDE), rtol=1e-9)


def test_points_outside_are_an_error_where_scipy_has_one() -> None:
    with pytest.raises(ValueError, match="not in the domain"):
        fd.grad(lambda p: interpolate.splev(p, interpolate.splrep(X, Y), ext=2)[()])(9.0)
    with pytest.raises(ValueError, match="above the interpolation range"):
        fd.grad(interpolate.interp1d(X, Y))(9.0)


def test_smoothing_splines_of_plain_data_take_traced_points() -> None:
    spline = interpolate.make_smoothing_spline(X, Y)
    expected = scipy.interpolate.make_smoothing_spline(X, Y)
    np.testing.assert_allclose(spline(P), expected(P), rtol=1e-12)
    np.testing.assert_allclose(fd.grad(spline)(1.1), expected(1.1, nu=1), rtol=1e-12)


def test_widths_and_angles_are_differentiated() -> None:
    def evaluate(epsilon: Any) -> Any:
        kernel = interpolate.RBFInterpolator(X[:, None], Y, kernel="gaussian", epsilon=epsilon)
        return kernel(np.array([[1.1]]))[0]

    h = 1e-6
    difference = (evaluate(1.0 + h) - evaluate(1.0 - h)) / (2 * h)
    np.testing.assert_allclose(fd.grad(evaluate)(1.0), difference, rtol=1e-6)


def test_radial_functions_take_points_that_are_views() -> None:
    wanted = scipy.interpolate.RBFInterpolator(CORNERS, V)(INSIDE)
    found = interpolate.RBFInterpolator(CORNERS, V)(INSIDE[::-1])[::-1]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("name", ["KroghInterpolator", "BarycentricInterpolator"])
def test_nodes_and_places_that_are_integers_do_not_wrap_around(name: str) -> None:
    nodes, y = [0, 700, 5_000, 9_000, 20_000, 60_000], np.exp(-np.arange(6.0))
    expected = getattr(scipy.interpolate, name)(nodes, y)(nodes[1:])
    found = fd.vjp(lambda y: getattr(interpolate, name)(nodes, y)(nodes[1:]), y)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-11)
