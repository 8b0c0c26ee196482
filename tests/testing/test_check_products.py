"""`check_jvp` and `check_vjp` accept right rules, and say where a wrong one is wrong."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError
from funcdiff.testing import check_grads, check_jvp, check_vjp

POINT = np.array([0.7, -0.2, 0.5])
WEIGHTS = np.array([[0.4, -0.3, 0.8], [1.2, 0.1, -0.6]])


def layer(p: dict[str, Any], x: Any) -> dict[str, Any]:
    return {"y": np.tanh(p["w"] @ x), "n": 2, "size": np.sum(x**2)}


def sine_rule(primals: Any, tangents: Any) -> Any:
    return np.sin(primals[0]), np.cos(primals[0]) * tangents[0]


def sine_vjp(x: Any) -> Any:
    return np.sin(x), lambda v: (v * np.cos(x),)


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
    check_vjp(np.sin, sine_vjp, (POINT,))


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
    with pytest.raises(AssertionError, match=r"the gradient of f .*\[0\]\['b'\] has structure \*"):
        check_vjp(f, lambda p: (f(p), lambda v: ({"a": v, "b": v},)), args)
    with pytest.raises(AssertionError, match=r"the tangent of f .* has structure \(\*,\), not \*"):
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
