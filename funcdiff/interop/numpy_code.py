"""NumPy code as an operation of other libraries, differentiated by funcdiff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.batching import join_rows, vmap
from funcdiff.api.calls.arguments import is_numeric
from funcdiff.api.calls.tracing import Trace, nested_policy, record
from funcdiff.api.derivatives.linear_maps import jvp, vjp
from funcdiff.api.rules.rule_results import conjugate
from funcdiff.core.program import Program
from funcdiff.core.recording.entries import program_of
from funcdiff.errors import ConcreteValueError
from funcdiff.interop.operation import Calculus, Function, Types
from funcdiff.passes.simplify import simplify
from funcdiff.transforms.jvp import Mask


class _NumPyCode:
    """What funcdiff knows of functions of NumPy's arrays."""

    def dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        return dtype

    def is_array(self, leaf: Any) -> bool:
        return is_numeric(leaf)

    def run(self, f: Function, xs: Sequence[Any]) -> Sequence[Any]:
        return f(*[_read_only(x) for x in xs])

    def types(self, f: Function, types: Types) -> Types:
        return tuple(y.type for y in trace_without_values(f, types).outputs)

    def push(self, f: Function, xs: Sequence[Any], ts: Sequence[Any]) -> Sequence[Any]:
        tangents: Sequence[Any] = jvp(f, tuple(xs), tuple(ts))[1]
        return tangents

    def pull(self, f: Function, xs: Sequence[Any], cts: Sequence[Any]) -> Sequence[Any]:
        """Pull back; `vjp` gives the adjoint, which is the transpose between conjugates."""
        _, pull = vjp(f, *xs)
        return list(map(conjugate, pull(list(map(conjugate, cts)))))

    def batch(self, f: Function, size: int, flags: Mask, xs: Sequence[Any]) -> Sequence[Any]:
        """Batch by `vmap`, or one by one where Python decides by values."""
        axes = tuple(0 if flag else None for flag in flags)
        try:
            together: Sequence[Any] = vmap(f, axes, axis_size=size)(*xs)
        except ConcreteValueError:
            if not size:
                raise
            rows = [
                f(*[x[k] if flag else x for x, flag in zip(xs, flags, strict=True)])
                for k in range(size)
            ]
            together = join_rows(rows)
        return together


NUMPY_CODE: Final[Calculus] = _NumPyCode()
"""The calculus of functions of NumPy's arrays."""


def trace_without_values(f: Function, types: Types) -> Trace:
    """Trace a function of arrays of these types; raise `ConcreteValueError` if it needs values."""
    blank = [np.broadcast_to(np.zeros((), t.dtype), t.shape) for t in types]
    return record(f, blank, lambda xs: f(*xs), nested_policy(0, eager=False), types=types)


def program_without_values(f: Function, types: Types) -> tuple[Program, Sequence[Any]]:
    """Return the program of a function, and the arrays that are its last inputs."""
    trace = trace_without_values(f, types)
    return simplify(program_of(*trace.recording)), trace.captures


def _read_only(x: Any) -> Any:
    """Return a number, or an array that cannot be written to: it is another library's memory."""
    if not isinstance(x, np.ndarray):
        return x
    if not x.shape:
        return x[()]
    seen = x.view()
    seen.flags.writeable = False
    return seen
