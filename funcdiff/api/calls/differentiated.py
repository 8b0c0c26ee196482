"""Calls: the differentiated arguments taken apart, and the function traced on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcdiff import pytree
from funcdiff.api.calls.inputs import Inputs, Selection, inputs_of, type_of
from funcdiff.api.calls.repeated import find_call, trace_again
from funcdiff.api.calls.tracing import Trace, nested_policy, record
from funcdiff.core.policy import Policy
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.pytree.structure import LEAF, Structure


class SplitCall:
    """A call of `f`, as a function of the leaves of its differentiated arguments, the `inputs`."""

    __slots__ = ("_args", "_f", "_kwargs", "_places", "_selection", "inputs")

    def __init__(
        self,
        f: Callable[..., Any],
        selection: Selection,
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> None:
        self._f, self._args, self._kwargs, self._selection = f, args, kwargs, selection
        self._places = places = selection.places(args, kwargs)
        chosen = [args[k] if isinstance(k, int) else kwargs[k] for k in places]
        self.inputs = inputs_of(chosen, lambda k: selection.argument(places[k]))

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Call the function with these leaves."""
        values = self.inputs.rebuild(leaves)
        args, kwargs = with_values(self._args, self._kwargs, self._places, values)
        return self._f(*args, **kwargs)

    def trace(
        self, policy: Policy, operands: Sequence[Any] | None = None, *, has_aux: bool = False
    ) -> Trace:
        """Trace it, at other leaves if they are given."""
        f, inputs = self._f, self.inputs
        record_call = partial(
            record, f, operands or inputs.operands, self, policy,
            has_aux=has_aux, keeps_aux=True, weak=inputs.weak,
        )  # fmt: skip
        args, kwargs, places = self._args, self._kwargs, self._places
        given: list[Any] = []
        if len(args) + len(kwargs) > len(places):
            given += [x for k, x in enumerate(args) if k not in places]
            given += [x for item in kwargs.items() if item[0] not in places for x in item]
        kind = (policy, has_aux, places, len(args), *kwargs)
        known = find_call(f, inputs, given, kind)
        trace = record_call() if known is None else trace_again(*known, record_call)
        if not any(trace.numeric):
            _refuse_nothing(trace.structure, trace.others, self._selection)
        return trace


def _refuse_nothing(structure: Structure, leaves: Sequence[Any], selection: Selection) -> None:
    """Refuse a result that is no number, array or container, as of a forgotten return."""
    got = type(leaves[0]).__name__ if structure is LEAF else str(structure)
    if structure is LEAF or got == "None":
        raise OutputError(
            f"{selection.transform} needs a function that returns numbers or arrays; "
            f"{selection.name} returned {got}, at {user_location()}. Return the result: a function "
            "without a return statement returns None. Other things go beside it, with has_aux=True."
        )


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
    call = SplitCall(f, selection, args, kwargs)
    return call.inputs, call.trace(nested_policy(orders, on_values=on_values), has_aux=has_aux)


def with_values(
    args: Sequence[Any], kwargs: dict[str, Any], places: Sequence[int | str], values: Sequence[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments with other values at some places, as `Selection` finds them."""
    changed, named = list(args), dict(kwargs)
    for place, value in zip(places, values, strict=True):
        if isinstance(place, int):
            changed[place] = value
        else:
            named[place] = value
    return changed, named


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
