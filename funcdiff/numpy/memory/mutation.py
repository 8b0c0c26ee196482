"""In-place changes of traced arrays, with the aliasing of NumPy.

The program is pure; what changes is the handle, which is pointed at the new value, so that every
name bound to it sees the change.  After a change the views of the same memory are made again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final
from weakref import ref

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.calling import note_layout
from funcdiff.numpy.border.dispatch import refusal_error
from funcdiff.numpy.border.promotion import array, fit, model_of
from funcdiff.numpy.memory.array_copies import follow
from funcdiff.numpy.memory.layouts import NDArray, layout_like, replace_elements
from funcdiff.numpy.memory.views import (
    Make,
    Memory,
    Models,
    as_array,
    fresh,
    is_view,
    layout,
    locate,
    make_models,
    memory,
    models_of,
)
from funcdiff.numpy.messages.mistakes import MADE_INSIDE, explain
from funcdiff.ops.axes.indexing import gather
from funcdiff.ops.structure.structural import convert, reshape


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
    root, models = locate(x)
    target: NDArray = np.asarray(models[0] if part is None else part(models[0]))
    _check_writeable(target)
    if part is not None or root is not x:
        value = replace_elements(root, models_of(root)[0], target, value)
    _repoint(root, value)


def _repoint(root: Tracer, value: Tracer) -> None:
    """Point an array that `_locate` found, and all that share its memory, at another value."""
    record = memory(root)
    if record.write is not None:
        assert record.base is not None
        assign(record.base, record.write(record.base, value))
        return
    point(root, value)
    _refresh(root, models_of(root), root)


def set_shape(x: Tracer, shape: Any) -> None:
    """Do ``x.shape = shape``: the name stands for a view of what it was, of another shape.

    Raises NumPy's `AttributeError` for a scalar, and for an array that would have to be copied.
    """
    if not isinstance(x, np.ndarray):
        raise AttributeError(
            f"the shape of a number is not writable, at {user_location()}. Use np.reshape(x, shape)"
        )
    layout(x, settle=True)
    root, models = locate(x)
    made = [_of_shape(model, shape) for model in models]
    fitting = [model for model in made if not isinstance(model, Exception)]
    if not fitting:
        error: Any = made[0]
        explain(error, "x.shape = value", (x, shape))
        raise error
    if len(fitting) < len(models):  # the layout that it has, since NumPy would raise for others
        pairs = zip(models_of(root), made, strict=True)
        memory(root).models = tuple(m for m, new in pairs if not isinstance(new, Exception))
    target = fitting[0].shape
    before = as_array(x)
    record = before.views = memory(x)
    if record.base is not None:
        links = memory(record.base).views
        links[:] = [link for link in links if link() is not x] + [ref(before)]
    for link in record.views:
        handle = link()
        if handle is not None:
            memory(handle).base = before
    value = reshape(x, target)
    x.builder, x.atom, x.type = value.builder, value.atom, value.type
    Memory(None, lambda y: np.reshape(y, target)).enter(before, x)


def _of_shape(model: NDArray, shape: Any) -> NDArray | Exception:
    """Return an array of that shape in the memory of another, or NumPy's error if there is none."""
    seen = model.view()
    try:
        with warnings.catch_warnings():  # NumPy 2.5 deprecates it
            warnings.simplefilter("ignore", DeprecationWarning)
            seen.shape = shape
    except Exception as error:
        return error
    return seen


def rearrange(x: Tracer, value: Any, write: Callable[[NDArray, NDArray], None]) -> bool:
    """Write a value into `x` that shares memory with it: what is written is read again.

    Positions are put in place of the elements, and NumPy writes these.  Return whether it was so.
    """
    if not isinstance(value, Tracer) or x.dtype != value.dtype:
        return False
    root = locate(x).root
    if locate(value).root is not root or root.dtype != x.dtype:
        return False
    positions = layout_like(models_of(root)[0], np.intp)
    assert positions is not None, "elements of an array that is no view do not overlap"
    positions[...] = np.arange(positions.size).reshape(positions.shape)
    write(_view_of(x, root, positions), _view_of(value, root, positions))
    elements = reshape(root, (root.type.size,))
    _repoint(root, reshape(gather(elements, [array(np.ravel(positions))], (0,)), root.shape))
    return True


def _view_of(x: Tracer, root: Tracer, whole: NDArray) -> NDArray:
    """Return what `x` is of its root, of another array of that shape and layout."""
    record = memory(x)
    if x is root:
        return whole
    assert record.base is not None
    assert record.make is not None
    return np.asarray(record.make(_view_of(record.base, root, whole)))


def check_writeable(x: Tracer) -> None:
    """Raise NumPy's error if an array is read-only."""
    if is_view(x):
        _check_writeable(locate(x).models[0])


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
        _move(x, value)
        return
    record = memory(x)
    if record.order is None and record.origin is None:
        record.origin = fresh(x)
    _move(x, value)
    note_layout(x, record)


def _move(x: Tracer, value: Tracer) -> None:
    """Point a handle, and the plain arrays that were made of it, at another value."""
    x.builder, x.atom = value.builder, value.atom
    record = getattr(x, "views", None)
    if record is not None and record.exports:
        follow(x)


def _check_owner(root: Tracer, value: Tracer) -> None:
    """Raise if an array of one trace would hold a value of another."""
    if None not in (root.builder, value.builder) and root.builder is not value.builder:
        raise UnsupportedNumPyError(
            f"an array of an enclosing trace was changed in place at {user_location()}. "
            "Write x = x + y inside the inner function instead of x += y."
        )


def store(name: str, result: Tracer, out: Any, *, casting: Any = "same_kind") -> Any:
    """Return the result of a NumPy function, written into `out` if that is given.

    Raises `UnsupportedNumPyError` if `out` is an ordinary array, which cannot hold a traced result.
    """
    if out is None:
        return result
    if not isinstance(out, Tracer):
        raise refusal_error(
            f"{name}(out=) with an ordinary array",
            "Use the function's result instead of out=, or make the array one that can hold it, "
            f"{MADE_INSIDE}.",
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


def _refresh(base: Tracer, models: Models, root: Tracer) -> None:
    """Make the views of `base` again, and theirs, as far as NumPy shares memory."""
    record = memory(base)
    handles = [handle for link in record.views if (handle := link()) is not None]
    record.views = [ref(handle) for handle in handles]
    for handle in handles:
        make = memory(handle).make
        assert make is not None
        made, shares = make_models(base, make, models, root)
        if shares:
            _move(handle, make(base))
            _refresh(handle, made, root)
