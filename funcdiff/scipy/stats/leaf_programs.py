"""Leaves of distributions as programs, traced once for each type of their arguments.

A leaf that looks at values, or calls compiled code without a derivative, is no program: what
follows from the density stands in its place, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.primitive import Operation, Params, Tangents, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.walk import inline
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy.border.promotion import fit
from funcdiff.ops.families import constant_op
from funcdiff.ops.structure.slicing import unknown
from funcdiff.scipy.primitives.special.sharpening import sharpen
from funcdiff.scipy.stats.closed_forms import formulas
from funcdiff.scipy.stats.double_exponential import entropy_integral, probability_integral
from funcdiff.scipy.stats.leaves import has_own, leaf, scipys
from funcdiff.scipy.stats.moments import (
    integrate_moment,
    integrate_statistic,
    raw_moment,
    statistic,
)
from funcdiff.transforms.jvp import push

_FLOAT: Final = np.dtype(FLOAT)
_OF_SHAPES: Final = ("_stats", "_moment", "_munp", "_entropy")
_DENSITIES: Final = ("_pdf", "_logpdf", "_pmf", "_logpmf")
_MASKS: Final = ("_support_mask", "_open_support_mask")


class Table(Params):
    """Numbers that a leaf mentions, such as coefficients."""

    numbers: tuple[float, ...]
    shape: tuple[int, ...]
    dtype: str


def _array(numbers: tuple[float, ...], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return np.array(numbers).astype(dtype).reshape(shape)


table_p: Final = constant_op(
    "table",
    Table,
    abstract=lambda p: (ArrayType(p.shape, np.dtype(p.dtype)),),
    impl=lambda p: partial(_array, p.numbers, p.shape, np.dtype(p.dtype)),
)


def _constant(x: Any) -> Tracer:
    table = Table(tuple(np.ravel(x).tolist()), np.shape(x), np.asarray(x).dtype.str)
    return bind(table_p, table)[0]


def evaluate(distribution: str, name: str, *xs: Tracer) -> Any:
    """Return what a leaf computes, or None if it is no program."""
    found = _program(distribution, name, 0, tuple(x.type for x in xs))
    return found and inline(found[0], [*xs, *map(_constant, found[1])])[0]


def is_program(distribution: str, name: str, xs: Sequence[Tracer]) -> bool:
    """Return whether a leaf, of arrays of these types, is a program."""
    return _program(distribution, name, 0, tuple(x.type for x in xs)) is not None


@cache
def is_sharpened(distribution: str, name: str) -> bool:
    """Return whether a leaf has another formula for its derivatives, which keeps more digits."""
    count = 1 + len(scipys(distribution)._shape_info())
    found = _program(distribution, name, 0, (ArrayType((), _FLOAT),) * count)
    return found is not None and sharpen(found[0]) != found[0]


def no_derivative(distribution: str, name: str, ts: Tangents) -> NotDifferentiableError:
    """Return the error of a leaf that has no known derivative in some parameter."""
    shapes = [info.name for info in scipys(distribution)._shape_info()]
    names = [*("its argument" for _ in range(len(ts) - len(shapes))), *shapes]
    moving = ", ".join(n for n, t in zip(names, ts, strict=True) if t is not None)
    return NotDifferentiableError(
        f"scipy.stats.{distribution}{name.replace('_', '.', 1)} was differentiated in {moving} at "
        f"{user_location()}, by which no derivative is known: SciPy computes it by compiled code "
        f"or a search. Keep that out of the differentiated arguments (an argument of a method "
        "depends on loc and scale, too), or write fd.stop_gradient of it."
    )


def along(distribution: str, name: str, xs: Sequence[Tracer], ts: Tangents, order: int = 0) -> Any:
    """Return the derivative of a leaf along tangents, None for zero.

    Raises
    ------
    NotDifferentiableError
        If it is not known.
    """
    if all(t is None for t in ts):
        return None
    found = _program(distribution, name, order, tuple(x.type for x in xs))
    if found is None:
        raise no_derivative(distribution, name, ts)
    program, constants = found
    if name not in _OF_SHAPES:
        program = sharpen(program)
    operands = [*xs, *map(_constant, constants)]
    return push(program, operands, [*ts, *(None for _ in constants)])[1][0]


@lru_cache(maxsize=1024)
def _program(
    distribution: str, name: str, order: int, types: Types
) -> tuple[Program, tuple[Any, ...]] | None:
    """Return the program of a leaf, and the arrays that it mentions, its last inputs."""
    for compute in _ways(distribution, name, order):
        with Builder(name) as builder, np.errstate(all="ignore"):
            try:
                xs = list(map(builder.input, types))
                y = compute(*xs)
            except Exception:  # whatever SciPy's code does to an array that has no values
                continue
            if name not in formulas.get(distribution, {}):
                y = _without_slopes_at_equalities(y, xs, builder, has_value=name not in _OF_SHAPES)
            shape = np.broadcast_shapes(*(t.shape for t in types))
            dtype = np.dtype(bool) if name in _MASKS else _FLOAT
            program = builder.program([fit(y, ArrayType(shape, dtype))])
            if name in _MASKS or _is_differentiable(program, len(types)):
                return program, tuple(builder.captures)
    return None


def _without_slopes_at_equalities(
    y: Any, xs: Sequence[Tracer], builder: Builder, *, has_value: bool
) -> Any:
    """Return what SciPy's code computes, with no derivative where a mask chose another formula.

    By the shape parameter that was compared with a number, ``c != 0``, it is nan where they are
    equal: the formula there is of other parameters only.
    """
    for op, *refs in filter(None, tuple(builder.entries)):
        shapes = [x for x in xs[has_value:] if x.atom in refs]
        numbers = [r.array.flat[0] for r in refs if isinstance(r, Literal) and r.array.size]
        is_mask = isinstance(op, Operation) and op.function in (np.equal, np.not_equal)
        if is_mask and shapes and numbers and np.isfinite(numbers[0]):
            gap: Any = np.subtract(shapes[0], numbers[0])  # type: ignore[call-overload]
            y = y + unknown(np.where(gap == 0, gap, 0.0))  # type: ignore[arg-type]
    return y


def _is_differentiable(program: Program, count: int) -> bool:
    """Return whether the derivative in some input is known."""
    inputs = program.inputs
    for k in range(count):
        with Builder("derivative") as builder:
            xs = [builder.input(v.type) for v in inputs]
            ts = [builder.input(v.type) if i == k else None for i, v in enumerate(inputs)]
            try:
                push(program, xs, ts)
            except NotDifferentiableError:
                continue
            return True
    return count == 0


def _ways(distribution: str, name: str, order: int) -> Iterator[Callable[..., Any]]:
    """Yield what may compute a leaf: its own code, what it follows from, an integral."""
    other = {"_cdf": "_sf", "_sf": "_cdf"}.get(name)
    if name == "_stats":
        yield partial(statistic, distribution, order)
        yield partial(integrate_statistic, distribution, order)
    elif name == "_moment":
        yield partial(raw_moment, distribution, order)
        yield partial(integrate_moment, distribution, order)
    elif has_own(distribution, name) or name in _DENSITIES + _MASKS:
        yield leaf(distribution, name)
    if name == "_entropy":
        yield entropy_integral(distribution)
    if other is not None:
        if has_own(distribution, other):
            yield lambda *xs: 1 - leaf(distribution, other)(*xs)
        yield probability_integral(distribution, upper=name == "_sf")
