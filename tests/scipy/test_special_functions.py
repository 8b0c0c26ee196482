"""Every ufunc of ``scipy.special``; singular points and whole numbers of some."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from scipy import special as scipy_special

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError
from funcdiff.scipy import special
from funcdiff.testing import check_grads
from tests.numpy.agreement import default
from tests.together import together

S: Any = scipy_special
X = np.array([1.7, 0.3, 2.6])
N = np.array([0, 1, 3])
UFUNCS: Final[dict[str, Any]] = {
    name: ufunc
    for name in set(dir(special)) - {"kelvin"}  # which is refused
    if isinstance(ufunc := inspect.unwrap(getattr(special, name)), np.ufunc)
}
PLACES: Final = np.array([
    [0.3, 0.6, 0.45], [0.7, 0.27, 0.55], [0.4, 0.35, 0.8], [0.65, 0.5, 0.3], [0.45, 0.2, 0.6]
])  # fmt: skip
BELOW: Final = {"ndtri_exp": -1.0, "log_expit": -1.0}
"""What arguments are multiplied by of functions that are defined below zero."""


def _arguments(name: str) -> list[Any]:
    """Return a generic argument for each parameter, whole numbers where SciPy has some."""
    kinds = [types.split("->")[0] for types in UFUNCS[name].types]
    whole = {k for kind in kinds for k, letter in enumerate(kind) if letter in "lqp"}
    return [
        k + np.array([1, 2, 3]) if k in whole else BELOW.get(name, 1.0) * PLACES[k]
        for k in range(UFUNCS[name].nin)
    ]


# ---- every function ------------------------------------------------------------------------------


@together
@pytest.mark.thinned(27)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_a_ufunc_has_scipys_value_and_its_slope_by_each_argument(name: str, dtype: Any) -> None:
    """Each is asked for by itself: of a parameter without a derivative the others have theirs."""
    ufunc, xs = UFUNCS[name], _arguments(name)
    kinds = [types.split("->")[0] for types in ufunc.types]
    complexes = [kind for kind in kinds if "D" in kind]
    if dtype is np.complex128 and not complexes:
        return
    floats = [k for k, x in enumerate(xs) if x.dtype.kind == "f"]
    for k in floats:
        if dtype is not np.complex128:
            xs[k] = xs[k].astype(dtype)
        elif complexes[0][k] == "D":
            xs[k] = xs[k] * (1 + 0.3j)
    for k in floats:

        def f(x: Any, k: int = k) -> Any:
            results = ufunc(*xs[:k], x, *xs[k + 1 :])
            return results if isinstance(results, tuple) else (results,)

        try:
            values, slopes = fd.jvp(f, (xs[k],), (np.ones_like(xs[k]),))
        except NotDifferentiableError:
            assert k != floats[-1]
            continue
        for value, slope, expected in zip(values, slopes, f(xs[k]), strict=True):
            np.testing.assert_array_equal(value, expected, strict=True)
            assert slope.dtype == expected.dtype
        if dtype is np.float32:
            continue
        h = 1e-5
        for slope, above, below in zip(slopes, f(xs[k] + h), f(xs[k] - h), strict=True):
            known = np.isfinite(slope)  # not where SciPy's own search ends without a result
            difference = (above - below) / (2 * h)
            np.testing.assert_allclose(slope[known], difference[known], rtol=1e-4, atol=1e-6)


# ---- singular points -----------------------------------------------------------------------------

PI = math.pi
LIMITS: dict[str, tuple[Callable[[Any], Any], float, float, float]] = {
    "j0 is even": (S.j0, 0.0, 0.0, -0.5),
    "j1 has slope 1/2 at 0": (S.j1, 0.0, 0.5, 0.0),
    "jv of order 2 is a parabola at 0": (lambda x: S.jv(2, x), 0.0, 0.0, 0.25),
    "i0 is even": (S.i0, 0.0, 0.0, 0.5),
    "i1 has slope 1/2 at 0": (S.i1, 0.0, 0.5, 0.0),
    "i0e has a kink of slope 0": (S.i0e, 0.0, 0.0, 0.5),
    "spherical_jn of order 0 is sinc": (lambda x: special.spherical_jn(0, x), 0.0, 0.0, -1 / 3),
    "spherical_jn of order 1 has slope 1/3": (
        lambda x: special.spherical_jn(1, x), 0.0, 1 / 3, 0.0,
    ),
    "the derivative of spherical_jn, too": (
        lambda x: special.spherical_jn(1, x, derivative=True), 0.0, 0.0, -0.2,
    ),
    "Si has slope 1 at 0": (lambda x: S.sici(x)[0], 0.0, 1.0, 0.0),
    "Shi has slope 1 at 0": (lambda x: S.shichi(x)[0], 0.0, 1.0, 0.0),
    "spence is smooth at 1": (S.spence, 1.0, -1.0, 0.5),
    "lambertw has slope 1 at 0": (lambda x: special.lambertw(x).real, 0.0, 1.0, -2.0),
    "ellipk has slope π/8 at 0": (S.ellipk, 0.0, PI / 8, 9 * PI / 64),
    "ellipe has slope -π/8 at 0": (S.ellipe, 0.0, -PI / 8, -3 * PI / 64),
    "ellipkm1 has slope -π/8 at 1": (S.ellipkm1, 1.0, -PI / 8, 9 * PI / 64),
    "ellipkinc is smooth at m = 0": (lambda m: S.ellipkinc(PI / 2, m), 0.0, PI / 8, 9 * PI / 64),
    "ellipeinc is smooth at m = 0": (lambda m: S.ellipeinc(PI / 2, m), 0.0, -PI / 8, -3 * PI / 64),
    # ½∫tan²θ/cos θ dθ and ¾∫tan⁴θ/cos θ dθ from 0 to π/4, where sec = √2 and tan = 1
    "ellipkinc is smooth at m = 1": (
        lambda m: S.ellipkinc(PI / 4, m), 1.0, (math.sqrt(2) - math.asinh(1)) / 4,
        3 / 16 * (math.sqrt(2) - 1.5 * (math.sqrt(2) - math.asinh(1))),
    ),
    "struve of order 0 has slope 2/π": (lambda x: S.struve(0, x), 0.0, 2 / PI, 0.0),
    "modstruve of order 0 has slope 2/π": (lambda x: S.modstruve(0, x), 0.0, 2 / PI, 0.0),
    "Lorentz's profile spreads as heat does": (
        lambda s: S.voigt_profile(0.0, s, 1.0), 0.0, 0.0, -2 / PI,
    ),
    "chdtr of 2 degrees is exponential at 0": (lambda x: S.chdtr(2, x), 0.0, 0.5, -0.25),
    "chdtr of 4 degrees starts flat": (lambda x: S.chdtr(4, x), 0.0, 0.0, 0.25),
    "pdtr starts flat": (lambda x: S.pdtr(1, x), 0.0, 0.0, -1.0),
    "bdtr of all successes is constant": (lambda p: S.bdtr(3, 3, p), 0.4, 0.0, 0.0),
    "stdtr of infinite degrees is normal": (
        lambda t: S.stdtr(np.inf, t), 0.0, 1 / math.sqrt(2 * PI), 0.0,
    ),
}  # fmt: skip


@pytest.mark.thinned(19)
@pytest.mark.parametrize("name", LIMITS)
def test_derivatives_at_removable_singularities_are_their_limits(name: str) -> None:
    f, x, slope, curvature = LIMITS[name]
    pushed = fd.jvp(lambda z: fd.jvp(f, (z,), (1.0,))[1], (x,), (1.0,))
    np.testing.assert_allclose(pushed, (slope, curvature), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fd.grad(f)(x), slope, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fd.grad(fd.grad(f))(x), curvature, rtol=1e-12, atol=1e-14)


POLES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "y0 rises from its pole": (S.y0, math.inf),
    "y1 rises from its pole": (S.y1, math.inf),
    "yn rises from its pole": (lambda x: S.yn(2, x), math.inf),
    "yv of order -1 falls from its pole": (lambda x: S.yv(-1, x), -math.inf),
    "k0 falls from its pole": (S.k0, -math.inf),
    "kv falls from its pole": (lambda x: S.kv(2.5, x), -math.inf),
    "k0e falls from its pole": (S.k0e, -math.inf),
    "kve falls from its pole": (lambda x: S.kve(0.5, x), -math.inf),
    "spherical_kn falls from its pole": (lambda x: special.spherical_kn(0, x), -math.inf),
    "spherical_yn rises from its pole": (lambda x: special.spherical_yn(2, x), math.inf),
    "exp1 falls from its pole": (S.exp1, -math.inf),
    "expn of order 0 falls from its pole": (lambda x: S.expn(0, x), -math.inf),
    "chdtr of one degree rises steeply": (lambda x: S.chdtr(1, x), math.inf),
}


@together
@pytest.mark.parametrize("name", POLES)
def test_slopes_at_poles_are_infinite_with_their_sign(name: str) -> None:
    f, slope = POLES[name]
    assert fd.grad(f)(0.0) == slope


def test_the_slope_of_spence_does_not_cancel_near_one() -> None:
    curvature: Any = fd.vmap(fd.grad(fd.grad(S.spence)))
    slopes = curvature(np.array([1 - 1e-7, 1 + 1e-7]))
    np.testing.assert_allclose(slopes, [0.5 + 2e-7 / 3, 0.5 - 2e-7 / 3], rtol=1e-13)


def test_the_density_of_student_is_right_for_many_degrees() -> None:
    normal = math.exp(-0.5) / math.sqrt(2 * PI)
    assert fd.grad(lambda t: S.stdtr(1e12, t))(1.0) == pytest.approx(normal, rel=1e-11)


def test_an_untaken_pole_contributes_nothing() -> None:
    x = np.array([0.0, 0.5])
    slopes = fd.grad(lambda x: np.where(x > 0, S.k1(x), 0.0).sum())(x)
    assert slopes[0] == 0
    assert np.isfinite(slopes[1])


# ---- whole numbers -------------------------------------------------------------------------------

OF_ORDER = ["kn", "yn", "expn", "pdtr", "pdtrc"]
OF_TWO = ["bdtr", "bdtrc", "nbdtr", "nbdtrc"]
FRACTIONS = {
    **{f"{name}({n}, x)": (name, (n,)) for name in OF_ORDER for n in (0.5, 1.5, 2.7, 3.0)},
    **{
        f"{name}({k}, {n}, p)": (name, (k, n))
        for name in OF_TWO
        for k, n in ((1.5, 4.0), (1.0, 4.5), (0.3, 5.9), (2.5, 2.7))
    },
}
SIGNED = {f"{name}({n}, x)": (name, (n,)) for name in ("kn", "yn") for n in (-1.5, -0.4)}


@pytest.mark.thinned(6)
@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:non-integer arg")
@pytest.mark.parametrize("entry", [*FRACTIONS.items(), *SIGNED.items()], ids=lambda e: e[0])
def test_derivatives_drop_the_fraction_of_a_whole_number_as_scipy_does(entry: Any) -> None:
    _, (name, numbers) = entry
    function, whole = getattr(S, name), np.trunc(numbers)
    f, g = (lambda x: function(*numbers, x)), (lambda x: function(*whole, x))
    check_grads(f, (0.4,), order=default.order)
    rows = [np.array([value]) for value in (*numbers, 0.4)]
    slopes = fd.vmap(fd.grad(function, argnums=len(numbers)))(*rows)
    assert slopes == pytest.approx(fd.grad(g)(0.4), rel=1e-13)
    for _ in range(3):
        f, g = fd.grad(f), fd.grad(g)
        assert f(0.4) == pytest.approx(g(0.4), rel=1e-13)


@pytest.mark.slow
@together
@pytest.mark.filterwarnings("ignore:floating point number truncated", "ignore:non-integer arg")
@pytest.mark.parametrize("name", [*OF_ORDER, *OF_TWO])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("n", [2.0, 2.5])
def test_a_slope_has_no_derivative_in_a_whole_number(name: str, order: int, n: float) -> None:
    count = 2 if name in OF_TWO else 1
    slope = getattr(S, name)
    for _ in range(order):
        slope = fd.grad(slope, argnums=count)
    for k in range(count):
        with pytest.raises(NotDifferentiableError, match=r"out of the differentiated arguments"):
            fd.grad(slope, argnums=k)(*(n, 4.0)[:count], 0.4)


# ---- the namespace -------------------------------------------------------------------------------


def test_functions_of_the_namespace_give_scipys_values_for_plain_arrays() -> None:
    np.testing.assert_array_equal(special.spherical_jn(N, X), S.spherical_jn(N, X))
    np.testing.assert_array_equal(special.lambertw(X, 1), S.lambertw(X, 1))


def test_orders_and_arguments_broadcast() -> None:
    orders = np.arange(3)[:, None]
    got = fd.jacobian(lambda z: special.spherical_in(orders, z).sum(0))(X)
    wanted = S.spherical_in(orders, X, derivative=True).sum(0)
    np.testing.assert_allclose(got, np.diag(wanted), rtol=1e-13)


def test_traced_integers_are_orders() -> None:
    got = fd.vmap(lambda n: special.spherical_kn(n, 1.3))(N)
    np.testing.assert_array_equal(got, S.spherical_kn(N, 1.3))


def test_the_factor_of_a_scaled_function_has_slope_zero_on_its_kink() -> None:
    _, slope = fd.jvp(lambda z: S.jve(1, z), (1.3 + 0j,), (1j,))
    assert slope == pytest.approx(1j * S.jvp(1, 1.3))
