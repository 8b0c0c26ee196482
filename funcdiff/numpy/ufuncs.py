"""Ufuncs on traced arrays: promotion and broadcasting by NumPy's rules, then a strict operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Tracer, constant
from funcdiff.core.primitive import NONE, operation
from funcdiff.core.types import ArrayType
from funcdiff.errors import user_location
from funcdiff.numpy import mutation
from funcdiff.numpy.dispatch import call, ufuncs, unsupported
from funcdiff.numpy.promotion import (
    WEAK,
    Traced,
    array,
    broadcast_shapes,
    dtype_of,
    fit,
    innermost,
    remember,
    shape_of,
)
from funcdiff.ops.families import Elementwise, by_ufunc
from funcdiff.ops.structural import convert, select
from funcdiff.space import splat


def apply(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return ``ufunc(*operands)`` where at least one operand is traced."""
    innermost(*operands)
    ours = ufuncs.get(ufunc)
    if ours is not None:
        return ours(*operands)
    found = by_ufunc.get(ufunc)
    if found is None:
        raise unsupported(f"np.{ufunc.__name__}")
    return elementwise(found, ufunc, operands)


def elementwise(op: Elementwise, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Tracer:
    """Promote, broadcast and record one elementwise operation."""
    dtypes = resolve(ufunc, tuple(map(dtype_of, operands)))
    shape = broadcast_shapes(*map(shape_of, operands))
    xs = [fit(x, ArrayType(shape, d)) for x, d in zip(operands, dtypes, strict=True)]
    y = op(*xs)
    _remember(op, ufunc, operands, xs)
    return y


@lru_cache(maxsize=4096)
def resolve(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes to which NumPy casts the operands; Python number types are weak."""
    if all(d in WEAK for d in dtypes):
        dtypes = tuple(np.dtype(d) for d in dtypes)
    found: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout))
    return found[: ufunc.nin]


def _remember(op: Elementwise, ufunc: np.ufunc, given: tuple[Any, ...], xs: list[Tracer]) -> None:
    """Let the next such call be recorded directly, if nothing was converted or broadcast.

    The key is the ufunc with the operands' types, or, for a Python number, with the type of the
    array, that of the number, and whether the number is on the right.
    """
    kinds = [type(x) for x in given]
    if any(
        x is not y and kind not in (int, float) for x, y, kind in zip(given, xs, kinds, strict=True)
    ):
        return
    if innermost().shares:  # recording directly would not find an equal equation again
        return
    found = operation(op.primitive, NONE, tuple(x.type for x in xs))
    if all(x is y for x, y in zip(given, xs, strict=True)):
        remember((ufunc, *found.operands), found)
    elif len(xs) == 2:
        right = given[0] is xs[0]
        remember((ufunc, xs[0].type, kinds[1 if right else 0], right), found)


def power_operator(x: Tracer, exponent: Any) -> Any:
    """Return ``x ** exponent``, by the shortcuts that ``ndarray.__pow__`` takes.

    A constant exponent stays a literal, so that the derivative of ``x**3`` is ``3*x**2``.
    """
    number = splat(exponent) if isinstance(exponent, Tracer) else exponent
    if type(number) not in (int, float) and not isinstance(number, np.generic):
        return apply(np.power, x, exponent)
    if isinstance(number, np.generic):  # not weak, like Python's numbers
        x = convert(x, _power_dtype(x.dtype, x.ndim == 0, number))
    if x.type.differentiable or number == 2:
        if number in (0, 1):
            return constant(1, x.type) if number == 0 else mutation.fresh(x)
        if number in _POWERS:
            return apply(_POWERS[number], x)
    if x.type.differentiable and not isinstance(number, np.generic):
        return by_ufunc[np.power](x, constant(number, x.type))
    return apply(np.power, x, exponent)


def _power_dtype(dtype: np.dtype[Any], is_scalar: bool, number: Any) -> np.dtype[Any]:
    """Return the dtype that this NumPy gives to a power with a NumPy scalar as exponent."""
    base: Any = dtype.type(1) if is_scalar else np.ones(1, dtype)
    result: np.dtype[Any] = np.asarray(base**number).dtype
    return result


_POWERS: Final[dict[Any, np.ufunc]] = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


# ---- methods and keywords ------------------------------------------------------------------------

_REDUCTIONS: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.fmax: np.nanmax,
    np.fmin: np.nanmin,
    np.logical_and: np.all,
    np.logical_or: np.any,
}
_SCANS: Final[dict[np.ufunc, Callable[..., Any]]] = {np.add: np.cumsum, np.multiply: np.cumprod}


def call_method(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Return what ``ufunc.method(*inputs, **kwargs)`` is for traced arrays."""
    kwargs = dict(kwargs)
    if method == "__call__":
        return _call(ufunc, inputs, kwargs)
    if method == "reduce" and ufunc in _REDUCTIONS:
        x, *rest = inputs
        kwargs.update(
            zip(("axis", "dtype", "out", "keepdims", "initial", "where"), rest, strict=False)
        )
        kwargs.setdefault("axis", 0)
        return call(_REDUCTIONS[ufunc], (x,), _given(kwargs))
    if method == "accumulate" and ufunc in _SCANS:
        x, *rest = inputs
        kwargs.update(zip(("axis", "dtype", "out"), rest, strict=False))
        kwargs.setdefault("axis", 0)
        return call(_SCANS[ufunc], (x,), _given(kwargs))
    if method == "outer":
        x, y = inputs
        widened = np.reshape(x, (*np.shape(x), *(1,) * np.ndim(y)))
        return _call(ufunc, (widened, y), kwargs)
    if method == "at":
        return _at(ufunc, *inputs)
    raise unsupported(f"np.{ufunc.__name__}.{method}")


def _given(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Drop what is None but for the axis, and take ``out=(y,)``, as NumPy has it, for ``out=y``."""
    out = kwargs.get("out")
    kwargs = {**kwargs, "out": out[0]} if isinstance(out, tuple) else kwargs
    return {k: value for k, value in kwargs.items() if value is not None or k == "axis"}


def _at(ufunc: np.ufunc, target: Any, index: Any, *values: Any) -> None:
    if not isinstance(target, Tracer):
        raise unsupported(
            f"np.{ufunc.__name__}.at of an ordinary array with traced values",
            "Make the array with np.zeros_like(x) of a traced x, or with funcdiff.numpy.",
        )
    mutation.at(target, ufunc, index, *values)


def _call(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    out = kwargs.pop("out", None)
    where = kwargs.pop("where", True)
    dtype = kwargs.pop("dtype", None)
    casting = kwargs.pop("casting", "same_kind")
    for about_memory in ("order", "subok"):
        kwargs.pop(about_memory, None)
    if kwargs or casting != "same_kind":
        raise unsupported(f"np.{ufunc.__name__}({next(iter(kwargs), 'casting')}=)")
    if dtype is not None:
        inputs = tuple(_cast(ufunc, x, np.dtype(dtype)) for x in inputs)
    result = apply(ufunc, *inputs)
    if out is None and where is True:
        return result
    if isinstance(result, tuple):
        raise unsupported(f"np.{ufunc.__name__}(out=, where=)", "Leave out= and where= out.")
    return _store(ufunc, result, out[0] if isinstance(out, tuple) else out, where)


def _cast(ufunc: np.ufunc, operand: Any, dtype: np.dtype[Any]) -> Traced:
    """Convert an operand to the dtype in which a ufunc is asked to compute."""
    x = array(operand)
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc {ufunc.__name__!r} input from {x.dtype!r} to {dtype!r} with "
            f"casting rule 'same_kind', at {user_location()}"
        )
    return convert(x, dtype)


def _store(ufunc: np.ufunc, result: Tracer, out: Any, where: Any) -> Any:
    """Write a result into `out`, a traced array, where the mask is true."""
    if not isinstance(out, Tracer):
        what = "(out=) with an ordinary array" if out is not None else "(where=) without out="
        raise unsupported(
            f"np.{ufunc.__name__}{what}",
            "Use the function's result instead of out=, and np.where(mask, f(x), y) for where=.",
        )
    mutation.check_castable(np.positive, out, result)
    value = fit(result, out.type)
    if where is not True:
        value = select(fit(where, ArrayType(out.shape, np.dtype(bool))), value, out)
    mutation.assign(out, value)
    return out
