"""Array constructors in `funcdiff.numpy`, where NumPy cannot dispatch: arrays of traced numbers.

NumPy asks only the arguments of a function, not the elements of lists in them, so
``np.array([x, y])`` never comes here.  With nothing traced these functions are NumPy's own, but
for buffers: what `zeros`, `ones`, `empty`, `full` and their ``_like`` make while a function is
being traced takes traced values, as ``out[0] = x``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import wraps
from itertools import islice
from typing import Any, Final

import numpy as np

from funcdiff.core.recording.builder import Builder, constant, current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import DTYPE_NAMES, ArrayType
from funcdiff.errors import ConcreteValueError
from funcdiff.numpy.border.calling import arrays, call
from funcdiff.numpy.border.dispatch import refusal_error
from funcdiff.numpy.border.promotion import array as as_array
from funcdiff.numpy.border.promotion import common_dtype, promote
from funcdiff.numpy.border.values import concrete_value, index_value, is_traced, value_for
from funcdiff.numpy.creation import like
from funcdiff.numpy.memory import array_copies
from funcdiff.numpy.memory.views import copy_in_order
from funcdiff.numpy.shapes.joining import concatenate
from funcdiff.ops.elementwise.logic import exact_integer
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.slicing import slice_along


def join_traced(value: Any) -> Any:
    """Return a list of traced numbers as an array, anything else as it is."""
    return array(value) if isinstance(value, list | tuple) and is_traced(value) else value


def without_like(keywords: dict[str, Any]) -> dict[str, Any]:
    """Return keywords but for ``like=``, which has done its work where something is traced."""
    return {name: value for name, value in keywords.items() if name != "like"}


def array(object: Any, dtype: Any = None, **keywords: Any) -> Any:
    """Return an array of nested lists, whose elements may be traced.

    Parameters
    ----------
    object
        Anything array-like, or lists and tuples of traced and other numbers and arrays of one
        shape, nested to any depth.
    dtype
        Dtype of the result; by default what NumPy's promotion gives.
    **keywords
        Those of `numpy.array`.  Of a traced array, `subok` makes no difference.

    Returns
    -------
    array
        A new array; NumPy's own if nothing in `object` is traced.

    Raises
    ------
    ValueError
        If the elements differ in shape.

    Examples
    --------
    >>> import funcdiff as fd
    >>> import funcdiff.numpy as fnp
    >>> print(fd.grad(lambda x: fnp.array([x, x * x]) @ fnp.array([1.0, 10.0]))(3.0))
    61.0
    """
    if current_builder() is not None and is_traced(object):
        return call(np.array, (object, dtype), without_like(keywords))
    return np.array(object, dtype, **keywords)


def asarray(a: Any, dtype: Any = None, order: Any = None, **keywords: Any) -> Any:
    """Return the argument as an array: a traced array itself, unless its dtype changes.

    Parameters
    ----------
    a
        Anything that `array` takes.
    dtype
        Dtype of the result; by default what NumPy's promotion gives.
    order
        Order in memory, as in NumPy.
    **keywords
        Those of `numpy.asarray`.

    Returns
    -------
    array
        NumPy's own if nothing in `a` is traced.

    Raises
    ------
    ValueError
        As by `array`.

    Examples
    --------
    >>> import funcdiff.numpy as fnp
    >>> fnp.asarray([1, 2])
    array([1, 2])
    """
    if type(a) is Builder.array_handle and dtype is None and order is None and not keywords:
        return a
    if is_traced(a):
        return call(np.asarray, (a, dtype, order), without_like(keywords))
    return np.asarray(a, dtype, order, **keywords)


def asanyarray(a: Any, dtype: Any = None, order: Any = None, **keywords: Any) -> Any:
    """Do what `asarray` does, but keep subclasses of plain arrays, as NumPy does."""
    if isinstance(a, Builder.array_handle) and dtype is None and order is None and not keywords:
        return a
    if is_traced(a):
        return asarray(a, dtype, order, **keywords)
    return np.asanyarray(a, dtype, order, **keywords)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """Do what `asarray` does, and refuse what is not finite, as NumPy does; traced values pass."""
    return asarray(a, dtype, order) if is_traced(a) else np.asarray_chkfinite(a, dtype, order)


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """Return the argument as an array of at least one axis, contiguous if it is not traced.

    Parameters
    ----------
    a
        Anything that `array` takes.
    dtype
        Dtype of the result; by default what NumPy's promotion gives.

    Returns
    -------
    array
        NumPy's own if nothing in `a` is traced.

    Raises
    ------
    ValueError
        As by `array`.

    Examples
    --------
    >>> import funcdiff.numpy as fnp
    >>> fnp.ascontiguousarray(2.0)
    array([2.])
    """
    make = array_copies.ascontiguousarray if is_traced(a) else np.ascontiguousarray
    return make(a, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **keywords: Any) -> Any:
    """Return an array filled with a value, which may be traced.

    Parameters
    ----------
    shape
        An int or a tuple of ints.
    fill_value
        A number, or an array that broadcasts to the shape.
    dtype
        Dtype of the result; by default that of the value.
    order
        Order in memory, as in NumPy.
    **keywords
        Those of `numpy.full`.

    Returns
    -------
    array
        NumPy's own if no function is being traced.

    Raises
    ------
    ValueError
        If the value does not broadcast to the shape.

    Examples
    --------
    >>> import funcdiff as fd
    >>> import funcdiff.numpy as fnp
    >>> print(fd.grad(lambda x: fnp.full((2, 3), x).sum())(3.0))
    6.0
    """
    if is_traced(fill_value):
        return call(np.full, (shape, join_traced(fill_value), dtype, order), without_like(keywords))
    y = np.full(shape, fill_value, dtype, order, **keywords)
    return like.full(shape, fill_value, y.dtype, _order(y)) if _is_buffer(y) else y


def full_like(a: Any, fill_value: Any, *args: Any, **keywords: Any) -> Any:
    """Return an array like another, filled with a value; either may be traced.

    Parameters
    ----------
    a
        Anything that `array` takes; the result has its shape and dtype.
    fill_value
        A number, or an array that broadcasts to the shape.
    *args, **keywords
        Those of `numpy.full_like`.

    Returns
    -------
    array
        NumPy's own if no function is being traced.

    Examples
    --------
    >>> import funcdiff as fd
    >>> import funcdiff.numpy as fnp
    >>> print(fd.grad(lambda x: fnp.full_like([1.0, 2.0], x).sum())(3.0))
    2.0
    """
    if is_traced([a, fill_value]):
        return call(np.full_like, (array(a), join_traced(fill_value), *args), keywords)
    y = np.full_like(a, fill_value, *args, **keywords)
    return call(np.full, (y.shape, fill_value, y.dtype, _order(y)), {}) if _is_buffer(y) else y


def _is_buffer(y: np.ndarray[Any, Any]) -> bool:
    """Whether a new array may have to take traced values."""
    return current_builder() is not None and y.dtype in DTYPE_NAMES


def _order(y: np.ndarray[Any, Any]) -> str:
    """Return the order in which a new array lies in memory."""
    return "F" if np.isfortran(y) else "C"


def maker_of_filled(plain: Callable[..., Any], value: int) -> Callable[..., Any]:
    """Return a function of NumPy that makes arrays of one value, making traced ones in a trace."""

    @wraps(plain)
    def make(*args: Any, **kwargs: Any) -> Any:
        if current_builder() is None:
            return plain(*args, **kwargs)
        rest = without_like(kwargs)
        if is_traced([*args, *rest.values()]):
            return call(plain, [array(a) if is_traced(a) else a for a in args], rest)
        y = plain(*args, **rest)
        if not _is_buffer(y):
            return y
        return copy_in_order(arrays(constant(value, ArrayType(y.shape, y.dtype))), _order(y))

    make.__module__ = "funcdiff.numpy.namespace"  # where pickle finds it
    make.__qualname__ = f"numpy.{plain.__name__}"
    return make


FILLED: Final = {
    name: maker_of_filled(getattr(np, name), value)
    for name, value in (
        ("zeros", 0), ("zeros_like", 0), ("empty", 0), ("empty_like", 0), ("ones", 1),
        ("ones_like", 1),
    )
}  # fmt: skip


def eye(*args: Any, **keywords: Any) -> Any:
    """Return ones on a diagonal and zeros elsewhere, as `numpy.eye`, as a buffer in a trace."""
    if current_builder() is None:
        return np.eye(*args, **keywords)
    return _make_buffer(np.eye(*args, **without_like(keywords)))


def identity(*args: Any, **keywords: Any) -> Any:
    """Return the identity matrix, as `numpy.identity`, as a buffer in a trace."""
    return _make_buffer(np.identity(*args, **without_like(keywords)))


def _make_buffer(y: np.ndarray[Any, Any]) -> Any:
    """Return a new matrix as one that takes traced values; integers index, and stay plain."""
    return call(np.array, (y,), {}) if _is_buffer(y) and y.dtype.kind in "fc" else y


def arange(*bounds: Any, **keywords: Any) -> Any:
    """Return evenly spaced numbers ``start + k·step`` below `stop`.

    Parameters
    ----------
    *bounds
        ``stop``, ``start, stop`` or ``start, stop, step``, and then the dtype.  Where they are
        traced, the length of the result is taken from their values, and the elements follow start
        and step.  Under `jit` the length decides, as an index of a list does.
    **keywords
        Those of `numpy.arange`; `start`, `stop`, `step` and `dtype` among them.

    Returns
    -------
    array
        A vector; NumPy's own if no bound is traced.

    Raises
    ------
    ValueError, ZeroDivisionError
        If the step is 0, as NumPy says it.

    Examples
    --------
    >>> import funcdiff as fd
    >>> import funcdiff.numpy as fnp
    >>> print(fd.grad(lambda step: fnp.arange(0.0, 1.0, step).sum())(0.25))
    6.0
    """
    if current_builder() is None:
        return np.arange(*bounds, **keywords)
    bounds = tuple(map(_known_integer, bounds))
    keywords = {name: _known_integer(value) for name, value in keywords.items()}
    single = len(bounds) == 1 and "stop" not in keywords
    names = ("stop",) if single else ("start", "stop", "step", "dtype")
    given = {**dict(zip(names, bounds, strict=False)), **keywords}
    if not is_traced(list(without_like(given).values())):
        return np.arange(*bounds, **keywords)
    dtype = given.get("dtype")
    start, stop, step = (as_array(given.get(*z)) for z in (("start", 0), ("stop",), ("step", 1)))
    length = _length(start, stop, step)
    first, second, _ = promote(start, np.add(start, step), stop)
    further = first + np.arange(length, dtype=first.dtype) * np.subtract(second, first)
    # as NumPy: the first two as they are, then on by their difference
    ends = [ops.reshape(z, (1,)) for z in (first, second)]
    numbers = slice_along(concatenate([*ends, further[2:]]), 0, 0, length)
    return numbers if dtype is None else ops.convert(numbers, np.dtype(dtype))


def _known_integer(value: Any) -> Any:
    """Return a traced integer's value, which nothing is differentiated by, others as they are."""
    counts = isinstance(value, Tracer) and value.type.dtype.kind in "iu" and not value.type.shape
    return index_value(value) if counts else value


def _length(*bounds: Any) -> int:
    """Return how many numbers there are from start to stop by steps."""
    with suppress(ConcreteValueError):
        return len(np.arange(*map(concrete_value, bounds)))
    start, stop, step = bounds
    count = exact_integer(np.ceil(np.divide(np.subtract(stop, start), step)))
    what = "the length of fnp.arange(start, stop, step)"
    return max(int(value_for(count, what, "Use fnp.linspace, of which the length is given.")), 0)


def of_known_integers(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that takes traced integers by their values, in tuples, too."""

    @wraps(plain)
    def make(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        found = [
            type(x)(map(_known_integer, x)) if type(x) in (list, tuple) else _known_integer(x)
            for x in given
        ]
        keywords = dict(zip(kwargs, found[len(args) :], strict=True))
        return plain(*found[: len(args)], **keywords)

    make.__module__ = "funcdiff.numpy.namespace"  # where pickle finds it
    make.__qualname__ = f"numpy.{plain.__name__}"
    return make


def fromiter(iter: Iterable[Any], dtype: Any, count: Any = -1, **keywords: Any) -> Any:
    """Return a vector of the numbers, which may be traced, that an iterable gives.

    Parameters
    ----------
    iter
        An iterable of numbers.
    dtype
        Dtype of the result.
    count
        How many numbers to take; -1 for all.
    **keywords
        Those of `numpy.fromiter`.

    Returns
    -------
    array
        A vector; NumPy's own if no number is traced.

    Raises
    ------
    ValueError
        If the iterable gives fewer numbers than `count`.

    Examples
    --------
    >>> import funcdiff.numpy as fnp
    >>> fnp.fromiter((k * k for k in range(4)), int)
    array([0, 1, 4, 9])
    """
    if current_builder() is None:
        return np.fromiter(iter, dtype, count, **keywords)
    items = list(iter if count < 0 else islice(iter, count))
    if len(items) < count:  # which NumPy says
        items = [0 for _ in items]
    return array(items, dtype) if is_traced(items) else np.fromiter(items, dtype, count, **keywords)


# ---- ``fnp.r_[x, 1:3]`` and ``fnp.c_[x, y]``: arrays joined by indexing notation -----------------


class Concatenator:
    """What stands for ``np.r_`` or ``np.c_``; with nothing traced it is NumPy's own."""

    def __init__(self, name: str, plain: Any, join: Any) -> None:
        self._name = name
        self._plain = plain
        self._join = join

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not any(map(_has_traced, items)):
            return self._plain[key]
        if any(isinstance(item, str) for item in items):
            raise refusal_error(
                f"np.{self._name} with a string", "Use fnp.concatenate(arrays, axis) instead."
            )
        parts = [self._part(item) for item in items]
        dtype = common_dtype(parts)
        return self._join([np.atleast_1d(array(part, dtype)) for part in parts])

    def _part(self, item: Any) -> Any:
        if not isinstance(item, slice):
            return array(item) if isinstance(item, list | tuple) else item  # numbers are weak
        if _has_traced(item):
            raise refusal_error(
                f"a traced bound of a slice in np.{self._name}",
                "Use fnp.arange or fnp.linspace instead.",
            )
        return np.r_[item]


def _has_traced(item: Any) -> bool:
    return is_traced([item.start, item.stop, item.step] if isinstance(item, slice) else item)


r_: Final = Concatenator("r_", np.r_, concatenate)
c_: Final = Concatenator("c_", np.c_, np.column_stack)


# ---- Functions of the array API standard that do more than NumPy's functions of that name --------


def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    descending: bool = False,
) -> Any:  # fmt: skip
    """Return ``np.sort``, or with `descending` that with the largest elements first."""
    a = join_traced(a)
    if not descending:
        return np.sort(a, axis, kind, order, stable=stable)
    return np.flip(np.sort(a, axis, kind, order, stable=stable), 0 if axis is None else axis)


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None,
    descending: bool = False,
) -> Any:  # fmt: skip
    """Return ``np.argsort``, or with `descending` the positions of the largest elements first.

    Equal elements stay in their order if it is stable.
    """
    a = join_traced(a)
    if not descending:
        return np.argsort(a, axis, kind, order, stable=stable)
    x = np.ravel(a) if axis is None or np.ndim(a) == 0 else a
    along = 0 if axis is None else axis
    backwards = np.argsort(np.flip(x, along), along, kind, order, stable=stable)
    return np.shape(x)[along] - 1 - np.flip(backwards, along)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return ``np.from_dlpack``, of a traced array, whose memory nobody else can have, itself."""
    make: Any = asarray if is_traced(x) else np.from_dlpack
    return make(x, device=device, copy=copy)


def fftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return ``np.fft.fftfreq``, of a floating dtype."""
    found = np.fft.fftfreq(n, d, device=device)
    return found if dtype is None else found.astype(dtype)


def rfftfreq(n: int, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """Return ``np.fft.rfftfreq``, of a floating dtype."""
    found = np.fft.rfftfreq(n, d, device=device)
    return found if dtype is None else found.astype(dtype)
