"""Ufuncs that are more than one elementwise operation, or differ for complex operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.numpy.memory import views
from funcdiff.numpy.ufuncs.calls import apply, elementwise, resolve, resolve_or_explain
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.complex import conj, imaginary_part, join, modulus, real_part
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
