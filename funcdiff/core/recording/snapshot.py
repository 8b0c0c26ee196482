"""Guards the arrays that a traced function closes over: copies them, or detects changes.

A program runs after its trace has ended, so a work buffer that the function overwrites between
two uses would be read in its last state.  Arrays up to some size are copied.  Larger ones are
watched: their fingerprint is taken when they are used, and compared at each further use and when
the trace ends; a change is an error.  Nothing is done to the array itself, for other threads may
be writing to it, and writing through a view that was made before could not be prevented.

A full fingerprint reads all of the memory once, and depends on every bit and its place; that costs
about half of what reading the array for a product costs.  So an array that did not change in some
calls of a piece of code is looked at in places only, others in every call, and so is one that
nobody should be able to write to; memory that nobody can write to is not looked at.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, Final, TypeAlias
from weakref import ref

import numpy as np
from numpy.lib.stride_tricks import as_strided

from funcdiff.errors import ChangedArrayError, user_frame, user_location

_COLUMNS: Final = 1 << 10
_WORDS: Final = 1 << 14
"""Words of 64 bits that are mixed at a time: they stay in the cache."""

_PLACES: Final = 1 << 10
"""Elements that a sparse fingerprint looks at."""

_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


def _salt() -> NDArray:
    """Return one odd-looking word per place of a block."""
    words = np.arange(1, _WORDS + 1, dtype=np.uint64) * _MULTIPLIER
    words ^= words >> np.uint64(31)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    return words


_SALT: Final = _salt()


def full_fingerprint(array: NDArray) -> bytes:
    """Return a number of 8 kB that any change of the array changes, but for accidents of 2⁻⁶⁴.

    The words of a block are told apart by their places and mixed, so that high bits count as low
    ones do; columns are summed, and the sums of the blocks are the coefficients of a polynomial.
    All this is modulo 2⁶⁴ and exact.
    """
    total = np.zeros(_COLUMNS, np.uint64)
    mixed, shifted = np.empty(_WORDS, np.uint64), np.empty(_WORDS, np.uint64)
    for piece in _pieces(memory(array)):
        data = piece.view(np.uint8)
        for start in range(0, len(data), 8 * _WORDS):
            block = data[start : start + 8 * _WORDS]
            if len(block) == 8 * _WORDS:
                np.bitwise_xor(block.view(np.uint64), _SALT, out=mixed)
            else:
                mixed.fill(0)
                mixed.view(np.uint8)[: len(block)] = block
                mixed ^= _SALT
            np.right_shift(mixed, 29, out=shifted)
            mixed ^= shifted
            total *= _MULTIPLIER
            total += np.add.reduce(mixed.reshape(-1, _COLUMNS), axis=0)
    return total.tobytes()


def sparse_fingerprint(array: NDArray, turn: int) -> bytes:
    """Return the elements at some places all over the array; in another `turn`, at others."""
    cells = memory(array)
    step = max(1, cells.size // _PLACES)
    first = turn * 7919 % step
    if cells.ndim == 1:
        return bytes(cells[first::step].tobytes())
    places = np.unravel_index(np.arange(first, cells.size, step), cells.shape)
    return bytes(cells[places].tobytes())


def same_bits(x: NDArray, y: NDArray) -> bool:
    """Whether arrays of one shape and dtype have the same bits, in each element."""
    if x.flags.f_contiguous:
        x, y = x.T, y.T
    if not (x.flags.c_contiguous and y.flags.c_contiguous):
        return bool(x.tobytes() == y.tobytes())
    words = np.uint8 if x.nbytes % 8 else np.uint64
    a, b = (z.view(np.ndarray).reshape(-1).view(words) for z in (x, y))
    return bool((a == b).all())


def memory(array: NDArray) -> NDArray:
    """Return a view of the elements in the order of memory, flat if they have no gaps.

    What is in memory once is there once, however often the array repeats it.
    """
    cells = array.view(np.ndarray)
    cells = cells[tuple(map(_once, cells.shape, cells.strides))].squeeze()
    cells = cells.transpose(sorted(range(cells.ndim), key=lambda k: -cells.strides[k]))
    if cells.flags.c_contiguous:
        return cells.reshape(-1)
    size, strides = cells.itemsize, cells.strides
    extent = size + sum((n - 1) * s for n, s in zip(cells.shape, strides, strict=True))
    if extent <= cells.nbytes and not any(s % size for s in strides):  # windows that overlap
        return as_strided(cells, (extent // size,), (size,))
    return cells


def _once(_length: int, stride: int) -> slice:
    """Return what takes an axis forwards, and one element of an axis that repeats it."""
    if stride == 0:
        return slice(0, 1)
    return slice(None, None, -1) if stride < 0 else slice(None)


def _pieces(cells: NDArray) -> Iterator[NDArray]:
    """Yield the elements as flat arrays without gaps."""
    if cells.ndim == 1 and cells.flags.c_contiguous:
        yield cells
        return
    rows = max(1, 8 * _WORDS * len(cells) // max(1, cells.nbytes))
    for start in range(0, len(cells), rows):
        yield np.ascontiguousarray(cells[start : start + rows]).reshape(-1)


NDArray: TypeAlias = np.ndarray[Any, Any]

_COPIED_UP_TO: Final = 1 << 20
"""Bytes; copying that much takes about 20 µs, less than recording and running what uses it."""

_COMPARED_FROM: Final = 1 << 17
"""Bytes from which new memory, to compare arrays as bytes, costs more than to compare them."""

_SHARED_FROM: Final = 1 << 14
"""Bytes from which views that are made anew are recognised by their memory."""

_CALLS: Final = 8
"""Clean calls from which an array is looked at in places only."""

_SEEN: Final = 512
"""Elements up to which all of an argument is looked at, and some of a larger one."""

_LENT_BYTES: Final = 1 << 23
"""How much of what was lent is kept, to be compared when the trace ends; the oldest go before."""

_EVERY: Final = 64
"""One call in so many takes full fingerprints all the same."""

_KEPT: Final = 256
"""How many arrays are remembered."""


class Snapshots:
    """The arrays captured by one trace."""

    def __init__(self) -> None:
        self._by_id: dict[int, _Taken] = {}
        self._by_place: dict[Place, _Taken] = {}
        self._watched: list[_Watched] = []
        self._lent: deque[Lent] = deque()
        self._lent_bytes = 0

    def find(self, array: NDArray | np.generic) -> int | None:
        """Return the number of the capture that has the present value of an array, if any.

        Raises `ChangedArrayError` if it has changed since it was used, and has not been copied.
        """
        taken = self._by_id.get(id(array))
        if taken is None or taken.array() is not array:
            if array.nbytes <= _SHARED_FROM or not isinstance(array, np.ndarray):
                return None
            taken = self._by_place.get(place_of(array))
            if taken is None or taken.owner() is not owner_of(array):
                return None
        return taken.number if taken.is_unchanged(array) else None

    def number(self, array: NDArray | np.generic) -> int | None:
        """Return the number of the last capture of an array, whatever has become of it since."""
        taken = self._by_id.get(id(array))
        return taken.number if taken is not None and taken.array() is array else None

    def take(self, array: NDArray | np.generic, number: int) -> Any:
        """Return what keeps the present value until the trace ends: the capture of that number."""
        if not isinstance(array, np.ndarray):
            self._by_id[id(array)] = _Scalar(array, number)
            return array
        taken: _Taken
        if array.nbytes <= _COPIED_UP_TO:
            taken = _Copied(array, number)
        elif _is_constant(array):
            taken = _Constant(array, number)
        else:
            taken = _Watched(array, number)
            self._watched.append(taken)
        self._by_id[id(array)] = taken
        if array.nbytes > _SHARED_FROM:
            self._by_place[place_of(array)] = taken
        return taken.value

    def lend(self, lent: Lent) -> None:
        """Note a copy of a traced array that the user gets, which nobody may write to."""
        self._lent.append(lent)
        self._lent_bytes += lent.array.nbytes
        while len(self._lent) > 1 and self._lent_bytes > _LENT_BYTES:
            oldest = self._lent.popleft()
            self._lent_bytes -= oldest.array.nbytes
            oldest.check()

    def release(self, exception: object) -> None:
        """Let go of the arrays; `ChangedArrayError` if one was changed and all else went well."""
        lent, self._lent, self._lent_bytes = self._lent, deque(), 0
        self._by_id, self._by_place = {}, {}
        if exception is None:
            for taken in self._watched:
                taken.finish()
            for copy in lent:
                copy.check()

    def check(self) -> None:
        """Make sure that the arrays watched were not changed, after the trace, either."""
        for taken in self._watched:
            taken.check()


class _Taken:
    """An array that was used, and what is used in its place."""

    __slots__ = ("array", "number", "owner", "value")

    def __init__(self, array: Any, number: int, value: NDArray | None = None) -> None:
        self.array: Any = ref(array)
        owner = owner_of(array)
        # Of the memory; this and `array` are weak references.
        self.owner: Any = self.array if owner is array else ref(owner)
        # a view keeps its shape, should that of the array be assigned
        self.value: Any = array.view(np.ndarray) if value is None else value
        self.number = number  # of the capture

    def is_unchanged(self, array: NDArray) -> bool:
        """Return whether the array has the value, shape and dtype that it had."""
        return self._is_like(array)

    def _is_like(self, array: NDArray) -> bool:
        value = self.value
        return bool(array.shape == value.shape and array.dtype == value.dtype)


class _Constant(_Taken):
    """An array whose memory nobody writes to."""

    __slots__ = ()


class _Scalar(_Taken):
    """A scalar of NumPy's, which never changes."""

    __slots__ = ()

    def __init__(self, scalar: np.generic, number: int) -> None:
        self.array = self.owner = lambda: scalar
        self.value, self.number = scalar, number


class _Copied(_Taken):
    """An array that was copied."""

    __slots__ = ("_bits",)

    def __init__(self, array: NDArray, number: int) -> None:
        super().__init__(array, number, np.array(array))
        self._bits: bytes | None = None

    def is_unchanged(self, array: NDArray) -> bool:
        if not self._is_like(array):
            return False
        if array.nbytes > _COMPARED_FROM:
            return same_bits(array, self.value)
        if self._bits is None:
            self._bits = self.value.tobytes()
        return self._bits == array.tobytes()


class _Watched(_Taken):
    """An array that is not copied, with its fingerprint."""

    __slots__ = ("_error", "_key", "_line", "_print", "_turn")

    def __init__(self, array: NDArray, number: int) -> None:
        super().__init__(array, number)
        frame = user_frame()
        self._line = user_location(frame)
        self._key = (place_of(array), None if frame is None else frame.f_code)
        self._turn = _calls_without_change(self._key, self.owner())
        self._error: ChangedArrayError | None = None
        self._print = self._fingerprint()

    def _fingerprint(self) -> bytes:
        turn = self._turn
        if (turn < _CALLS or turn % _EVERY == 0) and not _is_promised(self.value):
            return full_fingerprint(self.value)
        return sparse_fingerprint(self.value, turn)

    def is_unchanged(self, array: NDArray) -> bool:
        """Return whether shape and dtype are as before; `ChangedArrayError` if bytes are not."""
        self.check()
        return self._is_like(array)

    def finish(self) -> None:
        """Make sure that the memory was not changed, and remember that."""
        self.check()
        _remember(self._key, self.owner(), self._turn + 1)

    def check(self) -> None:
        if self._error is None and self._fingerprint() != self._print:
            _remember(self._key, self.owner(), 0)
            self._error = ChangedArrayError(  # kept: who catches it shall meet it at the end
                f"an array of shape {self.value.shape} was changed at or before {user_location()}, "
                f"after it had been used together with traced values at {self._line}. The program "
                f"that is traced there runs when the trace has ended, and arrays of more than "
                f"{_COPIED_UP_TO // 2**20} MB are not copied, so it would read the changed values. "
                "Use buffer.copy() in the expression, or compute a new array instead of writing "
                "into the old one."
            )
        if self._error is not None:
            raise self._error


# ---- what is lent --------------------------------------------------------------------------------


class Lent:
    """A copy of a traced array that somebody may look at through a read-only array."""

    def __init__(self, array: NDArray) -> None:
        self.array = array
        self.line = user_location()  # where it was made
        self._before = _some_places(array)

    def update(self, value: Any) -> None:
        """Let the copy have another value, as the traced array has now."""
        self.array[...] = value
        self._before = _some_places(self.array)

    def check(self) -> None:
        """Raise ChangedArrayError if it was written to, which some code of NumPy's does."""
        if _some_places(self.array) != self._before:
            raise ChangedArrayError(
                f"the read-only copy of a traced array that was made at {self.line} was written "
                "to, by code that does not ask whether it may (np.add.at, or compiled code). What "
                "was written would be lost. Give the traced array itself, np.add.at(y, i, v), or a "
                "copy that is yours, np.array(y)."
            )


# ---- arguments -----------------------------------------------------------------------------------


def impression(values: Sequence[Any]) -> list[bytes | None]:
    """Return what an overwritten argument is recognised by: all of it, or some places of it."""
    return [
        _some_places(x) if issubclass(type(x), np.ndarray) and x.flags.writeable else None
        for x in values
    ]


def check_arguments(values: Sequence[Any], before: Sequence[bytes | None], name: object) -> None:
    """Make sure that no argument was overwritten since an `impression` was taken.

    Raises `ChangedArrayError` if one was: the derivative would be that at its new value.
    """
    for x, seen in zip(values, before, strict=True):
        if seen is not None and _some_places(x) != seen:
            raise ChangedArrayError(
                f"an argument of {name}, an array of shape {x.shape}, was written to while {name} "
                f"was traced, at {user_location()}. What is traced runs when the trace has ended, "
                "and would read the changed values. Pass a copy of the array, or let the function "
                "change a copy."
            )


def _some_places(x: NDArray) -> bytes:
    if x.size <= _SEEN:
        return x.tobytes()
    flat = np.ravel(x, "K") if x.flags.forc else x.flat  # which is slow, and makes no copy
    return flat[:: x.size // _SEEN].tobytes()


# ---- memory --------------------------------------------------------------------------------------

Place: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], np.dtype[Any]]
"""Address, shape, strides and dtype: which memory an array looks at, and how."""


def place_of(array: NDArray) -> Place:
    """Return which memory an array looks at, and how."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def owner_of(array: NDArray) -> NDArray:
    """Return the array at the end of the chain of arrays that this one is a view of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _is_promised(array: NDArray) -> bool:
    """Whether all arrays that the array is a view of are read-only, as is what they look at."""
    while not array.flags.writeable:
        base: Any = array.base
        if isinstance(base, np.ndarray):
            array = base
            continue
        if base is None:
            return True
        try:
            return memoryview(base).readonly
        except TypeError:
            return False
    return False


def _is_constant(array: NDArray) -> bool:
    """Whether no code of Python can write to the memory: that of bytes, or of a file."""
    base: Any = owner_of(array).base
    return type(base) is bytes or (isinstance(base, mmap.mmap) and memoryview(base).readonly)


# ---- what is remembered from call to call --------------------------------------------------------

_Key: TypeAlias = tuple[Place, CodeType | None]

_history: Final[dict[_Key, tuple[Any, int]]] = {}
"""By array and code that used it: a reference to the owner of the memory, and how many calls it
went through without a change."""


def _calls_without_change(key: _Key, owner: Any) -> int:
    known, calls = _history.get(key, (None, 0))
    return calls if known is not None and known() is owner else 0


def _remember(key: _Key, owner: Any, calls: int) -> None:
    if len(_history) >= _KEPT and key not in _history:
        _history.clear()
    _history[key] = ref(owner), calls


_READ_ONLY: Final = ("read-only", "readonly", "writable", "writeable")
_OF_EXPORTS: Final = (
    "funcdiff: np.asarray(y) of a traced array is a copy of its value, which is read-only, because "
    "what is written to it would be lost. Write to the traced array itself, y[i] = v or "
    "np.copyto(y, v), or take a copy that is yours: np.array(y)."
)
_NO_MEMORY: Final = ("bytes-like object",)
_OF_MEMORY: Final = (
    "funcdiff: a traced array stands for a value without memory, so that nothing else can read or "
    "write its bytes. Give np.array(y), a copy of the value of an array that has no derivative, "
    "and write a result into the traced array: y[...] = np.frombuffer(bytes)."
)
_OUTPUTS: Final = (
    "supplied output array",
    "out must be a numpy array",
    "output must be an array",
    "'out' must be an array",
    "return arrays must be of arraytype",
)
_OF_OUTPUTS: Final = (
    "funcdiff: if the array given as out= is a traced one, this function cannot write to it. Use "
    "its result, y[...] = f(...), or the function of NumPy's instead of the method, np.take(a, i, "
    "out=y)."
)


def explain(error: object, *, exports: bool) -> None:
    """Add a note to an error that leaves a trace, if it is about the memory of an array.

    Parameters
    ----------
    error
        The exception, or None.
    exports
        Whether plain arrays were made of traced ones in this trace.
    """
    if not isinstance(error, TypeError | ValueError | BufferError):
        return
    text = str(error).lower()
    note = None
    if any(part in text for part in _OUTPUTS):
        note = _OF_OUTPUTS
    elif any(part in text for part in _NO_MEMORY) and "array" in text:
        note = _OF_MEMORY
    elif exports and any(part in text for part in _READ_ONLY):
        note = _OF_EXPORTS
    if note is not None and note not in getattr(error, "__notes__", ()):
        error.add_note(note)
