"""Sorting, joining, splitting, padding and moving arrays of random shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.testing import strategies
from tests.properties.laws import COMPLEX, REAL, arrays, few, require_laws

SHAPES = strategies.shapes(min_ndim=1, max_side=4)


def drawn_axis(data: st.DataObject, ndim: int) -> int:
    return data.draw(st.integers(-ndim, ndim - 1))


@few
@given(st.data())
def test_sorting_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(SHAPES))
    axis = data.draw(st.one_of(st.none(), st.integers(-x.ndim, x.ndim - 1)))
    kind: Any = data.draw(st.sampled_from((None, "stable", "quicksort", "heapsort")))
    require_laws(lambda x: np.sort(x, axis=axis, kind=kind), x)
    require_laws(lambda x: (np.argsort(x, axis=axis, kind=kind), np.sum(x)), x)


@few
@given(st.data())
def test_a_partition_has_its_pivot_where_the_sorted_array_has_it(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, min_side=1)), REAL)
    axis = drawn_axis(data, x.ndim)
    kth = data.draw(st.integers(-x.shape[axis], x.shape[axis] - 1))
    require_laws(lambda x: np.take(np.partition(x, kth, axis=axis), [kth], axis=axis), x)


@few
@given(st.data())
def test_joining_is_numpys(data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    axis = drawn_axis(data, len(shape))
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    pieces = []
    for n in lengths:
        piece = list(shape)
        piece[axis] = n
        pieces.append(arrays(data.draw, tuple(piece), (*REAL, *COMPLEX, "i8", "?")))
    pieces.append(arrays(data.draw, shape))
    require_laws(lambda *xs: np.concatenate(xs, axis=axis), *pieces)
    require_laws(lambda x: np.stack([x, 2 * x, -x], axis=axis), pieces[-1])


@few
@given(st.data())
def test_splitting_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(SHAPES))
    axis = drawn_axis(data, x.ndim)
    bounds = st.lists(st.integers(-5, 5), max_size=3)
    where: Any = data.draw(st.one_of(st.integers(1, 3), bounds))
    require_laws(lambda x: np.array_split(x, where, axis=axis), x)


@few
@given(st.data())
def test_padding_is_numpys(data: st.DataObject) -> None:
    mode: Any = data.draw(
        st.sampled_from(
            ("constant", "edge", "linear_ramp", "maximum", "mean", "minimum", "reflect",
             "symmetric", "wrap")
        )
    )  # fmt: skip
    x = arrays(data.draw, data.draw(strategies.shapes(1, 2, min_side=1, max_side=3)), ("f4", "f8"))
    widths = data.draw(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=x.ndim, max_size=x.ndim)
    )
    require_laws(lambda x: np.pad(x, widths, mode=mode), x)


@few
@given(st.data())
def test_moving_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(strategies.shapes(min_ndim=1, min_side=1, max_side=3)))
    axis, shift = drawn_axis(data, x.ndim), data.draw(st.integers(-5, 5))
    order = data.draw(st.permutations(range(x.ndim)))
    count = data.draw(st.integers(0, 3))
    require_laws(
        lambda x: (
            np.roll(x, shift, axis),
            np.flip(x, axis),
            np.transpose(x, order),
            np.repeat(x, count, axis),
            np.tile(x, count),
            np.rot90(x[..., None], shift),
            np.diff(x, axis=axis),
        ),
        x,
    )


@few
@given(st.data())
def test_reshaping_is_numpys(data: st.DataObject) -> None:
    x = arrays(data.draw, data.draw(SHAPES))
    order: Any = data.draw(st.sampled_from("CF"))
    shape = data.draw(st.permutations([*x.shape, 1]))
    require_laws(lambda x: (x.reshape(shape, order=order), x.ravel(order), x.T), x)
