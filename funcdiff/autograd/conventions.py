"""autograd's convention for covectors: linear forms ``Re Σ g·t``, without a conjugation.

So its vector-Jacobian products are the conjugates of funcdiff's of conjugates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.derivatives.products import jvp, vjp


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """Return the vector-Jacobian product of a function of one argument, and its value.

    Parameters
    ----------
    fun
        Function of an array or a container, returning the same.
    x
        The point.

    Returns
    -------
    vjp : callable
        Of a covector like ``fun(x)``; it returns one like `x`.
    value
        ``fun(x)``.
    """
    value, pullback = vjp(fun, x)
    return partial(pulled, pullback, True), value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function of a tangent like `x` that returns ``(fun(x), J·tangent)``."""
    return lambda g: jvp(fun, (x,), (floating(g),))


def pulled(pullback: Callable[[Any], tuple[Any, ...]], alone: bool, g: Any) -> Any:  # noqa: FBT001
    """Return what a pullback gives in autograd's convention, of one argument `alone` or of all."""
    found = conjugated(pullback(conjugated(floating(g))))
    return found[0] if alone else found


def conjugated(tree: Any) -> Any:
    """Return a container with its complex leaves conjugated."""
    return pytree.map(lambda leaf: np.conj(leaf) if np.iscomplexobj(leaf) else leaf, tree)


def floating(tree: Any) -> Any:
    """Return a container with integers as floats."""
    return pytree.map(lambda leaf: leaf * 1.0 if _kind(leaf) in "iub" else leaf, tree)


def _kind(leaf: Any) -> str:
    dtype = getattr(leaf, "dtype", None)
    return str(np.result_type(leaf).kind if dtype is None else dtype.kind)
