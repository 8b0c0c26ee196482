"""The primitives of sorting: values and permutations of ties, batching, refused operands."""

from typing import Any

import numpy as np
import pytest

from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.types import ArrayType
from funcdiff.ops.axes import sorting as ops
from funcdiff.transforms.jvp import jvp
from funcdiff.transforms.vmap import vmap

X = np.array([[3.0, 1.0, 2.0, 1.0, 3.0], [0.0, -0.0, np.nan, 0.0, -1.0]])
T = np.arange(10.0).reshape(2, 5)


def _program(operation: Any, *arrays: Any) -> Any:
    with Builder("test") as builder:
        inputs = [builder.input(ArrayType(x.shape, x.dtype)) for x in arrays]
        return builder.program([operation(*inputs)])


@pytest.mark.parametrize("kth", [(0,), (2,), (1, 3), (4,)])
def test_the_tangent_of_partition_carries_equal_elements_in_their_order(
    kth: tuple[int, ...],
) -> None:
    pushed, _ = jvp(_program(lambda x: ops.partition(x, 1, kth), X), (True,))
    y, t = evaluate(pushed, [X, T])
    np.testing.assert_array_equal(y, np.partition(X, kth, axis=1))
    for row, tangents, result in zip(X, t, y, strict=True):
        origins = tangents.astype(int) % 5
        np.testing.assert_array_equal(row[origins], result)
        assert sorted(origins) == list(range(5))
        for value in np.unique(row):
            places = origins[(result == value) | (np.isnan(result) & np.isnan(value))]
            assert list(places) == sorted(places)


@pytest.mark.parametrize("batched", [(True, True), (True, False), (False, True)])
def test_searchsorted_is_batched_over_either_operand(batched: tuple[bool, bool]) -> None:
    a = np.array([[0.0, 1.0, 3.0], [-1.0, 2.0, 2.5]])
    v = np.array([[[1.0, 0.5]], [[2.0, 9.0]]])
    operands = [x if flag else x[0] for x, flag in zip((a, v), batched, strict=True)]
    program = _program(lambda a, v: ops.searchsorted(a, v, "left"), a[0], v[0])
    rows = [
        [x[k] if flag else x for x, flag in zip(operands, batched, strict=True)] for k in range(2)
    ]
    expected = np.stack([evaluate(program, row)[0] for row in rows])
    np.testing.assert_array_equal(evaluate(vmap(program, 2, batched)[0], operands)[0], expected)


def test_an_axis_out_of_range_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot order f64"):
        _program(lambda x: ops.sort(x, 2), X)


def test_searching_for_values_of_another_dtype_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot search f64"):
        _program(lambda a, v: ops.searchsorted(a, v, "left"), X[0], X[0].astype("f4"))
