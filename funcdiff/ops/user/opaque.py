"""Callbacks: `opaque`, which calls a Python function that cannot be traced with concrete arrays.

A parameter holds the name under which the function was entered, never the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np

from funcdiff.core.primitive import Params, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.recording.concrete import call_once
from funcdiff.core.scope import without_recording
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.user.custom_rules import without_rule
from funcdiff.ops.user.python_call import (
    Batches,
    Entered,
    batched_types,
    by_example,
    check_results,
    map_batches,
    python_call,
)
from funcdiff.transforms.jvp import Mask

Run: TypeAlias = Callable[..., Sequence[Any]]
"""Of arrays, to the leaves of the result."""


class Function(NamedTuple):
    """A function of arrays, and the same for operands that all have a batch axis in front."""

    run: Run
    batch: Callable[..., Sequence[Any]] | None
    has_effects: bool = True


entered: Final[Entered[Function]] = Entered(
    "the opaque function",
    "Import the module that declares it with fd.primitive, and trace the program there.",
)
"""Opaque functions by name."""


class Opaque(Params):
    """An opaque function and the types of its results."""

    name: str  # under which it was entered
    results: tuple[ArrayType, ...]  # of one example
    batches: Batches  # batch axes of the operands

    @property
    def has_effects(self) -> bool:
        """Whether the function may do more than return its results."""
        return entered[self.name].has_effects


def _call(p: Opaque, function: Function, xs: Sequence[Any]) -> Sequence[Any]:
    """Call the function once per example, or for all of the innermost batch axis at once."""
    batch = function.batch
    if batch is None or not p.batches:
        return by_example(lambda p, xs: _run(p, function.run, xs, p.results))(p, xs)
    *outer, innermost = p.batches
    size, flags = innermost
    types = batched_types(p.results, (innermost,))

    def together(xs: Sequence[Any]) -> list[Any]:
        wide = [
            x if flag else np.broadcast_to(x, (size, *np.shape(x)))
            for x, flag in zip(xs, flags, strict=True)
        ]
        return _run(p, partial(batch, size), wide, types)

    return map_batches(together, types, tuple(outer), xs)


def _run(p: Opaque, function: Run, xs: Sequence[Any], types: Types) -> list[Any]:
    """Return copies of the results: the function may keep or return memory of somebody else."""
    with without_recording():
        results = list(map(np.array, function(*map(private_copy, xs))))
    return check_results(
        results, types,
        lambda found, wanted: f"{_display_name(p)} returned {found} where it had returned, or "
        f"declared, {wanted} for arguments of these types. An opaque function must return the same "
        "shapes and dtypes for the same shapes and dtypes.",
    )  # fmt: skip


def private_copy(x: Any) -> Any:
    """Return a copy, which the function may keep or change: what it was made of is used again."""
    return x.copy() if issubclass(type(x), np.ndarray) else x


def _display_name(p: Opaque) -> str:
    """Return the name that the user gave the function, without the number that `enter` adds."""
    return p.name.partition(".")[0]


def _no_rule(p: Opaque, _active: Mask, _types: Types) -> NoReturn:
    raise NotDifferentiableError(without_rule(_display_name(p)))


def _wide(p: Opaque) -> slice:
    return slice(None if not p.batches and entered[p.name].batch is not None else 0)


opaque_p: Final = python_call(
    "opaque",
    Opaque,
    lambda p, xs: call_once(p, xs, lambda: _call(p, entered[p.name], xs)),
    _no_rule,
    wide=_wide,
)


def opaque(p: Opaque, xs: Tracers) -> Tracers:
    """Call the opaque function."""
    return bind(opaque_p, p, *xs)
