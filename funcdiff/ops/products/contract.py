"""One contraction with axis labels: dot, matmul, inner, outer, tensordot, vecdot, einsum pairs.

``out[k…] = Σ left[i…]·right[j…]`` over the labels that `out` does not have.  Its transpose swaps
an operand's labels with the output's, and its batch rule prepends a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.access import Access
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Facts, Params, Primitive, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.families import multilinear

Labels: TypeAlias = tuple[int, ...]
L = TypeVar("L", bound="Contraction")


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
    """A contraction as a stack of products of matrices: where every label belongs."""

    stack: Labels  # of both operands and the result
    rows: Labels  # of the result and the left operand alone
    inner: Labels  # those summed over
    columns: Labels  # of the result and the right operand alone

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


@lru_cache(maxsize=1024)
def _impl(p: Contraction) -> Callable[..., Any]:
    """Reach BLAS by viewing the contraction as a stack of matrix products."""
    at = arrangement(p)
    if is_matrix_product(p):
        return _plain(p, at.inner[0])
    if is_product_of_elements(at):
        return _of_elements(p, at)
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


def is_product_of_elements(at: Arrangement) -> bool:
    """Whether nothing is summed, and one new axis in each operand makes them broadcast."""
    return not at.inner and len(at.rows) <= 1 and len(at.columns) <= 1


def _of_elements(p: Contraction, at: Arrangement) -> Callable[..., Any]:
    """Products of elements, in the same layout as written code has them: bits depend on that."""
    left_axes = [p.left.index(k) for k in (*at.stack, *at.rows)]
    right_axes = [p.right.index(k) for k in (*at.stack, *at.columns)]
    back = tuple(at.natural.index(k) for k in p.out)
    whole = (slice(None),) * len(at.stack)
    left_index = (*whole, *(slice(None) for _ in at.rows), *((None,) if at.columns else ()))
    right_index = (*whole, None) if at.rows and at.stack else ()

    def function(x: Any, y: Any) -> Any:
        a = x.transpose(left_axes)[left_index]
        b = y.transpose(right_axes)[right_index]
        return (a * b).transpose(back)[()]

    return function


# ---- the rules of products with labels -----------------------------------------------------------


def exchange(p: L, operand: int, _shape: tuple[int, ...]) -> L:
    """Return the product of the result, in the place of an operand, with the other operand."""
    sides = [p.left, p.right]
    out, sides[operand] = sides[operand], p.out
    return replace(p, left=sides[0], right=sides[1], out=out)


def with_batch_label(p: L, batched: Sequence[bool]) -> L:
    """Return the product of which some operands, and the result, have a further axis in front."""
    label = max((*p.left, *p.right), default=-1) + 1
    left, right = (
        (label, *side) if flag else side
        for side, flag in zip((p.left, p.right), batched, strict=True)
    )
    return replace(p, left=left, right=right, out=(label, *p.out))


def renumber(p: L) -> L:
    """Return the same product with labels numbered in order of appearance."""
    labels = contraction(p.left, p.right, p.out)
    return replace(p, left=labels.left, right=labels.right, out=labels.out)


def access_product(p: Any, types: Types) -> Access:
    """Return the labels of a product: axes behind those that have some slide, and a mask follows.

    A mask, if there is one, is of the operand ``p.masked``.
    """
    sides = [p.left, p.right, *([(p.left, p.right)[p.masked]] if types[2:] else [])]
    mixed = (None,) * (types[0].ndim - len(p.left))
    return Access(((*p.out, *mixed),), tuple([(*side, *mixed) for side in sides]), np.add)


def bilinear_product(
    name: str,
    params: type[L],
    *,
    abstract: Callable[..., Types],
    impl: Callable[[L], Callable[..., Any]],
    solve_for: Callable[[L, int, tuple[int, ...]], L],
) -> Primitive[L]:
    """Declare a product of two operands with labels.

    ``solve_for(p, k, shape)`` gives the product that is the cotangent of operand k of that shape,
    with the cotangent of the result in its place.
    """

    def transpose(p: L, types: Types, cts: Sequence[Any], xs: Sequence[Any]) -> Tangents:
        k = 0 if xs[0] is None else 1
        operands = [*xs[:k], cts[0], *xs[k + 1 :]]
        (ct,) = bind(primitive, renumber(solve_for(p, k, types[k].shape)), *operands)
        return [None if x is not None else ct for x in xs]

    def batch(p: L, _size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
        return bind(primitive, renumber(with_batch_label(p, batched)), *xs)

    primitive = multilinear(
        name,
        params,
        abstract=abstract,
        impl=Implementation(impl, fresh=True),
        transpose=transpose,
        batch=batch,
        access=access_product,
        facts=Facts("multiplied"),
    )
    return primitive


contract_p: Final = bilinear_product(
    "contract", Contraction, abstract=_abstract_contract, impl=_impl, solve_for=exchange
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
