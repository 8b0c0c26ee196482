"""Validates bodies of control flow: their arguments, and the structure and types of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, NoReturn

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_numeric
from funcdiff.api.calls.inputs import Operands, as_tracers, operand, type_of
from funcdiff.api.calls.tracing import Trace, nested_policy, record, run
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.recording.quiet import errors_are_heard
from funcdiff.core.scope import run_isolated
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.pytree.structure import MismatchError, leaves_like


def emit(rule: Callable[[list[Tracer]], Sequence[Tracer]], operands: Sequence[Any]) -> list[Any]:
    """Record what `rule` does to the operands where one is traced, else compute it."""
    if any(isinstance(x, Tracer) for x in operands):
        return list(rule(as_tracers(operands)))

    def record_body() -> Program:
        with Builder("control flow", CLOSED) as builder:
            return builder.program(rule([builder.input(type_of(x)) for x in operands]))

    return run(run_isolated(record_body), operands)


def runs_in_python(operands: Sequence[Any]) -> bool:
    """Whether Python itself runs a loop: nothing is traced, or each operation is to raise."""
    untraced = current_builder() is None and not any(isinstance(x, Tracer) for x in operands)
    return untraced or errors_are_heard()


def record_body(
    f: Callable[..., Any],
    operands: Sequence[Any],
    types: Sequence[ArrayType],
    call: Callable[[list[Tracer]], Any],
    *,
    has_aux: bool = False,
    weak: Sequence[bool] = (),
) -> Trace:
    """Trace a function as a body: without values, and with every number in its place."""
    return record(
        f, operands, call, nested_policy(0, eager=False, lifts=False), has_aux=has_aux, types=types,
        weak=weak,
    )  # fmt: skip


def forbid_changes(
    call: Callable[[list[Tracer]], Any], who: object, path: Callable[[int], str]
) -> Callable[[list[Tracer]], Any]:
    """Return `call`, which calls a body, so that it raises if a tracer is changed in place.

    What a body computes reaches the outside as its results only: a change of an argument, which
    NumPy would show to the caller, would be lost.  `who` and `path` are what messages call the body
    and the k-th tracer.
    """

    def call_and_check(tracers: list[Tracer]) -> Any:
        before = [x.atom for x in tracers]
        result = call(tracers)
        for k, (x, atom) in enumerate(zip(tracers, before, strict=True)):
            if x.atom != atom:
                raise InputError(
                    f"{who} changes {path(k)} in place, at {user_location()}: that would be lost. "
                    "Change a copy, v = v + 1 instead of v += 1, or v = v.copy() before v[0] = 1, "
                    "and return what is needed of it."
                )
        return result

    return call_and_check


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an array or a number, a flag included, which an iteration may change."""
    return is_numeric(leaf) or isinstance(leaf, bool)


def detach(leaf: Any) -> Any:
    """Return a result that shares no memory with anything, as if a program had made it."""
    if isinstance(leaf, Tracer):
        return type(leaf)(leaf.builder, leaf.atom, leaf.type)
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


# ---- the carry of a loop ---------------------------------------------------------------------


def difference(name: str, expected: pytree.Structure, found: pytree.Structure) -> str:
    """Return where two structures differ first, and how; `name` is what the trees are called."""
    paths, other = pytree.paths(expected), pytree.paths(found)
    missing = [f"{name}{path} is missing" for path in paths if path not in other]
    new = [f"{name}{path} is new" for path in other if path not in paths]
    if pytree.LEAF not in (expected, found) and (missing or new):
        return ", ".join([*missing[:1], *new[:1]])
    try:
        leaves_like(expected, pytree.unflatten(found, range(found.leaf_count)))
    except MismatchError as error:
        before, now = (
            shorten(str(s), 80, placeholder=" ...") for s in (error.expected, error.found)
        )
        return f"{name}{error.path} was {before} and is {now}"
    return "its keys are in another order"


class Carry(Operands):
    """The carry of a loop: its containers, and the types of its leaves.

    `loop` and `name` are what messages call the loop, and its argument `init`.
    """

    def __init__(self, init: Any, loop: str, name: str) -> None:
        super().__init__(init, is_array)
        self._loop, self._name = loop, name

    def first_leaves(self) -> list[Any]:
        """Return the leaves of the first carry; what changes them in place does so to copies."""
        return [np.array(x) if isinstance(x, np.ndarray) else x for x in self.xs]

    def next_leaves(self, result: Any, f: Callable[..., Any]) -> list[Any]:
        """Return the leaves of what `f` returned as the next carry.

        Raises `OutputError` if containers, types or leaves that are no arrays differ from the
        first.
        """
        leaves, structure = pytree.flatten(result)
        if structure != self.structure:
            self._refuse_structure(structure, f)
        for path, first, leaf in self.changes(leaves):
            raise OutputError(
                f"the carry{path} of {self._loop} came as {first!r} but {FunctionName(f)} returned "
                f"{leaf!r}, at {user_location()}: what is no array must stay as it is. Use a "
                "number for what changes."
            )
        returned = zip(self.paths, self.types, self.among(leaves), strict=True)
        return [self._next_leaf(path, before, leaf, f) for path, before, leaf in returned]

    def _next_leaf(self, path: str, before: ArrayType, leaf: Any, f: Callable[..., Any]) -> Any:
        if not is_array(leaf):
            raise OutputError(
                f"the carry{path} of {self._loop} came as {before} but {FunctionName(f)} "
                f"returned a {type(leaf).__name__}, at {user_location()}. Return an array or "
                "a number there."
            )
        x = operand(leaf)
        if type_of(x) is not before:
            raise OutputError(
                f"the carry{path} of {self._loop} came as {before} but {FunctionName(f)} "
                f"returned {type_of(x)}, at {user_location()}. Give {self._name}{path} the "
                "dtype and shape of the result, or convert the result (.astype, "
                "np.broadcast_to)."
            )
        return x

    def _refuse_structure(self, structure: pytree.Structure, f: Callable[..., Any]) -> NoReturn:
        raise OutputError(
            f"the carry of {self._loop} came back from {FunctionName(f)} in other containers: "
            f"{difference('carry', self.structure, structure)}, at {user_location()}. Return the "
            f"containers and keys of {self._name}, in the same order."
        )
