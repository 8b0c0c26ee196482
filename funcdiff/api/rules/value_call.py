"""Evaluates calls of functions with custom derivative rules on values, as a tape does.

The function, or its forward rule, is called with arrays; its results enter the trace together with
the rules, which wait until a derivative asks for them, and run on values then.  A rule of the other
mode than the derivative is recorded in the tangents or cotangents alone, and transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import compress, repeat
from operator import attrgetter
from typing import Any, Final, NamedTuple
from weakref import ref

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.inputs import is_array_without_axes, operand
from funcdiff.api.calls.tracing import Trace, rebuild, record, restore_kinds
from funcdiff.api.control.bodies import forbid_changes
from funcdiff.api.rules.custom_call import Call, fill_zeros
from funcdiff.api.rules.rule_results import (
    NO_CALL,
    PLAIN,
    Kind,
    Result,
    RuleName,
    Rules,
    Same,
    as_rule,
    call_of_rule,
    map_arrays,
    or_zeros,
    pair_of,
    read_only,
    running_rule,
    take_apart,
)
from funcdiff.backend.tape.tape import are_finite
from funcdiff.core.policy import SHARED, Policy
from funcdiff.core.primitive import Operation, Types, operation
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.recording.entries import Recording
from funcdiff.core.recording.quiet import quiet, without_warnings
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import close_over
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.core.types import ArrayType
from funcdiff.errors import (
    EscapedTracerError,
    InputError,
    NotDifferentiableError,
    TracerError,
    location_of,
)
from funcdiff.numpy.border.promotion import as_number, is_weak
from funcdiff.numpy.border.values import concrete_value
from funcdiff.numpy.memory import views
from funcdiff.ops.user.custom_known import (
    INDEX,
    Known,
    NeedsTracingError,
    RuleCalls,
    RuleFailure,
    known_p,
)
from funcdiff.ops.user.custom_rules import nonlinear, smooth
from funcdiff.ops.user.linear_part import transpose_rule
from funcdiff.ops.user.python_call import private_copy
from funcdiff.passes.choices import has_choices
from funcdiff.passes.simplify import simplify_linear
from funcdiff.space import zeros

# ---- rules of a call that was made ---------------------------------------------------------------


INSIDE = Policy(eager=True, severed=True, on_values="known")
"""A rule that closes over traced arrays, whose values it gets."""


_READ_ONLY: Final = ("read-only", "not writable", "not writeable")
"""Words of NumPy, Python and Cython for memory that is not to be changed."""


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
    """Return a rule that was traced in its tangents or cotangents, with values of its captures.

    One that may depend on a choice of vectors has to be traced with the whole derivative.
    """
    known = [_lasting(x) for x in trace.captures]
    # a rule that returns 0 * x means a zero, whose sign at some x is minus
    vanishing = tuple([x.dtype.kind in "fc" and not x.any() for x in known])
    program = transpose_recorded(trace.recording, vanishing)
    if program is not None and has_choices(program):
        raise NeedsTracingError  # the derivative of the whole sees what depends on a choice
    return Turned(program, known, refusal)


def _lasting(capture: Any) -> Any:
    """Return what was captured, which is a view of memory that may change if it is large."""
    if isinstance(capture, Tracer):
        return private_copy(concrete_value(capture))
    return private_copy(capture) if getattr(capture, "base", None) is not None else capture


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
        if self.backward is None:
            raise NeedsTracingError
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


# ---- calls ---------------------------------------------------------------------------------------


REFUSED: Final[Any] = object()
"""Stands for the result of a call that has to be traced."""

_TURNED: Final = Policy(eager=True, lifts=True, pending=1, severed=True, on_values="known")
"""A rule that is recorded in its tangents or cotangents, which have no values."""

_RESULTS_KEPT: Final = 256

_is_differentiable: Final = attrgetter("differentiable")


class ValueCall(Call):
    """A call in a trace whose rules are run on values: see `Policy.on_values`.

    `custom` is called, and calls `function`; `results` has what it returned before, by arguments;
    an opaque function gets copies of its arguments.
    """

    def __init__(
        self, name: str, fixed: frozenset[int], args: tuple[Any, ...], builder: Builder,
        custom: Any, function: Callable[..., Any], results: dict[Any, Result], *, is_opaque: bool,
    ) -> None:  # fmt: skip
        super().__init__(name, fixed, args, builder)
        self._custom, self._function, self._results = custom, function, results
        self._is_opaque = is_opaque
        self._given = args

    def make(
        self, jvp: Callable[..., Any] | None, vjp: tuple[Callable[..., Any], ...] | None
    ) -> Any:
        """Make the call and record it; return REFUSED if it has to be traced."""
        if self.builder.taps is not None or (self.fixed and any_traced(self.fixed)):
            return REFUSED
        mode = self.builder.policy.on_values
        try:
            if not any_traced(self.xs):
                same = call_of_rule() or NO_CALL
                function = self._custom.call_plain
                return call_on_values(function, self.args, self.name, self.builder, same=same)
            if mode == "known":
                return REFUSED
            self._find_values(mode)
            return self._make_call(jvp, vjp, mode)
        except NeedsTracingError:
            return REFUSED

    def _find_values(self, mode: str) -> None:
        """Find the values of all arguments."""
        numbers = self._numbers()
        if mode == "push":  # rules run later, in the same derivative
            numbers = list(map(private_copy, numbers))
        self._values = list(map(read_only, numbers))
        self._given = self._with(self._values)

    def _numbers(self) -> list[Any]:
        builder, numbers = self.builder, list(self.numbers)
        known = builder.values.results
        for k, x in enumerate(self.xs):
            if isinstance(x, Tracer):
                number = known.get(x.atom) if x.builder is builder and x.type.shape else None
                numbers[k] = self._evaluate(x) if number is None else number
        return numbers

    def _evaluate(self, x: Tracer) -> Any:
        """Return the value of an argument; what is evaluated is not computed again."""
        builder, value = self.builder, without_warnings(value_of, (x,))
        if (
            x.builder is builder
            and isinstance(x.atom, int)
            and x.atom not in builder.values.results
        ):
            builder.evaluated = max(builder.evaluated, x.atom + 1)
        return value

    def _with(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments with other values of the numbers in them."""
        trees: tuple[Any, ...] = self.tree(values)
        if not self.fixed:
            return trees
        given = list(self.args)
        for k, argument in zip(self.moving, trees, strict=True):
            given[k] = argument
        return tuple(given)

    def _make_call(
        self, jvp: Callable[..., Any] | None, vjp: tuple[Callable[..., Any], ...] | None, mode: str
    ) -> Any:
        call = MadeCall(self.name, self.fixed, self.kind, self.builder, is_opaque=self._is_opaque)
        if vjp is not None and (mode == "pull" or jvp is None):
            out = self._run_forward(call, vjp[0], vjp[1], mode)
        elif jvp is not None and mode == "pull":
            out = self._run_jvp_rule(call, jvp)
        else:
            out = self._run_body()
            call.result = result_of_tree(out, self.name)
            if jvp is not None:
                same = Same(self._custom, self._given, (map_arrays(private_copy, out),))
                call.push_rule = jvp, tuple(self._given[k] for k in self.moving), same
        return self._record(call, out, jvp is not None or vjp is not None)

    # ---- what is run -------------------------------------------------------------------------

    def _run_body(self) -> Any:
        """Call the function itself."""
        given = self._given
        if self._is_opaque:
            given = self._with(list(map(private_copy, self._values)))
        return call_on_values(self._function, given, self.name, self.builder)

    def _run_forward(
        self, call: MadeCall, forward: Callable[..., Any], backward: Callable[..., Any], mode: str
    ) -> Any:
        same = self._same()
        returned = call_on_values(forward, self._given, self.name, self.builder, "forward", same)
        out, residuals = pair_of(returned, RuleName("forward", forward, self.name))
        call.result = self._result(out, same, "forward", forward)
        kept = map_arrays(_residual, residuals)
        if mode == "pull":
            call.backward = backward, kept
        else:
            call.linear = self._turn_backward(call, backward, kept)
        return out

    def _turn_backward(
        self, call: MadeCall, backward: Callable[..., Any], residuals: Any
    ) -> Turned:
        types = [t for t in call.result.types if t.differentiable]

        def apply_rule(tracers: list[Tracer]) -> list[Tracer]:
            found = call.run_backward(backward, residuals, call.result, tracers)
            every = fill_zeros(found, self.kind.floating)
            return [every[n] for n in self.kind.places]

        return self._turn(backward, "backward", apply_rule, types)

    def _run_jvp_rule(self, call: MadeCall, rule: Callable[..., Any]) -> Any:
        """Run the rule on the values of the primals, recording what it does to the tangents."""
        same = self._same()
        primals = tuple(self._given[k] for k in self.moving)
        types, places = self.kind.floating, self.kind.places
        who = RuleName("JVP", rule, self.name)
        found: list[Any] = []

        def apply_rule(tracers: list[Tracer]) -> list[Tracer]:
            moving = dict(zip(places, tracers, strict=True))
            # other tangents are zeros that the rule cannot turn into constants
            given = [moving.get(n, zeros(t)) for n, t in enumerate(types)]
            out, tangent = call.run_jvp(rule, primals, given)
            out = pytree.map(self._result_of_rule, out)
            call.result = self._result(out, same, "JVP", rule)
            found.append(out)
            return fill_zeros(call.result.match_tangent(tangent, who), call.result.types)

        with running_rule(same):
            call.linear = self._turn(rule, "JVP", apply_rule, self.kind.operands)
        return found[0]

    def _result_of_rule(self, leaf: Any) -> Any:
        """Return a result of a rule that is being recorded, on which no tangent may bear."""
        if not isinstance(leaf, Tracer):
            return leaf
        if leaf.builder is not None and any_traced(leaf.builder.captures):
            raise NeedsTracingError
        return value_of(leaf)

    def _turn(
        self,
        rule: Callable[..., Any],
        kind: str,
        applied: Callable[[list[Tracer]], list[Tracer]],
        types: Sequence[ArrayType],
    ) -> Turned:
        """Record a rule in its tangents or cotangents."""
        who = RuleName(kind, rule, self.name)
        call = forbid_changes(applied, who, "its input {}".format)
        try:
            blank = [None for _ in types]
            trace = record(
                rule,
                blank,
                lambda tracers: without_warnings(call, (tracers,)),
                _TURNED,
                types=types,
            )
        except TracerError as error:
            raise NeedsTracingError from error
        except NeedsTracingError:
            raise
        except Exception as error:
            explain(error, who, "was recorded, to be transposed")
            raise
        return turn_rule(trace, nonlinear(self.name, kind))

    # ---- what comes of it --------------------------------------------------------------------

    def _same(self) -> Same:
        """Return what notes the result of the function, if that has to be found out."""
        return NO_CALL if self.kind in self._results else Same(self._custom, self._given)

    def _result(self, out: Any, same: Same, kind: str, rule: Callable[..., Any]) -> Result:
        """Return what the result of a rule is: refuse another container, or types, than `f` has.

        Of what it returned for arguments of these types before, that is known.
        """
        known = self._results.get(self.kind)
        if known is not None and known.is_of(out):
            return known
        who = RuleName(kind, rule, self.name)
        found = result_of_tree(out, who)
        if known == found:
            return found
        results = same.results or (self._run_body(),)
        result_of_tree(results[0], self.name).check(found, who)
        if len(self._results) >= _RESULTS_KEPT:
            self._results.clear()
        self._results[self.kind] = found
        return found

    def _record(self, call: MadeCall, out: Any, has_rule: bool) -> Any:  # noqa: FBT001
        """Record the results, and how derivatives go through the call."""
        builder, result, kind = self.builder, call.result, self.kind
        is_alone = result.structure is pytree.LEAF
        leaves = [out] if is_alone else pytree.flatten(out)[0]
        numbers = leaves
        if not is_alone or not result.types:
            numbers = [x for x, on in zip(leaves, result.numeric, strict=True) if on]
        values = list(map(_private, numbers))
        made = list(map(builder.capture_private, values, result.types))
        ys: Sequence[Tracer]
        if kind.moving and any(map(_is_differentiable, result.types)):
            if builder.rule_calls is None:
                builder.rule_calls = RuleCalls()
            index = builder.capture_private(builder.rule_calls.enter(call), INDEX)
            op = _operation_of_call(self.name, has_rule, result.types, kind.operands)
            moving = [builder.ref(self.xs[k]) for k in kind.moving]
            ys = builder.record(op, [*made, index, *moving])
            for y, value in zip(ys, values, strict=True):
                builder.values.results[y.atom] = value
        else:
            ys = list(map(builder.handle, repeat(builder), made, result.types))
        pairs = zip(ys, numbers, strict=True)
        results = [y if y.type.shape else _without_axes(y, x) for y, x in pairs]
        if is_alone and results:
            return results[0]
        others = [x for x, on in zip(leaves, result.numeric, strict=True) if not on]
        return rebuild(result.structure, result.numeric, results, others)


@lru_cache(maxsize=1024)
def _operation_of_call(name: str, has_rule: bool, results: Types, operands: Types) -> Operation:  # noqa: FBT001
    return operation(known_p, Known(name, len(results), has_rule), (*results, INDEX, *operands))


def _residual(leaf: Any) -> Any:
    """Return a residual as the backward rule gets it."""
    return read_only(private_copy(value_of(leaf) if isinstance(leaf, Tracer) else leaf))


def _private(x: Any) -> Any:
    """Return a number of a result as an operand, in memory of our own."""
    if type(x) is np.ndarray and x.shape and x.dtype.isnative:
        return x.copy()
    if type(x) is np.float64:
        return x
    return private_copy(operand(x))[()]


def _without_axes(y: Tracer, number: Any) -> Any:
    """Return a result as what it stands for: a Python number, an array or a scalar of NumPy's."""
    if is_weak(number):
        return as_number(y)
    return views.as_array(y) if is_array_without_axes(number) else y
