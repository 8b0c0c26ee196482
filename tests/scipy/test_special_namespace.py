"""The namespace ``funcdiff.scipy.special``: names, Python functions, errors, SciPy missing."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import special as scipy_special

import funcdiff as fd
from funcdiff.core.dependencies import scipy_function
from funcdiff.errors import MissingDependencyError, NotDifferentiableError, UnsupportedNumPyError
from funcdiff.scipy import special
from funcdiff.scipy.covered import load, table
from funcdiff.testing import check_grads
from tests.numpy.agreement import default

X = np.array([0.7, 1.3, 2.9])

# ---- Python functions of SciPy's -----------------------------------------------------------------

PYTHON: dict[str, Any] = {
    "polygamma": lambda s, x: s.polygamma(np.array([[0], [1], [3]]), x),
    "Hurwitz zeta": lambda s, x: s.zeta(2.5, x),
    "multigammaln": lambda s, x: s.multigammaln(x + 2, 4),
    "comb": lambda s, x: s.comb(x + 3, x),
    "comb with repetition": lambda s, x: s.comb(x + 3, 1.3, repetition=True),
    "comb of nothing with repetition": lambda s, x: s.comb(x + 1, 0, repetition=True),
    "comb of more than there are": lambda s, x: s.comb(x, x + 2),
    "sinc": lambda s, x: s.sinc(x),
}


@pytest.mark.parametrize("f", PYTHON.values(), ids=PYTHON)
def test_a_python_function_has_the_values_of_scipy(f: Any) -> None:
    value, _ = fd.vjp(partial(f, special), X)
    expected = f(scipy_special, X)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    assert value.dtype == expected.dtype


@pytest.mark.parametrize("f", PYTHON.values(), ids=PYTHON)
def test_a_python_function_has_derivatives_to_second_order(f: Any) -> None:
    check_grads(partial(f, special), (X,), order=default.order)


def test_a_python_function_of_single_precision_has_a_gradient_of_single_precision() -> None:
    for f in PYTHON.values():
        value, pull = fd.vjp(partial(f, special), X.astype(np.float32))
        assert pull(np.ones_like(value))[0].dtype == np.float32


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
