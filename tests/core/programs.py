"""Programs for tests: recorded from functions of strict operations, and random ones."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import strategies as st

from funcdiff.core.policy import Policy
from funcdiff.core.primitive import Params, Primitive, primitives
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import DTYPES, ArrayType
from funcdiff.ops.elementwise import mathematics
from funcdiff.ops.structure import structural
from funcdiff.space import add, broadcast, mul, neg, reduce_sum


def type_named(text: str) -> ArrayType:
    """Return the type written as ``f64[2,3]``."""
    dtype, _, shape = text.rstrip("]").partition("[")
    return ArrayType(tuple(int(n) for n in shape.split(",") if n), DTYPES[dtype])


def recorded(f: Callable[..., Sequence[Tracer]], *types: str, shares: bool = False) -> Program:
    """Return the program of a function of tracers."""
    with Builder("test", Policy(closed=True, shares=shares)) as builder:
        return builder.program(f(*[builder.input(type_named(t)) for t in types]))


# ---- a primitive with a nested program ---------------------------------------------------------


class Call(Params):
    """A program, and one more value of any kind that the text can carry."""

    body: Program
    note: Any = None


def _called(p: Call) -> Callable[..., Any]:
    def function(*xs: Any) -> Any:
        ys = evaluate(p.body, xs)
        return ys[0] if len(ys) == 1 else tuple(ys)

    return function


@contextmanager
def temporary(primitive: Primitive[Any]) -> Iterator[Primitive[Any]]:
    """Keep a primitive in the table only for a while."""
    try:
        yield primitive
    finally:
        del primitives[primitive.name]


def calling() -> Any:
    """Return the context of a primitive that calls its program."""
    return temporary(
        Primitive("call", Call, abstract=lambda p, *_types: p.body.output_types, impl=_called)
    )


def call(
    primitive: Primitive[Any], body: Program, *xs: Tracer, note: Any = None
) -> Sequence[Tracer]:
    """Record an equation that calls a program."""
    return bind(primitive, Call(body, note), *xs)


# ---- random programs -------------------------------------------------------------------------

_TYPES = [
    f"{dtype}[{shape}]" for dtype in ("f64", "f32", "c128", "i64") for shape in ("", "3", "2,3")
]


def scalars(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    """Draw scalars of a dtype: every bit pattern, NaNs with payloads included."""
    if dtype.kind == "b":
        return st.booleans().map(np.bool_)
    if dtype.char in "gG":  # not every pattern of padded bytes is a number
        parts = st.tuples(st.floats(), st.floats())
        return parts.map(lambda z: dtype.type(complex(*z) if dtype.char == "G" else z[0]))
    size = dtype.itemsize
    patterns = st.binary(min_size=size, max_size=size).map(lambda b: np.frombuffer(b, dtype)[0])
    common = st.sampled_from([0, 1, 2]).map(dtype.type)
    return st.one_of(common, patterns)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Draw a small program with literals and several outputs."""
    with Builder("random", Policy(closed=True, shares=draw(st.booleans()))) as builder:
        names = draw(st.lists(st.sampled_from(_TYPES), min_size=1, max_size=3))
        values = [builder.input(type_named(name)) for name in names]
        for _ in range(draw(st.integers(0, 8))):
            values.append(_step(draw, values))
        outputs = draw(st.lists(st.sampled_from(values), max_size=3))
        if draw(st.booleans()):
            outputs.append(_literal(draw, values[0].type))
        return builder.program(outputs)


def _literal(draw: st.DrawFn, type_: ArrayType) -> Tracer:
    return constant(draw(scalars(type_.dtype)), type_)


def _step(draw: st.DrawFn, values: list[Tracer]) -> Tracer:
    x = draw(st.sampled_from(values))
    same = [y for y in values if y.type is x.type]
    y = _literal(draw, x.type) if draw(st.booleans()) else draw(st.sampled_from(same))
    axes = tuple(sorted(draw(st.sets(st.integers(0, x.ndim - 1))))) if x.ndim else ()
    choices: list[Callable[[], Tracer]] = [
        lambda: add(x, y),
        lambda: mul(y, x),
        lambda: neg(x),
        lambda: reduce_sum(x, axes),
        lambda: structural.permute(x, tuple(reversed(range(x.ndim)))),
        lambda: broadcast(x, (*x.shape, 2), tuple(range(x.ndim))),
        lambda: structural.convert(x, DTYPES[draw(st.sampled_from(["f32", "f64", "c128"]))]),
    ]
    if x.type.differentiable:
        choices.append(lambda: mathematics.sin(x))
    return draw(st.sampled_from(choices))()
