"""Calls: the differentiated arguments taken apart, and the function traced on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import (
    differentiable_operand,
    is_array_without_axes,
    is_numeric,
    type_of,
)
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import Trace, nested_policy, record
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.numpy.border.promotion import is_weak
from funcdiff.numpy.memory import views
from funcdiff.pytree.hidden import fault_of


class Inputs(NamedTuple):
    """The differentiated arguments of a call, taken apart.

    Attributes
    ----------
    operands
        Values of the floating and complex leaves.
    structures
        One per differentiated argument.
    numeric
        For each leaf of all of them, whether it is differentiated.
    others
        The leaves that are not.
    weak
        For each operand, whether it came as a Python number.
    """

    operands: list[Any]
    structures: tuple[pytree.Structure, ...]
    numeric: tuple[bool, ...]
    others: list[Any]
    weak: tuple[bool, ...]

    def rebuild(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Put one value per operand back into containers like the arguments."""
        numbers, rest = iter(values), iter(self.others)
        leaves = iter([next(numbers) if flag else next(rest) for flag in self.numeric])
        return tuple(
            pytree.unflatten(s, [next(leaves) for _ in range(s.leaf_count)])
            for s in self.structures
        )


def inputs_of(arguments: Sequence[Any], names: Callable[[int], object]) -> Inputs:
    """Take differentiated arguments apart; integer leaves are errors, strings pass through.

    ``names(k)`` is what messages call an argument, shown only if there is one.
    """
    if len(arguments) == 1 and type(arguments[0]) is np.ndarray:  # the most common call
        operand = differentiable_operand(arguments[0], pytree.LEAF, 0, names(0))
        return Inputs([operand], (pytree.LEAF,), (True,), [], (False,))
    operands: list[Any] = []
    weak: list[bool] = []
    structures, numeric, others = [], [], []
    for position, argument in enumerate(arguments):
        leaves, structure = pytree.flatten(argument)
        structures.append(structure)
        for k, leaf in enumerate(leaves):
            flag = is_numeric(leaf)
            numeric.append(flag)
            if flag:
                operands.append(differentiable_operand(leaf, structure, k, names(position)))
                weak.append(is_weak(leaf))
            else:
                _refuse_hidden_numbers(leaf, structure, k, names(position))
                others.append(leaf)
    return Inputs(operands, tuple(structures), tuple(numeric), others, tuple(weak))


def trace_call(
    f: Callable[..., Any],
    selection: Selection,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    *,
    has_aux: bool = False,
    orders: int = 1,
    on_values: str = "",
) -> tuple[Inputs, Trace]:
    """Trace a call of `f`, differentiated `orders` times in the selected arguments.

    `on_values` says whether rules of the user's are run on values, as `Policy` has it.
    """
    inputs, call = call_parts(f, selection, args, kwargs)
    return inputs, record(
        f,
        inputs.operands,
        call,
        nested_policy(orders, on_values=on_values),
        has_aux=has_aux,
        keeps_aux=True,
        weak=inputs.weak,
    )


def call_parts(
    f: Callable[..., Any], selection: Selection, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Inputs, Callable[[list[Tracer]], Any]]:
    """Take a call apart: its differentiated arguments, and `f` as a function of their leaves."""
    places = selection.places(args, kwargs)
    chosen = [args[k] if isinstance(k, int) else kwargs[k] for k in places]
    inputs = inputs_of(chosen, lambda k: selection.argument(places[k]))

    return inputs, lambda tracers: call_with(f, args, kwargs, places, inputs.rebuild(tracers))


def call_with(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    places: Sequence[int | str],
    values: Sequence[Any],
) -> Any:
    """Call `f` with other values for the arguments at some places, as `Selection` finds them."""
    changed, named = list(args), dict(kwargs)
    for place, value in zip(places, values, strict=True):
        if isinstance(place, int):
            changed[place] = value
        else:
            named[place] = value
    return f(*changed, **named)


def _refuse_hidden_numbers(
    leaf: Any, structure: pytree.Structure, k: int, argument: object
) -> None:
    """Refuse what would pass through undifferentiated although it may hold arrays."""
    fault = fault_of(leaf, alone=structure is pytree.LEAF)
    if fault is not None:
        raise InputError(
            f"{argument}{pytree.paths(structure)[k]} {fault.problem}, at {user_location()}. "
            f"{fault.cure}"
        )


def check_outputs(trace: Trace, selection: Selection) -> None:
    """Refuse results that have no derivative: integers and booleans."""
    numeric = zip(pytree.paths(trace.structure), trace.numeric, strict=True)
    paths = [path for path, flag in numeric if flag]
    for y, path in zip(trace.outputs, paths, strict=False):  # auxiliary outputs come behind
        if not y.type.differentiable:
            raise OutputError(
                f"{selection.transform} needs floating or complex results; the result{path} of "
                f"{selection.name} is {y.type}, at {user_location()}. Return it as an auxiliary "
                "result, with has_aux=True, or make it a float."
            )


def check_holomorphic(inputs: Inputs, trace: Trace, selection: Selection) -> None:
    """Refuse real results and real arguments, of which there is no complex derivative."""
    cure = "Leave holomorphic=True out, or make it complex (z + 0j)."
    numeric = zip(pytree.paths(trace.structure), trace.numeric, strict=True)
    paths = [path for path, flag in numeric if flag]
    for y, path in zip(trace.outputs, paths, strict=False):  # auxiliary outputs come behind
        if y.type.dtype.kind != "c":
            raise OutputError(
                f"{selection.transform} with holomorphic=True needs complex results; the "
                f"result{path} of {selection.name} is {y.type}, at {user_location()}. {cure}"
            )
    for x in inputs.operands:
        if x.dtype.kind != "c":
            raise InputError(
                f"{selection.transform} with holomorphic=True differentiates {selection.name} by "
                f"complex arguments; one is {type_of(x)}, at {user_location()}. {cure}"
            )


def like_inputs(values: Sequence[Any], inputs: Inputs) -> list[Any]:
    """Return 0-d derivatives by 0-d arrays as 0-d arrays, as they came."""
    return [
        (views.as_array(v) if isinstance(v, Tracer) else np.asarray(v))
        if not x.shape and is_array_without_axes(x)
        else v
        for v, x in zip(values, inputs.operands, strict=True)
    ]
