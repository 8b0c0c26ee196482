"""Pausing Python's garbage collector while a program is derived from another.

That makes many objects that stay, and no cycles.  The collector, which is called after so many new
objects, would look at all of them again and again: half of the time for some thousand equations.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_state = {"pauses": 0, "resumes": False}


@contextmanager
def paused() -> Iterator[None]:
    """Keep the collector from running; pauses may be nested, and overlap in several threads."""
    with _lock:
        if not _state["pauses"]:
            _state["resumes"] = gc.isenabled()
            gc.disable()
        _state["pauses"] += 1
    try:
        yield
    finally:
        with _lock:
            _state["pauses"] -= 1
            if not _state["pauses"] and _state["resumes"]:
                gc.enable()
