"""The namespace ``funcdiff.scipy.special``: names, Python functions, errors, SciPy missing."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import special as scipy_special

import funcdiff as fd
from funcdiff.core.late import scipy_function
from funcdiff.errors import MissingDependencyError, NotDifferentiableError, UnsupportedNumPyError
from funcdiff.scipy import special
from funcdiff.scipy.covered import load, table
from tests.together import together

X = np.array([0.7, 1.3, 2.9])

# ---- Python functions of SciPy's -----------------------------------------------------------------


def test_functions_of_ordinary_arrays_are_those_of_scipy() -> None:
    np.testing.assert_array_equal(special.polygamma(1, X), scipy_special.polygamma(1, X))
    assert special.comb(5, 2, exact=True) == 10
    assert special.logsumexp([0.0, 0.0]) == np.log(2)


def test_scipys_own_zeta_of_a_traced_array_is_known() -> None:
    slope = fd.grad(lambda q: scipy_special.zeta(2.5, q))(1.3)
    np.testing.assert_allclose(slope, -1.206468061584989, rtol=1e-14)


def test_riemanns_zeta_of_what_needs_no_derivative_is_a_number() -> None:
    slope = fd.grad(lambda x: x * special.zeta(fd.stop_gradient(x)))(2.0)
    np.testing.assert_allclose(slope, np.pi**2 / 6, rtol=1e-14)


# ---- names ---------------------------------------------------------------------------------------


def test_ufuncs_are_those_of_scipy() -> None:
    for name in ("gamma", "erf", "psi", "digamma", "fresnel", "expit", "jn"):
        assert getattr(special, name) is inspect.unwrap(getattr(scipy_special, name))
        assert name in dir(special)
    assert {"gammaln", "betainc", "logsumexp", "polygamma"} <= set(dir(special))


def test_every_listed_name_is_a_function_of_scipy() -> None:
    recent = {"softplus"}
    for name in set(dir(special)) - recent - {"test"}:
        if isinstance(getattr(special, name), ModuleType):
            continue
        assert callable(getattr(special, name))
        assert hasattr(scipy_special, name)


def test_an_unknown_name_is_answered_with_similar_ones() -> None:
    with pytest.raises(AttributeError, match=r"gammalm.*Did you mean gammaln"):
        special.gammalm  # noqa: B018


def test_an_uncovered_name_is_scipys_and_refuses_traced_arrays() -> None:
    assert special.kelvin(1.0) == scipy_special.kelvin(1.0)
    with pytest.raises(UnsupportedNumPyError, match=r"special\.kelvin of a .*themselves"):
        fd.grad(special.kelvin)(1.0)
    with pytest.raises(UnsupportedNumPyError, match=r"whole number"):
        fd.grad(lambda n: special.legendre(n)(1.0))(1.0)
    np.testing.assert_allclose(fd.grad(special.legendre(2))(0.5), 1.5)


def test_an_uncovered_ufunc_is_refused_with_its_reason() -> None:
    with pytest.raises(
        UnsupportedNumPyError, match=r"scipy\.special\.kelvin of a traced .*themselves"
    ):
        fd.grad(lambda x: scipy_special.kelvin(x)[0])(2.0)


# ---- parameters without a derivative -------------------------------------------------------------


@pytest.mark.parametrize(("name", "argument", "f"), [
    ("polygamma", "n", lambda n: special.polygamma(n, 1.0)),
    ("jv", "v", lambda x: special.jv(x, 1.5)),
    ("smirnov", "n", lambda x: special.smirnov(x, 0.5)),
])  # fmt: skip
def test_a_parameter_without_derivative_is_refused_by_name(
    name: str, argument: str, f: Any
) -> None:
    for derivative in (lambda: fd.grad(f)(2.0), lambda: fd.jvp(f, (2.0,), (1.0,))):
        with pytest.raises(NotDifferentiableError, match=rf"special\.{name} .*{argument}.*stop_gr"):
            derivative()


def test_exact_combinations_of_traced_numbers_are_refused() -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"comb\(exact=True\)"):
        fd.grad(lambda n: special.comb(n, 2, exact=True))(5.0)


def test_a_dimension_that_is_not_whole_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dimension 1\.5"):
        fd.grad(lambda a: special.multigammaln(a, 1.5))(5.0)


# ---- what is refused -----------------------------------------------------------------------------


def _in_order(f: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda v: np.real(f(v, 1.3))


REFUSED: dict[str, Callable[[Any], Any]] = {
    **{
        name: _in_order(getattr(scipy_special, name))
        for name in (
            "jv", "jve", "yv", "yve", "iv", "ive", "kv", "kve", "hankel1", "hankel1e",
            "hankel2", "hankel2e", "yn", "kn", "struve", "modstruve", "hyp0f1", "pdtr",
            "pdtrc", "eval_legendre", "eval_laguerre", "eval_chebyt",
        )
    },
    "expn": lambda n: scipy_special.expn(n, 1.3),
    "hyp1f1": lambda a: scipy_special.hyp1f1(0.3, a, 1.3),
    "hyp2f1": lambda c: scipy_special.hyp2f1(0.3, 0.4, c, 0.3),
    "hyperu": lambda a: scipy_special.hyperu(a, 0.4, 1.3),
    "lpmv": lambda m: scipy_special.lpmv(m, 2.5, 0.3),
    "wright_bessel": lambda a: scipy_special.wright_bessel(a, 1.2, 0.3),
    "pbdv_value": lambda v: scipy_special.pbdv(v, 0.3)[0],
    "bdtr": lambda k: scipy_special.bdtr(k, 4, 0.3),
    "bdtrc": lambda n: scipy_special.bdtrc(1.0, n, 0.3),
    "nbdtr": lambda k: scipy_special.nbdtr(k, 4.0, 0.3),
    "nbdtrc": lambda n: scipy_special.nbdtrc(1.0, n, 0.3),
    "spherical_jn": lambda n: special.spherical_jn(n, 1.3),
    "lambertw": lambda k: special.lambertw(1.3, k).real,
}  # fmt: skip


@together
@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("derivative", [fd.grad, lambda f: lambda x: fd.jvp(f, (x,), (1.0,))])
def test_a_derivative_in_a_parameter_is_refused(name: str, derivative: Any) -> None:
    with pytest.raises(NotDifferentiableError, match=rf"scipy\.special\.{name} .*out of the"):
        derivative(REFUSED[name])(2.0)


def test_a_traced_parameter_that_is_held_fixed_is_no_obstacle() -> None:
    slope = fd.grad(lambda x: scipy_special.jv(fd.stop_gradient(2 * x), x))(1.0)
    assert slope == pytest.approx(scipy_special.jvp(2, 1.0))


def test_out_is_refused_by_the_name_that_scipy_has() -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"scipy\.special\.jv\(out=\)"):
        fd.grad(lambda x: scipy_special.jv(1, x, out=np.zeros(())))(1.0)


# ---- without SciPy -------------------------------------------------------------------------------


@pytest.fixture
def _no_scipy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    dir(special)
    monkeypatch.delattr(special, "gammaln", raising=False)
    monkeypatch.delitem(table["scipy.special"], "gammaln")
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    for cached in (scipy_function, special._enter_ufuncs):
        cached.cache_clear()
    yield
    for cached in (scipy_function, special._enter_ufuncs):
        cached.cache_clear()


@pytest.mark.usefixtures("_no_scipy")
def test_without_scipy_its_functions_say_what_to_install() -> None:
    with pytest.raises(MissingDependencyError, match=r"SciPy is not installed.*funcdiff\[scipy\]"):
        special.gammaln  # noqa: B018
    with pytest.raises(MissingDependencyError, match=r"polygamma.*test_special_namespace"):
        special.polygamma(1, 2.0)
    with pytest.raises(MissingDependencyError, match=r"^scipy.special.erf needs SciPy"):
        load("scipy.special._private", "erf")


@pytest.mark.usefixtures("_no_scipy")
def test_without_scipy_what_needs_only_numpy_works() -> None:
    slope = fd.grad(special.logsumexp)(np.array([1000.0, 1000.0]))
    np.testing.assert_array_equal(slope, [0.5, 0.5])
    assert "logsumexp" in dir(special)
    assert not hasattr(special, "no_function_at_all")
