"""``x[index]`` in all its forms is NumPy's: values, layout of axes, derivatives, kinds of index."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.properties.calling import every_call
from tests.properties.index_kinds import Integer, Sequence, Series
from tests.reading.test_text import assert_call

A = np.random.default_rng(0).normal(size=(3, 4, 5))


def _read(x: Any, index: Any) -> tuple[Any, Any, Any]:
    """Return ``x[index]``, a cotangent, and what the transpose makes of it."""
    ct = np.random.default_rng(1).normal(size=np.shape(x[index]))

    def read(x: Any) -> Any:
        y, pull = fd.vjp(lambda x: x[index], x)
        return y, pull(ct)[0]

    y, back = every_call(read, x)
    return y, ct, back


def _assert_reads(x: Any, index: Any) -> None:
    expected = x[index]
    y, ct, back = _read(x, index)
    assert np.shape(y) == np.shape(expected)
    np.testing.assert_array_equal(y, expected)
    accumulated = np.zeros_like(x)
    np.add.at(accumulated, index, ct)
    np.testing.assert_allclose(back, accumulated, rtol=1e-12)


@pytest.mark.thinned(7)
@pytest.mark.parametrize(
    "index",
    [
        (0, slice(None), [1, 2]),
        ([0, 1], slice(None), [1, 2]),
        (slice(None), [0, 0, 1], 2),
        (slice(None), 2, [0, 0, 1]),
        (0, None, [1, 2]),
        (None, [1, 2], None, 0),
        ([[0], [2]], [1, 1], slice(None, None, -2)),
        (slice(None), slice(None, None, -1), np.array(2)),
        (..., np.array([True, False, True, True, False])),
        (A[:, :, 0] > 0,),
        (A[:, 0, 0] > 0, 1),
        (slice(1, 2), A[0] > 0),
        ([],),
        (slice(None), []),
        np.uint8(2),
        np.array([0, 2], np.uint8),
        True,
        False,
        np.True_,
        (),
        (True, 0),
        (0, True),
        ([0, 1], True),
        (slice(None), True, [0, 1]),
        (..., False),
    ],
    ids=repr,
)  # fmt: skip
def test_a_form_of_index_reads_as_numpy_does(index: Any) -> None:
    _assert_reads(A, index)


@pytest.mark.parametrize("f", [
    lambda x: x[np.argsort(x[:, 0, 0])],
    lambda x: x[:, np.argmax(x[0, :, 0])],
    lambda x: x[x > 0] * 2,
    lambda x: np.sqrt(x)[x > 0],
    lambda x: x[np.argmax(x[:, 0, 0]), ::-1, [0, 0, 3]],
    lambda x: x[np.floor(x[:, 0, 0]).astype(int)],
    lambda x: [row.sum() * row for row in x],
    lambda x: list(x[0].flat)[:3],
])  # fmt: skip
def test_indices_may_be_computed_from_x(f: Any) -> None:
    with np.errstate(invalid="ignore"):
        x = np.clip(A, -0.9, None)
        assert_value(f, x)
        assert_derivatives(f, x)


def test_repeated_positions_accumulate() -> None:
    weights = np.array([1.0, 10.0, 100.0, 1000.0])
    gradient = fd.grad(lambda x: x[[0, 2, 0, -3]] @ weights)(np.ones(3))
    np.testing.assert_array_equal(gradient, [1101.0, 0.0, 10.0])


@pytest.mark.parametrize(("index", "message"), [
    (3, "out of bounds for axis 0 with size 3"),
    ((0, -5), "out of bounds for axis 1 with size 4"),
    ((slice(None), None, 4), "out of bounds for axis 1 with size 4"),
    (([0, 3],), "out of bounds for axis 0 with size 3"),
    ((slice(None), None, [0, 9]), "out of bounds for axis 1 with size 4"),
    ((0, 0, 0, 0), "too many indices"),
    ((..., ...), "single ellipsis"),
    (1.0, "only integers"),
    ("a", "only integers"),
    (np.array([1.0]), "integer"),
    (np.array([True, False]), "boolean index did not match"),
    (([0, 1], [0, 1, 2]), "could not be broadcast|mismatch"),
])  # fmt: skip
def test_a_wrong_index_is_an_index_error_as_in_numpy(index: Any, message: str) -> None:
    with pytest.raises(IndexError):
        A[index]
    with pytest.raises(IndexError, match=message):
        fd.vjp(lambda x: x[index], A)


def test_a_position_out_of_bounds_is_found_inside_vmap() -> None:
    with pytest.raises(IndexError):
        fd.vmap(lambda row, k: row[k])(A[:, 0], np.array([0, 9, 1]))


# ---- kinds of indices ----------------------------------------------------------------------------

A_KINDS = np.random.default_rng(0).normal(size=(3, 4))
INDICES: Any = {
    "a tuple in a tuple": ((0, 1),),
    "two tuples": ((0, 1), (1, 2)),
    "a range": range(2),
    "two ranges": (range(3), range(3)),
    "a range and a list": (range(3), [2, 0, 1]),
    "a range and an array": (range(3), np.array([2, 0, 1])),
    "a range and a series": (range(3), Series([2, 0, 1])),
    "a deque": deque([0, 2]),
    "a series": Series([0, 0]),
    "a mask of a series": Series([True, False, True]),
    "a table of booleans": Series(A_KINDS > 0),
    "a sequence": Sequence([2, 1]),
    "a series of one": Series(1),
    "an integer of its own": Integer(2),
    "a slice of such": slice(Integer(0), np.int64(2)),
    "an unsigned array": np.array([1, 0], "u8"),
    "bytes of positions": np.array([-1, 0], "i1"),
    "an empty tuple in a tuple": ((),),
    "a list of booleans": [True, False, True],
    "None among arrays": ([0, 1], None, [1, 2]),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_an_index_is_what_numpy_makes_of_it(index: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        y[index] = x[index] * x[index]
        y[index] += 1.5
        np.add.at(y, index, x[index])
        return x[index] * 3.0, y

    assert_value(f, A_KINDS)
    assert_derivatives(f, A_KINDS)


def test_rows_of_several_lengths_are_an_error_with_the_place() -> None:
    with pytest.raises(ValueError, match=r"inhomogeneous shape.*test_indexing.py"):
        fd.vjp(lambda x: x[[[0], [0, 1]]], A_KINDS)


def test_bounds_of_slices_are_integers() -> None:
    with pytest.raises(TypeError, match=r"slice indices must be integers.*test_indexing.py"):
        fd.vjp(lambda x: x[0.5:], A_KINDS)


def test_traced_integers_stand_in_lists_and_tuples_under_jit() -> None:
    def f(x: Any, i: Any, j: Any) -> Any:
        y = x * 1.0
        y[[i, j]] += 1.0
        y[(i, j),] *= 2.0
        return y, x[[i, j], [j, i]], x[[[i], [j]], (i, j)]

    expected = f(A_KINDS, 1, 2)
    for found in (fd.jit(f)(A_KINDS, 1, 2), fd.jit(f)(A_KINDS, np.int8(1), np.int8(2))):
        for y, z in zip(found, expected, strict=True):
            np.testing.assert_array_equal(y, z)


def test_small_integers_count_in_long_arrays() -> None:
    x, places = np.arange(300.0), np.array([-1, 5, 5, -128], "i1")

    def f(x: Any, places: Any) -> Any:
        y = x * 1.0
        y[places] = x[places] ** 2
        return y

    expected = np.ones(300)
    expected[[-1, 5, -128]] = 2 * x[[-1, 5, -128]]
    jitted: Any = fd.jit(f)
    y, pull = fd.vjp(lambda x: jitted(x, places), x)
    np.testing.assert_array_equal(y, f(x, places))
    np.testing.assert_array_equal(pull(np.ones(300))[0], expected)


def test_a_row_at_a_traced_position_is_no_view_of_what_is_overwritten() -> None:
    """NumPy's scalars index views; a cotangent taken as one was overwritten before it was used."""
    x = np.array([[3.0, 1.0], [2.0, 1.0]])

    def f(x: Any) -> Any:
        y = x * 1.0
        k = np.argmax(x[:, 0])
        y[k] = y[k] + 1.5
        y[k] = y[k] * x[k]
        return y

    def total(x: Any) -> Any:
        return np.sum(f(x))

    gradient: Any = fd.grad(total)
    for function in (gradient, fd.jit(gradient)):
        for _ in range(8):
            np.testing.assert_array_equal(function(x), [[7.5, 3.5], [1.0, 1.0]])
    assert_call(gradient, x)


# ---- functions -----------------------------------------------------------------------------------


def test_functions_take_positions_as_numpy_casts_them() -> None:
    mask = np.array([True, False, True, True])
    fractions: Any = [0.0, 2.9]
    own: Any = Integer(2)
    grid: Any = (range(2), Series([3, 0]))

    def f(x: Any) -> Any:
        y, z = x * 1.0, x * 1.0
        np.put(y, mask, [7.0, 8.0])
        z.flat[Series([0, 5])] = 2.5
        row = x[0]
        return (
            y, z, np.take(row, mask), np.take(row, fractions), np.take(row, range(2)),
            row.take(deque([1, 1])), np.take(row, own), np.repeat(row, mask),
            np.repeat(row, True), np.repeat(row, Series([0, 1, 2, 0])), np.delete(row, range(2)),
            np.insert(row, Series([0, 1]), 1.5), x[np.ix_(*grid)],
            np.add.reduceat(row, Series([0, 2])), x.flat[Series([3, 7])],
        )  # fmt: skip

    assert_value(f, A_KINDS)
    assert_derivatives(f, A_KINDS)


def test_a_number_is_a_vector_of_one_to_take_and_repeat() -> None:
    def f(x: Any) -> Any:
        number = x[0]
        return (
            np.take(number, [0, 0], axis=0), np.take(number, 0, axis=-1), np.take(number, [0, -1]),
            np.repeat(number, 2, axis=0), np.repeat(number, [3]), np.compress([True], number, 0),
            np.compress([False], number),
        )  # fmt: skip

    assert_value(f, A_KINDS[0])
    assert_derivatives(f, A_KINDS[0])
    for axis in (1, -2):
        with pytest.raises(np.exceptions.AxisError):
            fd.vjp(partial(np.take, indices=[0], axis=axis), 1.0)


def _from_flat(x: Any, index: Any) -> Any:
    return x.flat[index]


def test_the_flat_iterator_refuses_what_numpys_refuses() -> None:
    refused: Any = ([True, False, True, True], None, (0, 1), [0.5, "a"])
    for index in refused:
        with pytest.raises((IndexError, ValueError)):
            A_KINDS.flat[index]
        with pytest.raises((IndexError, ValueError)):
            fd.vjp(partial(_from_flat, index=index), A_KINDS)


def test_a_method_of_an_ordinary_array_names_the_function_to_use() -> None:
    def f(y: Any) -> Any:
        return A_KINDS.dot(y)

    for call in (
        lambda: fd.vmap(f)(A_KINDS),
        lambda: fd.vjp(f, A_KINDS[0]),
        lambda: fd.jit(f)(A_KINDS[0]),
    ):
        with pytest.raises(TypeError, match=r"A_KINDS.dot\(y\).*Write a @ y or np.dot\(a, y\)"):
            call()
    with pytest.raises(TypeError, match=r"Write np.searchsorted\(a, y\)"):
        fd.vmap(lambda y: np.sort(A_KINDS[0]).searchsorted(y))(A_KINDS)
    np.testing.assert_allclose(fd.vmap(lambda y: np.dot(A_KINDS, y))(A_KINDS), A_KINDS @ A_KINDS.T)


def _after_the_largest(x: Any) -> Any:
    try:
        return x[np.argmax(x) + 1] * 2
    except IndexError as error:
        return x[0] * str(error).count("index 3 is out of bounds for axis 0 with size 3")


def _moved(x: Any) -> Any:
    y = x * 1.0
    with suppress(IndexError):
        y[np.argsort(x) - 3 * (x[0] > x[1])] = x[0]
        y[np.argmin(x) + np.array([1, 0])] += 1.0
    return y @ np.arange(3.0)


@pytest.mark.parametrize("f", [_after_the_largest, _moved])
@pytest.mark.parametrize("transform", [
    lambda f: lambda x: fd.value_and_grad(f)(x)[0],
    fd.jit,
    lambda f: fd.jit(lambda x: fd.value_and_grad(f)(x)[0]),
    lambda f: lambda x: fd.vmap(f)(np.stack([x, x]))[1],
    lambda f: lambda x: fd.jvp(f, (x,), (x,))[0],
], ids=["grad", "jit", "jit of grad", "vmap", "jvp"])  # fmt: skip
def test_an_index_that_is_out_of_bounds_can_be_caught(f: Any, transform: Any) -> None:
    transformed = transform(f)
    for x in ([0.5, 2.0, -1.0], [1.0, 1.0, 4.0], [3.0, 2.0, 1.0], [0.5, 2.0, -1.0]):
        np.testing.assert_allclose(transformed(np.array(x)), f(np.array(x)))


def test_what_nobody_could_catch_does_not_decide() -> None:
    f = fd.jit(lambda x: x[np.argmax(x)])
    assert (f(np.array([1.0, 2.0])), f(np.array([2.0, 1.0]))) == (2.0, 2.0)
    assert "guard" not in str(f.lower(np.array([1.0, 2.0])).program)
    rows = np.array([[1.0, 2.0], [2.0, 1.0]])
    np.testing.assert_array_equal(fd.vmap(_picked)(rows), [2.0, 2.0])


def _picked(x: Any) -> Any:
    try:
        return x[np.argmax(x)]
    except IndexError:
        return x[0]
