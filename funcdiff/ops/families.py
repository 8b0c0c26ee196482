"""Families of primitives: a whole record derived from one line.

``elementwise`` takes a NumPy ufunc and its partial derivatives; ``linear`` takes a type rule, an
implementation and a transpose, and knows what linearity means for tangents; of a ``symmetric``
operation the transpose is known, too; ``multilinear`` is for products, ``unary`` for functions of
one operand, ``reduction`` for ``ufunc.reduce``, and ``constant_op`` for operations without a
derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.access import Rule, pointwise, reducing
from funcdiff.core.implementation import Implementation, Variant
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.running.dataflow import dependent, on_copy
from funcdiff.core.running.evaluate import Runner, executable
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError
from funcdiff.space import (
    Axes,
    Maybe,
    abstract_reduction,
    instantiate,
    mul,
    neg,
    splat,
    sum_tangents,
)

P = TypeVar("P", bound=Params)
Partial: TypeAlias = float | Callable[..., Any] | None
"""∂y/∂x: a number, a formula ``lambda *xs, y: ...`` in plain ``np``, or None for no derivative."""
Jvp: TypeAlias = Callable[[Any, Tracers, Tangents], Pushed]
Tangent: TypeAlias = Callable[[Tracers, Tangents, Any], Maybe]
"""``tangent(xs, ts, y)``: the tangent of a result."""

_NOTHING: Final = Facts()
DIAGONAL: Final = Facts("scaled")
"""What an operation tells that scales the elements of its operand, or checks them."""
_ALL: Final = slice(None)
_FIRST: Final = slice(1)

by_ufunc: Final[dict[np.ufunc, Elementwise]] = {}
"""The elementwise operation that a NumPy ufunc becomes, once types and shapes are equal."""

weights: Final[dict[str, int]] = {}
"""Operations for each element of a result, by name, of functions that another library computes."""


@dataclass(frozen=True)
class Elementwise:
    """An elementwise operation as a function of tracers of one shape."""

    primitive: Primitive[Params]
    ufunc: Callable[..., Any]

    def __call__(self, *xs: Tracer) -> Tracer:
        """Record the operation; of literals, compute it."""
        if xs[0].builder is None and all(x.builder is None for x in xs):
            (type_,) = self.primitive.abstract(NONE, *(x.type for x in xs))
            with np.errstate(all="ignore"):
                return constant(self.ufunc(*map(splat, xs)), type_)
        return bind(self.primitive, NONE, *xs)[0]


def elementwise(
    name: str,
    ufunc: Callable[..., Any],
    *partials: Partial,
    tangent: Tangent | None = None,
    dtypes: Callable[..., np.dtype[Any]] | None = None,
    facts: Facts = _NOTHING,
    into: Variant | None = None,
) -> Elementwise:
    """Declare an elementwise operation by its NumPy function and partial derivatives, by operand.

    `tangent` is a rule where the derivative is not a sum of coefficients times tangents. `dtypes`
    gives the result dtype of the operands' dtypes; by default what the ufunc says, and of another
    function that of its operands.  `into` is that of its `Implementation`.
    """
    resolve: Callable[..., np.dtype[Any]] = dtypes or resolver(ufunc)

    def abstract(_p: Params, *types: ArrayType) -> Types:
        if len({t.shape for t in types}) > 1:
            raise TypeError(f"operands must have equal shapes, got {', '.join(map(repr, types))}")
        return (types[0].with_dtype(resolve(*[t.dtype for t in types])),)

    def forward(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
        y = op(*xs)
        if tangent is not None:
            return [y], [tangent(xs, ts, y)]
        terms = [_scale(d, t, xs, y) for d, t in zip(partials, ts, strict=True)]
        return [y], [sum_tangents(terms)]

    primitive = Primitive(
        name,
        Params,
        abstract,
        impl=Implementation(lambda _p: ufunc, into=into),
        jvp=forward,
        access=pointwise,
        facts=facts,
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


def _scale(partial: Partial, t: Maybe, xs: Tracers, y: Tracer) -> Maybe:
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
    batch: Callable[[P, int, Any, Any], Any] | None = None,
    operands: slice = _ALL,
    jvp: Jvp | None = None,
    access: Rule | None = None,
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare an operation that is linear in its operands together, or in some of them.

    The others, masks and indices, have no tangent.  The forward rule follows, and that fact; `jvp`
    replaces the rule for an operation linear only for some types.
    """

    def forward(p: P, xs: Tracers, ts: Tangents) -> Pushed:
        ys = bind(primitive, p, *xs)
        if all(t is None for t in ts[operands]):
            return ys, [None for _ in ys]
        pushed = list(xs)
        pushed[operands] = map(instantiate, ts[operands], (x.type for x in xs[operands]))
        return ys, bind(primitive, p, *pushed)

    facts = facts._replace(linear=operands)
    primitive = Primitive(
        name, params, abstract, impl, jvp or forward, transpose, batch, access=access, facts=facts
    )
    return primitive


def write(
    name: str,
    params: type[P],
    *,
    abstract: Callable[..., Types],
    into: Variant,
    transpose: Callable[[P, Any, Any, Any], Any],
    access: Rule,
    batch: Callable[[P, int, Any, Any], Any] | None = None,
    adds: bool = False,
) -> Primitive[P]:
    """Declare what changes some elements of its first operand, linear in that and in the second.

    `into` is a variant of the implementation that overwrites the first operand; `adds` says that
    it adds to them.
    """
    return linear(
        name,
        params,
        abstract=abstract,
        impl=Implementation(on_copy(into), fresh=True, in_place=into),
        transpose=transpose,
        batch=batch,
        operands=slice(2),
        access=access,
        facts=Facts("added" if adds else "summed"),
    )


def symmetric(
    name: str,
    params: type[P],
    *,
    impl: Callable[[P], Callable[..., Any]],
    transposed: Callable[[P], P] = lambda p: p,
    operands: slice = _FIRST,
    jvp: Jvp | None = None,
    access: Rule | None = None,
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare an operation that is linear in its first operand, and its own transpose.

    The result has the type of that operand; further operands say what happens to it.  If the
    parameters of the transpose are others, `transposed` gives them.
    """

    def transpose(p: P, _types: Types, cts: Sequence[Any], xs: Sequence[Any]) -> Tangents:
        return [*bind(primitive, transposed(p), cts[0], *xs[1:]), *(None for _ in xs[1:])]

    primitive = linear(
        name,
        params,
        abstract=lambda _p, x, *_given: (x,),
        impl=impl,
        transpose=transpose,
        operands=operands,
        jvp=jvp,
        access=access,
        facts=facts,
    )
    return primitive


@dataclass(frozen=True)
class Assertion:
    """An operation that returns its first operand, a tangent or cotangent, or raises."""

    primitive: Primitive[Params]

    def __call__(self, *xs: Tracer) -> Tracer:
        """Record the operation."""
        return bind(self.primitive, NONE, *xs)[0]


def refusal(
    wrong: Callable[..., Any], message: str, error: type[Exception] = NotDifferentiableError
) -> Callable[..., Any]:
    """Return an implementation: its first operand, or an error if anything is wrong.

    Which is so where ``wrong(x, *rest)`` is true, a function with a name, of plain and of traced
    arrays, none of them empty: what is exported to a device, which cannot raise, computes it, too.
    """

    def check(x: Any, *rest: Any) -> Any:
        if 0 not in [y.size for y in (x, *rest)] and wrong(x, *rest).any():
            raise error(message)
        return x

    check.wrong = wrong  # type: ignore[attr-defined]
    return check


def is_marked(_x: Any, marked: Any) -> Any:
    """Return what says where anything is wrong, if an operand does."""
    return marked


def assertion(name: str, check: Callable[..., Any]) -> Assertion:
    """Declare what returns a tangent, or its cotangent, unless `check` of all operands raises."""
    return Assertion(symmetric(name, Params, impl=lambda _p: check, facts=DIAGONAL))


def stand_in(
    name: str,
    params: type[P],
    abstract: Callable[..., Types],
    impl: Callable[[P], Callable[..., Any]],
    *,
    derivative_of: int = 0,
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare an operation whose one result has the derivative of one operand, by its number."""

    def forward(p: P, xs: Tracers, ts: Tangents) -> Pushed:
        return bind(primitive, p, *xs), [ts[derivative_of]]

    primitive = Primitive(name, params, abstract, impl, forward, facts=facts)
    return primitive


def multilinear(
    name: str,
    params: type[P],
    *,
    abstract: Callable[..., Types],
    impl: Callable[[P], Callable[..., Any]],
    transpose: Callable[[P, Any, Any, Any], Any],
    batch: Callable[[P, int, Any, Any], Any] | None = None,
    access: Rule | None = None,
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare a product: an operation that is linear in each operand alone that has a tangent."""

    def forward(p: P, xs: Tracers, ts: Tangents) -> Pushed:
        terms = [
            bind(primitive, p, *xs[:k], t, *xs[k + 1 :])[0]
            for k, t in enumerate(ts)
            if t is not None
        ]
        return bind(primitive, p, *xs), [sum_tangents(terms)]

    primitive = Primitive(
        name, params, abstract, impl, forward, transpose, batch, access=access, facts=facts
    )
    return primitive


def unary(
    name: str,
    params: type[P],
    *,
    abstract: Callable[..., Types],
    impl: Callable[[P], Callable[..., Any]],
    tangent: Callable[[P, Tracer, Tracer, Tracer], Maybe],
    access: Rule | None = None,
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare an operation of one operand and one result by ``tangent(p, x, y, t)``, dy/dx·t."""

    def forward(p: P, xs: Tracers, ts: Tangents) -> Pushed:
        (x,), (t,) = xs, ts
        assert t is not None
        (y,) = bind(primitive, p, x)
        return [y], [tangent(p, x, y, t)]

    primitive = Primitive(name, params, abstract, impl, forward, access=access, facts=facts)
    return primitive


def reduction(
    name: str,
    ufunc: np.ufunc,
    tangent: Callable[[Axes, Tracer, Tracer, Tracer], Maybe] | None = None,
    *,
    abstract: Callable[..., Types] = abstract_reduction,
) -> Primitive[Axes]:
    """Declare ``ufunc.reduce`` over axes, of `tangent` as `unary` takes it; by default zero."""

    def reduce(p: Axes) -> Callable[..., Any]:
        return lambda x: ufunc.reduce(x, axis=p.axes, dtype=x.dtype)

    return unary(
        name,
        Axes,
        abstract=abstract,
        impl=Implementation(reduce, fresh=True),
        tangent=tangent or (lambda *_: None),
        access=reducing(ufunc),
    )


def constant_op(
    name: str,
    params: type[P],
    *,
    abstract: Callable[..., Types],
    impl: Callable[[P], Callable[..., Any]],
    batch: Callable[[P, int, Any, Any], Any] | None = None,
    access: Rule | None = None,
    facts: Facts = _NOTHING,
) -> Primitive[P]:
    """Declare an operation whose derivative is zero wherever it exists."""

    def forward(p: P, xs: Tracers, _ts: Tangents) -> Pushed:
        ys = bind(primitive, p, *xs)
        return ys, [None for _ in ys]

    primitive = Primitive(
        name, params, abstract, impl, forward, None, batch, access=access, facts=facts
    )
    return primitive


def several(function: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    """Return an implementation: one result stands for itself."""

    def run(*xs: Any) -> Any:
        results = function(*xs)
        return results[0] if len(results) == 1 else tuple(results)

    return run


# ---- Operations that apply a program among their parameters: `p.body` ----------------------------


def abstract_body(p: Any, *types: ArrayType) -> Types:
    """Type rule: the operands are those of the body."""
    if types != p.body.input_types:
        raise TypeError(f"a body of operands {p.body.input_types} got {types}")
    outputs: Types = p.body.output_types
    return outputs


def _run(p: Any, runner: Runner = executable) -> Callable[..., Any]:
    """Return the function that runs the body."""
    return several(runner(p.body))


run_body: Final = Implementation(_run, nested=_run)
OF_BODY: Final = Facts(flow=lambda p, flags: dependent(p.body, flags))
"""What is known of such an operation."""
