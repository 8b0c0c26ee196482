"""Roots and fixed points as functions of what their equations contain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize as scipys

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, InputError
from funcdiff.scipy import optimize
from funcdiff.scipy.optimize import SolutionWarning
from tests.scipy.agreement import assert_agrees
from tests.together import together

BRACKETED = ("bisect", "brentq", "brenth", "ridder", "toms748")


# ---- one number ----------------------------------------------------------------------------------


@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", BRACKETED)
def test_a_cube_root_by_a_bracket(name: str) -> None:
    def root(a: Any) -> Any:
        return getattr(optimize, name)(lambda x, a: x**3 - a, 0, 3, args=(a,), xtol=1e-12)

    assert fd.vjp(root, 8.0)[0] == getattr(scipys, name)(lambda x: x**3 - 8.0, 0, 3, xtol=1e-12)
    np.testing.assert_allclose(fd.grad(root)(8.0), 1 / 12, rtol=1e-11)
    np.testing.assert_allclose(fd.grad(fd.grad(root))(8.0), -2 / 9 / 32, rtol=1e-10)
    np.testing.assert_allclose(fd.jit(fd.grad(root))(1.0), 1 / 3, rtol=1e-11)
    several = fd.vmap(fd.grad(root))(np.array([1.0, 8.0]))
    np.testing.assert_allclose(several, [1 / 3, 1 / 12], rtol=1e-11)


def test_full_output_is_scipys() -> None:
    def f(a: Any) -> Any:
        return optimize.brentq(lambda x: x**3 - a, 0, 3, full_output=True)

    root, result = fd.vjp(f, 8.0)[0]
    expected = scipys.brentq(lambda x: x**3 - 8.0, 0, 3, full_output=True)[1]
    assert isinstance(result, scipys.RootResults)
    assert dict(result) | {"root": root} == dict(expected) | {"root": root}
    np.testing.assert_allclose([root, result.root], expected.root, rtol=1e-14)


def test_ends_of_a_bracket_have_derivative_zero() -> None:
    def root(end: Any) -> Any:
        return optimize.brentq(lambda x: x - 1.0, 0.0, end)

    assert fd.grad(root)(3.0) == 0.0


@pytest.mark.thinned(11)
@pytest.mark.parametrize("keywords", [
    {"bracket": (0, 3)},
    {"bracket": [0, 3], "method": "bisect", "xtol": 1e-12},
    {"x0": 1.0},
    {"x0": 1.0, "x1": 2.0, "xtol": 1e-12},
    {"x0": 1.0, "fprime": lambda x: 3 * x**2},
    {"x0": 1.0, "fprime": lambda x: 3 * x**2, "fprime2": lambda x: 6 * x},
    {"x0": 1.0, "method": "halley", "fprime": lambda x: 3 * x**2, "fprime2": lambda x: 6 * x},
])  # fmt: skip
def test_root_scalar(keywords: dict[str, Any]) -> None:
    def found(a: Any) -> Any:
        return optimize.root_scalar(lambda x: x**3 - a, **keywords)

    expected = scipys.root_scalar(lambda x: x**3 - 8.0, **keywords)
    result = fd.vjp(found, 8.0)[0]
    assert result.method == expected.method
    assert result.converged
    np.testing.assert_allclose(result.root, expected.root, rtol=1e-9)
    np.testing.assert_allclose(fd.grad(lambda a: found(a).root)(8.0), 1 / 12, rtol=1e-9)
    np.testing.assert_allclose(
        fd.grad(fd.grad(lambda a: found(a).root))(8.0), -2 / 9 / 32, rtol=1e-8
    )


def test_a_function_that_returns_its_derivatives_too() -> None:
    def found(a: Any) -> Any:
        return optimize.root_scalar(lambda x: (x**2 - a, 2 * x), x0=1.0, fprime=True).root

    np.testing.assert_allclose(fd.grad(found)(4.0), 0.25, rtol=1e-12)


def test_a_root_with_slope_zero_has_an_infinite_derivative() -> None:
    def root(a: Any) -> Any:
        return optimize.brentq(lambda x: x**3 - a, -1.0, 1.0)

    assert fd.grad(root)(0.0) == np.inf


@together
@pytest.mark.parametrize(
    "keywords", [{}, {"fprime": lambda x: 2 * x}, {"x1": 3.0}, {"fprime": 1, "fprime2": 1}]
)
def test_newtons_method(keywords: dict[str, Any]) -> None:
    def root(a: Any) -> Any:
        return optimize.newton(lambda x, a: x**2 - a, 1.0, args=(a,), **keywords)

    np.testing.assert_allclose(fd.grad(root)(4.0), 0.25, rtol=1e-9)
    np.testing.assert_allclose(fd.grad(fd.grad(root))(4.0), -1 / 32, rtol=1e-9)


def test_newtons_method_of_many_numbers_and_of_complex_ones() -> None:
    def roots(a: Any) -> Any:
        return optimize.newton(lambda x: x**2 - a, np.ones(3), fprime=1, full_output=True)

    a = np.array([1.0, 4.0, 9.0])
    found = fd.vjp(roots, a)[0]
    np.testing.assert_allclose(found.root, np.sqrt(a), rtol=1e-9)
    assert found.converged.all()
    assert not found.zero_der.any()
    slopes = fd.jacobian(lambda a: roots(a).root)(a)
    np.testing.assert_allclose(slopes, np.diag(0.5 / np.sqrt(a)), rtol=1e-9, atol=1e-12)

    def unit(a: Any) -> Any:
        return optimize.newton(lambda z: z**2 + a, 0.1 + 1j)

    np.testing.assert_allclose(fd.grad(lambda a: unit(a).imag)(4.0), 0.25, rtol=1e-9)


def test_many_roots_need_no_jacobian() -> None:
    def roots(a: Any) -> Any:
        return optimize.newton(lambda x: x**2 - a, np.ones(20_000))

    a = np.linspace(0.5, 2.0, 20_000)
    slopes = fd.grad(lambda a: np.sum(roots(a)))(a)
    np.testing.assert_allclose(slopes, 0.5 / np.sqrt(a), rtol=1e-9)


# ---- systems -------------------------------------------------------------------------------------


METHODS = (
    "hybr", "lm", "broyden1", "broyden2", "anderson", "diagbroyden", "krylov", "df-sane",
)  # fmt: skip


@pytest.mark.thinned(13)
@pytest.mark.parametrize("method", METHODS)
def test_root(method: str) -> None:
    def found(a: Any) -> Any:
        return optimize.root(
            lambda x, a: x + 0.1 * x**3 - a, np.ones(2), (a,), method=method, tol=1e-9
        )

    a = np.array([1.0, 1.7])
    result = fd.vjp(found, a)[0]
    expected = scipys.root(lambda x: x + 0.1 * x**3 - a, np.ones(2), method=method, tol=1e-9)
    np.testing.assert_allclose(result.x, expected.x, rtol=1e-8)
    assert result.success
    assert result.message == expected.message
    assert result.method == method
    np.testing.assert_allclose(result.fun, 0, atol=1e-8)
    slopes = np.diag(1 / (1 + 0.3 * expected.x**2))
    np.testing.assert_allclose(fd.jacobian(lambda a: found(a).x)(a), slopes, atol=1e-8)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", ["broyden1", "broyden2", "anderson", "newton_krylov"])
def test_solvers_for_large_systems(name: str) -> None:
    def found(a: Any) -> Any:
        return getattr(optimize, name)(lambda x: x + 0.1 * x**3 - a, np.ones((1, 2)), f_tol=1e-9)

    a = np.array([[1.0, 1.7]])
    slopes = 1 / (1 + 0.3 * found(a) ** 2)
    np.testing.assert_allclose(fd.grad(lambda a: np.sum(found(a)))(a), slopes, rtol=1e-7)


@pytest.mark.slow
def test_roots_have_second_derivatives() -> None:
    def call(s: Any, a: Any) -> Any:
        def equations(x: Any) -> Any:
            return [x[0] * x[1] - a[0], x[0] + np.exp(x[1]) - a[1]]

        return s.root(equations, [1.0, 1.0], tol=1e-12).x

    assert_agrees("scipy.optimize", call, np.array([0.8, 3.5]), rtol=1e-9)


def test_the_whole_output_of_fsolve() -> None:
    def found(a: Any) -> Any:
        return optimize.fsolve(lambda x: x**2 - a, 1.0, full_output=True)

    x, info, flag, message = fd.vjp(found, 4.0)[0]
    np.testing.assert_allclose(x, [2.0])
    np.testing.assert_allclose(info["fvec"], [0.0], atol=1e-9)
    assert flag == 1
    assert message == "The solution converged."


def test_fixed_points() -> None:
    def heron(x: Any, a: Any) -> Any:
        return (x + a / x) / 2

    def coupled(a: Any) -> Any:
        return optimize.fixed_point(
            lambda x: np.cos(a * x[::-1]) / 2, np.ones(2), xtol=1e-13, method="iteration"
        )

    a = np.array([0.5, 0.8])
    root = fd.grad(lambda a: optimize.fixed_point(heron, 1.0, (a,)))
    np.testing.assert_allclose(root(4.0), 0.25, rtol=1e-9)
    np.testing.assert_allclose(fd.grad(root)(4.0), -1 / 32, rtol=1e-9)
    x = coupled(a)
    rate = -np.sin(a * x[::-1]) / 2
    slopes = np.linalg.solve(np.eye(2) - np.diag(rate * a)[:, ::-1], np.diag(rate * x[::-1]))
    np.testing.assert_allclose(fd.jacobian(coupled)(a), slopes, rtol=1e-9)


# ---- wrong calls ---------------------------------------------------------------------------------


def test_what_is_no_root_warns() -> None:
    def found(a: Any) -> Any:
        return optimize.root(lambda x: x**2 + a, np.ones(1)).x[0]

    with pytest.warns(SolutionWarning, match="returned is no root"):
        fd.vjp(found, 1.0)


def test_a_bracket_that_is_not_closed_in_warns() -> None:
    def found(a: Any) -> Any:
        return optimize.brentq(
            lambda x: x**3 - a, 0.0, 9.0, maxiter=2, full_output=True, disp=False
        )

    with pytest.warns(SolutionWarning, match="returned is no root"):
        root, result = fd.vjp(found, 1.0)[0]
    assert root == scipys.brentq(lambda x: x**3 - 1.0, 0, 9, maxiter=2, disp=False)
    assert not result.converged


def test_as_many_equations_as_unknowns() -> None:
    def found(a: Any) -> Any:
        return optimize.root(lambda x: np.stack([x[0] - a, x[0], x[0]]), np.ones(2)).x

    with pytest.raises(InputError, match=r"shape \(3,\).*one equation for each unknown"):
        fd.jacobian(found)(1.0)


def test_a_singular_jacobian_is_an_error_with_a_cure() -> None:
    def found(a: Any) -> Any:
        return optimize.root(lambda x: np.stack([x[0] + x[1] - a] * 2), np.ones(2), method="lm").x

    with pytest.raises(np.linalg.LinAlgError):
        fd.jacobian(found)(1.0)


def test_errors_of_scipys_stay_scipys() -> None:
    with pytest.raises(ValueError, match="must have different signs"):
        fd.grad(lambda a: optimize.brentq(lambda x: x**2 + a, 0.0, 1.0))(1.0)
    with pytest.raises(ValueError, match="Unknown solver"):
        fd.grad(lambda a: optimize.root(lambda x: x - a, 0.0, method="none").x[0])(1.0)


def test_a_system_that_unpacks_its_unknowns_has_a_jacobian_with_constants() -> None:
    def f(data: Any) -> Any:
        def system(z: Any) -> Any:
            a, b = z
            return np.sum(a * np.exp(data * b)) - 5, np.sum(np.exp(a - data) * b) - 3

        return optimize.root(system, (0.5, 0.5)).x

    data, step = np.array([0.3, 0.5, 1.2]), 1e-5
    expected = np.stack([(f(data + e) - f(data - e)) / (2 * step) for e in step * np.eye(3)], 1)
    for derive in (fd.jacobian(f), fd.jit(fd.jacobian(f))):
        np.testing.assert_allclose(derive(data), expected, rtol=1e-6)


# ---- equations that decide by values -------------------------------------------------------------


def _by_parts(x: Any, a: Any) -> Any:
    if np.any(x < 0):
        raise ValueError("a square root of a negative number")
    return x * x - a if np.all(x > 0.5) else x - a


@pytest.mark.thinned(5)
@pytest.mark.parametrize("solve", [
    *(lambda a, name=name: getattr(optimize, name)(_by_parts, 0.1, 9.0, args=(a,))
      for name in BRACKETED),
    lambda a: optimize.root_scalar(_by_parts, args=(a,), bracket=(0.1, 9.0)).root,
    lambda a: optimize.root_scalar(_by_parts, args=(a,), x0=1.0, x1=2.0).root,
    lambda a: optimize.newton(_by_parts, 1.0, args=(a,)),
    lambda a: optimize.fsolve(_by_parts, 1.0, args=(a,))[0],
    lambda a: optimize.root(_by_parts, [1.0], args=(a,)).x[0],
])  # fmt: skip
def test_an_equation_that_decides_by_values_is_traced_by_its_ways(solve: Any) -> None:
    for derive in (fd.grad(solve), fd.jacfwd(solve)):
        np.testing.assert_allclose(derive(2.0), 0.5 / np.sqrt(2.0), rtol=1e-6)
        np.testing.assert_allclose(derive(4.0), 0.25, rtol=1e-6)
    np.testing.assert_allclose(fd.hessian(solve)(4.0), -1 / 32, rtol=1e-5)


def test_where_no_values_are_known_such_an_equation_says_so() -> None:
    root = fd.jit(lambda a: optimize.brentq(_by_parts, 0.1, 9.0, args=(a,)))
    with pytest.raises(ConcreteValueError, match=r"_by_parts .* asked for a concrete value at"):
        root(2.0)
