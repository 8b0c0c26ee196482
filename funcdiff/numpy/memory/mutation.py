"""In-place changes of traced arrays, with NumPy's own aliasing.

The program is pure; what changes is the handle, which is pointed at the new value, so that every
name bound to it sees the change.  A view remembers its base and how it was made.  After a change
the views of the same memory are made again; whether NumPy would have given a view or a copy, and
of which elements, is asked of NumPy itself, by making the same view of an array without content.
Where the elements are chosen by traced numbers, the view itself says how it is written into its
base.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import ref

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.dispatch import unsupported
from funcdiff.numpy.border.promotion import array, fit, model_of
from funcdiff.numpy.memory.layouts import layout_of_value, note_layout
from funcdiff.numpy.memory.regions import NDArray, replaced
from funcdiff.ops.axes.indexing import gather
from funcdiff.ops.structure.structural import convert, reshape

Make: TypeAlias = Callable[[Any], Any]
Write: TypeAlias = Callable[[Tracer, Tracer], Tracer]
Models: TypeAlias = tuple[NDArray, ...]
"""Arrays without content, laid out in memory as a handle's array may be: one, or in C and F.

Another layout is one of several axes in another order, and such an array shares memory with what
is made of it only where both of these do.
"""


class Memory:
    """What a handle knows about the handles that may share its memory.

    Attributes
    ----------
    base, make, index
        A view is ``make(base)``, and ``base[index]`` if it was made by indexing.
    write
        ``write(base, value)`` is the base with another value of the view; None if its elements can
        be asked of NumPy.  If they cannot, NumPy's view of a model has them elsewhere.
    views
        The views that have this handle as their base.
    order, origin
        The layout in memory, as `numpy.empty_like` takes it: "C" or "F", or else that of `origin`,
        which is the array that this one was made like, or this one before its first change.
    models
        See `Models`; of an array that is no view.
    """

    __slots__ = ("base", "index", "make", "models", "order", "origin", "views", "write")

    def __init__(
        self,
        base: Tracer | None = None,
        make: Make | None = None,
        index: Any = None,
        write: Write | None = None,
    ) -> None:
        self.base = base
        self.make = make
        self.index = index
        self.write = write
        self.views: list[ref[Tracer]] = []
        self.order: str | None = None
        self.origin: Tracer | None = None
        self.models: Models = ()


class Place(NamedTuple):
    """The array whose memory a handle looks into, and what the handle's own array looks like.

    It is no view, or one at traced positions, which writes into its base itself.
    """

    root: Tracer
    models: Models


def memory(x: Tracer) -> Memory:
    """Return the memory record of a handle, making one if it has none."""
    try:
        found: Memory = x.views
    except AttributeError:
        found = x.views = Memory()
    return found


def view(
    base: Tracer, result: Tracer, make: Make, index: Any = None, write: Write | None = None
) -> Tracer:
    """Note that `result` is ``make(base)``, which NumPy may have made a view of `base`."""
    if result is base:
        result = fresh(base)
    if not result.type.shape:
        if not _is_array(base, make):
            return result
        result = as_array(result)
    if base.type.shape or isinstance(base, np.ndarray):
        memory(base).views.append(ref(result))
        result.views = Memory(base, make, index, write)
    return result


def _is_array(base: Tracer, make: Make) -> bool:
    """Whether NumPy's result without axes is an array (``x[0, ...]``) and not a scalar."""
    array = np.empty(base.shape, base.dtype)
    return isinstance(make(array if isinstance(base, np.ndarray) else array[()]), np.ndarray)


def is_view(x: Tracer) -> bool:
    """Return whether a handle may look into the memory of another."""
    record = getattr(x, "views", None)
    return record is not None and record.base is not None


def fresh(x: Tracer) -> Tracer:
    """Return another handle on the same value, for what NumPy would copy."""
    return Builder.handle(x.builder, x.atom, x.type)


def as_array(x: Tracer) -> Tracer:
    """Return a handle on the same value that, without axes, too, stands for an array."""
    return Builder.array_handle(x.builder, x.atom, x.type)


def copied(x: Tracer, order: str) -> Tracer:
    """Return another handle on the same value, laid out in memory in the given order."""
    y = as_array(x) if isinstance(x, np.ndarray) else fresh(x)
    laid_out_like(y, x, order)
    return y


def laid_out_like(y: Tracer, x: Tracer, order: str) -> None:
    """Note that a new array lies in memory as ``np.empty_like(x, order=order)`` does."""
    if y.ndim < 2:
        return
    record = memory(y)
    record.order = order
    if order not in ("C", "F"):
        record.origin = _shadow(x)
    note_layout(y, record)


def _shadow(x: Tracer) -> Tracer:
    """Return a handle that knows what `x` knows of its layout now, and that nobody waits for."""
    y = fresh(x)
    record = getattr(x, "views", None)
    if record is not None:
        known = y.views = Memory(record.base, record.make, write=record.write)
        known.order, known.origin, known.models = record.order, record.origin, record.models
    return y


def required(x: Tracer, make: Make, order: str) -> Tracer:
    """Return what `make` makes of an array: itself, or a copy if it lies in another order."""
    model = layout(x)
    if model is None:
        return view(x, x, make)
    return x if np.may_share_memory(make(model), model) else copied(x, order)


def layout(x: Tracer, *, settle: bool = False) -> NDArray | None:
    """Return an array without content laid out as NumPy's would be, None if that is not known.

    It is known of copies in a given order, of arrays of one axis, and of the views of both.  To
    `settle` it for others, their values are looked at, if there are any.
    """
    try:
        root, models = _locate(x)
        if len(models) > 1 and settle:
            _settle(root)
            models = _locate(x).models
    except UnsupportedNumPyError:  # whether it is a view depends on what is not known
        return None
    return models[0] if len(models) == 1 else None


def update(x: Tracer, ufunc: np.ufunc, operand: Any) -> Any:
    """Do ``x = ufunc(x, operand)`` in place."""
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
    given = [model_of(o) if isinstance(o, Tracer) else o for o in operands]
    empty = [o if np.ndim(o) == 0 else np.empty(0, np.asarray(o).dtype) for o in given]
    ufunc(*empty, out=np.empty(0, x.dtype))


def assign(x: Tracer, value: Tracer, part: Make | None = None) -> None:
    """Change `x` in place to `value`, of the same type, for all that share its memory.

    If a `part` is given, which makes a view, `value` is put there only.
    """
    if part is None and is_alone(x):
        point(x, value)
        return
    root, models = _locate(x)
    target: NDArray = np.asarray(models[0] if part is None else part(models[0]))
    _check_writeable(target)
    if part is not None or root is not x:
        value = replaced(root, _models(root)[0], target, value)
    _spread(root, value)


def _spread(root: Tracer, value: Tracer) -> None:
    """Point an array that `_locate` found, and all that share its memory, at another value."""
    record = memory(root)
    if record.write is not None:
        assert record.base is not None
        assign(record.base, record.write(record.base, value))
        return
    point(root, value)
    _refresh(root, _models(root), root)


def rearrange(x: Tracer, value: Any, write: Callable[[NDArray, NDArray], None]) -> bool:
    """Write a value into `x` that shares memory with it: what is written is read again.

    Positions are put in place of the elements, and NumPy writes these.  Return whether it was so.
    """
    if not isinstance(value, Tracer) or x.dtype != value.dtype:
        return False
    root = _locate(x).root
    if _locate(value).root is not root or root.dtype != x.dtype:
        return False
    positions: NDArray = np.empty_like(_models(root)[0], np.intp)
    positions[...] = np.arange(positions.size).reshape(positions.shape)
    write(_seen_through(x, root, positions), _seen_through(value, root, positions))
    elements = reshape(root, (root.type.size,))
    _spread(root, reshape(gather(elements, [array(np.ravel(positions))], (0,)), root.shape))
    return True


def _seen_through(x: Tracer, root: Tracer, whole: NDArray) -> NDArray:
    """Return what `x` is of its root, of another array of that shape and layout."""
    record = memory(x)
    if x is root:
        return whole
    assert record.base is not None
    assert record.make is not None
    return np.asarray(record.make(_seen_through(record.base, root, whole)))


def check_writeable(x: Tracer) -> None:
    """Raise NumPy's error if an array is read-only."""
    if is_view(x):
        _check_writeable(_locate(x).models[0])


def _check_writeable(target: NDArray) -> None:
    if not target.flags.writeable:
        raise ValueError(
            "assignment destination is read-only, a broadcast view, a diagonal, or the imaginary "
            f"part of a real array, at {user_location()}"
        )


def is_alone(x: Tracer) -> bool:
    """Return whether no other handle that is still in use may share memory with `x`."""
    record = getattr(x, "views", None)
    if record is None:
        return True
    if record.views:
        record.views = [link for link in record.views if link() is not None]
    return record.base is None and not record.views


def point(x: Tracer, value: Tracer) -> None:
    """Point a handle at another value: of `x` alone, not of what shares its memory."""
    _check_owner(x, value)
    if len(x.type.shape) < 2:
        if not (x.type.shape or isinstance(x, np.ndarray)):
            raise UnsupportedNumPyError(
                f"a scalar was written to in place at {user_location()}. NumPy's scalars cannot be "
                "changed: what x.fill(v) and the like write to a copy is lost. Write x = v, or "
                "make x an array before, x = np.zeros((), like=x)."
            )
        x.builder, x.atom = value.builder, value.atom
        return
    record = memory(x)
    if record.order is None and record.origin is None:
        record.origin = fresh(x)
    x.builder, x.atom = value.builder, value.atom
    note_layout(x, record)


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
            f"{name}(out=) with an ordinary array",
            "Use the function's result instead of out=, or make the array one that can hold it: "
            "np.zeros(shape, like=x).",
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
    return record is not None and record.base is x and index is not None and record.index is index


# ---- whose memory, and where in it ---------------------------------------------------------------


def _models(root: Tracer) -> Models:
    """Return arrays laid out as that of `root`, which is no view, may be."""
    record = memory(root)
    if not record.models:
        orders = record.order if record.order in ("C", "F") else "CF"
        record.models = tuple(
            np.empty(root.shape, root.dtype, order)  # type: ignore[call-overload]
            for order in ("C" if root.ndim < 2 else orders)
        )
    return record.models


def _locate(x: Tracer) -> Place:
    record = memory(x)
    if record.base is None:
        return Place(x, _models(x))
    assert record.make is not None
    root, models = _locate(record.base)
    made, shares = _made(record.base, record.make, models, root)
    if not shares or record.write is not None:  # NumPy copied, or it is not known what it shares
        record.models = made
        return Place(x, made)
    return Place(root, made)


def _made(base: Tracer, make: Make, models: Models, root: Tracer) -> tuple[Models, bool]:
    """Make a view of the models of `base`; return whether it looks into their memory."""
    made = [np.asarray(make(model)) for model in models]
    shares = [np.may_share_memory(*pair) for pair in zip(made, models, strict=True)]
    if all(shares):
        return tuple(made), True
    if not any(shares):
        return tuple(made), False
    _settle(root)
    return _made(base, make, _locate(base).models, root)


def _settle(root: Tracer) -> None:
    """Find the layout of an array, which is no view; refuse if it is not known."""
    record = memory(root)
    if record.base is not None:  # a copy that NumPy makes where others are views
        _settle(_locate(record.base).root)
        _locate(root)
        return
    own = record.order is None and record.origin is None
    model = layout_of_value(root, _noted) if own else _noted(record, root.type)
    if model is None:
        raise UnsupportedNumPyError(
            f"an array was changed in place at {user_location()}, of which another is a view "
            "or a copy, by its layout in memory, which is not known here. Write y = y * 2 "
            "instead of y *= 2, or take a copy: v = y.ravel().copy()."
        )
    record.models = (model,)


def _noted(record: Memory, type_: ArrayType) -> NDArray | None:
    """Return an array laid out as a record has it, None if that is not known."""
    if len(record.models) == 1:
        return record.models[0]
    order: Any = record.order or "K"
    if record.origin is None:
        return np.empty(type_.shape, type_.dtype, order)
    like = layout(record.origin, settle=True)
    return None if like is None else np.empty_like(like, type_.dtype, order, shape=type_.shape)


def _refresh(base: Tracer, models: Models, root: Tracer) -> None:
    """Make the views of `base` again, and theirs, as far as NumPy shares memory."""
    record = memory(base)
    handles = [handle for link in record.views if (handle := link()) is not None]
    record.views = [ref(handle) for handle in handles]
    for handle in handles:
        make = memory(handle).make
        assert make is not None
        made, shares = _made(base, make, models, root)
        if shares:
            value = make(base)
            handle.builder, handle.atom = value.builder, value.atom
            _refresh(handle, made, root)
