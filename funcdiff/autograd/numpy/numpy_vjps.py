"""``autograd.numpy.numpy_vjps``: the helpers that custom reverse rules import."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.autograd import extend
from funcdiff.autograd.names import attributes

__all__ = [
    "balanced_eq",
    "match_complex",
    "repeat_to_match_shape",
    "replace_zero",
    "unbroadcast",
    "unbroadcast_f",
]


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """Return the sum of an array over the axes that broadcasting has made.

    Parameters
    ----------
    x
        The array.
    target_meta
        A tuple of the shape that it had, the number of axes, the dtype, and whether it was
        complex: if it was not, the real part is taken.  The last three may be missing.
    broadcast_idx
        Where axes were put in.
    """
    shape = target_meta[0]
    while np.ndim(x) > len(shape):
        x = np.sum(x, axis=broadcast_idx)
    axes = tuple(k for k, n in enumerate(shape) if n == 1 != np.shape(x)[k])
    x = np.sum(x, axis=axes, keepdims=True) if axes else x
    return np.real(x) if target_meta[3:] == (False,) and np.iscomplexobj(x) else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a rule whose result is summed to the shape of `target`."""
    meta = (np.shape(target), np.ndim(target), None, np.iscomplexobj(target))
    return lambda g: unbroadcast(f(g), meta)


def repeat_to_match_shape(
    g: Any,
    shape: tuple[int, ...],
    dtype: Any,  # noqa: ARG001  # autograd has it, too
    axis: Any,
    keepdims: bool,  # noqa: ARG001, FBT001
) -> tuple[Any, int]:
    """Return what a reduction over axes has left, repeated along them, and how often."""
    if shape == ():
        return g, 1
    axes = range(len(shape)) if axis is None else np.atleast_1d(axis) % len(shape)
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    count = math.prod(n for k, n in enumerate(shape) if k in axes)
    return np.broadcast_to(np.reshape(g, kept), shape), count


def match_complex(target: Any, x: Any) -> Any:
    """Return an array complex or real, as another is."""
    if np.iscomplexobj(target) == np.iscomplexobj(x):
        return x
    return x + 0j if np.iscomplexobj(target) else np.real(x)


def balanced_eq(x: Any, z: Any, y: Any) -> Any:
    """Return the share of `x` in the derivative of ``z = max(x, y)``: a half where both are."""
    return (x == z) / (1.0 + (x == y))


def replace_zero(x: Any, val: Any) -> Any:
    """Return an array with another value in the place of zeros."""
    return np.where(x, x, val)


__getattr__, __dir__ = attributes(
    __name__,
    extend,
    absent={
        "nograd_functions": "What has no derivative is known to funcdiff.",
        "untake SparseObject grad_chooser grad_einsum dot_adjoint_0 dot_adjoint_1 "
        "tensordot_adjoint_0 tensordot_adjoint_1 matmul_adjoint_0 matmul_adjoint_1": (
            "NumPy's functions have their rules in funcdiff; fd.vjp(f, x) returns a VJP."
        ),
    },
)
