"""One contraction with axis labels: dot, matmul, inner, outer, tensordot, vecdot, einsum pairs.

``out[k…] = Σ left[i…]·right[j…]`` over the labels that `out` does not have.  Its transpose swaps
an operand's labels with the output's, and its batch rule prepends a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Facts, Params, Tangents, Tracers, Types
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import multilinear

Labels: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contraction(Params):
    """Labels of the operands' and the result's axes; every label is in two or all three."""

    left: Labels
    right: Labels
    out: Labels


def _abstract_contract(p: Contraction, x: ArrayType, y: ArrayType) -> Types:
    sides = (p.left, p.right, p.out)
    every = {label for side in sides for label in side}
    fits = (len(p.left), len(p.right)) == (x.ndim, y.ndim) and x.dtype == y.dtype
    distinct = all(len(set(side)) == len(side) for side in sides)
    shared = all(sum(label in side for side in sides) >= 2 for label in every)
    sizes = dict(zip(p.left, x.shape, strict=False))
    agree = all(sizes.setdefault(k, n) == n for k, n in zip(p.right, y.shape, strict=False))
    if not (fits and distinct and shared and agree):
        raise TypeError(f"cannot contract {x} {p.left} with {y} {p.right} to {p.out}")
    return (x.with_shape(tuple(sizes[label] for label in p.out)),)


def _impl(p: Contraction) -> Callable[..., Any]:
    """Reach BLAS by viewing the contraction as a stack of matrix products."""
    stack = [k for k in p.out if k in p.left and k in p.right]
    rows = [k for k in p.out if k not in p.right]
    columns = [k for k in p.out if k not in p.left]
    inner = [k for k in p.left if k in p.right and k not in p.out]
    if not stack and len(p.left) <= 2 and len(p.right) <= 2 and len(inner) == 1:
        return _plain(p, inner[0])
    left_axes = [p.left.index(k) for k in (*stack, *rows, *inner)]
    right_axes = [p.right.index(k) for k in (*stack, *inner, *columns)]
    natural = (*stack, *rows, *columns)
    back = tuple(natural.index(k) for k in p.out)

    def function(x: Any, y: Any) -> Any:
        x, y = np.asarray(x), np.asarray(y)
        sizes = dict(zip(p.left + p.right, x.shape + y.shape, strict=True))
        depth = tuple(sizes[k] for k in stack)
        m, n, q = (_product(sizes, group) for group in (rows, inner, columns))
        a = x.transpose(left_axes).reshape(*depth, m, n)
        b = y.transpose(right_axes).reshape(*depth, n, q)
        z = np.matmul(a, b) if inner else np.multiply(a, b)
        return z.reshape([sizes[k] for k in natural]).transpose(back)[()]

    return function


def _product(sizes: dict[int, int], labels: Sequence[int]) -> int:
    result = 1
    for label in labels:
        result *= sizes[label]
    return result


def _plain(p: Contraction, inner: int) -> Callable[..., Any]:
    """Products of vectors and matrices over one label: NumPy's matmul of views as they are."""
    flip_left = p.left.index(inner) != len(p.left) - 1
    flip_right = p.right.index(inner) != 0
    rows_first = len(p.out) < 2 or p.out[0] in p.left
    if not (flip_left or flip_right) and rows_first:
        return np.matmul

    def function(x: Any, y: Any) -> Any:
        z = np.matmul(x.T if flip_left else x, y.T if flip_right else y)
        return z if rows_first else z.T

    return function


def _transpose(p: Contraction, _types: Types, cts: Sequence[Any], xs: Tangents) -> Tangents:
    (ct,), (x, y) = cts, xs
    return [
        contract(ct, y, p.out, p.right, p.left) if x is None and y is not None else None,
        contract(x, ct, p.left, p.out, p.right) if y is None and x is not None else None,
    ]


def _batch(p: Contraction, _size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
    label = max((*p.left, *p.right), default=-1) + 1
    left, right = (
        (label, *side) if flag else side
        for side, flag in zip((p.left, p.right), batched, strict=True)
    )
    return [contract(xs[0], xs[1], left, right, (label, *p.out))]


contract_p: Final = multilinear(
    "contract",
    Contraction,
    abstract=_abstract_contract,
    impl=_impl,
    transpose=_transpose,
    batch=_batch,
    facts=Facts(fresh=True, product=True),
)


def contraction(left: Labels, right: Labels, out: Labels) -> Contraction:
    """Return the parameters with labels numbered in order of appearance."""
    names: dict[int, int] = {}
    for label in (*left, *right):
        names.setdefault(label, len(names))
    return Contraction(*(tuple(names[k] for k in side) for side in (left, right, out)))


def contract(x: Tracer, y: Tracer, left: Labels, right: Labels, out: Labels) -> Tracer:
    """Multiply and sum: axes with equal labels go together, those not in `out` are summed."""
    return bind(contract_p, contraction(left, right, out), x, y)[0]
