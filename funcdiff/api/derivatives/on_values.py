"""Differentiates with custom rules run on values, and by programs where these must decide.

Rules are functions of numbers there, so what only their programs show, that an infinite slope meets
the zero of a mask, say, is not seen.  Where something is not finite, the function is traced again,
rules and all; if that cannot be, the numbers stay what the rules say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff.api.calls.tracing import Trace, copy_arrays
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.api.derivatives.first_sight import PULLBACK, LinearMap
from funcdiff.backend import checking
from funcdiff.backend.tape.tape import are_finite
from funcdiff.core.late import computed
from funcdiff.core.recording.entries import program_of
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InternalError, NotDifferentiableError, user_location
from funcdiff.ops.user.custom_known import RuleFailure


class Computed(NamedTuple):
    """Arrays computed of a function: results and derivatives."""

    trace: Trace
    results: list[Any]  # all arrays
    derivatives: slice  # which of them are derivatives


def with_rules_traced(found: Computed, compute: Callable[[], Computed]) -> Computed:
    """Return what was found with rules on values or, where they do not decide, ``compute()``."""
    calls: Sequence[Any] = found.trace.rule_calls or ()
    decided = all(call.is_finite for call in calls) and are_finite(found.results[found.derivatives])
    # effects of opaque code must happen once
    is_compared = checking.is_asked_for() and not any(call.is_opaque for call in calls)
    if decided and not is_compared:
        return found
    try:
        traced = compute()
    except InternalError:
        raise
    except Exception:  # what is no code of arrays cannot be traced
        return found
    if decided:
        program = program_of(*traced.trace.recording)
        checking.compare_results(program, found.results, traced.results)
    return traced


class RulesPullback:
    """The pullback of a trace with rules on values, by the first `count` inputs.

    ``again(operands)`` traces the function, and its rules, at these values.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        trace: Trace,
        operands: Sequence[Any],
        count: int,
        again: Callable[[list[Any]], Trace],
    ) -> None:
        self._name, self._trace, self._count, self._again = FunctionName(f), trace, count, again
        self._point = copy_arrays(operands[:count])
        self._pull = LinearMap(PULLBACK, trace, count, operands)
        self.outputs = self._pull.outputs  # auxiliary ones included
        self._expected = copy_arrays(self.outputs)
        calls: Sequence[Any] = trace.rule_calls or ()
        if any(call.is_refused for call in calls):
            self._pullback_by_program  # noqa: B018  (which raises now, if the derivative needs that rule)

    def __call__(self, cts: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the inputs for those of all results."""
        if any(isinstance(ct, Tracer) for ct in cts):
            return self._pullback_by_program(cts)
        try:
            found = self._pull(cts)
        except RuleFailure as failure:
            raise failure.error from failure.error.__cause__

        def by_program() -> Computed:
            return Computed(self._trace, self._pullback_by_program(cts), slice(None))

        return with_rules_traced(Computed(self._trace, found, slice(None)), by_program).results

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self._pullback_by_program.__reduce__()

    @computed
    def _pullback_by_program(self) -> LinearMap:
        """The pullback with the rules traced."""
        trace = self._again(self._point)
        pull = LinearMap(PULLBACK, trace, self._count, [*self._point, *trace.captures])
        if not all(map(_agree, self._expected, pull.outputs)):
            raise NotDifferentiableError(
                f"the pullback of {self._name} has to be derived at {user_location()}, for its "
                "cotangent is traced; but the function was called again, for its rules to be "
                "traced, too, and has returned something else than before. Call fd.vjp inside of "
                "what is traced, or let the function depend on its arguments alone."
            )
        return pull


def _agree(x: Any, y: Any) -> bool:
    """Whether two values are the same but for rounding."""
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0.0
    return x.shape == y.shape and np.allclose(x, y, rtol=eps**0.75, atol=eps, equal_nan=True)
