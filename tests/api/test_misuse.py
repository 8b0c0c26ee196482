"""What is no function, no name or no condition is refused where it is given, with the cure."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import (
    InputError,
    NotDifferentiableError,
    OutputError,
    UnsupportedNumPyError,
)
from tests.together import together

X = np.array([1.0, 2.0, 3.0])
HUGE = 10**30


def _total(x: Any) -> Any:
    return np.sum(x**2)


# ---- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["vmap", "jit", "checkpoint", "custom_jvp", "custom_vjp", "primitive", "trace", "source",
     "cost", "tap_values", "tap_grads", "grad", "value_and_grad", "elementwise_grad", "jacobian",
     "jacfwd", "jacrev", "value_and_jacobian", "hessian", "value_grad_and_hessian", "derivative",
     "depends_on", "is_linear"],
)  # fmt: skip
def test_the_result_of_a_function_is_not_taken_for_the_function(name: str) -> None:
    transform: Any = getattr(fd, name)
    with pytest.raises(InputError, match=rf"fd\.{name} takes a function, but a float64 was given"):
        transform(_total(X))


def _first(_: Any, x: Any) -> Any:
    return x


def _same(x: Any) -> Any:
    return x


THREE: Any = 3.0
BODIES: dict[str, tuple[str, Callable[[], Any]]] = {
    "vjp": ("f", lambda: fd.vjp(THREE, X)),
    "jvp": ("f", lambda: fd.jvp(THREE, (X,), (X,))),
    "linearize": ("f", lambda: fd.linearize(THREE, X)),
    "linear_transpose": ("f", lambda: fd.linear_transpose(THREE, X)),
    "directional_derivative": ("f", lambda: fd.directional_derivative(THREE, (X,), (X,))),
    "hvp": ("f", lambda: fd.hvp(THREE, (X,), (X,))),
    "vhp": ("f", lambda: fd.vhp(THREE, (X,), (X,))),
    "scan": ("f", lambda: fd.scan(THREE, 0.0, X)),
    "map": ("f", lambda: fd.map(THREE, X)),
    "while_loop": ("cond_fun", lambda: fd.while_loop(THREE, np.sin, 0.0)),
    "while_loop of no body": ("body_fun", lambda: fd.while_loop(np.isfinite, THREE, 0.0)),
    "fori_loop": ("body_fun", lambda: fd.fori_loop(0, 3, THREE, 0.0)),
    "associative_scan": ("fn", lambda: fd.associative_scan(THREE, X)),
    "cond": ("false_fn", lambda: fd.cond(True, np.sin, THREE, X)),
    "switch": (r"branches\[1\]", lambda: fd.switch(0, [np.sin, THREE], X)),
    "custom_root": ("f", lambda: fd.custom_root(THREE, 1.0, _first)),
    "custom_root without solver": ("solve", lambda: fd.custom_root(np.sin, 1.0, THREE)),
    "custom_root of tangents": (
        "tangent_solve",
        lambda: fd.custom_root(np.sin, 1.0, _first, THREE),
    ),
    "fixed_point": ("f", lambda: fd.fixed_point(THREE, 1.0)),
    "fixed_point by a solver": ("solve", lambda: fd.fixed_point(np.sin, 1.0, solve=THREE)),
    "fixed_point of tangents": (
        "linear_solve",
        lambda: fd.fixed_point(np.sin, 1.0, linear_solve=THREE),
    ),
    "custom_linear_solve": ("matvec", lambda: fd.custom_linear_solve(THREE, X)),
    "custom_linear_solve by a solver": (
        "solve",
        lambda: fd.custom_linear_solve(_same, X, THREE),
    ),
    "custom_linear_solve of the transpose": (
        "transpose_solve",
        lambda: fd.custom_linear_solve(_same, X, _first, THREE),
    ),
    "primitive": ("result", lambda: fd.primitive(_total, result=THREE)),
    "primitive of batches": ("batch", lambda: fd.primitive(_total, batch=THREE)),
    "gauss_newton_product": (
        "loss",
        lambda: fd.gauss_newton_product(_total, (X,), (X,), loss=THREE),
    ),
}


@together
@pytest.mark.parametrize("name", BODIES)
def test_a_function_among_other_arguments_is_told_by_its_name(name: str) -> None:
    parameter, call = BODIES[name]
    told = rf"fd\.{name.split()[0]} takes a function as {parameter}, but a float was given, at "
    with pytest.raises(InputError, match=told + "'.*misuse"):
        call()


SCALAR: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: fd.grad(f)(X),
    "value_and_grad": lambda f: fd.value_and_grad(f)(X),
    "hessian": lambda f: fd.hessian(f)(X),
    "value_grad_and_hessian": lambda f: fd.value_grad_and_hessian(f)(X),
    "hvp": lambda f: fd.hvp(f, (X,), (X,)),
    "vhp": lambda f: fd.vhp(f, (X,), (X,)),
    "gauss_newton_product": lambda f: fd.gauss_newton_product(lambda x: x, (X,), (X,), loss=f),
}


@pytest.mark.parametrize("name", SCALAR)
def test_the_transform_that_was_called_needs_a_scalar(name: str) -> None:
    with pytest.raises(OutputError, match=rf"^{name} needs a function that returns a real scalar"):
        SCALAR[name](lambda x: 2 * x)


HOLOMORPHIC = ["grad", "value_and_grad", "hessian", "value_grad_and_hessian", "jacobian", "jacfwd",
               "jacrev", "value_and_jacobian", "elementwise_grad"]  # fmt: skip


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_the_transform_that_was_called_needs_complex_arguments(name: str) -> None:
    with pytest.raises(InputError, match=rf"^{name} with holomorphic=True differentiates"):
        getattr(fd, name)(lambda x: 1j * _total(x), holomorphic=True)(X)


def test_a_rule_is_a_function() -> None:
    f: Any = fd.custom_vjp(_total)
    with pytest.raises(InputError, match="a rule of _total is a function, but None was given"):
        f.defvjp(lambda x: (_total(x), x), None)
    with pytest.raises(InputError, match="has no rule"):  # the half that was right is not kept
        fd.grad(f)(X)
    with pytest.raises(InputError, match="a rule of _total is a function, but an int was given"):
        f.defjvp(3)


# ---- numbers and names of arguments --------------------------------------------------------------


@pytest.mark.parametrize("given", ["x", -1, (0, -2), 1.5, ("x",), None])
def test_positions_of_arguments_are_counted_from_zero(given: Any) -> None:
    with pytest.raises(InputError, match="are no positions of arguments"):
        fd.custom_jvp(_total, nondiff_argnums=given)


def test_integers_of_numpy_number_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y**2)

    for t in (fd.grad, fd.jacobian, fd.elementwise_grad):
        transform: Any = t
        np.testing.assert_array_equal(transform(f, np.int64(1))(X, X), 2 * X * X)
        (only,) = transform(f, (np.int8(0),))(X, X)
        np.testing.assert_array_equal(only, X**2)


def test_integers_of_numpy_count_and_number() -> None:
    one: Any = np.int32(1)  # the annotations ask for an int
    two: Any = np.int8(2)
    first: Any = np.int64(0)
    np.testing.assert_array_equal(fd.jacobian(np.cumsum, chunk_size=two)(X), np.tri(3))
    np.testing.assert_array_equal(fd.map(lambda x: x**2, X, batch_size=two), X**2)
    assert fd.scan(lambda c, x: (c * x, None), 2.0, X, checkpoint=two)[0] == 12.0
    assert fd.derivative(lambda x: x**3, n=two)(5.0) == 30.0
    assert fd.jit(lambda x, n: sum([x] * n), static_argnums=one)(2.0, 3) == 6.0
    scaled: Any = fd.custom_jvp(lambda n, x: n * x, nondiff_argnums=first)
    scaled.defjvp(lambda n, primals, tangents: (n * primals[0], n * tangents[0]))
    assert fd.grad(lambda x: scaled(3, x))(2.0) == 3.0


@pytest.mark.parametrize(
    "options",
    [{"static_argnums": "x"}, {"static_argnums": 1.5}, {"static_argnums": (0, "x")},
     {"static_argnames": 0}, {"static_argnames": (0,)}],
)  # fmt: skip
def test_static_parameters_are_numbered_or_named(options: Any) -> None:
    with pytest.raises(InputError, match=r"must be an int or ints, and .* a str or strs"):
        fd.jit(_total, **options)


@pytest.mark.parametrize("names", [3, (1,), lambda p: True])
def test_names_of_values_are_strings(names: Any) -> None:
    with pytest.raises(InputError, match="must hold names"):
        fd.checkpoint(_total, keep=names)
    with pytest.raises(InputError, match="must hold names"):
        fd.tap_values(_total, names=names)


# ---- conditions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["yes", None, _total, [True]])
def test_a_condition_is_a_number(condition: Any) -> None:
    with pytest.raises(InputError, match="cond needs a boolean as its condition"):
        fd.cond(condition, lambda x: x, lambda x: -x, X)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(
    ("result", "shown"), [(None, "None"), ("yes", "a str"), ({}, "a dict"), (2, r"i64\[\]")]
)
def test_the_condition_of_a_loop_is_a_boolean(result: Any, shown: str, *, jitted: bool) -> None:
    def f(x: Any) -> Any:
        return fd.while_loop(lambda _: result, lambda x: x + 1, x)

    with pytest.raises(OutputError, match=f"must be one boolean, but .* returned {shown}"):
        (fd.jit(f) if jitted else f)(1.0)


# ---- integers ------------------------------------------------------------------------------------


def test_integers_beside_the_result_come_back_as_they_are() -> None:
    aux = {"steps": 7, "huge": HUGE, "list": [1, 2], "array": np.arange(2)}

    def f(x: Any) -> Any:
        return _total(x), aux

    for transform in (fd.grad, fd.value_and_grad, fd.hessian, fd.jacobian):
        result: Any = transform(f, has_aux=True)(X)
        found = result[0][1] if transform is fd.value_and_grad else result[1]
        assert [type(found["steps"]), type(found["list"][1])] == [int, int]
        assert (found["steps"], found["huge"], found["list"]) == (7, HUGE, [1, 2])
        assert found["array"] is aux["array"]


def test_a_loop_stacks_the_integers_that_its_body_returns() -> None:
    _, ys = fd.scan(lambda c, x: (c + x, {"k": 3}), 0.0, X)
    np.testing.assert_array_equal(ys["k"], [3, 3, 3])


@pytest.mark.parametrize(
    "call",
    [
        lambda: fd.jit(lambda x: HUGE)(X),
        lambda: fd.vmap(lambda x: HUGE)(X),
        lambda: fd.scan(lambda c, x: (c, HUGE), 0.0, X),
    ],
)
def test_an_integer_of_more_than_64_bits_is_no_array(call: Callable[[], Any]) -> None:
    with pytest.raises(UnsupportedNumPyError, match="met a traced array"):
        call()


def test_an_argument_of_more_than_64_bits_is_refused() -> None:
    with pytest.raises(InputError, match="has more than 64 bits"):
        fd.jit(lambda n: n * 1.0)(HUGE)


# ---- messages ------------------------------------------------------------------------------------


def test_an_opaque_function_is_called_by_its_own_name() -> None:
    def solve(x: Any) -> Any:
        return np.sort(x)

    for _ in range(2):  # the second is entered under another name
        with pytest.raises(NotDifferentiableError, match=r"^solve is opaque .* solve\.defvjp\("):
            fd.jacobian(fd.primitive(solve))(X)


def test_keys_that_do_not_fit_are_listed() -> None:
    with pytest.raises(InputError, match=r"in_axes\[0\] has the keys 'a', but args\[0\] has 'a', "):
        fd.vmap(lambda p: p["a"], in_axes=({"a": 0},))({"a": X, "b": X})
