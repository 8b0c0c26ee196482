"""What no table of calls has of shape, joining, choosing and copying."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.together import together

A = np.random.default_rng(0).normal(size=(2, 3, 4))


def test_reading_the_shape_gives_plain_numbers() -> None:
    def f(x: Any) -> Any:
        assert np.shape(x) == (2, 3, 4)
        assert np.ndim(x) == 3
        assert (np.size(x), np.size(x, 1), len(x)) == (24, 3, 2)
        return x.sum()

    np.testing.assert_array_equal(fd.grad(f)(A), np.ones_like(A))


def test_arrays_to_join_are_no_iterator() -> None:
    for join in (np.concatenate, np.stack, np.hstack):
        with pytest.raises(TypeError, match='passed as a "sequence" type'):
            fd.grad(lambda x, join=join: np.sum(join(y for y in x)))(np.ones((2, 2)))


X = np.array([1.5, -2.5, 3.0])
JOINS = {
    "concatenate": np.concatenate, "stack": np.stack, "vstack": np.vstack, "hstack": np.hstack,
    "stack behind": lambda xs, **words: np.stack(xs, -1, **words),
}  # fmt: skip


@together
@pytest.mark.parametrize("join", JOINS.values(), ids=list(JOINS))
@pytest.mark.parametrize("casting", ["no", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_a_joined_array_is_cast_as_numpy_casts_it(join: Any, casting: Any, dtype: Any) -> None:
    def f(x: Any) -> Any:
        return join([x, 2 * x], dtype=dtype, casting=casting)

    try:
        expected = f(X)
    except TypeError:
        with pytest.raises(TypeError, match="Cannot cast"):
            fd.vjp(f, X)
        return
    found = fd.vjp(f, X)[0]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("dtype", ["O", "U3", ">f8", "m8[s]"])
def test_a_dtype_that_no_program_has_is_refused(dtype: str) -> None:
    with pytest.raises(UnsupportedNumPyError, match="dtype="):
        fd.vjp(lambda x: x.astype(dtype), X)


def test_a_grid_of_matrices_needs_no_layout() -> None:
    x = np.arange(6.0).reshape(3, 2).T
    for way in (fd.jit, lambda f: lambda x: fd.vmap(f)(np.stack([x, x]))[1]):
        found = way(lambda x: np.stack(np.meshgrid(x, x * 2)))(x)
        np.testing.assert_array_equal(found, np.stack(np.meshgrid(x, x * 2)))


def test_numbers_of_choices_may_be_batched_and_are_checked_even_so() -> None:
    numbers = np.array([[0, 1, 1], [1, 0, 0]])

    def chosen(numbers: Any) -> Any:
        return np.choose(numbers, [np.arange(3.0), np.arange(10.0, 13.0)])

    expected = [chosen(row) for row in numbers]
    np.testing.assert_array_equal(fd.vmap(chosen)(numbers), expected)
    np.testing.assert_array_equal(fd.jit(chosen)(numbers[0]), expected[0])
    for wrong in (numbers + 1, numbers - 1):
        with pytest.raises(ValueError, match="invalid entry"):
            fd.vmap(chosen)(wrong)


@pytest.mark.parametrize("f", [
    lambda x: np.compress([True, False, True], x, axis=0),
    lambda x: np.piecewise(x, [x < 0, x > 0.5], [np.square, 3.0, np.sin]),
    lambda x: np.piecewise(x, x > 0, [np.exp, np.sin]),
])  # fmt: skip
def test_a_trace_without_values_knows_what_does_not_depend_on_them(f: Any) -> None:
    rows = A[:, :, 0]
    np.testing.assert_array_equal(fd.vmap(f)(rows), np.stack([f(row) for row in rows]))


def test_positions_that_depend_on_values_need_them() -> None:
    with pytest.raises(ConcreteValueError):
        fd.vmap(lambda x: x[np.nonzero(x > 0)])(A)


X_FUNCTIONS = np.array([[1.0, 2.5, -3.5], [0.25, 4.75, -1.0]])
FIRST = {
    "an integer": lambda place, v: 3 if place == 0 else v[0] + v[1],
    "a number of fewer bits": lambda place, v: np.float32(0.1) if place == 0 else v[0] / 3,
    "a number of more bits": lambda place, v: v[0] / 3 if place == 0 else np.float32(0.1),
    "a complex number": lambda place, v: v[0] * 1j if place == 0 else v[0],
}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("first", FIRST.values(), ids=list(FIRST))
def test_the_first_result_along_an_axis_decides_on_the_dtype(first: Any, axis: int) -> None:
    def f(x: Any) -> Any:
        places = iter(range(9))
        return np.apply_along_axis(lambda v: first(next(places), v), axis, x)

    found, expected = fd.vjp(f, X_FUNCTIONS)[0], f(X_FUNCTIONS)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("copy", [
    lambda y: np.where(True, y, y),
    lambda y: np.where(True, y, 0.0),
    lambda y: np.clip(y, None, None),
    lambda y: np.conj(y),
])  # fmt: skip
def test_what_numpy_copies_is_changed_alone(copy: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = copy(y)
        z *= 2
        return np.sum(y)

    assert fd.value_and_grad(f)(np.ones(2))[0] == f(np.ones(2))
    np.testing.assert_array_equal(fd.grad(f)(np.ones(2)), [1.0, 1.0])


def test_the_conjugate_method_of_a_real_array_is_the_array() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y.conj()[0] = 5.0
        return np.sum(y)

    assert fd.value_and_grad(f)(np.ones(2))[0] == f(np.ones(2)) == 6.0
    np.testing.assert_array_equal(fd.grad(f)(np.ones(2)), [0.0, 1.0])


@pytest.mark.parametrize("f", [
    np.nonzero, np.where, lambda x: x.nonzero(), lambda x: np.nonzero(x[()] > 0),
])  # fmt: skip
@pytest.mark.parametrize("transform", [fd.jit, fd.grad], ids=["jit", "grad"])
def test_a_value_without_axes_has_no_places(f: Any, transform: Any) -> None:
    with pytest.raises(ValueError, match=r"of a value without axes, at .*np\.atleast_1d\(x\)"):
        transform(lambda x: x * len(f(x)))(np.array(2.0))


LINEAR_PADDING: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": 0},
    "edge": {},
    "wrap": {},
    "reflect": {},
    "symmetric": {"reflect_type": "even"},
    "reflected oddly": {"mode": "reflect", "reflect_type": "odd"},
    "oddly symmetric": {"mode": "symmetric", "reflect_type": "odd"},
    "mean": {"stat_length": ((1, 2), (2, 1))},
    "linear_ramp": {"end_values": 0},
    "by a function": {"mode": lambda row, width, *_: row.__setitem__(0, width[0] * row[-1])},
}


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (2, 2)])
@pytest.mark.parametrize("name", LINEAR_PADDING)
def test_padding_is_linear_in_every_way_as_numpys_is(name: str, shape: tuple[int, int]) -> None:
    def f(x: Any) -> Any:
        return np.pad(x, ((1, 2), (3, 0)), **{"mode": name, **LINEAR_PADDING[name]})

    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape) ** 2
    units = np.eye(x.size).reshape(x.size, *shape)
    columns = np.stack([f(unit) for unit in units], -1).reshape(f(x).shape + shape)
    for jacobian in (fd.jacfwd(f), fd.jacrev(f), fd.jit(fd.jacrev(f))):
        np.testing.assert_allclose(jacobian(x), columns, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(fd.jit(f)(x), f(x))
    np.testing.assert_array_equal(fd.vmap(f)(units), np.stack(list(map(f, units))))
    rows = fd.scan(lambda carry, row: (carry, f(row)), 0.0, units)[1]
    np.testing.assert_array_equal(rows, np.stack(list(map(f, units))))


def test_values_are_put_at_positions_of_the_flat_array() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        np.put_along_axis(y, np.array([3, 1]), x[0, :2] * 5, None)
        return y

    x = np.arange(6.0).reshape(2, 3)
    assert_value(f, x)
    assert_derivatives(f, x)
    np.testing.assert_array_equal(fd.jit(f)(x), f(x))
