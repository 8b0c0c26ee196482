"""Nothing that a transform returns shares memory, or a handle, with anything else."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import pytree
from tests.together import together

X = np.array([1.0, 2.0, 3.0])
MATRIX = np.arange(12.0).reshape(3, 4)


def pulled_after_the_value_was_changed(x: Any) -> Any:
    y, f_vjp = fd.vjp(np.exp, x * 1)
    y *= 0
    return f_vjp(x)[0]


def pushed_after_the_value_was_changed(x: Any) -> Any:
    y, f_jvp = fd.linearize(np.exp, x * 1)
    y -= 1
    return f_jvp(x)


def pulled_after_the_argument_was_changed(x: Any) -> Any:
    y = x * 1
    f_vjp = fd.vjp(lambda q: q * q, y)[1]
    f_jvp = fd.linearize(lambda q: q**3, y)[1]
    y *= 100
    return f_vjp(x)[0] + f_jvp(x)


def a_batched_identity(x: Any) -> Any:
    y = x * 1
    r = fd.vmap(lambda a: a)(y)
    r *= 10
    return y


def a_pullback_of_an_identity(x: Any) -> Any:
    y = x * 1
    value, f_vjp = fd.vjp(lambda a: a, y)
    value *= 10
    (ct,) = f_vjp(y)
    ct *= 10
    return y


def one_value_returned_twice(x: Any) -> Any:
    def twice(q: Any) -> Any:
        z = q * 2
        return z, z

    a, b = fd.vmap(twice)(x)
    a *= 10
    return b


def a_stopped_value(x: Any) -> Any:
    y = x * 1
    r = fd.stop_gradient(y)
    r *= 10
    return y


def a_branch_that_returns_its_operand(x: Any) -> Any:
    y = x * 1
    r = fd.cond(True, lambda a: a, lambda a: a, y)
    r *= 10
    return y


def a_chosen_array_is_changed_through_a_view(x: Any) -> Any:
    y = np.select([x.T > -1], [x.T])
    r = y.reshape(-1)
    r *= 2
    return y * x.T


@pytest.mark.parametrize("f", [
    pulled_after_the_value_was_changed,
    pushed_after_the_value_was_changed,
    pulled_after_the_argument_was_changed,
    a_batched_identity,
    a_pullback_of_an_identity,
    one_value_returned_twice,
    a_stopped_value,
    a_branch_that_returns_its_operand,
    a_chosen_array_is_changed_through_a_view,
])  # fmt: skip
def test_a_result_changed_in_place_changes_nothing_else(f: Callable[[Any], Any]) -> None:
    plain = f(X.copy())
    np.testing.assert_allclose(fd.vjp(f, X)[0], plain, rtol=1e-15)
    np.testing.assert_allclose(fd.jvp(f, (X,), (X,))[0], plain, rtol=1e-15)


def test_a_concrete_branch_and_a_stopped_value_leave_the_argument_alone() -> None:
    x = X.copy()
    for result in (fd.cond(True, lambda a: a, lambda a: a, x), fd.stop_gradient(x)):
        result *= 3
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("make", [
    lambda x: np.delete(x.T, 0, 0),
    lambda x: np.einsum("ij,jk->ki", x, x.T),
])  # fmt: skip
def test_a_layout_that_numpy_chooses_otherwise_is_that_of_numpy(
    make: Callable[[Any], Any],
) -> None:
    def f(x: Any) -> Any:
        y = make(x)
        r = y.reshape(-1)
        r *= 2
        return y.sum()

    for x in (MATRIX, np.asfortranarray(MATRIX)):
        assert fd.vjp(f, x)[0] == f(x)
        np.testing.assert_allclose(fd.jit(f)(x), f(x), rtol=1e-15)


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_numpy_selects_lies_in_memory_as_its_own_code_lays_it(order: Any) -> None:
    def f(x: Any) -> Any:
        y = np.select([x.T > -1], [x.T])
        r = y.reshape(-1)
        r *= 2
        return y

    x = np.array(MATRIX, order=order)
    plain = f(x.copy(order="K"))
    for found in (fd.vjp(f, x)[0], fd.jit(f)(x), fd.vmap(f)(np.stack([x, x]))[1]):
        np.testing.assert_array_equal(found, plain)


def test_an_array_is_changed_in_place_under_vmap_of_grad() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y[0] *= x[1]
        return y.sum()

    batch = np.arange(24.0).reshape(2, 3, 4)
    expected = np.stack([fd.grad(f)(x) for x in batch])
    np.testing.assert_array_equal(fd.vmap(fd.grad(f))(batch), expected)


def test_complex_numbers_keep_the_sign_of_a_zero_part() -> None:
    z, mask = np.array([1 + 1j, 2 - 1j]), np.array([True, False])
    for number in (complex(-1, 0.0), complex(-1, -0.0), complex(-20.5, -0.0), complex(-0.0, 1)):

        def f(z: Any, number: complex = number) -> Any:
            return np.sqrt(np.where(mask, number, z))

        np.testing.assert_array_equal(fd.vjp(f, z)[0], f(z))


def test_float_power_computes_in_double_precision() -> None:
    x = np.linspace(0.5, 1, 4).astype(np.float32)
    functions: list[Callable[[Any], Any]] = [
        lambda x: np.float_power(x, 0.1),
        lambda x: np.float_power(1e300, x),
    ]
    for f in functions:
        np.testing.assert_array_equal(fd.vjp(f, x)[0], f(x))


# ---- nothing that is returned shares memory ------------------------------------------------------


CAPTURED: Final = np.array([1.0, 2.0, 3.0])

FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "its argument": lambda x: x,
    "its argument twice": lambda x: (x, x),
    "views": lambda x: [x, x[:2], x[::-1], x.T],
    "a captured array": lambda x: {"captured": CAPTURED, "a part": CAPTURED[:2], "x": x},
}


def pulled(f: Any, x: Any) -> Any:
    y, f_vjp = fd.vjp(f, x)
    return y, f_vjp(y), f_vjp(y)


def pushed(f: Any, x: Any) -> Any:
    y, f_jvp = fd.linearize(f, x)
    return y, f_jvp(x), f_jvp(x)


def evaluated(f: Any, x: Any) -> Any:
    """Let the program take the very arrays that `f` closes over."""
    program = fd.trace(f)(x)
    given = [x, CAPTURED, CAPTURED[:2]]
    return fd.evaluate(program, given[: len(program.inputs)])


def thrice(g: Callable[[Any], Any], x: Any) -> Any:
    return g(x), g(x), g(x)


RUNS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "evaluate": evaluated,
    "jit": lambda f, x: thrice(fd.jit(f), x),
    "jit of vmap": lambda f, x: thrice(fd.jit(fd.vmap(f)), x[None]),
    "vmap": lambda f, x: fd.vmap(f)(x[None]),
    "map": lambda f, x: fd.map(f, x[None]),
    "jvp": lambda f, x: fd.jvp(f, (x,), (x,)),
    "vjp": pulled,
    "linearize": pushed,
    "jacfwd": lambda f, x: fd.jacfwd(f)(x),
    "jacrev": lambda f, x: fd.jacrev(f)(x),
    "value_and_jacobian": lambda f, x: fd.value_and_jacobian(f)(x),
    "cond": lambda f, x: fd.cond(True, f, f, x),
    "switch": lambda f, x: fd.switch(1, [f, f], x),
    "scan": lambda f, x: fd.scan(lambda c, t: (c, (f(c), f(t))), x, x[None]),
    "a scan of nothing": lambda f, x: fd.scan(lambda c, t: (c, f(t)), x, x[None][:0]),
    "tap_values": lambda f, x: fd.tap_values(lambda x: f(fd.tap("x", fd.tap("y", x))))(x),
}


def require_memory_of_its_own(result: Any, *others: Any) -> None:
    arrays = [y for y in pytree.flatten(result)[0] if isinstance(y, np.ndarray)]
    for y in arrays:
        assert y.flags.writeable
        assert not any(np.shares_memory(y, x) for x in (*others, CAPTURED))
    for a, b in itertools.combinations(arrays, 2):
        assert not np.shares_memory(a, b)


@together
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_results_are_memory_of_their_own(
    run: Callable[[Any, Any], Any], f: Callable[[Any], Any]
) -> None:
    x = np.array([1.0, 2.0, 3.0])
    for _ in range(8):  # the last ones are compiled
        require_memory_of_its_own(run(f, x), x)


def half(x: Any) -> Any:
    return np.sum(x * x) / 2


def same(x: Any) -> Any:
    return x


def transposed(x: Any) -> Any:
    return thrice(fd.linear_transpose(same, x), x)


def raveled(x: Any) -> Any:
    flat, unravel = fd.ravel_pytree((x, x))
    return flat, unravel(flat)


OTHERS: Final[dict[str, Callable[[Any], Any]]] = {
    "grad": lambda x: (fd.grad(half)(x), fd.grad(half)(x)),
    "grad of a tree": lambda x: fd.grad(lambda p: np.sum(p[0] * p[1]))((x, x)),
    "jitted grad": lambda x: fd.jit(fd.grad(lambda p: np.sum(p[0] * p[1])))((x, x)),
    "grad, a captured array": lambda x: fd.grad(lambda x: np.sum(x * CAPTURED))(x),
    "aux": lambda x: fd.grad(lambda x: (half(x), (x, x[:2])), has_aux=True)(x),
    "elementwise_grad": lambda x: fd.elementwise_grad(lambda x: x * x / 2)(x),
    "hvp": lambda x: fd.hvp(half, (x,), (x,)),
    "vhp": lambda x: fd.vhp(half, (x,), (x,)),
    "value_grad_and_hessian": lambda x: fd.value_grad_and_hessian(half)(x),
    "directional_derivative": lambda x: fd.directional_derivative(lambda x: x, (x,), (x,)),
    "linear_transpose": transposed,
    "stop_gradient": lambda x: fd.stop_gradient((x, x)),
    "ravel_pytree": raveled,
    "tap_grads": lambda x: fd.tap_grads(lambda x: np.sum(fd.tap("a", x) * fd.tap("b", x)))(x),
    "while_loop": lambda x: fd.while_loop(lambda c: False, lambda c: c, (x, x)),
    "fori_loop of nothing": lambda x: fd.fori_loop(0, 0, lambda i, c: c, (x, x)),
    "fori_loop": lambda x: fd.fori_loop(0, 2, lambda i, c: c, (x, x)),
    "fixed_point": lambda x: fd.fixed_point(lambda x: x, x),
    "custom_root": lambda x: fd.custom_root(lambda y: y * 0, x, lambda f, y: y, lambda g, y: y),
    "custom_linear_solve": lambda x: fd.custom_linear_solve(lambda y: y, x, lambda mv, b: b),
    "associative_scan of nothing": lambda x: fd.associative_scan(np.add, x[None][:0]),
}


@pytest.mark.parametrize("run", OTHERS.values(), ids=OTHERS)
def test_so_are_results_of_other_functions(run: Callable[[Any], Any]) -> None:
    x = np.array([1.0, 2.0, 3.0])
    for _ in range(8):
        require_memory_of_its_own(run(x), x)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("fn", [lambda a, b: a, lambda a, b: b, lambda a, b: [a[0] + b[0], b[1]]])
def test_so_are_partial_results(n: int, reverse: bool, fn: Any) -> None:
    x = np.ones((n, 3))
    for axis in (0, 1):
        require_memory_of_its_own(fd.associative_scan(fn, [x, x], reverse=reverse, axis=axis), x)


def test_a_traced_partial_result_of_one_row_may_be_changed() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        r = fd.associative_scan(np.add, y)
        r *= 10
        return np.sum(y)

    np.testing.assert_array_equal(fd.grad(f)(np.ones((1, 3))), np.ones((1, 3)))
