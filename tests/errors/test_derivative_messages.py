"""Mistakes with derivatives: every message has the argument's path and the cure."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff
from funcdiff import errors
from tests.together import together

fd: Any = funcdiff  # a type checker refuses much of what is tried here

X = np.array([1.0, 2.0, 3.0])


def _loss(params: Any, x: Any, *, scale: Any = 1.0) -> Any:
    return scale * np.sum(params["w"] * x)


P = {"w": X, "b": 1.0}
INTEGERS: Any = {"layers": [{"w": X}, {"w": np.arange(3)}]}


def _derived_by_integers(derive: Any) -> Any:
    return derive(_loss)(INTEGERS, X)


Mistake = tuple[type[Exception], Callable[[], Any], str, str]

SELECTIONS: list[Mistake] = [
    (errors.InputError, lambda: fd.grad(_loss, 2)(P, X), "argnums=2.*2 positional", "by keyword"),
    (errors.InputError, lambda: fd.grad(_loss, 2)(P, X, scale=2.0), "argnums=2", "argnames="),
    (errors.InputError, lambda: fd.grad(_loss, -1)(params=P, x=X), "argnums=-1", "argnames="),
    (errors.InputError, lambda: fd.grad(_loss)(), "argnums=0.*0 positional", "by position"),
    (errors.InputError, lambda: fd.vjp(_loss, P, X, argnums=5), "argnums=5.*out of range", "Give"),
    (errors.InputError, lambda: fd.hessian(_loss, (0, 0))(P, X), "twice", "each once"),
    (errors.InputError, lambda: fd.grad(_loss, 1.5), "argnums must be", r"\(f\)\(x\)"),
    (errors.InputError, lambda: fd.grad(_loss, "x"), "argnums must be", "argnames="),
    (errors.InputError, lambda: fd.grad(np.sum, X), "argnums must be", r"fd\.grad\(f\)\(x\)"),
    (errors.InputError, lambda: fd.hessian(np.sum(X)), "a float64 was given", "function itself"),
    (errors.InputError, lambda: fd.vjp(np.sum)(X), "without a point", r"fd\.vjp\(f, x\)"),
    (errors.InputError, lambda: fd.linearize(np.sum)(X), "without a point", r"\(f, x\)"),
    (errors.InputError, lambda: fd.linear_transpose(np.sum)(X), "without a point", r"\(f, x\)"),
    (errors.InputError, lambda: fd.jacobian(_loss, argnames=0), "argnames must be", "argnums="),
    (errors.InputError, lambda: fd.grad(_loss, argnames="parms"), "'parms'", "mean 'params'"),
    (errors.InputError, lambda: fd.grad(_loss, argnames="q"), "'q'", "It has params, x, scale"),
    (errors.InputError, lambda: fd.derivative(_loss, argnames="scale")(P, X), "scale was not", "="),
]  # fmt: skip

INTEGER_LEAVES: list[Mistake] = [
    (errors.InputError, partial(_derived_by_integers, derive),
     r"argument params\['layers'\]\[1\]\['w'\] is an array of dtype int64", r"\.astype\(float\)")
    for derive in (fd.grad, fd.value_and_grad, fd.jacobian, fd.jacfwd, fd.jacrev, fd.hessian,
                   fd.value_and_jacobian, fd.value_grad_and_hessian, fd.elementwise_grad,
                   fd.derivative)
] + [
    (errors.InputError, lambda: fd.vjp(_loss, P, {"n": 3}),
     r"argument x\['n'\] is the integer 3", "static"),
    (errors.InputError, lambda: fd.jvp(_loss, (P, 3), (P, 3)), "argument x is the integer", "3.0"),
    (errors.InputError, lambda: fd.linearize(_loss, 3, X), "argument params is the int", "3.0"),
    (errors.InputError, lambda: fd.hvp(_loss, (INTEGERS, X), (P, X), argnums=0), "int64", "astype"),
    (errors.InputError, lambda: fd.grad(_loss, argnames="scale")(P, X, scale=2),
     "argument scale is the integer 2", "2.0"),
]  # fmt: skip

TREES: list[Mistake] = [
    (errors.CotangentError, lambda: fd.vjp(lambda x: {"y": x}, X)[1](X), "but the output", "alike"),
    (errors.CotangentError, lambda: fd.vjp(lambda x: {"y": x}, X)[1]({"y": X[:2]}),
     r"the cotangent\['y'\] has shape \(2,\)", "must be equal"),
    (errors.CotangentError, lambda: fd.jvp(_loss, (P, X), ({"w": X}, X)), "but the p", "alike"),
    (errors.CotangentError, lambda: fd.jvp(_loss, (P, X), ({"w": X, "b": X}, X)),
     r"tangents\[0\]\['b'\] has shape \(3,\)", "must be equal"),
    (errors.CotangentError, lambda: fd.hvp(np.sum, (X,), (X + 1j,)), "complex128", "real part"),
    (errors.InputError, lambda: fd.jvp(_loss, (P, X), (P,)), "2, but 1 tangents", "one tangent"),
    (errors.InputError, lambda: fd.vhp(np.sum, (X,), (X, X)), "1, but 2 cotangents", "Give one"),
    (errors.InputError, lambda: fd.hvp(np.sum, X, X), "tuples", r"fd\.hvp\(f, \(x,\), \(t,\)\)"),
    (errors.InputError, lambda: fd.directional_derivative(np.sum, X, X), "tuples", r"fd\.dir"),
    (errors.InputError, lambda: fd.cond(X > 0, np.sin, np.cos, X), "scalar condition", "np.where"),
    (errors.OutputError, lambda: fd.grad(np.sum, has_aux=True)(X), r"returned f64\[\]", "a tuple"),
    (errors.CotangentError, lambda: fd.linear_transpose(lambda x: 2 * x, X)(X[:2]),
     r"\(2,\)", "must be equal"),
]  # fmt: skip

OUTPUTS: list[Mistake] = [
    (errors.OutputError, lambda: fd.grad(np.sin)(X), r"f64\[3\]", r"y\.sum\(\)"),
    (errors.OutputError, lambda: fd.hessian(np.sin)(X), r"f64\[3\]", r"y\.sum\(\)"),
    (errors.OutputError, lambda: fd.value_grad_and_hessian(np.sin)(X), "scalar", r"y\.sum\(\)"),
    (errors.OutputError, lambda: fd.hvp(np.sin, (X,), (X,)), "scalar", r"y\.sum\(\)"),
    (errors.OutputError, lambda: fd.jacobian(lambda x: {"n": [x > 0]})(X),
     r"the result\['n'\]\[0\] of .* is bool", "has_aux=True"),
    (errors.OutputError, lambda: fd.derivative(lambda x: {"n": x > 0})(1.0),
     r"derivative needs .* the result\['n'\]", "has_aux=True"),
    (errors.OutputError, lambda: fd.grad(lambda x: x, has_aux=True)(1.0), "pair", "aux"),
]  # fmt: skip

HOLOMORPHY: list[Mistake] = [
    (errors.OutputError, lambda: fd.grad(lambda z: z * z)(1j), "complex|c128", "holomorphic=True"),
    (errors.OutputError, lambda: fd.grad(lambda x: x * x, holomorphic=True)(1.0),
     "complex scalar", "Leave out holomorphic"),
    (errors.OutputError, lambda: fd.elementwise_grad(np.sin, holomorphic=True)(X),
     "complex array", "Leave out holomorphic"),
    (errors.InputError, lambda: fd.jacobian(np.sin)(1j * X), "complex", "holomorphic=True"),
    (errors.InputError, lambda: fd.hessian(lambda z: abs(z))(1j), "complex", "holomorphic=True"),
    (errors.InputError, lambda: fd.derivative(np.sin)(1j), "complex", "holomorphic=True"),
]  # fmt: skip

ALL = [*SELECTIONS, *INTEGER_LEAVES, *TREES, *OUTPUTS, *HOLOMORPHY]


@together
@pytest.mark.parametrize(("error", "mistake", "what", "cure"), ALL, ids=range(len(ALL)))
def test_a_mistake_is_told_with_its_place_and_cure(
    error: type[Exception], mistake: Callable[[], Any], what: str, cure: str
) -> None:
    with pytest.raises(error) as caught:
        mistake()
    message = str(caught.value)
    assert type(caught.value) is error
    assert re.search(what, message), message
    assert re.search(cure, message), message
    assert "test_derivative_messages.py" in message
    assert "Tracer" not in message


def test_nothing_is_left_behind_by_a_mistake() -> None:
    for _, mistake, _, _ in ALL:
        with pytest.raises(errors.FuncdiffError):
            mistake()
        assert fd.grad(lambda x: x**2)(3.0) == 6


@pytest.mark.parametrize(("name", "cure"), [
    ("backward", r"f_vjp = fd\.vjp\(f, x\)"),
    ("requires_grad", r"fd\.grad\(f\)\(x\)"),
    ("detach", r"fd\.stop_gradient\(x\)"),
    ("at", r"x\[i\] = v"),
    ("tanh", r"np\.tanh\(x\)"),
    ("numpy", "already"),
    ("float32", "no attribute 'float32', at '[^']*', line [0-9]+, in <lambda>$"),
    ("nonsense", "no attribute 'nonsense', at '[^']*', line [0-9]+, in <lambda>$"),
])  # fmt: skip
def test_attributes_that_arrays_of_other_libraries_have_name_a_cure(name: str, cure: str) -> None:
    with pytest.raises(AttributeError, match=cure):
        fd.grad(lambda x: getattr(x, name))(X)
