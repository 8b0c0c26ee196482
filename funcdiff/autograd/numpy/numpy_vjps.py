"""``autograd.numpy.numpy_vjps``: what rules of one's own use of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def unbroadcast(x: Any, target_meta: tuple[Any, ...], broadcast_idx: int = 0) -> Any:
    """Return the sum of an array over the axes that broadcasting has made.

    Parameters
    ----------
    x
        The array.
    target_meta
        A tuple of the shape that it had, and anything else.
    broadcast_idx
        Where axes were put in.
    """
    shape = target_meta[0]
    while np.ndim(x) > len(shape):
        x = np.sum(x, axis=broadcast_idx)
    axes = tuple(k for k, n in enumerate(shape) if n == 1 != np.shape(x)[k])
    return np.sum(x, axis=axes, keepdims=True) if axes else x


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a rule whose result is summed to the shape of `target`."""
    shape = np.shape(target)
    is_complex = np.iscomplexobj(target)

    def summed(g: Any) -> Any:
        x = unbroadcast(f(g), (shape,))
        return x if is_complex else np.real(x)

    return summed
