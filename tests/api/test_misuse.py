"""What is no function, no name or no condition is refused where it is given, with the cure."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.calls import inputs
from funcdiff.errors import InputError, NotDifferentiableError, OutputError, UnsupportedNumPyError
from tests.claims import refused

FD: Any = fd  # a type checker refuses much of what is tried here
X = np.array([1.0, 2.0, 3.0])
HUGE = 10**30


def _total(x: Any) -> Any:
    return np.sum(x**2)


def _first(_: Any, x: Any) -> Any:
    return x


# ---- functions -----------------------------------------------------------------------------------

OF_ONE_FUNCTION = [
    "vmap", "jit", "checkpoint", "custom_jvp", "custom_vjp", "primitive", "trace", "source",
    "cost", "tap_values", "tap_grads", "grad", "value_and_grad", "elementwise_grad", "jacobian",
    "jacfwd", "jacrev", "value_and_jacobian", "hessian", "value_grad_and_hessian", "derivative",
    "depends_on", "is_linear",
]  # fmt: skip

test_the_result_of_a_function_is_not_taken_for_the_function = refused(
    {
        name: (
            InputError,
            rf"fd\.{name} takes a function, but a float64 was given.*misuse.*fd\.{name}\(f\)\(x\)",
            lambda name=name: getattr(fd, name)(_total(X)),
        )
        for name in OF_ONE_FUNCTION
    }
)

AMONG_OTHERS: list[tuple[str, str, Any]] = [
    ("vjp", "f", lambda: FD.vjp(3.0, X)),
    ("jvp", "f", lambda: FD.jvp(3.0, (X,), (X,))),
    ("linearize", "f", lambda: FD.linearize(3.0, X)),
    ("linear_transpose", "f", lambda: FD.linear_transpose(3.0, X)),
    ("directional_derivative", "f", lambda: FD.directional_derivative(3.0, (X,), (X,))),
    ("hvp", "f", lambda: FD.hvp(3.0, (X,), (X,))),
    ("vhp", "f", lambda: FD.vhp(3.0, (X,), (X,))),
    ("gauss_newton_product", "loss",
     lambda: FD.gauss_newton_product(_total, (X,), (X,), loss=3.0)),
    ("scan", "f", lambda: FD.scan(3.0, 0.0, X)),
    ("map", "f", lambda: FD.map(3.0, X)),
    ("while_loop", "cond_fun", lambda: FD.while_loop(3.0, np.sin, 0.0)),
    ("while_loop", "body_fun", lambda: FD.while_loop(np.isfinite, 3.0, 0.0)),
    ("fori_loop", "body_fun", lambda: FD.fori_loop(0, 3, 3.0, 0.0)),
    ("associative_scan", "fn", lambda: FD.associative_scan(3.0, X)),
    ("cond", "false_fn", lambda: FD.cond(True, np.sin, 3.0, X)),
    ("switch", r"branches\[1\]", lambda: FD.switch(0, [np.sin, 3.0], X)),
    ("custom_root", "f", lambda: FD.custom_root(3.0, 1.0, _first)),
    ("custom_root", "solve", lambda: FD.custom_root(np.sin, 1.0, 3.0)),
    ("custom_root", "tangent_solve", lambda: FD.custom_root(np.sin, 1.0, _first, 3.0)),
    ("fixed_point", "f", lambda: FD.fixed_point(3.0, 1.0)),
    ("fixed_point", "solve", lambda: FD.fixed_point(np.sin, 1.0, solve=3.0)),
    ("fixed_point", "linear_solve", lambda: FD.fixed_point(np.sin, 1.0, linear_solve=3.0)),
    ("custom_linear_solve", "matvec", lambda: FD.custom_linear_solve(3.0, X)),
    ("custom_linear_solve", "solve", lambda: FD.custom_linear_solve(np.negative, X, 3.0)),
    ("custom_linear_solve", "transpose_solve",
     lambda: FD.custom_linear_solve(np.negative, X, _first, 3.0)),
    ("primitive", "result", lambda: FD.primitive(_total, result=3.0)),
    ("primitive", "batch", lambda: FD.primitive(_total, batch=3.0)),
]  # fmt: skip

test_a_function_among_other_arguments_is_told_by_its_name = refused(
    {
        f"{name}, {parameter}": (
            InputError,
            rf"fd\.{name} takes a function as {parameter}, but a float was given, at '.*misuse",
            call,
        )
        for name, parameter, call in AMONG_OTHERS
    }
)


def _doubled(x: Any) -> Any:
    return 2 * x


def _complex(x: Any) -> Any:
    return 1j * _total(x)


test_the_transform_that_was_called_is_named = refused({
    "where it needs a scalar": [
        (OutputError, rf"^(loss= of )?{name} needs a function that returns a real scalar", call)
        for name, call in {
            "grad": lambda: fd.grad(_doubled)(X),
            "value_and_grad": lambda: fd.value_and_grad(_doubled)(X),
            "hessian": lambda: fd.hessian(_doubled)(X),
            "value_grad_and_hessian": lambda: fd.value_grad_and_hessian(_doubled)(X),
            "hvp": lambda: fd.hvp(_doubled, (X,), (X,)),
            "vhp": lambda: fd.vhp(_doubled, (X,), (X,)),
            "gauss_newton_product": lambda: fd.gauss_newton_product(
                lambda x: x, (X,), (X,), loss=_doubled
            ),
        }.items()
    ],
    "where it needs complex arguments": [
        (InputError, rf"^{name} with holomorphic=True differentiates",
         lambda name=name: getattr(fd, name)(_complex, holomorphic=True)(X))
        for name in ("grad", "value_and_grad", "hessian", "value_grad_and_hessian", "jacobian",
                     "jacfwd", "jacrev", "value_and_jacobian")
    ] + [
        (InputError, "^elementwise_grad with holomorphic=True differentiates",
         lambda: fd.elementwise_grad(lambda x: x * 1j, holomorphic=True)(X)),
    ],
})  # fmt: skip


def test_a_rule_is_a_function() -> None:
    f: Any = fd.custom_vjp(_total)
    with pytest.raises(InputError, match="a rule of _total is a function, but None was given"):
        f.defvjp(lambda x: (_total(x), x), None)
    with pytest.raises(InputError, match="has no rule"):  # the half that was right is not kept
        fd.grad(f)(X)
    with pytest.raises(InputError, match="a rule of _total is a function, but an int was given"):
        f.defjvp(3)


# ---- numbers and names of arguments --------------------------------------------------------------


def test_integers_of_numpy_number_arguments() -> None:
    def total(x: Any, y: Any) -> Any:
        return np.sum(x * y**2)

    def of_elements(x: Any, y: Any) -> Any:
        return x * y**2

    for t, f in ((fd.grad, total), (fd.jacobian, total), (fd.elementwise_grad, of_elements)):
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


test_what_numbers_or_names_arguments_and_values_is_checked = refused({
    "positions are counted from zero": [
        (InputError, "are no positions of arguments",
         lambda given=given: FD.custom_jvp(_total, nondiff_argnums=given))
        for given in ("x", -1, (0, -2), 1.5, ("x",), None)
    ],
    "static parameters are numbered or named": [
        (InputError, "must be an int or ints, and .* a str or strs",
         lambda options=options: FD.jit(_total, **options))
        for options in ({"static_argnums": "x"}, {"static_argnums": 1.5},
                        {"static_argnums": (0, "x")}, {"static_argnames": 0},
                        {"static_argnames": (0,)})
    ],
    "names of values are strings": [
        (InputError, "must hold names", call)
        for names in (3, (1,), lambda _: True)
        for call in (lambda names=names: FD.checkpoint(_total, keep=names),
                     lambda names=names: FD.tap_values(_total, names=names))
    ],
    "keys that do not fit are listed": (
        InputError, r"in_axes\[0\] has the keys 'a', but args\[0\] has 'a', ",
        lambda: fd.vmap(lambda p: p["a"], in_axes=({"a": 0},))({"a": X, "b": X}),
    ),
})  # fmt: skip


GIVEN: list[Any] = ["yes", None, _total, [True]]
SHOWN: list[tuple[Any, str]] = [
    (None, "None"), ("yes", "a str"), ({}, "a dict"), (2, r"i64\[\]")
]  # fmt: skip


def _looping_while(given: Any) -> Any:
    return lambda x: FD.while_loop(lambda _: given, lambda x: x + 1, x)


test_a_condition_is_a_boolean = refused({
    "of cond, a number at least": [
        (InputError, "cond needs a boolean as its condition",
         lambda given=given: FD.cond(given, lambda x: x, lambda x: -x, X))
        for given in GIVEN
    ],
    "of a loop": [
        (OutputError, f"must be one boolean, but .* returned {shown}",
         lambda given=given, transform=transform: transform(_looping_while(given))(1.0))
        for given, shown in SHOWN
        for transform in (lambda f: f, fd.jit)
    ],
})  # fmt: skip


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


test_an_integer_of_more_than_64_bits_is_no_array = refused({
    "as a result": [
        (UnsupportedNumPyError, "met a traced array", lambda: fd.jit(lambda _: HUGE)(X)),
        (UnsupportedNumPyError, "met a traced array", lambda: fd.vmap(lambda _: HUGE)(X)),
        (UnsupportedNumPyError, "met a traced array",
         lambda: fd.scan(lambda c, _: (c, HUGE), 0.0, X)),
    ],
    "as an argument": [
        (InputError, "does not fit in int64", partial(fd.jit(lambda n: n * 1.0), number))
        for number in (HUGE, 2**63, -HUGE)
    ],
})  # fmt: skip


def test_integers_of_platforms_with_32_bits_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inputs._SCALARS, int, np.int32)
    assert fd.grad(lambda x, n: x**n)(3.0, 2) == 6.0
    assert fd.jit(lambda n: n * 1.5)(2) == 3.0


# ---- messages ------------------------------------------------------------------------------------


def test_an_opaque_function_is_called_by_its_own_name() -> None:
    def solve(x: Any) -> Any:
        return np.sort(x)

    for _ in range(2):  # the second is entered under another name
        with pytest.raises(NotDifferentiableError, match=r"^solve is opaque .* solve\.defvjp\("):
            fd.jacobian(fd.primitive(solve))(X)
