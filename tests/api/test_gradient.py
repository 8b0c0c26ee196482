"""`grad` and `value_and_grad`: what beside the value, and what comes back.

Which arguments are differentiated is held for all transforms in `tests.api.test_selection`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError
from tests.claims import alike, refused

grad: Any = fd.grad  # types refuse some of what is tried here
X = np.array([1.0, 2.0, 3.0])
AUX = {"y": np.sin(X), "name": "sine", "count": 3, "none": None, "flag": True}
SLOPE = np.sin(X) + X * np.cos(X)


def _three(a: Any, b: Any, c: Any) -> Any:
    return np.sum(a * b**2) + c


def _with_aux(x: Any) -> Any:
    y = np.sin(x)
    return np.sum(y * x), {"y": y, "name": "sine", "count": 3, "none": None, "flag": True}


def _with_other_arguments(x: Any, mode: str, count: int, flags: dict[str, bool], table: Any) -> Any:
    assert mode == "sum"
    assert isinstance(count, int)
    assert flags["on"] is True
    return np.sum(x * table[:count])


def _powers(x: Any, *, power: int, scale: Any = 1.0) -> Any:
    return np.sum(scale * x**power)


class Model:
    """A method and an instance that can be differentiated."""

    scale = 3.0

    def loss(self, x: Any) -> Any:
        return self.scale * x**2

    def __call__(self, x: Any) -> Any:
        return self.loss(x)


test_gradients_are_those_of_the_function = alike({
    "arguments that are not differentiated may be anything": (
        lambda: fd.grad(_with_other_arguments)(X, "sum", 3, {"on": True}, np.arange(5)),
        np.array([0, 1, 2]),
    ),
    "keywords are passed on": [
        (lambda: fd.grad(_powers)(X, power=2), 2 * X),
        (lambda: fd.grad(_powers)(X, power=3, scale=2.0), 6 * X**2),
    ],
    "methods, instances and ufuncs can be differentiated": [
        (lambda: fd.grad(Model().loss)(2.0), 12),
        (lambda: fd.grad(Model())(2.0), 12),
        (lambda: fd.grad(np.sin)(0.0), 1),
    ],
    "a 0-d array is a scalar": (
        lambda: fd.grad(lambda x: np.sum(x).reshape(()))(X), np.ones(3)
    ),
    "the auxiliary result comes beside the gradient": (
        lambda: fd.grad(_with_aux, has_aux=True)(X), (SLOPE, AUX)
    ),
    "the auxiliary result comes beside the value": (
        lambda: fd.value_and_grad(_with_aux, has_aux=True)(X), ((np.sum(np.sin(X) * X), AUX), SLOPE)
    ),
    "an auxiliary result is not differentiated": (
        lambda: fd.grad(lambda x: (x, x**3), has_aux=True)(2.0), (1, 8)
    ),
    "auxiliary results of nested gradients come out whole": (
        lambda: fd.grad(
            lambda x: fd.grad(lambda y: (x * y**2, y * 10), has_aux=True)(x), has_aux=True
        )(3.0),
        (12, 30),
    ),
}, rtol=1e-15)  # fmt: skip

test_what_cannot_be_differentiated_is_refused = refused({
    "argnums out of range say how many there were": [
        (InputError, r"out of range.*3 positional arguments", lambda k=k: grad(_three, k)(X, X, 5))
        for k in (3, -4, (0, 7))
    ],
    "an argument cannot be named twice": [
        (InputError, "twice", lambda k=k: grad(_three, k)(X, X, 5.0)) for k in ((0, 0), (0, -3))
    ],
    "argnums are integers": [
        (InputError, "argnums", lambda k=k: grad(_three, k)(X, X, 5.0))
        for k in (1.0, "a", (0, "b"), True)
    ],
    "a missing argument is the function's own error": (
        TypeError, "positional argument", lambda: grad(_three)(X, X)
    ),
    "has_aux needs a pair": [
        (OutputError, "pair", lambda y=y: grad(lambda x: y, has_aux=True)(1.0))
        for y in (1.0, (1.0,), (1.0, 2.0, 3.0), [1.0, 2.0])
    ],
    "an output that is no real scalar": [
        (OutputError, "needs a function that returns a real scalar", lambda f=f: grad(f)(X))
        for f in (
            lambda x: x, lambda x: x[:1], lambda x: (x[0], x[1]), lambda x: [x[0]],
            lambda x: x[0] > 0, lambda x: x[0] + 1j, lambda x: {"loss": x[0]},
        )
    ],
    "a result without numbers": [
        (OutputError, rf"^{name} needs .* numbers or arrays; .* returned {what}, .*{cure}", call)
        for f, what, cure in (
            (lambda x: None, "None", "without a return statement"),
            (lambda x: "text", "str", "has_aux=True"),
        )
        for name, call in {
            "grad": lambda f=f: grad(f)(X),
            "jacobian": lambda f=f: fd.jacobian(f)(X),
            "vjp": lambda f=f: fd.vjp(f, X),
            "jvp": lambda f=f: fd.jvp(f, (X,), (X,)),
            "linearize": lambda f=f: fd.linearize(f, X),
        }.items()
    ],
})  # fmt: skip


def test_the_result_keeps_the_name_and_docstring() -> None:
    def area(r: Any) -> Any:
        """Return the area of a circle."""
        return np.pi * r**2

    assert fd.grad(area).__name__ == "area"
    assert fd.value_and_grad(area).__doc__ == (
        "Value and gradient of area.\n\nReturn the area of a circle."
    )


def test_what_is_not_traced_comes_back_in_the_auxiliary_result_as_it_is() -> None:
    mask = np.ma.masked_array(X, X > 1)
    aux = fd.grad(
        lambda x: (np.sum(x), {"n": len(x), "rate": 0.5, "mask": mask, "squares": x**2}),
        has_aux=True,
    )(X)[1]
    assert type(aux["n"]) is int
    assert type(aux["rate"]) is float
    assert aux["mask"] is mask
    assert type(aux["squares"]) is np.ndarray


def test_value_and_grad_gives_the_value_of_numpy() -> None:
    def f(x: Any) -> Any:
        return np.log(np.sum(np.exp(x) * 0.3)) / 7.1

    value, _ = fd.value_and_grad(f)(X)
    assert type(value) is np.float64
    assert value == f(X)


GRADIENTS: dict[str, Any] = {
    "grad": lambda f, x: fd.grad(f)(x),
    "value_and_grad": lambda f, x: fd.value_and_grad(f)(x)[1],
    "vjp": lambda f, x: fd.vjp(f, x)[1](1.0)[0],
    "of a container": lambda f, x: fd.grad(lambda p: f(p["x"]))({"x": x})["x"],
}


@pytest.mark.parametrize("derive", GRADIENTS.values(), ids=GRADIENTS)
def test_a_derivative_without_axes_is_like_what_it_is_taken_by(derive: Any) -> None:
    by_array, by_number, by_float = (
        derive(lambda x: x**3, x) for x in (np.array(3.0), np.float64(3.0), 3.0)
    )
    assert isinstance(by_array, np.ndarray)
    assert by_array.shape == ()
    assert not isinstance(by_number, np.ndarray)
    assert not isinstance(by_float, np.ndarray)
    assert by_array == by_number == by_float == 27.0


@pytest.mark.parametrize("derive", GRADIENTS.values(), ids=GRADIENTS)
def test_a_traced_derivative_without_axes_is_changed_in_place_for_all_its_names(
    derive: Any,
) -> None:
    def f(x: Any) -> Any:
        g = derive(lambda x: x**3, x)
        same = g
        g += 1.0
        return g * same

    for kind, slope in ((np.array, 312.0), (np.float64, 300.0)):
        x = kind(2.0)
        value, tangent = fd.jvp(f, (x,), (kind(1.0),))
        assert value == f(x)
        assert tangent == pytest.approx(slope)
