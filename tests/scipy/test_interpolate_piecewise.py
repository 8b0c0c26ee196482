"""Piecewise polynomials and B-splines: values, and derivatives by all that they are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.interpolate

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.scipy import interpolate
from tests.scipy.agreement import assert_agrees

GENERATOR = np.random.default_rng(3)
BREAKS = np.array([0.0, 0.7, 1.5, 3.1])
PLACES = np.array([0.2, 1.0, 1.6, 2.9])
C, D = GENERATOR.normal(size=(4, 3)), GENERATOR.normal(size=(3, 3, 2))
CELLS = GENERATOR.normal(size=(3, 2, 2, 3, 2))
GRID = np.array([0.0, 1.0, 2.5]), np.array([0.0, 0.5, 1.0, 2.0])
POINTS = GENERATOR.uniform(0.1, 1.9, size=(3, 2))
KNOTS = np.array([0, 0, 0, 0, 0.7, 1.5, 3.1, 4.2, 4.2, 4.2, 4.2]) + np.linspace(0, 0.3, 11)
COEFFICIENTS = GENERATOR.normal(size=(7, 2))
OUTER = np.array([-1, -1, -1, 1.0, 5.0, 5.0, 5.0])
X, Y = np.array([0.0, 0.7, 1.5, 3.1, 3.5, 4.2]), GENERATOR.normal(size=(6, 2))

CALLS: dict[str, tuple[Any, ...]] = {
    "PPoly": (lambda s, c, b, x: s.PPoly(c, b)(x), C, BREAKS, PLACES),
    "PPoly inside": (lambda s, c, b, x: s.PPoly(c, b, False)(x), C, BREAKS, PLACES),
    "PPoly periodic": (lambda s, c, b, x: s.PPoly(c, b, "periodic")(3 * x), C, BREAKS, PLACES),
    "PPoly nu": (lambda s, c, b, x: s.PPoly(c, b)(x, nu=2), D + 1j, BREAKS, PLACES),
    "PPoly axis": (lambda s, c, b: s.PPoly(c, b, axis=1)(PLACES), D.swapaxes(1, 2), BREAKS),
    "PPoly derivative": (lambda s, c, b: s.PPoly(c, b).derivative(2).c, C, BREAKS),
    "PPoly antiderivative": (lambda s, c, b: s.PPoly(c, b).antiderivative(2).c, C, BREAKS),
    **{
        f"{kind} integral {mode}": (
            lambda s, c, b, a, kind=kind, mode=mode: getattr(s, kind)(c, b).integrate(
                3.1 * a, a / 2, mode
            ),
            D,
            BREAKS,
            0.9,
        )
        for kind in ("PPoly", "BPoly")
        for mode in (True, False, "periodic")
    },
    "plain integral": (lambda s, x: s.PPoly(C, BREAKS).integrate(0.2, 2.0) * x, PLACES),
    "BPoly": (lambda s, c, b, x: s.BPoly(c, b)(x), C, BREAKS, PLACES),
    "BPoly nu": (lambda s, c, b, x: s.BPoly(c, b)(x, nu=2), D, BREAKS, PLACES),
    "to powers": (lambda s, c, b: s.PPoly.from_bernstein_basis(s.BPoly(c, b)).c, C, BREAKS),
    "from powers": (lambda s, c, b: s.BPoly.from_power_basis(s.PPoly(c, b)).c, C, BREAKS),
    "from derivatives": (
        lambda s, y, b: s.BPoly.from_derivatives(b, y)(PLACES), GENERATOR.normal(size=(4, 2)),
        BREAKS,
    ),
    "NdPPoly": (lambda s, c, x: s.NdPPoly(c, GRID)(x), CELLS, POINTS),
    "NdPPoly nu": (lambda s, c, a, b: s.NdPPoly(c, (a, b))(POINTS, nu=(1, 0)), CELLS, *GRID),
    "NdPPoly integral": (lambda s, c: s.NdPPoly(c, GRID).integrate([(0, 1.2), (0.3, 1.9)]), CELLS),
    "NdPPoly along an axis": (
        lambda s, c, a: s.NdPPoly(c, GRID).integrate_1d(a, 2, 0).c, CELLS, 0.8,
    ),
    "NdPPoly antiderivative": (lambda s, c: s.NdPPoly(c, GRID).antiderivative((1, 1)).c, CELLS),
    "BSpline": (lambda s, t, c, x: s.BSpline(t, c, 3)(x), KNOTS, COEFFICIENTS, PLACES + 0.2),
    "BSpline inside": (
        lambda s, t, c, x: s.BSpline(t, c, 3, extrapolate=False)(x), KNOTS, COEFFICIENTS[:, 0],
        PLACES + 0.2,
    ),
    "cubic periodic columns": (
        lambda s, x, y: s.CubicSpline(x, np.concatenate([y, y[:1]]), bc_type="periodic")(PLACES), X,
        Y[:5],
    ),
    "BSpline periodic": (
        lambda s, t, x: s.BSpline(t, COEFFICIENTS, 3, extrapolate="periodic")(x), KNOTS, PLACES + 5,
    ),
    "BSpline nu and axis": (
        lambda s, t, c: s.BSpline(t, c, 3, axis=1)(PLACES, nu=2), KNOTS, COEFFICIENTS.T + 1j,
    ),
    "BSpline derivative": (
        lambda s, t, c: s.BSpline(t, c, 3).derivative(2)(PLACES), KNOTS, COEFFICIENTS,
    ),
    "BSpline antiderivative": (
        lambda s, t, c: s.BSpline(t, c, 3).antiderivative(2)(PLACES), KNOTS, COEFFICIENTS,
    ),
    **{
        f"BSpline integral {mode}": (
            lambda s, t, a, mode=mode: s.BSpline(t, COEFFICIENTS, 3).integrate(9 * a, -a, mode),
            KNOTS, 0.7,
        )
        for mode in (True, False, "periodic")
    },
    "basis element": (lambda s, t: s.BSpline.basis_element(t)(PLACES), KNOTS[2:7]),
    "pchip": (lambda s, x, y, p: s.PchipInterpolator(x, y)(p), X, Y[:, 0], PLACES),
    "pchip axis": (lambda s, x, y: s.PchipInterpolator(x, y, axis=1)(PLACES, nu=1), X, Y.T),
    "pchip of three": (lambda s, x, y: s.PchipInterpolator(x, y)(PLACES), X[:3], Y[:3]),
    "pchip of two": (lambda s, x, y: s.pchip_interpolate(x, y, PLACES), X[:2], Y[:2]),
    "akima": (lambda s, x, y, p: s.Akima1DInterpolator(x, y)(p), X, Y[:, 0], PLACES),
    "makima": (
        lambda s, x, y: s.Akima1DInterpolator(x, y, 1, method="makima", extrapolate=True)(PLACES),
        X, Y.T,
    ),
    "hermite": (lambda s, x, y, d: s.CubicHermiteSpline(x, y, d)(PLACES), X, Y, Y + 1),
    "interpolating k=0": (lambda s, x, y: s.make_interp_spline(x, y, k=0)(PLACES), X, Y),
    "interpolating k=1": (lambda s, x, y: s.make_interp_spline(x, y, k=1)(PLACES), X, Y),
    "least squares": (
        lambda s, x, y, w: s.make_lsq_spline(x, y, OUTER, 2, w)(PLACES), X, Y[:, 0] + 1j, X + 1,
    ),
}  # fmt: skip

TWICE = {"PPoly", "BPoly", "NdPPoly", "BSpline", "pchip of three", "akima", "least squares"}


@pytest.mark.thinned(190)
@pytest.mark.parametrize("name", CALLS)
def test_splines_have_scipys_values_and_all_derivatives(name: str) -> None:
    call, *arrays = CALLS[name]
    order = 2 if name in TWICE else 1
    assert_agrees("scipy.interpolate", call, *arrays, order=order, rtol=1e-11)


def test_objects_are_of_scipys_classes() -> None:
    plain = interpolate.PPoly(C, BREAKS)
    assert isinstance(plain, type(plain).__mro__[1])
    seen = []

    def evaluate(c: Any) -> Any:
        p = interpolate.PPoly(c, BREAKS)
        seen.append(p)
        return p.derivative()(PLACES)

    fd.grad(lambda c: np.sum(evaluate(c)))(C)
    assert all(type(p) is interpolate.PPoly for p in seen)


def test_at_a_breakpoint_the_derivative_is_that_on_the_right() -> None:
    y = np.array([0.0, 1.0, 5.0])
    spline = interpolate.make_interp_spline(np.arange(3.0), y, k=1)
    assert fd.grad(lambda x: spline(x)[()])(1.0) == 4.0
    assert (
        fd.grad(
            lambda x: interpolate.PPoly(np.array([[1.0, 4.0]]), np.arange(3.0)).derivative()(x)[()]
        )(1.0)
        == 0.0
    )


def test_the_slope_of_pchip_has_the_mean_derivative_where_one_difference_is_zero() -> None:
    def slope(y: Any) -> Any:
        return interpolate.PchipInterpolator(np.arange(3.0), y)(1.0, nu=1)

    # the harmonic mean of 0 and 1 is 0 on one side, of slope 2 on the other
    np.testing.assert_allclose(fd.jacobian(slope)(np.array([0.0, 0.0, 1.0]))[1], 1.0)


def test_akima_refuses_what_scipy_refuses() -> None:
    def evaluate(y: Any, **keywords: Any) -> Any:
        return interpolate.Akima1DInterpolator(np.arange(3.0), y, **keywords)(1.0)

    with pytest.raises(NotImplementedError, match="unsupported"):
        fd.vjp(lambda y: evaluate(y, method="other"), np.ones(3))
    with pytest.raises(ValueError, match="real values"):
        fd.vjp(evaluate, np.ones(3) * 1j)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("call", "arrays"), [
    (lambda s, t, x: s.BSpline.design_matrix(x, t, 3) @ COEFFICIENTS, (KNOTS, PLACES)),
    (lambda s, c, x: s.BSpline(KNOTS, c, 3).insert_knot(x, 2).c, (COEFFICIENTS, 1.1)),
    (lambda s, x, y: s.UnivariateSpline(x, y, s=0).roots(), (X, Y[:, 0])),
    (lambda s, t, c: s.sproot((t, c, 3)), (KNOTS, COEFFICIENTS[:, 0])),
])  # fmt: skip
def test_what_depends_on_where_points_are_is_right_where_they_are_known(
    call: Any, arrays: Any
) -> None:
    assert_agrees("scipy.interpolate", call, *arrays, rtol=1e-11, compiled=False, batched=False)


def test_roots_follow_the_coefficients() -> None:
    def roots(s: Any, c: Any, b: Any, y: Any) -> Any:
        return s.PPoly(c, b).solve(y)

    c = np.array([[1.0, -2.0], [-3.0, 1.0], [1.0, 1.5]])
    breaks = np.array([0.0, 1.5, 4.0])
    assert_agrees("scipy.interpolate", roots, c, breaks, 0.3, compiled=False, batched=False)
    # over the jump at 1.0 there is a root, which is the breakpoint
    steps = np.array([[-1.0, 2.0]])
    slope = fd.jacobian(lambda b: interpolate.PPoly(steps, b).roots())(np.array([0.0, 1.0, 2.0]))
    np.testing.assert_array_equal(slope, [[0, 1, 0]])
    with pytest.raises(UnsupportedNumPyError, match="one by one"):
        fd.vjp(lambda c: interpolate.PPoly(c, breaks).roots(), np.ones((2, 2, 2)))


@pytest.mark.parametrize(
    "knots", [[-1, -1, 0, 1, 3, 4, 6, 6, 6, 7], [-2, 0, 0, 0, 2, 3, 4, 5, 6, 7]]
)
def test_a_spline_is_zero_beyond_an_end_where_knots_coincide(knots: Any) -> None:
    t, c = np.array(knots, float), np.arange(1.0, 8.0) ** 2
    x = np.array([6.5, 6.0, 5.5, 0.0, -0.5, 2.5])
    expected = scipy.interpolate.BSpline(t, c, 2)(x)
    value, pull = fd.vjp(lambda t, c: interpolate.BSpline(t, c, 2)(x), t, c)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(pull(np.ones(6))[1] @ c, np.sum(expected), rtol=1e-12)
