"""Assignment of elements, ``x[index] = value``, ``ufunc.at`` and ``x.flat``.

The value is cast and broadcast as NumPy does it, but a cast that would drop a derivative, or half
of a complex number, is an error.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, real_dtype
from funcdiff.errors import LostDerivativeError, UnsupportedNumPyError, user_frame, user_location
from funcdiff.numpy.border.deferring import without_labels
from funcdiff.numpy.border.dispatch import refusal_error
from funcdiff.numpy.border.failures import fail_traces
from funcdiff.numpy.border.promotion import (
    WEAK,
    Traced,
    array,
    broadcast_to,
    concrete,
    convert_as_numpy,
    fit,
)
from funcdiff.numpy.border.values import is_constant, is_traced
from funcdiff.numpy.memory import array_copies, index_expressions, mutation, views
from funcdiff.numpy.memory.index_expressions import (
    Advanced,
    Chosen,
    Items,
    as_array,
    is_advanced,
    is_mask,
    normalize,
)
from funcdiff.numpy.messages.mistakes import explain
from funcdiff.ops.axes.indexing import gather, scatter, scatter_add
from funcdiff.ops.structure.structural import inverse, permute, reshape, select
from funcdiff.space import broadcast


def put(x: Tracer, index: Any, value: Any) -> None:
    """Do ``x[index] = value``."""
    if mutation.is_own_result(x, index, value):  # x[i] += y has stored y in x already
        return
    items = normalize(index)
    if type(index) is int and views.is_view(value) and views.memory(value).base is x:
        _check_stored_by_a_statement()
    if is_advanced(items):
        mutation.assign(x, _with_advanced(x, items, value))
        return
    box = index_expressions.basic(x.shape, items)
    v = convert_to_store(value, ArrayType(box.shape, x.dtype))
    if mutation.is_alone(x):
        mutation.point(x, index_expressions.with_box(x, box, v))
    else:
        place = items if Ellipsis in items else (*items, ...)
        mutation.assign(x, v, lambda base: base[place])


def _check_stored_by_a_statement() -> None:
    """Refuse that rows are exchanged by code in C, which takes ``x[i]`` for a copy."""
    frame = user_frame(or_scipys=True)
    if frame is not None and dis.opname[frame.f_code.co_code[frame.f_lasti]] != "STORE_SUBSCR":
        raise refusal_error(
            "a function that exchanges rows in place, such as rng.shuffle,",
            "Write x[rng.permutation(len(x))].",
        )


def _with_advanced(x: Tracer, items: Items, value: Any) -> Tracer:
    """Return `x` with a value at an index with arrays."""
    if len(items) == 1 and is_mask(items[0]):
        masked = _with_mask(x, items[0], value)
        if masked is not None:
            return masked
    found = index_expressions.resolve(x.shape, items)
    v = convert_to_store(value, ArrayType(found.shape, x.dtype))
    return index_expressions.put_advanced(x, found, v, distinct=_is_distinct(found))


def _with_mask(x: Tracer, mask: Any, value: Any) -> Tracer | None:
    """Choose by a mask, if the value is not one for each place where it is true."""
    rest = x.ndim - mask.ndim
    if rest < 0 or mask.shape != x.shape[: mask.ndim]:
        return None
    if isinstance(value, Chosen):  # one for each place, by the same mask
        whole = cast(value.whole_for(mask), x.dtype)
        return select(broadcast(array(mask), x.shape, tuple(range(mask.ndim))), whole, x)
    v = cast(value, x.dtype)
    if any(n != 1 for n in v.shape[: max(v.ndim - rest, 0)]):
        return None
    v = _broadcast(v, x.shape[mask.ndim :])
    axes = tuple(range(mask.ndim))
    inner = tuple(range(mask.ndim, x.ndim))
    return select(broadcast(array(mask), x.shape, axes), broadcast(v, x.shape, inner), x)


def _is_distinct(found: Advanced) -> bool:
    """Whether it is known that no position comes twice."""
    size = int(np.prod(found.common, dtype=int))
    if size <= 1:
        return True
    flat = _flat_positions(found)
    return flat is not None and np.unique(flat).size == size


def _flat_positions(found: Advanced) -> Any:
    """Return the positions as numbers, None if they are traced."""
    if any(isinstance(i, Tracer) for i in found.positions):
        return None
    wrapped = [
        np.broadcast_to(np.where(i < 0, i + n, i), found.common)
        for i, n in zip(map(np.asarray, found.positions), found.lengths, strict=True)
    ]
    return np.ravel(np.ravel_multi_index(wrapped, found.lengths))


def put_part(x: Tracer, part: Any, value: Any) -> None:
    """Do ``x.real = value`` or ``x.imag = value``; `part` is `numpy.real` or `numpy.imag`."""
    record = getattr(value, "views", None)
    own = record is not None and record.base is x and record.make is part
    if own and (x.dtype.kind == "c" or part is np.real):
        return  # x.real *= y has stored y in x already
    if x.dtype.kind == "c":
        mutation.assign(x, convert_to_store(value, x.type.with_dtype(real_dtype(x.dtype))), part)
    elif part is np.real:
        put(x, ..., value)
    else:
        raise TypeError(f"array does not have imaginary part to set, at {user_location()}")


def cannot_be_set(attribute: str, cure: str) -> NoReturn:
    """Raise for ``x.dtype = value`` and the like; `cure` is what to write instead."""
    raise UnsupportedNumPyError(
        f"x.{attribute} = value was met at {user_location()}, where x is a traced array. "
        f"Write x = {cure} instead."
    )


# ---- values --------------------------------------------------------------------------------------


def convert_to_store(value: Any, type_: ArrayType) -> Traced:
    """Return a value as NumPy stores it into an array of a dtype, broadcast to a shape.

    Raises `LostDerivativeError` if a traced floating number would become an integer, `TypeError` if
    a complex number would become a real one.
    """
    return _broadcast(cast(value, type_.dtype), type_.shape)


def _broadcast(v: Tracer, shape: tuple[int, ...]) -> Traced:
    """Broadcast a value; axes of length 1 in front are too many without harm."""
    extra = max(v.ndim - len(shape), 0)
    if all(n == 1 for n in v.shape[:extra]):
        v = reshape(v, v.shape[extra:])
    fits = len(shape) >= v.ndim and all(
        n in (1, m) for n, m in zip(v.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(
            f"could not broadcast input array from shape {v.shape} into shape {shape}, "
            f"at {user_location()}"
        )
    return broadcast_to(v, shape)


def cast(value: Any, dtype: np.dtype[Any]) -> Traced:
    """Return a value as NumPy casts it when it is stored into an array of a dtype."""
    if not isinstance(value, Tracer) and (type(value) in WEAK or type(value) is bool):
        stored_there = np.empty((), dtype)
        stored_there[()] = value  # or NumPy's own error
        type_ = ArrayType((), dtype)
        return fit(value, type_) if dtype.kind in "fc" else constant(stored_there[()], type_)
    value = without_labels(value)
    v = array_copies.asarray(value) if isinstance(value, list | tuple) else value
    v = v if isinstance(v, Tracer) else array(concrete(v))
    if v.dtype.kind == "c" and dtype.kind not in "cb":
        raise TypeError(
            f"a complex value was assigned into an array of dtype {dtype} at {user_location()}. "
            "NumPy would drop its imaginary part: assign np.real(value), or make the array complex."
        )
    if v.dtype.kind in "fc" and dtype.kind in "biu" and isinstance(value, Tracer | list | tuple):
        _check_keeps_derivative(v, dtype)
    return convert_as_numpy(v, dtype)


def _check_keeps_derivative(v: Tracer, dtype: np.dtype[Any]) -> None:
    """Raise if a traced floating value would be truncated on its way into an integer array."""
    if v.type.differentiable and not is_constant(v):
        lost = LostDerivativeError(
            f"a traced array of type {v.type} was assigned into an array of dtype {dtype} at "
            f"{user_location()}. NumPy would truncate it, and its derivative would be lost "
            "silently. Make the array one of floats (np.zeros_like(x, dtype=float)), or assign "
            "value.astype(int) if that is what is meant."
        )
        fail_traces(v, lost)
        raise lost


# ---- ufunc.at ------------------------------------------------------------------------------------


def at(x: Tracer, ufunc: np.ufunc, index: Any, *values: Any) -> None:
    """Do ``ufunc.at(x, index, *values)``: where a position repeats, one after the other."""
    if ufunc.nout != 1:
        raise refusal_error(f"np.{ufunc.__name__}.at", "It has several results.")
    mutation.check_castable(ufunc, x, x, *values)
    items = normalize(index)
    if not is_advanced(items):
        result = ufunc(array(index_expressions.take(x, items)), *values)
        chosen = index_expressions.basic(x.shape, items)
        put(x, items, fit(result, ArrayType(chosen.shape, x.dtype)))
        return
    found = index_expressions.resolve(x.shape, items)
    operands: list[Any] = [
        v if np.ndim(v) == 0 else permute(_broadcast(array(v), found.shape), inverse(found.order))
        for v in values
    ]
    box = index_expressions.apply(x, found.basic)
    weights = (v.dtype if isinstance(v, Tracer) else v for v in operands)
    adds = ufunc in (np.add, np.subtract)
    if adds and np.result_type(box.dtype, *weights) == box.dtype:
        amount: Any = operands[0] if ufunc is np.add else np.negative(operands[0])
        shape = tuple(found.shape[axis] for axis in inverse(found.order))
        v = fit(amount, ArrayType(shape, box.dtype))
        box = scatter_add(box, v, found.indices, found.axes)
    else:
        box = _in_rounds(box, ufunc, found, operands)
    mutation.assign(x, index_expressions.with_box(x, found.basic, box))


def _in_rounds(box: Tracer, ufunc: np.ufunc, found: Advanced, operands: Sequence[Any]) -> Tracer:
    """Apply a ufunc at positions that repeat: each round has every position once at most."""
    inner = len(found.common)
    size = int(np.prod(found.common, dtype=int))
    indices = [reshape(i, (size,)) for i in found.indices]
    flat: list[Any] = [
        v if np.ndim(v) == 0 else reshape(v, (size, *v.shape[inner:])) for v in operands
    ]
    for chosen in _rounds(found, size):
        where = [array(chosen)]
        now = [gather(i, where, (0,)) for i in indices]
        args = [v if np.ndim(v) == 0 else gather(v, where, (0,)) for v in flat]
        old = gather(box, now, found.axes)
        new: Any = ufunc(old, *args)
        box = scatter(box, fit(new, old.type), now, found.axes, distinct=True)
    return box


def _rounds(found: Advanced, size: int) -> Iterator[np.ndarray[Any, Any]]:
    """Split the places of an index so that no position comes twice in a round, in order.

    Traced positions may all be the same: each has a round of its own.
    """
    flat = _flat_positions(found)
    if flat is None:
        yield from np.arange(size)[:, None]
        return
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    first = np.searchsorted(ordered, ordered)
    turn = np.empty(size, int)
    turn[order] = np.arange(size) - first
    for k in range(int(turn.max(initial=-1)) + 1):
        yield np.flatnonzero(turn == k)


# ---- ``x.flat``: the elements of an array in C order, to be read, iterated over and written ------


class Flat:
    """What NumPy calls a flat iterator."""

    __slots__ = ("_position", "base")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Tracer) -> None:
        self.base = base
        self._position = 0

    def __len__(self) -> int:
        return self.base.type.size

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._position >= len(self):
            raise StopIteration
        self._position += 1
        return self[self._position - 1]

    def __getitem__(self, index: Any) -> Any:
        flat = flatten_axis(self.base)
        y: Any = index_expressions.take(flat, places(index, flat.type.size))
        return views.fresh(y)

    def __setitem__(self, index: Any, value: Any) -> None:
        write(self.base, index, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return array_copies.plain_array(flatten_axis(self.base), dtype, copy)

    def copy(self) -> Any:
        """Return the elements as a vector."""
        return self[:]


def flatten_axis(x: Tracer) -> Tracer:
    """Return a copy of the elements along one axis, in C order."""
    return views.fresh(reshape(x, (x.type.size,)))


def places(index: Any, size: int, *, written: bool = False) -> Any:
    """Return what NumPy's flat iterators, whose rules differ from those of arrays, read or write.

    Of numbers and slices it is themselves; of others, positions, which NumPy's own iterator gives.
    """
    if isinstance(index, int | slice | Tracer) and not isinstance(index, bool):
        return index
    if is_traced(index):
        return as_array(index)
    numbered = np.arange(size)
    try:
        found = numbered.flat[index]
        if written:
            numbered.flat[index] = 0
    except Exception as error:
        explain(error, "x.flat", (index,))
        raise
    return found


def write(x: Tracer, index: Any, value: Any) -> None:
    """Do ``x.flat[index] = value``: values that are too few are taken again from the first."""
    mutation.check_writeable(x)
    flat = flatten_axis(x)
    if not is_traced(index) and mutation.rearrange(x, value, lambda a, v: _put(a, index, v)):
        return
    index = places(index, flat.type.size, written=True)
    items = normalize(index)
    measured = index_expressions.resolve if is_advanced(items) else index_expressions.basic
    shape = measured(flat.shape, items).shape
    count = int(np.prod(shape, dtype=int))
    if not count:
        return
    v = reshape(cycle(value, x.dtype, count), shape)
    if count == x.type.size or isinstance(index, Tracer) or _is_in_c_order(x):
        put(flat, items, v)
        mutation.assign(x, reshape(flat, x.shape))
    else:  # in place, so that the layout in memory stays, on which the last bits of sums depend
        put(x, np.unravel_index(np.arange(x.type.size)[index], x.shape), v)


def _put(a: np.ndarray[Any, Any], index: Any, v: np.ndarray[Any, Any]) -> None:
    a.flat[index] = v


def _is_in_c_order(x: Tracer) -> bool:
    model = views.layout(x)
    return model is not None and model.flags.c_contiguous


def cycle(value: Any, dtype: np.dtype[Any], count: int) -> Any:
    """Return a value as a vector of a dtype and length, its elements coming again and again."""
    v = cast(value, dtype)
    size = v.type.size
    if not size:
        raise ValueError(f"Cannot insert from an empty array, at {user_location()}")
    v = reshape(v, (size,))
    return v if size == count else gather(v, [array(np.arange(count) % size)], (0,))
