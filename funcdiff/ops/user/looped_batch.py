"""Batching by a loop: an operation of one example is called for one example after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from funcdiff.core.primitive import Types

Batch: TypeAlias = tuple[int, tuple[bool, ...]]
Batches: TypeAlias = tuple[Batch, ...]
"""One pair per batch axis, the outermost first: its length, and which operands have it."""


def batched_types(types: Types, batches: Batches) -> Types:
    """Return the types of the results for all examples, given those of one."""
    sizes = tuple(size for size, _ in batches)
    return tuple(t.with_shape((*sizes, *t.shape)) for t in types)


def map_batches(
    function: Callable[[Sequence[Any]], Sequence[Any]],
    types: Types,
    batches: Batches,
    operands: Sequence[Any],
) -> Sequence[Any]:
    """Call a function of the operands of one example for all, and stack its results.

    `types` are those of the results of one example.
    """
    if not batches:
        return function(operands)
    (size, flags), *rest = batches
    inner = tuple(rest)
    rows = [
        map_batches(
            function,
            types,
            inner,
            [x[k] if flag else x for x, flag in zip(operands, flags, strict=True)],
        )
        for k in range(size)
    ]
    if rows:
        return [np.stack(column) for column in zip(*rows, strict=True)]
    return [np.empty((0, *t.shape), t.dtype) for t in batched_types(types, inner)]
