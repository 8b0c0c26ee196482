"""Bessel, Airy, elliptic, hypergeometric and distribution functions of ``scipy.special``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special as scipy_special

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError
from funcdiff.scipy import special
from funcdiff.testing import check_grads
from tests.numpy.agreement import default
from tests.together import together


class Case(NamedTuple):
    """A function at a point."""

    f: Callable[..., Any]
    args: tuple[Any, ...]


S: Any = scipy_special
X = np.array([1.7, 0.3, 2.6])
Z = np.array([1.7 + 0.4j, 0.3 - 0.6j, -1.2 + 0.8j])
M = np.array([-1.5, 0.2, 0.8])
P = np.array([0.5, 0.2, 0.85])
N = np.array([0, 1, 3])
V = np.array([0.0, 0.5, 2.2])


def _at(name: str, *parameters: Any) -> Callable[..., Any]:
    """Return a function of the last argument; parameters take its precision."""
    function = getattr(scipy_special, name)

    def f(x: Any) -> Any:
        part = np.zeros(0, x.dtype).real.dtype
        given = [
            p.astype(part) if getattr(p, "dtype", N.dtype) != N.dtype else p for p in parameters
        ]
        return function(*given, x)

    return f


POINTS: tuple[tuple[Any, ...], ...] = (
    ("gamma", 2.3), ("gamma", -1.4), ("gamma", 1.2 + 0.7j),
    ("gammaln", 2.3), ("gammaln", -1.4),
    ("loggamma", 2.3), ("loggamma", -2.2 + 0.4j),
    ("rgamma", 2.3), ("rgamma", -1.4), ("rgamma", -2.0), ("rgamma", 1.1 + 0.3j),
    ("psi", 2.3), ("digamma", -1.4), ("psi", -3.2 + 0.6j),
    ("beta", 1.3, 2.7), ("betaln", 1.3, 2.7),
    ("binom", 5.3, 2.2), ("binom", -1.3, 0.4), ("binom", 3.0, 5.0), ("binom", 2.5, -1.0),
    ("poch", 1.3, 2.2), ("poch", -1.6, 0.3), ("poch", -3.0, 5.0),
    ("gammainc", 2.3, 1.1), ("gammainc", 0.4, 0.9), ("gammaincc", 1.7, 5.0),
    ("gammaincinv", 2.3, 0.3), ("gammainccinv", 2.3, 0.3),
    ("betainc", 1.3, 2.7, 0.4), ("betaincc", 0.6, 0.7, 0.8),
    ("betaincinv", 1.3, 2.7, 0.4), ("betainccinv", 1.3, 2.7, 0.4),
    ("erf", 0.7), ("erf", 0.3 + 0.2j), ("erfc", 0.7), ("erfc", 0.3 + 0.2j),
    ("erfi", 0.7), ("erfi", 0.3 + 0.2j), ("erfcx", -1.2), ("erfcx", 0.3 + 0.2j),
    ("dawsn", 0.7), ("dawsn", 0.3 + 0.2j), ("erfinv", 0.3), ("erfcinv", 1.3),
    ("fresnel", 0.7), ("fresnel", 0.5 + 0.4j), ("owens_t", 0.7, 1.3),
    ("ndtr", 0.7), ("ndtr", 0.3 + 0.2j), ("ndtri", 0.3), ("ndtri_exp", -0.7),
    ("log_ndtr", 0.7), ("log_ndtr", -2.0), ("log_ndtr", 0.3 + 0.2j),
    ("logit", 0.3), ("expit", 0.7), ("log_expit", 0.7),
    ("huber", 1.0, 0.4), ("huber", 1.0, -2.1), ("pseudo_huber", 0.5, -2.1),
    ("xlogy", 1.2, 0.7), ("xlogy", 0.4 + 0.3j, 1.1 + 0.2j),
    ("xlog1py", 1.2, 0.7), ("xlog1py", 0.4 + 0.3j, 1.1 + 0.2j),
    ("entr", 0.6), ("rel_entr", 0.6, 0.9), ("kl_div", 0.6, 0.9),
    ("boxcox", 1.7, 0.4), ("boxcox", 1.7, 0.0), ("boxcox", 0.3, -1.2),
    ("boxcox1p", 0.7, 0.4), ("boxcox1p", 0.7, 0.0),
    ("inv_boxcox", 0.7, 0.4), ("inv_boxcox", 0.7, 0.0),
    ("inv_boxcox1p", 0.7, 0.4), ("inv_boxcox1p", 0.7, 0.0),
    ("exprel", 0.7), ("exprel", 0.0), ("exprel", -14.0), ("powm1", 1.4, 0.8),
    ("cbrt", 0.8), ("exp2", 0.8), ("exp10", 0.8), ("expm1", 0.8), ("expm1", 0.1 + 0.3j),
    ("log1p", 0.8), ("log1p", 0.1 + 0.3j), ("cosm1", 0.8),
    ("sindg", 30.0), ("cosdg", 30.0), ("tandg", 30.0), ("cotdg", 30.0),
    ("radian", 30.0, 20.0, 10.0), ("gammasgn", -1.4), ("round", 1.2),
)  # fmt: skip
"""Names of ufuncs, and numbers that they are differentiated at."""


def _one(names: str, *points: Any) -> dict[str, Case]:
    return {
        f"{name} {'of complex' if np.iscomplexobj(x) else 'of real'}": Case(_at(name), (x,))
        for name in names.split()
        for x in points
    }


def _many(names: str, parameters: tuple[Any, ...], *points: Any) -> dict[str, Case]:
    return {
        f"{name} {'of complex' if np.iscomplexobj(x) else 'of real'}": Case(
            _at(name, *parameters), (x,)
        )
        for name in names.split()
        for x in points
    }


def _spherical(name: str, derivative: bool) -> Callable[..., Any]:
    return lambda z: getattr(special, name)(N, z, derivative)


CASES: dict[str, Case] = {
    **_one("j0 j1 i0 i1 i0e i1e y0 y1 k0 k1 k0e k1e", X),
    **_many("jv jve yv yve iv ive kv kve hankel1 hankel1e hankel2 hankel2e", (V,), X, Z),
    **_many("yn kn expn", (N,), X),
    **_one("airy airye sici shichi expi exp1 spence", X, Z),
    **_one("wofz", Z),
    **_one("ellipk ellipe", M),
    **_one("ellipkm1", 1 - M),
    **_many("hyp0f1", (V + 0.2,), X, Z),
    **_many("hyp1f1", (V, V[::-1] + 0.3), X, Z),
    **_many("hyp2f1", (V, V[::-1] + 0.3, V + 1.7), M, 0.5 * Z),
    **_many("hyperu", (V + 0.2, V[::-1] + 0.3), X),
    **_many("struve modstruve", (V,), X),
    **_many("chdtr chdtrc stdtr", (V + 1.5,), X),
    **_many("pdtr pdtrc", (N,), X),
    **_many("fdtr fdtrc", (V + 1.5, V[::-1] + 2.2), X),
    **_many("bdtr bdtrc", (N * 1.0, N + 1), P),
    **_many("nbdtr nbdtrc", (N, N + 2), P),
    **{
        f"{name}, {kind} {of}": Case(_spherical(name, kind == "derivative"), (z,))
        for name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn")
        for kind in ("value", "derivative")
        for of, z in (("of real", X), ("of complex", Z))
    },
    "airy of negative": Case(S.airy, (-X,)),
    "airye of negative": Case(lambda x: S.airye(x)[2:], (-X,)),
    "lambertw of real": Case(lambda x: special.lambertw(x).real, (X,)),
    "lambertw of complex": Case(lambda z: special.lambertw(z, N), (Z,)),
    "lambertw on branch -1": Case(lambda x: special.lambertw(x, -1).real, (-0.2 * (P + 0.3),)),
    "lambertw as SciPy has it": Case(lambda z: S.lambertw(z, N).imag, (Z,)),
    "ellipkinc": Case(S.ellipkinc, (np.array([-0.4, 0.5, 3.0]), M)),
    "ellipkinc near m = 0": Case(S.ellipkinc, (np.array([-0.4, 0.5, 3.0]), M * 0.01)),
    "ellipkinc near m = 1": Case(S.ellipkinc, (np.array([-0.4, 0.2, 0.6]), 1 - 0.01 * P)),
    "ellipeinc": Case(S.ellipeinc, (np.array([-0.4, 0.5, 3.0]), M)),
    "ellipeinc near m = 0": Case(S.ellipeinc, (np.array([-0.4, 0.5, 3.0]), M * 0.01)),
    "wofz far away": Case(S.wofz, (np.array([11.9 + 0.3j, 13 - 0.3j, -9 + 12j]),)),
    "voigt_profile": Case(S.voigt_profile, (X, X[::-1].copy(), P)),
    "voigt_profile of small deviation": Case(S.voigt_profile, (X, 0.1 * P, X[::-1].copy())),
    "gdtr": Case(lambda a, x: S.gdtr(a, V + 1.5, x), (X, P)),
    "gdtrc": Case(lambda a, x: S.gdtrc(a, V + 1.5, x), (X, P)),
    **{
        f"{name}{tuple(numbers)}": Case(getattr(S, name), tuple(np.asarray(x)[()] for x in numbers))
        for name, *numbers in POINTS
    },
}
NAMED = [pytest.param(case, id=name) for name, case in CASES.items()]


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


# ---- every function ------------------------------------------------------------------------------


@pytest.mark.thinned(19)
@pytest.mark.parametrize("case", NAMED)
def test_derivatives_of_both_orders_are_those_of_differences_in_both_modes(case: Case) -> None:
    check_grads(case.f, case.args, order=default.order)


@together
@pytest.mark.parametrize("case", NAMED)
def test_values_are_those_of_scipy_bit_for_bit(case: Case) -> None:
    got, _ = fd.jvp(case.f, case.args, case.args)
    for a, b in zip(
        fd.pytree.flatten(got)[0], fd.pytree.flatten(case.f(*case.args))[0], strict=True
    ):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.thinned(13)
@pytest.mark.parametrize("case", NAMED)
def test_batches_of_derivatives_are_those_of_a_loop(case: Case) -> None:
    def slope(*args: Any) -> Any:
        return _first(fd.jvp(case.f, args, tuple(map(np.ones_like, args)))[1])

    batch = tuple(np.stack([x, x * 0.97]) for x in case.args)
    rows = [slope(*row) for row in zip(*batch, strict=True)]
    np.testing.assert_allclose(fd.vmap(slope)(*batch), np.stack(rows), rtol=1e-12)


@together
@pytest.mark.parametrize("case", NAMED)
def test_single_precision_stays_what_scipy_makes_of_it(case: Case) -> None:
    args = tuple(x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) for x in case.args)
    y, f_vjp = fd.vjp(lambda *xs: _first(case.f(*xs)), *args)
    expected = _first(case.f(*args))
    assert y.dtype == expected.dtype
    pulled = f_vjp(np.ones_like(y))
    doubles = [x.astype(wide.dtype) for x, wide in zip(args, case.args, strict=True)]
    of_double = fd.vjp(lambda *xs: _first(case.f(*xs)), *doubles)[1]
    for x, got, wanted in zip(args, pulled, of_double(np.ones(y.shape, y.dtype)[()]), strict=True):
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=1e-5)


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
