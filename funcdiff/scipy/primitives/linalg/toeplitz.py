"""Systems with Toeplitz matrices, which are told by the elements of the last row and first column.

    T[i, j] = v[n - 1 + i - j],   v of length 2·n - 1.

The transposed matrix has these elements in reverse order; a product takes as many
operations as a solve by Levinson's recursion, the square of n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import NONE, Params, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.linalg.matrices import matmul
from funcdiff.ops.linalg.routines import over_stack, scipy_linalg
from funcdiff.ops.linalg.systems import solver
from funcdiff.ops.structure.slicing import sliding_windows
from funcdiff.ops.structure.structural import reverse


def toeplitz(v: Tracer, width: int) -> Tracer:
    """Return the matrices of so many columns; their elements are read, not copied."""
    windows = sliding_windows(v, v.ndim - 1, width)
    return reverse(windows, (windows.ndim - 1,))


def _abstract(_p: Params, v: ArrayType, b: ArrayType) -> Types:
    *stack, length = v.shape
    fits = b.ndim == v.ndim + 1 and b.shape[:-2] == tuple(stack) and length == 2 * b.shape[-2] - 1
    if not fits or v.dtype != b.dtype or v.dtype.char not in "dD":
        raise TypeError(f"cannot solve a Toeplitz system of {v} for {b}")
    return (b,)


def _impl(_p: Params) -> Callable[..., Any]:
    def function(v: Any, b: Any) -> Any:
        n = len(b)
        return scipy_linalg("solve_toeplitz")((v[n - 1 :], v[n - 1 :: -1]), np.ascontiguousarray(b))

    return over_stack(function, 1, 2)


toeplitz_solve_p: Final = solver(
    "toeplitz_solve",
    Params,
    _impl,
    product=lambda _p, v, x: matmul(toeplitz(v, x.shape[-2]), x),
    turned=lambda p, v: (p, reverse(v, (v.ndim - 1,))),
    abstract=_abstract,
)


def toeplitz_solve(v: Tracer, b: Tracer) -> Tracer:
    """Return T⁻¹·B in double precision, for stacks of matrices of one depth."""
    return bind(toeplitz_solve_p, NONE, v, b)[0]
