"""Ufuncs and functions of numbers that are more than one elementwise operation."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.numpy.border.dispatch import default, implements
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.memory.mutation import store
from funcdiff.numpy.ufuncs.ufunc_calls import apply, elementwise, resolve, resolve_or_explain
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.complex import conj, imaginary_part, join, modulus, real_part
from funcdiff.ops.elementwise.mathematics import bessel_i0, normalized_sinc
from funcdiff.ops.structure.structural import convert


@implements(np.positive)
def positive(x: Tracer) -> Tracer:
    """Return +x, a copy."""
    resolve_or_explain(np.positive, (x.dtype,))  # NumPy has none for booleans
    return views.fresh_like(x)


@implements(np.conjugate)
def conjugate(z: Tracer) -> Tracer:
    """Return the complex conjugate; of booleans, the same as small integers."""
    (dtype,) = resolve_or_explain(np.conjugate, (z.dtype,))
    return views.fresh_like(conj(convert(z, dtype)))


@implements(np.absolute)
def absolute(z: Tracer) -> Traced:
    """Return the absolute value, of a complex number its modulus."""
    if z.dtype.kind == "c":
        return modulus(z)
    return elementwise(ops.absolute, np.absolute, (z,))


@implements(np.sign)
def sign(z: Traced) -> Traced:
    """Return the sign; of a complex number z/|z|, and 0 at 0."""
    if z.dtype.kind != "c":
        return elementwise(ops.sign, np.sign, (z,))
    parts: tuple[Any, Any] = real_part(z), imaginary_part(z)
    radius: Any = apply(np.hypot, *parts)  # the absolute value, to the bits that np.sign has
    infinite: Any = np.isinf(radius)
    either = (radius == 0) | infinite
    nowhere = infinite & apply(np.isinf, parts[0]) & apply(np.isinf, parts[1])
    safe = np.where(nowhere, np.nan, np.where(either, 1, radius))
    # of an infinite number in the direction of an axis the sign is that direction
    x, y = (np.where(either, _unit(part), part) for part in parts)
    return join(array(x / safe), array(y / safe))


def _unit(part: Tracer) -> Any:
    """Return 1 or -1 for an infinite number, else 0."""
    return np.where(apply(np.isinf, part), apply(np.sign, part), 0)


@implements(np.divmod)
def divmod_(x: Any, y: Any) -> tuple[Tracer, Tracer]:
    """Return floor quotient and remainder."""
    return apply(np.floor_divide, x, y), apply(np.remainder, x, y)


@implements(np.modf)
def modf(x: Tracer) -> tuple[Tracer, Tracer]:
    """Return fractional and integral parts."""
    (dtype,) = resolve(np.modf, (x.dtype,))
    x = convert(x, dtype)
    return ops.modf_fraction(x), ops.modf_integer(x)


@implements(np.frexp)
def frexp(x: Tracer) -> tuple[Tracer, Tracer]:
    """Return mantissa and exponent."""
    (dtype,) = resolve(np.frexp, (x.dtype,))
    x = convert(x, dtype)
    return ops.frexp_mantissa(x), ops.frexp_exponent(x)


@implements(np.real)
def real(val: Any) -> Traced:
    """Return the real part."""
    return val.real if val.weak else views.view(val, real_part(val), np.real)


@implements(np.imag)
def imag(val: Any) -> Traced:
    """Return the imaginary part."""
    return val.imag if val.weak else views.view(val, imaginary_part(val), np.imag)


# ---- rounding --------------------------------------------------------------------------------


# ---- Rounding, limiting, repairing and testing values, and functions built from pieces -----------


@implements(np.round, np.around)
def round_(a: Any, decimals: int = 0, out: Any = None) -> Traced:
    """Round to the given number of decimals; halves go to the even neighbour."""
    return store("np.round", _round(array(a), int(decimals)), out)


def _round(x: Any, decimals: int) -> Traced:
    if x.dtype.kind == "c":
        return join(_round(real_part(x), decimals), _round(imaginary_part(x), decimals))
    if decimals == 0:
        return x if x.dtype.kind in "iu" else array(np.rint(x))
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        rounded = np.rint(x / scale) * scale
        return convert(array(rounded), x.dtype) if x.dtype.kind in "iu" else array(rounded)
    return x if x.dtype.kind in "iu" else array(np.rint(x * scale) / scale)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Traced:
    """Round towards zero."""
    return store("np.fix", array(np.trunc(x)), out)


# ---- limits ----------------------------------------------------------------------------------


@implements(np.clip, operands=3)
def clip(
    a: Any,
    a_min: Any = default,
    a_max: Any = default,
    out: Any = None,
    *,
    min: Any = default,
    max: Any = default,
    **keywords: Any,
) -> Traced:
    """Limit values to an interval: ``minimum(maximum(a, min), max)``, on a bound by halves."""
    if a_min is default and a_max is default:
        low, high = (None if bound is default else bound for bound in (min, max))
    elif a_min is default or a_max is default:
        missing = "a_min" if a_min is default else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: {missing!r}")
    elif min is not default or max is not default:
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is "
            "forbidden."
        )
    else:
        low, high = a_min, a_max
    x: Any = array(a)
    if x.dtype.kind in "iu":  # Python integers beyond the dtype are no limits
        limits = np.iinfo(x.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    (written,) = out if isinstance(out, tuple) else (out,)
    if not (written is None or isinstance(written, Tracer)):
        return mutation.store("np.clip", x, written)  # which refuses an ordinary array
    if out is not None or keywords:
        return _clip(x, low, high, {"out": out, **keywords})
    if low is None and high is None:
        return np.positive(x)
    if low is None or high is None or not _keeps_zeros(x, low, high):
        x = x if low is None else np.maximum(x, low)
        return x if high is None else np.minimum(x, high)
    return np.minimum(high, np.maximum(low, x))


@implements(import_module("numpy._core.umath").clip)
def clip_between(x: Any, low: Any, high: Any) -> Traced:
    """Limit values: the ufunc of ``x.clip(low, high)`` of an ordinary array with traced bounds."""
    return clip(x, low, high)


def _keeps_zeros(x: Traced, *bounds: Any) -> bool:
    """Whether NumPy returns a zero itself, not the bound that is the other zero: see its clip.cpp.

    Of equal operands, `numpy.maximum` returns the second.
    """
    return x.dtype.char in "fd" and not any(map(np.ndim, bounds))


def _clip(x: Any, low: Any, high: Any, keywords: dict[str, Any]) -> Traced:
    """Limit values by ufuncs with keywords; the last one takes where= and out=."""
    if low is not None and high is not None:
        kept = ("dtype", "casting", "signature")
        x = np.maximum(x, low, **{k: v for k, v in keywords.items() if k in kept})
        return np.minimum(x, high, **keywords)
    if low is not None:
        return np.maximum(x, low, **keywords)
    return np.positive(x, **keywords) if high is None else np.minimum(x, high, **keywords)


# ---- tests on values ---------------------------------------------------------------------------


@implements(np.allclose)
def allclose(
    a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Traced:
    """Return whether all elements are close."""
    return array(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether two arrays have the same shape and elements."""
    x, y = array(a1), array(a2)
    if x.shape != y.shape:
        return False
    same = np.equal(x, y)
    if equal_nan:
        same = np.logical_or(same, np.logical_and(np.isnan(x), np.isnan(y)))
    return np.all(same)


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """Return whether two arrays have equal elements once broadcast together."""
    x, y = array(a1), array(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return np.all(np.equal(x, y))


# ---- sinc, i0 and unwrap -------------------------------------------------------------------------


@implements(np.sinc)
def sinc(x: Any) -> Traced:
    """Return sin(πx)/(πx), and 1 at 0."""
    z = array(x)
    return normalized_sinc(z if z.dtype.kind in "fc" else convert(z, FLOAT))


@implements(np.i0)
def i0(x: Any) -> Traced:
    """Return the modified Bessel function of the first kind of order 0."""
    z = array(x)
    if z.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    return bessel_i0(z if z.dtype.kind == "f" else convert(z, FLOAT))
