"""Rules of a call that was made on values: run on values, too, when a derivative asks for them.

A rule of the other mode than the derivative is recorded in the tangents or cotangents alone, and
transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import compress
from typing import Any, Final, NamedTuple
from weakref import ref

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.tracing import Trace, restore_kinds
from funcdiff.api.rules.private_values import NO_CALL, Same, as_rule, own
from funcdiff.api.rules.rule_results import (
    PLAIN,
    Kind,
    Result,
    RuleName,
    Rules,
    or_zeros,
    take_apart,
)
from funcdiff.backend.tape.tape import are_finite
from funcdiff.core.policy import SHARED, Policy
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.entries import Recording
from funcdiff.core.recording.quiet import quiet, without_warnings
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import close_over
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import EscapedTracerError, InputError, NotDifferentiableError, location_of
from funcdiff.numpy.border.values import concrete_value
from funcdiff.ops.user.custom_known import RuleFailure
from funcdiff.ops.user.custom_rules import smooth
from funcdiff.ops.user.linear_part import transpose_rule
from funcdiff.passes.simplify import simplify_linear

INSIDE = Policy(eager=True, severed=True, on_values="known")
"""A rule that closes over traced arrays, whose values it gets."""


_READ_ONLY: Final = ("read-only", "not writable", "not writeable")
"""Words of NumPy, Python and Cython for memory that is not to be changed."""


class NeedsTracingError(Exception):
    """What runs on values uses a traced array that is none of its arguments, or asks for a value.

    The value, that is, of a tangent or cotangent that is being recorded.
    """


def call_on_values(
    f: Callable[..., Any],
    args: Sequence[Any],
    name: str,
    builder: Builder | None,
    kind: str = "",
    same: Same = NO_CALL,
) -> Any:
    """Call a function, or its rule of a `kind`, with concrete arrays, as if there was no trace.

    `builder` is the trace that the call belongs to, if it is there still: `NeedsTracingError` if
    the code uses an array of it.  `same` is the call whose rule it is, if that is to be known.
    """
    before = None if builder is None else builder.refused
    try:
        result = as_rule(same, f, args)
    except Exception as error:
        if builder is not None and builder.refused is not before:
            builder.refused = before
            raise NeedsTracingError from error
        explain(error, RuleName(kind, f, name) if kind else name)
        raise
    if builder is not None and builder.refused is not before:  # and was caught
        builder.refused = before
        raise NeedsTracingError
    return result


def explain(error: Exception, who: object, how: str = "ran on values") -> None:
    """Note which rule an error comes from; an array that must not be changed has a cure."""
    said = str(error)
    if isinstance(error, ValueError | TypeError) and any(words in said for words in _READ_ONLY):
        raise InputError(
            f"{who} changes an input in place, at {location_of(error)}, or hands it to code that "
            f"asks for memory to write to ({said}): a change would be lost. Change a copy, "
            "v = v + 1 instead of v += 1, or v = v.copy() before v[0] = 1 or before such code, "
            "also if it only reads, and return what is needed of it."
        ) from error
    takes = f" and takes {who.takes}" if isinstance(who, RuleName) and who.takes else ""
    error.add_note(f"funcdiff: raised by {who}, which {how}{takes}")


class Turned(NamedTuple):
    """A rule recorded in its tangents or cotangents, and transposed."""

    program: Program | None  # of `transpose_recorded`
    known: list[Any]  # values of what the rule captured
    refusal: str  # the message if it is not linear

    def run(self, cts: Sequence[Any]) -> list[Any]:
        """Return the transposed rule at values."""
        if self.program is None:
            raise NotDifferentiableError(self.refusal)
        return quiet(executable(self.program), *self.known, *cts)


def turn_rule(trace: Trace, refusal: str) -> Turned:
    """Return a rule that was traced in its tangents or cotangents, with values of its captures."""
    known = [_lasting(x) for x in trace.captures]
    # a rule that returns 0 * x means a zero, whose sign at some x is minus
    vanishing = tuple([x.dtype.kind in "fc" and not x.any() for x in known])
    program = transpose_recorded(trace.recording, vanishing)
    return Turned(program, known, refusal)


def _lasting(capture: Any) -> Any:
    """Return what was captured, which is a view of memory that may change if it is large."""
    if isinstance(capture, Tracer):
        return own(concrete_value(capture))
    return own(capture) if getattr(capture, "base", None) is not None else capture


@memoised
def transpose_recorded(recording: Recording, vanishing: tuple[bool, ...]) -> Program | None:
    """Return ``(*known, *cts) -> cts`` for a rule that is linear in all but its captures, if it is.

    Which of these are zeros, `vanishing` says.
    """
    rule = close_over(recording, len(vanishing), vanishing=vanishing)
    with Builder("custom", SHARED) as builder:
        known = [builder.input(t) for t in rule.input_types[: len(vanishing)]]
        cts = [builder.input(t) for t in rule.output_types]
        pulled = transpose_rule(rule, known, cts)
        if pulled is None:
            return None
        found = builder.program(pulled)
    return simplify_linear(found, (False,) * len(known) + (True,) * len(cts))


class MadeCall(Rules):
    """A call that was made, with its rules: what `funcdiff.ops.user.custom_known` calls.

    The effects of an opaque function must happen once; `is_finite` says whether all that its rules
    have returned is. The derivative is taken with `backward`, `push_rule`, `linear` or none.
    """

    result: Result
    # A rule, and the residuals, or the primals.
    backward: tuple[Callable[..., Any], Any] | None = None
    push_rule: tuple[Callable[..., Any], tuple[Any, ...], Same] | None = None
    linear: Turned | None = None

    def __init__(
        self, name: str, fixed: Sequence[Any], kind: Kind, builder: Builder, *, is_opaque: bool
    ) -> None:
        super().__init__(name, fixed, kind)
        self.is_opaque = is_opaque
        self.is_finite = True
        self._builder = ref(builder)

    @property
    def is_refused(self) -> bool:
        """Whether its derivative cannot be taken, for a rule is not linear."""
        return self.linear is not None and self.linear.program is None

    # ---- cotangents --------------------------------------------------------------------------

    def pull(self, active: Sequence[bool], cts: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the active operands, for those of the floating results."""
        try:
            return self._pull(active, cts)
        except Exception as error:  # goes past all that would compute another way
            raise RuleFailure(error) from error

    def _pull(self, active: Sequence[bool], cts: Sequence[Any]) -> list[Any]:
        if self.linear is not None:
            found = self.linear.run(cts)
            return self._keep([y for y, on in zip(found, active, strict=True) if on])
        assert self.backward is not None
        rule, residuals = self.backward
        run = partial(self._run, "backward", NO_CALL)
        every = self.run_backward(rule, residuals, self.result, cts, run)
        places = compress(self.kind.places, active)
        return self._keep([or_zeros(every[k], self.kind.floating[k]) for k in places])

    # ---- tangents ----------------------------------------------------------------------------

    def push(self, active: Sequence[bool], ts: Sequence[Any]) -> list[Any]:
        """Return the tangents of the floating results, for those of the active operands."""
        try:
            return self._push(active, ts)
        except Exception as error:  # as above
            raise RuleFailure(error) from error

    def _push(self, active: Sequence[bool], ts: Sequence[Any]) -> list[Any]:
        rest = iter(ts)
        kind = self.kind
        moving = {k: next(rest) for k, on in zip(kind.places, active, strict=True) if on}
        if self.linear is not None:
            pairs = zip([moving.get(k) for k in kind.places], kind.operands, strict=True)
            return self._keep(self.linear.run([or_zeros(t, type_) for t, type_ in pairs]))
        assert self.push_rule is not None
        rule, primals, same = self.push_rule
        ts = [moving.get(k) for k in range(len(kind.floating))]
        out, tangent = self.run_jvp(rule, primals, ts, partial(self._run, "JVP", same))
        who = RuleName("JVP", rule, self.name)
        self.result.check(result_of_tree(out, who), who)
        found = self.result.match_tangent(tangent, who)
        wanted = [self.result.types[k] for k in smooth(self.result.types)]
        return self._keep([or_zeros(t, type_) for t, type_ in zip(found, wanted, strict=True)])

    # ---- both --------------------------------------------------------------------------------

    def _run(self, kind: str, same: Same, rule: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Run a rule on values, also if it closes over what was traced, whose values it gets."""
        try:
            return call_on_values(rule, args, self.name, self._builder(), kind, same)
        except (NeedsTracingError, EscapedTracerError):
            outer = self._builder()
            if outer is None:
                raise
            with Builder(RuleName(kind, rule, self.name), INSIDE) as inner:
                inner.parent = outer
                return pytree.map(_plain_leaf, without_warnings(rule, args))

    def _keep(self, results: Sequence[Any]) -> list[Any]:
        """Return results in memory of our own, and look whether they are finite."""
        kept = [np.array(x)[()] for x in results]
        if self.is_finite:
            self.is_finite = are_finite(kept)
        return kept


def result_of_tree(tree: Any, who: object) -> Result:
    """Return what a container of values is, which `who` returned."""
    if type(tree) in PLAIN and tree.dtype.char in "fdFD" and tree.dtype.isnative:
        return _result_of_array(ArrayType(tree.shape, tree.dtype))
    return take_apart(tree, who).result


@lru_cache(maxsize=256)
def _result_of_array(type_: ArrayType) -> Result:
    return Result(pytree.LEAF, (True,), (type_,))


def value_of(x: Tracer) -> Any:
    """Return the value of a traced array as what it stands for."""
    value = concrete_value(x)
    return value if x.type.shape else restore_kinds([value], [x])[0]


def _plain_leaf(leaf: Any) -> Any:
    return value_of(leaf) if isinstance(leaf, Tracer) else leaf
