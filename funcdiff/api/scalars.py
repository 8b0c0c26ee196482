"""Scalar functions differentiated: gradient, value and auxiliary result of one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from funcdiff.api.arguments import FunctionName
from funcdiff.api.calls import call_traced, check_holomorphic, like_inputs
from funcdiff.api.programs import gradient_program
from funcdiff.api.selection import Selection
from funcdiff.api.tracing import Trace, run
from funcdiff.core.types import ArrayType
from funcdiff.errors import OutputError, user_location
from funcdiff.pytree import LEAF


class Parts(NamedTuple):
    """What a gradient program computes."""

    gradient: Any
    value: Any
    aux: Any


def parts_of(
    f: Callable[..., Any],
    selection: Selection,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    has_aux: bool,
    holomorphic: bool,
    wants_value: bool,
    elementwise: bool = False,
) -> Parts:
    """Differentiate a call; `elementwise`, of an array, of which the sum is differentiated.

    Raises
    ------
    InputError
        If a differentiated leaf is an integer or boolean array, or real with `holomorphic`.
    OutputError
        If the result is not a scalar, or of the wrong kind.
    """
    inputs, trace = call_traced(f, selection, args, kwargs, has_aux=has_aux)
    count = len(inputs.operands)
    program, output = gradient_program(
        trace.recording,
        count,
        holomorphic=holomorphic,
        wants_value=wants_value,
        elementwise=elementwise,
    )
    if program is None or not trace.is_array:
        raise _unsuitable(f, trace, output, holomorphic=holomorphic, elementwise=elementwise)
    if holomorphic:
        transform = "elementwise_grad" if elementwise else "grad"
        check_holomorphic(inputs, trace, selection, transform)
    results = run(program, [*inputs.operands, *trace.captures], trace)
    trees = inputs.rebuild(like_inputs(results[:count], inputs))
    aux = trace.aux.rebuild(results[count + wants_value :]) if trace.aux is not None else None
    return Parts(selection.of(trees), results[count] if wants_value else None, aux)


def _unsuitable(
    f: Callable[..., Any],
    trace: Trace,
    output: ArrayType | None,
    *,
    holomorphic: bool,
    elementwise: bool,
) -> OutputError:
    transform, wanted = ("elementwise_grad", "array") if elementwise else ("grad", "scalar")
    got: object = output
    cure = "Return one element (y[0]) or a sum (y.sum()), or use fd.jacobian or fd.vjp."
    if output is None or not trace.is_array:
        got = trace.structure if trace.structure is not LEAF else type(trace.others[0]).__name__
        cure = f"Return the {wanted} alone, or ({wanted}, rest) with has_aux=True."
        if str(got) == "None":
            cure = f"Return the {wanted}: a function without a return statement returns None."
    elif elementwise or not output.shape:
        cure = {
            "c": "Return its real part or abs, or pass holomorphic=True for the derivative f'.",
            "f": "With holomorphic=True the result must be complex.",
        }.get(output.dtype.kind, "An integer or boolean result has no derivative.")
    kind = "complex" if holomorphic else "real"
    return OutputError(
        f"{transform} needs a function that returns a {kind} {wanted}; {FunctionName(f)} returned "
        f"{got}, at {user_location()}. {cure}"
    )
