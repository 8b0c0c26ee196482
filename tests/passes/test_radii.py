"""Functions of radii are marked where they are flat at 0, and only there; bits stay."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import as_run
from funcdiff.core.text.parse import parse
from funcdiff.ops.linalg.radial_functions import known_p, radial_p
from funcdiff.passes.rewrites import radii
from funcdiff.passes.simplify import simplify

X = np.array([0.3, -0.4])


def _simplified(f: Callable[..., Any], *args: Any) -> Program:
    return simplify(fd.trace(f)(*args))


def _marks(program: Program) -> int:
    return sum(eq.primitive in (radial_p, known_p) for eq in program.equations)


FLAT: dict[str, Callable[[Any], Any]] = {
    "square of a norm": lambda x: np.linalg.norm(x) ** 2,
    "cosine of a norm": lambda x: np.cos(np.linalg.norm(x)),
    "square of a root": lambda x: np.sqrt(x) ** 2,
    "square of an absolute value": lambda x: np.abs(x) ** 2,
    "square of a modulus": lambda x: np.abs(x * 1j) ** 2,
    "square of hypot": lambda x: np.hypot(x[0], x[1]) ** 2,
    "function of a norm repeated": lambda x: np.cos(
        np.linalg.norm(x) * np.array([[1.3, 2.0], [0.2, 1.0]])
    ),
    "sum of two": lambda x: np.exp(np.linalg.norm(x)) + np.exp(-np.linalg.norm(x)),
    "scaled by a number of the call": lambda x: (1 + 1.3 * np.abs(x)) * np.exp(-1.3 * np.abs(x)),
    "of a transposed stack": lambda x: np.cos(np.linalg.norm(x[:, None], axis=1)[::-1].T),
    "dot product of sizes": lambda x: np.abs(x) @ np.abs(x),
    "odd power of a root": lambda x: (x @ x) ** 1.5,
}
STEEP: dict[str, Callable[[Any], Any]] = {
    "norm": np.linalg.norm,
    "sine": lambda x: np.sin(np.linalg.norm(x)),
    "exponential": lambda x: np.exp(-1.3 * np.abs(x)),
    "direction": lambda x: x / np.linalg.norm(x),
    "normalized": lambda x: np.sum(((x - np.mean(x)) / np.std(x)) ** 2),
    "scaled by a root": lambda x: 0.1 * x / (np.sqrt(x * x) + 1e-8),
    "product of two": lambda x: np.abs(x) * np.linalg.norm(x),
    "quotient": lambda x: np.sin(np.abs(x)) / np.abs(x),
    "power": lambda x: np.abs(x) ** 1.5,
    "cubic root": lambda x: np.cbrt(np.abs(x)),
    "logarithm": lambda x: np.log(np.abs(x)),
    "square": lambda x: x**2,
}


@pytest.mark.parametrize("name", FLAT)
def test_what_is_flat_in_a_radius_is_marked(name: str) -> None:
    x = np.abs(X) if "root" in name else X
    assert _marks(_simplified(FLAT[name], x)) >= 1


@pytest.mark.parametrize("name", STEEP)
def test_what_is_steep_in_a_radius_is_not(name: str) -> None:
    assert _marks(_simplified(STEEP[name], X)) == 0


@pytest.mark.parametrize("name", FLAT)
def test_simplifying_again_changes_nothing(name: str) -> None:
    once = _simplified(FLAT[name], np.abs(X))
    assert simplify(once) == once


@pytest.mark.parametrize("name", FLAT)
def test_a_marked_program_runs_as_the_one_before(name: str) -> None:
    before = fd.trace(FLAT[name])(np.abs(X))
    after = as_run(simplify(before))
    assert _marks(after) == 0
    captures = before.input_types[1:]
    numbers = [np.full(t.shape, 1.3, t.dtype)[()] for t in captures]
    for x in (np.abs(X), np.zeros(2), np.array([np.inf, 1.0]), np.array([np.nan, 0.0])):
        with np.errstate(all="ignore"):
            expected, found = (fd.evaluate(p, [x, *numbers]) for p in (before, after))
        np.testing.assert_array_equal(found, expected)


def test_a_mark_names_the_function_the_radius_its_square_and_parameters() -> None:
    program = parse(
        "program(%0: f64[2], %1: f64[]) {\n"
        "  %2: f64[] = contract{left=(0,), right=(0,), out=()} %0, %0\n"
        "  %3: f64[] = sqrt %2\n"
        "  %4: f64[] = mul %3, %1\n"
        "  %5: f64[] = cos %4\n"
        "  return %5\n}"
    )
    assert str(simplify(program)) == (
        "program(%0: f64[2], %1: f64[]) {\n"
        "  %2: f64[] = contract{left=(0,), right=(0,), out=()} %0, %0\n"
        "  %3: f64[] = root_of_squares %2\n"
        "  %4: f64[] = mul %3, %1\n"
        "  %5: f64[] = cos %4\n"
        "  %6: f64[] = radial{body=program(%0: f64[], %1: f64[], %2: f64[]) {\n"
        "      %3: f64[] = mul %0, %2\n"
        "      %4: f64[] = cos %3\n"
        "      return %4\n"
        "    }, order=0, kink=True} %5, %3, %2, %1\n"
        "  return %6\n}"
    )


def test_the_square_of_a_complex_root_stays() -> None:
    text = "\n".join([
        "program(%0: c128[3]) {",
        "  %1: c128[3] = sqrt %0",
        "  %2: c128[3] = square %1",
        "  return %2",
        "}",
    ])  # fmt: skip
    assert str(simplify(parse(text))) == text


def test_of_a_long_chain_only_the_beginning_is_marked() -> None:
    def f(x: Any) -> Any:
        y = r = np.linalg.norm(x)
        for k in range(80):
            y = np.sin(y) + r * (k + 20.0)
        return np.cos(y)

    program = _simplified(f, X)
    assert 0 < _marks(program) <= 32
    assert max(eq.params.equation_count for eq in program.equations) <= 32
    assert program.equations[-1].primitive.name == "cos"


def number_and_its_parts(x: Any) -> Any:
    y = np.cos(np.arange(len(x)) + np.linalg.norm(x))
    for k in range(1, len(y) - 1):
        y[k] = np.tanh(y[k - 1] + y[k + 1])
    return np.mean(y)


def norms_of_parts(x: Any) -> Any:
    y = 0.3
    for k in range(len(x) - 1):
        y = np.tanh(y + np.linalg.norm(x[k : k + 2]))
    return y


def moduli(x: Any) -> Any:
    y = x * 1.0
    for _ in x:
        y = np.tanh(y + np.abs(y[::-1]) * y)
    return np.sum(y)


@pytest.mark.parametrize("f", [number_and_its_parts, norms_of_parts, moduli])
def test_of_radii_in_a_loop_there_is_linear_code(f: Callable[[Any], Any]) -> None:
    for n in (10, 20):
        assert _simplified(f, np.linspace(0.1, 1.0, n)).equation_count < 30 * n


@pytest.mark.parametrize("p", range(1, 7))
def test_kernels_of_long_formulas_are_smooth_at_zero(p: int) -> None:
    def matern(x: Any) -> Any:
        """Return Matérn's function of order p + 1/2 (equation 4.16 of Rasmussen, Williams 2006)."""
        r, total = np.linalg.norm(x) * np.sqrt(2 * p + 1), 0.0
        for i in range(p + 1):
            share = factorial(p + i) / (factorial(i) * factorial(p - i))
            total = total + share * factorial(p) / factorial(2 * p) * (2 * r) ** (p - i)
        return total * np.exp(-r)

    expected = -(2 * p + 1) / (2 * p - 1) * np.eye(2)
    np.testing.assert_allclose(fd.hessian(matern)(np.zeros(2)), expected, rtol=1e-12)


@pytest.mark.parametrize("square", [
    lambda d, r: np.sum(d**2, axis=-1),
    lambda d, r: r**2,
    lambda d, r: np.sum(d * d, -1) / 3 * 3.0,
])  # fmt: skip
def test_a_formula_of_a_norm_and_its_square_is_one_of_the_norm(square: Callable[..., Any]) -> None:
    """The Laplacians of Matérn's function of order 5/2 by both points, 25/24·64 where they meet."""

    def kernel(x: Any, y: Any) -> Any:
        r = np.linalg.norm(x - y, axis=-1)
        return (1 + np.sqrt(5) * r + 5 * square(x - y, r) / 3) * np.exp(-np.sqrt(5) * r)

    point = np.array([0.3, -0.2])

    def by_the_second(x: Any) -> Any:
        return np.trace(fd.hessian(kernel, argnums=1)(x, point))

    np.testing.assert_allclose(np.trace(fd.hessian(by_the_second)(point)), 200 / 3, rtol=1e-12)


@pytest.mark.parametrize("length", [30, 40])
def test_a_long_function_of_the_square_is_a_parameter(length: int) -> None:
    """(1 + r + L(s))·exp(-r) is 1 + (L' - 1/2)·s + …, L' = 1."""

    def f(x: Any) -> Any:
        r, s = np.linalg.norm(x), x @ x
        for _ in range(length):
            s = np.sin(s)
        return (1 + r + s) * np.exp(-r)

    np.testing.assert_allclose(fd.hessian(f)(np.zeros(2)), np.eye(2), rtol=1e-12)


@pytest.mark.parametrize("order", [2, 4])
def test_what_is_smooth_beside_a_kink_keeps_its_derivatives(order: int) -> None:
    def penalised(x: Any) -> Any:
        return np.exp(-0.7 * np.abs(x) - 1.3 * x**2)

    for f in (penalised, lambda x: penalised(x) + 0 * np.cos(np.abs(x))):
        at_zero = fd.derivative(f, n=order)(0.0)
        np.testing.assert_allclose(at_zero, {2: -2 * 1.3, 4: 12 * 1.3**2}[order], rtol=1e-12)


def test_a_function_of_radii_is_as_smooth_as_its_restrictions() -> None:
    def along_axes(x: Any) -> Any:
        return np.cos(sum(map(abs, x)))

    def of_one_of_many(x: Any) -> Any:
        return (np.cos(abs(x[0])) + np.cos(abs(x[1])) + np.cos(abs(x[3]))) * abs(x[2]) * abs(x[2])

    for n in (1, 2, 3):
        np.testing.assert_array_equal(np.diag(fd.hessian(along_axes)(np.zeros(n))), -np.ones(n))
    np.testing.assert_array_equal(np.diag(fd.hessian(of_one_of_many)(np.zeros(4))), [0, 0, 6, 0])


def test_a_chain_of_any_length_is_walked() -> None:
    def f(x: Any) -> Any:
        y = np.linalg.norm(x)
        for _ in range(3000):
            y = np.sin(y)
        return np.cos(y)

    assert _marks(_simplified(f, X)) == 0


@pytest.mark.parametrize("f", [
    lambda x: np.sqrt(np.mean(x**2)),
    lambda x: np.sqrt(np.var(x)),
    lambda x: np.sqrt(np.var(x, ddof=1)),
    lambda x: np.sqrt(np.sum(x**2, where=x < 5)),
    lambda x: np.sqrt(np.mean(x**2, where=x < 5)),
    lambda x: np.sqrt(2.0 * (x @ x)),
    lambda x: np.sqrt((x @ x) / 3.0),
    lambda x: np.sqrt(np.real(np.vdot(x + 0j, x + 0j))),
    lambda x: np.sqrt(np.sum(np.abs(x * 1j) ** 2)),
    lambda x: np.sqrt(np.sum((x * 1j * np.conj(x * 1j)).real)),
])  # fmt: skip
def test_the_root_of_what_is_visibly_a_sum_of_squares_is_a_norm(f: Callable[[Any], Any]) -> None:
    names = {eq.primitive.name for eq in _simplified(f, np.zeros(3)).equations}
    assert "root_of_squares" in names
    assert "sqrt" not in names
    np.testing.assert_array_equal(fd.grad(f)(np.zeros(3)), np.zeros(3))


@pytest.mark.slow
def test_a_sum_of_many_radii_is_followed_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each term is at the beginning of a chain that is too long for a mark."""
    found: list[Any] = []
    jet_of_result = radii.jet_of_result

    def counting(*args: Any, **options: Any) -> Any:
        found.append(args)
        return jet_of_result(*args, **options)

    monkeypatch.setattr(radii, "jet_of_result", counting)
    count = 800

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(count):
            total = total + np.sqrt(x[k]) * x[k - 1]
        return total

    assert _marks(_simplified(f, np.ones(count))) == 0
    assert len(found) <= 70 * count


NORMS_OF_NORMS: dict[str, Callable[[Any], Any]] = {
    "hypot of a norm": lambda x: np.hypot(np.linalg.norm(x[:2]), x[2]),
    "hypot of hypot": lambda x: np.hypot(np.abs(x[0]), np.hypot(x[1], x[2])),
    "hypot of two": lambda x: np.hypot(np.hypot(x[0], x[1]), np.abs(x[2])),
    "of moduli": lambda x: np.linalg.norm(np.abs(x)),
    "a guard": lambda x: np.maximum(np.linalg.norm(x), 0),
    "a modulus of the square": lambda x: np.sqrt(np.abs(x @ x)),
    "a guard of the square": lambda x: np.sqrt(np.maximum(0.0, x @ x)),
    "clipped": lambda x: np.clip(np.sqrt(np.sum(x**2)), 0, 9),
    "a guard against NaN": lambda x: np.fmax(np.linalg.norm(x), 0),
    "a scaled guard": lambda x: 2 * np.maximum(np.linalg.norm(x) / 2, 0),
    "a guard of a sum": lambda x: np.maximum(0, (r := np.linalg.norm(x)) + 2 * r) / 3,
    "chosen": lambda x: np.where(np.linalg.norm(x) > 0, np.linalg.norm(x), 0),
    "chosen by zero": lambda x: np.where(np.linalg.norm(x) == 0, 0, np.linalg.norm(x)),
    "chosen by the square": lambda x: np.where(x @ x > 0, np.sqrt(x @ x), 0.0),
    "a chosen square": lambda x: np.sqrt(np.where(x @ x <= 0, 0, x @ x)),
    "chosen and guarded": lambda x: np.where(x @ x != 0, np.sqrt(np.maximum(x @ x, 0)), 0),
    "half of it and its modulus": lambda x: (np.linalg.norm(x) + np.abs(np.linalg.norm(x))) / 2,
}
"""The norm of a vector."""


@pytest.mark.parametrize("x", [[0.0, 0, 0], [0.0, 0, 0.7], [0.3, 0.4, 0], [0.3, -0.4, 0.5]])
@pytest.mark.parametrize("name", NORMS_OF_NORMS)
def test_norms_of_norms_and_guarded_ones_are_norms(name: str, x: list[float]) -> None:
    def f(r: Any) -> Any:
        smooth = np.cosh(r) + (1 + r) * np.exp(-r) + 0.3 * r * np.sin(r)
        return smooth + np.sqrt(r) + np.exp(r) if any(x) else smooth  # those have a kink

    def given(x: Any) -> Any:
        return f(NORMS_OF_NORMS[name](x))

    def plain(x: Any) -> Any:
        return f(np.sqrt(x @ x))

    expected = fd.hessian(plain)(np.array(x))
    for second in (fd.hessian(given), fd.jit(fd.hessian(given)), fd.jacfwd(fd.jacfwd(given))):
        np.testing.assert_allclose(second(np.array(x)), expected, rtol=1e-12, atol=1e-14)


def test_a_modulus_of_a_function_of_a_norm_is_smooth_where_its_square_is() -> None:
    second = fd.hessian(lambda x: np.cos(np.abs(np.sin(np.linalg.norm(x)))))
    np.testing.assert_allclose(second(np.zeros(2)), -np.eye(2), atol=1e-15)


ZERO_FOR_NAN: tuple[Callable[[Any], Any], ...] = (
    lambda s: np.fmax(s, 0), lambda s: np.where(s > 0, s, 0),
)  # fmt: skip


@pytest.mark.parametrize("guard", ZERO_FOR_NAN)
def test_a_guard_that_takes_zero_for_nan_is_constant_there(guard: Callable[[Any], Any]) -> None:
    def guarded(x: Any) -> Any:
        return guard(x @ x)

    derive = fd.grad(guarded)
    for call in (derive, derive, fd.jit(derive)):
        np.testing.assert_array_equal(call(np.array([np.inf, 1.0])), [np.inf, 2])
        assert call(np.array([np.nan, 1.0]))[1] == 0


def test_a_root_that_is_chosen_has_the_slope_of_the_choice() -> None:
    def chosen(s: Any) -> Any:
        return np.where(np.sqrt(s) > 0, np.sqrt(s), 0)

    for derive in (fd.grad(chosen), fd.derivative(chosen), fd.jit(fd.grad(chosen))):
        assert derive(0.0) == 0


def test_a_maximum_that_may_choose_its_bound_stays() -> None:
    assert np.isnan(fd.jit(lambda x: np.maximum(np.abs(x), np.nan))(1.0))
    assert fd.jit(lambda x: np.maximum(np.abs(x), 0.5))(0.25) == 0.5
    low = np.array([-128, 3], np.int8)
    assert fd.jit(lambda x: np.maximum(np.abs(x), 0))(low).tolist() == [0, 3]
    assert fd.grad(lambda x: np.maximum(x * 2, 0))(0.0) == 1.0
    assert fd.grad(lambda x: np.real(np.maximum(x, 0)))(2 + 1j) == 1
