"""`associative_scan`: a parallel prefix sum of any associative operation, in logarithmic depth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import FunctionName, check_function
from funcdiff.api.calls.operands import Operands
from funcdiff.api.control.bodies import detach
from funcdiff.api.signatures.variables import X
from funcdiff.core.tracebacks import public
from funcdiff.errors import InputError, OutputError, user_location


@public
def associative_scan(
    fn: Callable[[X, X], Any], elems: X, *, reverse: bool = False, axis: int = 0
) -> X:
    """Return all partial results of an associative operation.

    With ``∘`` for `fn`, the k-th result is ``e₀ ∘ e₁ ∘ … ∘ e_k``.

    Parameters
    ----------
    fn
        Associative function of two values like `elems`, applied to slices along `axis` of any
        length: it has to be elementwise along that axis.
    elems
        Container of arrays of one length n along `axis`; values that are no arrays are shared.
    reverse
        Whether to start from the end: the k-th result is then ``e_{n-1} ∘ … ∘ e_k``.
    axis
        The axis along which the elements stand; counted from the end if it is negative.

    Returns
    -------
    any
        Like `elems`.  `fn` is called about 2·log₂ n times.

    Raises
    ------
    InputError
        If the lengths disagree, or an array has no such axis.
    OutputError
        If `fn` returns containers or shapes other than those that it was given.

    References
    ----------
    G. E. Blelloch, "Prefix sums and their applications", CMU-CS-90-190, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    check_function(fn, "associative_scan", "fn")
    given = Operands(elems)
    xs, paths = given.xs, given.paths
    _check_lengths([x.shape for x in xs], paths, axis)

    def combine(left: list[Any], right: list[Any]) -> list[Any]:
        """Apply `fn` to leaves that have the elements in front."""
        a, b = ([np.moveaxis(x, 0, axis) for x in side] for side in (left, right))
        leaves, found = pytree.flatten(fn(given.tree(a), given.tree(b)))
        if found != given.structure:
            raise OutputError(
                f"the function of associative_scan was given {given.structure}, but "
                f"{FunctionName(fn)} returned {found}, at {user_location()}. Return the same "
                "containers."
            )
        for path, before, leaf in given.changes(leaves):
            raise OutputError(
                f"the function of associative_scan was given elems{path} as {before!r}, but "
                f"{FunctionName(fn)} returned {leaf!r}, at {user_location()}: what is no array "
                "must stay as it is."
            )
        result = given.among(leaves)
        for y, x, path in zip(result, a, paths, strict=True):
            if np.shape(y) != x.shape:
                raise OutputError(
                    f"the function of associative_scan was given elems{path} of shape {x.shape}, "
                    f"but {FunctionName(fn)} returned shape {np.shape(y)}, at {user_location()}. "
                    "It has to be elementwise along the axis."
                )
        return [np.moveaxis(y, axis, 0) for y in result]

    moved = [np.moveaxis(x, axis, 0) for x in xs]
    if reverse:
        moved = [x[::-1] for x in moved]
    ys = _prefixes(combine, moved)
    placed = [np.moveaxis(y[::-1] if reverse else y, 0, axis) for y in ys]
    result: X = given.tree(placed)
    return result


def _check_lengths(shapes: list[tuple[int, ...]], paths: list[str], axis: int) -> None:
    lengths = {}
    for shape, path in zip(shapes, paths, strict=True):
        if not -len(shape) <= axis < len(shape):
            raise InputError(
                f"associative_scan: elems{path} of shape {shape} has no axis {axis}, at "
                f"{user_location()}. Give the axis along which the elements stand."
            )
        lengths[path] = shape[axis]
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"elems{path}: {n}" for path, n in lengths.items())
        raise InputError(
            f"associative_scan: the lengths along axis {axis} disagree, at {user_location()}: "
            f"{shown}. Every array needs the same length."
        )


def _prefixes(combined: Callable[[list[Any], list[Any]], list[Any]], xs: list[Any]) -> list[Any]:
    """Combine neighbours, solve the problem of half the size, and fill in what lies between."""
    n = xs[0].shape[0] if xs else 0
    if n < 2:
        return list(map(detach, xs))
    odd = _prefixes(combined, combined([x[: n - 1 : 2] for x in xs], [x[1::2] for x in xs]))
    inner = (n - 1) // 2
    if not inner:
        even = [x[:1] for x in xs]
    else:
        between = combined([y[:inner] for y in odd], [x[2::2] for x in xs])
        even = [np.concatenate([x[:1], y]) for x, y in zip(xs, between, strict=True)]
    return [_interleave(a, b) for a, b in zip(even, odd, strict=True)]


def _interleave(even: Any, odd: Any) -> Any:
    """Return a₀ b₀ a₁ b₁ …, which ends with either."""
    m = odd.shape[0]
    merged = np.reshape(np.stack([even[:m], odd], axis=1), (2 * m, *odd.shape[1:]))
    return np.concatenate([merged, even[m:]]) if even.shape[0] > m else merged
