"""Arrays that a traced function closes over keep the value they had when they were used.

A program runs after its trace has ended, so a work buffer that the function overwrites between
two uses would be read in its last state.  Small arrays are copied; large ones are locked (made
read-only) until the trace ends, so that writing to them fails loudly.  What NumPy offers no
protection against is a write through another view that was made before.
"""

from __future__ import annotations

import threading
from typing import Any, Final, TypeAlias

import numpy as np

NDArray: TypeAlias = np.ndarray[Any, Any]

_COPIED_UP_TO: Final = 1 << 14
"""Bytes; copying that much costs about as much as recording an equation."""


class Snapshots:
    """The arrays captured by one trace."""

    def __init__(self) -> None:
        self._taken: dict[int, tuple[NDArray, NDArray]] = {}
        self._locked: list[NDArray] = []

    def take(self, array: NDArray | np.generic) -> Any:
        """Return an array that keeps the present value until the trace ends."""
        if not isinstance(array, np.ndarray):
            return array
        owners = _chain(array)
        if array.nbytes > _COPIED_UP_TO and _unlockable(owners[-1]):
            self._locked += _locks.acquire(owners)
            kept = array.view(np.ndarray)  # keeps its shape, should that of `array` be assigned
        else:
            kept = np.array(array)
        self._taken[id(array)] = array, kept
        return kept

    def unchanged(self, array: NDArray | np.generic) -> bool:
        """Return whether an array taken before still has the same bits."""
        if id(array) not in self._taken:
            return True
        now, then = self._taken[id(array)]
        if (now.shape, now.dtype) != (then.shape, then.dtype):
            return False
        return then.base is not None or now.tobytes() == then.tobytes()

    def release(self, exception: object) -> None:
        """Unlock the arrays; explain the ValueError that writing to a locked one has raised."""
        if self._locked and isinstance(exception, ValueError) and "read-only" in str(exception):
            exception.add_note(
                "funcdiff: if this array was used earlier in the function being differentiated, "
                "it is locked until the trace ends. Write to a copy, or compute a new array."
            )
        if self._locked:
            _locks.release(self._locked)
            self._locked = []
        self._taken.clear()


def _chain(array: NDArray) -> list[NDArray]:
    """Return an array, the array that it is a view of, and so on to the owner of the memory."""
    chain = [array]
    while isinstance(chain[-1].base, np.ndarray):
        chain.append(chain[-1].base)
    return chain


def _unlockable(owner: NDArray) -> bool:
    """Whether NumPy will make an array writeable again; memory of other libraries it may not."""
    base: Any = owner.base
    if base is None:
        return owner.flags.owndata
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False


class _Locks:
    """Which arrays are locked, and by how many traces: nested ones, and those of other threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held: dict[int, tuple[NDArray, int]] = {}

    def acquire(self, arrays: list[NDArray]) -> list[NDArray]:
        """Lock arrays; return them without those that were read-only of their own."""
        with self._mutex:
            found = [x for x in arrays if id(x) in self._held or x.flags.writeable]
            for x in found:
                _, count = self._held.get(id(x), (x, 0))
                self._held[id(x)] = x, count + 1
                x.flags.writeable = False
            return found

    def release(self, arrays: list[NDArray]) -> None:
        """Unlock arrays, as far as no other trace holds them or the memory they look into."""
        with self._mutex:
            for x in arrays:
                _, count = self._held[id(x)]
                self._held[id(x)] = x, count - 1
            free = [x for x, count in self._held.values() if not count]
            for x in sorted(free, key=lambda view: len(_chain(view))):  # owners before views
                if not any(self._held.get(id(y), (y, 0))[1] for y in _chain(x)):
                    x.flags.writeable = True
                    del self._held[id(x)]


_locks: Final = _Locks()
"""Empty while nothing is traced."""
