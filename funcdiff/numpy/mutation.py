"""In-place changes of traced arrays, with NumPy's own aliasing.

The program is pure; what changes is the handle, which is pointed at the new value, so that every
name bound to it sees the change.  A view remembers its base and how it was made.  After a change
the views of the same memory are made again; whether NumPy would have given a view or a copy is
asked of NumPy itself, by making the same view of an array of positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from funcdiff.core.builder import Tracer
from funcdiff.core.walk import made_by
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.dispatch import unsupported
from funcdiff.numpy.promotion import array, fit
from funcdiff.ops.contract import contract_p
from funcdiff.ops.indexing import gather, gather_p, scatter_add, scatter_add_p
from funcdiff.ops.structural import (
    concatenate,
    concatenate_p,
    convert,
    permute_p,
    reshape,
    reshape_p,
    reverse_p,
    select_p,
)

Make: TypeAlias = Callable[[Any], Any]


class Memory:
    """What a handle knows about the handles that may share its memory."""

    __slots__ = ("base", "make", "order", "positions", "views")

    def __init__(self, base: Tracer | None = None, make: Make | None = None) -> None:
        self.base = base
        self.make = make
        self.views: list[ref[Tracer]] = []
        self.positions: np.ndarray[Any, Any] | None = None
        self.order: str | None = None


class Place(NamedTuple):
    """A handle, and the positions of its elements in the memory of its root."""

    handle: Tracer
    positions: np.ndarray[Any, Any]


def memory(x: Tracer) -> Memory:
    """Return the memory record of a handle, making one if it has none."""
    try:
        found: Memory = x.views
    except AttributeError:
        found = x.views = Memory()
    return found


def view(base: Tracer, result: Tracer, make: Make) -> Tracer:
    """Note that `result` is ``make(base)``, which NumPy may have made a view of `base`."""
    if result is base:
        result = fresh(base)
    if base.type.shape and result.type.shape:  # 0-d results are scalars in NumPy: copies
        memory(base).views.append(ref(result))
        result.views = Memory(base, make)
    return result


def fresh(x: Tracer) -> Tracer:
    """Return another handle on the same value, for what NumPy would copy."""
    return type(x)(x.builder, x.atom, x.type)


def copied(x: Tracer, order: str) -> Tracer:
    """Return another handle on the same value, laid out in memory in the given order."""
    y = fresh(x)
    if order in ("C", "F"):
        memory(y).order = order
    return y


def update(x: Tracer, ufunc: np.ufunc, operand: Any) -> Any:
    """Do ``x = ufunc(x, operand)`` in place; a 0-d `x` is a scalar in NumPy and is rebound."""
    if not x.type.shape:
        return NotImplemented
    check_castable(ufunc, x, x, operand)
    value = getattr(x, _METHODS.get(ufunc, ""), lambda y: ufunc(x, y))(operand)
    if value.shape != x.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {x.shape} doesn't match the broadcast "
            f"shape {value.shape}, at {user_location()}"
        )
    assign(x, fit(value, x.type))
    return x


_METHODS: Final[dict[np.ufunc, str]] = {np.power: "__pow__"}


def check_castable(ufunc: np.ufunc, x: Tracer, *operands: Any) -> None:
    """Let NumPy raise its own error if a result does not fit the dtype of `x`."""
    given = [np.empty(0, o.dtype) if isinstance(o, Tracer) else o for o in operands]
    empty = [o if np.ndim(o) == 0 else np.empty(0, np.asarray(o).dtype) for o in given]
    ufunc(*empty, out=np.empty(0, x.dtype))


def assign(x: Tracer, value: Tracer) -> None:
    """Change `x` in place to `value`, of the same type, for all that share its memory."""
    if getattr(x, "views", None) is None:
        _check_owner(x, value)
        _point(x, value)
        return
    root, positions = _locate(x)
    _check_owner(root, value)
    if not positions.flags.writeable:
        raise ValueError(
            f"output array is read-only, a broadcast view or a diagonal, at {user_location()}"
        )
    whole = _positions(root)  # before the change: NumPy's memory keeps its layout
    _point(root, value if root is x else _replaced(root, positions, value))
    _refresh(root, whole, root)


def _check_owner(root: Tracer, value: Tracer) -> None:
    """Raise if an array of one trace would hold a value of another."""
    if None not in (root.builder, value.builder) and root.builder is not value.builder:
        raise UnsupportedNumPyError(
            f"an array of an enclosing trace was changed in place at {user_location()}. "
            "Write x = x + y inside the inner function instead of x += y."
        )


def store(name: str, result: Tracer, out: Any, *, casting: Any = "same_kind") -> Any:
    """Return the result of a NumPy function, written into `out` if that is given.

    Raises
    ------
    UnsupportedNumPyError
        If `out` is an ordinary array, which cannot hold a traced result.
    """
    if out is None:
        return result
    if not isinstance(out, Tracer):
        raise unsupported(
            f"{name}(out=) with an ordinary array", "Use the function's result instead of out=."
        )
    if out.shape != result.shape:
        raise ValueError(
            f"{name}: out= has shape {out.shape}, but the result has shape {result.shape}, "
            f"at {user_location()}"
        )
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(
            f"{name}: cannot cast the result from {result.dtype!r} to {out.dtype!r} according to "
            f"the rule {casting!r}, at {user_location()}"
        )
    assign(out, convert(result, out.dtype))
    return out


def is_own_result(x: Tracer, index: Any, value: Any) -> bool:
    """Whether ``x[index] = value`` stores what ``x[index] += y`` has written through a view."""
    record = getattr(value, "views", None)
    if not isinstance(record, Memory) or record.base is not x or record.make is None:
        return False
    positions = _positions(x)
    return np.array_equal(record.make(positions), positions[index])


def at(x: Tracer, ufunc: np.ufunc, index: Any, *values: Any) -> None:
    """Do ``ufunc.at(x, index, value)`` for additions, where repeated positions accumulate."""
    if ufunc not in (np.add, np.subtract):
        raise UnsupportedNumPyError(
            f"np.{ufunc.__name__}.at of a traced array is not supported, at {user_location()}. "
            "np.add.at and np.subtract.at are."
        )
    check_castable(ufunc, x, x, *values)
    positions = np.arange(x.type.size).reshape(x.shape)[index]
    amount = fit(
        values[0] if ufunc is np.add else np.negative(values[0]), x.type.with_shape(positions.shape)
    )
    flat = reshape(x, (x.type.size,))
    assign(x, reshape(scatter_add(flat, amount, [array(positions)], (0,)), x.shape))


def _point(x: Tracer, value: Tracer) -> None:
    x.builder, x.atom = value.builder, value.atom


def _positions(root: Tracer) -> np.ndarray[Any, Any]:
    """Return the number of every element, laid out in memory as NumPy lays the array out.

    An eager trace knows the layout from the value.  What has no value is laid out in C order
    here, and `_made` refuses what would depend on that.
    """
    record = memory(root)
    if record.positions is None:
        positions = np.arange(root.type.size).reshape(root.shape)
        if root.ndim > 1:
            record.order = record.order or _layout_of_value(root)
            positions = np.array(positions, order=record.order or "C")  # type: ignore[call-overload]
        record.positions = positions
    return record.positions


_LAID_OUT_OTHERWISE: Final = (
    gather_p, scatter_add_p, concatenate_p, select_p, contract_p, permute_p, reverse_p, reshape_p,
)  # fmt: skip
"""Operations of which NumPy functions are made that may lay their result out in another way."""


def _layout_of_value(root: Tracer) -> str | None:
    """Return "C" or "F" for the layout of an array's value, None if it is not known."""
    if root.builder is None:
        return "C"
    if any(made_by(root, primitive) for primitive in _LAID_OUT_OTHERWISE):
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.empty_like(root.builder.value(root.atom))
    except ConcreteValueError:
        return None
    return "C" if value.flags.c_contiguous else ("F" if value.flags.f_contiguous else None)


def _made(make: Make, positions: np.ndarray[Any, Any], root: Tracer) -> np.ndarray[Any, Any]:
    """Make a view of positions; refuse if it depends on an unknown layout whether it is one."""
    made = np.asarray(make(positions))
    if memory(root).order is None and root.ndim > 1:
        other = np.array(positions, order="F" if positions.flags.c_contiguous else "C")
        if np.shares_memory(make(other), other) != np.shares_memory(made, positions):
            raise UnsupportedNumPyError(
                f"an array was changed in place at {user_location()}, of which another is a view "
                "or a copy, by its layout in memory, which is not known here. Write y = y * 2 "
                "instead of y *= 2, or take a copy: v = y.ravel().copy()."
            )
    return made


def _locate(x: Tracer) -> Place:
    """Return the root of the memory of `x`, and where in it the elements of `x` are."""
    chain: list[Make] = []
    handles = [x]
    while (record := memory(handles[-1])).base is not None:
        assert record.make is not None
        chain.append(record.make)
        handles.append(record.base)
    root = handles.pop()
    positions = _positions(root)
    for make, handle in zip(reversed(chain), reversed(handles), strict=True):
        made = _made(make, positions, root)
        if not np.shares_memory(made, positions):  # NumPy copied: that copy is the root
            root, made = handle, _positions(handle)
        positions = made
    return Place(root, positions)


def _replaced(root: Tracer, positions: np.ndarray[Any, Any], value: Tracer) -> Tracer:
    """Return `root` with the elements at `positions` replaced, bit for bit."""
    size = root.type.size
    source = np.arange(size)
    source[positions.ravel()] = size + np.arange(positions.size)
    both = concatenate([reshape(root, (size,)), reshape(value, (positions.size,))], 0)
    return reshape(gather(both, [array(source)], (0,)), root.shape)


def _refresh(base: Tracer, positions: np.ndarray[Any, Any], root: Tracer) -> None:
    """Make the views of `base` again, and theirs, as far as NumPy shares memory."""
    record = memory(base)
    record.views = [link for link in record.views if link() is not None]
    for link in record.views:
        handle = link()
        if handle is None:
            continue
        make = memory(handle).make
        assert make is not None
        made = _made(make, positions, root)
        if np.shares_memory(made, positions):
            _point(handle, make(base))
            _refresh(handle, made, root)
