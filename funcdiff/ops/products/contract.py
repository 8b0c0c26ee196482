"""One contraction with axis labels: dot, matmul, inner, outer, tensordot, vecdot, einsum pairs.

``out[k…] = Σ left[i…]·right[j…]`` over the labels that `out` does not have.  Its transpose swaps
an operand's labels with the output's, and its batch rule prepends a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

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


class Arrangement(NamedTuple):
    """A contraction as a stack of products of matrices: where every label belongs.

    Attributes
    ----------
    stack
        Labels of both operands and the result.
    rows, columns
        Labels of the result and the left, or the right, operand alone.
    inner
        Labels that are summed over.
    """

    stack: Labels
    rows: Labels
    inner: Labels
    columns: Labels

    @property
    def natural(self) -> Labels:
        """The labels of the stack of products."""
        return (*self.stack, *self.rows, *self.columns)


def arrangement(p: Contraction) -> Arrangement:
    """Return how a contraction is a stack of products of matrices."""
    return Arrangement(
        tuple(k for k in p.out if k in p.left and k in p.right),
        tuple(k for k in p.out if k not in p.right),
        tuple(k for k in p.left if k in p.right and k not in p.out),
        tuple(k for k in p.out if k not in p.left),
    )


def is_matrix_product(p: Contraction) -> bool:
    """Whether NumPy's matmul takes the operands as they are, or their transposes."""
    at = arrangement(p)
    return len(p.left) <= 2 and len(p.right) <= 2 and len(at.inner) == 1 and not at.stack


def lengths(p: Contraction, x: Sequence[int], y: Sequence[int]) -> dict[int, int]:
    """Return the length of the axes of every label, given the shapes of the operands."""
    return dict(zip((*p.left, *p.right), (*x, *y), strict=True))


def _impl(p: Contraction) -> Callable[..., Any]:
    """Reach BLAS by viewing the contraction as a stack of matrix products."""
    at = arrangement(p)
    if is_matrix_product(p):
        return _plain(p, at.inner[0])
    stack, rows, inner, columns = at
    left_axes = [p.left.index(k) for k in (*stack, *rows, *inner)]
    right_axes = [p.right.index(k) for k in (*stack, *inner, *columns)]
    natural = at.natural
    back = tuple(natural.index(k) for k in p.out)

    def function(x: Any, y: Any) -> Any:
        x, y = np.asarray(x), np.asarray(y)
        sizes = dict(zip(p.left + p.right, x.shape + y.shape, strict=True))
        depth = [sizes[k] for k in stack]
        m, n, q = (prod([sizes[k] for k in group]) for group in (rows, inner, columns))
        a = x.transpose(left_axes).reshape(*depth, m, n)
        b = y.transpose(right_axes).reshape(*depth, n, q)
        z = np.matmul(a, b) if inner else np.multiply(a, b)
        return z.reshape([sizes[k] for k in natural]).transpose(back)[()]

    return function


def _plain(p: Contraction, inner: int) -> Callable[..., Any]:
    """Products of vectors and matrices over one label: NumPy's matmul of views as they are."""
    flip_left, flip_right = p.left[-1] != inner, p.right[0] != inner
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
