"""What `check_grads` accepts, and what its messages say of a wrong derivative."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError
from funcdiff.testing import check_grads, check_rules, check_vjp

WEIGHTS = np.array([[0.4, -0.3, 0.8], [1.2, 0.1, -0.6]])
POINT = np.array([0.7, -0.2, 0.5])


def test_a_function_of_containers_passes() -> None:
    def loss(parameters: dict[str, Any], scale: float) -> Any:
        hidden = np.tanh(parameters["w"] @ parameters["x"])
        return {"loss": np.sum(hidden**2) * scale, "hidden": hidden}

    check_grads(loss, ({"w": WEIGHTS, "x": POINT}, 1.5))


def test_complex_functions_pass_in_both_modes() -> None:
    z = np.array([1.0 + 0.5j, -0.3 + 0.2j])
    check_grads(lambda z: np.exp(z) * np.conj(z), (z,))
    check_grads(lambda z: np.sum(np.abs(z) ** 2), (z,))


def test_single_precision_has_its_own_tolerance() -> None:
    check_grads(lambda x: np.sum(np.sin(x) * x), (POINT.astype(np.float32),))


def test_integers_strings_and_flags_beside_floats_stay_as_they_are() -> None:
    def power(x: Any, n: int, name: str, positive: bool) -> Any:
        return (np.sum(x**n), name) if positive else (x, name)

    check_grads(power, (POINT, 3, "cube", True))


def test_third_order_is_checked_in_every_mix_of_modes() -> None:
    check_grads(lambda x: np.sum(x**4), (POINT,), order=3)


def test_a_wrong_forward_derivative_is_named_by_leaf_and_entry() -> None:
    def f(p: dict[str, Any]) -> Any:
        return {"y": p["w"] * fd.stop_gradient(p["x"])}

    with pytest.raises(AssertionError) as caught:
        check_grads(f, ({"w": WEIGHTS, "x": POINT},), modes=("forward",))
    message = str(caught.value)
    assert "the jvp of f" in message
    assert "result['y'], entry (1, 0): 0.0 against 1.2" in message
    assert "along args[0]['x'][0]" in message


def test_a_wrong_reverse_derivative_is_named_by_leaf_and_entry() -> None:
    def f(p: dict[str, Any]) -> Any:
        return p["w"][0] @ p["x"] + 0.5 * fd.stop_gradient(p["x"])[2]

    with pytest.raises(AssertionError, match=r"gradient of args\[0\]\['x'\]\[2\]"):
        check_grads(f, ({"w": WEIGHTS, "x": POINT},), modes=("reverse",))


def test_a_wrong_second_derivative_says_which_derivative_it_is_of() -> None:
    def f(x: Any) -> Any:
        return np.sum(x * fd.stop_gradient(x) - fd.stop_gradient(x * x) + np.exp(x))

    constant = fd.stop_gradient
    with pytest.raises(AssertionError, match="the vjp of f"):
        check_grads(f, (POINT,), order=1, modes=("reverse",))

    def g(x: Any) -> Any:  # its derivative is right at first order only
        at = constant(x)
        return np.sum(np.exp(at) * (x - at) + constant(np.exp(x)))

    check_grads(g, (POINT,), order=1)
    with pytest.raises(AssertionError, match="of the vjp of g"):
        check_grads(g, (POINT,), order=2, modes=("reverse",))


def test_nothing_to_differentiate_is_an_error() -> None:
    with pytest.raises(InputError, match="no argument of sin holds a floating or complex number"):
        check_grads(np.sin, (3,))


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(InputError, match=r"is not made of \('forward', 'reverse'\)"):
        check_grads(np.sin, (2.0,), modes=("backward",))
    with pytest.raises(InputError, match="Give a tuple"):
        check_grads(np.sin, (2.0,), modes="forward")


def test_check_rules_takes_plain_numpy_code_and_closed_over_arrays() -> None:
    check_rules(lambda x: np.sum(np.sin(WEIGHTS @ x)), POINT)


def test_check_rules_says_what_is_wrong_and_prints_the_program() -> None:
    with pytest.raises(AssertionError) as caught:
        check_rules(lambda x: x * fd.stop_gradient(x), POINT)
    message = str(caught.value)
    assert "jvp equals central differences" in message
    assert "not so for the program: output 0, entry (0,): " in message
    assert "stop_gradient %0" in message


def test_hypothesis_is_needed_for_strategies_alone_which_say_what_to_install() -> None:
    code = (
        "import sys, funcdiff.testing\n"
        "if 'hypothesis' in sys.modules:\n    sys.exit('hypothesis is imported')\n"
        "sys.modules['hypothesis'] = None\n"
        "try:\n    import funcdiff.testing.strategies\n"
        "except ImportError as error:\n    sys.exit('pip install hypothesis' not in str(error))\n"
        "sys.exit('no error')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- false alarms ------------------------------------------------------------------------------


def test_a_steep_function_of_a_thousand_numbers_passes() -> None:
    random = np.random.default_rng(0)
    x, w = random.standard_normal((2, 1000))
    check_grads(lambda x: np.tanh(3 * (x @ w) + 0.3), (x,))
    check_grads(lambda x: np.tanh(3 * (x @ w) + 0.3), (x / 50,))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_arguments_of_any_size_pass(scale: float) -> None:
    check_grads(lambda x: np.sum(np.sin(x / scale) ** 2), (POINT * scale,))
    check_grads(lambda x: scale * np.sum(np.exp(3 * x)), (POINT,))


def test_a_kink_beyond_the_smallest_steps_does_not_matter() -> None:
    check_grads(lambda x: np.abs(x - 0.9999999), (1.0,))


def test_a_minimum_whose_gradient_is_rounding_error_passes() -> None:
    x = np.linalg.solve(WEIGHTS[:, :2], np.array([0.3, 0.7]))
    check_grads(lambda x: np.sum((WEIGHTS[:, :2] @ x - np.array([0.3, 0.7])) ** 2), (x,))
    check_grads(lambda x: np.sum((x / 3 - 0.1) ** 2), (np.full(5, 0.3),))


def test_a_derivative_that_vanishes_with_the_step_passes() -> None:
    check_grads(lambda x: x * np.abs(x), (np.array([0.0, 0.8]),), order=1)


def test_a_derivative_of_a_step_is_found_not_to_settle() -> None:
    with pytest.raises(AssertionError, match="do not settle as their steps shrink"):
        check_rules(np.abs, np.array([0.0, 0.8]))
    with pytest.raises(AssertionError, match="do not settle as their steps shrink"):
        check_grads(np.sign, (np.array([0.0, 0.8]),), order=1)


# ---- symmetric matrices ------------------------------------------------------------------------


SYMMETRIC = np.array([[2.0, 0.3, -0.4], [0.3, 1.5, 0.2], [-0.4, 0.2, 3.1]])


@pytest.mark.parametrize(
    "f",
    [
        np.linalg.eigvalsh,
        np.linalg.cholesky,
        lambda a: np.linalg.eigh(a, UPLO="U")[0],
        lambda a: np.sum(np.linalg.eigh(a)[1] ** 4),
        lambda a: np.linalg.eigvalsh(np.stack([a, 2 * a])),
    ],
)
def test_functions_that_read_one_triangle_pass_at_a_symmetric_matrix(f: Any) -> None:
    check_grads(f, (SYMMETRIC,))
    check_grads(lambda p: f(p["a"]) * p["s"], ({"a": SYMMETRIC, "s": 1.5},), order=1)


def test_a_wrong_derivative_by_a_symmetric_matrix_is_found() -> None:
    f = np.linalg.eigvalsh

    def pulled(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return w, lambda ct: ((v * (ct * [1.0, 1.01, 1.0])) @ v.T,)

    with pytest.raises(AssertionError, match=r"gradient of args\[0\]\[0, 0\]"):
        check_vjp(f, pulled, (SYMMETRIC,))


def test_a_derivative_by_one_triangle_alone_is_right_only_if_it_is_one() -> None:
    check_grads(lambda a: np.sum(np.tril(a) ** 3), (SYMMETRIC,))
    with pytest.raises(AssertionError, match=r"along args\[0\]\[0, 1\]"):
        check_grads(lambda a: np.sum(np.tril(a) ** 3) + fd.stop_gradient(a)[0, 1], (SYMMETRIC,))


def test_a_matrix_that_is_not_symmetric_has_the_derivative_by_the_triangle_that_is_read() -> None:
    check_grads(np.linalg.eigvalsh, (SYMMETRIC + np.triu(SYMMETRIC),))


def test_the_cure_is_given_where_the_rest_of_a_symmetric_matrix_is_read_too() -> None:
    def f(a: Any) -> Any:
        return np.linalg.eigvalsh(a)[0] + np.sum(a * POINT)

    with pytest.raises(AssertionError, match=r"check lambda x: f\(\(x \+ x\.T\) / 2\) instead"):
        check_grads(f, (SYMMETRIC,), order=1)
    check_grads(lambda a: f((a + a.T) / 2), (SYMMETRIC,))


# ---- progress ----------------------------------------------------------------------------------


def test_a_check_that_takes_long_writes_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # not installed
    check_grads(np.sin, (POINT,), order=1)
    assert capsys.readouterr().err == ""
    check_grads(np.sin, (POINT,), order=1, progress=True)
    assert capsys.readouterr().err.startswith("check_grads of sin: the value, after 1 calls")
