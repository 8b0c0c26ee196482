"""Traces one call of a function with derivative rules of the user's: the function and the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import (
    FunctionName,
    as_tracers,
    describe,
    is_numeric,
    operand,
    type_of,
)
from funcdiff.api.calls.operands import Operands
from funcdiff.api.calls.tracing import Trace, rebuild, record, restore_kinds
from funcdiff.api.control.bodies import forbid_changes
from funcdiff.api.rules.rule_results import like_result, match_derivatives, show_types
from funcdiff.core.builder import Builder, bind
from funcdiff.core.policy import CLOSED, Policy
from funcdiff.core.program import Program
from funcdiff.core.recording import program_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline
from funcdiff.errors import OutputError, user_location
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.user.custom import custom_p
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
        self.fixed = [args[k] for k in sorted(fixed)]
        self.moving = [k for k in range(len(args)) if k not in fixed]
        super().__init__(tuple(args[k] for k in self.moving))

    def record(
        self,
        function: Callable[..., Any],
        jvp: Callable[..., Any] | None,
        vjp: tuple[Callable[..., Any], Callable[..., Any]] | None,
    ) -> Any:
        """Trace the function and its rules, and record the call as one equation."""
        body = self._trace(function, self._on_arguments(function), pending=0, who=self.name)
        pending = self.builder.policy.pending - 1  # of rules that may be transposed
        traces = [body]
        if pending >= 0 and jvp is not None:
            traces.append(self._trace_jvp(jvp, body, pending))
        of_jvp = len(traces)
        if pending >= 0 and vjp is not None:
            forward = self._trace_forward(vjp[0], body, max(0, pending - 1))
            traces += [forward, self._trace_backward(vjp[1], body, forward, pending)]
        captures = [c for trace in traces for c in trace.captures]
        programs = tuple(self._close(traces, [type_of(c) for c in captures]))
        rule = Custom(self.name, programs[0], len(self.xs), programs[1:of_jvp], programs[of_jvp:])
        operands = as_tracers([*self.xs, *captures])
        ys = bind(custom_p, rule, *operands) if programs[0].outputs else ()
        results = restore_kinds(ys, body.outputs)
        return rebuild(body.structure, body.numeric, results, body.others)

    # ---- tracing ---------------------------------------------------------------------------

    def _trace(
        self, f: Callable[..., Any], call: Callable[[list[Tracer]], Any], *, pending: int,
        operands: Sequence[Any] | None = None, types: Sequence[ArrayType] | None = None,
        weak: Sequence[bool] | None = None, has_aux: bool = False,
        who: str = "",
    ) -> Trace:  # fmt: skip
        return record(
            f,
            self.xs if operands is None else operands,
            forbid_changes(
                call, who or f"{FunctionName(f)}, a rule of {self.name},", "its input {}".format
            ),
            # what is pending on the last level is a transpose, no derivative
            Policy(eager=True, pending=pending, severed=pending <= 1),
            has_aux=has_aux,
            types=self.types if types is None else types,
            weak=self.weak if weak is None else weak,
        )

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
            cure = " Return (out, None) if the backward rule needs nothing."
            return self._pair(applied(tracers), f, "forward rule", "residuals", cure)

        trace = self._trace(f, call, pending=pending, has_aux=True)
        self._check_result(trace, body, len(body.outputs), f, "the forward rule")
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
            kept = aux.rebuild(tracers[: len(residuals)])
            cotangent = like_result(body, [conj(ct) for ct in tracers[len(residuals) :]])
            return self._match_cotangents(f, f(*self.fixed, kept, cotangent))

        types = [*(x.type for x in residuals), *floating]
        weak = [x.weak for x in residuals]
        return self._trace(f, call, pending=pending, operands=operands, types=types, weak=weak)

    def _trace_jvp(self, f: Callable[..., Any], body: Trace, pending: int) -> Trace:
        places = smooth(self.types)
        operands = [*self.xs, *(None for _ in places)]

        def call(tracers: list[Tracer]) -> Any:
            primals = self.tree(tracers[: len(self.xs)])
            ts: list[Any] = [None] * len(self.xs)
            for k, t in zip(places, tracers[len(self.xs) :], strict=True):
                ts[k] = t
            rest = iter(ts)
            spread = [next(rest) if on else None for on in self.flags]
            tangents = pytree.unflatten(self.structure, spread)
            returned = f(*self.fixed, primals, tangents)
            out, tangent = self._pair(returned, f, "JVP rule", "tangent")
            return out, self._match_tangents(f, tangent, body)

        types = [*self.types, *(self.types[k] for k in places)]
        trace = self._trace(
            f, call, pending=pending, operands=operands, types=types, has_aux=True
        )  # fmt: skip
        self._check_result(trace, body, len(body.outputs), f, "the JVP rule")
        return trace

    # ---- what rules return -----------------------------------------------------------------

    def _pair(
        self, returned: Any, f: Callable[..., Any], what: str, second: str, cure: str = ""
    ) -> tuple[Any, Any]:
        if not isinstance(returned, tuple) or len(returned) != 2:
            entries = f" of {len(returned)} entries" if isinstance(returned, tuple | list) else ""
            raise OutputError(
                f"the {what} {FunctionName(f)} of {self.name} must return a pair (out, {second}), "
                f"but returned {describe(returned)}{entries}, at {user_location()}.{cure}"
            )
        return returned

    def _check_result(
        self, trace: Trace, body: Trace, count: int, f: Callable[..., Any], what: str
    ) -> None:
        given, expected = trace.outputs[:count], body.outputs
        if trace.structure == body.structure and [y.type for y in given] == [
            y.type for y in expected
        ]:
            return
        raise OutputError(
            f"{what} {FunctionName(f)} of {self.name} must return first what {self.name} returns, "
            f"{show_types(body.structure, expected)}, but returned "
            f"{show_types(trace.structure, trace.outputs[: sum(trace.numeric)])}, at "
            f"{user_location()}. Convert or reshape it."
        )

    def _match_cotangents(self, f: Callable[..., Any], returned: Any) -> list[Tracer]:
        """Check what a backward rule returned; return one cotangent per floating operand."""
        if not isinstance(returned, tuple | list) or len(returned) != len(self.moving):
            several = isinstance(returned, tuple | list)
            count = f"{len(returned)} entries" if several else describe(returned)
            raise OutputError(
                f"the backward rule {FunctionName(f)} of {self.name} must return a tuple with one "
                f"entry per argument, {len(self.moving)} in all, but returned {count}, at "
                f"{user_location()}. Return (ct,) for one argument, None for a zero."
            )
        arguments = [self.args[k] for k in self.moving]
        found: list[Tracer] = []
        for k, (argument, ct) in enumerate(zip(arguments, returned, strict=True)):
            leaves, structure = pytree.flatten(argument)
            what = f"the backward rule {FunctionName(f)} of {self.name}: entry {k}"
            wanted = [type_of(operand(x)) if is_numeric(x) else None for x in leaves]
            found += [
                conj(x) for x in match_derivatives(ct, structure, wanted, what, f"argument {k}")
            ]  # fmt: skip
        return found

    def _match_tangents(self, f: Callable[..., Any], tangent: Any, body: Trace) -> list[Tracer]:
        """Check the tangent of the result; return one per floating output."""
        types = iter([y.type for y in body.outputs])
        wanted = [next(types) if on else None for on in body.numeric]
        what = f"the JVP rule {FunctionName(f)} of {self.name}: the tangent"
        return match_derivatives(tangent, body.structure, wanted, what, "the result")

    # ---- programs --------------------------------------------------------------------------

    def _close(self, traces: Sequence[Trace], types: Sequence[ArrayType]) -> list[Program]:
        """Return the programs of the traces, all with the captures of all behind the primals.

        For the JVP rule the tangents come last, and for the backward rule the cotangents do.
        """
        programs = []
        start = 0
        for trace in traces:
            program = program_of(*trace.recording)
            own = len(trace.captures)
            operands = len(program.inputs) - own
            last = operands - self._leading(trace, traces)
            given = program.input_types[:operands]
            with Builder("custom", CLOSED) as builder:
                front = [builder.input(t) for t in given[: operands - last]]
                captured = [builder.input(t) for t in types]
                back = [builder.input(t) for t in given[operands - last :]]
                xs = [*front, *back, *captured[start : start + own]]
                if trace is not traces[0]:
                    # a rule that returns np.zeros(n) means a zero, not some constant
                    xs[operands:] = [
                        zeros(x.type) if _is_zero(c) else x
                        for x, c in zip(xs[operands:], trace.captures, strict=True)
                    ]
                programs.append(builder.program(inline(program, xs)))
            start += own
        return programs

    def _leading(self, trace: Trace, traces: Sequence[Trace]) -> int:
        """Return how many inputs of a trace come before the captures: primals or residuals."""
        if trace is traces[-1] and len(traces) > 2 and trace.aux is None:
            return len(traces[-2].outputs) - len(traces[0].outputs)
        return len(self.xs)


def _is_zero(capture: Any) -> bool:
    """Whether an array is known to hold zeros only, none of them negative."""
    if isinstance(capture, Tracer) or capture.dtype.kind not in "fc":
        return False
    return not np.any(capture) and not np.any(np.signbit(np.real(capture)))
