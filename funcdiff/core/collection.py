"""Pauses garbage collection while a program is derived from another.

That makes many objects that stay, and no cycles.  The collector, which is called after so many new
objects, would look at all of them again and again: nearly half of the time for some thousand
equations.

The pause belongs to a context, as `copy_context` makes it, and ends when that is freed, however
the code in it ends: a weak reference calls `gc.enable` then, with no step of Python's between, at
which an interrupt could arrive.
"""

from __future__ import annotations

import gc
import os
import sys
from collections import deque
from contextvars import ContextVar
from operator import methodcaller
from typing import Any, Final
from weakref import ref

_COUNTS_REFERENCES: Final = sys.implementation.name == "cpython"
"""Whether a context is freed when it is left, and not some time later."""


class _Pause:
    """What only the context refers to."""

    __slots__ = ("__weakref__",)


class _End(ref[_Pause]):
    """A reference that can be told to switch the collector on."""

    __slots__ = ()
    enable = staticmethod(gc.enable)


_pause: Final[ContextVar[_Pause]] = ContextVar("funcdiff_pause")
_ends: Final[deque[_End]] = deque(maxlen=1024)
"""References to the last pauses, which would not be told if nobody held them.

Threads that begin one at the same time have one each, and whichever ends last has its own.
"""


def pause() -> None:
    """Keep the collector from running, if it does, until the context of the caller is freed."""
    if _COUNTS_REFERENCES and gc.isenabled():
        _begin(_Pause())
        gc.disable()  # last: from here on no frame refers to the pause


def _begin(begun: _Pause) -> None:
    callback: Any = methodcaller("enable")
    _ends.append(_End(begun, callback))
    _pause.set(begun)


def _end_in_child() -> None:
    """Switch the collector on in a process that was forked during a pause of another thread."""
    if any(end() is not None for end in _ends):
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_in_child)
