"""Linear maps that `vjp`, `linearize` and `linear_transpose` return, which are values.

They pickle as the program of the map and its residuals, without the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcdiff.api.calls.cotangents import cotangent_operands, tangent_operands
from funcdiff.api.calls.inputs import Inputs, like_inputs
from funcdiff.api.calls.retracing import Finder
from funcdiff.api.calls.tracing import Trace, rebuild, run
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.errors import CotangentError, InputError, user_location


class _Output(NamedTuple):
    """All that is asked of an output once its trace has ended."""

    type: ArrayType


def _shape_of(trace: Trace) -> Trace:
    """Return what a trace tells of the result, without what was recorded."""
    outputs: list[Any] = [_Output(y.type) for y in trace.outputs]
    return trace._replace(
        recording=((), (), None), captures=[], locate=_nowhere, outputs=outputs, calls=None,
        rule_calls=None, aux=None, decisions=(), evaluated=(),
    )  # fmt: skip


def _nowhere(find: Finder | None = None) -> None:
    """Return where an equation was recorded: that stays where it was."""


class _LinearMap:
    """A linear map at a point of a function; `trace` is the call that was differentiated."""

    def __init__(
        self, name: object, apply: Callable[..., list[Any]], trace: Trace, inputs: Inputs
    ) -> None:
        self._name, self._apply, self._trace, self._inputs = name, apply, trace, inputs

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self._name), self._apply, _shape_of(self._trace), self._inputs)


class Pullback(_LinearMap):
    """``v ↦ Jᴴ·v``."""

    _called, _as_elsewhere = "f_vjp", " for y.backward(gradient=v)"

    def __repr__(self) -> str:
        return f"the pullback of {self._name}"

    def __call__(self, *cotangent: Any, **named: Any) -> tuple[Any, ...]:
        """Return the cotangents of the arguments for one of the result."""
        if named:
            raise CotangentError(
                f"{self._called} takes the cotangent by position, but {', '.join(named)}= was "
                f"given, at {user_location()}. Write {self._called}(v){self._as_elsewhere}."
            )
        trace = self._trace
        types = [y.type for y in trace.outputs[: sum(trace.numeric)]]
        cts = cotangent_operands(cotangent, trace, types, self._name)
        return self._inputs.rebuild(like_inputs(self._apply(cts), self._inputs))


class Transposed(Pullback):
    """``v ↦ Aᵀ·v``."""

    _called, _as_elsewhere = "f_transpose", ""

    def __repr__(self) -> str:
        return f"the transpose of {self._name}"


class Applied:
    """A program with values of its first inputs."""

    def __init__(self, program: Program, first: Sequence[Any], trace: Trace | None = None) -> None:
        self._program, self._first, self._trace = program, first, trace

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """Run it."""
        return run(self._program, [*self._first, *operands], self._trace)

    def __reduce__(self) -> tuple[Any, ...]:
        return Applied, (self._program, self._first)  # lines are where the trace was


class Pushforward(_LinearMap):
    """``t ↦ J·t``."""

    def __repr__(self) -> str:
        return f"the derivative of {self._name}"

    def __call__(self, *tangents: Any) -> Any:
        """Return the tangent of the result for those of the arguments."""
        trace = self._trace
        pushed = self._apply(tangents_per_argument(tangents, self._inputs))
        return rebuild(trace.structure, trace.numeric, pushed, trace.others)


# ---- tangents ----------------------------------------------------------------------------------


def check_count(vectors: Sequence[Any], count: int, what: str = "tangent") -> None:
    """Refuse more or fewer tangents or cotangents than differentiated arguments."""
    if len(vectors) != count:
        raise InputError(
            f"the number of differentiated arguments is {count}, but {len(vectors)} {what}s were "
            f"given, at {user_location()}. Give one {what} per differentiated argument."
        )


def tangents_per_argument(tangents: Sequence[Any], inputs: Inputs) -> list[Any]:
    """Return one operand per differentiated leaf for tangents, one per argument."""
    check_count(tangents, len(inputs.structures))
    return tangent_operands(tangents, inputs.structures, inputs.numeric, inputs.operands)
