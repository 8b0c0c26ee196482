"""Families of primitives: a whole record derived from one line.

``elementwise`` takes a NumPy ufunc and its partial derivatives; ``linear`` takes a type rule, an
implementation, a transpose and a batch rule, and knows what linearity means for tangents;
``diagonal_op`` takes less, for those that only scale elements; ``constant_op`` declares operations
without a derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.builder import bind, constant
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.space import Maybe, align, mul, neg, splat, sum_tangents, zeros

P = TypeVar("P", bound=Params)
Partial: TypeAlias = float | Callable[..., Any] | None
"""∂y/∂x: a number, a formula ``lambda *xs, y: ...`` in plain ``np``, or None for no derivative."""
Jvp: TypeAlias = Callable[[Any, Tracers, Tangents], tuple[Any, Any]]

_NOTHING: Final = Facts()

by_ufunc: Final[dict[np.ufunc, Elementwise]] = {}
"""The elementwise operation that a NumPy ufunc becomes, once types and shapes are equal."""


@dataclass(frozen=True)
class Elementwise:
    """An elementwise operation as a function of tracers of one shape."""

    primitive: Primitive[Params]
    ufunc: Callable[..., Any]

    def __call__(self, *xs: Tracer) -> Tracer:
        """Record the operation; of literals, compute it."""
        values = [splat(x) for x in xs]
        if all(value is not None for value in values):
            (type_,) = self.primitive.abstract(NONE, *(x.type for x in xs))
            with np.errstate(all="ignore"):
                return constant(self.ufunc(*values), type_)
        return bind(self.primitive, NONE, *xs)[0]


def elementwise(
    name: str,
    ufunc: Callable[..., Any],
    *partials: Partial,
    jvp: Jvp | None = None,
    dtypes: Callable[..., np.dtype[Any]] | None = None,
    facts: Facts = _NOTHING,
) -> Elementwise:
    """Declare an elementwise operation by its NumPy function and partial derivatives.

    Parameters
    ----------
    name
        Name of the primitive.
    ufunc
        The NumPy function of arrays of one shape.
    *partials
        One per operand.
    jvp
        A rule of one's own, where the derivative is not a sum of coefficients times tangents.
    dtypes
        Result dtype as a function of the operands' dtypes; by default what the ufunc says, and
        of another function that of its operands.
    facts
        What else its structure tells.
    """
    resolve: Callable[..., np.dtype[Any]] = dtypes or resolver(ufunc)

    def abstract(_p: Params, *types: ArrayType) -> Types:
        if any(t.shape != types[0].shape for t in types):
            raise TypeError(f"operands must have equal shapes, got {', '.join(map(repr, types))}")
        return (types[0].with_dtype(resolve(*(t.dtype for t in types))),)

    def forward(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
        y = op(*xs)
        return [y], [
            sum_tangents([_scaled(d, t, xs, y) for d, t in zip(partials, ts, strict=True)])
        ]

    def batch(_p: Params, size: int, xs: Tracers, batched: Sequence[bool]) -> list[Tracer]:
        return [op(*align(size, xs, batched))]

    primitive = Primitive(
        name,
        Params,
        abstract,
        impl=lambda _p: ufunc,
        jvp=jvp or forward,
        batch=batch,
        facts=replace(facts, pointwise=True),
    )
    op = Elementwise(primitive, ufunc)
    if isinstance(ufunc, np.ufunc):
        by_ufunc[ufunc] = op
    return op


def resolver(ufunc: Any) -> Callable[..., np.dtype[Any]]:
    """Return the result dtype of a ufunc as a function of its operands' dtypes.

    Another function is taken to have operands, and a result, of one dtype.
    """

    def common(first: np.dtype[Any], *others: np.dtype[Any]) -> np.dtype[Any]:
        if any(dtype != first for dtype in others):
            raise TypeError(f"operands must have one dtype, got {(first, *others)}")
        return first

    def resolve(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
        *operands, result = ufunc.resolve_dtypes((*dtypes, None))
        if tuple(operands) != dtypes:
            raise TypeError(f"np.{ufunc.__name__} has no loop for exactly {dtypes}")
        found: np.dtype[Any] = result
        return found

    return resolve if isinstance(ufunc, np.ufunc) else common


def _scaled(partial: Partial, t: Maybe, xs: Tracers, y: Tracer) -> Maybe:
    """Return ∂y/∂x · t."""
    if t is None or partial is None:
        return None
    if callable(partial):
        return mul(t, conform(partial(*xs, y), y.type))
    if partial == 1:
        return t
    return neg(t) if partial == -1 else mul(t, constant(partial, y.type))


def conform(value: Any, type_: ArrayType) -> Tracer:
    """Return what a formula gave, a tracer or a number, as a tracer of the wanted type."""
    if not isinstance(value, Tracer):
        return constant(value, type_)
    if value.type is not type_:
        raise TypeError(f"a derivative formula gave {value.type} where {type_} is needed")
    return value


def linear(
    name: str,
    params: type[P],
    *,
    abstract: Callable[..., Types],
    impl: Callable[[P], Callable[..., Any]],
    transpose: Callable[[P, Any, Any, Any], Any],
    batch: Callable[[P, int, Any, Any], Any],
    given: tuple[int, ...] = (),
    jvp: Jvp | None = None,
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare an operation that is linear in all its operands together.

    `given` lists the operands in which it is not, the first ones or the last ones: masks and
    indices, which have no tangent.  The forward rule follows, and that fact; `jvp` replaces the
    rule for an operation linear only for some types.
    """

    def forward(p: P, xs: Tracers, ts: Tangents) -> Pushed:
        active = [t is not None and k not in given for k, t in enumerate(ts)]
        ys = bind(primitive, p, *xs)
        if not any(active):
            return ys, [None for _ in ys]
        operands = [
            x if k in given else (zeros(x.type) if t is None else t)
            for k, (x, t) in enumerate(zip(xs, ts, strict=True))
        ]
        return ys, bind(primitive, p, *operands)

    operands = slice(len(given), None) if 0 in given else slice(given[0] if given else None)
    facts = replace(facts, linear=operands)
    primitive = Primitive(
        name, params, abstract, impl, jvp or forward, transpose, batch, facts=facts
    )
    return primitive


def diagonal_op(name: str, function: Callable[..., Any], *, given: int) -> Primitive[Params]:
    """Declare an operation that scales the elements of an array, so that it is its own transpose.

    By how much, `given` further operands say.  It may raise instead, and else change nothing.
    """
    primitive: Primitive[Params] = linear(
        name,
        Params,
        abstract=lambda _p, x, *_given: (x,),
        impl=lambda _p: function,
        transpose=lambda _p, _types, cts, xs: [
            *bind(primitive, NONE, cts[0], *xs[1:]), *(None for _ in range(given)),
        ],
        batch=lambda _p, size, xs, batched: bind(primitive, NONE, *align(size, xs, batched)),
        given=tuple(range(1, given + 1)),
    )  # fmt: skip
    return primitive


def constant_op(
    name: str,
    params: type[P],
    *,
    abstract: Callable[..., Types],
    impl: Callable[[P], Callable[..., Any]],
    batch: Callable[[P, int, Any, Any], Any],
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare an operation whose derivative is zero wherever it exists."""

    def forward(p: P, xs: Tracers, _ts: Tangents) -> Pushed:
        ys = bind(primitive, p, *xs)
        return ys, [None for _ in ys]

    primitive = Primitive(name, params, abstract, impl, forward, None, batch, facts=facts)
    return primitive


def several(function: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    """Return an implementation: one result stands for itself."""

    def run(*xs: Any) -> Any:
        results = function(*xs)
        return results[0] if len(results) == 1 else tuple(results)

    return run
