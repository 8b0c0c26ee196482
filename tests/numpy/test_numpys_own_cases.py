"""Cases from NumPy's own tests that traced arrays once answered in another way."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.together import together

NP: Any = np
SMALL = np.array([1, -3, 100], "i1")
UNSIGNED = np.array([3, 2, 1], "u1")


def assert_same(f: Any, *args: Any) -> None:
    """Assert NumPy's values and dtypes; jit traces integers, too."""
    expected, jitted = fd.pytree.flatten(f(*args))[0], fd.jit(f)
    for _ in range(3):
        found = fd.pytree.flatten(jitted(*args))[0]
        for x, y in zip(expected, found, strict=True):
            assert np.asarray(y).dtype == np.asarray(x).dtype
            np.testing.assert_array_equal(y, x)


@together
@pytest.mark.parametrize("dtype", ["i1", "i2", "u4", "i8", "?"])
@pytest.mark.parametrize("exponent", [2.0, 2, 0.5, 1.0, 0.0, np.float32(2), np.int8(2)])
def test_powers_of_integers_have_numpys_dtype(dtype: str, exponent: Any) -> None:
    x = np.array([1, 0, 1, 1] if dtype == "?" else [100, 0, 1, 2]).astype(dtype)
    with np.errstate(over="ignore"):
        assert_same(lambda x: x**exponent, x)
        assert_same(lambda x: np.power(x, exponent), x)


def test_the_square_of_a_small_integer_as_a_float_does_not_wrap_around() -> None:
    assert fd.jit(lambda x: x**2.0)(np.array([200], "i2"))[0] == 40000.0


@pytest.mark.parametrize("number", [-1, 256, 300, -(2**40), 2**80, -(2**70)])
def test_a_comparison_with_an_integer_out_of_range_has_one_answer(number: int) -> None:
    def f(x: Any) -> Any:
        first = x == 1  # then the comparison is recorded directly
        return (first, x == number, x != number, x < number, x <= number, x > number, x >= number,
                number > x, np.less(number, x))  # fmt: skip

    for dtype in ("u1", "i1", "u8"):
        assert_same(f, np.array([0, 1, 7], dtype))
    with pytest.raises(OverflowError):
        fd.jit(lambda x: x + 300)(UNSIGNED)


def test_spacings_of_small_integers_do_not_wrap_around() -> None:
    y = np.array([0.0, 2.0, 4.0])
    for points in (UNSIGNED, np.array([-100, 27, 100], "i1")):
        expected = np.gradient(y, points)
        np.testing.assert_allclose(fd.jit(np.gradient)(y, points), expected, rtol=1e-14)


def test_closeness_to_a_python_number_is_in_the_arrays_precision() -> None:
    below = float(np.nextafter(1.0, 0.0, dtype=float))
    for f in (
        lambda x: np.isclose(x, below, atol=0, rtol=0),
        lambda x: np.isclose(below, x, atol=0, rtol=0),
        lambda x: np.isclose(x, 1),
        lambda x: np.isclose(x, True, rtol=[1e-3]),
    ):
        assert_same(f, np.array([1.0, 2.0], "f4"))
        assert_same(f, np.float32(1))


def test_axes_of_a_product_come_once() -> None:
    x = np.ones((2, 3, 3))
    for axes in (([1, 1], [0, 0]), ([0, 1], [1, -2])):
        with pytest.raises(ValueError, match=r"duplicate axes(?s:.*)test_numpys_own_cases.py"):
            fd.vjp(partial(NP.tensordot, b=np.ones((3, 3, 4)), axes=axes), x)


def test_orders_may_be_written_in_lower_case() -> None:
    x = np.arange(6.0).reshape(2, 3)
    assert_same(
        lambda x: (x.flatten("f"), x.ravel("c"), NP.reshape(x, (3, 2), order="f"), x.copy("f")), x
    )


def test_methods_take_what_those_of_ndarrays_take() -> None:
    numbers, z = np.array([1, 0, 2]), np.array([1 + 2j, 3j, 1])

    def f(numbers: Any, z: Any) -> Any:
        store = z * 0
        z.conjugate(store)
        x = z.real
        return numbers.choose(x, -x, 2 * x), numbers.choose((x, -x, 2 * x)), store

    assert_same(f, numbers, z)


def _stored_in_a_number(f: Any, x: Any) -> Any:
    return f([2.0], out=x[0, ...])


def test_a_result_that_does_not_fit_its_array_is_said_so() -> None:
    for f in (np.positive, np.sin):
        with pytest.raises(ValueError, match=r"broadcast.*test_numpys_own_cases.py"):
            fd.vjp(partial(_stored_in_a_number, f), np.ones(2))


def test_an_array_may_be_asked_for() -> None:
    assert_same(lambda x: NP.add(x, 1.0, out=...), np.ones(2))


def test_the_axis_that_keepdims_keeps_is_the_last_unless_it_is_given() -> None:
    x, y = np.arange(27.0).reshape(3, 3, 3), np.arange(10.0, 19.0).reshape(3, 1, 3)
    for axes in ([0, 2], [0, 2, 0], [(-1,), (-1,), (-1,)], [0, 2, 1], [0, 0]):
        assert_same(partial(NP.vecdot, axes=axes, keepdims=True), x, y)
    for axis in (0, -1):
        assert_same(partial(NP.vecdot, axis=axis, keepdims=True), x, y)
    assert_same(partial(NP.vecdot, axes=[(-1,), (-1,), ()]), x, y)
    with pytest.raises(ValueError, match="axes= must list"):
        fd.vjp(lambda x: NP.vecdot(x, y, axes=[0, 2, 1]), x)


def test_a_point_that_is_nan_does_not_vanish_from_an_interpolation() -> None:
    for points in ([np.nan, 1.0], [0.0, np.nan], [np.nan, np.nan]):
        for values in ([0.0, 10.0, 20.0], [1.0, 1.0, 1.0], [0j, 10 - 20j, 3j]):
            fp = np.array(values[: len(points)])
            for x in (0.5, np.array([-1.0, 0.0, 1.0, 2.0, np.nan])):
                assert_same(np.interp, x, np.array(points), fp)


def test_the_length_of_a_statistic_is_not_negative() -> None:
    for length in (-2, ((5, 2), (-2, 3))):
        with pytest.raises(ValueError, match="can't contain negative values"):
            fd.vjp(partial(NP.pad, pad_width=2, mode="mean", stat_length=length), np.ones((6, 5)))


def test_a_sorter_may_be_traced() -> None:
    x, places = np.random.default_rng(0).random(300), np.linspace(0, 1, 20)
    assert_same(lambda x: np.searchsorted(x, places, sorter=np.argsort(x)), x)
    assert_same(lambda x, order: np.searchsorted(x, places, sorter=order), x, np.argsort(x))
