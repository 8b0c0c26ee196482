"""Traces one call of a function with custom derivative rules: the function and the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from funcdiff.api.calls.inputs import Operands, as_tracers, type_of
from funcdiff.api.calls.tracing import Trace, record, restore_kinds
from funcdiff.api.control.bodies import forbid_changes
from funcdiff.api.rules.rule_results import (
    Kind,
    RuleName,
    Rules,
    kind_of,
    note_traced,
    pair_of,
    refuse_hidden,
    result_of,
)
from funcdiff.core.late import computed
from funcdiff.core.policy import Policy
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.walk import close_over
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.user.custom_function import custom_p
from funcdiff.ops.user.custom_rules import Custom, smooth
from funcdiff.space import zeros


class Call(Operands):
    """One call of a custom function: its arguments taken apart."""

    def __init__(
        self, name: str, fixed: frozenset[int], args: tuple[Any, ...], builder: Builder
    ) -> None:
        self.name = name
        self.args = args
        self.builder = builder
        self.fixed: Sequence[Any] = ()
        self.moving: Sequence[int] = range(len(args))
        if fixed:
            self.fixed = [args[k] for k in sorted(fixed)]
            self.moving = [k for k in range(len(args)) if k not in fixed]
        super().__init__(tuple([args[k] for k in self.moving]) if fixed else args)

    def record(
        self,
        function: Callable[..., Any],
        jvp: Callable[..., Any] | None,
        vjp: tuple[Callable[..., Any], Callable[..., Any]] | None,
    ) -> Any:
        """Trace the function and its rules, and record the call as one equation."""
        body = self._trace(function, self._on_arguments(function), pending=0)
        pending = self._pending() - 1  # of rules that may be transposed
        count = len(self.xs)
        traces = [(body, count)]  # each with the number of its inputs that captures follow
        if pending >= 0 and jvp is not None:
            traces.append((self._trace_jvp(jvp, body, pending), count))
        of_jvp = len(traces)
        if pending >= 0 and vjp is not None:
            forward = self._trace_forward(vjp[0], body, max(0, pending - 1))
            residuals = len(forward.outputs) - len(body.outputs)
            backward = self._trace_backward(vjp[1], body, forward, pending)
            traces += [(forward, count), (backward, residuals)]
        captures = [c for trace, _ in traces for c in trace.captures]
        programs = tuple(_close(traces, tuple([type_of(c) for c in captures])))
        rule = Custom(self.name, programs[0], count, programs[1:of_jvp], programs[of_jvp:])
        operands = as_tracers([*self.xs, *captures])
        ys = bind(custom_p, rule, *operands) if programs[0].outputs else ()
        results = restore_kinds(ys, body.outputs)
        return body.rebuild(results)

    def _pending(self) -> int:
        """Return how many levels deep rules of this call may be asked for.

        What is odd is for the transpose of the rule that calls this function, which goes through
        the call only if that depends on a tangent or cotangent.
        """
        pending = self.builder.policy.pending
        traced = [x for x in self.xs if isinstance(x, Tracer)]
        independent = pending % 2 and is_independent_of_tangents(self.builder, traced)
        return pending - 1 if independent else pending

    @computed
    def kind(self) -> Kind:
        """What it has in common with calls alike."""
        traced = tuple([isinstance(x, Tracer) for x in self.xs])
        types = tuple([type_of(x) for x in self.xs])
        return kind_of(self.structure, tuple(self.flags), types, traced)

    @computed
    def rules(self) -> Rules:
        """How its rules are applied."""
        return Rules(self.name, self.fixed, self.kind)

    # ---- tracing ---------------------------------------------------------------------------

    def _trace(
        self, f: Callable[..., Any], call: Callable[[list[Tracer]], Any], *, pending: int,
        operands: Sequence[Any] | None = None, types: Sequence[ArrayType] | None = None,
        weak: Sequence[bool] | None = None, has_aux: bool = False, kind: str = "",
    ) -> Trace:  # fmt: skip
        who = RuleName(kind, f, self.name) if kind else self.name
        try:
            trace = record(
                f,
                self.xs if operands is None else operands,
                forbid_changes(call, who, "its input {}".format),
                # what is pending on the last level is a transpose, no derivative
                Policy(eager=True, pending=pending, severed=pending <= 1),
                has_aux=has_aux,
                types=self.types if types is None else types,
                weak=self.weak if weak is None else weak,
            )
        except Exception as error:
            note_traced(error, who)
            raise
        refuse_hidden(trace.structure, trace.numeric, trace.others, who)
        return trace

    def _on_arguments(self, f: Callable[..., Any]) -> Callable[[list[Tracer]], Any]:
        def call(tracers: list[Tracer]) -> Any:
            changed = list(self.args)
            for k, argument in zip(self.moving, self.tree(tracers), strict=True):
                changed[k] = argument
            return f(*changed)

        return call

    def _trace_forward(self, f: Callable[..., Any], body: Trace, pending: int) -> Trace:
        applied = self._on_arguments(f)

        def call(tracers: list[Tracer]) -> Any:
            return pair_of(applied(tracers), who)

        who = RuleName("forward", f, self.name)
        trace = self._trace(f, call, pending=pending, has_aux=True, kind="forward")
        result_of(body).check(result_of(trace), who)
        return trace

    def _trace_backward(
        self, f: Callable[..., Any], body: Trace, forward: Trace, pending: int
    ) -> Trace:
        aux = forward.aux
        assert aux is not None
        residuals = forward.outputs[len(body.outputs) :]
        floating = [body.outputs[k].type for k in smooth([y.type for y in body.outputs])]
        # residuals have the values that the forward rule gave them; a cotangent has none
        operands = [*residuals, *(None for _ in floating)]

        def call(tracers: list[Tracer]) -> Any:
            kept, cts = aux.rebuild(tracers[: len(residuals)]), tracers[len(residuals) :]
            found = self.rules.run_backward(f, kept, result_of(body), cts)
            return fill_zeros(found, self.kind.floating)

        types = [*(x.type for x in residuals), *floating]
        weak = [x.weak for x in residuals]
        return self._trace(
            f, call, pending=pending, operands=operands, types=types, weak=weak, kind="backward"
        )

    def _trace_jvp(self, f: Callable[..., Any], body: Trace, pending: int) -> Trace:
        count, floating = len(self.xs), self.kind.floating
        operands = [*self.xs, *(None for _ in floating)]
        body_types = [y.type for y in body.outputs]
        who = RuleName("JVP", f, self.name)

        def call(tracers: list[Tracer]) -> Any:
            primals = self.tree(tracers[:count])
            out, tangent = self.rules.run_jvp(f, primals, tracers[count:])
            return out, fill_zeros(result_of(body).match_tangent(tangent, who), body_types)

        types = [*self.types, *floating]
        trace = self._trace(
            f, call, pending=pending, operands=operands, types=types, has_aux=True, kind="JVP"
        )  # fmt: skip
        result_of(body).check(result_of(trace), who)
        return trace


def _close(traces: Sequence[tuple[Trace, int]], types: tuple[ArrayType, ...]) -> Iterator[Program]:
    """Yield the programs of the traces, all with the captures of all behind their first inputs.

    Those are primals or residuals; the tangents of the JVP rule, and the cotangents, come last.
    """
    start = 0
    for k, (trace, front) in enumerate(traces):
        # a rule, behind the function, that returns np.zeros(n) means a zero, not some constant
        vanishing = tuple([k > 0 and _is_zero(c) for c in trace.captures])
        count = len(trace.captures)
        yield close_over(trace.recording, count, front, types, start, vanishing)
        start += count


def is_independent_of_tangents(builder: Builder, xs: Sequence[Tracer]) -> bool:
    """Whether values in the trace of a rule depend on no tangent or cotangent, as far as is seen.

    These are its inputs without a value.  A Hessian through rules that call functions with rules,
    as the polygamma functions do, takes ten times as long if that is not asked.
    """
    given = [v for k, v in builder.values.inputs.items() if builder.capture_of(k) is None]
    if not builder.policy.eager or all(v is not None for v in given):
        return False  # no rule, but what is traced inside of one
    pending, seen = [x.atom for x in xs if x.builder is builder], set[int]()
    if any(x.builder is not builder and x.builder is not None for x in xs):
        return False
    while pending:
        number = pending.pop()
        if not isinstance(number, int) or number in seen:
            continue
        seen.add(number)
        origin = builder.origin(number)
        if origin is not None:
            pending.extend(origin[1])
        elif builder.input_value(number) is None or isinstance(builder.capture_of(number), Tracer):
            return False
    return True


def fill_zeros(derivatives: Sequence[Any], types: Sequence[ArrayType]) -> list[Tracer]:
    """Return derivatives of those types that have any, with zeros in the place of None."""
    pairs = zip(derivatives, [types[k] for k in smooth(types)], strict=True)
    return [zeros(t) if x is None else x for x, t in pairs]


def _is_zero(capture: Any) -> bool:
    """Whether an array is known to hold zeros only, none of them negative."""
    if isinstance(capture, Tracer) or capture.dtype.kind not in "fc":
        return False
    return not np.any(capture) and not np.any(np.signbit(np.real(capture)))
