"""In-place changes of traced arrays, with NumPy's own aliasing.

The program is pure; what changes is the handle, which is pointed at the new value, so that every
name bound to it sees the change.  A view remembers its base and how it was made.  After a change
the views of the same memory are made again; whether NumPy would have given a view or a copy, and
of which elements, is asked of NumPy itself, by making the same view of an array without content.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias
from weakref import ref

import numpy as np

from funcdiff.core.builder import Builder, Tracer
from funcdiff.core.walk import made_by
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError, user_location
from funcdiff.numpy.dispatch import unsupported
from funcdiff.numpy.promotion import fit, model_of
from funcdiff.numpy.regions import NDArray, replaced
from funcdiff.ops.contract import contract_p
from funcdiff.ops.indexing import gather_p, scatter_add_p, scatter_p
from funcdiff.ops.structural import (
    concatenate_p,
    convert,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
)

Make: TypeAlias = Callable[[Any], Any]
Models: TypeAlias = tuple[NDArray, ...]
"""Arrays without content, laid out in memory as a handle's array may be: one, or in C and F."""


class Memory:
    """What a handle knows about the handles that may share its memory.

    Attributes
    ----------
    base, make, index
        A view is ``make(base)``, and ``base[index]`` if it was made by indexing.
    views
        The views that have this handle as their base.
    order
        "C" or "F" once the layout in memory is known.
    origin
        The value before the first change, which has that layout.
    models
        See `Models`; of an array that is no view.
    """

    __slots__ = ("base", "index", "make", "models", "order", "origin", "views")

    def __init__(
        self, base: Tracer | None = None, make: Make | None = None, index: Any = None
    ) -> None:
        self.base = base
        self.make = make
        self.index = index
        self.views: list[ref[Tracer]] = []
        self.order: str | None = None
        self.origin: Tracer | None = None
        self.models: Models = ()


class Place(NamedTuple):
    """The array whose memory a handle looks into, and what the handle's own array looks like."""

    root: Tracer
    models: Models


def memory(x: Tracer) -> Memory:
    """Return the memory record of a handle, making one if it has none."""
    try:
        found: Memory = x.views
    except AttributeError:
        found = x.views = Memory()
    return found


def view(base: Tracer, result: Tracer, make: Make, index: Any = None) -> Tracer:
    """Note that `result` is ``make(base)``, which NumPy may have made a view of `base`."""
    if result is base:
        result = fresh(base)
    if not result.type.shape:
        if not _is_array(base, make):
            return result
        result = as_array(result)
    if base.type.shape or isinstance(base, np.ndarray):
        memory(base).views.append(ref(result))
        result.views = Memory(base, make, index)
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
    if order in ("C", "F"):
        memory(y).order = order
    elif (model := layout(x)) is not None:
        memory(y).models = (np.empty_like(model, order=order),)  # type: ignore[call-overload]
    return y


def required(x: Tracer, order: str) -> Tracer:
    """Return `x` itself, or, if it is known to lie in another order in memory, a copy in this."""
    model = layout(x) if order in ("C", "F") else None
    if model is None:
        return x
    flags = model.flags
    if flags.c_contiguous if order == "C" else flags.f_contiguous:
        return x
    return copied(x, order)


def layout(x: Tracer) -> NDArray | None:
    """Return an array without content laid out as NumPy's would be, None if that is not known.

    It is known of copies in a given order, of arrays of one axis, and of the views of both.
    """
    try:
        _, models = _locate(x)
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
    target = np.asarray(models[0] if part is None else part(models[0]))
    if not target.flags.writeable:
        raise ValueError(
            "assignment destination is read-only, a broadcast view, a diagonal, or the imaginary "
            f"part of a real array, at {user_location()}"
        )
    if part is not None or root is not x:
        value = replaced(root, _models(root)[0], target, value)
    point(root, value)
    _refresh(root, _models(root), root)


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
    if x.ndim > 1:
        record = memory(x)
        if record.order is None and record.origin is None:
            record.origin = fresh(x)
    x.builder, x.atom = value.builder, value.atom


def _check_owner(root: Tracer, value: Tracer) -> None:
    """Raise if an array of one trace would hold a value of another."""
    if None not in (root.builder, value.builder) and root.builder is not value.builder:
        raise UnsupportedNumPyError(
            f"an array of an enclosing trace was changed in place at {user_location()}. "
            "Write x = x + y inside the inner function instead of x += y."
        )


def cannot_be_set(attribute: str, cure: str) -> NoReturn:
    """Raise for ``x.shape = value`` and the like; `cure` is what to write instead."""
    raise UnsupportedNumPyError(
        f"x.{attribute} = value was met at {user_location()}, where x is a traced array. "
        f"Write x = {cure} instead."
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
        orders = record.order or ("C" if root.ndim < 2 else "CF")
        record.models = tuple(
            np.empty(root.shape, root.dtype, order)  # type: ignore[call-overload]
            for order in orders
        )
    return record.models


def _locate(x: Tracer) -> Place:
    record = memory(x)
    if record.base is None:
        return Place(x, _models(x))
    assert record.make is not None
    root, models = _locate(record.base)
    made, shares = _made(record.make, models, root)
    if not shares:  # NumPy copied: that copy is the root
        if not made[0].flags.writeable:
            record.models = made
        return Place(x, _models(x))
    return Place(root, made)


def _made(make: Make, models: Models, root: Tracer) -> tuple[Models, bool]:
    """Make a view of models; return whether it looks into their memory."""
    made = [np.asarray(make(model)) for model in models]
    shares = [np.may_share_memory(*pair) for pair in zip(made, models, strict=True)]
    if all(shares) or not any(shares):
        return tuple(made), shares[0]
    k = "CF".index(_settled(root))
    return (made[k],), shares[k]


def _settled(root: Tracer) -> str:
    """Return the layout of an array; refuse if it is not known."""
    record = memory(root)
    record.order = record.order or _layout_of_value(record.origin or root)
    if record.order is None:
        raise UnsupportedNumPyError(
            f"an array was changed in place at {user_location()}, of which another is a view "
            "or a copy, by its layout in memory, which is not known here. Write y = y * 2 "
            "instead of y *= 2, or take a copy: v = y.ravel().copy()."
        )
    return record.order


_LAID_OUT_OTHERWISE: Final = (
    gather_p, scatter_add_p, scatter_p, concatenate_p, select_p, contract_p, permute_p, reverse_p,
    reshape_p,
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


def _refresh(base: Tracer, models: Models, root: Tracer) -> None:
    """Make the views of `base` again, and theirs, as far as NumPy shares memory."""
    record = memory(base)
    handles = [handle for link in record.views if (handle := link()) is not None]
    record.views = [ref(handle) for handle in handles]
    for handle in handles:
        make = memory(handle).make
        assert make is not None
        made, shares = _made(make, models, root)
        if shares:
            value = make(base)
            handle.builder, handle.atom = value.builder, value.atom
            _refresh(handle, made, root)
