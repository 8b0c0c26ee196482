"""The vector space: zero, addition, negation, scaling, and copying against summing.

These five primitives are all that the transforms need to know, and with `contract` and the
structural operations they are what linear programs are made of.  Each is written out in full
here, so this is also the place to learn what the rules of a primitive look like; `ops.families`
derives such records from one line.

For ``y = op(x)`` the rules speak of operands `x`, results `y`, tangents `t`, cotangents `ct` and
parameters `p`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.access import Access, pointwise, reducing
from funcdiff.core.atoms import Literal
from funcdiff.core.implementation import Implementation, spread, spread_few
from funcdiff.core.primitive import (
    NONE,
    Facts,
    Params,
    Primitive,
    Pushed,
    Tangents,
    Tracers,
    Types,
    shifted,
)
from funcdiff.core.recording.builder import bind, constant, result_type
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.errors import user_location

Maybe: TypeAlias = Tracer | None
"""A tangent or cotangent; None is a structural zero.  Also an operand that is linear."""


# ---- zero ------------------------------------------------------------------------------------


def zeros(type_: ArrayType) -> Tracer:
    """Return the zero of a type, a literal."""
    return constant(0, type_)


def instantiate(t: Maybe, type_: ArrayType) -> Tracer:
    """Return `t`, or an explicit zero for a structural one."""
    return zeros(type_) if t is None else t


def sum_tangents(ts: Tangents) -> Maybe:
    """Return the sum of tangents of one type, None if all are structural zeros."""
    total: Maybe = None
    for t in ts:
        if t is not None:
            total = t if total is None else add(total, t)
    return total


def splat(x: Tracer) -> Any:
    """Return the scalar that fills `x` if it is a literal, else None."""
    return x.atom.value if isinstance(x.atom, Literal) else None


# ---- addition, negation, scaling: z = x + y, -x, x·y elementwise --------------------------------


def same_types(_p: Params, *types: ArrayType) -> Types:
    """Type rule of operations whose operands and result have one type."""
    if types.count(types[0]) != len(types):
        raise TypeError(f"operands must have equal types, got {', '.join(map(repr, types))}")
    return types[:1]


def align(size: int, xs: Tracers, batched: Sequence[bool]) -> list[Tracer]:
    """Give every operand the batch axis that some carry already."""
    return [
        x if flag else broadcast(x, (size, *x.shape), tuple(range(1, x.ndim + 1)))
        for x, flag in zip(xs, batched, strict=True)
    ]


add_p: Final = Primitive(
    "add",
    Params,
    abstract=same_types,
    impl=lambda _p: np.add,
    jvp=lambda _p, xs, ts: ([add(*xs)], [sum_tangents(ts)]),
    transpose=lambda _p, _types, cts, xs: [cts[0] if x is None else None for x in xs],
    access=pointwise,
    facts=Facts(linear=slice(None)),
)


def add(x: Tracer, y: Tracer) -> Tracer:
    """Return x + y for operands of one type."""
    return bind(add_p, NONE, x, y)[0]


def _abstract_neg(_p: Params, x: ArrayType) -> Types:
    if x.dtype == BOOL:
        raise TypeError(f"NumPy does not negate booleans, got {x}: use logical_not")
    return (x,)


neg_p: Final = Primitive(
    "neg",
    Params,
    abstract=_abstract_neg,
    impl=lambda _p: np.negative,
    jvp=lambda _p, xs, ts: ([neg(*xs)], [neg(t) for t in ts if t is not None]),
    transpose=lambda _p, _types, cts, _xs: [neg(ct) for ct in cts if ct is not None],
    access=pointwise,
    facts=Facts(linear=slice(None)),
)


def neg(x: Tracer) -> Tracer:
    """Return -x."""
    value = splat(x)
    if value is not None:
        return constant(np.negative(value), x.type)
    return bind(neg_p, NONE, x)[0]


def _jvp_mul(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    (x, y), (tx, ty) = xs, ts
    terms = [None if tx is None else mul(tx, y), None if ty is None else mul(x, ty)]
    return [mul(x, y)], [sum_tangents(terms)]


def _transpose_mul(_p: Params, _types: Types, cts: Tangents, xs: Tangents) -> Tangents:
    (ct,), (x, y) = cts, xs
    assert ct is not None
    assert (x is None) != (y is None), "mul is linear in one operand at a time"
    return [mul(ct, y) if y is not None else None, mul(ct, x) if x is not None else None]


mul_p: Final = Primitive(
    "mul",
    Params,
    abstract=same_types,
    impl=lambda _p: np.multiply,
    jvp=_jvp_mul,
    transpose=_transpose_mul,
    access=pointwise,
    facts=Facts("multiplied"),
)


def mul(x: Tracer, y: Tracer) -> Tracer:
    """Return x·y elementwise, for operands of one type."""
    if x.builder is None and y.builder is None:
        with np.errstate(all="ignore"):
            return constant(np.multiply(splat(x), splat(y)), result_type(mul_p, NONE, x, y))
    return bind(mul_p, NONE, x, y)[0]


# ---- broadcast and its transpose, the sum ---------------------------------------------------


class Broadcast(Params):
    """Axis ``i`` of the operand becomes axis ``axes[i]`` of the result of the given shape."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]

    def with_rows(self, count: int) -> Broadcast:
        """Return the same of a result with so many rows."""
        return Broadcast((count, *self.shape[1:]), self.axes)

    def with_batch_axis(self, size: int) -> Broadcast:
        """Return the same with a further axis in front, which the operand has, too."""
        return Broadcast((size, *self.shape), (0, *shifted(self.axes)))


def _ascend(axes: Sequence[int], ndim: int) -> bool:
    """Whether these are axes of an array, in ascending order, each once."""
    return sorted(set(axes)) == list(axes) and all(0 <= axis < ndim for axis in axes)


def _abstract_broadcast(p: Broadcast, x: ArrayType) -> Types:
    kept = tuple([p.shape[axis] for axis in p.axes if axis < len(p.shape)])
    if min(p.shape, default=0) < 0:
        raise ValueError(
            f"negative lengths are not allowed: {x} cannot have shape {p.shape}, "
            f"at {user_location()}"
        )
    if kept != x.shape or not _ascend(p.axes, len(p.shape)):
        raise TypeError(f"cannot broadcast {x} to shape {p.shape} along axes {p.axes}")
    return (x.with_shape(p.shape),)


def _new_axes(p: Broadcast) -> tuple[int, ...]:
    return tuple(axis for axis in range(len(p.shape)) if axis not in p.axes)


broadcast_p: Final = Primitive(
    "broadcast",
    Broadcast,
    abstract=_abstract_broadcast,
    impl=Implementation(spread, view=True, of_few=spread_few),
    jvp=lambda p, xs, ts: (
        [broadcast(xs[0], p.shape, p.axes)],
        [broadcast(t, p.shape, p.axes) for t in ts if t is not None],
    ),
    transpose=lambda p, _types, cts, _xs: [
        reduce_sum(ct, _new_axes(p)) for ct in cts if ct is not None
    ],
    access=lambda p, _types: Access((tuple(range(len(p.shape))),), (p.axes,)),
    facts=Facts("moved", linear=slice(None)),
)


def broadcast(x: Tracer, shape: tuple[int, ...], axes: tuple[int, ...]) -> Tracer:
    """Repeat `x` along new axes: axis i of `x` becomes axis ``axes[i]`` of the result.

    The axes ascend: lengths that are equal do not show that two of them are exchanged.
    """
    if x.shape == shape and axes == tuple(range(len(shape))):
        return x
    value = splat(x)
    if value is not None:
        return constant(value, result_type(broadcast_p, Broadcast(shape, axes), x))
    return bind(broadcast_p, Broadcast(shape, axes), x)[0]


class Axes(Params):
    """The axes that a reduction removes, in ascending order."""

    axes: tuple[int, ...]


def without(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape without some axes."""
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


def kept_axes(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes of an array that a reduction over `axes` keeps."""
    return tuple(axis for axis in range(ndim) if axis not in axes)


def abstract_reduction(p: Axes, x: ArrayType) -> Types:
    """Type rule of reductions: the axes go, the dtype stays."""
    if not _ascend(p.axes, x.ndim):
        raise TypeError(f"cannot reduce {x} over axes {p.axes}")
    return (x.with_shape(without(x.shape, p.axes)),)


def _transpose_sum(p: Axes, types: Types, cts: Tangents, _xs: Tangents) -> Tangents:
    (x,) = types
    return [broadcast(ct, x.shape, kept_axes(x.ndim, p.axes)) for ct in cts if ct is not None]


reduce_sum_p: Final = Primitive(
    "reduce_sum",
    Axes,
    abstract=abstract_reduction,
    impl=Implementation(
        lambda p: lambda x: np.add.reduce(x, axis=p.axes, dtype=x.dtype), fresh=True
    ),
    jvp=lambda p, xs, ts: (
        [reduce_sum(xs[0], p.axes)],
        [reduce_sum(t, p.axes) for t in ts if t is not None],
    ),
    transpose=_transpose_sum,
    access=reducing(np.add),
    facts=Facts(linear=slice(None)),
)


def reduce_sum(x: Tracer, axes: tuple[int, ...]) -> Tracer:
    """Sum over axes, which the result no longer has."""
    if not axes:
        return x
    if splat(x) == 0:
        return constant(0, result_type(reduce_sum_p, Axes(axes), x))
    return bind(reduce_sum_p, Axes(axes), x)[0]
