"""Dtypes, containers and edges: the gradient comes back as the argument went in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError
from tests.together import together

vjp: Any = fd.vjp  # types refuse some of what is tried here

# ---- scalars and dtypes ----------------------------------------------------------------------


def test_a_python_float_gives_a_numpy_double() -> None:
    assert type(fd.grad(lambda x: x * x)(3.0)) is np.float64


def test_a_numpy_single_gives_a_numpy_single() -> None:
    result = fd.grad(lambda x: x * x)(np.float32(3))
    assert type(result) is np.float32
    assert result == 6


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_0d_array_gives_a_0d_array(dtype: Any) -> None:
    result = fd.grad(lambda x: x * x)(np.array(3, dtype))
    assert isinstance(result, np.ndarray)
    assert result.shape == ()
    assert result.dtype == dtype


@pytest.mark.parametrize("f", [
    np.sum,
    np.mean,
    np.max,
    np.std,
    np.linalg.norm,
    lambda x: np.sum(np.where(x > 1, x, 0)),
    lambda x: np.sum(2.5 * x + 1),
    lambda x: np.sum(x**2 / 3 - 1 / x),
    lambda x: np.sum(np.maximum(x, 0.5)),
    lambda x: np.sum(np.clip(x, 0.5, 2)),
    lambda x: np.sum(np.exp(x) @ np.ones(3, np.float32)),
])  # fmt: skip
def test_single_precision_stays_single(f: Callable[[Any], Any]) -> None:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    value, gradient = fd.value_and_grad(f)(x)
    assert value.dtype == f(x).dtype == np.float32
    assert gradient.dtype == np.float32


def test_a_numpy_double_is_strong_and_the_gradient_still_single() -> None:
    x = np.array([1.0, 2.0], np.float32)
    value, gradient = fd.value_and_grad(lambda x: np.sum(x * np.float64(2)))(x)
    assert value.dtype == np.float64
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [2, 2])


@together
@pytest.mark.parametrize("other", [
    2, 2.0, True, np.float32(2), np.float64(2), np.int8(2), np.int64(2),
    np.array(2.0), np.array([2, 3]), np.array([2, 3], np.int16), np.array([2, 3], np.float16),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_promotion_is_numpys(other: Any, dtype: Any) -> None:
    x = np.array([1.5, 2.5], dtype)
    functions: list[Any] = [lambda x: x * other, lambda x: other - x, lambda x: np.add(x, other)]
    for f in functions:
        y, f_vjp = vjp(f, x)
        assert y.dtype == f(x).dtype
        np.testing.assert_array_equal(y, f(x))
        assert f_vjp(np.ones_like(y))[0].dtype == dtype


def test_the_gradient_of_a_python_complex_is_a_numpy_complex() -> None:
    assert type(fd.grad(lambda z: (z * z.conj()).real)(1 + 2j)) is np.complex128


# ---- what cannot be differentiated -----------------------------------------------------------


@pytest.mark.parametrize(
    "x", [3, np.int32(3), np.arange(3), np.array([True]), np.array([1, 2], np.uint8)]
)
def test_integers_are_refused_with_their_dtype_and_the_cure(x: Any) -> None:
    with pytest.raises(InputError, match=r"no derivative.*Make it a float"):
        fd.grad(lambda x: np.sum(x * 1.0))(x)


def test_an_integer_leaf_is_refused_with_its_path() -> None:
    params = {"w": np.ones(2), "n": np.arange(2)}
    with pytest.raises(InputError, match=r"\['n'\] is an array of dtype int64.*static"):
        fd.grad(lambda p: np.sum(p["w"] * p["n"]))(params)


def test_an_integer_deep_in_a_container_is_refused_with_its_path() -> None:
    with pytest.raises(InputError, match=r"\['layers'\]\[1\]\['k'\] is the integer 3"):
        fd.grad(lambda p: p["layers"][0]["k"])({"layers": [{"k": 1.0}, {"k": 3}]})


def test_the_error_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        fd.grad(lambda x: x)(3)


def test_an_integer_output_of_grad_is_an_error() -> None:
    with pytest.raises(OutputError, match="integer or boolean result has no derivative"):
        fd.grad(lambda x: np.argmax(x))(np.ones(3))  # type: ignore[arg-type, return-value]


def test_a_non_scalar_output_of_grad_names_its_shape_and_the_cures() -> None:
    with pytest.raises(OutputError, match=r"f64\[3\].*\[0\].*\.sum\(\).*jacobian"):
        fd.grad(lambda x: 2 * x)(np.ones(3))


# ---- outputs ---------------------------------------------------------------------------------


def test_an_unused_input_has_gradient_zero() -> None:
    a, b = fd.grad(lambda a, b: np.sum(a), argnums=(0, 1))(np.ones(2), np.ones((2, 3)))
    np.testing.assert_array_equal(a, np.ones(2))
    np.testing.assert_array_equal(b, np.zeros((2, 3)))


def test_an_output_that_depends_on_nothing_has_derivative_zero() -> None:
    assert fd.grad(lambda x: 3.0)(2.0) == 0
    assert fd.jvp(lambda x: np.ones(2), (2.0,), (1.0,))[1].tolist() == [0, 0]
    assert vjp(lambda x: np.ones(2), 2.0)[1](np.ones(2)) == (0,)
    np.testing.assert_array_equal(fd.jacobian(lambda x: np.ones(2))(np.ones(3)), np.zeros((2, 3)))


def test_an_input_returned_as_an_output_is_right() -> None:
    x = np.array([1.0, 2.0])
    (y, z), f_vjp = vjp(lambda x: (x, 2 * x), x)
    np.testing.assert_array_equal(y, x)
    assert y is not x
    np.testing.assert_array_equal(f_vjp((np.ones(2), np.ones(2)))[0], [3, 3])
    np.testing.assert_array_equal(z, 2 * x)


def test_a_duplicated_output_is_right() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return y, y

    (y, z), f_vjp = vjp(f, np.array([1.0, 2.0]))
    assert y is not z
    assert not np.shares_memory(y, z)
    np.testing.assert_allclose(
        f_vjp((np.ones(2), 2 * np.ones(2)))[0], 3 * np.cos([1.0, 2.0]), rtol=1e-15
    )


def test_the_same_array_as_two_arguments_is_two_variables() -> None:
    x = np.array([1.0, 2.0])
    a, b = fd.grad(lambda a, b: np.sum(a * b**2), argnums=(0, 1))(x, x)
    np.testing.assert_array_equal(a, x**2)
    np.testing.assert_array_equal(b, 2 * x * x)


def test_a_non_contiguous_argument_gives_a_gradient_of_its_shape() -> None:
    x = np.arange(12.0).reshape(3, 4)[::-1, ::2].T
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x**2))(x), 2 * x)


def test_a_byte_swapped_argument_is_taken_by_value() -> None:
    x = np.array([1.0, 2.0]).astype(">f8")
    result = fd.grad(lambda x: np.sum(x**2))(x)
    np.testing.assert_array_equal(result, [2, 4])


def test_byte_swapped_constants_are_taken_by_value() -> None:
    x = np.array([1.0, 2.0, 4.0])
    places, weights = np.array([2, 0, 2], dtype=">i8"), np.array([1.0, 3.0, 5.0]).astype(">f8")
    result = fd.grad(lambda x: np.sum(x[places] * weights * places[1:2] + weights * x))(x)
    np.testing.assert_array_equal(result, weights)
    result = fd.grad(lambda x: np.sum(np.take(x, places) * weights))(x)
    np.testing.assert_array_equal(result, [3, 0, 6])
