"""``x[index]`` in all its forms is NumPy's: value, shape, layout of axes, derivative and errors."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value
from tests.properties.calling import every_call

A = np.random.default_rng(0).normal(size=(3, 4, 5))
shapes = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


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


def _numbered(shape: tuple[int, ...]) -> Any:
    return np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)


@given(st.data())
def test_basic_indices_read_as_numpy_does(data: st.DataObject) -> None:
    x = _numbered(data.draw(shapes))
    index = data.draw(hnp.basic_indices(x.shape, allow_newaxis=True, allow_ellipsis=True))
    _assert_reads(x, index)


@given(st.data())
def test_integer_arrays_read_as_numpy_does(data: st.DataObject) -> None:
    x = _numbered(data.draw(shapes))
    kinds = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    index = data.draw(hnp.integer_array_indices(x.shape, result_shape=kinds))
    _assert_reads(x, index)


@st.composite
def mixed_indices(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Draw an index that mixes slices, integers, None, an Ellipsis, integer arrays and masks."""
    common = draw(st.sampled_from([(), (1,), (2,), (2, 1), (3, 2)]))
    items: list[Any] = []
    axis = 0
    stop = draw(st.integers(0, len(shape)))
    while axis < stop:
        kind = draw(st.sampled_from(["slice", "int", "array", "list", "None", "mask"]))
        n = shape[axis]
        if kind == "None":
            items.append(None)
            if len(items) > 6:
                break
            continue
        if kind == "slice":
            items.append(draw(st.slices(n)))
        elif kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "mask":
            # as many true places as the common shape has along its last axis
            wanted = common[-1] if common else 1
            places = draw(st.permutations(range(n)))[: wanted if wanted <= n else 1]
            mask = np.zeros(n, bool)
            mask[list(places)] = True
            items.append(mask)
        else:
            positions = draw(hnp.arrays(np.int64, common, elements=st.integers(-n, n - 1)))
            items.append(positions.tolist() if kind == "list" else positions)
        axis += 1
    if draw(st.booleans()):
        items.append(Ellipsis)
        if axis < len(shape) and draw(st.booleans()):
            items.append(draw(st.integers(0, shape[-1] - 1)))
    return tuple(items)


@given(st.data())
def test_mixed_indices_lay_out_their_axes_as_numpy_does(data: st.DataObject) -> None:
    x = _numbered(data.draw(shapes))
    _assert_reads(x, data.draw(mixed_indices(x.shape)))


@given(st.data())
def test_masks_read_as_numpy_does(data: st.DataObject) -> None:
    x = _numbered(data.draw(shapes))
    covered = data.draw(st.integers(1, x.ndim))
    _assert_reads(x, data.draw(hnp.arrays(bool, x.shape[:covered])))


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
