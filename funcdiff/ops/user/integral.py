"""Integrals of programs by adaptive quadrature: `integral`, whose derivative is an integral again.

By Leibniz' rule I = ∫ₐᵇ f(θ, x) dx has the tangent ∫ₐᵇ ∂f/∂θ·t dx + f(b)·t_b - f(a)·t_a and, where
f jumps at a break point p, (f(p-) - f(p+))·t_p more.  The integrals of derivatives are found by the
routine that found the first one, to the same tolerances; the operands in which they are linear are
scaled to 1, so that an absolute tolerance means as much for small tangents.

Reference: H. Flanders, "Differentiation Under the Integral Sign", Amer. Math. Monthly 80 (1973).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import compress
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Facts, Params, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.ops.elementwise.logic import isfinite
from funcdiff.ops.elementwise.mathematics import nextafter
from funcdiff.ops.structure.structural import convert, select
from funcdiff.ops.user.linear_part import pushforward
from funcdiff.ops.user.python_call import Batches, by_example, python_call
from funcdiff.space import Maybe, broadcast, instantiate, mul, neg, sum_tangents, zeros
from funcdiff.transforms.jvp import Mask, present, spread
from funcdiff.transforms.transpose import transpose

Options: TypeAlias = tuple[tuple[str, Any], ...]
Vector: TypeAlias = Callable[[float], Any]

_NUMBER: Final = ArrayType((), FLOAT)


class Integral(Params):
    """The integral of a program over its last input.

    Operands are those of the program but for the last, both ends, and the break points.  Results
    are the integrals of its outputs, in double precision, and an estimate of the error.
    """

    program: Program  # ``(*known, x) -> ys``: floating or complex arrays
    ends: Program  # the same, times the options' weight: the terms of Leibniz' rule at the ends
    points: int  # how many break points there are
    linear: int  # in how many of the last known operands the program is linear
    has_errors: bool  # whether the last output is an estimate of an error of the others
    routine: str  # of ``scipy.integrate``
    options: Options  # keywords of the routine
    batches: Batches  # batch axes of the operands

    @property
    def first_end(self) -> int:
        """How many operands come before the ends."""
        return len(self.program.inputs) - 1

    @property
    def results(self) -> Types:
        """The types of the results of one example."""
        given = self.program.output_types
        found = given[:-1] if self.has_errors else given
        return (*(t.with_dtype(np.result_type(t.dtype, FLOAT)) for t in found), _NUMBER)


# ---- values --------------------------------------------------------------------------------------


def _integrate(p: Integral, operands: Sequence[Any]) -> list[Any]:
    """Integrate all elements of the outputs as one vector of real numbers."""
    first = p.first_end
    known = list(operands[:first])
    moving = known[first - p.linear :]
    scale = max((float(np.max(np.abs(t), initial=0.0)) for t in moving), default=1.0)
    if scale == 0:
        return [np.zeros(t.shape, t.dtype)[()] for t in p.results]
    if p.linear and np.isfinite(scale):
        known[first - p.linear :] = [np.asarray(t / scale, t.dtype)[()] for t in moving]
    else:
        scale = 1.0
    run = executable(p.program)
    return integrate(p, lambda x: run(*known, x), operands[first:], scale)


def integrate(
    p: Integral, f: Callable[[Any], Sequence[Any]], places: Sequence[Any], scale: float = 1.0
) -> list[Any]:
    """Return the integrals of ``scale·f(x)`` between the first two places, and their error."""
    types, worst = p.results[:-1], 0.0
    a, b, *points = map(float, places)

    def values(x: float) -> Any:
        nonlocal worst
        ys = f(np.float64(x))
        if p.has_errors:
            worst = max(worst, float(ys[-1]))
        given = zip(ys, types, strict=False)
        return np.concatenate([np.ravel(np.asarray(y, t.dtype)).view(FLOAT) for y, t in given])

    size = sum(map(_real_size, types))
    vector, error = ROUTINES[p.routine](values, size, a, b, points, dict(p.options))
    vector, found, start = np.asarray(scale * vector), [], 0
    for t in types:
        stop = start + _real_size(t)
        found.append(vector[start:stop].view(t.dtype).reshape(t.shape)[()])
        start = stop
    return [*found, np.float64(max(scale * float(error), worst))]


def _real_size(type_: ArrayType) -> int:
    return type_.size * type_.dtype.itemsize // FLOAT.itemsize


def _quad(f: Vector, size: int, a: float, b: float, points: Any, options: Any) -> Any:
    """Integrate one element after the other; they share what is computed at the same points."""
    quad = import_module("scipy.integrate").quad
    seen: dict[float, Any] = {}

    def at(x: float) -> Any:
        if x not in seen:
            seen[x] = f(x)
        return seen[x]

    given = {"points": points} if points else {}
    found, errors = [], [0.0]
    for k in range(size):
        value, error = quad(lambda x, k=k: at(x)[k], a, b, **given, **options)
        found.append(value)
        errors.append(error)
    return np.array(found), max(errors)


def _quad_vec(f: Vector, _size: int, a: float, b: float, points: Any, options: Any) -> Any:
    given = {"points": points} if points else {}
    value, error = import_module("scipy.integrate").quad_vec(f, a, b, **given, **options)
    return value, error


ROUTINES: Final[dict[str, Callable[..., Any]]] = {"quad": _quad, "quad_vec": _quad_vec}
"""``routine(f, size, a, b, points, options) -> (vector, error)``, where f gives vectors."""


# ---- derivatives ---------------------------------------------------------------------------------


def _rule(p: Integral, active: Mask, types: Types) -> tuple[Program, Mask]:
    moves = tuple(k < len(p.results) - 1 for k in range(len(p.results)))
    return _tangent(p.program, p, active, types), moves


@memoised
def _tangent(program: Program, p: Integral, active: Mask, types: Types) -> Program:
    """Return ``(*known, a, b, *points, *results, *ts) -> tangents of the integrals``."""
    count, first = len(p.results) - 1, p.first_end
    place = slice(first - p.linear, first)
    with Builder("integral", SHARED) as builder:
        xs = [builder.input(t) for t in types]
        for t in p.results:
            builder.input(t)
        ts = spread([builder.input(t) for t in compress(types, active)], active)
        if sum(active[place]) == sum(active):
            xs[place] = list(map(instantiate, ts[place], types[place]))
            return builder.program(integral(p, xs)[:count])
        terms: list[list[Maybe]] = [[] for _ in range(count)]
        moved = present(ts[:first])
        if moved:
            pushed = _tangents_at(program, active[:first], count)
            inner = replace(
                p, program=pushed, linear=len(moved), has_errors=False,
                ends=pushed if p.ends == program else _tangents_at(p.ends, active[:first], count),
            )  # fmt: skip
            _gather(terms, integral(inner, [*xs[:first], *moved, *xs[first:]]))
        a, b, *points = xs[first:]
        ta, tb, *tpoints = ts[first:]
        _gather(terms, _flow(p, xs, b, tb))
        _gather(terms, _flow(p, xs, a, None if ta is None else neg(ta)))
        for x, t in zip(points, tpoints, strict=True):
            for side in (-np.inf, np.inf) if t is not None else ():
                beside = nextafter(x, constant(side, _NUMBER))
                _gather(terms, _flow(p, xs, beside, t if side < 0 else neg(t)))
        pairs = zip(terms, p.results, strict=False)
        return builder.program([instantiate(sum_tangents(term), t) for term, t in pairs])


def _gather(terms: list[list[Maybe]], found: Sequence[Tracer]) -> None:
    for term, y in zip(terms, found, strict=False):
        term.append(y)


def _flow(p: Integral, xs: Tracers, x: Tracer, t: Maybe) -> list[Tracer]:
    """Return f(x)·t, nothing of it at an infinite end."""
    if t is None:
        return []
    found = []
    for y, to in zip(inline(p.ends, [*xs[: p.first_end], x]), p.results[:-1], strict=False):
        moved = mul(convert(y, to.dtype), broadcast(convert(t, to.dtype), to.shape, ()))
        found.append(select(broadcast(isfinite(x), to.shape, ()), moved, zeros(to)))
    return found


@memoised
def _tangents_at(program: Program, active: Mask, count: int) -> Program:
    """Return ``(*known, *ts, x) -> tangents of the first outputs``, linear in ts."""
    wanted = tuple(k < count for k in range(len(program.outputs)))
    pushed = pushforward(program, (*active, False), wanted)
    x, end = len(active), len(pushed.inputs)
    return rearrange(pushed, [*range(x), *range(x + 1, end), x], range(count))


def _transpose(p: Integral, linear: Mask, arrived: Mask, types: Types) -> Program:
    """Return ∫ (∂f/∂t)ᵀ·ct dx."""
    first, last = p.first_end - p.linear, p.first_end
    moves, wanted = linear[first:last], arrived[:-1]
    if not any(moves) or sum(moves) != sum(linear):
        raise NotDifferentiableError(f"an integral with {p.routine} is not linear in its ends")
    rule = replace(
        p, linear=sum(wanted), program=_cotangents_at(p.program, moves, wanted),
        ends=_cotangents_at(p.ends, moves, wanted),
    )  # fmt: skip
    with Builder("integral", SHARED) as builder:
        xs = spread([builder.input(t) for t, on in zip(types, linear, strict=True) if not on],
                    [not on for on in linear])  # fmt: skip
        cts = [builder.input(t) for t in compress(p.results, arrived)]
        pulled = integral(rule, [*present(xs[:last]), *cts[: sum(wanted)], *present(xs[last:])])
        return builder.program(
            [convert(ct, t.dtype) for ct, t in zip(pulled, compress(types, linear), strict=False)]
        )


@memoised
def _cotangents_at(program: Program, linear: Mask, arrived: Mask) -> Program:
    """Return ``(*known, *cts, x) -> cotangents``, for cotangents in double precision."""
    *known, last = program.input_types
    flags = (*(False for _ in range(len(known) - len(linear))), *linear, False)
    pulled = transpose(program, flags, arrived)
    with Builder("integral", SHARED) as builder:
        xs = [builder.input(t) for t, flag in zip(known, flags, strict=False) if not flag]
        types = [t for t, on in zip(program.output_types, arrived, strict=True) if on]
        cts = [builder.input(t.with_dtype(np.result_type(t.dtype, FLOAT))) for t in types]
        x = builder.input(last)
        narrow = [convert(ct, t.dtype) for ct, t in zip(cts, types, strict=True)]
        return builder.program(inline(pulled, [*xs, x, *narrow]))


integral_p: Final = python_call(
    "integral",
    Integral,
    by_example(_integrate),
    _rule,
    _transpose,
    takes=lambda p: (*p.program.input_types[:-1], *(_NUMBER,) * (2 + p.points)),
    wide=lambda p: slice(p.first_end - p.linear, p.first_end),
    facts=Facts(),
)


def integral(p: Integral, operands: Tracers) -> list[Tracer]:
    """Return the integrals, then an estimate of the error."""
    return list(bind(integral_p, p, *operands))
