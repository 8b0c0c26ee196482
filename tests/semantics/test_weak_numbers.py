"""Python numbers give way to the dtype of an array, traced or not, as NEP 50 has it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.together import together

transforms: Any = fd  # types refuse some of what is tried here

ARRAYS: dict[str, Any] = {
    "float32": np.array([0.5, 1.5, 3.0], np.float32),
    "float16": np.array([0.5, 1.5, 3.0], np.float16),
    "int8": np.array([1, 2, 3], np.int8),
    "complex64": np.array([0.5 + 1j, 1.5, 3.0 - 2j], np.complex64),
}
NUMBERS: dict[str, Any] = {"float": 0.7, "int": 3, "complex": 0.7 - 0.2j}
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "x * a": lambda x, a: x * a,
    "a - x": lambda x, a: a - x,
    "x / a": lambda x, a: x / a,
    "add": np.add,
    "where": lambda x, a: np.where(x == x[0], x, a),
    "a * a + x": lambda x, a: x * a + a,
}


def _with_rules(m: Callable[..., Any]) -> Callable[..., Any]:
    f = transforms.custom_vjp(m)
    f.defvjp(lambda x, a: (m(x, a), None), lambda _, ct: (None, None))
    return f  # type: ignore[no-any-return]


def _traced(wrap: Callable[..., Any]) -> Callable[..., Any]:
    """Return what calls ``wrap(m)`` with its number inside the trace of another function."""
    return lambda m, x, a: transforms.vjp(lambda _: wrap(m)(x, a), 1.0)[0]


TRANSFORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "checkpoint": _traced(fd.checkpoint),
    "custom_vjp": _traced(_with_rules),
    "primitive": _traced(fd.primitive),
    "checkpoint twice": _traced(lambda m: fd.checkpoint(fd.checkpoint(m))),
    "captured": _traced(lambda m: lambda x, a: fd.checkpoint(
        lambda b: fd.checkpoint(lambda y: m(y, b))(x))(a)),
    "switch": _traced(lambda m: lambda x, a: transforms.vmap(
        lambda k: fd.switch(k, [m, m], x, a))(np.array([0]))[0]),
    "tap_values": lambda m, x, a: transforms.tap_values(
        lambda x, a: fd.tap("y", m(x, a)))(x, a)["y"],
}  # fmt: skip


@pytest.mark.thinned(8)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_transformed_function_returns_the_dtype_that_numpy_returns(
    transform: str, array: str, number: str, function: str
) -> None:
    m, x, a = FUNCTIONS[function], ARRAYS[array], NUMBERS[number]
    expected = m(x, a)
    if expected.dtype.kind not in "fc":
        m = _as_float(m)
        expected = m(x, a)
    result = TRANSFORMS[transform](m, x, a)
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=4 * np.finfo(expected.dtype).eps)


def _as_float(m: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that shows the dtype of an integer result in floating point."""

    def shown(x: Any, a: Any) -> Any:
        y = m(x, a)
        return y.astype({1: np.float16, 8: np.float64}[y.dtype.itemsize])

    return shown


@together
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("number", ["float", "complex"])
@pytest.mark.parametrize("array", ARRAYS)
def test_a_differentiated_number_is_weak_and_its_derivatives_are_double(
    array: str, number: str, function: str
) -> None:
    m, x, a = FUNCTIONS[function], ARRAYS[array], NUMBERS[number]
    expected = m(x, a)
    close = {"rtol": 8 * np.finfo(expected.dtype).eps}
    wide: Any = np.promote_types(x.dtype, np.float64)
    _, exact = transforms.jvp(lambda a: m(x.astype(wide), a), (np.asarray(a)[()],), (1.0,))
    y, f_vjp = transforms.vjp(m, x, a, argnums=1)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y, expected, **close)
    (slope,) = f_vjp(np.ones_like(y))
    assert type(slope) is (np.complex128 if number == "complex" else np.float64)
    wanted = np.sum(np.conj(exact))
    np.testing.assert_allclose(slope, wanted if number == "complex" else wanted.real, **close)
    for y, t in (
        transforms.jvp(m, (x, a), (1.0,), argnums=1),
        _evaluated(transforms.linearize(m, x, a, argnums=1)),
    ):
        assert y.dtype == t.dtype == expected.dtype
        np.testing.assert_allclose(t, exact, **close)


def _evaluated(linearized: Any) -> tuple[Any, Any]:
    y, f_jvp = linearized
    return y, f_jvp(1.0)


def test_a_gradient_keeps_the_function_in_single_precision() -> None:
    x = np.array([1.0, 2.0], np.float32)
    value, slopes = fd.value_and_grad(lambda x, a: np.sum(x * a), argnums=(0, 1))(x, 2.0)
    assert value.dtype == np.float32
    assert slopes[0].dtype == np.float32
    assert type(slopes[1]) is np.float64
    assert slopes[1] == 3


def test_nested_derivatives_of_a_number_keep_the_precision_of_the_array() -> None:
    x = np.array([1.0, 2.0], np.float32)

    def slope(a: Any) -> Any:
        y, t = transforms.jvp(lambda b: x * b * b, (a,), (1.0,))
        assert y.dtype == t.dtype == np.float32
        return np.sum(t)

    assert fd.grad(slope)(2.0) == 6


def test_rules_of_a_custom_function_see_weak_numbers_in_residuals_too() -> None:
    @fd.custom_vjp
    def scaled(x: Any, a: Any) -> Any:
        return x * a

    def backward(kept: Any, ct: Any) -> Any:
        x, a = kept
        assert (ct * a).dtype == np.float32
        return ct * a, np.sum(ct * x)

    scaled.defvjp(lambda x, a: (x * a, (x, a)), backward)
    x = np.array([1.0, 2.0], np.float32)
    slopes = fd.grad(lambda x, a: np.sum(scaled(x, a)), argnums=(0, 1))(x, 2.0)
    assert slopes[0].dtype == np.float32
    assert slopes[1] == 3


def test_where_python_would_raise_or_leave_the_reals_numpys_values_are_taken() -> None:
    def f(a: Any) -> tuple[Any, Any, Any]:
        return a / 0, (a - 10) ** (1 / 3), (1 + a * 0) // 0

    with np.errstate(all="ignore"):
        infinite, undefined, quotient = transforms.jit(f)(2.0)
    assert infinite == quotient == np.inf
    assert np.isnan(undefined)


def test_a_difference_of_a_number_and_an_array_is_an_array() -> None:
    x = np.ones(2, np.float32)
    y, _ = transforms.vjp(lambda x, a, b: x * (a - b), x, 2.0, np.asarray(1.0))
    assert y.dtype == np.float64


def test_results_of_functions_of_numbers_are_strong() -> None:
    x = np.ones(2, np.float32)
    functions: list[Any] = [np.copy, np.sin, np.positive, lambda a: np.reshape(a, ())]
    for strong in functions:
        y, _ = transforms.vjp(lambda x, a, f=strong: x * f(a), x, 2.0)
        assert y.dtype == np.float64
        assert (x * strong(2.0)).dtype == np.float64


def test_functions_that_make_arrays_of_their_arguments_take_numbers_as_strong() -> None:
    x = np.float32(1)
    functions: list[Any] = [
        lambda x, a: np.stack([x, a]),
        lambda x, a: np.hstack([x, a]),
        lambda x, a: np.append(x, a),
    ]
    for f in functions:
        y, _ = transforms.vjp(f, x, 2.0)
        assert y.dtype == f(x, 2.0).dtype == np.float64


def test_a_weak_integer_that_does_not_fit_raises_as_in_numpy() -> None:
    x = np.array([1, 2], np.int8)
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        transforms.vjp(lambda _: fd.checkpoint(lambda x, a: x * a)(x, 300), 1.0)


def test_an_array_may_be_changed_in_place_by_a_number() -> None:
    def f(x: Any, n: Any) -> Any:
        counts = np.ones_like(x, dtype=np.uint8)
        counts += n
        return x * counts

    y, _ = transforms.vjp(lambda x: fd.checkpoint(f)(x, 2), np.ones(2, np.float32))
    assert y.dtype == np.float32
    assert y.tolist() == [3, 3]


def test_a_carry_keeps_its_type() -> None:
    x = np.ones(3, np.float32)
    total, _ = transforms.scan(lambda c, row: (c + row, None), 0.0, x)
    assert total.dtype == np.float64


HANDED_ON: dict[str, Callable[[Any], Any]] = {
    "np.real": np.real,
    "np.imag": np.imag,
    "tap": lambda a: fd.tap("a", a),
    "tap of a container": lambda a: fd.tap("a", {"a": a})["a"],
    "tap of a plain number": lambda a: a + fd.tap("a", 2.0),
    "checkpoint": lambda a: fd.checkpoint(lambda b: b + 1)(a),
    "checkpoint of a plain number": lambda a: a * fd.checkpoint(lambda b: 2.0)(a),
    "custom_jvp": fd.custom_jvp(lambda a: a + 1),
    "cond": lambda a: fd.cond(a == a, lambda b: b + 1, lambda b: 2 * b, a),
    "cond of a plain condition": lambda a: fd.cond(True, lambda b: b + 1, lambda b: 2 * b, a),
    "switch": lambda a: fd.switch(1, [lambda b: 0 * b, lambda b: 2 * b], a),
    "primitive": fd.primitive(lambda a: a + 1),
}
HANDED_ON["custom_jvp"].defjvp(lambda primals, tangents: (primals[0] + 1, tangents[0]))  # type: ignore[attr-defined]


@pytest.mark.slow
@together
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("hand_on", HANDED_ON.values(), ids=HANDED_ON)
def test_what_hands_on_a_python_number_leaves_it_weak(
    hand_on: Callable[[Any], Any], number: str
) -> None:
    a, x = NUMBERS[number], np.ones(2, np.float32)
    expected = hand_on(a) * x

    def f(a: Any) -> Any:
        return fd.tap("result", hand_on(a) * x)

    for _ in range(3):
        found = fd.tap_values(f)(a)["result"]
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        assert transforms.vjp(lambda _: f(a), 1.0)[0].dtype == expected.dtype
    if hand_on is not HANDED_ON["primitive"]:  # which declares no result
        assert fd.jit(f)(a).dtype == expected.dtype


@pytest.mark.parametrize("wrap", ["checkpoint", "cond", "custom_jvp"])
def test_what_hands_on_an_array_without_axes_leaves_it_an_array(wrap: str) -> None:
    custom: Any = fd.custom_jvp(np.zeros_like)
    custom.defjvp(lambda primals, tangents: (np.zeros_like(primals[0]), 0 * tangents[0]))
    wrapped: Any = {
        "checkpoint": fd.checkpoint(np.zeros_like),
        "cond": lambda x: fd.cond(x > 0, np.zeros_like, np.zeros_like, x),
        "custom_jvp": custom,
    }[wrap]

    def f(x: Any) -> Any:
        z = wrapped(x)
        z.reshape(1)[0] = 5.0
        return z * x

    assert fd.value_and_grad(f)(np.array(2.0)) == (10.0, 5.0)
    assert fd.jit(f)(np.array(2.0)) == f(np.array(2.0))
