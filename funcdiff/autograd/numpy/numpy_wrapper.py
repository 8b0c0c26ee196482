"""``autograd.numpy.numpy_wrapper``: NumPy's functions that take more in autograd.

Joining functions take iterators of arrays, `where` takes its operands by keyword.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import numpy as np

import funcdiff.numpy
from funcdiff.autograd.box_classes import getval, isbox
from funcdiff.autograd.extend import notrace_primitive, primitive
from funcdiff.autograd.names import attributes

numpy_version = np.__version__

fnp: Any = funcdiff.numpy

_NOTHING: Any = object()


def _of_iterables(join: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that joins the arrays of any iterable."""

    @functools.wraps(join)
    def wrapper(arrays: Any, *args: Any, **kwargs: Any) -> Any:
        has_axes = isinstance(arrays, list | tuple) or hasattr(arrays, "ndim")
        return join(arrays if has_axes else list(arrays), *args, **kwargs)

    return wrapper


concatenate, stack = map(_of_iterables, (fnp.concatenate, fnp.stack))
hstack, vstack, dstack = map(_of_iterables, (fnp.hstack, fnp.vstack, fnp.dstack))
column_stack = _of_iterables(fnp.column_stack)
row_stack = vstack


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """Return an array with others behind it."""
    return funcdiff.numpy.append(funcdiff.numpy.array(arr), funcdiff.numpy.array(values), axis)


def where(condition: Any, x: Any = _NOTHING, y: Any = _NOTHING) -> Any:
    """Return the elements of `x` where a condition holds, of `y` elsewhere.

    Of Python's own numbers and lists alone, the result is one of these.
    """
    if x is _NOTHING and y is _NOTHING:
        return funcdiff.numpy.where(condition)
    if x is _NOTHING or y is _NOTHING:
        raise ValueError("either both or neither of x and y should be given")
    found = funcdiff.numpy.where(condition, x, y)
    return found if any(map(_has_arrays, (condition, x, y))) else found.tolist()


def _has_arrays(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_has_arrays, x))
    return isbox(x) or isinstance(x, np.ndarray | np.generic)


class _OfIntegers(type):
    """The class of dtypes of integers that can be called with traced values."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.__base__(*map(getval, args), **kwargs)  # type: ignore[misc]  # it has one

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.__base__)  # type: ignore[arg-type]

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.__base__)  # type: ignore[arg-type]


def _integer(kind: type) -> Any:
    """Return a dtype that takes traced values, too: integers have no derivative to lose."""
    return _OfIntegers(kind.__name__, (kind,), {"__module__": __name__})


int8, int16, int32, int64 = map(_integer, (np.int8, np.int16, np.int32, np.int64))


def concatenate_args(axis: int, *arrays: Any) -> Any:
    """Return arrays joined along an axis."""
    return concatenate(arrays, axis)


def array_from_args(args: Sequence[Any], kwargs: dict[str, Any], *elements: Any) -> Any:
    """Return the array of some elements, with the further arguments of ``np.array``."""
    return funcdiff.numpy.array(list(elements), *args, **kwargs)


def _astype(A: Any, dtype: Any, *options: Any, **named: Any) -> Any:
    return A.astype(dtype, *options, **named)


def metadata(A: Any) -> tuple[tuple[int, ...], int, Any, bool]:
    """Return shape, number of axes, dtype, and whether it is complex."""
    return np.shape(A), np.ndim(A), np.result_type(A), np.iscomplexobj(A)


def make_diagonal(D: Any, offset: int = 0, axis1: int = -1, axis2: int = -2) -> Any:
    """Return matrices whose diagonals are the last axis of an array; other options are refused."""
    if (offset, axis1, axis2) != (0, -1, -2):
        raise NotImplementedError("make_diagonal needs offset=0, axis1=-1 and axis2=-2")
    return np.where(np.eye(np.shape(D)[-1], dtype=bool), np.expand_dims(D, -1), 0)


def wrap_namespace(old: dict[str, Any], new: MutableMapping[str, Any]) -> None:
    """Put the functions of a namespace into another, as primitives where they are not NumPy's."""
    wrapped: dict[int, Any] = {}
    for name, obj in old.items():
        if isinstance(obj, type):
            if issubclass(obj, np.integer):
                new[name] = notrace_primitive(obj)
            elif obj in (float, int, type):
                new[name] = obj
        elif callable(obj):
            known = obj is getattr(np, name, None) and hasattr(funcdiff.numpy, name)
            made = getattr(funcdiff.numpy, name) if known else None
            new[name] = wrapped.setdefault(id(obj), made or primitive(obj))
        elif isinstance(obj, float | int) or obj is None:
            new[name] = obj


__getattr__, __dir__ = attributes(
    __name__,
    funcdiff.numpy,
    absent={
        "parse_einsum_input": "Write np.einsum.",
        "wrap_if_boxes_inside": "Arrays of objects hold no traced values: write np.array(list).",
        "wrap_intdtype notrace_functions": "Use notrace_primitive.",
    },
)
