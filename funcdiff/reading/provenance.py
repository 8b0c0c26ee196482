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

    def place(self) -> Place | None:
        """Return the line of the user's that runs, and look who holds what was recorded so far."""
        frame = user_frame()
        if frame is None or frame is self.caller:
            return None
        self.look_into(frame)
        return place_of(frame)

    def look_into(self, frame: FrameType) -> None:
        """Note which local variables of a frame hold tracers, or arrays."""
        module = str(frame.f_globals.get("__name__"))
        generated = frame.f_code.co_filename == "<string>" and module.startswith(_GENERATED)
        if frame.f_code.co_name == "<module>" or generated:
            return
        depth = _depth(frame)
        for word, value in list(frame.f_locals.items()):
            key = (id(frame), word, id(value))
            if key not in self._seen and not word.startswith("__"):
                self._seen[key] = frame, value  # kept: no `id` is given twice
                for path, leaf in _leaves(value):
                    self._note(depth, word, path, leaf)
        for word in frame.f_code.co_names:
            for path, leaf in _leaves(frame.f_globals.get(word)):
                if not isinstance(leaf, Tracer):
                    self._note(depth, word, path, leaf)

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

    def on_return(frame: FrameType, event: str, _arg: Any) -> None:
        if reader.get() is not notes:  # an interrupt has kept us from taking this away
            _set_profiler(before)
            return
        # what was assigned last is returned without another equation
        if event == "return" and is_users(frame):
            notes.look_into(frame)

    token, before = reader.set(notes), sys.getprofile()
    sys.setprofile(on_return)
    try:
        yield notes
    finally:
        _set_profiler(before)
        reader.reset(token)


def _set_profiler(before: Any) -> None:
    """Let what looked on before look on again: a function, or a profiler written in C."""
    if before is None or callable(before):
        sys.setprofile(before)
    else:
        sys.setprofile(None)
        before.enable()


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


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth


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
