"""``x[index]`` for every kind of index that NumPy knows, normalized first.

Slices, integers, None and Ellipsis become slices, reversals and reshapes.  Integer and boolean
arrays become one gather; their axes go where NumPy puts them.  So do traced integers, but what
they take is a view.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from operator import index as as_int
from types import EllipsisType
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, TypeGuard

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from funcdiff.core.running.evaluate import is_repeatable
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, INT
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.failures import may_be_caught
from funcdiff.numpy.border.masks import find_true_places, true_places
from funcdiff.numpy.border.promotion import (
    array,
    broadcast_shapes,
    broadcast_to,
    innermost,
    remember,
)
from funcdiff.numpy.border.values import constant_value, fact, is_traced
from funcdiff.numpy.memory import array_copies, views
from funcdiff.ops.axes.indexing import gather, scatter
from funcdiff.ops.structure.slicing import Slice, replace_slice, take_slice
from funcdiff.ops.structure.structural import convert, inverse, permute, reshape, reverse
from funcdiff.pytree.registry import register

# --------------------------------------------------------------------------------------------------
# Boolean selections ``y[mask]`` of unknown length, which can be stored into the same places.
#
# So ``y[y <= 0] *= 0.2`` and ``y[m] = np.exp(y[m]) + 1`` are a choice between elements, as
# ``y[m] = 0.0`` is, for examples that differ in the count, and in the body of a loop.


class Chosen(NDArrayOperatorsMixin):
    """The elements of an array where a mask is true, known as all elements and the mask.

    Ufuncs of it, of numbers and of what the same mask chooses are again such elements.  Whatever
    needs their number is refused.
    """

    views = None  # no other array shares its memory

    def __init__(self, whole: Tracer, mask: Tracer) -> None:
        self._whole, self._mask = whole, mask

    def whole_for(self, mask: Any) -> Tracer:
        """Return all elements, of which this mask chooses these; raises if it is another one."""
        if not (isinstance(mask, Tracer) and _is_equal(mask, self._mask)):
            self._refuse()
        return self._whole

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **keywords: Any) -> Any:
        out = keywords.pop("out", None)
        if method != "__call__" or keywords or ufunc.nout != 1 or (out and out[0] is not self):
            self._refuse()
        whole: Any = ufunc(*map(self._operand, inputs))
        if out is None:
            return Chosen(whole, self._mask)
        if not np.can_cast(whole.dtype, self._whole.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc {ufunc.__name__!r} output from {whole.dtype!r} to "
                f"{self._whole.dtype!r} with casting rule 'same_kind', at {user_location()}"
            )
        self._whole = convert(whole, self._whole.dtype)
        return self

    def _operand(self, x: Any) -> Any:
        if isinstance(x, Chosen):
            return x.whole_for(self._mask)
        if np.ndim(x) > self._whole.ndim - self._mask.ndim:
            self._refuse()
        return x

    def _refuse(self, *_args: Any, **_keywords: Any) -> NoReturn:
        constant_value(self._mask, "y[mask]")
        raise AssertionError

    __array__ = __array_function__ = __len__ = __iter__ = __bool__ = __float__ = __int__ = _refuse
    __str__ = __format__ = _refuse
    __getitem__ = __setitem__ = __contains__ = __matmul__ = __rmatmul__ = __index__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __repr__(self) -> str:
        return f"elements of {self._whole!r} where a mask is true, at {user_location()}"


def _is_equal(a: Tracer, b: Tracer) -> bool:
    """Whether two values are of the same operations on the same operands."""
    builder, pending, seen = a.builder, [(a.atom, b.atom)], set[Any]()
    if builder is None or b.builder is not builder:
        return False
    while pending:
        pair = pending.pop()
        if pair[0] == pair[1] or pair in seen:
            continue
        seen.add(pair)
        made = [builder.origin(ref) if isinstance(ref, int) else None for ref in pair]
        if made[0] is None or made[1] is None or made[0][0] is not made[1][0]:
            return False
        op = made[0][0]
        if op.result_count != 1 or not is_repeatable((op,)):
            return False
        pending += zip(made[0][1], made[1][1], strict=True)
    return True


def _never(x: Chosen) -> NoReturn:
    x._refuse()


register(Chosen, _never, lambda _aux, children: children[0])


# ---- Normalizes indices to a canonical form, the one place that looks at types of indices --------
#
# NumPy asks an item of an index, in this order, whether it is None, ``...`` or a slice; whether it
# has an ``__index__``; and else for an array of it, whatever it is: a list, a tuple inside a tuple,
# a range, a deque, a pandas Series.  Only that array's dtype decides.


Arrays: TypeAlias = "np.ndarray[Any, Any] | Tracer"
Item: TypeAlias = "int | slice | EllipsisType | Arrays | None"
Items: TypeAlias = tuple[Item, ...]
"""A normalised index: its slices hold ints, its arrays are booleans, or integers as `intp` unless
they are traced.  An array without axes is one of `Arrays`, too."""

_INVALID: Final = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)

_ARRAYS: Final = "arrays used as indices must be of integer (or boolean) type"


def normalize(index: Any) -> Items:
    """Return an index, as it stands between brackets, as the items that NumPy makes of it.

    Raises `IndexError` if an item is nothing that NumPy takes.
    """
    items = index if isinstance(index, tuple) else (index,)
    return tuple([item if type(item) is int else _item(item) for item in items])


def is_advanced(items: Items) -> bool:
    """Return whether a normalised index holds arrays, so that NumPy copies."""
    return any(isinstance(item, np.ndarray | Tracer) for item in items)


def is_mask(item: Item) -> TypeGuard[Arrays]:
    """Return whether an item of a normalised index is an array of booleans."""
    return isinstance(item, np.ndarray | Tracer) and item.dtype == BOOL


def _item(item: Any) -> Item:
    if item is None or item is Ellipsis:
        return item
    if isinstance(item, slice):
        return slice(*map(_as_bound, (item.start, item.stop, item.step)))
    if isinstance(item, np.ndarray | Tracer):
        return _positions_or_mask(item, _ARRAYS, item.dtype)
    if not isinstance(item, bool | np.bool_):  # which are masks, and no integers
        try:
            return as_int(item)
        except TypeError:
            pass
    return _positions_or_mask(as_array(item), _INVALID, type(item).__name__)


def _as_bound(value: Any) -> int | None:
    try:
        return None if value is None else as_int(value)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method, not "
            f"{type(value).__name__}, at {user_location()}"
        ) from None


def as_array(value: Any) -> Arrays:
    """Return the array that NumPy makes of a value; without elements, it is one of integers.

    Lists and tuples may hold traced numbers.
    """
    if isinstance(value, np.ndarray | Tracer):
        return value
    try:
        found: Arrays = array_copies.array(value) if is_traced(value) else np.asarray(value)
    except ValueError as error:  # rows of several lengths
        raise ValueError(f"{error}, at {user_location()}") from None
    if isinstance(found, np.ndarray) and not found.size:
        return found.astype(np.intp)
    return found


def positions(value: Any, casting: Any = "safe") -> Arrays:
    """Return positions as NumPy's functions (`take`, `put`, `repeat`) take them.

    It is not by an index's rules: booleans are 0 and 1, an array has to be of a dtype that can be
    cast (else `TypeError`), and of all else the elements are made integers, floats too.
    """
    if not isinstance(value, np.ndarray | Tracer):
        value = as_array(value) if is_traced(value) else np.asarray(value, np.intp)
    if not np.can_cast(value.dtype, np.intp, casting):
        raise TypeError(
            f"Cannot cast array data from {value.dtype!r} to {INT!r} according to the rule "
            f"{casting!r}, at {user_location()}"
        )
    return convert(value, INT) if isinstance(value, Tracer) else np.asarray(value, np.intp)


def _positions_or_mask(a: Arrays, valid: str, given: Any) -> Arrays:
    """Return an array as an item of an index; `valid` and `given` are for the message."""
    dtype = a.dtype
    if dtype is INT or dtype == BOOL:
        return a if isinstance(a, Tracer) else np.asarray(a)
    if dtype.kind not in "iu":
        raise IndexError(f"{valid}, not {given}, at {user_location()}")
    return a if isinstance(a, Tracer) else np.asarray(a, np.intp)


_NEW_AXIS: Final = "a new axis"
"""Stands for None in keys, where None says that there is no key."""


class Basic(NamedTuple):
    """The part of an index that only slices, reverses and reshapes."""

    cut: Slice
    reversed_axes: tuple[int, ...]
    shape: tuple[int, ...]


class Advanced(NamedTuple):
    """An index with arrays: a box, positions along some of its axes, and an order of axes."""

    basic: Basic  # the box that slices and Nones leave, one axis for each item of the index
    positions: list[Arrays]  # along `axes` of the box; they broadcast to `common`
    axes: tuple[int, ...]
    common: tuple[int, ...]
    # Axes of the result among those of `gather`, which has `common` in front.
    order: tuple[int, ...]
    shape: tuple[int, ...]  # of the result

    @property
    def indices(self) -> list[Any]:
        """The positions as traced arrays of one shape."""
        return [broadcast_to(array(i), self.common) for i in self.positions]

    @property
    def lengths(self) -> tuple[int, ...]:
        """Lengths of the axes that are indexed."""
        return tuple(self.basic.shape[axis] for axis in self.axes)


def take(x: Tracer, index: Any) -> Any:
    """Return ``x[index]``."""
    key = _key(index)
    if key is not None:
        return _cut(x, index, index, key)
    items = normalize(index)
    if is_advanced(items):
        return _take(x, items, index)
    return _cut(x, items, index, _key(items))


def _take(x: Tracer, items: Items, index: Any) -> Any:
    """Return ``x[items]`` with arrays, or with traced integers; what the user wrote was `index`."""
    mask = items[0] if len(items) == 1 else None
    if isinstance(mask, Tracer) and mask.dtype == BOOL and mask.ndim:
        _check_mask(mask, x.shape, 0)
        places = find_true_places(mask)
        if places is None:
            return Chosen(views.fresh(x), views.fresh(mask))
        return take_advanced(x, resolve(x.shape, tuple(places)))
    found = resolve(x.shape, items)
    result = take_advanced(x, found)
    if any(map(_copies, items)):
        return result
    if not (result.shape or any(item is Ellipsis for item in items)):  # a number
        return result
    place = tuple([0 if isinstance(item, Tracer) else item for item in items])
    return views.view(
        x,
        result,
        lambda base: take_advanced(base, found) if isinstance(base, Tracer) else base[place],
        index,
        lambda base, value: put_advanced(base, found, value),
    )


def _copies(item: Item) -> bool:
    """Whether an index with this item is one by arrays, for which NumPy makes a copy.

    An array is, also one without axes, and so is a flag; but a number of integer dtype is not.
    """
    return isinstance(item, np.ndarray) or is_mask(item)


def take_advanced(x: Tracer, found: Advanced) -> Tracer:
    """Return what an index with arrays takes."""
    return permute(gather(apply(x, found.basic), found.indices, found.axes), found.order)


def put_advanced(x: Tracer, found: Advanced, v: Tracer, *, distinct: bool = True) -> Tracer:
    """Return `x` with `v` in place of what an index with arrays takes; no position comes twice.

    If positions are not `distinct`, the last of the same ones counts.
    """
    part = permute(v, inverse(found.order))
    box = scatter(apply(x, found.basic), part, found.indices, found.axes, distinct=distinct)
    return with_box(x, found.basic, box)


def _key(index: Any) -> Any:
    """Return what stands for an index of ints, slices and new axes; None if it holds others."""
    if type(index) is not tuple:
        return _item_key(index)
    keys = tuple([_item_key(item) for item in index])
    return None if None in keys else keys


def _item_key(item: Any) -> Any:
    kind = type(item)
    if kind is int:
        return item
    if item is None:
        return _NEW_AXIS
    if kind is slice:
        parts = (item.start, item.stop, item.step)
        return (slice, *parts) if all(p is None or type(p) is int for p in parts) else None
    return None


def _cut(x: Tracer, place: Any, index: Any, key: Any) -> Any:
    """Return ``x[place]`` without arrays; with a key, it is recorded directly the next time.

    What the user wrote was `index`.
    """
    builder = innermost(x)
    key = None if key is None else (take, x.type, key)
    chain = builder.direct.get(key) if x.builder is builder else None
    if chain is not None:
        atom, entries = x.atom, builder.entries
        for op in chain:
            entries.append((op, atom))
            atom = len(entries) - 1
        result = builder.handle(builder, atom, chain[-1].result)
    else:
        before = len(builder.entries)
        result = apply(x, basic(x.shape, normalize(place)))
        chain = [entry[0] for entry in builder.entries[before:]]
        if key is not None and x.builder is builder and not builder.policy.shares and chain:
            remember(key, chain)
    if key is not None and not result.shape:  # a number, and no array without axes
        return views.fresh(x) if result is x else result
    return views.view(x, result, lambda base: base[place], index)


def basic(shape: tuple[int, ...], items: Items) -> Basic:
    """Work out a normalised index without arrays."""
    return _basic(shape, _expand(len(shape), items), keep=())


def apply(x: Tracer, box: Basic) -> Tracer:
    """Cut out, reverse and reshape."""
    return reshape(reverse(take_slice(x, box.cut), box.reversed_axes), box.shape)


def with_box(x: Tracer, box: Basic, v: Tracer) -> Tracer:
    """Return `x` with `v` in place of what is cut out."""
    part = reverse(reshape(v, box.cut.lengths), box.reversed_axes)
    return replace_slice(x, part, box.cut)


def _expand(ndim: int, items: Items) -> list[Item]:
    """Replace the Ellipsis, or complete the index, by full slices."""
    used = sum(_consumes(item) for item in items)
    if used > ndim:
        raise IndexError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed, "
            f"at {user_location()}"
        )
    missing = [slice(None)] * (ndim - used)
    places = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise IndexError(f"an index can only have a single ellipsis ('...'), at {user_location()}")
    at = places[0] if places else len(items)
    return [*items[:at], *missing, *items[at + 1 :]]


def _consumes(item: Item) -> int:
    """Return how many axes of the array an item of an index is about."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if is_mask(item) else 1


def _basic(shape: tuple[int, ...], items: list[Any], keep: tuple[int, ...]) -> Basic:
    """Work out slices, ints and Nones; items at places `keep` take their axis whole."""
    starts, stops, steps, reversed_axes, result = [], [], [], [], []
    axis = 0
    for place, item in enumerate(items):
        if item is None or _is_scalar_mask(item):
            result.append(1)
            continue
        length = shape[axis]
        if place in keep or isinstance(item, slice):
            start, stop, step = (item if isinstance(item, slice) else slice(None)).indices(length)
            count = len(range(start, stop, step))
            if step < 0:
                start, stop, step = start + (count - 1) * step, start + 1, -step
                reversed_axes.append(axis)
            start, stop = (start, max(stop, start)) if count else (0, 0)
            result.append(count)
        else:
            start = _position(item, axis, length)
            stop, step = start + 1, 1
        starts.append(start)
        stops.append(stop)
        steps.append(step)
        axis += 1
    return Basic(
        Slice(tuple(starts), tuple(stops), tuple(steps)), tuple(reversed_axes), tuple(result)
    )


def _position(position: int, axis: int, length: int) -> int:
    if not -length <= position < length:
        raise IndexError(
            f"index {position} is out of bounds for axis {axis} with size {length}, "
            f"at {user_location()}"
        )
    return position % length


def resolve(shape: tuple[int, ...], items: Items) -> Advanced:
    """Work out a normalised index with arrays."""
    expanded: list[Any] = []
    for item in _expand(len(shape), items):
        if is_mask(item):
            _check_mask(item, shape, sum(map(_consumes, expanded)))
            expanded.extend(true_places(item) if item.ndim else [np.asarray(bool(item))])
        else:
            expanded.append(item)
    places = tuple(
        k for k, item in enumerate(expanded) if item is not None and not isinstance(item, slice)
    )
    box = _basic(shape, expanded, keep=places)
    positions = [_indices(expanded[k]) for k in places]
    common = _common_shape([i.shape for i in positions])
    for k, found in zip(places, positions, strict=True):
        if 0 in common and found.ndim:
            continue
        axis = sum(map(_consumes, expanded[:k]))
        if isinstance(found, Tracer):
            _check_traced_bounds(found, box.shape[k], axis)
        else:
            check_bounds(found, box.shape[k], axis)
    gathered = (*common, *(n for k, n in enumerate(box.shape) if k not in places))
    inner, before, ndim = len(common), places[0], len(gathered)
    if places != tuple(range(before, before + len(places))):
        before = 0  # apart from each other: their axes come first
    order = (*range(inner, inner + before), *range(inner), *range(inner + before, ndim))
    result = tuple(gathered[axis] for axis in order)
    return Advanced(box, positions, places, common, order, result)


def _is_scalar_mask(item: Any) -> bool:
    """Whether an item is a 0-d boolean: it indexes a new axis of length 1 by [0], or by []."""
    return is_mask(item) and item.ndim == 0


def _common_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing arrays could not be broadcast together with shapes "
            f"{' '.join(map(str, shapes))}, at {user_location()}"
        ) from None


def _check_mask(mask: Arrays, shape: tuple[int, ...], axis: int) -> None:
    for k, n in enumerate(mask.shape):
        if n not in (0, shape[axis + k]):  # NumPy lets an empty mask pass
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + k}; size of axis is "
                f"{shape[axis + k]} but size of corresponding boolean axis is {n}, "
                f"at {user_location()}"
            )


def _indices(item: Any) -> Arrays:
    """Return one advanced index as an integer array."""
    if isinstance(item, Tracer):
        return item
    return np.zeros(int(item), np.intp) if _is_scalar_mask(item) else np.asarray(item)


def _check_traced_bounds(positions: Tracer, length: int, axis: int) -> None:
    """Raise NumPy's IndexError now, where the user's code may catch it and somebody knows."""
    is_nested = innermost().parent is not None
    if positions.type.size and may_be_caught(is_nested=is_nested, by_with=True):
        with suppress(ConcreteValueError):
            check_bounds(np.array(fact(positions, partial(_outside, length))), length, axis)


def _outside(length: int, positions: Any) -> Any:
    """Return a position that is out of bounds, or 0."""
    most, least = np.max(positions), np.min(positions)
    return np.where(most >= length, most, np.where(least < -length, least, 0))


def check_bounds(positions: np.ndarray[Any, Any], length: int, axis: int) -> None:
    """Raise NumPy's IndexError if a position is out of bounds."""
    if positions.size and not -length <= int(positions.min()) <= int(positions.max()) < length:
        outside = positions[(positions < -length) | (positions >= length)].flat[0]
        raise IndexError(
            f"index {outside} is out of bounds for axis {axis} with size {length}, "
            f"at {user_location()}"
        )
