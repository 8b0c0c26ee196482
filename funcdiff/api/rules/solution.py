"""Unknowns of equations: containers of floating arrays, and values that must be like them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import FunctionName, is_numeric, operand, type_of
from funcdiff.api.calls.tracing import Trace, nested_policy, record
from funcdiff.core.memo import memoised
from funcdiff.core.program import Program
from funcdiff.core.recording import program_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import rearrange
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.ops.structure.structural import convert
from funcdiff.passes.simplify import simplify


class Unknowns(NamedTuple):
    """A container taken apart."""

    leaves: list[Any]
    types: tuple[ArrayType, ...]
    structure: pytree.Structure


def unknowns(tree: Any, what: str) -> Unknowns:
    """Take a container of floating or complex numbers apart; `InputError` names any other leaf."""
    leaves, structure = pytree.flatten(tree)
    for leaf, path in zip(leaves, pytree.paths(structure), strict=True):
        if not is_numeric(leaf) or operand(leaf).dtype.kind not in "fc":
            shown = f"an array of dtype {leaf.dtype}" if hasattr(leaf, "dtype") else repr(leaf)
            raise InputError(
                f"{what}{path} is {shown}, at {user_location()}: equations are solved for floating "
                "or complex numbers. Make it a float, or keep it out of the container."
            )
    if not leaves:
        raise InputError(f"{what} holds no numbers to solve for, at {user_location()}.")
    xs = [operand(leaf) for leaf in leaves]
    return Unknowns(xs, tuple(map(type_of, xs)), structure)


def fit_leaves(
    value: Any, structure: pytree.Structure, types: Sequence[ArrayType], what: str
) -> list[Any]:
    """Return the leaves of a value that must be like the unknowns, in their types.

    Raises `OutputError`, with the leaf's path, if the structure, a shape or a kind of number
    differs.
    """
    leaves, found = pytree.flatten(value)
    if found != structure:
        raise OutputError(
            f"{what} is {found}, expected {structure} like the unknowns, at {user_location()}. "
            "SciPy's solvers return more than the solution: pick it out of the result."
        )
    paths = pytree.paths(structure)
    return [
        _leaf(x, t, what + path) for x, t, path in zip(leaves, types, paths, strict=True)
    ]  # fmt: skip


def _leaf(leaf: Any, type_: ArrayType, what: str) -> Any:
    x: Any = leaf if isinstance(leaf, Tracer) else np.asarray(leaf)
    if x.shape != type_.shape:
        raise OutputError(
            f"{what} has shape {x.shape}, expected {type_.shape} like the unknown, at "
            f"{user_location()}. Reshape it."
        )
    if not np.can_cast(x.dtype, type_.dtype, "same_kind"):
        raise OutputError(
            f"{what} has dtype {x.dtype}, expected {type_.dtype} like the unknown, at "
            f"{user_location()}. Convert it, or start from an unknown of that dtype."
        )
    return convert(x, type_.dtype) if isinstance(x, Tracer) else np.array(x, type_.dtype)[()]


def trace_equation(f: Callable[..., Any], x: Unknowns, name: str) -> tuple[Program, list[Any]]:
    """Trace a function of the unknowns: return ``(*captures, *x) -> y`` and the captures' values.

    Raises `OutputError`, with the leaf's path, if the result is not like the unknowns.
    """

    def call(tracers: list[Tracer]) -> Any:
        return f(pytree.unflatten(x.structure, tracers))

    trace = record(
        f, x.leaves, call, nested_policy(0, eager=False, lifts=False), types=x.types
    )  # fmt: skip
    _check_result(trace, f, x, name)
    program = _captures_first(program_of(*trace.recording), len(x.types))
    return simplify(program), trace.captures  # which is what runs, too


def _check_result(trace: Trace, f: Callable[..., Any], x: Unknowns, name: str) -> None:
    if trace.structure != x.structure or not all(trace.numeric):
        raise OutputError(
            f"{FunctionName(f)} returned {trace.structure} to {name}, but its argument is "
            f"{x.structure}, at {user_location()}. There must be one equation for each unknown."
        )
    for path, y, t in zip(pytree.paths(x.structure), trace.outputs, x.types, strict=True):
        if y.type is not t:
            raise OutputError(
                f"the result{path} of {FunctionName(f)} is {y.type}, but the unknown{path} of "
                f"{name} is {t}, at {user_location()}. There must be one equation for each "
                "unknown: convert or reshape one of the two."
            )


@memoised
def _captures_first(program: Program, count: int) -> Program:
    inputs = len(program.inputs)
    return rearrange(program, [*range(count, inputs), *range(count)], range(len(program.outputs)))
