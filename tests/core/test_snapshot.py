"""Work buffers: an array that the function itself changes has at each use its value of then."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.recording import snapshot
from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.snapshot import Snapshots
from funcdiff.errors import ChangedArrayError

LARGE = (1 << 17) + 1
"""Elements of an array that is watched rather than copied."""


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


@pytest.mark.parametrize("buffer", [
    np.array([0.0, np.nan]),
    np.full(20_001, np.nan),
    np.zeros((201, 203), "f4"),
    np.zeros((101, 203), order="F"),
    np.zeros((201, 203))[::2, 1:],
    np.zeros(200_001, "i1"),
], ids=lambda x: f"{x.dtype}{x.shape}")  # fmt: skip
def test_buffers_are_compared_by_bits(buffer: Any) -> None:
    buffer[(0,) * buffer.ndim] = 0
    with Builder("test") as builder:
        first = builder.capture(buffer)
        assert builder.capture(buffer).atom == first.atom
        buffer[(0,) * buffer.ndim] = -0.0 if buffer.dtype.kind == "f" else 1
        second = builder.capture(buffer)
        assert second.atom != first.atom
        buffer[(-1,) * buffer.ndim] = 2
        assert builder.capture(buffer).atom not in (first.atom, second.atom)


def test_a_large_buffer_that_is_written_to_is_an_error_with_both_lines() -> None:
    buffer = np.ones(LARGE)

    def f(x: Any) -> Any:
        y = x * buffer
        buffer[0] = 7.0
        return y[0]

    with pytest.raises(ChangedArrayError, match=r"test_snapshot.*in f.*buffer\.copy\(\)"):
        fd.grad(f)(np.ones(LARGE))
    assert buffer[0] == 7.0
    assert buffer.flags.writeable


def test_a_large_buffer_that_gets_its_old_value_back_is_still_an_error() -> None:
    buffer = np.ones(LARGE)

    def f(x: Any) -> Any:
        y = x * buffer
        buffer[5] = 7.0
        z = x * buffer
        buffer[5] = 1.0
        return (y + z)[0]

    with pytest.raises(ChangedArrayError):
        fd.grad(f)(np.ones(LARGE))


def test_who_catches_the_error_meets_it_when_the_trace_ends() -> None:
    buffer = np.ones(LARGE)

    def f(x: Any) -> Any:
        y = x * buffer
        buffer[:] = 7.0
        with contextlib.suppress(ChangedArrayError):
            y = y + x * buffer
        buffer[:] = 1.0
        return y[0]

    with pytest.raises(ChangedArrayError):
        fd.grad(f)(np.ones(LARGE))


def test_an_error_of_the_function_itself_comes_first() -> None:
    buffer = np.ones(LARGE)

    def f(x: Any) -> Any:
        y = x * buffer
        buffer[:] = 2.0
        raise ValueError(y.shape)

    with pytest.raises(ValueError, match=str(LARGE)):
        fd.grad(f)(np.ones(LARGE))


def test_an_array_that_stays_the_same_is_looked_at_in_places_after_some_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = {"full": 0, "sparse": 0}

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            counts[name] += 1
            return function(*args)

        return call

    monkeypatch.setattr(snapshot, "full_fingerprint", counted("full", snapshot.full_fingerprint))
    monkeypatch.setattr(
        snapshot, "sparse_fingerprint", counted("sparse", snapshot.sparse_fingerprint)
    )
    array, x = np.ones(LARGE), np.ones(LARGE)
    gradient = fd.grad(lambda x: (x * array)[0])
    for _ in range(8):
        gradient(x)
    assert counts == {"full": 16, "sparse": 0}
    for _ in range(64):
        gradient(x)
    assert counts == {"full": 18, "sparse": 126}
    fd.grad(lambda x: (array * x)[0])(x)  # other code
    assert counts["full"] == 20


def test_a_change_after_many_calls_is_seen() -> None:
    array, x = np.ones(LARGE), np.ones(LARGE)
    view, values = array[:], [1.0] * 12 + [2.0, 3.0]

    def f(x: Any) -> Any:
        y = x * array
        view[:] = values.pop(0)
        return y[0]

    gradient = fd.grad(f)
    for _ in range(12):
        gradient(x)
    for _ in range(2):  # and then all of it is looked at again
        with pytest.raises(ChangedArrayError):
            gradient(x)


def test_a_read_only_array_is_looked_at_in_places_from_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot, "full_fingerprint", None)
    array, x = np.ones((2, LARGE)), np.ones(LARGE)
    before = array[:]
    array.flags.writeable = False
    fd.grad(lambda x: (x * array[0])[0])(x)

    def f(x: Any) -> Any:
        y = x * array[0]
        before[:] = 2.0
        return y[0]

    with pytest.raises(ChangedArrayError):
        fd.grad(f)(x)


def test_memory_that_nobody_can_write_to_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(snapshot, "full_fingerprint", None)
    monkeypatch.setattr(snapshot, "sparse_fingerprint", None)
    np.ones(LARGE).tofile(tmp_path / "data")
    mapped = np.memmap(tmp_path / "data", mode="r")
    for array in (mapped.view(float), np.frombuffer(bytes(8 * LARGE))):
        fd.grad(lambda x, array=array: (x * array)[0])(np.ones(LARGE))


@pytest.mark.parametrize("length", [2100, LARGE])
def test_a_view_made_anew_is_captured_once(length: int) -> None:
    base = np.ones((3, length))
    with Builder("test") as builder:
        first = builder.capture(base[1])
        assert builder.capture(base[1]).atom == first.atom
        assert builder.capture(base[2]).atom != first.atom
        assert builder.capture(base[1, ::2]).atom != first.atom
    assert len(builder.captures) == 3


def test_memory_that_is_given_to_another_array_is_captured_anew() -> None:
    with Builder("test") as builder:
        atoms = {builder.capture(np.full(3000, float(k))).atom for k in range(20)}
    assert len(atoms) == 20
    assert [x[0] for x in builder.captures] == list(range(20))


@pytest.mark.parametrize("shape", [(2, 3), (2, LARGE)])
def test_a_snapshot_keeps_the_shape_it_had(shape: tuple[int, ...]) -> None:
    array = np.ones(shape)
    snapshots = Snapshots()
    kept = snapshots.take(array, 0)
    reshape: Callable[..., Any] = type(array).shape.__set__  # type: ignore[attr-defined]
    reshape(array, shape[::-1])
    assert kept.shape == shape
    assert snapshots.find(array) is None


def test_a_matrix_is_captured_as_an_ordinary_array() -> None:
    snapshots = Snapshots()
    for size in (2, LARGE):
        matrix = np.ones((2, size)).view(np.matrix)
        assert type(snapshots.take(matrix, 0)) is np.ndarray


def test_a_scalar_needs_no_snapshot() -> None:
    value = np.float64(3)
    snapshots = Snapshots()
    assert snapshots.take(value, 5) is value
    assert snapshots.find(value) == 5


@pytest.mark.parametrize("size", [1, 3, 512, 513, 20_000])
@pytest.mark.parametrize("transform", [fd.grad, lambda f: fd.jit(f), lambda f: fd.jit(fd.grad(f))])
def test_an_argument_that_the_function_overwrites_is_an_error(transform: Any, size: int) -> None:
    x = np.linspace(1, 2, size)

    def f(z: Any) -> Any:
        doubled = z * 2
        x[:] = 7
        return np.sum(doubled * z)

    with pytest.raises(ChangedArrayError, match=r"argument of f.*written to.*test_snapshot.*copy"):
        transform(f)(x)


def test_a_function_may_write_to_its_parameter_and_to_copies_of_its_argument() -> None:
    x = np.ones((30, 40)).T
    kept = x.copy()

    def f(z: Any) -> Any:
        kept[:] = 7
        z *= 2
        return np.sum(z * z)

    np.testing.assert_array_equal(fd.grad(f)(x), np.full((40, 30), 8.0))
    np.testing.assert_array_equal(x, np.ones((40, 30)))
