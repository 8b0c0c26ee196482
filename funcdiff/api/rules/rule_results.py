"""Checks what derivative rules of users return against what they have to return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import as_tracers, operand
from funcdiff.api.calls.tracing import Trace, rebuild
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import OutputError, user_location
from funcdiff.ops.user.custom_rules import smooth
from funcdiff.space import zeros


def like_result(body: Trace, cotangents: Sequence[Any]) -> Any:
    """Return a cotangent in the structure of the result; None for what has none."""
    floats = set(smooth([y.type for y in body.outputs]))
    rest = iter(cotangents)
    values = [next(rest) if k in floats else None for k in range(len(body.outputs))]
    return rebuild(body.structure, body.numeric, values, [None for _ in body.others])


def match_derivatives(
    value: Any,
    structure: pytree.Structure,
    types: Sequence[ArrayType | None],
    what: str,
    target: str,
) -> list[Tracer]:
    """Return the leaves of a derivative for those that are floating, checked; None is zero."""
    paths = pytree.paths(structure)
    given, found = pytree.flatten_with_paths(value)
    leaves = dict(given)
    if value is not None:
        # the tree that is wanted, with None where none was given, must be the one that came
        partial = pytree.unflatten(structure, [0 if path in leaves else None for path in paths])
        if not set(leaves) <= set(paths) or pytree.flatten(partial)[1] != found:
            raise OutputError(
                f"{what} is {show_types(found, list(leaves.values()))}, but {target} is "
                f"{structure}, at {user_location()}. Return one like it, with None for zeros."
            )
    return [
        zeros(type_)
        if leaves.get(path) is None
        else fit_derivative(leaves[path], type_, what + path)
        for type_, path in zip(types, paths, strict=True)
        if type_ is not None and type_.differentiable
    ]


def fit_derivative(leaf: Any, type_: ArrayType, what: str) -> Tracer:
    """Return a derivative as a tracer of the type of its primal."""
    (x,) = as_tracers([operand(leaf)])
    if x.shape != type_.shape:
        raise OutputError(
            f"{what} has shape {x.shape}, expected {type_.shape}, at {user_location()}. "
            "Sum over broadcast axes, or reshape it."
        )
    if x.type is not type_:
        if not np.can_cast(x.dtype, type_.dtype, "same_kind"):
            raise OutputError(
                f"{what} has dtype {x.dtype}, expected {type_.dtype}, at {user_location()}. "
                "Take the real part of what is complex, and convert the rest with .astype."
            )
        x = x.astype(type_.dtype)  # type: ignore[attr-defined]
    return x


def show_types(structure: pytree.Structure, leaves: Sequence[Any]) -> str:
    """Return how messages show a container and the types of its leaves."""
    types = ", ".join(str(getattr(leaf, "type", type(leaf).__name__)) for leaf in leaves)
    return types if structure is pytree.LEAF else f"{structure} of {types}"
