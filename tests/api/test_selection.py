"""Which arguments are differentiated: one mechanism of numbers, names and keywords for all."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError

X = np.array([1.0, 2.0, 3.0])


def _f(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    return scale * np.sum(a**2 * b)


def _with_aux(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    return _f(a, b, scale=scale), {"b": b}


def _elements(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    return scale * a**2 * b


def _elements_and_aux(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    return _elements(a, b, scale=scale), {"b": b}


def _of_elements(f: Any, *choice: Any, **choices: Any) -> Any:
    return fd.elementwise_grad(_elements if f is _f else _elements_and_aux, *choice, **choices)


EXPECTED = {"a": 2 * X * 5.0 * 3.0, "b": 3.0 * np.sum(X**2), "scale": 5.0 * np.sum(X**2)}

# Every way to the derivative by the chosen arguments, as (function, its options, call).
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "grad": fd.grad,
    "value_and_grad": lambda f, *a, **k: lambda *x, **y: fd.value_and_grad(f, *a, **k)(*x, **y)[1],
    "elementwise_grad": _of_elements,
    "jacobian": fd.jacobian,
    "jacfwd": fd.jacfwd,
    "jacrev": fd.jacrev,
    "jacobian in chunks": lambda f, *a, **k: fd.jacobian(f, *a, chunk_size=2, **k),
    "value_and_jacobian": lambda f, *a, **k: (
        lambda *x, **y: fd.value_and_jacobian(f, *a, **k)(*x, **y)[1]
    ),
    "value_grad_and_hessian": lambda f, *a, **k: (
        lambda *x, **y: fd.value_grad_and_hessian(f, *a, **k)(*x, **y)[1]
    ),
}

ALL = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS.keys())


def _check(result: Any, *names: str) -> None:
    expected = [EXPECTED[name] for name in names]
    if len(names) == 1:
        result = (result,)
    assert isinstance(result, tuple)
    assert len(result) == len(names)
    for found, wanted in zip(result, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


@ALL
def test_numbers_choose_what_is_given_by_position_or_by_keyword(transform: Any) -> None:
    _check(transform(_f)(X, 5.0, scale=3.0), "a")
    _check(transform(_f)(a=X, b=5.0, scale=3.0), "a")
    _check(transform(_f, 1)(X, b=5.0, scale=3.0), "b")
    _check(transform(_f, (1, 0))(b=5.0, a=X, scale=3.0), "b", "a")
    _check(transform(_f, -1)(X, 5.0, scale=3.0), "b")


@ALL
def test_names_choose_what_is_given_by_position_or_by_keyword(transform: Any) -> None:
    _check(transform(_f, argnames="a")(X, 5.0, scale=3.0), "a")
    _check(transform(_f, argnames="a")(a=X, b=5.0, scale=3.0), "a")
    _check(transform(_f, argnames="scale")(X, 5.0, scale=3.0), "scale")
    _check(transform(_f, argnames=("scale", "b"))(X, b=5.0, scale=3.0), "scale", "b")


@ALL
def test_names_come_behind_numbers(transform: Any) -> None:
    result = transform(_f, 0, argnames="scale")(X, 5.0, scale=3.0)
    _check(result, "a", "scale")
    result = transform(_f, (1, 0), argnames=("scale",))(X, 5.0, scale=3.0)
    _check(result, "b", "a", "scale")


@ALL
def test_a_tuple_of_one_gives_a_tuple_of_one(transform: Any) -> None:
    for choice in ({"argnums": (0,)}, {"argnames": ("a",)}):
        result = transform(_f, **choice)(X, 5.0, scale=3.0)
        assert isinstance(result, tuple)
        assert len(result) == 1


@ALL
def test_an_auxiliary_result_comes_out_beside_the_derivative(transform: Any) -> None:
    if transform in (fd.grad, _of_elements, fd.jacobian, fd.jacfwd, fd.jacrev):
        result, aux = transform(_with_aux, has_aux=True)(a=X, b=5.0, scale=3.0)
        _check(result, "a")
        assert aux == {"b": 5.0}


# ---- products: primals by position, further arguments by keyword ------------------------------


def test_products_take_all_primals_unless_some_are_chosen() -> None:
    _, f_vjp = fd.vjp(_f, X, 5.0, scale=3.0)
    _check(f_vjp(1.0), "a", "b")
    _, chosen = fd.vjp(_f, X, 5.0, scale=3.0, argnums=1)
    _check(chosen(1.0)[0], "b")
    _, named = fd.vjp(_f, X, 5.0, scale=3.0, argnames=("scale", "a"))
    _check(named(1.0), "scale", "a")
    _, by_keyword = fd.vjp(_f, a=X, b=5.0, scale=3.0, argnums=(0, 1))
    _check(by_keyword(1.0), "a", "b")


def test_tangents_are_those_of_the_chosen_arguments() -> None:
    t = np.array([1.0, -1.0, 0.5])
    ta, tb, ts = EXPECTED["a"] @ t, EXPECTED["b"] * 7.0, EXPECTED["scale"] * 2.0
    for push in (_pushed_by_jvp, _pushed_by_linearize, fd.directional_derivative):
        total = push(_f, (X, 5.0), (t, 7.0), scale=3.0)
        np.testing.assert_allclose(total, ta + tb, rtol=1e-14)
        by_b = push(_f, (X, 5.0), (7.0,), scale=3.0, argnums=1)
        np.testing.assert_allclose(by_b, tb, rtol=1e-14)
        by_both = push(_f, (X, 5.0), (t, 2.0), scale=3.0, argnums=0, argnames="scale")
        np.testing.assert_allclose(by_both, ta + ts, rtol=1e-14)


def _pushed_by_jvp(f: Any, primals: Any, tangents: Any, **options: Any) -> Any:
    return fd.jvp(f, primals, tangents, **options)[1]


def _pushed_by_linearize(f: Any, primals: Any, tangents: Any, **options: Any) -> Any:
    return fd.linearize(f, *primals, **options)[1](*tangents)


@pytest.mark.parametrize("product", [fd.hvp, fd.vhp])
def test_products_with_the_hessian_take_chosen_arguments(product: Any) -> None:
    t = np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(product(_f, (X, 5.0), (t,), argnums=0, scale=3.0), 30 * t)
    by_name = product(_f, (X, 5.0), (t, 2.0), argnames=("a", "scale"), scale=3.0)
    np.testing.assert_allclose(by_name[0], 30 * t + 2 * EXPECTED["a"] / 3.0)
    np.testing.assert_allclose(by_name[1], EXPECTED["a"] @ t / 3.0)
    value, aux = product(_with_aux, (X, 5.0), (t,), argnums=0, has_aux=True)
    np.testing.assert_allclose(value, 10 * t)
    assert aux == {"b": 5.0}


# ---- callables of every kind ------------------------------------------------------------------


def test_functions_that_python_cannot_inspect_take_numbers() -> None:
    class Opaque:
        __signature__ = "none"

        def __call__(self, x: Any) -> Any:
            return x**2

    assert fd.grad(Opaque())(3.0) == 6
    assert fd.grad(Opaque(), argnames="x")(x=3.0) == 6
    with pytest.raises(InputError, match=r"not known to Python.*argnums="):
        fd.grad(Opaque(), argnames="x")(3.0)


def test_names_work_for_methods_partials_and_keyword_collectors() -> None:
    class Model:
        def loss(self, w: Any, x: Any) -> Any:
            return w * x

    def collector(**named: Any) -> Any:
        return named["u"] * named["v"]

    assert fd.grad(Model().loss, argnames="x")(2.0, 3.0) == 2
    assert fd.grad(partial(_f, b=5.0), argnames="a")(a=2.0) == 20
    assert fd.grad(collector, argnames="v")(u=2.0, v=3.0) == 2


def test_a_nested_derivative_is_called_by_keyword_too() -> None:
    cube: Any = lambda x: x**3
    second: Any = fd.grad(fd.grad(cube))
    assert second(x=2.0) == 12
    assert fd.grad(fd.grad(cube, argnames="x"), argnames="x")(x=2.0) == 12


def test_keywords_may_be_containers_and_come_back_as_such() -> None:
    def f(x: Any, *, params: Any) -> Any:
        return np.sum(params["w"] * x) + params["b"]

    gradient = fd.grad(f, argnames="params")(X, params={"w": 2 * X, "b": 1.0})
    np.testing.assert_array_equal(gradient["w"], X)
    assert gradient["b"] == 1
    with pytest.raises(InputError, match=r"argument params\['b'\] is the integer 1"):
        fd.grad(f, argnames="params")(X, params={"w": 2 * X, "b": 1})


def test_the_outer_derivative_reaches_a_keyword_of_the_inner_one() -> None:
    def f(x: Any, y: Any) -> Any:
        return x**2 * y**3

    outer = fd.grad(lambda y: fd.grad(f)(3.0, y=y))
    assert outer(2.0) == 2 * 3 * 3 * 2**2
