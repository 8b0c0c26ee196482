"""``scipy.interpolate`` for traced arrays: ``from funcdiff.scipy import interpolate``."""

from funcdiff.scipy.covered import namespace
from funcdiff.scipy.interpolate import (  # noqa: F401 (they cover)
    bsplines,
    clough_tocher,
    cross_validation,
    cubic,
    grids,
    piecewise,
    polynomial_interpolation,
    scattered,
    spline_functions,
)

__getattr__, __dir__ = namespace(
    "scipy.interpolate",
    {
        "bisplrep splprep make_splprep generate_knots SmoothSphereBivariateSpline "
        "LSQSphereBivariateSpline RectSphereBivariateSpline": (
            "Which knots there are, or how much is smoothed, is found from the data by compiled "
            "code. Interpolate, or give the knots: make_interp_spline, make_lsq_spline."
        ),
        "AAA": (
            "It chooses its support points one by one, by the data. "
            "Use FloaterHormannInterpolator or BarycentricInterpolator."
        ),
        "Rbf": "SciPy keeps it for old code alone. Use RBFInterpolator.",
        "interp2d": "SciPy has removed it. Use RegularGridInterpolator or RectBivariateSpline.",
        "insert": "It is compiled. Use BSpline.insert_knot.",
        "lagrange pade approximate_taylor_polynomial": (
            "Its result is a numpy.poly1d, which holds no traced array. "
            "Use BarycentricInterpolator, solve for the coefficients, or take derivatives with fd."
        ),
    },
)
