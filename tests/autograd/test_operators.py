"""The operators: what they take and return beside the values that the programs hold."""

import pickle
import re
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import autograd
from funcdiff.autograd import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    hessian,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_jvp,
    make_vjp,
    multigrad_dict,
    value_and_grad,
)
from funcdiff.autograd.core import make_jvp as unary_jvp
from funcdiff.autograd.core import make_vjp as unary_vjp
from funcdiff.autograd.wrap_util import unary_to_nary
from funcdiff.errors import CotangentError, InputError, OutputError

X = np.array([1.0, 2.0, 3.0])


def product(x: Any, y: Any = 2.0) -> Any:
    return np.sum(x * y)


def test_gradients_are_like_their_arguments() -> None:
    p = {"a": [1.0, X], "b": (np.float32(2), "name"), "c": np.zeros((0, 2))}
    g = grad(lambda p: p["a"][0] * np.sum(p["a"][1]) * p["b"][0] + np.sum(p["c"]))(p)
    assert list(g) == ["a", "b", "c"]
    assert isinstance(g["a"], list)
    assert isinstance(g["b"], tuple)
    assert g["b"][0].dtype == np.float32
    assert g["b"][1] == "name"
    assert g["c"].shape == (0, 2)


@pytest.mark.parametrize("argnum", [(0, 1), [0, 1]])
def test_several_arguments_give_a_tuple(argnum: Any) -> None:
    by_x, by_y = grad(product, argnum)(X, 2.0)
    np.testing.assert_array_equal(by_x, [2, 2, 2])
    assert by_y == 6
    value, tangent = make_jvp(product, argnum)(X, 2.0)((X, 1.0))
    assert (value, tangent) == (12, 18)


def test_negative_positions_and_keywords_are_those_of_the_call() -> None:
    assert grad(product, -1)(X, 3.0) == 6
    np.testing.assert_array_equal(grad(product)(X, y=5.0), [5, 5, 5])


def test_a_derivative_is_named_after_the_function() -> None:
    assert grad(product, 1).__name__ == "grad_of_product_wrt_argnum_1"
    assert hessian_vector_product(product).__doc__ == (
        "The hessian_tensor_product of product with respect to argument number 0."
    )


def test_the_value_keeps_its_axes() -> None:
    value, _ = value_and_grad(lambda x: x[None, :1] ** 2)(X)
    assert value.shape == (1, 1)
    assert np.ndim(value_and_grad(np.sum)(X)[0]) == 0


def test_the_auxiliary_result_is_plain() -> None:
    _, aux = grad_and_aux(lambda x: (x**2, {"twice": 2 * x}))(X)
    assert type(aux["twice"]) is np.ndarray


def test_integers_as_vectors_are_floats() -> None:
    vjp, _ = make_vjp(np.square)(X)
    np.testing.assert_array_equal(vjp(np.array([1, 0, 2])), [2, 0, 12])
    np.testing.assert_array_equal(make_jvp(np.square)(X)(np.array([1, 0, 2]))[1], [2, 0, 12])


def test_results_in_tuples_have_derivatives() -> None:
    vjp, _ = make_vjp(lambda x: {"a": 2 * x, "b": [x]})(3.0)
    assert vjp({"a": 1.0, "b": [2.0]}) == 4


def test_calls_with_one_argument_are_in_core() -> None:
    vjp, value = unary_vjp(lambda z: z**2, 1 + 2j)
    assert value == -3 + 4j
    assert vjp(1j) == -4 + 2j
    assert unary_jvp(np.square, 3.0)(1) == (9, 6)


def test_the_direction_of_a_derivative_by_a_complex_number_is_that_of_ones() -> None:
    assert deriv(np.square)(1j) == (1 + 1j) * 2j
    assert deriv(product, (0, 1))(X, 2.0) == 12


def test_a_real_argument_of_a_holomorphic_derivative_warns() -> None:
    with pytest.warns(UserWarning, match="not complex"):
        assert holomorphic_grad(np.square)(3.0) == 6


def test_hessians_nest_and_have_no_size() -> None:
    assert hessian(lambda x: x**4)(1.0) == 12
    assert hessian(np.sum)(np.zeros(0)).shape == (0, 0)
    assert jacobian(lambda z: np.abs(z))(np.zeros(0) * 1j).shape == (0, 0)


def test_gradients_by_all_arguments_come_by_name() -> None:
    def f(a: Any, b: Any = 2.0, **more: Any) -> Any:
        return a * b * more["c"]

    assert multigrad_dict(f)(3.0, c=5.0) == OrderedDict(a=10.0, b=15.0, more={"c": 6.0})


def test_an_operator_of_ones_own_takes_positions() -> None:
    @unary_to_nary
    def twice(fun: Any, x: Any, scale: float) -> Any:
        return grad(fun)(x), scale

    assert twice(lambda a, b: a * b, 1, scale=3.0)(5.0, 2.0) == (5, 3)
    assert twice(product, [0, 1], 1.0)(2.0, 5.0)[0] == (5, 2)
    with pytest.raises(InputError, match=re.escape("argument 2 of product is to be")):
        twice(product, 2, 1.0)(X)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: grad(lambda x: x**2)(X), OutputError, "real scalar"),
        (lambda: grad(lambda z: z**2)(1j), OutputError, "real scalar"),
        (lambda: elementwise_grad(lambda z: z**2)(X * 1j), OutputError, "real array"),
        (lambda: jacobian(lambda z: z**2)(X * 1j), OutputError, "holomorphic=True"),
        (lambda: grad(product)(3), InputError, "int"),
        (lambda: grad(lambda p: p["a"])({"a": np.int64(3)}), InputError, "integer"),
        (lambda: grad(product, 2)(X), InputError, "out of range"),
        (lambda: make_vjp(np.square)(X)[0](1.0), CotangentError, "shape"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        call()
    assert "test_operators.py" in str(raised.value)


def test_a_constant_has_no_derivative_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(lambda _x: 3.0)(1.0) == 0


def quartic(x: Any) -> Any:
    return np.sum(x**4)


OPERATORS = [
    "grad", "value_and_grad", "elementwise_grad", "deriv", "jacobian", "hessian",
    "hessian_vector_product", "vector_jacobian_product", "make_vjp", "make_jvp", "make_hvp",
    "make_ggnvp", "multigrad_dict", "holomorphic_grad",
]  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_what_operators_return_can_be_pickled(name: str) -> None:
    x: Any = np.array([1.0, 2.0])
    rest = {"hessian_vector_product": (x,), "vector_jacobian_product": (1.0,)}.get(name, ())
    x = x + 0j if name == "holomorphic_grad" else x
    derived = getattr(autograd, name)(quartic)
    again = pickle.loads(pickle.dumps(derived))
    assert again == derived
    assert again.__name__ == derived.__name__
    found, expected = again(x, *rest), derived(x, *rest)
    if name.startswith("make_"):
        ours, theirs = (pickle.loads(pickle.dumps(y)) for y in (found, expected))
        maps = [y[0] if isinstance(y, tuple) else y for y in (ours, theirs)]
        vector = 1.0 if name == "make_vjp" else x
        found, expected = (f(vector) for f in maps)
    for y, z in zip(fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True):
        np.testing.assert_array_equal(y, z)
