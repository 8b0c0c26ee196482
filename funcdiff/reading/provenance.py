"""Records which names and source lines of the user's the traced values come from.

A tracer that a local variable holds has that name, and an entry of a recording has the line that
made it.  This is for looking at programs only: nothing that computes depends on it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.core.origins import LocatedEntries, Place, Reader, Word, place_of, reader
from funcdiff.core.tracer import Tracer
from funcdiff.errors import is_users, user_frame

_GENERATED: Final = ("funcdiff", "namedtuple_")
"""Modules of which some code has no file: that of dataclasses and named tuples."""
_LARGE: Final = 200
"""Length of a container from which on its parts get no names."""


class Notes(Reader):
    """What is learnt of the user's code while functions are traced.

    Attributes
    ----------
    caller
        The frame that asks for all this, whose lines are no part of what is traced.
    """

    def __init__(self, caller: FrameType | None) -> None:
        self.caller = caller
        self._arrays: dict[Any, str] = {}
        self._seen: dict[tuple[int, str, int], Any] = {}
        self._depths: dict[FrameType, int] = {}  # of the frames that may be running
        self._last: tuple[FrameType | None, int, int] = None, 0, 0

    def place(self) -> Place | None:
        """Return the line of the user's that runs, and look who holds what was recorded so far."""
        frame = user_frame()
        if frame is None or frame is self.caller:
            return None
        before, line, instruction = self._last
        self._last = frame, frame.f_lineno, frame.f_lasti
        if before is not frame or line != frame.f_lineno or instruction > frame.f_lasti:
            self._meet(frame)  # within a line nothing has been assigned
            self._look_into(frame)
        return place_of(frame)

    def look_again(self) -> None:
        """Look into all frames once more: what was assigned last is followed by no equation.

        A frame that somebody refers to keeps its variables when it has returned.
        """
        for known in list(self._depths):
            self._look_into(known)
        running: set[FrameType] = set()
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            running.add(frame)
            frame = frame.f_back
        self._depths = {f: depth for f, depth in self._depths.items() if f in running}

    def _meet(self, frame: FrameType | None) -> None:
        """Remember how deep a frame is, and those of the user's that have called it."""
        new = []
        while frame is not None and frame is not self.caller and frame not in self._depths:
            new.append(frame)
            frame = frame.f_back
        depth = self._depths.get(frame, 0) if frame is not None else 0
        for found in reversed(new):
            depth += 1
            if is_users(found):
                self._depths[found] = depth

    def _look_into(self, frame: FrameType) -> None:
        """Note which variables of a frame of the user's hold tracers, or arrays."""
        module = str(frame.f_globals.get("__name__"))
        generated = frame.f_code.co_filename == "<string>" and module.startswith(_GENERATED)
        if frame.f_code.co_name == "<module>" or generated:
            return
        depth = self._depths[frame]
        for word, value in list(frame.f_locals.items()):
            if not word.startswith("__") and self._is_new(frame, word, value):
                for path, leaf in _leaves(value):
                    self._note(depth, word, path, leaf)
        for word in frame.f_code.co_names:
            value = frame.f_globals.get(word)
            if value is not None and self._is_new(frame.f_code, word, value):
                for path, leaf in _leaves(value):
                    if not isinstance(leaf, Tracer):
                        self._note(depth, word, path, leaf)

    def _is_new(self, where: Any, word: str, value: Any) -> bool:
        key = id(where), word, id(value)
        if key in self._seen:
            return False
        self._seen[key] = where, value  # kept: no `id` is given twice
        return True

    def _note(self, depth: int, word: str, path: str, leaf: Any) -> None:
        if isinstance(leaf, np.ndarray) and not isinstance(leaf, Tracer):
            self._arrays.setdefault(content(leaf), short_name(word, path))
        elif isinstance(leaf, Tracer) and leaf.builder is not None:
            entries, atom = leaf.builder.entries, leaf.atom
            if isinstance(entries, LocatedEntries) and isinstance(atom, int):
                found = Word(depth, bool(path), short_name(word, path))
                entries.words[atom] = min(entries.words.get(atom, found), found, key=_rank)

    def array_name(self, array: Any) -> str:
        """Return how the user calls a concrete array, or an empty string."""
        return self._arrays.get(content(array), "")


@contextmanager
def taking_notes(notes: Notes) -> Iterator[Notes]:
    """Note names and lines of what is traced, but for those of the caller."""
    token = reader.set(notes)
    try:
        yield notes
    finally:
        reader.reset(token)


def content(array: Any) -> tuple[Any, ...]:
    """Return what tells arrays of different contents apart."""
    x = np.asarray(array)
    return x.shape, x.dtype.char, x.tobytes()


def short_name(word: str, path: str) -> str:
    """Return a name for a part of a container: its key, or the name of the container with it.

    >>> short_name("params", "['w1']"), short_name("layers", "[0]['b']"), short_name("p", ".rate")
    ('w1', 'layers_0_b', 'rate')
    """
    inner = path.replace("[", ".").replace("]", "").replace("'", "").lstrip(".")
    if inner.isidentifier() or not inner:
        return inner or word
    return f"{word}_{inner.replace('.', '_')}"


def _rank(word: Word) -> tuple[int, bool]:
    return word.depth, word.is_part


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Give what a variable holds: itself, or the leaves of a small container, with their paths."""
    if isinstance(value, Tracer | np.ndarray):
        yield "", value
    elif isinstance(value, dict | list | tuple) and 0 < len(value) < _LARGE:
        try:
            leaves, structure = pytree.flatten(value)
        except Exception:  # it holds itself, say: then it has no parts to name
            return
        if len(leaves) < _LARGE:
            yield from zip(pytree.paths(structure), leaves, strict=True)
