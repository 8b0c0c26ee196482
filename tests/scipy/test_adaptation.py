"""Questions of borrowed code that a traced array cannot answer, checks of values among them."""

from __future__ import annotations

import ast
import inspect
import textwrap
import warnings
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.stats._axis_nan_policy import _axis_nan_policy_factory

import funcdiff as fd
from funcdiff.adapting.function_code import _definition
from funcdiff.scipy import signal, stats
from funcdiff.scipy.adaptation import ANSWERS
from funcdiff.scipy.borrowed import copy_of
from funcdiff.scipy.stats.sample_statistics import mean_of_known_power
from funcdiff.testing import check_grads
from tests.scipy.agreement import assert_agrees

PLACES = np.array([0.0, 1.0, 3.0])
VALUES = np.array([1.0, 4.0, 2.0])


# fmt: off
def closed_below(x: Any) -> Any:
    return (
        x + 1
    )  # a line without an instruction
# fmt: on


def test_definitions_are_found_whole() -> None:
    for function in (closed_below, coefficients, CubicHermiteSpline.__init__, inspect.getsource):
        found = _definition(function.__code__)
        expected = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        assert found is not None
        assert ast.dump(found) == ast.dump(expected)
        assert found.lineno == function.__code__.co_firstlineno
    assert _definition(eval("lambda x: x").__code__) is None


def coefficients(x: Any, y: Any) -> Any:
    return copy_of(CubicHermiteSpline)(x, y, y).c


def test_checks_of_known_values_raise_scipys_errors() -> None:
    with pytest.raises(ValueError, match="must be strictly increasing"):
        fd.vjp(coefficients, PLACES[::-1], VALUES)
    with pytest.raises(ValueError, match="finite"):
        fd.jit(coefficients)(PLACES, VALUES * np.nan)


def test_checks_of_unknown_values_are_left_out() -> None:
    expected = CubicHermiteSpline(PLACES, VALUES, VALUES).c
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fd.vmap(coefficients)(np.stack([PLACES] * 2), np.stack([VALUES] * 2))
    np.testing.assert_allclose(found[1], expected, rtol=1e-14)


def test_what_is_known_is_checked_beside_what_is_not() -> None:
    with pytest.raises(ValueError, match="must be strictly increasing"):
        fd.vmap(coefficients, in_axes=(None, 0))(PLACES[::-1], np.stack([VALUES] * 2))


def test_complex_numbers_are_seen_as_pairs_of_real_ones_and_back() -> None:
    z = np.array([[1 + 2j, 3 - 1j]])
    view = ANSWERS["view_of"]
    parts, tangent = fd.jvp(lambda z: view(z, float), (z,), (1j * z,))
    np.testing.assert_array_equal(parts, z.view(float))
    np.testing.assert_array_equal(tangent, (1j * z).view(float))
    np.testing.assert_array_equal(fd.vjp(lambda x: view(x, complex), parts)[0], z)
    np.testing.assert_array_equal(view(z, float), z.view(float))


def test_functions_within_changed_code_keep_their_decorators() -> None:
    def square(a: Any, axis: int = 0) -> Any:
        """Return the square of a mean."""
        return np.mean(a, axis) ** 2

    policies = copy_of(_axis_nan_policy_factory)
    decorate = policies(lambda x: x, n_outputs=1, result_to_tuple=lambda x, _: (x,))
    assert decorate(square).__name__ == "square"


B, A = np.array([0.5, 0.3, -0.2]), np.array([1.2, -0.4, 0.1])
TIMES = np.linspace(0.0, 1.0, 3)
SYSTEM = (np.diag([-1.0, -2.0]), np.ones((2, 1)), np.ones((1, 2)), np.zeros((1, 1)))
SAMPLE = np.array([0.3, -0.2, 0.5, 1.0, 0.7, -0.4, 0.2, 0.9])
ONE, NOTHING = np.array(1.0), np.zeros(3)

EQUAL: dict[str, tuple[Any, ...]] = {
    "lp2hp to a frequency of 1": ("signal", lambda s, w, b: s.lp2hp(b, A, w), ONE, B),
    "lp2hp by the frequency alone": ("signal", lambda s, w: s.lp2hp(B, A, w), ONE),
    "lsim of no input": ("signal", lambda s, u: s.lsim(SYSTEM, u, TIMES)[1], NOTHING),
    "step of a numerator that begins with 0": (
        "signal", lambda s, b: s.step((b, A), T=TIMES)[1], np.array([0.0, 0.3, 0.2]),
    ),
    "tf2ss of a numerator of zeros": ("signal", lambda s, b: s.tf2ss(b, A), NOTHING),
    "bilinear of a numerator that begins with 0": (
        "signal", lambda s, b: s.bilinear(b, A), np.array([0.0, 0.3, 0.2]),
    ),
    "roots of which one is 0": ("signal", lambda s, b: s.tf2zpk(b, A)[0], np.array([0.3, 0.2, 0])),
    "iqr of scale 1": ("stats", lambda s, x, c: s.iqr(x, scale=c), SAMPLE, ONE),
    "iqr by the scale alone": ("stats", lambda s, c: s.iqr(SAMPLE, scale=c), ONE),
    "power divergence of Pearson": (
        "stats",
        lambda s, p: s.power_divergence([10, 20, 30], [20.0, 20, 20], lambda_=p)[0], ONE,
    ),
}  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.filterwarnings("ignore::scipy.signal.BadCoefficients")
def test_shortcuts_for_equal_numbers_lose_no_derivative(name: str) -> None:
    module, call, *arrays = EQUAL[name]
    compiled = "roots" not in name  # whose number depends on values
    assert_agrees(f"scipy.{module}", call, *arrays, order=1, compiled=compiled, batched=False)


def test_the_first_time_of_a_simulation_has_the_slope_behind_it() -> None:
    def shifted(start: Any) -> Any:
        return signal.lsim(SYSTEM, np.ones(3), start + TIMES, X0=np.ones(2))[1]

    expected = (shifted(1e-7) - shifted(0.0)) / 1e-7
    for jacobian in (fd.jacfwd, fd.jacrev):
        np.testing.assert_allclose(jacobian(shifted)(0.0), expected, rtol=1e-5)
    check_grads(lambda t: signal.lsim(SYSTEM, np.ones(3), t * TIMES)[1], (1.0,), order=1)


def test_what_nobody_knows_by_equal_numbers_is_nan_and_by_the_others_right() -> None:
    def mean(x: Any, p: Any) -> Any:
        return mean_of_known_power(x, p)

    x = np.abs(SAMPLE)
    value, pull = fd.vjp(mean, x, 0.0)
    by_x, by_p = pull(1.0)
    np.testing.assert_allclose(value, stats.gmean(x), rtol=1e-14)
    np.testing.assert_allclose(by_x, value / x / 8, rtol=1e-14)
    moved = fd.jvp(mean, (x, 0.0), (0 * x, 1.0))[1]
    if not np.isnan(moved):  # SciPy's code is smooth there from 1.18 on
        np.testing.assert_allclose([by_p, moved], fd.grad(lambda p: stats.pmean(x, p))(0.0))
    else:
        assert np.isnan(by_p)
    np.testing.assert_allclose(fd.jvp(mean, (x, 0.0), (x, 0.0))[1], value, rtol=1e-14)
    np.testing.assert_allclose(fd.jit(fd.grad(mean))(x, 0.0), by_x, rtol=1e-14)


def test_a_coefficient_that_is_trimmed_has_no_derivative() -> None:
    def trimmed(b: Any) -> Any:
        return signal.normalize(b, A)[0]

    given = np.array([0.0, 0.3, 0.2])
    with pytest.warns(signal.BadCoefficients):
        slopes = fd.jacobian(trimmed)(given)
    np.testing.assert_allclose(slopes[:, 1:], np.eye(2) / A[0], rtol=1e-15)
    assert np.all(np.isnan(slopes[:, 0]))


def _converted(x: Any) -> Any:
    return np.float64(x) * np.complex128(2) + np.float32(3)


def test_floating_types_convert_traced_arrays() -> None:
    convert = copy_of(_converted)
    np.testing.assert_array_equal(convert(PLACES), _converted(PLACES))
    for x in (PLACES, PLACES.astype(np.float32), np.float64(2), PLACES[:0]):
        value, pull = fd.vjp(convert, x)
        np.testing.assert_array_equal(value, _converted(x))
        np.testing.assert_array_equal(pull(np.ones_like(value))[0], 2 * np.ones_like(x))


class Scaled:
    """Something to borrow, whose methods have shortcuts for a scale of 1."""

    __module__ = "scipy.examples"

    def __init__(self, scale: Any) -> None:
        self.factor = 1.0
        if scale != 1:
            self.factor = 1 / scale
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return x if self.scale == 1 else x / self.scale

    def root(self, x: Any) -> Any:
        """Return a value that has no slope at the scale 1."""
        return x if self.scale == 1 else x * abs(self.scale - 1) ** 0.5

    def shifted(self) -> Any:
        """Return another of its kind, in another way where nothing is shifted."""
        return Scaled(1.0) if self.scale == 1 else Scaled(self.scale)


def test_shortcuts_for_equal_numbers_in_methods_lose_no_derivative() -> None:
    scaled = copy_of(Scaled)
    for slope in (
        lambda c: scaled(c).factor,
        lambda c: scaled(c)(1.0),
        lambda c: scaled(c).shifted()(1.0),
        lambda c: scaled(c).shifted().factor,
    ):
        for order, expected in ((fd.grad(slope), -1), (fd.grad(fd.grad(slope)), 2)):
            assert order(1.0) == expected
        assert fd.jvp(slope, (1.0,), (1.0,)) == (1.0, -1.0)
        assert fd.vmap(fd.grad(slope))(np.ones(2)).tolist() == [-1.0, -1.0]
        assert fd.jit(fd.grad(slope))(1.0) == -1
    by_x, by_scale = fd.grad(lambda x, c: scaled(c).root(x), argnums=(0, 1))(3.0, 1.0)
    assert by_x == 1
    assert np.isnan(by_scale)
    assert scaled(1.0)(5.0) == 5.0


class Counted:
    __module__ = "scipy.made_up"

    def area(self, side: float) -> Any:
        return float(side) if self.__is_round() else 1.0

    def __is_round(self) -> bool:
        """Have a name that the class mangles."""
        return True


def test_methods_are_read_when_they_are_first_asked_for() -> None:
    kind = copy_of(Counted)
    assert not inspect.isfunction(vars(kind)["area"])
    assert kind().area(2) == 2.0
    found = vars(kind)["area"]
    assert found is kind.area
    assert list(inspect.signature(found).parameters) == ["self", "side"]
    code = inspect.unwrap(found).__code__
    assert "convert_to" in code.co_names
    assert code.co_firstlineno == Counted.area.__code__.co_firstlineno
    assert kind().area(2) == 2.0
