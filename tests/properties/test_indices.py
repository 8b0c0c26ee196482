"""Any index, of any type: what NumPy takes is taken, and what it refuses is refused alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.testing import strategies
from tests.properties.index_kinds import any_index
from tests.properties.laws import examples, require_laws

SHAPES = strategies.shapes(max_side=3)
Function = Callable[[Any, Any], Any]


def read(x: Any, index: Any) -> Any:
    return x[index] * 1


def written(x: Any, index: Any) -> Any:
    y = (x * 1)[...]
    y[index] = 5.0
    return y


def added(x: Any, index: Any) -> Any:
    y = (x * 1)[...]
    y[index] += 1.5
    y[index] *= x[index]
    return y


def added_at(x: Any, index: Any) -> Any:
    y = (x * 1)[...]
    np.add.at(y, index, 1.5)
    return y


def taken(x: Any, index: Any) -> Any:
    return np.take(x, index), np.take(x, index, axis=0), np.take(x, index, mode="wrap")


def put(x: Any, index: Any) -> Any:
    y = (x * 1)[...]
    np.put(y, index, [7.0, 8.0])
    return y


def repeated(x: Any, index: Any) -> Any:
    return np.repeat(x, index), np.repeat(x, index, axis=0)


def deleted(x: Any, index: Any) -> Any:
    return np.delete(x, index), np.insert(x, index, 1.5)


def flat(x: Any, index: Any) -> Any:
    y = (x * 1)[...]
    y.flat[index] = 2.5
    return y, x.flat[index] * 1


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """Return what a call gives, or the error that it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f(*args)
    except Exception as error:
        return error


def require_numpys(f: Function, x: Any, index: Any) -> None:
    """Require NumPy's value in every mode, and its adjoint; or NumPy's error and a place."""
    items = index if isinstance(index, tuple) else (index,)
    if f is flat and not x.size:  # NumPy reads the memory behind an empty array
        assume(not any(isinstance(item, bool) for item in items))
    expected = outcome(f, np.array(x), index)
    eager = outcome(lambda: fd.vjp(lambda x: f(x, index), x)[0])
    if isinstance(expected, Exception):
        # np.repeat looks at nesting before it looks at elements
        kinds = (type(expected), *([TypeError] if f is repeated else []))
        assert isinstance(eager, kinds), (expected, eager)
        said = f"{eager} {getattr(eager, '__notes__', '')}"
        assert not isinstance(eager, IndexError) or "test_indices.py" in said
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        require_laws(lambda x: f(x, index), x)
        jitted = fd.jit(lambda x: f(x, index))
        for _ in range(3):
            for y, z in zip(fd.pytree.flatten(jitted(x))[0], fd.pytree.flatten(expected)[0],
                            strict=True):  # fmt: skip
                assert np.shape(y) == np.shape(z)
                np.testing.assert_array_equal(y, z)


BY_INDEX = (read, written, added, added_at)
BY_POSITION = (taken, put, repeated, deleted, flat)


def numbered(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)


@examples(3, 315)
@given(SHAPES, st.sampled_from(BY_INDEX), st.data())
def test_any_index_is_numpys(shape: tuple[int, ...], f: Function, data: st.DataObject) -> None:
    require_numpys(f, numbered(shape), data.draw(any_index(shape)))


@examples(3, 315)
@given(strategies.shapes(min_ndim=1, max_side=3), st.sampled_from(BY_POSITION), st.data())
def test_any_positions_are_numpys(shape: tuple[int, ...], f: Function, data: st.DataObject) -> None:
    require_numpys(f, numbered(shape), data.draw(any_index(shape[:1])))
