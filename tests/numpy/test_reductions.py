"""NumPy's reductions of traced arrays: values bit for bit, both modes, every keyword, errors."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.numpy.border.dispatch import functions
from tests.numpy.agreement import assert_derivatives, assert_value, value_under_trace
from tests.together import together

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4, 5))
LONG = RANDOM.normal(size=(40, 50))

SMOOTH = [np.sum, np.prod, np.nansum, np.nanprod]
EXTREMA = [np.max, np.amin, np.ptp, np.nanmax, np.nanmin]
POSITIONS = [np.argmax, np.argmin]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("f", [*SMOOTH, *EXTREMA, *POSITIONS])
def test_long_sums_add_in_the_order_of_numpy(f: Any, axis: Any) -> None:
    assert_value(lambda x: f(x, axis=axis), LONG)
    assert_value(lambda x: f(x[::-1, 1::2], axis=axis), LONG)
    assert_value(lambda x: f(np.asfortranarray(LONG) + x, axis=axis), np.zeros(1))


@pytest.mark.parametrize("f", [np.nanmax, np.nanmin])
def test_nan_is_left_out_beside_a_complex_infinity(f: Any) -> None:
    for worst in (complex(-np.inf, -5), complex(np.inf, 5)):
        assert_value(f, np.array([complex(np.nan, 0), worst]))


def test_what_numpy_has_without_nan_is_entered_with_its_family() -> None:
    names = {name for name in dir(np) if name.startswith("nan")} - {"nan", "nan_to_num"}
    for name in names:
        ours: Any = functions()[getattr(np, name)]
        plain: Any = functions()[getattr(np, name.removeprefix("nan"))]
        assert ours.func is plain.func
        assert ours.__doc__ != plain.__doc__


@together
@pytest.mark.parametrize("f", [np.sum, np.prod, np.max, np.any, np.count_nonzero, np.nansum])
@pytest.mark.parametrize("dtype", [bool, "i1", "u2", "i8"])
def test_integers_are_widened_as_in_numpy(f: Any, dtype: Any) -> None:
    assert_value(lambda x: f((x * 3).astype(dtype), axis=0) + 0 * x[0].astype("i1"), X)


@pytest.mark.parametrize("f", [np.sum, np.prod])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
def test_dtype_sets_the_dtype_of_the_result(f: Any, dtype: str) -> None:
    expected = f(X, axis=1, dtype=dtype)
    found = value_under_trace(lambda x: f(x, axis=1, dtype=dtype), X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_a_traced_mask_of_an_ordinary_array_is_a_constant() -> None:
    data = np.array([1.0, 2, 4])
    assert fd.vjp(lambda x: np.sum(data, where=x > 1) * x[0], data)[0] == 6
    assert fd.vjp(lambda x: np.add.reduce(data, where=x > 1) * x[0], data)[0] == 6


def test_a_reduction_over_no_axes_is_a_new_array() -> None:
    def f(x: Any) -> Any:
        y = np.sum(x, axis=())
        y *= 2
        return x, y

    x, y = fd.vjp(f, np.ones(2))[0]
    np.testing.assert_array_equal(x, [1, 1])
    np.testing.assert_array_equal(y, [2, 2])


def test_out_receives_the_result() -> None:
    def f(x: Any) -> Any:
        out = np.zeros_like(x[0])
        result = np.sum(x, axis=0, out=out)
        assert result is out
        return out * out

    assert_value(f, X)
    assert_derivatives(f, X)


def test_out_sets_the_dtype_in_which_a_sum_is_added() -> None:
    x = np.full(3, 0.1, np.float32)
    wide = np.zeros(1)
    expected = np.sum(x[:, None], axis=0, out=wide)
    found = fd.vjp(lambda x: np.sum(x[:, None], axis=0, out=np.zeros(1, like=x)), x)[0]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("f", [np.sum, np.max, np.nanmax, np.argmax])
def test_integer_results_have_no_derivative_but_values_work(f: Any) -> None:
    assert fd.grad(lambda x: x * int(f(np.round(x * np.arange(4)).astype(int))))(2.0) >= 2


def test_reductions_of_empty_axes_give_their_identities() -> None:
    assert_value(lambda x: np.sum(x, axis=0) + np.prod(x, axis=0), np.zeros((0, 3)))
    assert_value(lambda x: np.max(x, axis=1), np.zeros((0, 3)))
