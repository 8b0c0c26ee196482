"""Writing by random indices: arrays, views and repeated writes hold what NumPy's hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.testing import strategies
from tests.properties.laws import arrays, few, require_laws

SHAPES = strategies.shapes(max_side=3)


@st.composite
def reads(draw: st.DrawFn) -> tuple[Any, Any]:
    """Draw an array and an index expression of it."""
    x = arrays(draw, draw(SHAPES))
    return x, draw(strategies.indices(x.shape))


@few
@given(reads())
def test_a_random_index_reads_as_numpys(read: tuple[Any, Any]) -> None:
    x, index = read
    require_laws(lambda x: x[index], x)


@few
@given(reads(), st.data())
def test_a_random_index_is_written_as_numpys(read: tuple[Any, Any], data: st.DataObject) -> None:
    x, index = read
    shape = np.shape(x[index])
    kept = shape[data.draw(st.integers(0, len(shape))) :]
    kinds = ("f4", "f8", "i8") if x.dtype.kind == "f" else ("f4", "c8", "?")
    value = arrays(data.draw, kept, kinds)

    def f(x: Any, value: Any) -> Any:
        y = (x * 1)[...]
        y[index] = value
        return y + x

    require_laws(f, np.asarray(x), value)


@few
@given(reads(), st.data())
def test_a_random_index_is_changed_in_place_as_numpys(
    read: tuple[Any, Any], data: st.DataObject
) -> None:
    x, index = read
    value = arrays(data.draw, np.shape(x[index]), ("f4", "f8", "i8"))

    def f(x: Any, value: Any) -> Any:
        y = (x * 1)[...]
        y[index] += value
        y[index] *= 2
        return y * x

    require_laws(f, np.asarray(x), value)


@few
@given(reads(), st.data())
def test_adding_at_a_random_index_counts_repetitions(
    read: tuple[Any, Any], data: st.DataObject
) -> None:
    x, index = read
    value = arrays(data.draw, np.shape(x[index]), ("f4", "f8")).astype(x.dtype)

    def f(x: Any, value: Any) -> Any:
        y = (x * 1)[...]
        np.add.at(y, index, value)
        return y

    require_laws(f, np.asarray(x), value)


@few
@given(st.data())
def test_a_view_is_written_through(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, max_side=3)))
    first = data.draw(st.lists(st.slices(4), min_size=1, max_size=x.ndim).map(tuple))
    order = data.draw(st.permutations(range(x.ndim)))

    def f(x: Any) -> Any:
        y = x * 1
        view = y[first].transpose(order)
        y *= 3
        view += 1
        view[..., :1] = view[..., -1:]
        return y, view * 2

    require_laws(f, x)


@few
@given(st.data())
def test_writing_by_a_mask_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(SHAPES), ("f4", "f8", "g"))
    mask = data.draw(strategies.arrays(x.shape, np.bool_))
    value = arrays(data.draw, (), (x.dtype.char,))

    def f(x: Any, value: Any) -> Any:
        y, z, u = ((k * x)[...] for k in (1, 2, 3))
        y[mask] = value
        np.putmask(z, mask, value)
        np.copyto(u, value, where=mask)
        return y, z, u, x[mask], np.where(mask, x, value)

    require_laws(f, x, value)
