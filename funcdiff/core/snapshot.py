"""Arrays that a traced function closes over keep the value they had when they were used.

A program runs after its trace has ended, so a work buffer that the function overwrites between
two uses would be read in its last state.  Small arrays are copied; large ones are locked (made
read-only) until the trace ends, so that writing to them fails loudly.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_COPIED_UP_TO: Final = 1 << 14
"""Bytes; copying that much costs about as much as recording an equation."""


class Snapshots:
    """The arrays captured by one trace."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = {}
        self._locked: list[np.ndarray[Any, Any]] = []

    def take(self, array: np.ndarray[Any, Any] | np.generic) -> Any:
        """Return an array that keeps the present value until the trace ends."""
        if not isinstance(array, np.ndarray):
            return array
        if array.nbytes <= _COPIED_UP_TO:
            copy = array.copy()
            self._copies[id(array)] = array, copy
            return copy
        owner: Any = array
        while isinstance(owner, np.ndarray):
            if owner.flags.writeable:
                owner.flags.writeable = False
                self._locked.append(owner)
            owner = owner.base
        return array

    def unchanged(self, array: np.ndarray[Any, Any] | np.generic) -> bool:
        """Return whether an array taken before still has the same bits."""
        if id(array) not in self._copies:
            return True
        now, then = self._copies[id(array)]
        return now.tobytes() == then.tobytes()

    def release(self, exception: object) -> None:
        """Unlock the arrays; explain the ValueError that writing to a locked one has raised."""
        if self._locked and isinstance(exception, ValueError) and "read-only" in str(exception):
            exception.add_note(
                "funcdiff: this array was used earlier in the function being differentiated, so "
                "it is locked until the trace ends. Write to a copy, or compute a new array."
            )
        for owner in reversed(self._locked):
            owner.flags.writeable = True
        self._locked.clear()
        self._copies.clear()
