"""Builds the arrays of Dask that have a row for each example."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcdiff.core.types import ArrayType
from funcdiff.dask.data import Data
from funcdiff.dask.library import da, delayed
from funcdiff.dask.shipping import Step


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a block: no list, which Dask would look into."""

    leaves: list[Any]


def run_block(step: Step, *block: Any) -> Results:
    """Return the results of a block."""
    return Results(step(block))


def take(part: Any, k: int) -> Any:
    """Return one result of a block, which comes in a list for each further axis of the data."""
    while isinstance(part, list):
        (part,) = part
    return part.leaves[k]


def rows(step: Step, data: Data, types: Sequence[ArrayType]) -> list[Any]:
    """Return the results as Dask arrays, one block after the other along axis 0.

    `types` are those of one block.
    """
    parts = _per_block(step, data)
    return [
        da.blockwise(
            take, (0, *own), parts, tuple(range(parts.ndim)), k=k, align_arrays=False,
            new_axes=dict(zip(own, t.shape[1:], strict=True)), dtype=t.dtype,
            meta=np.empty((0,) * len(t.shape), t.dtype),
        )
        for k, t in enumerate(types)
        for own in [tuple(range(parts.ndim, parts.ndim + len(t.shape) - 1))]
    ]  # fmt: skip


def _per_block(step: Step, data: Data) -> Any:
    """Return an array with the results of each block, which one task loads and computes.

    It has the axes of all arrays, so that none is summed over, which keeps Dask from fusing.
    """
    operands = [delayed(step, name=unique_name("given"), traverse=False), None]
    axes: tuple[int, ...] = (0,)
    for x in data.arrays:
        own = tuple(range(len(axes), len(axes) + x.ndim - 1))
        operands += [x, (0, *own)]
        axes += own
    return da.blockwise(
        run_block, axes, *operands, name=unique_name("block"), dtype=object, align_arrays=False,
        meta=np.empty((0,) * len(axes), object),
    )  # fmt: skip


def unique_name(what: str) -> str:
    """Return a name of tasks that no other ones have, by which dashboards show them."""
    return f"funcdiff-{what}-{uuid.uuid4().hex}"
