"""Which axis of each leaf counts the examples: containers of axes, matched like a prefix."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_int, operand
from funcdiff.errors import InputError, user_location
from funcdiff.pytree.registry import kinds


def leaf_axes(axes: Any, tree: Any, name: str, values: str, path: str = "") -> list[int | None]:
    """Return one axis for each leaf from a container of axes that is a prefix of the tree.

    `axes` is an int or None for all leaves, or a container with one entry per child of `tree`;
    `name` and `values` are what messages call the two, ``in_axes`` and ``args``, and `path` is the
    present place in both.  Raises `InputError` if they do not fit.
    """
    if axes is None or is_int(axes):
        count = pytree.flatten(tree)[1].leaf_count
        return [None if axes is None else operator.index(axes)] * count
    pairs = _children(axes, tree, name, values, path)
    return [
        axis
        for entry, inner, value in pairs
        for axis in leaf_axes(inner, value, name, values, path + entry)
    ]


def _children(
    axes: Any, tree: Any, name: str, values: str, path: str
) -> list[tuple[str, Any, Any]]:
    """Return entry of the path, axes and value of each child."""
    kind, other = kinds[type(tree)], kinds[type(axes)]
    sequences = isinstance(axes, list | tuple) and type(tree) in (list, tuple)
    if kind is None or other is None or not (kind.cls is other.cls or sequences):
        raise InputError(
            f"{name}{path} {axes!r} does not fit {values}{path}, which is "
            f"{_description(tree)}, at {user_location()}. Give an int, None, or a container like a "
            "prefix of the value."
        )
    children, aux = kind.to_children(tree)
    entries, entry_aux = other.to_children(axes)
    inner, outer = list(entries), list(children)
    if kind.keys is not None and other.keys is not None:
        by_key = dict(zip(other.keys(entry_aux), inner, strict=True))
        keys = kind.keys(aux)
        if by_key.keys() != set(keys):
            raise InputError(
                f"{name}{path} has the keys {', '.join(map(repr, by_key))}, but {values}{path} has "
                f"{', '.join(map(repr, keys))}, at {user_location()}. Give one entry per key."
            )
        inner = [by_key[key] for key in keys]
    if len(inner) != len(outer):
        raise InputError(
            f"{name}{path}={axes} has {len(inner)} entries for {len(outer)} values of "
            f"{values}{path}, at {user_location()}. Give one per value, or a single int."
        )
    return list(zip(kind.entries(aux, len(outer)), inner, outer, strict=True))


def _description(tree: Any) -> str:
    structure = pytree.flatten(tree)[1]
    return f"a {type(tree).__name__}" if structure is pytree.LEAF else str(structure)


# ---- values with the axis of the examples in front -------------------------------------------


def cure_of_list(path: str, x: Any) -> str:
    """Return the advice to give an array in place of a list, of which a leaf is an item."""
    is_item = not np.ndim(x) and re.search(r"(^|\])\[\d+\]$", path)
    return "A list is a container, not a batch: give np.array([...]). " if is_item else ""


def move_to_front(leaf: Any, axis: int, path: str) -> Any:
    """Return a leaf with the axis of the examples in front."""
    x = operand(leaf)
    if not -x.ndim <= axis < x.ndim:
        shared = (
            "Let the function close over values that all examples share (functools.partial)."
            if path.startswith("kwargs")
            else "Use None in in_axes for values that all examples share."
        )
        raise InputError(
            f"vmap: {path} of shape {x.shape} has no axis {axis}, at {user_location()}. "
            f"{cure_of_list(path, x)}{shared}"
        )
    return x if axis == 0 else np.moveaxis(x, axis, 0)


def move_from_front(value: Any, axis: int | None, path: str, *, varies: bool) -> Any:
    """Return a result with the axis of the examples where it was asked for, or without it."""
    if axis is None:
        if varies:
            raise InputError(
                f"out_axes is None for {path}, which differs from example to example, "
                f"at {user_location()}. Give the axis to put the examples on."
            )
        return value[0]
    if not -value.ndim <= axis < value.ndim:
        raise InputError(
            f"vmap: {path} has {value.ndim} axes, that of the examples included, so it cannot be "
            f"axis {axis}, at {user_location()}. Give an axis from {-value.ndim} to "
            f"{value.ndim - 1}."
        )
    return np.moveaxis(value, 0, axis)


def batch_size(values: Sequence[Any], axis_size: int | None, paths: Sequence[str]) -> int:
    """Return the number of examples, on which all values agree."""
    sizes = {path: int(x.shape[0]) for path, x in zip(paths, values, strict=True)}
    if axis_size is not None:
        if not is_int(axis_size) or axis_size < 0:
            raise InputError(
                f"vmap: axis_size={axis_size!r} is not a number of examples, at {user_location()}"
            )
        sizes = {**sizes, "axis_size": operator.index(axis_size)}
    if not sizes:
        raise InputError(
            f"vmap maps over no argument, at {user_location()}: in_axes is None for all, or "
            "none of them is an array. Give axis_size=, or an argument with an axis."
        )
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{path}: {n}" for path, n in sizes.items())
        raise InputError(
            f"vmap: sizes of the mapped axes disagree, at {user_location()}: {shown}. Map axes "
            "of one length, or share a value with None in in_axes."
        )
    return next(iter(sizes.values()))
