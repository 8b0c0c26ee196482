"""`grad` and `value_and_grad`: which argument, what beside the value, and what comes back."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

X = np.array([1.0, 2.0, 3.0])


def _three(a: Any, b: Any, c: Any) -> Any:
    return np.sum(a * b**2) + c


# ---- argnums ---------------------------------------------------------------------------------


def test_the_first_argument_is_differentiated_by_default() -> None:
    np.testing.assert_array_equal(fd.grad(_three)(X, 2 * X, 5.0), 4 * X**2)


@pytest.mark.parametrize(("argnums", "position"), [(1, 1), (-1, 2), (-2, 1), (-3, 0)])
def test_a_negative_argnum_counts_from_the_end(argnums: int, position: int) -> None:
    expected = fd.grad(_three, (0, 1, 2))(X, 2 * X, 5.0)[position]
    np.testing.assert_array_equal(fd.grad(_three, argnums)(X, 2 * X, 5.0), expected)


def test_a_tuple_gives_a_tuple_in_its_own_order() -> None:
    result = fd.grad(_three, argnums=(2, 0))(X, 2 * X, 5.0)
    assert isinstance(result, tuple)
    assert result[0] == 1
    np.testing.assert_array_equal(result[1], 4 * X**2)


def test_a_tuple_of_one_gives_a_tuple_of_one() -> None:
    result = fd.grad(_three, argnums=(1,))(X, X, 5.0)
    assert isinstance(result, tuple)
    assert len(result) == 1


@pytest.mark.parametrize("argnums", [3, -4, (0, 7)])
def test_argnums_out_of_range_say_how_many_there_were(argnums: Any) -> None:
    with pytest.raises(InputError, match=r"out of range.*3 positional arguments"):
        fd.grad(_three, argnums)(X, X, 5.0)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -3)])
def test_an_argument_cannot_be_named_twice(argnums: Any) -> None:
    with pytest.raises(InputError, match="twice"):
        fd.grad(_three, argnums)(X, X, 5.0)


@pytest.mark.parametrize("argnums", [1.0, "a", (0, "b"), True])
def test_argnums_are_integers(argnums: Any) -> None:
    with pytest.raises(InputError, match="argnums"):
        fd.grad(_three, argnums)(X, X, 5.0)


# ---- other arguments -------------------------------------------------------------------------


def test_arguments_that_are_not_differentiated_may_be_anything() -> None:
    def f(x: Any, mode: str, count: int, flags: dict[str, bool], table: Any) -> Any:
        assert mode == "sum"
        assert isinstance(count, int)
        assert flags["on"] is True
        return np.sum(x * table[:count])

    result = fd.grad(f)(X, "sum", 3, {"on": True}, np.arange(5))
    np.testing.assert_array_equal(result, [0, 1, 2])


def test_keywords_are_passed_on() -> None:
    def f(x: Any, *, power: int, scale: Any = 1.0) -> Any:
        return np.sum(scale * x**power)

    np.testing.assert_array_equal(fd.grad(f)(X, power=2), 2 * X)
    np.testing.assert_array_equal(fd.grad(f)(X, power=3, scale=2.0), 6 * X**2)


def test_a_missing_argument_is_the_functions_own_error() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        fd.grad(_three)(X, X)  # type: ignore[call-arg]


def test_the_result_keeps_the_name_and_docstring() -> None:
    def area(r: Any) -> Any:
        """Return the area of a circle."""
        return np.pi * r**2

    assert fd.grad(area).__name__ == "area"
    assert fd.value_and_grad(area).__doc__ == "Return the area of a circle."


def test_methods_partials_and_callable_objects_can_be_differentiated() -> None:
    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def loss(self, x: Any) -> Any:
            return self.scale * x**2

        def __call__(self, x: Any) -> Any:
            return self.loss(x)

    model = Model(3.0)
    assert fd.grad(model.loss)(2.0) == 12
    assert fd.grad(model)(2.0) == 12
    assert fd.grad(np.sin)(0.0) == 1


# ---- auxiliary results -----------------------------------------------------------------------


def _with_aux(x: Any) -> Any:
    y = np.sin(x)
    return np.sum(y * x), {"y": y, "name": "sine", "count": 3, "none": None, "flag": True}


def _check_aux(aux: Any) -> None:
    np.testing.assert_array_equal(aux["y"], np.sin(X))
    assert type(aux["y"]) is np.ndarray
    assert (aux["name"], aux["none"], aux["flag"]) == ("sine", None, True)
    assert aux["count"] == 3


def test_grad_returns_the_auxiliary_result_beside_the_gradient() -> None:
    gradient, aux = fd.grad(_with_aux, has_aux=True)(X)
    np.testing.assert_allclose(gradient, np.sin(X) + X * np.cos(X), rtol=1e-15)
    _check_aux(aux)


def test_value_and_grad_returns_the_auxiliary_result_beside_the_value() -> None:
    (value, aux), gradient = fd.value_and_grad(_with_aux, has_aux=True)(X)
    assert value == np.sum(np.sin(X) * X)
    np.testing.assert_allclose(gradient, np.sin(X) + X * np.cos(X), rtol=1e-15)
    _check_aux(aux)


def test_what_is_not_traced_comes_back_in_the_auxiliary_result_as_it_is() -> None:
    mask = np.ma.masked_array(X, X > 1)
    gradient, aux = fd.grad(
        lambda x: (np.sum(x), {"n": len(x), "rate": 0.5, "mask": mask, "squares": x**2}),
        has_aux=True,
    )(X)
    np.testing.assert_array_equal(gradient, np.ones_like(X))
    assert type(aux["n"]) is int
    assert type(aux["rate"]) is float
    assert aux["mask"] is mask
    np.testing.assert_array_equal(aux["squares"], X**2)


def test_an_auxiliary_result_is_not_differentiated() -> None:
    gradient, _ = fd.grad(lambda x: (x, x**3), has_aux=True)(2.0)
    assert gradient == 1


def test_auxiliary_results_of_nested_gradients_come_out_whole() -> None:
    def f(x: Any) -> Any:
        slope, aux = fd.grad(lambda y: (x * y**2, y * 10), has_aux=True)(x)
        return slope, aux

    gradient, aux = fd.grad(f, has_aux=True)(3.0)
    assert gradient == 12
    assert aux == 30


@pytest.mark.parametrize("result", [1.0, (1.0,), (1.0, 2.0, 3.0), [1.0, 2.0]])
def test_has_aux_needs_a_pair(result: Any) -> None:
    with pytest.raises(OutputError, match="pair"):
        fd.grad(lambda x: result, has_aux=True)(1.0)


# ---- what grad cannot take -------------------------------------------------------------------


@pytest.mark.parametrize("f", [
    lambda x: x,
    lambda x: x[:1],
    lambda x: (x[0], x[1]),
    lambda x: [x[0]],
    lambda x: None,
    lambda x: "text",
    lambda x: x[0] > 0,
    lambda x: x[0] + 1j,
    lambda x: {"loss": x[0]},
])  # fmt: skip
def test_an_output_that_is_not_a_real_scalar_is_an_error(f: Any) -> None:
    with pytest.raises(OutputError, match="needs a function that returns a real scalar"):
        fd.grad(f)(X)


def test_a_0d_array_is_a_scalar() -> None:
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x).reshape(()))(X), np.ones(3))


# ---- values ----------------------------------------------------------------------------------


def test_value_and_grad_gives_the_value_of_numpy() -> None:
    def f(x: Any) -> Any:
        return np.log(np.sum(np.exp(x) * 0.3)) / 7.1

    value, _ = fd.value_and_grad(f)(X)
    assert type(value) is np.float64
    assert value == f(X)


def test_the_arguments_are_left_as_they_were() -> None:
    x = X.copy()
    result = fd.grad(lambda x: np.sum(x))(x)
    result[:] = -1
    np.testing.assert_array_equal(x, X)


def test_two_gradients_of_the_same_function_do_not_share_memory() -> None:
    f = fd.grad(lambda x: np.sum(3 * x))
    first, second = f(X), f(X)
    first[:] = 0
    np.testing.assert_array_equal(second, np.full(3, 3.0))
