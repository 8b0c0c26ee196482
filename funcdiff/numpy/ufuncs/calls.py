"""Ufuncs on traced arrays: promotion and broadcasting by NumPy's rules, then a strict operation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from math import inf
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.builder import Builder, constant, current_builder
from funcdiff.core.primitive import NONE, operation
from funcdiff.core.quiet import error_state
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import by_types, ufuncs, unsupported
from funcdiff.numpy.border.promotion import (
    broadcast_shapes,
    dtype_of,
    fit,
    innermost,
    remember,
    shape_of,
)
from funcdiff.numpy.border.recipes import Call
from funcdiff.numpy.creation.construction import array
from funcdiff.numpy.memory import views
from funcdiff.numpy.messages.foreign import cure_of_ufunc, operation_of, qualified_name
from funcdiff.numpy.messages.wrong_calls import explain
from funcdiff.numpy.ufuncs.comparisons import OPERATORS, answer, is_comparable
from funcdiff.ops.families import Elementwise, by_ufunc
from funcdiff.ops.structure.structural import convert
from funcdiff.space import splat


def apply(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return ``ufunc(*operands)`` where at least one operand is traced."""
    innermost(*operands)
    this = Call(ufunc, operands, {}, operands=inf, numbers=True)
    recipe = this.known()
    if recipe is not None:
        try:
            return this.record(recipe)
        except OverflowError:  # an integer out of the range of the dtype
            this.key = None
    if ufunc in OPERATORS and not all(map(is_comparable, operands)):
        asked = ufunc if isinstance(operands[0], Tracer) else OPERATORS[ufunc]  # by an array's own
        return answer(asked, *operands, name=qualified_name(ufunc))
    operands = tuple([array(x) if isinstance(x, list | tuple) else x for x in operands])
    found = ufuncs.get(ufunc) or by_ufunc.get(ufunc) or operation_of(ufunc)
    if found is None:
        made = ufunc.__name__.endswith(" (vectorized)")  # as np.frompyfunc calls its own
        name = "np.frompyfunc" if made else qualified_name(ufunc)
        raise unsupported(name, cure_of_ufunc(ufunc))
    try:
        if isinstance(found, Elementwise):
            result = elementwise(found, ufunc, operands)
        else:
            result = found(*operands)
    except Exception as error:
        explain(error, qualified_name(ufunc), operands)
        raise
    if isinstance(found, Elementwise) or ufunc in by_types:
        this.remember(result)
    return result


def operate(ufunc: np.ufunc, x: Tracer, other: Any) -> Any:
    """Return what an operator of two operands gives: ``x == None`` is none of a ufunc's calls."""
    if ufunc in OPERATORS and not is_comparable(other):
        return answer(OPERATORS[ufunc], x, other, name=OPERATORS[ufunc].__name__)
    return apply(ufunc, x, other)


def elementwise(op: Elementwise, ufunc: np.ufunc, operands: tuple[Any, ...]) -> Tracer:
    """Promote, broadcast and record one elementwise operation."""
    dtypes = resolve_or_explain(ufunc, tuple(map(dtype_of, operands)))
    shape = broadcast_shapes(*map(shape_of, operands))
    if any(type(x) is int and _is_beyond(x, d) for x, d in zip(operands, dtypes, strict=True)):
        return _beyond(ufunc, operands, dtypes, shape)
    xs = [fit(x, ArrayType(shape, d)) for x, d in zip(operands, dtypes, strict=True)]
    y = op(*xs)
    if y.builder is None and len(shape) > 1 and innermost().layouts:
        views.note_layout_of_ufunc(y, operands)
    _remember(op, ufunc, operands, xs)
    return y


def _is_beyond(number: int, dtype: np.dtype[Any]) -> bool:
    """Whether a Python integer is out of the range of an integer dtype."""
    return dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max


def _beyond(
    ufunc: np.ufunc, operands: tuple[Any, ...], dtypes: Sequence[np.dtype[Any]], shape: Any
) -> Tracer:
    """Compare with an integer out of range: the answer, NumPy's own, is one for all elements.

    Other ufuncs raise NumPy's OverflowError.
    """
    models = [x if type(x) is int else d.type(0) for x, d in zip(operands, dtypes, strict=True)]
    answer = ufunc(*models)
    return constant(answer, ArrayType(shape, answer.dtype))


def resolve_or_explain(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return what `resolve` does; its error says where, and what to write instead."""
    try:
        return resolve(ufunc, dtypes)
    except TypeError:
        given = " and ".join(np.dtype(d).name for d in dtypes)
        other = _OF_TRUTH.get(ufunc)
        cure = "Convert the operands with .astype."
        if other is not None:
            cure = (
                f"Compare first, as in (x > 0) & (x < 1), or use np.{other.__name__}, which takes "
                "any numbers."
            )
        raise TypeError(
            f"{qualified_name(ufunc)} does not take {given}, at {user_location()}. {cure}"
        ) from None


_OF_TRUTH: Final[dict[np.ufunc, np.ufunc]] = {
    np.bitwise_and: np.logical_and,
    np.bitwise_or: np.logical_or,
    np.bitwise_xor: np.logical_xor,
    np.invert: np.logical_not,
}
"""What the operators ``& | ^ ~`` are for booleans."""


@lru_cache(maxsize=4096)
def resolve(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Return the dtypes to which NumPy casts the operands; Python number types are weak."""
    if all(isinstance(d, type) for d in dtypes):
        dtypes = tuple(np.dtype(d) for d in dtypes)
    found: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes((*dtypes, *(None,) * ufunc.nout))
    return found[: ufunc.nin]


def _remember(op: Elementwise, ufunc: np.ufunc, given: tuple[Any, ...], xs: list[Tracer]) -> None:
    """Let operators record the next such operation directly, if it takes what it is given.

    The key is the ufunc with the operands' types, or, for a Python number, with the type of the
    array, that of the number, and whether the number is on the right.
    """
    kinds = [type(x) for x in given]
    if any(
        x is not y and kind is not int and kind is not float
        for x, y, kind in zip(given, xs, kinds, strict=True)
    ):
        return
    found = operation(op.primitive, NONE, tuple(x.type for x in xs))
    found.handle = Builder.array_handle if xs[0].type.shape else Builder.scalar_handle
    if all(x is y for x, y in zip(given, xs, strict=True)):
        remember((ufunc, *found.operands), found)
    elif len(xs) == 2 and xs[0].type is xs[1].type:  # np.ldexp(x, 2) converts 2 to an integer
        right = given[0] is xs[0]
        remember((ufunc, xs[0].type, kinds[1 if right else 0], right), found)


def power_operator(x: Tracer, exponent: Any) -> Any:
    """Return ``x ** exponent``, by the shortcuts that ``ndarray.__pow__`` takes.

    A constant exponent stays a literal, so that the derivative of ``x**3`` is ``3*x**2``.
    """
    builder, kind = current_builder(), type(exponent)
    is_here = x.builder is builder
    if builder is None or not is_here or kind not in (int, float):
        return _power(x, exponent)
    key = (power_operator, x.type, kind, exponent)
    is_usual = builder.state is error_state() and builder.filters is warnings.filters
    known = builder.direct.get(key) if is_usual else None
    entries, number = builder.entries, len(builder.entries)
    if known is not None:
        op, literals = known
        entries.append((op, x.atom, *literals))
        return Builder.handle(builder, number, op.result)
    result = _power(x, exponent)
    if result.atom == number == len(entries) - 1 and not builder.policy.shares:
        op, base, *literals = entries[number]
        if base == x.atom and all(isinstance(ref, Literal) for ref in literals):
            remember(key, (op, literals))
    return result


def _power(x: Tracer, exponent: Any) -> Any:
    number = splat(exponent) if isinstance(exponent, Tracer) else exponent
    if type(number) not in (int, float) and not isinstance(number, np.generic):
        return apply(np.power, x, exponent)
    if isinstance(number, np.generic):  # not weak, like Python's numbers
        kind = dtype_of(x) if x.weak and x.dtype.kind != "b" else x.dtype.type
        x = convert(x, _power_dtype(x.dtype, kind(1) if x.ndim == 0 else None, number))
    if x.type.differentiable or (number == 2 and not isinstance(number, float)):
        if number in (0, 1):
            return constant(1, x.type) if number == 0 else views.fresh_like(x)
        if number in _POWERS:
            return apply(_POWERS[number], x)
    if x.type.differentiable and not isinstance(number, np.generic):
        return by_ufunc[np.power](x, constant(number, x.type))
    return apply(np.power, x, exponent)


def _power_dtype(dtype: np.dtype[Any], one: Any, number: Any) -> np.dtype[Any]:
    """Return the dtype that this NumPy gives to a power with a NumPy scalar as exponent.

    The base is like `one` if it is a number, else an array.
    """
    base: Any = np.ones(1, dtype) if one is None else one
    result: np.dtype[Any] = np.asarray(base**number).dtype
    return result


_POWERS: Final[dict[Any, np.ufunc]] = {2: np.square, 0.5: np.sqrt, -1: np.reciprocal}
