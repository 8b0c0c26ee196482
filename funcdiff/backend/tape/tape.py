"""Differentiates a recording on values, operation by operation: a tape.

At first sight this takes a fraction of the time that deriving a program does.  What only a whole
program shows, that an infinite coefficient meets the zero of a mask, say, is not seen here: where
a number is not finite there is no result, and the program has to be derived.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

import numpy as np

import funcdiff.passes as passes
from funcdiff.backend import checking
from funcdiff.backend.tape.on_values import ON_VALUES, Arithmetic
from funcdiff.backend.tape.steps import NeedsProgramError, is_of_arrays
from funcdiff.core.atoms import Entry, Literal
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.entries import Recording, live_variables
from funcdiff.core.running.evaluate import runs_before
from funcdiff.core.running.memo import without_collection
from funcdiff.core.types import ArrayType
from funcdiff.errors import FuncdiffError, InternalError
from funcdiff.transforms.jvp import Mask

P = ParamSpec("P")
R = TypeVar("R")

_Entry: TypeAlias = tuple[Entry, int, Mask, Sequence[Any], Sequence[Any]]
"""An operation that depends on what is differentiated: its entry in the recording, the number of
its first result, which operands are active, and the values of operands and results.  (A class with
names takes three times as long to make.)"""

_EXPECTED: Final = (
    NeedsProgramError, FuncdiffError, ArithmeticError, np.linalg.LinAlgError, Warning,
)  # fmt: skip
"""What the program may raise as well, or is derived for."""

_ALONE: Final = (True,)
"""The one result has a cotangent."""


class Tape:
    """The values of a recording, and the operations that its derivative by `count` inputs needs.

    The values are those of an arithmetic: numbers, or what another trace records.
    """

    def __init__(
        self,
        recording: Recording,
        count: int,
        inputs: Sequence[Any],
        arithmetic: Arithmetic = ON_VALUES,
    ) -> None:
        self._entries, self._outputs = recording[:2]
        self._count, self._arithmetic = count, arithmetic
        # By variable; None where the outputs do not need it.
        self.values: list[Any] = [None] * len(self._entries)
        self._is_active = [False] * len(self._entries)
        self._inputs: list[int] = []
        self.input_types: list[ArrayType] = []  # of all inputs
        self._tape: list[_Entry] = []
        self._run(inputs)
        self.outputs = [
            arithmetic.constant(r) if isinstance(r, Literal) else self.values[r]
            for r in self._outputs
        ]
        # Which outputs depend on the differentiated inputs.
        self.depends = [type(r) is int and self._is_active[r] for r in self._outputs]

    def _run(self, inputs: Sequence[Any]) -> None:
        values, is_active = self.values, self._is_active
        given = iter(inputs)
        needed, arithmetic = live_variables(self._entries, self._outputs), self._arithmetic
        constant, run = arithmetic.constant, arithmetic.run
        operands: Sequence[Any]
        active: Mask
        for number, entry in enumerate(self._entries):
            if not entry:
                continue
            op = entry[0]
            if type(op) is ArrayType:
                values[number] = next(given)
                is_active[number] = len(self._inputs) < self._count
                self._inputs.append(number)
                self.input_types.append(op)
                continue
            if not needed[number]:
                continue
            if not is_of_arrays(op):
                raise NeedsProgramError
            ref = entry[1] if len(entry) == 2 else None
            if type(ref) is int:
                operands = (values[ref],)
                active = _ALONE if is_active[ref] else ()
            else:
                operands = [values[r] if type(r) is int else constant(r) for r in entry[1:]]
                active = tuple([type(r) is int and is_active[r] for r in entry[1:]])
            results = run(op, operands)
            if op.result_count == 1:
                values[number] = results
                if True in active and op.result.differentiable:
                    is_active[number] = True
                    self._tape.append((entry, number, active, operands, (results,)))
                continue
            values[number : number + len(results)] = results
            if True in active:
                for k, t in enumerate(op.results):
                    is_active[number + k] = t.differentiable
                self._tape.append((entry, number, active, operands, results))

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the inputs; None for one that nothing depends on.

        `cotangents` are those of the first outputs; None for an output without one.
        """
        gathered: list[Any] = [None] * len(self.values)
        pull, add = self._arithmetic.pull, self._arithmetic.add
        for output, ct, depends in zip(self._outputs, cotangents, self.depends, strict=False):
            if depends and ct is not None and isinstance(output, int):
                before = gathered[output]
                gathered[output] = ct if before is None else add(before, ct)
        ours: set[int] = set()  # whose cotangents are in memory of our own
        for entry, number, active, operands, results in reversed(self._tape):
            op: Operation = entry[0]
            if op.result_count == 1:
                ct = gathered[number]
                if ct is None:
                    continue
                gathered[number] = None
                step = pull(op, active, _ALONE)
                cts = step.run(*operands, *results, ct)
            else:
                after = number + op.result_count
                given = gathered[number:after]
                present = tuple([ct is not None for ct in given])
                if True not in present:
                    continue
                gathered[number:after] = [None] * op.result_count
                step = pull(op, active, present)
                cts = step.run(*operands, *results, *(ct for ct in given if ct is not None))
            if step.add is not None:
                number, type_ = entry[1 + step.places[0]], op.operands[step.places[0]]
                total = gathered[number]
                if total is None:
                    total = np.zeros(type_.shape, type_.dtype)
                elif number not in ours:
                    total = total.copy()
                ours.add(number)
                gathered[number] = step.add(total, *cts)
                continue
            for place, ct in zip(step.places, cts, strict=True):
                number = entry[1 + place]
                before = gathered[number]
                gathered[number] = ct if before is None else add(before, ct)
        return [gathered[number] for number in self._inputs[: self._count]]

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """Return the tangents of the outputs for those of the inputs; None is a zero."""
        moving: list[Any] = [None] * len(self.values)
        push = self._arithmetic.push
        for number, t in zip(self._inputs, tangents, strict=False):
            moving[number] = t
        # what depends on the inputs has tangents, up to here
        complete = all(t is not None for t in tangents)
        for entry, number, active, operands, results in self._tape:
            if not complete:
                active = tuple([type(r) is int and moving[r] is not None for r in entry[1:]])
                if True not in active:
                    continue
            step = push(entry[0], active)
            if len(active) == 1:
                ts = step.run(*operands, *results, moving[entry[1]])
            else:
                given = [moving[r] for r, flag in zip(entry[1:], active, strict=True) if flag]
                ts = step.run(*operands, *results, *given)
            for place, t in zip(step.places, ts, strict=True):
                moving[number + place] = t
            complete = complete and len(ts) == entry[0].result_count
        return [moving[r] if type(r) is int else None for r in self._outputs]


def attempt(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Return what a function computes with a tape; None if that needs the program derived.

    Which is so if anything is not finite, or fails: the program then says what, and where.  While
    results are checked, a failure that is not of numbers or of rules is an error.
    """
    return copy_context().run(_attempt, partial(function, *args, **kwargs))


def _attempt(function: Callable[[], R]) -> R | None:
    np.seterr(divide="call", over="call", invalid="call", under="ignore")
    np.seterrcall(_stop)
    try:
        return without_collection(function)
    except InternalError:
        raise
    except Exception as error:
        if checking.is_asked_for() and not isinstance(error, _EXPECTED):
            raise InternalError("a tape failed: this is a bug in funcdiff") from error
        return None


def _stop(kind: str, _flag: int) -> None:
    raise NeedsProgramError(kind)


def check_finite(values: Sequence[Any]) -> None:
    """Raise NeedsProgramError if one of the numbers is not finite: not every operation tells."""
    if not are_finite(values):
        raise NeedsProgramError


def are_finite(values: Sequence[Any]) -> bool:
    """Whether all numbers are finite."""
    count = np.count_nonzero  # half the time of ndarray.all on small arrays
    return all([count(np.isfinite(x)) == x.size for x in values if x is not None])  # noqa: C419


# --------------------------------------------------------------------------------------------------
# Tiering: counts the runs of recordings on tapes, until deriving a program is worth its cost.


_SIGHTS_OF_A_LOOP: Final = 6
"""A long program of few equations with loops is derived after so many sights."""

_NEW: Final = 128
"""Operations that may be new: the derivative of one takes some 250 µs, until it is known."""

_KEPT: Final = 1 << 16

_counts: Final[dict[int, int]] = {}
"""By the hash of what was done with a recording: if two agree, one is derived early."""


def comes_back(recording: Recording, *what: Hashable) -> bool:
    """Note that something is done with a recording; return whether it was, often enough."""
    key = hash((recording, what))
    if len(_counts) >= _KEPT:
        _counts.clear()
    seen = _counts[key] = _counts.get(key, 0) + 1
    entries = recording[0]
    if _has_new_operations(entries):
        return True
    often = runs_before([entry[0].size for entry in entries if entry], len(entries))
    return seen > often or (seen > _SIGHTS_OF_A_LOOP and passes.recorded.is_loop(recording))


def _has_new_operations(entries: Sequence[Entry]) -> bool:
    """Whether so many operations were not seen before that the whole is derived in less time.

    They are seen then: what has the same operations goes by a tape.
    """
    if len(entries) <= _NEW:
        return False
    new = {
        x[0] for x in entries
        if x and type(x[0]) is Operation and x[0].steps is None
        and x[0].primitive.facts.model is None
    }  # fmt: skip
    for op in new:
        op.steps = {}
    return len(new) > max(_NEW, len(entries) // 8)


def forget_sightings() -> None:
    """Begin to count anew."""
    _counts.clear()
