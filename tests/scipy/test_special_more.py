"""Polynomials, Jacobi's functions, distributions in their parameters, Python functions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special as S  # noqa: N812

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.testing import check_grads
from tests.scipy.agreement import assert_agrees

X = np.array([0.3, 0.7, 0.45])
Y = X[::-1] + 0.1
Z = np.array([0.7, 1.3, 2.9])

UFUNCS: dict[str, tuple[Any, ...]] = {
    "legendre": (lambda s, x: [s.eval_legendre(n, x) for n in (0, 1, 3, 2.5)], X),
    "genlaguerre": (lambda s, x: s.eval_genlaguerre(2.5, 0.6, x), X),
    "ellipj": (lambda s, u, m: s.ellipj(u, m), X * 4, Y),
    "agm": (lambda s, a, b: s.agm(a, b), X, X + 0.1),
    "chi": (lambda s, v, x: [s.chdtr(v, x), s.chdtrc(v, x), s.chdtri(v, x)], 5 * X, X),
    "gamma": (lambda s, a, b, x: [s.gdtr(a, b, x), s.gdtrix(a, b, x)], 5 * X, Y, X),
    "F": (lambda s, m, n, x: [s.fdtr(m, n, x), s.fdtri(m, n, x)], 5 * X, Y + 1, X),
    "student": (lambda s, v, t: [s.stdtr(v, t), s.stdtrit(v, t)], 5 * X, X),
    "parabolic": (lambda s, x: [s.pbdv(1.5, x), s.pbvv(0.5, x), s.pbwa(0.5, x)], X),
    "kelvin": (lambda s, x: [s.ber(x), s.bei(x), s.ker(x), s.kei(x)], X),
    "jvp": (lambda s, x: [s.jvp(1.5, x), s.yvp(2, x, 0), s.ivp(0, x, 3)], X),
    "kvp": (lambda s, x: [s.kvp(1.5, x, 2), s.kvp(0, x)], X),
    "h1vp": (lambda s, x: np.real(s.h1vp(1, x, 2) + s.h2vp(1, x)), X),
    "factorial": (lambda s, x: [s.factorial(x), s.factorial(x, extend="complex")], X),
    "perm": (lambda s, n, k: s.perm(n + 3, k), X, Y),
    "diric": (lambda s, x: [s.diric(x, n) for n in (1, 4, 5)], 9 * X),
    "sph_harm_y": (lambda s, t, p: s.sph_harm_y([3, 2, 1], [1, -2, 0], t, p), 4 * X, Y),
    "sph_harm_y_all": (lambda s, t, p: s.sph_harm_y_all(2, 1, t, p, diff_n=1), X, Y),
    "assoc_laguerre": (lambda s, x: s.assoc_laguerre(x, 3, 0.5), X),
    "polygamma": (lambda s, x: s.polygamma(np.array([[0], [1], [3]]), x), Z),
    "Hurwitz zeta": (lambda s, x: s.zeta(2.5, x), Z),
    "multigammaln": (lambda s, x: s.multigammaln(x + 2, 4), Z),
    "comb": (lambda s, x: s.comb(x + 3, x), Z),
    "comb with repetition": (lambda s, x: s.comb(x + 3, 1.3, repetition=True), Z),
    "comb of nothing with repetition": (lambda s, x: s.comb(x + 1, 0, repetition=True), Z),
    "comb of more than there are": (lambda s, x: s.comb(x, x + 2), Z),
    "sinc": (lambda s, x: s.sinc(x), Z),
    "spherical": (
        lambda s, x: [
            getattr(s, f"spherical_{kind}n")([0, 1, 3], x, derivative)
            for kind in "jyik" for derivative in (False, True)
        ], Z),
    "lambertw": (lambda s, x: [s.lambertw(x).real, s.lambertw(-0.1 * x, -1).real], X),
    "lambertw of complex numbers": (lambda s, z: s.lambertw(z, [0, 1, 3]), Z + 0.4j),
    "elliptic integrals near 0 and 1": (
        lambda s, m: [s.ellipkinc(0.5, 0.01 * m), s.ellipeinc(0.5, 0.01 * m),
                      s.ellipkinc(0.5, 1 - 0.01 * m)], X),
    "wofz far away": (lambda s, z: s.wofz(z), Z + (9 - 12j)),
    "voigt_profile of small deviation": (lambda s, x, g: s.voigt_profile(x, 0.05, g), Z, Z / 2),
}  # fmt: skip


@pytest.mark.thinned(10)
@pytest.mark.parametrize("name", UFUNCS)
def test_functions_agree(name: str) -> None:
    call, *arrays = UFUNCS[name]
    assert_agrees("scipy.special", call, *arrays)


def test_a_function_of_single_precision_has_a_gradient_of_single_precision() -> None:
    for name in ("polygamma", "Hurwitz zeta", "multigammaln", "comb", "sinc"):
        call, _ = UFUNCS[name]
        value, pull = fd.vjp(partial(call, fd.scipy.special), Z.astype(np.float32))
        assert pull(np.ones_like(value))[0].dtype == np.float32


def test_spherical_harmonics_have_derivatives_at_the_poles() -> None:
    n, m = np.meshgrid(np.arange(4), np.arange(-4, 5))
    for pole in (0.0, np.pi):
        found = fd.jvp(lambda t: fd.scipy.special.sph_harm_y(n, m, t, 0.3), (pole,), (1.0,))[1]
        slopes = S.sph_harm_y(n, m, 1e-9 + pole * (1 - 1e-9), 0.3, diff_n=1)[1][..., 0]
        np.testing.assert_allclose(found, slopes, atol=1e-7)


def test_polynomials_have_derivatives_at_the_ends_of_their_interval() -> None:
    for n in range(5):
        slopes = {
            "legendre": fd.grad(partial(S.eval_legendre, n))(1.0),
            "chebyt": fd.grad(partial(S.eval_chebyt, n))(-1.0),
            "hermite": fd.grad(partial(S.eval_hermite, n))(0.0),
        }
        assert slopes["legendre"] == n * (n + 1) / 2
        assert slopes["chebyt"] == (-1) ** (n + 1) * n * n
        assert slopes["hermite"] == (2 * n * S.eval_hermite(n - 1, 0.0) if n else 0)
    z = np.array([0.3 + 0.2j])
    check_grads(lambda z: S.eval_legendre(2.0, z), (z,), order=2)


def _kernel(n: float, x: Any) -> Any:
    return fd.scipy.special.diric(x, n)


def test_kernels_are_smooth_at_multiples_of_a_turn() -> None:
    for n in (3, 4):
        for place in (0.0, 2 * np.pi, -4 * np.pi):
            value, _ = fd.vjp(partial(_kernel, n), place)
            assert value == pytest.approx(S.diric(place, n))
            second = fd.grad(fd.grad(partial(_kernel, n)))(place)
            assert second == pytest.approx(S.diric(place, n) * (1 - n * n) / 12)
    assert np.isnan(fd.vjp(partial(_kernel, 1.5), 0.3)[0])


def test_the_distributions_of_students_at_their_centre_and_of_infinite_freedom() -> None:
    assert fd.grad(lambda v: S.stdtr(v, 0.0))(3.0) == 0
    assert fd.grad(lambda v: S.stdtr(v, 1.0))(np.inf) == 0
    slope = fd.grad(lambda v: S.stdtr(v, -1.0))(3.0)
    assert slope == -fd.grad(lambda v: S.stdtr(v, 1.0))(3.0)


def test_whole_numbers_of_traced_arguments_are_refused() -> None:
    for name in ("factorial", "perm"):
        arguments = (3.0,) if name == "factorial" else (3.0, 2)
        with pytest.raises(UnsupportedNumPyError, match=rf"{name}\(exact=True\)"):
            fd.grad(lambda n, *r, f=name: getattr(fd.scipy.special, f)(n, *r, exact=True))(
                *arguments
            )
    assert fd.grad(lambda n: fd.scipy.special.factorial(n))(-1.5) == 0


STUDENT = {
    (3.0, 0.0): (0.0, 0.0),
    (0.5, 1e-12): (1.5393024180279986e-13, -3.6084143384501731e-13),
    (3.0, -1e-8): (-9.7329816499884888e-11, 5.9581232530091064e-11),
    (30.0, 0.01): (1.0984234428442425e-06, -7.2882738120825352e-08),
    (1e4, -1.0): (-1.2097931284023154e-09, 2.4195257610990034e-13),
}
"""Degrees of freedom and values -> the derivatives by the first, with mpmath."""


@pytest.mark.thinned(2)
@pytest.mark.parametrize("point", STUDENT)
def test_by_degrees_of_freedom_students_distribution_keeps_its_digits(point: Any) -> None:
    slope, bend = STUDENT[point]
    for found in (fd.grad(S.stdtr), fd.jacfwd(S.stdtr), fd.jit(fd.grad(S.stdtr))):
        np.testing.assert_allclose(found(*point), slope, rtol=1e-11)
    for found in (fd.jacfwd(fd.jacfwd(S.stdtr)), fd.grad(fd.grad(S.stdtr))):
        np.testing.assert_allclose(found(*point), bend, rtol=1e-11)
    single = fd.grad(S.stdtr)(*map(np.float32, point))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, slope, rtol=1e-3)


def test_the_periods_of_a_sinc_may_be_a_list() -> None:
    ours: Any = fd.scipy.special.diric
    found = fd.vjp(lambda x: ours(x, [1, 3, 5]), np.array(0.7))[0]
    np.testing.assert_allclose(found, S.diric(0.7, [1, 3, 5]), rtol=1e-14)
