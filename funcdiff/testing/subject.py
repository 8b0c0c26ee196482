"""Takes a function apart into one of the floating leaves of its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import FunctionName, is_numeric, operand
from funcdiff.core.progress import Progress
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.testing.differences import (
    Function,
    Values,
    direction,
    is_smooth,
    magnitudes,
)
from funcdiff.testing.layout import Layout, scales


class Subject(NamedTuple):
    """A function of the floating leaves of its arguments, returning those of its result."""

    call: Function  # ``call(leaves) -> leaves``
    name: str  # in messages
    inputs: list[str]  # paths of the leaves, such as ``args[0]['w']``
    outputs: list[str]  # paths of the leaves
    progress: Progress  # counts evaluations
    directions: int  # how many are tried in search of the entries that are wrong


class Point(NamedTuple):
    """Arguments taken apart: which leaves are differentiated, and how all are put together."""

    structure: pytree.Structure  # of the tuple of arguments
    leaves: list[Any]
    chosen: list[int]  # places of leaves that are floating or complex

    def arguments(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments with other values of the chosen leaves."""
        return self._fill(self.leaves, values)

    def tangents(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return tangents of the arguments: zero for integers, text and flags as they are."""
        still = [np.zeros_like(x)[()] if is_numeric(x) else x for x in self.leaves]
        return self._fill(still, values)

    def _fill(self, leaves: list[Any], values: Sequence[Any]) -> tuple[Any, ...]:
        changed = list(leaves)
        for k, value in zip(self.chosen, values, strict=True):
            changed[k] = value
        filled: tuple[Any, ...] = pytree.unflatten(self.structure, changed)
        return filled


def take_apart(
    f: Callable[..., Any],
    args: Sequence[Any],
    check: str,
    *,
    directions: int,
    progress: bool | None = None,
) -> tuple[Subject, Point, list[Any]]:
    """Return a function of leaves, its point, and the values of the leaves there.

    Raises `InputError` if `args` is no tuple of arguments, or nothing goes in or comes out that has
    a derivative.  `check` is the name of the function that the user called; `progress` asks for
    lines about it, None for lines if it takes long.
    """
    if not isinstance(args, tuple | list):
        raise InputError(
            f"{check}: args is a {type(args).__name__}, at {user_location()}. Give a tuple with "
            f"one entry per argument: {check}(f, ..., (x,))."
        )
    leaves, structure = pytree.flatten(tuple(args))
    chosen = [k for k, leaf in enumerate(leaves) if is_numeric(leaf) and is_smooth(leaf)]
    if not chosen:
        raise InputError(
            f"{check}: no argument of {FunctionName(f)} holds a floating or complex number, at "
            f"{user_location()}. Give args=(x,) with x such as 2.0, and integers only beside it."
        )
    point = Point(structure, leaves, chosen)
    with np.errstate(all="ignore"):
        outputs = [f"result{path}" for path, _ in smooth_leaves(f(*args))]
    if not outputs:
        raise InputError(
            f"{check}: {FunctionName(f)} returned no floating or complex number, so there is "
            f"nothing to check, at {user_location()}. Return one."
        )
    paths = pytree.paths(structure)
    counter = Progress(f"{check} of {FunctionName(f)}", wanted=progress, unit="calls")
    counter.doing = "the value"

    def call(xs: Sequence[Any]) -> Values:
        counter.tick()
        return [leaf for _, leaf in smooth_leaves(f(*point.arguments(xs)))]

    inputs = [f"args{paths[k]}" for k in chosen]
    subject = Subject(call, str(FunctionName(f)), inputs, outputs, counter, directions)
    return subject, point, [operand(leaves[k]) for k in chosen]


def smooth_leaves(tree: Any) -> list[tuple[str, Any]]:
    """Return the floating and complex leaves of a result with their paths."""
    pairs, _ = pytree.flatten_with_paths(tree)
    return [
        (path, leaf)
        for path, leaf in pairs
        if is_numeric(leaf)
        and (leaf.type.differentiable if isinstance(leaf, Tracer) else is_smooth(leaf))
    ]


def tangent(xs: Sequence[Any], random: np.random.Generator) -> Values:
    """Return a direction in which every entry moves by about its size."""
    layout = Layout([""] * len(xs), xs)
    signs = random.choice([-1.0, 1.0], layout.size)
    return layout.arrays(scales(layout, xs) * magnitudes(layout.size, random) * signs)


def weights(ys: Sequence[Any], random: np.random.Generator) -> Values:
    """Return random weights of results, such that each result counts; 1 for a single number."""
    if len(ys) == 1 and not np.ndim(ys[0]) and not np.iscomplexobj(ys[0]):
        return [np.ones_like(ys[0])[()]]
    found = []
    for y in ys:
        top = float(np.abs(y).max(initial=0.0))
        size = 2.0 ** -round(math.log2(top)) if 0 < top < math.inf else 1.0
        found.append((size * direction(y, random)).astype(np.asarray(y).dtype)[()])
    return found
