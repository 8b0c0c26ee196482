"""Traces calls with the names and source lines that traced values come from.

A tracer that a local variable holds has that name, and an entry of a recording has the line that
made it.  This is for looking at programs only: nothing that computes depends on it.
"""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.inputs import Operands, on_operands
from funcdiff.api.calls.tracing import Trace, nested_policy, record, run
from funcdiff.api.compiling.executables import program_of_trace
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.api.jit import JittedFunction, Traced
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.origins import UNKNOWN, LocatedEntries, Origin, Place, Reader, Word, reader
from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.recording.entries import program_of
from funcdiff.core.running.decisions import Decisions
from funcdiff.core.running.evaluate import as_run
from funcdiff.core.running.walk import copy_equation, walk
from funcdiff.core.scope import run_isolated
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, is_users, notebook_cell, user_frame, user_location
from funcdiff.passes.simplify import simplify

_GENERATED: Final = ("funcdiff", "namedtuple_")
"""Modules of which some code has no file: that of dataclasses and named tuples."""
_COMPARED: Final = 1024
"""Elements of an array that is known by what it holds when it is met, and not when it is named."""
_LARGE: Final = 200
"""Length of a container from which on its parts get no names."""


class Notes(Reader):
    """Names and lines of the user's code, noted while functions are traced."""

    def __init__(self, caller: FrameType | None) -> None:
        super().__init__()
        # The frame that asks for all this, whose lines are no part of the trace.
        self.caller = caller
        self._arrays: dict[Any, tuple[str, Any]] = {}
        self._seen: dict[FrameType, dict[str, Any]] = {}
        self._depths: dict[FrameType, int] = {}  # of the frames that may be running
        self._last: tuple[FrameType | None, Place | None, int] = None, None, 0

    def origin(self) -> Origin:
        """Return the origin that the running line gives, and look who holds what was recorded."""
        frame = user_frame()
        if frame is None or frame is self.caller:
            return UNKNOWN
        origin, instruction = self._line(frame), frame.f_lasti
        before, place, last = self._last
        if before is not frame or place != origin.place or last > instruction:
            if frame not in self._depths:
                self._meet(frame)
            self._look_into(frame)  # within a line nothing has been assigned
        self._last = frame, origin.place, instruction
        return origin

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

    def forget_frames(self) -> None:
        """Let go of all frames, which would keep alive what they hold."""
        self._seen, self._depths, self._last = {}, {}, (None, None, 0)

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
        seen = self._seen.get(frame)
        if seen is None:
            if frame.f_code.co_name == "<module>" or _is_generated(frame):
                return
            seen = self._seen[frame] = {}
            self._look_around(frame)
        depth = self._depths[frame]
        for word, value in frame.f_locals.items():
            if seen.get(word) is not value:
                seen[word] = value
                if not word.startswith("__"):
                    for path, leaf in _leaves(value):
                        self._note(depth, word, path, leaf)

    def _look_around(self, frame: FrameType) -> None:
        """Note which global arrays the code of a frame of the user's may use."""
        for word in frame.f_code.co_names:
            for path, leaf in _leaves(frame.f_globals.get(word)):
                if not isinstance(leaf, Tracer):
                    self._note(0, word, path, leaf)

    def _note(self, depth: int, word: str, path: str, leaf: Any) -> None:
        if not isinstance(leaf, Tracer):
            if isinstance(leaf, np.ndarray):
                key = id(leaf) if leaf.size > _COMPARED else content(leaf)
                self._arrays.setdefault(key, (short_name(word, path), leaf))
        elif leaf.builder is not None:
            entries, atom = leaf.builder.entries, leaf.atom
            if type(entries) is LocatedEntries and type(atom) is int:
                known = entries.words.get(atom)
                if known is None or (depth, bool(path)) < known[:2]:
                    entries.words[atom] = Word(depth, bool(path), short_name(word, path))

    def array_name(self, array: Any) -> str:
        """Return how the user calls a concrete array, or a copy of it; else an empty string."""
        x = np.asarray(array)
        if x.size <= _COMPARED:
            return self._arrays.get(content(x), ("", None))[0]
        held = (
            word for word, y in self._arrays.values()
            if y.shape == x.shape and y.dtype == x.dtype and content(y) == content(x)
        )  # fmt: skip
        return next(held, "")


@contextmanager
def taking_notes(notes: Notes) -> Iterator[Notes]:
    """Note names and lines of what is traced, but for those of the caller."""
    token = reader.set(notes)
    try:
        yield notes
    finally:
        reader.reset(token)
        notes.forget_frames()


def content(x: Any) -> tuple[Any, ...]:
    """Return what tells arrays of different contents apart."""
    return x.shape, x.dtype.char, x.tobytes()


def _is_generated(frame: FrameType) -> bool:
    """Whether a frame runs code that is written for a dataclass or a named tuple."""
    module = str(frame.f_globals.get("__name__"))
    return frame.f_code.co_filename == "<string>" and module.startswith(_GENERATED)


def short_name(word: str, path: str) -> str:
    """Return a name for a part of a container: its key, or the name of the container with it.

    >>> short_name("params", "['w1']"), short_name("layers", "[0]['b']"), short_name("p", ".rate")
    ('w1', 'layers_0_b', 'rate')
    """
    if not path:
        return word
    inner = path.replace("[", ".").replace("]", "").replace("'", "").lstrip(".")
    if inner.isidentifier() or not inner:
        return inner or word
    return f"{word}_{inner.replace('.', '_')}"


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


# ---- Labels of variables: names and lines as a reader sees them ----------------------------------


_LONGEST: Final = 64
"""Characters of a line of the user's that a comment has."""


class Label(NamedTuple):
    """Name and origin of a variable, empty where they are not known."""

    name: str = ""
    place: str = ""  # a comment


def label_of(program: Program, v: Var) -> Label:
    """Return name and place of a variable of a program that was made to be read."""
    origin = origin_of(program, v)
    return Label(origin.name, comment(origin))


def origin_of(program: Program, atom: Atom) -> Origin:
    """Return where an atom comes from, as far as it is known."""
    if program.origins is None or isinstance(atom, Literal):
        return UNKNOWN
    return program.origins[atom.number]


def comment(origin: Origin) -> str:
    """Return the line of the user's that makes something, or that it is the derivative of."""
    place = origin.place
    if place is None:
        return ""
    source = source_of(place)
    if origin.derived:
        where = f"derivative of line {place.line}"
    else:
        where = f"{short_file(place.file)}:{place.line}"
    return f"{where}: {shorten(source)}" if source else where


def shorten(text: str, longest: int = _LONGEST) -> str:
    """Return a text, cut off if it is longer than so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


def short_file(file: str) -> str:
    """Return the name of a file without its folder, or the cell of a notebook."""
    return notebook_cell(file) or os.path.basename(file)


def source_of(place: Place | None) -> str:
    """Return the text of a line, or nothing where it is not known."""
    return "" if place is None else linecache.getline(place.file, place.line).strip()


# ---- Traces a call without running it, with names and lines: for `source`, `cost`, `draw` --------


class Examined(NamedTuple):
    """A call that was traced to be looked at."""

    program: Program  # with the origins of its variables
    trace: Trace
    notes: Notes  # names and lines of the user's code
    operands: list[Any]  # the numbers and arrays among the arguments, in order

    @classmethod
    def of(
        cls,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Examined:
        """Trace a call of a function; raise `InputError` within another trace."""
        check_outside()
        invocation = Operands((args, kwargs))
        caller = user_frame()

        def examine() -> Examined:
            with taking_notes(Notes(caller)) as notes:
                guarded = _trace_with_guards(f, args, kwargs)
                if guarded is not None:
                    return cls(as_run(guarded.program), guarded.trace, notes, invocation.xs)
                trace = record(
                    f, invocation.xs, on_operands(f, invocation), nested_policy(0, lifts=False),
                    taps={}, weak=invocation.weak,
                )  # fmt: skip
                program = as_run(simplify(program_of(*trace.recording)))
            return cls(program, trace, notes, invocation.xs)

        return run_isolated(examine)


def check_outside() -> None:
    """Raise InputError if something is being traced."""
    if current_builder() is not None:
        raise InputError(
            f"source, cost, explain and draw show a call with concrete arrays, but were used "
            f"at {user_location()} while something is traced. Call them outside."
        )


def _trace_with_guards(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Traced | None:
    """Return the trace of a compiled function that decides by values; None of any other."""
    if not isinstance(f, JittedFunction) or f.has_static_parameters:
        return None
    traced = f.trace_call(*args, **kwargs)
    return traced if traced.trace.decisions else None


# ---- Functions of an array by their lines --------------------------------------------------------


def trace_with_decisions(f: Callable[..., Any], x: Any) -> tuple[Program, list[Any]]:
    """Return the program of a function of an array, and what it captures.

    What Python's code decides by is among its outputs, behind those of the function.
    """
    given = Operands(((x,), {}))
    trace = record(
        f, given.xs, on_operands(f, given), nested_policy(2, eager=False, lifts=False),
        types=given.types, decisions=Decisions,
    )  # fmt: skip
    return program_of_trace(trace), trace.captures


def jacobians_by_line(f: Callable[..., Any], x: Any) -> dict[str, Any]:
    """Return the parts of a Jacobian that come through the lines of the user's that use `x`."""
    with taking_notes(Notes(user_frame())):
        program, captures = trace_with_decisions(f, x)
        places, split = _split_uses(program)
    copies = [x for _ in range(len(places) + 1)]
    parts = jacobian(
        lambda *zs: run(split, [*zs, *captures])[0], argnums=tuple(range(len(copies)))
    )(*copies)
    found: dict[str, Any] = {}
    for place, part in zip([*places, None], parts, strict=True):
        name = "elsewhere" if place is None else comment(Origin(place=place))
        found[name] = found.get(name, 0) + part
    return found


def _split_uses(program: Program) -> tuple[list[Place], Program]:
    """Return the lines that use the first input, and a program with an input for each of them.

    These inputs, and one for what is used in no line, stand in the place of the first.  Taking a
    part of it is no use, where the user has no line for that.
    """
    first, lines = program.inputs[0], []
    parts: set[Atom] = {first}
    for eq in program.equations:
        if not parts.isdisjoint(eq.operands):
            place = origin_of(program, eq.results[0]).place
            if place is None:
                parts.update(eq.results)
            elif place not in lines:
                lines.append(place)
    lines.sort()
    with Builder("uses", CLOSED) as builder:
        copies = [builder.input(first.type) for _ in range(len(lines) + 1)]
        versions: dict[Atom, Sequence[Any]] = {first: copies}

        def rule(eq: Equation, xs: list[Any]) -> Sequence[Any]:
            def record(j: int) -> Sequence[Any]:
                pairs = zip(eq.operands, xs, strict=True)
                return copy_equation(eq, [versions[a][j] if a in versions else x for a, x in pairs])

            if eq.results[0] not in parts:
                place = origin_of(program, eq.results[0]).place
                return record(lines.index(place) if place in lines else -1)
            each = [record(j) for j in range(len(copies))]
            versions.update(zip(eq.results, zip(*each, strict=True), strict=True))
            return each[-1]

        rest = [builder.input(t) for t in program.input_types[1:]]
        return lines, builder.program(walk(program, [copies[-1], *rest], rule))
