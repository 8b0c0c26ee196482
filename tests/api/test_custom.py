"""Derivative rules of the user's own: every mode from either rule, closures, errors."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import special

import funcdiff as fd
from funcdiff.errors import (
    ConcreteValueError,
    InputError,
    NotDifferentiableError,
    OutputError,
    ProgramError,
)
from funcdiff.ops.user.python_call import entered

X, Y = np.array([0.3, 0.7]), np.array([1.5, -0.4])
A, B = np.array([[3.0, 1.0], [0.5, 2.0]]), np.array([1.0, 2.0])


def by_jvp() -> Any:
    @fd.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return np.sin(x) * y

    @f.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        return f(x, y), np.cos(x) * y * tx + np.sin(x) * ty

    return f


def by_vjp() -> Any:
    @fd.custom_vjp
    def f(x: Any, y: Any) -> Any:
        return np.sin(x) * y

    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda xy, ct: (np.cos(xy[0]) * xy[1] * ct, np.sin(xy[0]) * ct),
    )
    return f


@pytest.mark.slow
@pytest.mark.parametrize("make", [by_jvp, by_vjp])
def test_derivatives_agree_with_differences(make: Callable[[], Any]) -> None:
    fd.testing.check_grads(make(), (X, Y), order=3)


def test_the_rule_is_used_rather_than_the_function() -> None:
    f = fd.custom_jvp(lambda x: x * 2.0)
    f.defjvp(lambda p, t: (f(*p), 100.0 * t[0]))
    assert fd.grad(f)(1.0) == 100.0
    g = fd.custom_vjp(lambda x: x * 2.0)
    g.defvjp(lambda x: (g(x), None), lambda _, ct: (100.0 * ct,))
    assert fd.grad(g)(1.0) == 100.0
    assert fd.jvp(g, (1.0,), (1.0,))[1] == 100.0


def test_of_two_rules_each_serves_its_mode() -> None:
    f = fd.custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (3.0 * ct,))
    f.defjvp(lambda p, t: (f(*p), 5.0 * t[0]))
    assert fd.grad(f)(1.0) == 3.0
    assert fd.jvp(f, (1.0,), (1.0,))[1] == 5.0


def test_a_rule_may_be_nonlinear_in_reverse_mode_only() -> None:
    f = fd.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1, 1),))
    np.testing.assert_array_equal(fd.grad(lambda x: (5 * f(x)).sum())(X), [1.0, 1.0])
    with pytest.raises(NotDifferentiableError, match="not linear in its cotangent"):
        fd.jvp(f, (1.0,), (1.0,))


def test_nondifferentiated_arguments_reach_the_rules_as_they_are() -> None:
    f: Any = fd.custom_jvp(lambda g, x: g(x), nondiff_argnums=0)
    f.defjvp(lambda g, p, t: (g(p[0]), 10.0 * t[0]))
    assert fd.grad(lambda x: f(np.sin, x))(0.5) == 10.0
    b: Any = fd.custom_vjp(lambda x, n: x**n, nondiff_argnums=(1,))
    b.defvjp(lambda x, n: (x**n, x), lambda n, x, ct: (n * ct * x ** (n - 1),))
    assert fd.grad(lambda x: b(x, n=3))(2.0) == 12.0


def test_a_function_that_closes_over_a_differentiated_array_raises() -> None:
    def outer(y: Any) -> Any:
        f = fd.custom_jvp(lambda x: x * y)
        f.defjvp(lambda p, t: (f(*p), y * t[0]))
        return f(3.0)

    with pytest.raises(NotDifferentiableError, match="closes over a traced array"):
        fd.grad(outer)(2.0)


def test_python_control_flow_sees_values() -> None:
    @fd.custom_vjp
    def f(x: Any) -> Any:
        return x if x > 0 else -2.0 * x

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct if x > 0 else -2.0 * ct,))
    assert fd.grad(f)(-1.0) == -2.0
    with pytest.raises(ConcreteValueError):
        fd.vmap(f)(X - 0.5)
    for sign, slope in ((1.0, 1.0), (-1.0, -2.0), (1.0, 1.0)):
        assert fd.vmap(fd.grad(f))(sign * X).tolist() == [slope, slope]
        assert fd.vmap(fd.jit(f))(sign * X).tolist() == (slope * sign * X).tolist()


def test_equal_calls_record_equal_programs() -> None:
    f = by_vjp()
    programs = [fd.trace(lambda x: f(x, 2 * x).sum())(X) for _ in range(2)]
    assert programs[0] == programs[1]
    assert fd.parse(str(programs[0])) == programs[0]


# ---- errors --------------------------------------------------------------------------------------


def wrong_vjp(forward: Any, backward: Any) -> Any:
    f: Any = fd.custom_vjp(lambda x: 2.0 * x)
    f.defvjp(forward, backward)
    return lambda: fd.grad(lambda x: f(x).sum())(X)


def wrong_jvp(rule: Any) -> Any:
    f: Any = fd.custom_jvp(lambda x: 2.0 * x)
    f.defjvp(rule)
    return lambda: fd.grad(lambda x: f(x).sum())(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (wrong_vjp(lambda x: (x, None), lambda r, ct: ct), "must return a tuple"),
        (wrong_vjp(lambda x: (x, None), lambda r, ct: (ct, ct)), "returned 2 entries"),
        (wrong_vjp(lambda x: (x, None), lambda r, ct: (ct.sum(),)), r"shape \(\), expected \(2,\)"),
        (wrong_vjp(lambda x: (x, None), lambda r, ct: ({"a": ct},)), "but argument 0 is"),
        (wrong_vjp(lambda x: (x, None), lambda r, ct: (ct * 1j,)), "dtype complex128"),
        (wrong_vjp(lambda x: x, lambda r, ct: (ct,)), r"forward rule .*pair \(out, residuals\)"),
        (wrong_vjp(lambda x: (x, x, x), lambda r, ct: (ct,)), "but returned a tuple of 3 entries"),
        (wrong_vjp(lambda x: (x.sum(), None), lambda r, ct: (ct,)), r"f64\[2\], but returned"),
        (wrong_jvp(lambda p, t: 2.0 * t[0]), r"pair \(out, tangent\)"),
        (wrong_jvp(lambda p, t: (p[0], t[0].sum())), r"shape \(\), expected \(2,\)"),
        (wrong_jvp(lambda p, t: (p[0].sum(), t[0])), "JVP rule .* must return first what"),
    ],
)
def test_rules_that_return_something_else_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(OutputError, match=message):
        call()


def test_a_function_without_a_rule_says_how_to_give_one() -> None:
    f = fd.custom_vjp(lambda x: x)
    assert f(2.0) == 2.0
    with pytest.raises(InputError, match="defvjp"):
        fd.grad(f)(2.0)


def test_nondiff_argnums_out_of_range_raise() -> None:
    f: Any = fd.custom_jvp(lambda x: x, nondiff_argnums=3)
    f.defjvp(lambda p, t: (p[0], t[0]))
    with pytest.raises(InputError, match="out of range"):
        fd.grad(f)(2.0)


# ---- opaque functions ----------------------------------------------------------------------------


def test_functions_given_to_an_opaque_function_are_forgotten(collect: Callable[[], int]) -> None:
    apply: Any = fd.primitive(lambda f, x: f(x), result=lambda f, x: x, nondiff_argnums=0)
    apply.defjvp(lambda f, primals, tangents: (apply(f, *primals), f(*tangents)))
    before, alive = len(entered), []

    def scaled(k: float) -> Any:
        def f(x: Any) -> Any:
            return k * x

        alive.append(weakref.ref(f))
        return fd.grad(lambda x: apply(f, x))(1.0)

    assert [scaled(float(k)) for k in range(200)] == list(range(200))
    assert apply(np.sin, 0.5) == fd.vmap(lambda x: apply(np.sin, x))(np.array([0.5]))
    fd.clear_caches()
    collect()
    assert sum(ref() is not None for ref in alive) < 100
    assert len(entered) < before + 100


def test_a_program_keeps_the_opaque_function_that_it_calls(collect: Callable[[], int]) -> None:
    apply: Any = fd.primitive(lambda f, x: f(x), nondiff_argnums=0)
    program = fd.trace(lambda x: apply(lambda y: 3 * y, x))(1.0)
    for _ in range(100):
        fd.trace(lambda x: apply(lambda y: 5 * y, x))(1.0)
    text = str(program)
    copied = fd.parse(text)
    fd.clear_caches()
    collect()
    assert fd.evaluate(program, [2.0]) == fd.evaluate(copied, [2.0]) == [6.0]
    del program, copied  # a program that has run keeps it, too
    fd.clear_caches()
    collect()
    copied = fd.parse(text)
    with pytest.raises(ProgramError, match="which is not known in this process, or not any more"):
        fd.evaluate(copied, [2.0])


@cache
def polygamma(n: int) -> Any:
    f: Any = fd.primitive(lambda x: special.polygamma(n, x), result=lambda x: x)
    f.defjvp(lambda p, t: (f(*p), polygamma(n + 1)(*p) * t[0]))
    return f


def test_a_rule_may_mention_the_next_function_of_an_endless_family() -> None:
    def total(x: Any) -> Any:
        return polygamma(0)(x).sum()

    expected = [special.polygamma(n, X) for n in range(4)]
    np.testing.assert_allclose(fd.grad(total)(X), expected[1])
    np.testing.assert_allclose(fd.hessian(total)(X), np.diag(expected[2]))
    third = fd.grad(lambda x: fd.grad(lambda x: fd.grad(total)(x).sum())(x).sum())(X)
    np.testing.assert_allclose(third, expected[3])
    np.testing.assert_allclose(fd.vmap(polygamma(0))(X), expected[0])
    np.testing.assert_allclose(fd.vmap(fd.grad(polygamma(0)))(X), expected[1])


def solver() -> Any:
    @fd.primitive
    def solve(a: Any, b: Any) -> Any:
        assert type(a) is np.ndarray
        return np.linalg.solve(a, b)

    def forward(a: Any, b: Any) -> Any:
        y = solve(a, b)
        return y, (a, y)

    def backward(residuals: Any, ct: Any) -> Any:
        a, y = residuals
        g = solve(a.T, ct)
        return -np.outer(g, y), g

    solve.defvjp(forward, backward)
    return solve


@pytest.mark.slow
def test_an_opaque_solver_that_its_own_rule_calls_has_every_mode() -> None:
    solve = solver()
    fd.testing.check_grads(lambda a, b: solve(a, b) * B, (A, B), order=2)
    expected = fd.vjp(np.linalg.solve, A, B)[1](X)
    for found, ct in zip(fd.vjp(solve, A, B)[1](X), expected, strict=True):
        np.testing.assert_allclose(found, ct, atol=1e-15)


def test_an_opaque_function_is_batched_by_a_loop_or_by_its_rule() -> None:
    seen = []

    def cube(x: Any) -> Any:
        seen.append(np.shape(x))
        return x**3

    looped: Any = fd.primitive(cube, result=lambda x: x)
    batched: Any = fd.primitive(cube, result=lambda x: x, batch=lambda size, x: cube(x))
    xs = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(fd.vmap(looped)(xs), xs**3)
    assert seen == [(2,)] * 3
    seen.clear()
    np.testing.assert_array_equal(fd.vmap(batched)(xs), xs**3)
    assert seen == [(3, 2)]
    nested = fd.vmap(fd.vmap(looped, in_axes=0), in_axes=1)(xs)
    np.testing.assert_array_equal(nested, xs.T**3)


def test_an_opaque_function_without_values_asks_for_its_result() -> None:
    f: Any = fd.primitive(lambda x: x**2)
    with pytest.raises(ConcreteValueError, match="result="):
        fd.vmap(f)(X)


def test_an_opaque_function_without_a_rule_has_no_derivative() -> None:
    f: Any = fd.primitive(lambda x: x**2)
    assert fd.grad(lambda x: f(fd.stop_gradient(x)) * x)(3.0) == 9.0
    with pytest.raises(NotDifferentiableError, match="defvjp"):
        fd.grad(f)(2.0)


def test_an_opaque_function_that_changes_its_result_raises_where_there_are_no_values() -> None:
    f: Any = fd.primitive(lambda x: np.zeros(int(x)), result=lambda x: np.empty(2))
    total = fd.jit(lambda x: np.sum(f(x)))
    assert total(2.0) == 0.0
    with pytest.raises(OutputError, match="same shapes and dtypes"):
        total(3.0)


def test_an_opaque_function_may_return_arrays_in_another_byte_order() -> None:
    def swapped(x: Any) -> Any:
        return np.asarray(2.0 * x).astype(">f8")

    f = fd.primitive(swapped, result=swapped)
    f.defjvp(lambda primals, tangents: (f(*primals), 2.0 * tangents[0]))
    shown = fd.primitive(swapped)
    shown.defvjp(lambda x: (shown(x), None), lambda _, ct: (2.0 * ct,))
    for called in (f, shown):
        grad = fd.grad(lambda x, called=called: np.sum(called(x) ** 2))
        np.testing.assert_array_equal(grad(X), 8.0 * X)
        np.testing.assert_array_equal(fd.jacobian(grad)(X), 8.0 * np.eye(len(X)))
    np.testing.assert_array_equal(fd.jit(lambda x: f(x) + 1.0)(X), 2.0 * X + 1.0)
    np.testing.assert_array_equal(fd.vmap(f)(X), 2.0 * X)


def test_a_pullback_through_a_backward_rule_pickles() -> None:
    f = fd.custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (x**2, x), lambda x, ct: (2 * x * ct,))
    _, pullback = fd.vjp(lambda x: f(x) * np.sin(x), X)
    again = pickle.loads(pickle.dumps(pullback))
    np.testing.assert_allclose(again(X)[0], pullback(X)[0], rtol=1e-14)
