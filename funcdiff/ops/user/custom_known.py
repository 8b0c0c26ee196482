"""Evaluated calls of functions with custom derivative rules: `custom_known`.

The equation hands on the results that the call had.  Its derivative calls the rules, which are
Python code, when the program runs.  Which call it was is an operand, a number, so that programs
of equal calls are equal: what is derived of one serves for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

import numpy as np

from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError, ProgramError
from funcdiff.ops.families import several
from funcdiff.ops.user.custom_rules import without_rule
from funcdiff.ops.user.python_call import map_batches
from funcdiff.space import instantiate
from funcdiff.transforms.jvp import present

INDEX: Final = ArrayType((), np.dtype(np.int64))
"""The type of the operand that says which call it was."""


class Rules(Protocol):
    """The rules of a call; arrays come and go without conjugation, as in programs."""

    def push(self, active: Sequence[bool], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the floating results, for those of the active operands."""

    def pull(self, active: Sequence[bool], cts: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the active operands, for those of the floating results."""


class NeedsTracingError(Exception):
    """What runs on values uses a traced array that is none of its arguments, or asks for a value.

    The value, that is, of a tangent or cotangent that is being recorded.  Or a rule is asked for
    that is not there, as cotangents are in forward mode.
    """


class RuleFailure(BaseException):
    """Carries an error of a rule past all that computes another way where something fails."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


_BITS: Final = 26
"""Behind so many bits, the number of a call has that of the trace in which it was made.

More calls than that no memory holds, and the other bits last for months of gradients.
"""

_traces: Final[WeakValueDictionary[int, RuleCalls]] = WeakValueDictionary()
_numbers: Final = count(1)


class RuleCalls(list[Rules]):
    """The calls that were made in one trace, which are found as long as somebody holds this."""

    def __init__(self) -> None:
        super().__init__()
        self._trace = next(_numbers)
        _traces[self._trace] = self

    def enter(self, rules: Rules) -> Any:
        """Add a call; return its number."""
        self.append(rules)
        return np.int64(self._trace << _BITS | len(self) - 1)


def _rules_of(name: str, number: Any) -> Rules:
    trace, place = divmod(int(number), 1 << _BITS)
    found = _traces.get(trace)
    if found is None:
        raise ProgramError(
            f"a program asks for the derivative of a call of {name}, which is over and forgotten. "
            "Take the derivative anew."
        )
    return found[place]


# ---- the call --------------------------------------------------------------------------------


class Known(Params):
    """A call of which the results are known: the first operands.

    Behind them come the number of the call, then what it was called with, as far as derivatives may
    go through it.
    """

    name: str  # of the function, for messages
    results: int  # how many there are
    has_rule: bool


def _jvp(p: Known, xs: Tracers, ts: Tangents) -> Pushed:
    ys, index, given = xs[: p.results], xs[p.results], ts[p.results + 1 :]
    active = tuple(t is not None for t in given)
    places = [k for k, y in enumerate(ys) if y.type.differentiable]
    outgoing: list[Any] = [None for _ in ys]
    if places and any(active):
        if not p.has_rule:
            raise NotDifferentiableError(without_rule(p.name))
        axes = len(index.shape)
        tangents = present(given)
        rule = KnownTangent(
            p.name, active, _of_one(tangents, axes), _of_one([ys[k] for k in places], axes),
            transposed=False,
        )  # fmt: skip
        for k, t in zip(places, bind(known_tangent_p, rule, index, *tangents), strict=True):
            outgoing[k] = t
    return bind(known_p, p, *xs), outgoing


def _of_one(xs: Tracers, axes: int) -> Types:
    """Return the types for one example, behind the axes of a batch."""
    return tuple(x.type.with_shape(x.shape[axes:]) for x in xs)


known_p: Final = Primitive(
    "custom_known",
    Known,
    abstract=lambda p, *types: types[: p.results],
    impl=lambda p: (lambda y, *_: y) if p.results == 1 else several(lambda *xs: xs[: p.results]),
    jvp=_jvp,
    facts=Facts(hands_on=True),
)


# ---- its derivative --------------------------------------------------------------------------


class KnownTangent(Params):
    """The derivative of a call, a linear function; the first operand is the number of the call."""

    name: str
    active: tuple[bool, ...]  # which operands of the call have tangents
    operands: Types  # types of these tangents
    results: Types  # types of the tangents of floating results
    transposed: bool  # whether it takes cotangents of results to those of operands


def _outputs(p: KnownTangent) -> Types:
    return p.operands if p.transposed else p.results


def _abstract(p: KnownTangent, index: ArrayType, *_types: ArrayType) -> Types:
    return tuple(t.with_shape((*index.shape, *t.shape)) for t in _outputs(p))


def _impl(p: KnownTangent) -> Callable[..., Any]:
    def one(operands: Sequence[Any]) -> Sequence[Any]:
        index, *ts = operands
        rules = _rules_of(p.name, index)
        return rules.pull(p.active, ts) if p.transposed else rules.push(p.active, ts)

    def run(*operands: Any) -> Sequence[Any]:
        every = (True,) * len(operands)
        batches = tuple([(n, every) for n in getattr(operands[0], "shape", ())])
        return map_batches(one, _outputs(p), batches, operands)

    return several(run)


def _tangent_jvp(p: KnownTangent, xs: Tracers, ts: Tangents) -> Pushed:
    moving = [instantiate(t, x.type) for t, x in zip(ts[1:], xs[1:], strict=True)]
    return bind(known_tangent_p, p, *xs), bind(known_tangent_p, p, xs[0], *moving)


def _transpose(p: KnownTangent, types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    index = xs[0]
    assert index is not None
    arrived = _abstract(p, types[0])
    complete = [instantiate(ct, t) for ct, t in zip(cts, arrived, strict=True)]
    turned = replace(p, transposed=not p.transposed)
    return [None, *bind(known_tangent_p, turned, index, *complete)]


known_tangent_p: Final = Primitive(
    "custom_known_tangent",
    KnownTangent,
    _abstract,
    _impl,
    _tangent_jvp,
    _transpose,
    facts=Facts(calls_user=True),
)
