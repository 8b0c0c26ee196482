"""Adding at positions computes what `numpy.add.at` does, in whatever way is quick."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcdiff.core import implementation
from funcdiff.ops.axes.indexing import Indexed, scatter_add_p


@given(st.integers(0, 2**32 - 1))
def test_repeated_positions_add_up_in_their_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    ndim = int(random.integers(1, 4))
    shape = tuple(random.integers(1, 6, ndim).tolist())
    count = int(random.integers(1, ndim + 1))
    axes = tuple(sorted(random.choice(ndim, count, replace=False).tolist()))
    places = tuple(random.integers(0, 9, random.integers(0, 3)).tolist())
    kind = str(random.choice(["i1", "i8", "u2"]))
    low = 0 if kind == "u2" else -1
    indices = [random.integers(low * shape[a], shape[a], places).astype(kind) for a in axes]
    dtype = str(random.choice(["f8", "f4", "c16", "f2", "i8"]))
    x = (random.normal(size=shape) * 3).astype(dtype)
    updates = (random.normal(size=(*places, *np.delete(shape, axes))) * 3).astype(dtype)
    expected = x.copy()
    np.add.at(implementation.axes_first(expected, axes), tuple(indices), updates)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(implementation, "_FEW_UPDATES", 0)
        patch.setattr(implementation, "_BLOCK", 5)
        found = scatter_add_p.impl(Indexed(axes))(x, updates, *indices)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("place", [7, -8])
@pytest.mark.parametrize("make", [np.zeros, lambda shape: np.zeros(shape[::-1]).T])
def test_positions_outside_raise(place: int, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(implementation, "_FEW_UPDATES", 0)
    with pytest.raises(IndexError, match="out of bounds for axis 0 with size 7"):
        scatter_add_p.impl(Indexed((0,)))(make((7, 3)), np.ones((2, 3)), np.array([1, place]))
