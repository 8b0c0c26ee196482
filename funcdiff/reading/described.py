"""Describes the contents of a container, leaf by leaf: path, type, size, as `describe` shows."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, user_location
from funcdiff.reading.drawing.picture import heat, root_mean_square
from funcdiff.reading.tables import Cell, table_html, table_text

_HEAD: Final = ("leaf", "type", "root mean square", "smallest", "largest", "zero", "not finite")


class Leaf(NamedTuple):
    """A leaf of a container.

    Attributes
    ----------
    path
        Where it is: ``"['layers'][0]"``; empty if there is no container.
    type
        Dtype and shape, as ``f64[3,4]``, or the name of the class of what is no array.
    root_mean_square, smallest, largest
        Of its elements that are finite; the last two of real ones only.  None if there are none.
    zeros, not_finite
        How many elements are zero, and how many infinite or nan.
    """

    path: str
    type: str
    root_mean_square: float | None = None
    smallest: float | None = None
    largest: float | None = None
    zeros: int = 0
    not_finite: int = 0


@dataclass(frozen=True)
class Description:
    """What a container holds; made by `describe`.  It prints as a table, and shows as one.

    Attributes
    ----------
    leaves
        Its leaves, in order.
    """

    leaves: tuple[Leaf, ...]

    def __str__(self) -> str:
        return table_text(_HEAD, [_row(leaf, "") for leaf in self.leaves])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return how a notebook shows it: the larger, the darker; what is not finite in red."""
        sizes = [leaf.root_mean_square or 0.0 for leaf in self.leaves]
        known = [size for size in sizes if size and isfinite(size)] or [1.0]
        rows = []
        for leaf, size in zip(self.leaves, sizes, strict=True):
            shown = float("nan") if leaf.not_finite else size
            empty = leaf.root_mean_square is None and not leaf.not_finite
            rows.append(_row(leaf, "" if empty else heat(shown, min(known), max(known))))
        return table_html(f"{len(rows)} leaves", _HEAD, rows)


@public
def describe(tree: Any) -> Description:
    """Return a table of what a container holds: which gradients are large, zero or not finite.

    Parameters
    ----------
    tree
        An array, or a container of arrays: gradients, parameters, what `tap_grads` returns.  What
        is no number is listed by its class.

    Returns
    -------
    Description
        An immutable object with one row for each leaf (``leaves``).  It prints as text; in a
        notebook it is a table in which rows are the darker the larger the root mean square of their
        elements is, on a logarithmic scale, and red where something is not finite.

    Raises
    ------
    InputError
        If it is used inside of a function that is traced, where there are no numbers yet.
    PytreeError
        If a container holds itself.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def loss(p, x):
    ...     return np.sum((np.maximum(x @ p["w"], 0.0) * p["scale"]) ** 2)
    >>> p = {"w": np.array([[1.0, -2.0], [0.5, -1.0]]), "scale": 3.0}
    >>> fd.describe(fd.grad(loss)(p, np.ones((4, 2))))
    leaf        type      root mean square  smallest  largest  zero  not finite
    ['w']       f64[2,2]             76.37         0      108     2           0
    ['scale']   f64[]                   54        54       54     0           0
    """
    leaves, structure = pytree.flatten(tree)
    if any(isinstance(leaf, Tracer) for leaf in leaves):
        raise InputError(
            f"describe was used at {user_location()} on traced values, which have no numbers to "
            "look at. Describe what the transform returns, or name the values with fd.tap and "
            "describe what tap_values or tap_grads return."
        )
    return Description(tuple(map(_leaf, pytree.paths(structure), leaves)))


def _leaf(path: str, leaf: Any) -> Leaf:
    if not isinstance(leaf, bool | int | float | complex | np.ndarray | np.generic):
        return Leaf(path, type(leaf).__name__)
    x = np.asarray(leaf)
    if x.dtype.kind not in "biufc":
        return Leaf(path, f"{x.dtype.name}[{','.join(map(str, x.shape))}]")
    finite = x[np.isfinite(x)]
    found = Leaf(
        path, str(ArrayType(x.shape, x.dtype)),
        zeros=int(x.size - np.count_nonzero(x)), not_finite=x.size - finite.size,
    )  # fmt: skip
    if not finite.size:
        return found
    found = found._replace(root_mean_square=root_mean_square(finite))
    if x.dtype.kind == "c":
        return found
    return found._replace(smallest=float(np.min(finite)), largest=float(np.max(finite)))


def _row(leaf: Leaf, colour: str) -> list[Cell]:
    numbers = leaf.root_mean_square, leaf.smallest, leaf.largest
    texts = ["" if x is None else f"{x:.4g}" for x in numbers]
    is_number = leaf.root_mean_square is not None or leaf.not_finite
    counts = [str(leaf.zeros), str(leaf.not_finite)] if is_number else ["", ""]
    size, *ends = [Cell(text, is_number=True) for text in (*texts, *counts)]
    return [Cell(leaf.path or "all"), Cell(leaf.type), size._replace(colour=colour), *ends]
