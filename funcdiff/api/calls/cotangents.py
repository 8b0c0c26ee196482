"""Checking cotangents against outputs and tangents against inputs: never broadcast silently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_numeric
from funcdiff.api.calls.inputs import operand, type_of
from funcdiff.api.calls.tracing import Trace
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import CotangentError, user_location
from funcdiff.pytree.structure import MismatchError, leaves_like


def cotangent_operands(
    given: tuple[Any, ...], trace: Trace, types: Sequence[ArrayType], name: object
) -> list[Any]:
    """Return one operand per output for the cotangent given to ``f_vjp(*given)``."""
    if len(given) > 1:
        raise CotangentError(
            f"f_vjp takes one cotangent, of the structure of the output, but {len(given)} were "
            f"given at {user_location()}. Give a tuple if {name} returns a tuple."
        )
    if not given:
        if trace.is_alone and not types[0].shape and types[0].dtype.kind == "f":
            return [np.ones((), types[0].dtype)[()]]
        raise CotangentError(
            f"the cotangent can be left out only if the output is one real scalar; {name} "
            f"returned {_show(trace.structure, types)}, at {user_location()}. Give f_vjp(v) with "
            "v like the output, as in y.backward(gradient=v)."
        )
    leaves = _match_leaves(given[0], trace.structure, "the cotangent", f"the output of {name}")
    rest, what = iter(types), ("the cotangent", "the output")
    return _numbers(leaves, trace.structure, iter(trace.numeric), rest, *what)


def tangent_operands(
    given: Sequence[Any],
    structures: Sequence[pytree.Structure],
    numeric: Sequence[bool],
    operands: Sequence[Any],
) -> list[Any]:
    """Return one operand per differentiated leaf for the given tangents."""
    flags, types, result = iter(numeric), map(type_of, operands), []
    for k, (tangent, expected) in enumerate(zip(given, structures, strict=True)):
        what = (f"tangents[{k}]", "the primal")
        leaves = _match_leaves(tangent, expected, *what)
        result += _numbers(leaves, expected, flags, types, *what)
    return result


def _numbers(
    leaves: Sequence[Any],
    structure: pytree.Structure,
    flags: Iterator[bool],
    types: Iterator[ArrayType],
    what: str,
    target: str,
) -> list[Any]:
    """Return the leaves that are numbers, in their types; other numbers would be lost silently."""
    result = []
    for leaf, path in zip(leaves, pytree.paths(structure), strict=True):
        if next(flags):
            result.append(fit_vector(leaf, next(types), what + path, target))
        elif is_numeric(leaf):
            raise CotangentError(
                f"{what}{path} is a number, but {target} is none there (a function, a string, None "
                f"or a bool), at {user_location()}. Give a container like {target}, with "
                f"{target}'s own value in that place."
            )
    return result


def _match_leaves(tree: Any, structure: pytree.Structure, what: str, target: str) -> list[Any]:
    """List the leaves of a (co)tangent in the order of its structure; dicts match by key."""
    try:
        return leaves_like(structure, tree)
    except MismatchError as error:
        place = f"{target} at {error.path}" if error.path else target
        raise CotangentError(
            f"{what}{error.path} is {error.found}, but {place} is {error.expected}, at "
            f"{user_location()}. They have to be alike: the same containers, keys and lengths."
            f"{_none_for(tree, what)}{_array_of(tree, structure)}"
        ) from None


def _none_for(tree: Any, what: str) -> str:
    """Return the advice for None, which stands for no number."""
    if tree is not None:
        return ""
    alone = " f_vjp(), without an argument, takes 1.0 for one real scalar."
    return f" None is no zero: np.zeros_like(y) is.{alone if what == 'the cotangent' else ''}"


def _array_of(tree: Any, structure: pytree.Structure) -> str:
    """Return the advice to give an array, if the output is one and a list of numbers was given."""
    numbers = isinstance(tree, list | tuple) and all(map(is_numeric, tree))
    if structure is not pytree.LEAF or not numbers:
        return ""
    one = len(tree) == 1 and np.ndim(tree[0]) > 0
    return " Give the array itself." if one else " Make it an array: np.array([...])."


def fit_vector(v: Any, type_: ArrayType, what: str, target: str) -> Any:
    """Return a (co)tangent with exactly the given type; only safe float casts are made."""
    if not is_numeric(v):
        shown = shorten(repr(v), 40, placeholder=" ...")
        raise CotangentError(
            f"{what} is {shown} of type {type(v).__name__}, not a number or an array, at "
            f"{user_location()}. Make it an array like {target}: np.asarray(v)."
        )
    python_number = type(v) in (int, float, complex)
    x: Any = np.asarray(operand(v)) if not isinstance(v, Tracer) else v
    if x.shape != type_.shape:
        raise CotangentError(
            f"{what} has shape {x.shape}, but {target} has shape {type_.shape}, at "
            f"{user_location()}. They must be equal; nothing is broadcast.{_broadcast(x, type_)}"
        )
    if python_number and not (x.dtype.kind == "c" and type_.dtype.kind != "c"):
        return type_.dtype.type(v) if type_.differentiable else x[()]
    if not type_.differentiable:
        return x
    if x.dtype.kind not in "fc" or not np.can_cast(x.dtype, type_.dtype, "safe"):
        if x.dtype.kind == "f" and type_.dtype.kind == "f":
            cure = f"Convert it with .astype(np.{type_.dtype})"
        elif x.dtype.kind == "c":
            cure = "Give its real part"
        else:
            cure = "Make it a float array"
        raise CotangentError(
            f"{what} has dtype {x.dtype}, but {target} has dtype {type_.dtype}, at "
            f"{user_location()}. {cure}."
        )
    return x.astype(type_.dtype) if x.dtype != type_.dtype else x


def _broadcast(x: Any, type_: ArrayType) -> str:
    """Return the advice to broadcast, if that would work."""
    try:
        fits = np.broadcast_shapes(x.shape, type_.shape) == type_.shape
    except ValueError:
        fits = False
    if fits:
        return f" If it is meant for all, use np.broadcast_to(v, {type_.shape})."
    return f" Give an array of shape {type_.shape}."


def _show(structure: pytree.Structure, types: Sequence[ArrayType]) -> str:
    return str(types[0]) if structure is pytree.LEAF and types else str(structure)
