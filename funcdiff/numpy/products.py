"""Products: every one is a `contract`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.dispatch import implements
from funcdiff.numpy.promotion import broadcast_shapes, broadcast_to, promoted
from funcdiff.ops.contract import contract


@implements(np.matmul)
def matmul(x: Any, y: Any) -> Tracer:
    """Return the matrix product; stacks of matrices broadcast."""
    x, y = promoted(x, y)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(f"matmul: an operand is 0-d, at {user_location()}; use * instead")
    inner_left, inner_right = x.shape[-1], y.shape[max(-2, -y.ndim)]
    if inner_left != inner_right:
        raise ValueError(
            f"matmul: shapes {x.shape} and {y.shape} do not match: {inner_left} is not "
            f"{inner_right}, at {user_location()}"
        )
    depth = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if x.ndim > 2 and y.ndim > 2:
        x, y = (broadcast_to(z, (*depth, *z.shape[-2:])) for z in (x, y))
    return stacked(x, y)


def stacked(x: Tracer, y: Tracer) -> Tracer:
    """Return the matrix product of stacks of equal depth, or of which one is not a stack."""
    depth = max(x.ndim, y.ndim, 2) - 2
    labels = tuple(range(depth))
    row, inner, column = depth, depth + 1, depth + 2
    left = (*(labels if x.ndim > 2 else ()), *((row,) if x.ndim > 1 else ()), inner)
    right = (*(labels if y.ndim > 2 else ()), inner, *((column,) if y.ndim > 1 else ()))
    out = (*labels, *((row,) if x.ndim > 1 else ()), *((column,) if y.ndim > 1 else ()))
    return contract(x, y, left, right, out)
