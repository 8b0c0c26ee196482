"""Complex numbers: parts and conjugation, linear over the reals.

Transposes pair without conjugation: ``<ct, t> = Re(ct·t)``.  So the transpose of `real` puts the
cotangent on the real axis, and that of `imag` multiplies it by -i.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.access import pointwise
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import NONE, Params, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType, complex_dtype, real_dtype
from funcdiff.ops.elementwise.logic import equal
from funcdiff.ops.elementwise.mathematics import reciprocal
from funcdiff.ops.families import linear, symmetric, unary
from funcdiff.ops.structure.structural import convert, select
from funcdiff.space import mul, neg, splat, zeros


def _abstract_part(_p: Params, z: ArrayType) -> Types:
    if z.dtype.kind != "c":
        raise TypeError(f"real and imag need a complex operand, got {z}")
    return (z.with_dtype(real_dtype(z.dtype)),)


real_p: Final = linear(
    "real",
    Params,
    abstract=_abstract_part,
    impl=Implementation(lambda _p: np.real, view=True),
    transpose=lambda _p, types, cts, _zs: [convert(cts[0], types[0].dtype)],
    access=pointwise,
)


def real(z: Tracer) -> Tracer:
    """Return the real part of a complex array."""
    if splat(z) is not None:
        return constant(splat(z).real, z.type.with_dtype(real_dtype(z.dtype)))
    return bind(real_p, NONE, z)[0]


imag_p: Final = linear(
    "imag",
    Params,
    abstract=_abstract_part,
    impl=Implementation(lambda _p: np.imag, view=True),
    transpose=lambda _p, types, cts, _zs: [
        mul(convert(cts[0], types[0].dtype), constant(-1j, types[0]))
    ],
    access=pointwise,
)


def imag(z: Tracer) -> Tracer:
    """Return the imaginary part of a complex array."""
    return bind(imag_p, NONE, z)[0]


conj_p: Final = symmetric(
    "conj", Params, impl=lambda _p: np.conjugate, operands=slice(None), access=pointwise
)


def conj(z: Tracer) -> Tracer:
    """Return the complex conjugate; a real array is its own."""
    return z if z.dtype.kind != "c" else bind(conj_p, NONE, z)[0]


def _abstract_join(_p: Params, x: ArrayType, y: ArrayType) -> Types:
    if x is not y or x.dtype.kind != "f":
        raise TypeError(f"a complex number has two real parts of one type, got {x}, {y}")
    return (x.with_dtype(complex_dtype(x.dtype)),)


def _join(x: Any, y: Any) -> Any:
    z = np.empty(np.shape(x), complex_dtype(x.dtype))
    z.real, z.imag = x, y
    return z[()]


def _transpose_join(_p: Params, _types: Types, cts: Any, xs: Any) -> list[Tracer | None]:
    (ct,), (x, y) = cts, xs
    return [real(ct) if x is None else None, neg(imag(ct)) if y is None else None]


join_p: Final = linear(
    "join",
    Params,
    abstract=_abstract_join,
    impl=Implementation(lambda _p: _join, fresh=True),
    transpose=_transpose_join,
    access=pointwise,
)


def join(x: Tracer, y: Tracer) -> Tracer:
    """Return x + iy for real `x` and `y`."""
    return bind(join_p, NONE, x, y)[0]


def _modulus_tangent(_p: Params, z: Tracer, y: Tracer, t: Tracer) -> Tracer:
    """Use d|z| = Re(dz · conj(z)) / |z|, and 0 at 0."""
    zero = equal(y, zeros(y.type))
    towards = mul(conj(z), convert(reciprocal(select(zero, constant(1, y.type), y)), z.dtype))
    direction = select(zero, zeros(z.type), towards)
    return real(mul(t, direction))


modulus_p: Final = unary(
    "modulus",
    Params,
    abstract=_abstract_part,
    impl=lambda _p: np.absolute,
    tangent=_modulus_tangent,
    access=pointwise,
)


def modulus(z: Tracer) -> Tracer:
    """Return |z| of a complex array."""
    return bind(modulus_p, NONE, z)[0]


def real_part(z: Tracer) -> Tracer:
    """Return the real part of a complex array, a real array unchanged."""
    return real(z) if z.dtype.kind == "c" else z


def imaginary_part(z: Tracer) -> Tracer:
    """Return the imaginary part of a complex array, zero for a real one."""
    return imag(z) if z.dtype.kind == "c" else zeros(z.type)
