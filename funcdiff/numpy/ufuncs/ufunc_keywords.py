"""Calls of ufuncs with keywords: NumPy itself says in which dtypes it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcdiff.core.builder import constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.numpy.border.dispatch import unsupported
from funcdiff.numpy.border.promotion import array, broadcast_shapes, dtype_of, fit, shape_of
from funcdiff.numpy.memory import mutation
from funcdiff.numpy.messages.foreign import qualified_name
from funcdiff.numpy.messages.mistakes import MADE_INSIDE
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.numpy.ufuncs.calls import apply
from funcdiff.ops.structure.structural import convert, reshape, select

CORE = ("axes", "axis", "keepdims")
"""Keywords of ufuncs of vectors and matrices."""


def call(ufunc: np.ufunc, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Return ``ufunc(*inputs, **keywords)``, where an argument or ``out=`` is traced."""
    inputs, outs = _split(ufunc, inputs, keywords.pop("out", None))
    where = keywords.pop("where", True)
    core = {k: keywords.pop(k) for k in CORE if k in keywords}
    for about_memory in ("order", "subok"):
        keywords.pop(about_memory, None)
    if keywords or any(out is not None for out in outs):
        inputs = _convert(ufunc, inputs, outs, keywords)
    if where is not True:
        inputs = tuple(_harmless(ufunc, x, where) for x in inputs)
    result = _along(ufunc, inputs, **core) if core else apply(ufunc, *inputs)
    results = result if isinstance(result, tuple) else (result,)
    stored = [_store(ufunc, y, out, where) for y, out in zip(results, outs, strict=True)]
    return tuple(stored) if isinstance(result, tuple) else stored[0]


def _split(
    ufunc: np.ufunc, given: tuple[Any, ...], out: Any
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the inputs and the arrays for the outputs, which may be given by position."""
    inputs, positional = given[: ufunc.nin], given[ufunc.nin :]
    if out is Ellipsis:  # NumPy's way to ask for an array, which a traced number is anyway
        out = None
    outs = positional if out is None else (out if isinstance(out, tuple) else (out,))
    return inputs, (*outs, *(None,) * (ufunc.nout - len(outs)))


def _convert(
    ufunc: np.ufunc, inputs: tuple[Any, ...], outs: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Any, ...]:
    """Convert the inputs to the dtypes of the loop that NumPy finds; it raises if there is none."""
    rules = {k: keywords.pop(k) for k in ("signature", "casting") if k in keywords}
    if "sig" in keywords:
        rules["signature"] = keywords.pop("sig")
    dtype = keywords.pop("dtype", None)
    if keywords:
        raise TypeError(
            f"{ufunc.__name__}() got an unexpected keyword argument {next(iter(keywords))!r}"
        )
    if dtype is not None:
        rules["signature"] = (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
    dtypes = tuple(map(dtype_of, inputs))
    if all(isinstance(d, type) for d in dtypes):
        dtypes = tuple(np.dtype(d) for d in dtypes)
    stores = tuple(None if out is None else np.dtype(out.dtype) for out in outs)
    found = ufunc.resolve_dtypes((*dtypes, *stores), **rules)
    return tuple(
        fit(x, ArrayType(shape_of(x), d)) for x, d in zip(inputs, found[: ufunc.nin], strict=True)
    )


def _harmless(ufunc: np.ufunc, operand: Any, where: Any) -> Any:
    """Replace the elements that a mask leaves out by 1, or another where 1 is singular."""
    x = array(operand)
    shape = broadcast_shapes(x.shape, shape_of(where))
    x = fit(x, x.type.with_shape(shape))
    mask = fit(where, ArrayType(shape, BOOL))
    return select(mask, x, constant(0 if ufunc is np.arctanh else 1, x.type))


def _store(ufunc: np.ufunc, result: Tracer, out: Any, where: Any) -> Any:
    """Write a result into `out`, a traced array, where the mask is true."""
    if out is None and where is True:
        return result
    if not isinstance(out, Tracer):
        if out is None:
            raise unsupported(
                f"{qualified_name(ufunc)}(where=) without out=",
                "Use np.where(mask, f(x), y) for where=.",
            )
        raise unsupported(
            f"{qualified_name(ufunc)}(out=) with an ordinary array",
            "Use the function's result instead of out= (y = y + x, not y += x), or make the array "
            f"one that can hold it, {MADE_INSIDE}.",
        )
    value = fit(convert(result, out.dtype), out.type)
    if where is not True:
        value = select(fit(where, ArrayType(out.shape, BOOL)), value, out)
    mutation.assign(out, value)
    return out


# ---- axes of vectors and matrices ----------------------------------------------------------------


def _along(
    ufunc: np.ufunc,
    inputs: tuple[Any, ...],
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Any:
    """Call a ufunc of vectors or matrices that lie along other axes than the last ones."""
    if ufunc.signature is None:
        raise TypeError(f"{ufunc.__name__}() takes neither axes= nor axis=")
    xs = [array(x) for x in inputs]
    counts, result = _core_counts(ufunc, xs)
    if axis is not None:
        axes = [axis] * (len(xs) + bool(keepdims))
        if counts != [1, 1] or result:
            raise TypeError(
                f"{ufunc.__name__}: axis can only be used with a single shared core dimension"
            )
    kept = counts[-1] if keepdims and not result else result
    places = [tuple(range(-n, 0)) for n in (*counts, kept)]
    if axes is not None:
        given = [p if isinstance(p, tuple) else (p,) for p in axes]
        places[: len(given)] = given
        if len(given) < len(xs) + bool(result) or list(map(len, places)) != [*counts, kept]:
            raise ValueError(
                f"{ufunc.__name__}: axes= must list the axes of every operand and of the result, "
                f"not {axes!r}"
            )
    moved = [_move(x, place) for x, place in zip(xs, places, strict=False)]
    y = apply(ufunc, *moved)
    if keepdims:
        if result:
            raise TypeError(f"{ufunc.__name__} does not support keepdims")
        place = normalize_axis(places[-1][0], y.ndim + 1)
        return reshape(y, (*y.shape[:place], 1, *y.shape[place:]))
    return np.moveaxis(y, tuple(range(-result, 0)), places[-1]) if result else y


def _move(x: Any, place: tuple[int, ...]) -> Any:
    return np.moveaxis(x, place, tuple(range(-len(place), 0)))


def _core_counts(ufunc: np.ufunc, xs: Sequence[Tracer]) -> tuple[list[int], int]:
    """Return how many axes each operand and the result have as a vector or matrix."""
    *operands, result = (part.count(",") + 1 for part in _cores(ufunc))
    if ufunc is np.matmul:
        operands = [min(2, x.ndim) for x in xs]
        return operands, sum(operands) - 2
    return operands, result if _cores(ufunc)[-1] else 0


def _cores(ufunc: np.ufunc) -> list[str]:
    """Return the letters of a signature such as ``(n),(n,m)->(m)``."""
    assert ufunc.signature is not None
    return [part.split("(")[1] for part in ufunc.signature.split(")") if "(" in part]
