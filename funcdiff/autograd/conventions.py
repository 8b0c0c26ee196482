"""autograd's convention for covectors: linear forms ``Re Σ g·t``, without a conjugation.

So its vector-Jacobian products are the conjugates of funcdiff's of conjugates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.derivatives.linear_maps import jvp, vjp
from funcdiff.core.tracer import Tracer


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
    value, pullback = vjp(fun, cast(x))
    return partial(apply_pullback, pullback, value, True), value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function of a tangent like `x` that returns ``(fun(x), J·tangent)``."""
    x = cast(x)
    return lambda g: jvp(fun, (x,), (match_dtypes(g, x),))


def apply_pullback(
    pullback: Callable[[Any], tuple[Any, ...]],
    value: Any,
    alone: bool,  # noqa: FBT001
    g: Any,
) -> Any:
    """Return what a pullback gives in autograd's convention, of one argument `alone` or of all."""
    found = conj_leaves(pullback(conj_leaves(match_dtypes(g, value))))
    return found[0] if alone else found


def conj_leaves(tree: Any) -> Any:
    """Return a container with its complex leaves conjugated."""
    return _map(lambda leaf: np.conj(leaf) if np.iscomplexobj(leaf) else leaf, tree)


_LEAVES: Final = frozenset((np.ndarray, np.float64, float))


def _is_leaf(x: Any) -> bool:
    return type(x) in _LEAVES or issubclass(type(x), Tracer)


def _map(f: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to every leaf of a container, which mostly is an array."""
    if _is_leaf(tree):
        return f(tree)
    if type(tree) is tuple:
        return tuple([_map(f, x) for x in tree])
    return pytree.map(f, tree)


def cast(tree: Any) -> Any:
    """Return a container with its arrays of integers as floats, by which it is differentiated.

    Numbers stay: that one is an integer is most often a mistake, which autograd refuses, too.
    """
    return _map(lambda x: x.astype(float) if _is_array_of_integers(x) else x, tree)


def cast_at(args: Sequence[Any], argnum: int | Sequence[int]) -> list[Any]:
    """Return arguments, `cast` where one differentiates by them."""
    chosen = {argnum} if isinstance(argnum, int) else {*argnum}
    places = {k % len(args) for k in chosen if -len(args) <= k < len(args)}
    return [cast(x) if k in places else x for k, x in enumerate(args)]


def _is_array_of_integers(x: Any) -> bool:
    return issubclass(type(x), np.ndarray) and x.dtype.kind in "iub"


def match_dtypes(tree: Any, like: Any) -> Any:
    """Return vectors in the dtypes of others: of the float width, and real where these are.

    The real part is what a complex covector of a real value is for.  Integers become floats.
    """
    if _is_leaf(tree) and _is_leaf(like):
        return _match_dtype(tree, like)
    leaves, structure = pytree.flatten(tree)
    others, form = pytree.flatten(like)
    if structure != form:  # for which others have words
        return floating(tree)
    pairs = zip(leaves, others, strict=True)
    return pytree.unflatten(structure, [_match_dtype(x, other) for x, other in pairs])


def _match_dtype(x: Any, like: Any) -> Any:
    given, wanted = _dtype(x), _dtype(like)
    if given == wanted or given is None or wanted is None or wanted.kind not in "fc":
        return _floating(x)
    x = np.real(x) if (given.kind, wanted.kind) == ("c", "f") else x
    return x.astype(wanted) if hasattr(x, "astype") else wanted.type(x)


def floating(tree: Any) -> Any:
    """Return a container with integers as floats."""
    return _map(_floating, tree)


def _floating(leaf: Any) -> Any:
    dtype = _dtype(leaf)
    return leaf * 1.0 if dtype is not None and dtype.kind in "iub" else leaf


def _dtype(leaf: Any) -> Any:
    dtype = getattr(leaf, "dtype", None)
    is_python = dtype is None and isinstance(leaf, int | float | complex)
    return np.result_type(leaf) if is_python else dtype
