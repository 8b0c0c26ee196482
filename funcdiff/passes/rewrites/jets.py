"""Computes first-order jets, value and slope at 0, of functions of a radius.

A value is a number only if it is one in every recording: other numbers of the user's become inputs
or literals, by the way the function is called, and what is known of it must not depend on that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.builder import Builder, bind
from funcdiff.core.evaluate import evaluate
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import NONE, Operation, Primitive
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.numpy.border.promotion import SPECIAL_NUMBERS
from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.elementwise.complex import conj_p, imag_p, join_p, modulus_p, real_p
from funcdiff.ops.linalg.divided_differences import partial
from funcdiff.ops.structure.structural import convert_p, select_p
from funcdiff.space import add_p, mul_p, neg_p, splat


def is_analytic(head: Operation) -> bool:
    """Whether an elementwise operation is no part, conjugate or modulus of complex numbers."""
    real = head.results[0].dtype.kind != "c"
    followed = head.primitive.pointwise and head.primitive not in _OF_PARTS
    return followed and not (real and any(t.dtype.kind == "c" for t in head.operands))


_OF_PARTS: Final = frozenset({real_p, imag_p, conj_p, join_p, modulus_p, select_p})
"""Elementwise operations that are not followed: parts of complex numbers, and choices."""


class Unknown(Enum):
    """A slope without a known number: of one term, or a sum, which may vanish."""

    TERM = "term"
    SUM = "sum"


class Jet(NamedTuple):
    """What is known of a function of a radius at 0: its value, or None, and its slope.

    `length` is how many equations there are on the longest way from the radius.
    """

    value: float | complex | None
    slope: Any
    length: int = 0


def _times(factor: Any, slope: Any) -> Any:
    if factor == 0 or slope == 0:
        return 0.0
    if isinstance(slope, Unknown):
        return slope
    return Unknown.TERM if factor is None else factor * slope


def _total(slopes: Sequence[Any]) -> Any:
    terms = [s for s in slopes if s != 0]
    if len(terms) < 2:
        return terms[0] if terms else 0.0
    return Unknown.SUM if any(isinstance(s, Unknown) for s in terms) else sum(terms)


def _product(x: Any, y: Any) -> Any:
    if x == 0 or y == 0:
        return 0.0
    return None if x is None or y is None else x * y


def _sum(x: Any, y: Any) -> Any:
    return None if x is None or y is None else x + y


def _add(x: Jet, y: Jet) -> Jet:
    return Jet(_sum(x.value, y.value), _total([x.slope, y.slope]))


def _negate(x: Jet) -> Jet:
    return Jet(_product(-1.0, x.value), _times(-1.0, x.slope))


def _multiply(x: Jet, y: Jet) -> Jet:
    slope = _total([_times(y.value, x.slope), _times(x.value, y.slope)])
    return Jet(_product(x.value, y.value), slope)


def _divide(x: Jet, y: Jet) -> Jet | None:
    if y.value == 0:
        return None
    inverse = None if y.value is None else 1 / y.value
    turned = _times(_product(inverse, inverse), _times(-1.0, y.slope))
    return _multiply(x, Jet(inverse, turned))


_ARITHMETIC: Final[dict[Primitive[Any], Callable[..., Jet | None]]] = {
    add_p: _add,
    mul_p: _multiply,
    neg_p: _negate,
    ops.sub.primitive: lambda x, y: _add(x, _negate(y)),
    ops.div.primitive: _divide,
    convert_p: lambda x: x,
}


def jet_of_result(op: Operation, jets: Sequence[Jet], *, kinked: bool) -> Jet | None:
    """Return the jet of the result of an operation; None if it is not smooth there.

    `kinked` tells whether it has a kink where its value is 0.
    """
    rule = _ARITHMETIC.get(op.primitive)
    if rule is not None:
        return rule(*jets)
    if all(jet.value is not None for jet in jets):
        found = _derivatives(op.primitive, op.operands, tuple(jet.value for jet in jets))
        if found is None or (kinked and found[0] == 0):
            return None
        slopes = [_times(d, jet.slope) for d, jet in zip(found[1], jets, strict=True)]
        return Jet(found[0], _total(slopes))
    moving = [jet.slope for jet in jets if jet.slope != 0]
    return Jet(None, Unknown.SUM) if moving else None


@lru_cache(maxsize=4096)
def _derivatives(
    primitive: Primitive[Any], types: tuple[ArrayType, ...], values: tuple[Any, ...]
) -> tuple[Any, list[Any]] | None:
    """Return value and slopes of an operation, if it and two derivatives are known and finite."""
    numbers = [t.with_shape(()) for t in types]
    if not all(t.differentiable for t in numbers):
        return None
    with Builder("radius", SHARED) as builder:
        program = builder.program(bind(primitive, NONE, *map(builder.input, numbers)))
        try:
            first = [partial(program, k) for k in range(len(values))]
            second = [partial(f, k) for k, f in enumerate(first)]
        except NotDifferentiableError:
            return None
    xs = [np.asarray(x, t.dtype)[()] for x, t in zip(values, numbers, strict=True)]
    with np.errstate(all="ignore"):
        found = [evaluate(f, xs)[0] for f in (program, *first, *second)]
    if not all(np.isfinite(x) for x in found):
        return None
    value, *slopes = (x.item() for x in found[: len(xs) + 1])
    return value, slopes


def is_flattened(primitive: Primitive[Any], result: Jet, operands: Sequence[Jet | None]) -> bool:
    """Whether the slope of a result vanishes, or may, while those of operands do not, or may not.

    A multiple of what may be flat is so if that is, by the chain rule: it needs no mark of its own.
    """
    slopes = [x.slope for x in operands if x is not None and x.slope != 0]
    if result.slope == 0 or not slopes:
        return bool(slopes)
    multiple = primitive in _ARITHMETIC and slopes == [Unknown.SUM]
    return result.slope is Unknown.SUM and not multiple


def jet_of_constant(x: Tracer, op: Operation) -> Jet:
    """Return the jet of an operand that is no function of the radius, a number or not."""
    value = number(x)
    lasts = value in SPECIAL_NUMBERS or op.primitive is ops.power.primitive
    return Jet(value if lasts else None, 0.0)


def is_identity(jet: Jet | None) -> bool:
    """Whether a jet is that of the radius itself."""
    return jet is not None and jet.value == 0 and jet.slope == 1


def number(x: Tracer) -> Any:
    """Return the number that fills a literal, else None."""
    value = splat(x)
    return None if value is None else value.item()
