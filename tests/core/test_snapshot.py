"""Work buffers: an array that the function itself changes has at each use its value of then."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.builder import Builder
from funcdiff.core.snapshot import Snapshots

LARGE = 1 << 12
"""Elements of an array that is locked rather than copied."""


@pytest.mark.parametrize("size", [1, 3])
def test_a_small_buffer_has_at_each_use_the_value_it_had_then(size: int) -> None:
    buffer = np.zeros(size)

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(1, 4):
            buffer[...] = k
            total = total + (x * buffer)[0]
        return total

    assert fd.grad(f)(np.ones(size))[0] == 6.0
    assert buffer.flags.writeable


def test_a_buffer_that_does_not_change_is_captured_once() -> None:
    buffer = np.ones(3)
    with Builder("test") as builder:
        first = builder.capture(buffer)
        assert builder.capture(buffer).atom == first.atom
        buffer[0] = 5.0
        changed = builder.capture(buffer)
        assert changed.atom != first.atom
        assert builder.capture(buffer).atom == changed.atom
    assert np.array_equal(builder.captures[0], [1, 1, 1])


def test_buffers_are_compared_by_bits() -> None:
    buffer = np.array([0.0, np.nan])
    with Builder("test") as builder:
        first = builder.capture(buffer)
        assert builder.capture(buffer).atom == first.atom
        buffer[0] = -0.0
        assert builder.capture(buffer).atom != first.atom


def test_a_large_buffer_is_locked_with_an_explanation() -> None:
    buffer = np.ones(LARGE)

    def f(x: Any) -> Any:
        y = x * buffer
        buffer[0] = 7.0
        return y[0]

    with pytest.raises(ValueError, match="read-only") as caught:
        fd.grad(f)(np.ones(LARGE))
    (note,) = caught.value.__notes__
    assert "locked until the trace ends" in note
    assert "Write to a copy" in note
    assert buffer[0] == 1.0
    assert buffer.flags.writeable


def test_other_errors_get_no_explanation() -> None:
    buffer = np.ones(LARGE)

    def f(x: Any) -> Any:
        raise ValueError((x * buffer).shape)

    with pytest.raises(ValueError, match="4096") as caught:
        fd.grad(f)(np.ones(LARGE))
    assert not hasattr(caught.value, "__notes__")
    assert buffer.flags.writeable


def test_locks_are_lifted_from_a_view_and_its_base_alike() -> None:
    base = np.ones((2, LARGE))
    rows = base[0], base[1]

    def f(x: Any) -> Any:
        y = x * rows[0] * rows[1]
        assert not any(a.flags.writeable for a in (base, *rows))
        return y[0]

    fd.grad(f)(np.ones(LARGE))
    assert all(a.flags.writeable for a in (base, *rows))


def test_an_array_that_was_read_only_stays_read_only() -> None:
    array = np.ones(LARGE)
    array.flags.writeable = False
    fd.grad(lambda x: (x * array)[0])(np.ones(LARGE))
    assert not array.flags.writeable


def test_nested_traces_keep_a_lock_until_the_last_has_ended() -> None:
    base = np.ones(2 * LARGE)
    view = base[:LARGE]
    outer, inner = Snapshots(), Snapshots()
    outer.take(base)
    inner.take(view)
    inner.release(None)
    assert not base.flags.writeable
    assert not view.flags.writeable
    outer.release(None)
    assert base.flags.writeable
    assert view.flags.writeable


def test_traces_of_two_threads_keep_a_lock_until_the_last_has_ended() -> None:
    array = np.ones(LARGE)
    first, second = Snapshots(), Snapshots()
    first.take(array)
    second.take(array)
    first.release(None)
    assert not array.flags.writeable
    second.release(None)
    assert array.flags.writeable


class Foreign:
    """Memory of another library, which NumPy never makes writeable again."""

    def __init__(self) -> None:
        self.memory = np.ones(LARGE)
        self.__array_interface__ = self.memory.__array_interface__


def test_memory_that_could_not_be_unlocked_is_copied() -> None:
    array = np.asarray(Foreign())
    snapshots = Snapshots()
    kept = snapshots.take(array)
    array[0] = 7.0
    assert kept[0] == 1.0
    assert not snapshots.unchanged(array)
    snapshots.release(None)
    assert array.flags.writeable


def test_memory_of_a_buffer_is_locked_and_unlocked() -> None:
    array = np.frombuffer(bytearray(8 * LARGE))
    snapshots = Snapshots()
    snapshots.take(array)
    assert not array.flags.writeable
    snapshots.release(None)
    assert array.flags.writeable


@pytest.mark.parametrize("shape", [(2, 3), (2, LARGE)])
def test_a_snapshot_keeps_the_shape_it_had(shape: tuple[int, ...]) -> None:
    array = np.ones(shape)
    snapshots = Snapshots()
    kept = snapshots.take(array)
    reshape: Callable[..., Any] = type(array).shape.__set__  # type: ignore[attr-defined]
    reshape(array, shape[::-1])
    assert kept.shape == shape
    assert not snapshots.unchanged(array)
    snapshots.release(None)


def test_a_matrix_is_captured_as_an_ordinary_array() -> None:
    snapshots = Snapshots()
    for size in (2, LARGE):
        matrix = np.ones((2, size)).view(np.matrix)
        assert type(snapshots.take(matrix)) is np.ndarray
    snapshots.release(None)


def test_a_scalar_needs_no_snapshot() -> None:
    value = np.float64(3)
    snapshots = Snapshots()
    assert snapshots.take(value) is value
    assert snapshots.unchanged(value)
