"""Ufuncs on traced arrays: promotion and broadcasting by NumPy's rules, then a strict operation."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import starmap
from math import inf
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.primitive import NONE, operation
from funcdiff.core.recording.builder import Builder, constant, current_builder
from funcdiff.core.recording.quiet import error_state
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, DTYPE_NAMES, INT, ArrayType
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.calling import Call, note_call
from funcdiff.numpy.border.dispatch import by_types, refusal_error, ufuncs
from funcdiff.numpy.border.failures import fail_traces
from funcdiff.numpy.border.promotion import (
    WEAK,
    array,
    broadcast_shapes,
    dtype_of,
    fit,
    innermost,
    remember,
    shape_of,
)
from funcdiff.numpy.border.values import concrete_value, is_traced
from funcdiff.numpy.creation import construction
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.messages.foreign import cure_of_ufunc, lost_by_tracing, operation_of, ufunc_name
from funcdiff.numpy.messages.mistakes import MADE_INSIDE, explain
from funcdiff.numpy.shapes.shape import normalize_axis
from funcdiff.ops.families import Elementwise, by_ufunc
from funcdiff.ops.structure.structural import convert, reshape, select
from funcdiff.space import splat

# ---- Comparisons of traced values with None, texts, and objects that have a way of their own -----
#
# NumPy answers for the value of the traced operand or, where no value matters, for any of its type.


OPERATORS: Final[dict[np.ufunc, Callable[[Any, Any], Any]]] = {
    np.equal: operator.eq, np.not_equal: operator.ne, np.less: operator.lt,
    np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
}  # fmt: skip


def is_comparable(x: Any) -> bool:
    """Return whether an operand holds numbers, traced ones among them, or is refused elsewhere."""
    if isinstance(x, Tracer) or type(x) in WEAK or is_traced(x) or lost_by_tracing(x):
        return True
    dtype = _dtype_of(x)
    return dtype is not None and dtype.newbyteorder("=") in DTYPE_NAMES


def answer(compare: Callable[[Any, Any], Any], *operands: Any, name: str) -> Any:
    """Return what a comparison, an operator or a ufunc, gives for the values of traced operands.

    Raises `ConcreteValueError` if the answer depends on a value and there is none.
    """
    is_of_types = all(isinstance(x, Tracer) or _is_unlike_numbers(x) for x in operands)
    values = [_value(x, is_of_types) if isinstance(x, Tracer) else x for x in operands]
    try:
        return compare(*values)
    except Exception as error:
        explain(error, name, operands)
        raise


def _dtype_of(x: Any) -> np.dtype[Any] | None:
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype
    try:
        return np.asarray(x).dtype
    except Exception:  # whatever an object raises when it is asked for its numbers
        return None


def _is_unlike_numbers(x: Any) -> bool:
    """Whether the answer for a number is the same whichever it is: texts, what knows no numbers."""
    dtype = _dtype_of(x)
    if dtype is None or dtype.kind in "SU":
        return True
    kind: Any = type(x)
    return np.ndim(x) == 0 and all(
        getattr(kind, f"__{compare.__name__}__")(x, 1.0) is NotImplemented
        for compare in OPERATORS.values()
    )


def _value(x: Tracer, any_will_do: bool) -> Any:
    """Return the value of a traced operand, or any of its type, as what it stands for."""
    if any_will_do:
        value: Any = np.zeros(x.type.shape, x.type.dtype)
    else:
        try:
            value = np.asarray(concrete_value(x))
        except ConcreteValueError:
            missing = ConcreteValueError(
                f"a traced value was compared with an object that decides by values, at "
                f"{user_location()}, and there are no values (inside cond, scan, jit or vmap). "
                "Compare with a number, or before the function is traced."
            )
            fail_traces(x, missing)
            raise missing from None
    if x.weak:
        return value.item()
    return value if isinstance(x, np.ndarray) else value[()]


def apply(ufunc: np.ufunc, *operands: Any) -> Any:
    """Return ``ufunc(*operands)`` where at least one operand is traced."""
    innermost(*operands)
    this = Call(ufunc, operands, {}, operands=inf, numbers=True)
    recipe = this.find_recipe()
    if recipe is not None:
        try:
            result = this.record(recipe)
            if ufunc in ufuncs:
                note_call(ufunc, operands, {}, result)
            return result
        except OverflowError:  # an integer out of the range of the dtype
            this.key = None
    if ufunc in OPERATORS and not all(map(is_comparable, operands)):
        asked = ufunc if isinstance(operands[0], Tracer) else OPERATORS[ufunc]  # by an array's own
        return answer(asked, *operands, name=ufunc_name(ufunc))
    operands = tuple(
        [construction.array(x) if issubclass(type(x), list | tuple) else x for x in operands]
    )
    found = ufuncs.get(ufunc) or by_ufunc.get(ufunc) or operation_of(ufunc)
    if found is None:
        made = ufunc.__name__.endswith(" (vectorized)")  # as np.frompyfunc calls its own
        name = "np.frompyfunc" if made else ufunc_name(ufunc)
        raise refusal_error(name, cure_of_ufunc(ufunc))
    try:
        if isinstance(found, Elementwise):
            result = elementwise(found, ufunc, operands)
        else:
            result = found(*operands)
            note_call(ufunc, operands, {}, result)
    except Exception as error:
        explain(error, ufunc_name(ufunc), operands)
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
    integers = [(x, d) for x, d in zip(operands, dtypes, strict=True) if type(x) is int]
    if integers and any(starmap(_is_beyond, integers)):
        return _beyond(ufunc, operands, dtypes, shape)
    if ufunc in OPERATORS and any(map(_is_python_integer, operands)):
        dtypes = tuple(INT if d.kind in "iu" and d != np.uint64 else d for d in dtypes)
    xs = [fit(x, ArrayType(shape, d)) for x, d in zip(operands, dtypes, strict=True)]
    y = op(*xs)
    if y.builder is None:  # no entry says what has made it
        note_call(ufunc, operands, {}, y)
    _remember(op, ufunc, operands, xs)
    return y


def _is_python_integer(x: Any) -> bool:
    """Whether it stands for a Python integer, which NumPy compares beyond the range of a dtype."""
    return isinstance(x, Tracer) and x.weak and x.type.dtype.kind == "i"


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
            f"{ufunc_name(ufunc)} does not take {given}, at {user_location()}. {cure}"
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
    numbers = [k for k, (x, y) in enumerate(zip(given, xs, strict=True)) if x is not y]
    if not all(type(given[k]) in (int, float) for k in numbers):
        return
    found = operation(op.primitive, NONE, tuple([x.type for x in xs]))
    found.handle = Builder.array_handle if xs[0].type.shape else Builder.scalar_handle
    if not numbers:
        remember((ufunc, *found.operands), found)
    elif len(xs) == 2 and xs[0].type is xs[1].type:  # np.ldexp(x, 2) converts 2 to an integer
        (k,) = numbers
        remember((ufunc, xs[0].type, type(given[k]), k == 1), found)


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


# ---- Calls of ufuncs with keywords: NumPy itself says in which dtypes it computes ----------------


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
            raise refusal_error(
                f"{ufunc_name(ufunc)}(where=) without out=",
                "Use np.where(mask, f(x), y) for where=.",
            )
        raise refusal_error(
            f"{ufunc_name(ufunc)}(out=) with an ordinary array",
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
    ends = (tuple(range(-len(place), 0)) for place in places)
    moved = list(map(np.moveaxis, xs, places, ends))
    y = apply(ufunc, *moved)
    if keepdims:
        if result:
            raise TypeError(f"{ufunc.__name__} does not support keepdims")
        place = normalize_axis(places[-1][0], y.ndim + 1)
        return reshape(y, (*y.shape[:place], 1, *y.shape[place:]))
    return np.moveaxis(y, tuple(range(-result, 0)), places[-1]) if result else y


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
