"""Numbers and lists made of arrays: `item`, `tolist`; shapes that are assigned; shared memory."""

from __future__ import annotations

import collections
import math
import operator
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import EscapedTracerError, LostDerivativeError, UnsupportedNumPyError
from tests.numpy.agreement import Calls, assert_derivatives, assert_value, each_of
from tests.together import together

X = np.array([[0.5, 1.5], [2.0, 0.25]])

NUMBERS: Calls = [
    (name, lambda x, f=f: np.ones(2) * f(x), (X,))
    for name, f in (
        ("item of one", lambda x: x[:1, :1].item() ** 2),
        ("item of a sum", lambda x: np.sum(x).item() * x),
        ("item by number", lambda x: x.item(3) * x.item(-2)),
        ("item by two", lambda x: x.item(1, 0) * x.item((0, 1))),
        ("item of a complex", lambda x: abs((x[0, 0] + 1j * x[0, 1]).item())),
        ("list", lambda x: sum(a * k for k, a in enumerate(x.ravel().tolist(), 1))),
        ("nested lists", lambda x: math.prod(x.T.tolist()[1]) + x.tolist()[1][0]),
        ("list of a number", lambda x: np.sum(x).tolist() ** 2),
        ("sorted list", lambda x: sorted(x.ravel().tolist())[1] * x[0, 0]),
        ("an empty list", lambda x: np.sum(x) * len(x[:0].tolist())),
    )
]


@each_of(NUMBERS)
def test_numbers_made_of_arrays_keep_their_derivative(f: Callable[..., Any], args: Any) -> None:
    assert_value(f, *args)
    assert_derivatives(f, *args)
    np.testing.assert_allclose(fd.jit(f)(X), f(X), rtol=1e-14)
    if "sorted" not in str(f):
        np.testing.assert_allclose(fd.vmap(f)(np.stack([X, X]))[1], f(X), rtol=1e-14)


def test_numbers_without_a_derivative_are_pythons_own() -> None:
    found: list[Any] = []

    def f(x: Any) -> Any:
        found.append((np.argmax(x).item(), (x > 1).tolist(), fd.stop_gradient(x).item(0)))
        return np.sum(x)

    fd.grad(f)(X)
    assert found == [(2, [[False, True], [True, False]], 0.5)]
    assert [type(x) for x in found[0]] == [int, list, float]


def test_a_number_made_of_an_array_is_of_the_class_that_numpy_gives() -> None:
    def f(x: Any) -> Any:
        assert isinstance(x.item(0), float)
        assert not isinstance(x.item(0), np.generic)
        assert isinstance((x + 0j).tolist()[0][0], complex)
        assert (np.ones(2, np.float32) * x.item(0)).dtype == np.float32
        with pytest.raises(ValueError, match="size 1"):
            x.item()
        with pytest.raises(IndexError):
            x.item(7)
        return x.item(0)

    assert fd.grad(f)(X)[0, 0] == 1.0


def test_a_number_made_of_an_array_loses_no_derivative_silently() -> None:
    kept: list[Any] = []
    for lose in (lambda x: math.sin(x.item(0)), lambda x: float(x.tolist()[0][0])):
        with pytest.raises(LostDerivativeError, match="test_python_values"):
            fd.grad(lambda x, lose=lose: lose(x) * np.sum(x))(X)

    def keep(x: Any) -> Any:
        kept.append(x.item(0))
        return np.sum(x)

    fd.grad(keep)(X)
    with pytest.raises(EscapedTracerError):
        kept[0] * 2.0


@together
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("other", [[1.0, 2.0], (1.0, 2.0), [], range(3), "ab", b"ab"])
@pytest.mark.parametrize("name", ["add", "mul", "sub", "truediv", "pow", "floordiv"])
@pytest.mark.parametrize("x", [2.5, np.float64(2.5), np.array(2.5), 2.5 + 1j])
def test_numbers_and_lists_are_refused_where_python_and_numpy_refuse_them(
    x: Any, name: str, other: Any, turned: bool
) -> None:
    def f(x: Any) -> Any:
        operands = (other, x) if turned else (x, other)
        try:
            shapes.append(np.shape(getattr(operator, name)(*operands)))
        except TypeError:
            shapes.append(None)
        return x * 1.0

    shapes: list[Any] = []
    with np.errstate(all="ignore"):
        f(x)
        if shapes[0] == () and isinstance(other, bytes):
            return  # bytes take the memory of a number
        fd.vjp(f, x)
    assert shapes[0] == shapes[1]


# ---- shapes that are assigned --------------------------------------------------------------------


def _read_before(y: Any) -> Any:
    z = y[1:]
    y.shape = (4,)
    y[2] = 7 * y[0]
    return np.sum(z**2) + np.sum(y * y)


def _a_view(y: Any) -> Any:
    z = y[:, 0]
    z.shape = (1, 2)
    z += 1.0
    return y * z


def _a_base_of_views(y: Any) -> Any:
    y = y.copy()
    z = y.ravel()
    first, w = z[:2], z[:2][:1]
    z.shape = (2, 2)
    w[0] = 3 * z[1, 1]
    first[1] *= 2
    z *= z
    return np.concatenate([first, w, z[0], y[1]])


def _more_than_once(y: Any) -> Any:
    y.shape = -1, 1
    y.shape = (4,)
    y[1:] *= y[:-1]
    return y


SHAPES: Calls = [
    (f.__name__, lambda x, f=f: f(x * 2.0), (X,))
    for f in (_read_before, _a_view, _a_base_of_views, _more_than_once)
]


@each_of(SHAPES)
def test_a_shape_that_is_assigned_is_a_view_under_the_same_name(
    f: Callable[..., Any], args: Any
) -> None:
    assert_value(f, *args)
    assert_derivatives(f, *args)
    np.testing.assert_allclose(fd.jit(f)(*args), f(*args))
    np.testing.assert_allclose(fd.vmap(f)(np.stack([X, X]))[1], f(*args))


def test_a_shape_that_needs_a_copy_is_refused_by_numpy_with_the_line() -> None:
    def f(x: Any) -> Any:
        y = (x * 1.0).T
        y.shape = (4,)
        return np.sum(y)

    with pytest.raises(AttributeError, match="in-place modification") as caught:
        fd.grad(f)(X)
    assert any("test_python_values.py" in note for note in caught.value.__notes__)
    with pytest.raises(AttributeError, match=r"not writable.*test_python_values\.py"):
        fd.vjp(lambda x: setattr(x[0, 0], "shape", (1,)), X)


def _random(seed: int, x: Any) -> Any:
    """Make views, assign shapes and change in place, as a number decides."""
    choose = random.Random(seed)
    arrays = [x * 2.0 if choose.random() < 0.7 else (x * 2.0).T]
    for _ in range(choose.randint(3, 8)):
        y, kind = choose.choice(arrays), choose.random()
        if kind < 0.35:
            shapes = [(-1,), (1, -1), (-1, 1), (2, -1), (-1, 2), (2, 2, -1)]
            fitting = [s for s in shapes if y.size and y.size % abs(math.prod(s)) == 0]
            if fitting:
                y.shape = choose.choice(fitting)
        elif kind < 0.7:
            arrays.append(choose.choice(_MOVES)(y))
        elif y.size:
            y *= choose.choice(arrays).ravel()[:1].sum() if choose.random() < 0.5 else 1.5
    return np.concatenate([y.ravel() for y in arrays])


_MOVES: list[Callable[[Any], Any]] = [
    lambda y: y[1:],
    lambda y: y[::-1],
    lambda y: y.T,
    lambda y: y[..., :1],
    lambda y: y[::2],
    lambda y: y.reshape(-1),
]


@pytest.mark.slow
def test_random_views_whose_shapes_are_assigned_agree_with_numpy() -> None:
    x = np.arange(1.0, 13.0).reshape(3, 4) / 7
    outcomes: collections.Counter[str] = collections.Counter()
    for seed in range(120):
        try:
            expected = _random(seed, x)
        except AttributeError:
            with pytest.raises(AttributeError):
                fd.vjp(partial(_random, seed), x)
            outcomes["no view"] += 1
            continue
        np.testing.assert_array_equal(fd.vjp(partial(_random, seed), x)[0], expected)
        try:
            np.testing.assert_allclose(fd.jit(partial(_random, seed))(x), expected, rtol=1e-14)
        except UnsupportedNumPyError:
            outcomes["a layout that is not known"] += 1
    assert outcomes["no view"] < 50
    assert outcomes["a layout that is not known"] < 20


# ---- shared memory -------------------------------------------------------------------------------

VIEWS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda y: y,
    "rows": lambda y: y[1:],
    "first": lambda y: y[:1],
    "T": lambda y: y.T,
    "ravel": np.ravel,
    "flat of T": lambda y: y.T.ravel(),
    "copy": np.copy,
    "product": lambda y: y * 2,
    "column": lambda y: y[..., 0],
    "reversed": lambda y: y[::-1],
    "chosen": lambda y: y[[0]],
    "element": lambda y: y[0, 0],
    "sum": np.sum,
    "corner": lambda y: y[1:, 1:],
    "repeated": lambda y: np.broadcast_to(y, (2, 2, 2)),
    "converted": lambda y: y.astype(float, copy=False),
    "evens": lambda y: y.reshape(-1)[::2],
    "odds": lambda y: y.reshape(-1)[1::2],
}


@pytest.mark.slow
@together
@pytest.mark.parametrize("second", VIEWS)
@pytest.mark.parametrize("first", VIEWS)
@pytest.mark.parametrize("question", [np.may_share_memory, np.shares_memory])
def test_arrays_share_memory_as_those_of_numpy(question: Any, first: str, second: str) -> None:
    def f(x: Any) -> Any:
        for y in (x * 2, x.T * 2.0, np.zeros_like(x)):
            found.append(question(VIEWS[first](y), VIEWS[second](y)))
            found.append(question(VIEWS[first](y), X))
        return np.sum(x)

    found: list[bool] = []
    f(X)
    expected, found = found, []
    fd.grad(f)(X)
    assert found == expected
    assert {type(answer) for answer in found} == {bool}


def test_how_to_copy_may_be_said_by_numpys_enumeration() -> None:
    modes = np._CopyMode
    for copy in (modes.ALWAYS, modes.IF_NEEDED, modes.NEVER):

        def f(x: Any, copy: Any = copy) -> Any:
            y = x * 2.0
            for z in (
                fnp.array(y, copy=copy),
                fnp.asarray(y, copy=copy),
                np.reshape(y, (4,), copy=copy),
                np.nan_to_num(y, copy=copy),
            ):
                z[0] += z[-1]
            return y

        assert_value(f, X)
        assert_derivatives(f, X)
    with pytest.raises(ValueError, match="avoid copy"):
        fd.grad(lambda x: np.sum(fnp.array([x], copy=modes.NEVER)))(X)
