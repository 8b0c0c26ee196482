"""Sylvester's equation A·X + X·B = Q, which is linear in X: its derivatives are such equations.

    A·dX + dX·B = dQ - dA·X - X·dB,

and the transpose of the solution as a function of Q solves Aᵀ·Y + Y·Bᵀ = C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from funcdiff.core.builder import bind
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.linalg.matrices import matmul, square, transposed
from funcdiff.ops.linalg.routines import routine
from funcdiff.space import neg, sum_tangents


def _abstract(_p: Params, a: ArrayType, b: ArrayType, q: ArrayType) -> Types:
    shape = (*square(a).shape[:-1], square(b).shape[-1])
    if q.shape != shape or a.shape[:-2] != b.shape[:-2] or not a.dtype == b.dtype == q.dtype:
        raise TypeError(f"there is no Sylvester equation of {a}, {b} and {q}")
    return (q,)


def _jvp(_p: Params, xs: Tracers, ts: Tangents) -> Pushed:
    (a, b, q), (ta, tb, tq) = xs, ts
    x = sylvester(a, b, q)
    terms = [
        tq,
        None if ta is None else neg(matmul(ta, x)),
        None if tb is None else neg(matmul(x, tb)),
    ]
    change = sum_tangents(terms)
    assert change is not None
    return [x], [sylvester(a, b, change)]


def _transpose(_p: Params, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    (ct,), (a, b, _) = cts, xs
    assert a is not None, "solving is linear in the right-hand side alone"
    assert b is not None, "solving is linear in the right-hand side alone"
    return [None, None, sylvester(transposed(a), transposed(b), ct)]


sylvester_p: Final = Primitive(
    "sylvester",
    Params,
    abstract=_abstract,
    impl=lambda _p: routine("solve_sylvester", 2, 2, 2),
    jvp=_jvp,
    transpose=_transpose,
    facts=Facts(raises=True),
)


def sylvester(a: Tracer, b: Tracer, q: Tracer) -> Tracer:
    """Return the solution of A·X + X·B = Q for stacks of matrices of one depth."""
    return bind(sylvester_p, NONE, a, b, q)[0]
