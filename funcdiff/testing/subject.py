"""The function under test, of one row of real numbers, and the agreement of its results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_numeric
from funcdiff.api.calls.inputs import operand
from funcdiff.api.calls.transformed import FunctionName
from funcdiff.core.running.progress import Progress
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location

# ---- Agreement of two results: tolerances follow from the precision of the dtypes ----------------


Values: TypeAlias = list[Any]
Function: TypeAlias = Callable[[Sequence[Any]], Values]


def is_smooth(x: Any) -> bool:
    """Whether an array has a floating or complex dtype."""
    return bool(np.asarray(x).dtype.kind in "fc")


def precision(values: Iterable[Any]) -> float:
    """Return the distance of 1 to the next number in the coarsest of the dtypes."""
    found = [float(np.finfo(np.asarray(x).dtype).eps) for x in values if is_smooth(x)]
    return max(found, default=float(np.finfo(np.float64).eps))


def rounding(values: Iterable[Any]) -> float:
    """Return the relative tolerance between two ways to compute the same."""
    return math.pow(precision(values), 0.75)


def magnitudes(shape: int | tuple[int, ...], random: np.random.Generator) -> Any:
    """Return random positive numbers, none of which is small."""
    return random.uniform(0.4, 1.0, shape)


def direction(x: Any, random: np.random.Generator) -> Any:
    """Return a random tangent of the type of `x`, without small entries."""
    x = np.asarray(x)

    def part() -> Any:
        return magnitudes(x.shape, random) * random.choice([-1.0, 1.0], x.shape)

    t = part() + 1j * part() if x.dtype.kind == "c" else part()
    return np.asarray(t).astype(x.dtype)[()]


def disagreement(left: Any, right: Any, tolerance: float, scale: float = 1.0) -> str | None:
    """Return where two arrays of one shape differ most and by what, or None if they agree.

    The tolerance is relative to the largest of both arrays and `scale`, the size of the numbers
    that they were computed from.
    """
    left, right = np.asarray(left), np.asarray(right)
    if left.shape != right.shape:
        return f"shape {left.shape} against {right.shape}"
    if not left.size:
        return None
    if left.dtype.kind not in "fc" or right.dtype.kind not in "fc":
        wrong = np.asarray(left != right).astype(float)
    else:
        wrong = _error(left, right)
        finite = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in (left, right)]
        wrong = np.where(wrong <= tolerance * max(*finite, scale), 0.0, wrong)
    if not wrong.any():
        return None
    place = tuple(int(k) for k in np.unravel_index(np.argmax(wrong), wrong.shape))
    where = f"entry {place}: " if place else ""
    return f"{where}{left[place]} against {right[place]}"


def _error(left: Any, right: Any) -> Any:
    """Return distances: none between equal infinities or two NaNs, an infinite one to any other."""
    with np.errstate(all="ignore"):
        distance = np.asarray(np.abs(left - right))
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf))


# ---- Arrays as one row of real numbers, in which every entry has a place, a name and a scale -----


_SPREAD: Final = 1e-3
"""Entries that are smaller than so much of their array are of another size."""

_FEW: Final = 0.05
"""Up to so many entries of another size are taken for accidents."""


class Layout:
    """The order in which the entries of arrays stand in a row: those of complex ones twice.

    Each floating or complex array, of which shape and dtype count, has a path for messages.
    """

    def __init__(self, paths: Sequence[str], arrays: Sequence[Any]) -> None:
        self._paths = list(paths)
        self._shapes = [np.shape(x) for x in arrays]
        self._dtypes = [np.asarray(x).dtype for x in arrays]
        counts = [np.size(x) * (1 + np.iscomplexobj(x)) for x in arrays]
        self.bounds = [0, *(int(end) for end in np.cumsum(counts))]

    @property
    def size(self) -> int:
        """The number of real numbers."""
        return self.bounds[-1]

    def parts(self) -> list[slice]:
        """Return where each array stands."""
        return [slice(a, b) for a, b in zip(self.bounds, self.bounds[1:], strict=False)]

    def row(self, arrays: Sequence[Any]) -> Any:
        """Return arrays of these shapes as a row of doubles; real and imaginary parts in turn."""
        rows = [
            np.array(x, complex if dtype.kind == "c" else float, order="C").reshape(-1).view(float)
            for x, dtype in zip(arrays, self._dtypes, strict=True)
        ]
        return np.concatenate([np.zeros(0), *rows])

    def arrays(self, row: Any) -> list[Any]:
        """Return the arrays that stand in a row, in their dtypes."""
        found = []
        for part, shape, dtype in zip(self.parts(), self._shapes, self._dtypes, strict=True):
            numbers = np.array(row[part], float)
            numbers = numbers.view(complex) if dtype.kind == "c" else numbers
            found.append(numbers.astype(dtype).reshape(shape)[()])
        return found

    def leaf(self, k: int) -> int:
        """Return the number of the array in which the k-th number stands."""
        return int(np.searchsorted(self.bounds, k, side="right")) - 1

    def place(self, k: int) -> tuple[int, tuple[int, ...], bool]:
        """Return the array of the k-th number, its place there, and if it is an imaginary part."""
        leaf = self.leaf(k)
        flat = k - self.bounds[leaf]
        step = 2 if self._dtypes[leaf].kind == "c" else 1
        found = np.unravel_index(flat // step, self._shapes[leaf] or (1,))
        place = tuple(int(n) for n in found) if self._shapes[leaf] else ()
        return leaf, place, step == 2 and flat % 2 == 1

    def name(self, k: int) -> str:
        """Return what the k-th number is called: ``args[0]['w'][3].imag``."""
        leaf, place, imaginary = self.place(k)
        index = list(place) if place else ""
        return f"{self._paths[leaf]}{index}{'.imag' if imaginary else ''}"

    def path(self, leaf: int) -> str:
        """Return what an array is called."""
        return self._paths[leaf]

    def entry(self, row: Any, k: int) -> Any:
        """Return the entry, perhaps complex, to which the k-th number of a row belongs."""
        leaf, _, imaginary = self.place(k)
        if self._dtypes[leaf].kind != "c":
            return row[k]
        first = k - imaginary
        return complex(row[first], row[first + 1])

    def largest(self, row: Any) -> Any:
        """Return, in every place, the largest finite magnitude within the same array."""
        sizes = np.where(np.isfinite(row), np.abs(row), 0.0)
        found = np.zeros(self.size)
        for part in self.parts():
            found[part] = sizes[part].max(initial=0.0)
        return found


def scales(layout: Layout, arrays: Sequence[Any]) -> Any:
    """Return how far each entry may move to count as a move of its size.

    That is the mean size of its array; in an array of numbers of many sizes, its own; in an array
    of zeros, 1.
    """
    row = np.abs(layout.row(arrays))
    found = np.ones(layout.size)
    for part in layout.parts():
        sizes = row[part]
        present = sizes[np.isfinite(sizes) & (sizes > 0)]
        if present.size:
            top = present.max()
            mean = float(top * np.sqrt(np.mean((present / top) ** 2)))
            wide = np.mean(present < _SPREAD * mean) > _FEW
            own = np.where(np.isfinite(sizes) & (sizes > 0), sizes, np.median(present))
            found[part] = own if wide else mean
    return found


def bands(keys: Any, width: float, most: int) -> list[Any]:
    """Return the places of a row in at most `most` groups of which the members are of like size.

    The smallest is at least `width` times the largest of a group, but the last takes the rest;
    zeros are a group of their own.
    """
    keys = np.where(np.isfinite(keys), keys, np.inf)
    left = np.flatnonzero(keys > 0)
    found = [np.flatnonzero(keys == 0)]
    while left.size:
        top = keys[left].max()
        chosen = keys[left] >= width * top
        if len(found) == most or np.isinf(top):
            chosen = np.isinf(keys[left]) if np.isinf(top) else np.full(left.shape, True)
        found.append(left[chosen])
        left = left[~chosen]
    return [group for group in found[::-1] if group.size]


class Subject(NamedTuple):
    """A function of the floating leaves of its arguments, returning those of its result."""

    call: Function  # ``call(leaves) -> leaves``
    name: str  # in messages
    inputs: list[str]  # paths of the leaves, such as ``args[0]['w']``
    outputs: list[str]  # paths of the leaves
    progress: Progress  # counts evaluations
    directions: int  # how many are tried in search of the entries that are wrong


class Point(NamedTuple):
    """Arguments taken apart: which leaves are differentiated, and how all are put together."""

    structure: pytree.Structure  # of the tuple of arguments
    leaves: list[Any]
    chosen: list[int]  # places of leaves that are floating or complex

    def arguments(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments with other values of the chosen leaves."""
        return self._fill(self.leaves, values)

    def tangents(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return tangents of the arguments: zero for integers, text and flags as they are."""
        still = [np.zeros_like(x)[()] if is_numeric(x) else x for x in self.leaves]
        return self._fill(still, values)

    def _fill(self, leaves: list[Any], values: Sequence[Any]) -> tuple[Any, ...]:
        changed = list(leaves)
        for k, value in zip(self.chosen, values, strict=True):
            changed[k] = value
        filled: tuple[Any, ...] = pytree.unflatten(self.structure, changed)
        return filled


def take_apart(
    f: Callable[..., Any],
    args: Sequence[Any],
    check: str,
    *,
    directions: int,
    progress: bool | None = None,
) -> tuple[Subject, Point, list[Any]]:
    """Return a function of leaves, its point, and the values of the leaves there.

    Raises `InputError` if `args` is no tuple of arguments, or nothing goes in or comes out that has
    a derivative.  `check` is the name of the function that the user called; `progress` asks for
    lines about it, None for lines if it takes long.
    """
    if not isinstance(args, tuple | list):
        raise InputError(
            f"{check}: args is a {type(args).__name__}, at {user_location()}. Give a tuple with "
            f"one entry per argument: {check}(f, ..., (x,))."
        )
    leaves, structure = pytree.flatten(tuple(args))
    chosen = [k for k, leaf in enumerate(leaves) if is_numeric(leaf) and is_smooth(leaf)]
    if not chosen:
        raise InputError(
            f"{check}: no argument of {FunctionName(f)} holds a floating or complex number, at "
            f"{user_location()}. Give args=(x,) with x such as 2.0, and integers only beside it."
        )
    point = Point(structure, leaves, chosen)
    with np.errstate(all="ignore"):
        outputs = [f"result{path}" for path, _ in smooth_leaves(f(*args))]
    if not outputs:
        raise InputError(
            f"{check}: {FunctionName(f)} returned no floating or complex number, so there is "
            f"nothing to check, at {user_location()}. Return one."
        )
    paths = pytree.paths(structure)
    counter = Progress(f"{check} of {FunctionName(f)}", wanted=progress, unit="calls")
    counter.doing = "the value"

    def call(xs: Sequence[Any]) -> Values:
        counter.tick()
        return [leaf for _, leaf in smooth_leaves(f(*point.arguments(xs)))]

    inputs = [f"args{paths[k]}" for k in chosen]
    subject = Subject(call, str(FunctionName(f)), inputs, outputs, counter, directions)
    return subject, point, [operand(leaves[k]) for k in chosen]


def smooth_leaves(tree: Any) -> list[tuple[str, Any]]:
    """Return the floating and complex leaves of a result with their paths."""
    pairs, _ = pytree.flatten_with_paths(tree)
    return [
        (path, leaf)
        for path, leaf in pairs
        if is_numeric(leaf)
        and (leaf.type.differentiable if isinstance(leaf, Tracer) else is_smooth(leaf))
    ]


def tangent(xs: Sequence[Any], random: np.random.Generator) -> Values:
    """Return a direction in which every entry moves by about its size."""
    layout = Layout([""] * len(xs), xs)
    signs = random.choice([-1.0, 1.0], layout.size)
    return layout.arrays(scales(layout, xs) * magnitudes(layout.size, random) * signs)


def weights(ys: Sequence[Any], random: np.random.Generator) -> Values:
    """Return random weights of results, such that each result counts; 1 for a single number."""
    if len(ys) == 1 and not np.ndim(ys[0]) and not np.iscomplexobj(ys[0]):
        return [np.ones_like(ys[0])[()]]
    found = []
    for y in ys:
        top = float(np.abs(y).max(initial=0.0))
        size = 2.0 ** -round(math.log2(top)) if 0 < top < math.inf else 1.0
        found.append((size * direction(y, random)).astype(np.asarray(y).dtype)[()])
    return found
