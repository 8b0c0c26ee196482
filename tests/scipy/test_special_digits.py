"""Functions whose derivatives are integrals, sums or eigenvectors: digits, edges, modes, orders."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special as S  # noqa: N812

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError, UnsupportedNumPyError
from funcdiff.scipy import special
from funcdiff.testing import check_grads

DIGITS: dict[tuple[Any, ...], tuple[float, float]] = {
    ("elliprf", 0, 1.3, 2.1, 0.7): (-0.11423497766533787, 0.079851300585892026),
    ("elliprf", 0, 1.0, 1.0, 1.0): (-0.16666666666666667, 0.15),
    ("elliprf", 1, 0.001, 1000.0, 2.0): (-5.4964117229330353e-5, 7.4603869273857403e-8),
    ("elliprc", 1, 1.0, 1.000000001): (-0.3333333329333333, 0.39999999914285707),
    ("elliprd", 2, 1.0, 2.0, 2.0): (-0.20035940073319402, 0.18304041819415421),
    ("elliprd", 0, 1e-08, 3.0, 200000000.0): (-3.0616854119512675e-9, 0.15309310841369716),
    ("elliprj", 3, 1.0, 1.0, 2.0, 2.0): (-0.16924702690571274, 0.12636201945546122),
    ("elliprj", 0, 1.3, 2.1, 0.7, 0.9): (-0.2064613488036672, 0.17534530361956178),
    ("elliprg", 1, 1.0, 1.0, 1.0): (0.16666666666666667, -0.05),
    ("ellipkinc", 1, 1e-06, 0.5): (1.6666666666670831e-19, 1.5000000000006247e-31),
    ("ellipkinc", 1, 2.5, 0.3): (1.1247296761683939, 1.8362054102307497),
    ("ellipkinc", 1, -4.0, -30.0): (-0.016422818456683911, -0.00066452198822711452),
    ("ellipkinc", 1, 1.2, 0.999999): (1.3561619315429258, 7.2797152974619316),
    ("ellipkinc", 0, 0.8, 0.04): (1.0104536584397617, 0.020625000902998658),
    ("ellipeinc", 1, 1e-05, -3.0): (-1.6666666664833337e-16, -4.999999998154764e-27),
    ("ellipeinc", 1, 20.0, 0.7): (-7.3991653953417677, -7.6675916190930309),
    ("ellipeinc", 1, 0.3, 1e-09): (-0.0044196908257369806, -0.00011640077194016953),
    ("betaln", 0, 10000000000.0, 0.5): (-5.000000000125e-11, 5.00000000025e-21),
    ("betaln", 1, 1e-05, 200000.0): (-5.0000124998958331e-11, 2.5000124999062493e-16),
    ("betaln", 0, 3000000000000000.0, 2e16): (-2.0368819272610401, 2.8985507246376817e-16),
    ("binom", 0, 1e12, 0.25): (2.7581566283013174e-10, -2.0686174712252123e-22),
    ("poch", 0, 100000000.0, -0.3): (-1.1943215217525088e-11, 1.5526179883702783e-19),
    ("agm", 0, 1e-10, 1.0): (26357728.789847984, -2.4198334072538964e17),
    ("agm", 1, 1e-05, 2.0): (0.10706242228534199, -0.0036255736053870098),
    ("kolmogorov", 0, 0.1): (-1.6241713974329981e-49, -3.9423832510548775e-46),
    ("kolmogorov", 0, 0.82): (-1.5888034698267484, 2.0915939995138474),
    ("kolmogorov", 0, 3.0): (-3.6551951387310308e-7, 4.264394328519536e-6),
    ("smirnov", 1, 7, 0.05): (-1.722980109375, -17.138638125),
    ("smirnov", 1, 7, 0.6): (-0.06389095971916466, 1.1673016243231991),
    ("zeta", 0, 1.1, 0.3): (-95.507314920580724, 2005.446469074834),
    ("zeta", 0, 30.0, 40.0): (-6.2504696613897177e-48, 2.3205780312837849e-47),
    ("zetac", 0, 0.5): (-3.9226461392091517, -16.008357013928661),
    ("zetac", 0, -2.0): (-0.030448457058393271, -0.065763516187425196),
    ("zetac", 0, -3.3): (0.00837857995524234, -0.006105281370163987),
    ("zetac", 0, 40.0): (-6.3041377863301422e-13, 4.3696956988575952e-13),
    ("tklmbda", 0, -20.0, -0.2): (6.3990987709398303e-5, 1.5355673939435035e-5),
    ("tklmbda", 1, -20.0, -0.2): (-0.0064747562399691289, 0.091860349062985638),
    ("tklmbda", 0, 0.3, 0.5): (0.34755898825387271, -0.040152103266320502),
    ("tklmbda", 1, 0.3, 0.5): (0.073849329424954692, 0.053403892872381164),
    ("tklmbda", 0, -25.0, 0.0): (1.3887943864578271e-11, 1.3887943864192521e-11),
    ("tklmbda", 1, -25.0, 0.0): (-4.3399824576855346e-9, 1.2115784360706468e-6),
    ("tklmbda", 0, -6.0, 0.14): (1.2912559029051276e-5, 6.9403337861206625e-5),
    ("tklmbda", 1, -6.0, 0.14): (-0.00036022580697477854, 0.047200888560545854),
    ("besselpoly", 0, 1.5, 0.5, 0.5): (-0.26223044033388742, -0.18546062336467093),
    ("besselpoly", 1, 1.5, 0.5, 0.5): (-0.2389588276935824, 0.28861820863638205),
    ("besselpoly", 2, 1.5, 0.5, 0.5): (0.08358638033274466, -0.34734456662460804),
    ("besselpoly", 1, 0.3, 2.0, 7.25): (-1.8251575856392594e-10, 3.5657304051878626e-11),
    ("besselpoly", 2, 0.3, 2.0, 7.25): (-6.2558411080355905e-9, 2.0727226904120214e-8),
    ("mathieu_a", 1, 0, 1.5): (-1.0729707218135618, -0.37488940743269187),
    ("mathieu_a", 1, 1, -2.0): (1.3448812583491522, -0.11254130661849097),
    ("mathieu_a", 1, 4, 0.0): (0.0, 0.066666666666666667),
    ("mathieu_b", 1, 5, 100.0): (-1.0958011352053628, -0.0045720019796309157),
    ("pro_cv", 2, 1, 2, 3.0): (2.180816082219694, 0.49018873704967033),
    ("obl_cv", 2, 3, 3, 20.0): (-31.986641487255343, -2.0015628352943355),
    ("pro_cv", 2, 0, 3, 0.0): (0.0, 1.0222222222222222),
    ("chndtr", 0, 3.0, 2.5, 1.3): (0.13986925223078846, -0.030479960314106025),
    ("chndtr", 1, 1e-05, 3.3, 2.0): (-2.8805513778351826e-9, 1.8644394491559262e-8),
    ("chndtr", 2, 60.0, 1.2, 6.0): (-7.3782100768568811e-8, -7.3024178850411845e-8),
    ("ncfdtr", 0, 2.6, 4.4, 1.4, 1.3): (0.014220099692246148, -0.0040826796011954482),
    ("ncfdtr", 1, 5.0, 1.0, 0.5, 4000.0): (0.049882676242166716, -0.20217582656828312),
    ("ncfdtr", 2, 5.0, 1.0, 0.5, 4000.0): (-0.0011590840506296025, 7.8999986805666264e-5),
    ("ncfdtr", 3, 5.0, 1.0, 0.5, 4000.0): (1.5739905729142868e-6, -5.9018161947488495e-10),
    ("nctdtr", 0, 2.6, 1.4, 0.8): (0.0047664826917966797, -0.0034392415634859809),
    ("nctdtr", 0, 100000.0, 0.3, 1.2): (1.660360647547785e-11, -3.3207099833133968e-16),
    ("nctdtr", 0, 0.4, -1.5, -0.02): (-0.0012843540075858387, 0.0034666838921830459),
    ("nctdtr", 0, 12.5, 3.0, 60.0): (6.085181356913557e-13, -1.2064260426252069e-12),
    ("nctdtr", 0, 7.0, 2.0, 1e-06): (2.632209896589402e-10, -7.3157528926396356e-11),
    ("nctdtr", 1, 20.0, -4.0, 7.0): (-2.2294044899609899e-15, -1.4667308974464869e-14),
    ("nctdtr", 2, 4.5, 6.0, -1.5): (7.0470532503128507e-12, 2.1095873105994488e-11),
}
"""Name, number of an argument and arguments -> the derivatives by it, with mpmath."""


NEAR_ZEROS: dict[tuple[Any, ...], tuple[float, float]] = {
    ("poch", 0, 1e-12, 2.5): (1.3293403881825411, 3.4041012353406691),
    ("poch", 0, -0.9999999999, 2.5): (-0.88622692538428912, 0.68468892836503196),
    ("poch", 0, -6.999999999, 0.3): (7.0659342339539396, -32.832005253518066),
    ("binom", 0, 0.5000000001, 2.5): (-0.2666666666460643, 0.20602365938881436),
    ("binom", 1, 2.5, -1.0000000001): (0.2857142856019379, 1.1234780519801635),
    ("binom", 1, 2.5, 4.4999999999): (0.063492063507153129, -0.15089635724043863),
}
"""The same next to zeros, which are poles of a gamma function in the denominator."""


def test_factorials_near_their_zeros_have_all_digits() -> None:
    for (name, k, *point), expected in NEAR_ZEROS.items():

        def f(x: Any, name: str = name, k: int = k, point: list[Any] = point) -> Any:
            return getattr(S, name)(*point[:k], x, *point[k + 1 :])

        found = fd.grad(f)(point[k]), fd.grad(fd.grad(f))(point[k])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.thinned(15)
@pytest.mark.parametrize("entry", DIGITS, ids=str)
def test_both_derivatives_have_all_digits(entry: tuple[Any, ...]) -> None:
    name, k, *point = entry
    slope, bend = DIGITS[entry]

    def f(x: Any) -> Any:
        return getattr(S, name)(*point[:k], x, *point[k + 1 :])

    for found in (fd.grad(f), fd.jacfwd(f), fd.jit(fd.grad(f))):
        np.testing.assert_allclose(found(point[k]), slope, rtol=1e-13)
    np.testing.assert_allclose(fd.grad(fd.grad(f))(point[k]), bend, rtol=1e-12)
    batch = fd.vmap(fd.grad(f))(np.full(2, point[k]))
    np.testing.assert_allclose(batch, [slope, slope], rtol=1e-13)
    assert fd.vmap(fd.grad(f))(np.ones(0)).shape == (0,)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["elliprc", "elliprd", "elliprf", "elliprg", "elliprj"])
def test_carlsons_integrals_have_all_derivatives(name: str) -> None:
    function, count = getattr(S, name), {"elliprc": 2, "elliprj": 4}.get(name, 3)
    rows = [np.array([0.7, 1.9]) + 0.4 * k for k in range(count)]
    check_grads(function, rows, order=2)
    singles = [row.astype(np.float32) for row in rows]
    slopes = fd.grad(lambda *xs: np.sum(function(*xs)), argnums=tuple(range(count)))
    for single, double in zip(slopes(*singles), slopes(*rows), strict=True):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=1e-5)
    if name != "elliprj":
        check_grads(function, [row[0] + (k - 0.7) * 1j for k, row in enumerate(rows)], order=2)


@pytest.mark.slow
def test_carlsons_integrals_at_a_boundary_and_beyond_a_pole() -> None:
    assert fd.grad(S.elliprf)(0.0, 1.0, 2.0) == -np.inf
    assert fd.grad(S.elliprf)(np.inf, 1.0, 2.0) == 0
    assert np.isnan(fd.grad(S.elliprf)(-1.0, 1.0, 2.0))
    at_zero = fd.grad(S.elliprg, argnums=(0, 1))(0.0, 1.0, 2.0)
    np.testing.assert_allclose(at_zero, (0.3277571942865145, 0.177989664944566), rtol=1e-13)
    check_grads(S.elliprc, (1.0, -2.0), order=2)
    check_grads(S.elliprj, (1.0, 2.0, 3.0, -1.5), order=2)
    principal = fd.grad(S.elliprc, argnums=(0, 1))(1.0, -2.0)
    np.testing.assert_allclose(principal, (0.10330450030825447, 0.14669549969174553), rtol=1e-13)


def test_distances_of_distributions_at_the_ends_of_their_domain() -> None:
    for x in (-1.0, 0.0, 1e-200, 1e200, np.inf):
        assert fd.grad(S.kolmogorov)(x) == fd.grad(fd.grad(S.kolmogorov))(x) == 0
    assert fd.grad(S.kolmogi)(0.0) == fd.grad(S.kolmogi)(1.0) == -np.inf
    assert [fd.grad(lambda d: S.smirnov(5, d))(d) for d in (0.0, 1.0)] == [-1, 0]
    assert np.isnan(fd.grad(lambda d: S.smirnov(5, d))(1.5))
    slope = fd.grad(lambda p: S.smirnovi(7, p))(0.3)
    np.testing.assert_allclose(slope * fd.grad(partial(S.smirnov, 7))(S.smirnovi(7, 0.3)), 1)


def test_zeta_functions_at_the_ends_of_their_domain() -> None:
    assert fd.grad(special.zeta)(1.0) == -np.inf
    assert fd.grad(special.zeta)(np.inf) == fd.grad(S.zetac)(np.inf) == 0
    assert np.isnan(fd.grad(S.zeta)(0.5, 1.3))
    assert np.isnan(fd.grad(S.zeta)(2.0, -1.3))
    with pytest.raises(UnsupportedNumPyError, match=r"Leave q out"):
        fd.jvp(lambda s: special.zeta(s, 1.3), (2.5 + 1j,), (1.0 + 0j,))


@pytest.mark.parametrize("name", [
    "fresnel", "sici", "shichi", "airy", "airye", "iti0k0", "itj0y0", "it2i0k0", "it2j0y0",
    "itairy",
])  # fmt: skip
def test_several_results_come_in_scipys_order_with_the_slope_of_each(name: str) -> None:
    function, h = getattr(S, name), 1e-6
    values, slopes = fd.jvp(function, (0.7,), (1.0,))
    np.testing.assert_array_equal(values, function(0.7))
    differences = (np.array(function(0.7 + h)) - function(0.7 - h)) / (2 * h)
    np.testing.assert_allclose(slopes, differences, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("function", "sign"), [(S.modfresnelp, 1j), (S.modfresnelm, -1j)])
def test_fresnels_integrals_to_infinity_are_right_on_both_sides(
    function: Callable[..., Any], sign: complex
) -> None:
    x = np.array([-6.0, -1.0, 0.0, 0.7, 100.0])
    (value, scaled), slopes = fd.jvp(function, (x,), (np.ones(5),))
    factor = np.exp(-sign * (x * x + np.pi / 4)) / np.sqrt(np.pi)
    np.testing.assert_allclose(scaled, factor * value, atol=1e-14)
    np.testing.assert_allclose(slopes[0], -np.exp(sign * x * x), rtol=1e-14)
    assert function(np.float32(1))[0].dtype == np.complex64


@pytest.mark.slow
@pytest.mark.parametrize("function", [S.modfresnelp, S.modfresnelm])
def test_fresnels_integrals_to_infinity_have_all_derivatives(function: Callable[..., Any]) -> None:
    check_grads(lambda x: [np.real(y) + 2 * np.imag(y) for y in function(x)], (0.7,))


@pytest.mark.parametrize(("name", "point"), [
    ("kolmogorov", 0.6), ("kolmogi", 0.3), ("smirnov", 0.6), ("tklmbda", -0.4), ("zetac", 2.5),
])  # fmt: skip
def test_single_precision_stays_single_precision(name: str, point: float) -> None:
    first = (3.0,) if name in ("smirnov", "tklmbda") else ()

    def slope(dtype: Any) -> Any:
        return fd.grad(partial(getattr(S, name), *map(dtype, first)))(dtype(point))

    assert slope(np.float32).dtype == np.float32
    np.testing.assert_allclose(slope(np.float32), slope(np.float64), rtol=2e-5)


@pytest.mark.slow
def test_mathieus_functions_have_derivatives_by_parameter_and_place() -> None:
    q, x = np.array([-2.0, 5.0]), np.array([20.0, 71.0])
    for function in (S.mathieu_cem, S.mathieu_sem):
        check_grads(lambda q, x, f=function: f([3, 2], q, x), (q, x))
    slopes = fd.jvp(lambda q: S.mathieu_cem(2, q, 33.0), (25.0,), (1.0,))[1]
    np.testing.assert_allclose(slopes, (-0.017774044766205827, -0.04913485536924459), rtol=1e-12)
    assert fd.grad(lambda q: np.sum(S.mathieu_sem(2, q, np.ones(0))[1]))(2.0) == 0
    assert np.isnan([fd.grad(partial(S.mathieu_a, m))(q) for m, q in ((2.5, 1.0), (2, 1e7))]).all()
    np.testing.assert_allclose(fd.grad(partial(S.mathieu_a, 0))(1e6), -1.999, rtol=1e-9)
    single = fd.grad(partial(S.mathieu_b, np.float32(3)))(np.float32(2))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, fd.grad(partial(S.mathieu_b, 3))(2.0), rtol=1e-6)


MODIFIED = {
    ("modcem1", 0, 0.5, 1.0): (-1.0553511507955, -1.06318645617482, 1.27522662551464),
    ("modcem2", 0, 2.5, 0.3): (0.0361391511402257, -0.0840892366334803, -0.0348142189377493),
    ("modsem1", 2, 2.5, 1.0): (-0.234292747217282, -0.856947302017311, -0.0582759548216719),
    ("modsem2", 3, 2.5, 1.0): (0.297403401345257, 0.143598491795532, -0.0927599061930218),
    ("modcem2", 3, 10.0, 0.7): (-0.0549212089921594, -0.47422419792062, -0.019851571829856),
    ("modcem1", 8, 1.5, 0.4): (2.94638836666865e-5, 2.26060349364234e-4, 5.7191870146017e-5),
}
"""Name, m, q and x -> derivatives by q of the function and its slope, and the second by q."""


@pytest.mark.parametrize("entry", MODIFIED, ids=str)
def test_mathieus_modified_functions_have_derivatives_by_parameter(entry: tuple[Any, ...]) -> None:
    name, m, q, x = entry
    function = getattr(S, f"mathieu_{name}")
    slopes = fd.jvp(lambda q: function(m, q, x), (q,), (1.0,))[1]
    bend = fd.grad(fd.grad(lambda q: function(m, q, x)[0]))(q)
    np.testing.assert_allclose((*slopes, bend), MODIFIED[entry], rtol=1e-12)
    turned = fd.grad(lambda x: fd.grad(lambda q: function(m, q, x)[0])(q))(x)
    np.testing.assert_allclose(turned, slopes[1], rtol=1e-12)


@pytest.mark.parametrize("name", ["cem", "sem", "modcem1", "modsem2"])
@pytest.mark.parametrize("k", [0, 1])
def test_mathieus_functions_of_single_precision_are_equal_in_all_modes(name: str, k: int) -> None:
    """SciPy has no value of some, of which no mode may have a number then."""

    def f(v: Any) -> Any:
        return getattr(S, f"mathieu_{name}")(np.float32(1), v[0], v[1])[k]

    v = np.array([1.5, 0.7], np.float32)
    hessian = fd.hessian(f)(v)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-4)
    assert np.isnan(hessian).all() == np.isnan(f(v))
    for other in (fd.jacfwd(fd.jacfwd(f)), fd.jacfwd(fd.grad(f)), fd.jacrev(fd.jacfwd(f))):
        np.testing.assert_allclose(other(v), hessian, rtol=1e-4)


@pytest.mark.slow
def test_mathieus_modified_functions_in_other_modes_and_at_edges() -> None:
    q, x = np.array([0.4, 7.0]), np.array([0.3, 1.0])
    for name in ("modcem1", "modcem2", "modsem1", "modsem2"):
        function = getattr(S, f"mathieu_{name}")
        check_grads(lambda q, x, f=function: f([3, 2], q, x), (q, x))
        slope = fd.grad(lambda q, f=function: f(3, q, 1.0)[1])
        batch = fd.vmap(slope)(q)
        np.testing.assert_allclose(batch, [fd.jit(slope)(number) for number in q], rtol=1e-13)
        single = fd.grad(lambda q, f=function: f(np.float32(3), q, np.float32(1))[0])
        assert single(np.float32(2.5)).dtype == np.float32
        nothing = fd.grad(lambda q, f=function: np.sum(f(3, q, np.ones(0))[0]))(2.5)
        assert nothing == 0
        assert np.isnan(fd.grad(lambda q, f=function: f(3, q, 1.0)[0])(-1.0))
        assert np.isnan(fd.grad(lambda q, f=function: f(2.5, q, 1.0)[0])(1.0))
    assert np.isnan(fd.grad(lambda q: S.mathieu_modcem2(20, q, -0.5)[0])(1000.0))


@pytest.mark.slow
def test_spheroidal_functions_have_derivatives_by_place_and_their_values_by_parameter() -> None:
    for name, place in (("ang1", 0.3), ("rad1", 2.7), ("rad2", 2.7)):
        for kind in ("pro", "obl"):
            level = getattr(S, f"{kind}_cv")
            xs = np.array([place, place + 0.2])
            check_grads(partial(getattr(S, f"{kind}_{name}"), 0, 1, 2.0), (xs,), order=2)
            given = partial(getattr(S, f"{kind}_{name}_cv"), 0, 1, 2.0, level(0, 1, 2.0))
            plain = fd.jacfwd(partial(getattr(S, f"{kind}_{name}"), 0, 1, 2.0))(place)
            np.testing.assert_allclose(fd.jacfwd(given)(place), plain, rtol=1e-12)
        other = fd.jvp(partial(getattr(S, f"pro_{name}_cv"), 0, 1, 2.0, 7.0), (place,), (1.0,))[1]
        assert np.isnan(other[1])
    for function in (S.pro_cv, S.obl_cv):
        check_grads(lambda c, f=function: f([0, 1, 2], [0, 2, 5], c), (np.array([0.5, 1, 3]),))
        assert np.isnan(fd.grad(partial(function, 1, 1))(-2.0))
    with pytest.raises(NotDifferentiableError, match=r"pro_rad1_cv was .*parameter c.*stop_grad"):
        fd.grad(lambda c: S.pro_rad1_cv(0, 1, c, 7.0, 2.3)[0])(2.0)
    c, x = np.array([2.0, 0.5]), np.array([0.3, -0.7])
    for function in (S.pro_ang1, S.obl_ang1):
        check_grads(lambda c, x, f=function: f([1, 2], [2, 5], c, x), (c, x))
        by_both = fd.hessian(lambda v, f=function: f(1, 2, v[0], v[1])[0])(np.array([2.0, 0.3]))
        by_c = fd.grad(lambda c, f=function: f(1, 2, c, 0.3)[1])(2.0)
        np.testing.assert_allclose(by_both[0, 1], by_c, rtol=1e-12)
        np.testing.assert_allclose(by_both[1, 0], by_c, rtol=1e-12)
    assert np.isnan(fd.grad(lambda c: S.obl_ang1(0, 1, c, 0.4)[0])(30.0))


def test_integrals_of_airys_functions_have_them_for_derivatives() -> None:
    x = np.array([-11.0, -1.4, 0.0, 0.7, 2.6])
    values, slopes = fd.jvp(S.itairy, (x,), (np.ones(5),))
    np.testing.assert_array_equal(values, S.itairy(x))
    ai, ai_slope, bi, _ = S.airy(x)
    turned_ai, turned_ai_slope, turned_bi, _ = S.airy(-x)
    np.testing.assert_allclose(slopes, (ai, bi, turned_ai, turned_bi), rtol=1e-14)
    for k, bend in ((0, ai_slope), (2, -turned_ai_slope)):
        twice = fd.grad(lambda x, k=k: np.sum(fd.grad(lambda x: np.sum(S.itairy(x)[k]))(x)))(x)
        np.testing.assert_allclose(twice, bend, rtol=1e-14)


RADIAL = {
    ("pro_rad1", 0, 1, 2.0, 2.3): (-0.511942411145774, 0.174281477534658, 0.42752814124665),
    ("pro_rad1", 2, 5, 8.0, 1.25): (-0.0474498467931647, -0.722280304049883, -0.0491143537845988),
    ("obl_rad1", 1, 2, 3.0, 0.4): (0.0595972518940219, 0.0662076935243742, -0.0290569471381163),
    ("pro_rad2", 1, 3, 1.5, 2.5): (0.64178175421514, -0.211718115480471, -0.733985128992213),
    ("obl_rad2", 0, 2, 4.0, 2.5): (0.248408054889793, 0.107147087855885, 0.0129897626675586),
}
"""Name, m, n, c and x -> derivatives by c of the function and its slope, and the second by c."""


@pytest.mark.parametrize("entry", RADIAL, ids=str)
def test_radial_spheroidal_functions_have_derivatives_by_parameter(entry: tuple[Any, ...]) -> None:
    name, m, n, c, x = entry
    function = getattr(S, name)
    slopes = fd.jvp(lambda c: function(m, n, c, x), (c,), (1.0,))[1]
    bend = fd.grad(fd.grad(lambda c: function(m, n, c, x)[0]))(c)
    np.testing.assert_allclose((*slopes, bend), RADIAL[entry], rtol=1e-11)
    turned = fd.grad(lambda x: fd.grad(lambda c: function(m, n, c, x)[0])(c))(x)
    np.testing.assert_allclose(turned, slopes[1], rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pro_rad1", "pro_rad2", "obl_rad1", "obl_rad2"])
def test_radial_spheroidal_functions_in_other_modes_and_at_edges(name: str) -> None:
    function = getattr(S, name)
    c, x = np.array([0.7, 4.0]), np.array([2.8, 4.5])
    check_grads(lambda c, x: function([0, 1], [1, 2], c, x), (c, x))
    slope = fd.grad(lambda c: function(1, 2, c, 3.0)[1])
    np.testing.assert_allclose(fd.vmap(slope)(c), [fd.jit(slope)(v) for v in c], rtol=1e-13)
    orders = np.float32(1), np.float32(2)
    single = fd.grad(lambda c: function(*orders, c, np.float32(3))[0])(np.float32(2))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, fd.grad(lambda c: function(1, 2, c, 3.0)[0])(2.0), rtol=1e-4)
    assert fd.grad(lambda c: np.sum(function(1, 2, c, np.ones(0))[0]))(2.5) == 0
    for c0, x0 in ((0.0, 2.0), (-1.0, 2.0), (2.0, -2.0)):
        assert np.isnan(fd.grad(lambda c, x=x0: function(1, 2, c, x)[0])(c0))


def test_radial_spheroidal_functions_where_digits_are_lost_have_no_derivative_by_parameter() -> (
    None
):
    assert np.isnan(fd.grad(lambda c: S.pro_rad1(0, 1, c, 2.0)[0])(40.0))
    slopes = fd.jacfwd(lambda c: S.obl_rad1(0, 1, c, 0.0))(2.0)
    np.testing.assert_allclose(slopes, (0, 0.2080588829582543), rtol=1e-12)


def test_radial_functions_of_the_second_kind_by_parameter_near_the_spheroid() -> None:
    for function, m, n, x, slope in (
        (S.pro_rad2, 1, 2, 1.4, 1.44765083879103),
        (S.obl_rad2, 0, 1, 1.35, 0.650614468027099),
    ):
        found = fd.grad(lambda c, f=function, m=m, n=n, x=x: f(m, n, c, x)[0])(1.5)
        np.testing.assert_allclose(found, slope, rtol=1e-11)
    slopes = fd.jvp(lambda c: S.obl_rad2(1, 2, c, 0.3), (2.0,), (1.0,))[1]
    turned = fd.grad(lambda x: fd.grad(lambda c: S.obl_rad2(1, 2, c, x)[0])(2.0))(0.3)
    np.testing.assert_allclose(turned, slopes[1], rtol=1e-11)


def test_where_scipys_spheroidal_functions_are_wrong_derivatives_are_nan() -> None:
    (y, slope), (first, steepness) = S.obl_rad2(0, 0, 1.0, 0.8), S.obl_rad1(0, 0, 1.0, 0.8)
    assert abs((first * slope - steepness * y) * (0.8**2 + 1) - 1) > 0.5
    assert np.isnan(fd.jacfwd(lambda x: S.obl_rad2(0, 0, 1.0, x))(0.8)).all()


def test_a_besselpoly_that_has_lost_its_digits_has_no_derivative() -> None:
    check_grads(lambda a: S.besselpoly(a, 0.5, [0.0, 1.5]), (np.array([0.5, 3.0]),), order=2)
    assert np.isfinite(fd.grad(S.besselpoly)(10.0, 0.0, 0.0))
    assert np.isnan(fd.grad(S.besselpoly, argnums=(0, 1, 2))(20.0, 1.0, 1.0)).all()


def test_besselpoly_at_the_ends_of_its_domain() -> None:
    slopes = fd.grad(S.besselpoly, argnums=(0, 1, 2))
    assert slopes(0.0, 1.0, 0.0) == (0, -0.25, -np.inf)
    assert slopes(0.0, 1.0, 0.5) == (np.inf, 0, 0)
    assert np.isnan(slopes(-1.0, 1.0, 1.0)).all()
    negative = (0.19635500144402434, 0.10700853255640164, 0.019726592593138588)
    np.testing.assert_allclose(slopes(2.0, 1.0, -1.0), negative, rtol=1e-13)
    mixed = fd.grad(lambda *xs: slopes(*xs)[2], argnums=(0, 1))(3.0, 1.0, 0.0)
    np.testing.assert_allclose(mixed[1], -0.059125641793603426, rtol=1e-12)
    single = slopes(*map(np.float32, (1.5, 0.5, 0.5)))
    assert {slope.dtype for slope in single} == {np.dtype(np.float32)}
    np.testing.assert_allclose(single, slopes(1.5, 0.5, 0.5), rtol=1e-5)
