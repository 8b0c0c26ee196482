"""Operands of other libraries that override ufuncs are asked first, as by ndarrays."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.together import together

MULTIPLY: Any = np.multiply
X = np.array([0.5, 1.0, 2.0])


class Tagged(np.lib.mixins.NDArrayOperatorsMixin):
    """An array with a tag, which handles what is an ndarray: the example of NumPy's pages."""

    def __init__(self, value: Any, tag: str = "m") -> None:
        self.value, self.tag = value, tag

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = [x.value if isinstance(x, Tagged) else x for x in inputs]
        if not all(isinstance(x, np.ndarray | np.generic | float | int) for x in values):
            return NotImplemented
        out = kwargs.get("out")
        if out is not None:
            kwargs["out"] = tuple(x.value if isinstance(x, Tagged) else x for x in out)
        return Tagged(getattr(ufunc, method)(*values, **kwargs), self.tag)


class Outside:
    """Takes part in no ufunc, and has an operator of its own."""

    __array_ufunc__ = None

    def __rmul__(self, other: Any) -> Any:
        return other * 3.0


class Ranked:
    """Has no part in ufuncs' protocol, but operators that go before those of arrays."""

    __array_priority__: float = 10.0

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self.values, dtype)

    def __radd__(self, other: Any) -> Any:
        return self.values[0] + other

    def __rpow__(self, other: Any) -> Any:
        return other * 7.0

    def __gt__(self, other: Any) -> Any:
        return np.where(other > 0.9, self.values, 0.0)


class RankedBelowArrays(Ranked):
    """Its operators go before those of NumPy's scalars only."""

    __array_priority__ = -1.0


class RankedSequence(Ranked):
    """Its operators go before those of arrays, which would take its items."""

    __array__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int) -> Any:
        return self.values[place]


class Polynomial:
    """An object of the user's, which no array can be made of."""

    def __init__(self, *coefficients: Any) -> None:
        self.coefficients = coefficients

    def __radd__(self, other: Any) -> Polynomial:
        return Polynomial(other + self.coefficients[0], *self.coefficients[1:])

    def __rmul__(self, other: Any) -> Polynomial:
        return Polynomial(*(other * c for c in self.coefficients))

    def __rpow__(self, other: Any) -> Polynomial:
        return Polynomial(*(other**c for c in self.coefficients))

    def __rmatmul__(self, other: Any) -> Polynomial:
        return Polynomial(*(5.0 * other * c for c in self.coefficients))

    def __lt__(self, other: Any) -> Any:
        return self.coefficients[0] < other

    def __call__(self, x: Any) -> Any:
        return sum(c * x**k for k, c in enumerate(self.coefficients))


OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.floordiv,
    operator.mod, operator.lt, operator.ge, operator.eq, operator.ne, operator.matmul,
    np.multiply, np.arctan2, np.maximum, np.multiply.outer,
]  # fmt: skip


@together
@pytest.mark.parametrize("apply", OPERATORS)
@pytest.mark.parametrize("swapped", [False, True])
def test_what_comes_of_it_is_what_ndarrays_give(apply: Any, swapped: bool) -> None:
    other = Tagged(np.array([3.0, -1.0, 2.0]))

    def both(x: Any) -> Any:
        return apply(other, x) if swapped else apply(x, other)

    seen = []

    def total(x: Any) -> Any:
        made = both(x)
        seen.append(type(made))
        return np.sum(made.value)

    expected = both(X)
    value, slope = fd.value_and_grad(lambda x: total(x) * 1.0)(X)
    assert seen[0] is type(expected) is Tagged
    np.testing.assert_allclose(value, np.sum(expected.value))
    plain = fd.grad(
        lambda x: np.sum(apply(other.value, x) if swapped else apply(x, other.value)) * 1.0
    )(X)
    np.testing.assert_allclose(slope, plain)


def test_scalars_and_changes_in_place_defer_too() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        y *= Tagged(X)
        assert isinstance(y, Tagged)
        z = x[1] * Tagged(X)
        assert isinstance(z, Tagged)
        w = MULTIPLY(x, Tagged(X), out=Tagged(np.zeros_like(x)))
        assert isinstance(w, Tagged)
        return np.sum(y.value) + np.sum(z.value) + np.sum(w.value)

    np.testing.assert_allclose(fd.grad(f)(X), 3 * X + np.array([0, np.sum(X), 0]))
    np.testing.assert_allclose(fd.jit(fd.grad(f))(X), fd.grad(f)(X))


def test_python_numbers_leave_it_to_the_other_operand() -> None:
    found = []
    fd.grad(lambda x: found.append(x * Tagged(X)) or x * 1.0)(2.0)  # type: ignore[func-returns-value]
    assert isinstance(found[0], Tagged)


def test_what_takes_part_in_no_ufunc_has_its_own_operator() -> None:
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x * Outside()))(X), [3.0, 3.0, 3.0])
    with pytest.raises(TypeError, match=r"unsupported operand type"):
        fd.grad(lambda x: np.sum(x ** Outside()))(X)
    with pytest.raises(TypeError, match=r"does not support ufuncs"):
        fd.grad(lambda x: np.sum(MULTIPLY(x, Outside())))(X)


def test_an_operand_that_does_not_know_traced_arrays_is_named() -> None:
    class Strange:
        def __array_ufunc__(self, *_args: Any, **_kwargs: Any) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match=r"np\.multiply met a traced array and a Strange.*test_def"):
        fd.grad(lambda x: np.sum(x * Strange()))(X)


def test_errors_of_the_other_library_name_the_users_line() -> None:
    class Failing:
        def __array_ufunc__(self, *_args: Any, **_kwargs: Any) -> Any:
            raise ValueError("units do not match")

    for f in (lambda x: np.sum(x * Failing()), lambda x: np.sum(MULTIPLY(x, Failing()))):
        with pytest.raises(ValueError, match="units do not match") as caught:
            fd.grad(f)(X)
        assert "Failing.__array_ufunc__" in caught.value.__notes__[0]
        assert "test_deferring.py" in caught.value.__notes__[0]


def test_subclasses_of_ndarray_are_refused_as_ever() -> None:
    with pytest.raises(TypeError, match="masked array"):
        fd.grad(lambda x: np.sum(x * np.ma.masked_array(X, X > 1)))(X)


RANKED: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.iadd, operator.pow, operator.ipow, operator.lt,
]  # fmt: skip


@together
@pytest.mark.parametrize("apply", RANKED)
@pytest.mark.parametrize("kind", [Ranked, RankedBelowArrays, RankedSequence])
@pytest.mark.parametrize("place", [slice(None), 1, None])
def test_operators_of_a_higher_array_priority_go_first(apply: Any, kind: Any, place: Any) -> None:
    other = kind(np.array([3.0, 2.0, 1.0]))

    def f(x: Any) -> Any:
        return np.sum(1.0 * apply(np.copy(x) if place is None else x.copy()[place], other)) + x[0]

    expected = f(X)
    for way in (f, fd.jit(f)):
        np.testing.assert_allclose(fd.vjp(way, X)[0], expected)
        along = fd.jvp(way, (X,), (np.ones(3),))[1]
        np.testing.assert_allclose(along, (f(X + 1e-6) - f(X - 1e-6)) / 2e-6, atol=1e-6)


@together
@pytest.mark.parametrize("apply", [operator.add, operator.mul, operator.pow])
def test_scalars_leave_their_operators_to_objects_of_the_users(apply: Any) -> None:
    def f(x: Any) -> Any:
        return apply(x[1], Polynomial(x[2], 2.0, 0.5))(x[0])

    along = fd.jvp(f, (X,), (np.ones(3),))[1]
    np.testing.assert_allclose(along, (f(X + 1e-6) - f(X - 1e-6)) / 2e-6, rtol=1e-8)
    np.testing.assert_allclose(np.sum(fd.jit(fd.grad(f))(X)), along)


@together
@pytest.mark.parametrize("apply", [operator.add, operator.sub, operator.mul, operator.pow])
@pytest.mark.parametrize("kind", [Ranked, np.poly1d, Polynomial, np.array])
def test_python_numbers_leave_their_operators_to_all(apply: Any, kind: Any) -> None:
    other = kind(1.5, 2.0) if kind is Polynomial else kind([1.5, 2.0])

    def f(t: Any) -> Any:
        made = apply(t, other)
        return np.sum(made(2.0) if callable(made) else made)

    try:
        expected = f(0.5)
    except TypeError:
        return
    with np.errstate(all="ignore"):
        slope = (f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6
    for way in (f, fd.jit(f)):
        value, found = fd.value_and_grad(way)(0.5)
        np.testing.assert_allclose([value, found], [expected, slope], rtol=1e-8)


def test_the_operators_of_a_class_are_not_those_of_its_instances() -> None:
    two = ctypes.c_double(2.0)  # ctypes.c_double * 2 makes the class of an array
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(x[0] * two))(X), [2.0, 0.0, 0.0])


def test_ufuncs_take_the_values_of_what_ranks_higher() -> None:
    other = Ranked(np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose(
        fd.grad(lambda x: np.sum(np.multiply(x, other)))(X), np.multiply(np.ones(3), other)
    )
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(x * other))(X), other.values)


def test_what_such_objects_do_not_know_is_refused_as_ever() -> None:
    with pytest.raises(fd.errors.UnsupportedNumPyError, match="a Polynomial met a traced array"):
        fd.grad(lambda x: (x[0] - Polynomial(1.0))(1.0))(X)
    with pytest.raises(fd.errors.UnsupportedNumPyError, match="a Polynomial met a traced array"):
        fd.grad(lambda x: (x + Polynomial(1.0))(1.0))(X)
    assert fd.vjp(lambda x: np.where(x[1] > Polynomial(1.5), x, 0.0), X)[0].sum() == 0.0
