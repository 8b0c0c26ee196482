"""What `check_grads` accepts, and what its messages say of a wrong derivative."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError
from funcdiff.testing import check_grads, check_jvp, check_rules, check_vjp

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


@pytest.mark.slow
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


@pytest.mark.slow
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


# ---- derivatives that are given beside a function ------------------------------------------------


def layer(p: dict[str, Any], x: Any) -> dict[str, Any]:
    return {"y": np.tanh(p["w"] @ x), "n": 2, "size": np.sum(x**2)}


def sine_rule(primals: Any, tangents: Any) -> Any:
    return np.sin(primals[0]), np.cos(primals[0]) * tangents[0]


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (np.sin, (POINT,)),
        (layer, ({"w": WEIGHTS}, POINT)),
        (lambda z: np.exp(z) * np.conj(z), (np.array([1.0 + 0.5j, -0.3 + 0.2j]),)),
        (lambda x: np.sum(np.sin(x) * x), (POINT.astype(np.float32),)),
    ],
)
def test_the_derivatives_of_the_library_pass(f: Callable[..., Any], args: Any) -> None:
    check_jvp(f, partial(fd.jvp, f), args)
    check_vjp(f, partial(fd.vjp, f), args)


def test_rules_written_by_hand_pass() -> None:
    check_jvp(np.sin, sine_rule, (POINT,))
    check_vjp(np.sin, lambda x: (np.sin(x), lambda v: (v * np.cos(x),)), (POINT,))


def test_integers_and_text_beside_floats_are_let_alone() -> None:
    def power(x: Any, n: int, name: str) -> Any:
        return x**n, name

    def rule(primals: Any, tangents: Any) -> Any:
        (x, n, name), (t, tn, _) = primals, tangents
        assert tn == 0
        return (x**n, name), (n * x ** (n - 1) * t, name)

    def pull(x: Any, n: int, name: str) -> Any:
        return (x**n, name), lambda v: (n * x ** (n - 1) * v[0], 0, name)

    check_jvp(power, rule, (POINT, 3, "cube"))
    check_vjp(power, pull, (POINT, 3, "cube"))


def test_a_wrong_tangent_is_named_by_leaf_and_entry() -> None:
    def rule(primals: Any, tangents: Any) -> Any:
        (p, x), (tp, tx) = primals, tangents
        y, ty = fd.jvp(lambda p, x: np.tanh(p["w"] @ x), (p, x), (tp, tx))
        ty[1] += tx[2]
        return {"y": y}, {"y": ty}

    with pytest.raises(AssertionError) as caught:
        check_jvp(lambda p, x: {"y": np.tanh(p["w"] @ x)}, rule, ({"w": WEIGHTS}, POINT))
    lines = str(caught.value).splitlines()
    assert "the jvp of <lambda>" in lines[0]
    assert len(lines) == 2
    assert "result['y'], entry (1,): " in lines[1]
    assert "by differences, along args[1][2]" in lines[1]


def test_a_wrong_gradient_is_named_by_leaf_and_entry() -> None:
    def pull(x: Any) -> Any:
        return np.sin(x), lambda v: (v * np.cos(x) * np.array([1.0, 1.0, 2.0]),)

    with pytest.raises(AssertionError) as caught:
        check_vjp(np.sin, pull, (POINT,))
    lines = str(caught.value).splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  gradient of args[0][2], ")


def test_a_derivative_that_is_wrong_everywhere_is_reported_in_a_few_lines() -> None:
    def pull(x: Any) -> Any:
        return np.sin(x), lambda v: (-v * np.cos(x),)

    with pytest.raises(AssertionError) as caught:
        check_vjp(np.sin, pull, (np.linspace(0.1, 1.0, 1000),))
    lines = str(caught.value).splitlines()
    assert len(lines) == 7
    assert lines[-1].startswith("  and more: ")
    assert "995 of 1000 entries are left, from args[0][5] to args[0][999]" in lines[-1]


def test_a_wrong_value_is_named() -> None:
    with pytest.raises(AssertionError, match=r"the value with the jvp of sin differs: result, ent"):
        check_jvp(np.sin, lambda primals, tangents: (np.cos(primals[0]), tangents[0]), (POINT,))
    with pytest.raises(AssertionError, match=r"the value with the vjp of sin differs: result, ent"):
        check_vjp(np.sin, lambda x: (np.cos(x), lambda v: (v,)), (POINT,))


def test_wrong_structures_are_named_by_path() -> None:
    def f(p: dict[str, Any]) -> Any:
        return p["a"] * p["b"][0]

    args = ({"a": 1.5, "b": [2.5]},)
    with pytest.raises(AssertionError, match=r"the gradient of f .*\[0\]\['b'\] is one value, not"):
        check_vjp(f, lambda p: (f(p), lambda v: ({"a": v, "b": v},)), args)
    with pytest.raises(AssertionError, match=r"the tangent of f .* is \(\*,\), not one value"):
        check_jvp(f, lambda primals, _: (f(*primals), (1.0,)), args)
    with pytest.raises(AssertionError, match=r"returned a list, not a pair \(y, ty\)"):
        check_jvp(f, lambda primals, _: [f(*primals)], args)  # type: ignore[arg-type, return-value]


def test_a_gradient_of_another_dtype_is_wrong() -> None:
    x = POINT.astype(np.float32)
    with pytest.raises(AssertionError, match=r"gives float64\(3,\) for args\[0\], which is float3"):
        check_vjp(np.sin, lambda x: (np.sin(x), lambda v: (v * np.cos(x).astype(float),)), (x,))


def test_tolerances_and_the_step_can_be_given() -> None:
    def almost(primals: Any, tangents: Any) -> Any:
        return np.sin(primals[0]), 1.01 * np.cos(primals[0]) * tangents[0]

    with pytest.raises(AssertionError):
        check_jvp(np.sin, almost, (POINT,))
    check_jvp(np.sin, almost, (POINT,), rtol=0.02)
    check_jvp(np.sin, almost, (POINT,), atol=0.02)
    with pytest.raises(AssertionError):
        check_jvp(np.sin, sine_rule, (POINT,), eps=1.0, rtol=1e-6, atol=0.0)
    with pytest.raises(AssertionError):
        check_grads(np.sin, (POINT,), rtol=1e-16, atol=0.0)
    check_grads(np.sin, (POINT,), eps=0.05, rtol=1e-4)


@pytest.mark.parametrize("check", [check_jvp, check_vjp])
def test_arguments_that_cannot_be_checked_are_refused(check: Callable[..., None]) -> None:
    with pytest.raises(InputError, match="Give a tuple with one entry per argument"):
        check(np.sin, sine_rule, POINT)
    with pytest.raises(InputError, match="no argument of sin holds a floating"):
        check(np.sin, sine_rule, (3,))
    with pytest.raises(InputError, match="returned no floating or complex number"):
        check(np.argmax, sine_rule, (POINT,))


@pytest.mark.parametrize("options", [{"order": 0}, {"modes": ()}])
def test_a_check_of_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="check_grads: "):
        check_grads(np.sin, (POINT,), **options)
