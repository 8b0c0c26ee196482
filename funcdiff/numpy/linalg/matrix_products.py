"""Products of vectors, matrices and tensors: every one is a `contract`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import implements, refusal_error
from funcdiff.numpy.border.promotion import (
    Shape,
    array,
    broadcast_shapes,
    broadcast_to,
    cast_all,
    promote_arrays,
)
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.shapes.arranging import diagonal
from funcdiff.numpy.shapes.shape import as_ints, expand_dims, normalize_axis, ravel, squeeze
from funcdiff.numpy.ufuncs.arithmetic import conjugate
from funcdiff.ops.products.contract import Contraction, contract, contract_p, contraction
from funcdiff.ops.structure import structural as ops
from funcdiff.space import reduce_sum

F = TypeVar("F", bound=Callable[..., Any])


# ---- stacks of vectors and matrices ------------------------------------------------------------


@implements(np.matmul, operands=2)
def matmul(x: Any, y: Any) -> Tracer:
    """Return the matrix product; stacks of matrices broadcast."""
    x, y = promote_arrays(x, y)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError(f"matmul: an operand is 0-d, at {user_location()}; use * instead")
    inner_left, inner_right = x.shape[-1], y.shape[max(-2, -y.ndim)]
    if inner_left != inner_right:
        raise ValueError(
            f"matmul: shapes {x.shape} and {y.shape} do not match: {inner_left} is not "
            f"{inner_right}"
        )
    depth = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if x.ndim > 2 and y.ndim > 2:
        x, y = (broadcast_to(z, (*depth, *z.shape[-2:])) for z in (x, y))
    return multiply_stacks(x, y)


def multiply_stacks(x: Tracer, y: Tracer) -> Tracer:
    """Return the matrix product of stacks of equal depth, or of which one is not a stack."""
    depth = max(x.ndim, y.ndim, 2) - 2
    labels = tuple(range(depth))
    row, inner, column = depth, depth + 1, depth + 2
    left = (*(labels if x.ndim > 2 else ()), *((row,) if x.ndim > 1 else ()), inner)
    right = (*(labels if y.ndim > 2 else ()), inner, *((column,) if y.ndim > 1 else ()))
    out = (*labels, *((row,) if x.ndim > 1 else ()), *((column,) if y.ndim > 1 else ()))
    return contract(x, y, left, right, out)


@implements("vecdot")
def vecdot(x: Any, y: Any) -> Tracer:
    """Return the inner products of stacks of vectors, conjugating the first."""
    x, y = _cores("vecdot", x, y, 1, 1)
    _check_sizes("vecdot", x.shape, y.shape, x.shape[-1], y.shape[-1])
    depth = broadcast_shapes(x.shape[:-1], y.shape[:-1])
    x, y = (broadcast_to(z, (*depth, z.shape[-1])) for z in (x, y))
    labels = tuple(range(len(depth)))
    inner = (*labels, len(depth))
    return contract(_conjugate(x), y, inner, inner, labels)


@implements("matvec")
def matvec(x: Any, y: Any) -> Tracer:
    """Return the products of stacks of matrices with stacks of vectors."""
    x, y = _cores("matvec", x, y, 2, 1)
    return squeeze(matmul(x, expand_dims(y, -1)), -1)


@implements("vecmat")
def vecmat(x: Any, y: Any) -> Tracer:
    """Return the products of stacks of vectors, conjugated, with stacks of matrices."""
    x, y = _cores("vecmat", x, y, 1, 2)
    return squeeze(matmul(expand_dims(_conjugate(x), -2), y), -2)


def _cores(name: str, x: Any, y: Any, left: int, right: int) -> list[Tracer]:
    """Return promoted operands that have as many axes as the product needs."""
    operands = promote_arrays(x, y)
    for k, (z, needed) in enumerate(zip(operands, (left, right), strict=True)):
        if z.ndim < needed:
            raise ValueError(
                f"{name}: Input operand {k} does not have enough dimensions (has {z.ndim}, needs "
                f"{needed})"
            )
    return operands


def _check_sizes(name: str, x: Shape, y: Shape, left: int, right: int) -> None:
    if left != right:
        raise ValueError(f"{name}: shapes {x} and {y} not aligned: {left} is not {right}")


# ---- tensors -----------------------------------------------------------------------------------


@implements(np.dot, operands=2)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Return the product over the last axis of `a` and the last but one of `b`."""
    x, y = promote_arrays(a, b)
    if not (x.ndim and y.ndim):
        return mutation.store("np.dot", np.multiply(x, y), out, casting="no")
    product = _over("np.dot", x, y, [-1], [max(-2, -y.ndim)])
    return mutation.store("np.dot", product, out, casting="no")


@implements(np.inner, operands=2)
def inner(a: Any, b: Any, /) -> Any:
    """Return the product over the last axes."""
    x, y = promote_arrays(a, b)
    if not (x.ndim and y.ndim):
        return np.multiply(x, y)
    return _over("np.inner", x, y, [-1], [-1])


def _conjugate(x: Tracer) -> Tracer:
    """Return the conjugate of a complex array; of booleans NumPy would make integers."""
    return conjugate(x) if x.dtype.kind == "c" else x


@implements(np.vdot, operands=2)
def vdot(a: Any, b: Any, /) -> Tracer:
    """Return the inner product of the flat arrays, conjugating the first."""
    x, y = (ravel(z) for z in promote_arrays(a, b))
    return _over("np.vdot", _conjugate(x), y, [0], [0])


@implements(np.tensordot, operands=2)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tracer:
    """Return the product over the given axes: a number of adjacent ones, or two lists."""
    x, y = promote_arrays(a, b)
    if np.iterable(axes):
        left, right = (as_ints(side) for side in axes)
    else:
        count = int(axes)
        left, right = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    if len(left) != len(right):
        raise ValueError(f"shape-mismatch for sum: axes {axes}")
    for side, z in ((left, x), (right, y)):
        if len({normalize_axis(axis, z.ndim) for axis in side}) < len(side):
            raise ValueError("duplicate axes are not allowed in tensordot")
    return _over("np.tensordot", x, y, left, right)


def _over(
    name: str, x: Tracer, y: Tracer, left_axes: Sequence[int], right_axes: Sequence[int]
) -> Tracer:
    """Return the product over pairs of axes; those left over follow each other."""
    product = _product_over(name, x.shape, y.shape, tuple(left_axes), tuple(right_axes))
    return bind(contract_p, product, x, y)[0]


@lru_cache(maxsize=4096)
def _product_over(
    name: str, x: Shape, y: Shape, left_axes: Shape, right_axes: Shape
) -> Contraction:
    """Return how arrays of two shapes are multiplied over pairs of axes."""
    left, right = list(range(len(x))), list(range(len(x), len(x) + len(y)))
    summed = []
    for i, j in zip(left_axes, right_axes, strict=True):
        i, j = normalize_axis(i, len(x)), normalize_axis(j, len(y))
        _check_sizes(name, x, y, x[i], y[j])
        right[j] = left[i]
        summed.append(left[i])
    kept = tuple(k for k in (*left, *right) if k not in summed)
    return contraction(tuple(left), tuple(right), kept)


@implements(np.outer, operands=2)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Return the products of all pairs of elements, as a matrix."""
    x, y = (ravel(z) for z in promote_arrays(a, b))
    return mutation.store("np.outer", contract(x, y, (0,), (1,), (0, 1)), out)


@implements(np.cross)
def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Any:
    """Return the vector product of stacks of vectors in space."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = promote_arrays(a, b)
    if not (x.ndim and y.ndim):
        raise ValueError("At least one array has zero dimension")
    x, y = np.moveaxis(x, axisa, -1), np.moveaxis(y, axisb, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise ValueError(
            f"np.cross needs vectors of dimension 3, got {x.shape[-1]} and {y.shape[-1]}, "
            f"at {user_location()}. In the plane write a[0]*b[1] - a[1]*b[0]."
        )
    u: Any = np.moveaxis(x, -1, 0)
    v: Any = np.moveaxis(y, -1, 0)
    product = [u[k - 2] * v[k - 1] - u[k - 1] * v[k - 2] for k in range(3)]
    return np.stack(product, axis=axisc)


# --------------------------------------------------------------------------------------------------
# ``np.einsum``: labels are parsed, then every step is a diagonal, a sum or a pair of operands.


Labels: TypeAlias = tuple[int, ...]
"""One number for each axis: a letter's code point, or -1, -2, ... for axes of the ellipsis."""


class Term(NamedTuple):
    """An operand and the labels of its axes."""

    x: Tracer
    labels: Labels


@implements(np.einsum, operands=inf)
def einsum(
    *operands: Any,
    out: Any = None,
    optimize: Any = False,
    dtype: Any = None,
    order: Any = "K",
    casting: Any = "safe",
) -> Any:
    """Multiply operands whose axes have labels, and sum over the labels the result has not."""
    subscripts, given = _separate(operands)
    if dtype is None:
        xs = promote_arrays(*given)
    else:
        xs = cast_all(given, np.dtype(dtype), casting, "einsum: cannot cast an operand")
    terms, result = _parse(subscripts, xs)
    terms = _drop_broadcast(terms)
    terms = [_simplify(term, terms, result) for term in terms]
    for step in _path(terms, result, optimize):
        product, *others = (terms[k] for k in step)
        terms = [term for k, term in enumerate(terms) if k not in step]
        for k, other in enumerate(others, 1):
            product = _product(product, other, [*others[k:], *terms], result)
        terms.append(product)
    (last,) = terms
    value = ops.permute(last.x, tuple(last.labels.index(k) for k in result))
    if len(xs) == 1:  # of one operand, NumPy returns a view wherever it can
        value = views.view(xs[0], value, _of_one(*operands))
    return mutation.store("np.einsum", value, out)


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """Return the order of contraction, which depends on shapes only."""
    if einsum_call:
        raise refusal_error("np.einsum_path(einsum_call=)", "Leave einsum_call out.")
    subscripts, given = _separate(operands)
    return np.einsum_path(subscripts, *map(_shape_only, given), optimize=optimize)


def _shape_only(value: Any) -> np.ndarray[Any, Any]:
    return np.broadcast_to(np.float64(0), array(value).shape)


def _of_one(first: Any, *others: Any) -> Callable[[Any], Any]:
    """Return the same call of one operand as a function of it."""
    if isinstance(first, str):
        return lambda b: np.einsum(first, b)
    return lambda b: np.einsum(b, *others)


# ---- subscripts --------------------------------------------------------------------------------


def _separate(operands: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the subscripts as text, and the operands; both of NumPy's forms are understood."""
    if not operands:
        raise ValueError("No input operands")
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    count = len(operands) // 2
    sides = ",".join(_text(operands[2 * k + 1]) for k in range(count))
    if len(operands) % 2:
        sides += f"->{_text(operands[-1])}"
    return sides, [operands[2 * k] for k in range(count)]


def _text(labels: Sequence[Any]) -> str:
    """Return labels given as a list of numbers, 0 to 51, and Ellipsis as letters."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    return "".join("..." if k is Ellipsis else letters[k] for k in labels)


def _parse(subscripts: str, xs: list[Tracer]) -> tuple[list[Term], Labels]:
    inputs, arrow, output = subscripts.partition("->")
    sides = inputs.split(",")
    if len(sides) != len(xs):
        raise ValueError(f"einsum: {len(sides)} operand(s) in {subscripts!r}, but {len(xs)} given")
    terms = [Term(x, _axis_labels(side, x.ndim)) for side, x in zip(sides, xs, strict=True)]
    counts = Counter(label for term in terms for label in term.labels)
    free = tuple(sorted(k for k in counts if k < 0))
    if not arrow:
        return terms, (*free, *sorted(k for k, n in counts.items() if k > 0 and n == 1))
    result = _expand(output, free)
    if len(set(result)) != len(result) or not set(result) <= set(counts):
        raise ValueError(
            f"einsum: the output {output!r} repeats a label or has one that no operand has"
        )
    if not set(free) <= set(result):
        raise ValueError(f"einsum: the output {output!r} has no ellipsis for the broadcast axes")
    return terms, result


def _axis_labels(side: str, ndim: int) -> Labels:
    """Return the labels of an operand; axes of the ellipsis count back from its last: -1."""
    named = len(side.replace("...", ""))
    count = ndim - named if "..." in side else 0
    labels = _expand(side, tuple(range(-count, 0)))
    if len(labels) != ndim:
        raise ValueError(f"einsum: {side!r} has {named} label(s) for an operand of {ndim} axes")
    return labels


def _expand(side: str, free: Labels) -> Labels:
    before, dots, behind = side.partition("...")
    if not (before + behind).isalpha() and before + behind:
        raise ValueError(f"einsum: invalid subscripts {side!r}")
    return (*map(ord, before), *(free if dots else ()), *map(ord, behind))


# ---- operands ----------------------------------------------------------------------------------


def _drop_broadcast(terms: list[Term]) -> list[Term]:
    """Drop axes of length 1 whose label is longer elsewhere: they broadcast."""
    sizes: dict[int, int] = {}
    for term in terms:
        for label, n in zip(term.labels, term.x.shape, strict=True):
            if sizes.setdefault(label, n) == 1:
                sizes[label] = n
            if n not in (1, sizes[label]):
                name = repr(chr(label)) if label > 0 else "of the ellipsis"
                raise ValueError(
                    f"einsum: the label {name} has length {sizes[label]} in one operand and {n} "
                    "in another"
                )

    def without_ones(term: Term) -> Term:
        kept = [(k, n) for k, n in zip(term.labels, term.x.shape, strict=True) if n == sizes[k]]
        return Term(ops.reshape(term.x, tuple(n for _, n in kept)), tuple(k for k, _ in kept))

    return [without_ones(term) for term in terms]


def _simplify(term: Term, terms: list[Term], result: Labels) -> Term:
    """Take the diagonal of repeated labels and sum over those that nobody else has."""
    x, labels = term
    for label in [k for k, n in Counter(labels).items() for _ in range(n - 1)]:
        first = labels.index(label)
        second = labels.index(label, first + 1)
        x = diagonal(x, 0, first, second)
        labels = (*(k for j, k in enumerate(labels) if j not in (first, second)), label)
    others = {k for other in terms if other is not term for k in other.labels}
    alone = tuple(j for j, k in enumerate(labels) if k not in others and k not in result)
    kept = tuple(k for j, k in enumerate(labels) if j not in alone)
    return Term(reduce_sum(x, alone), kept)


def _product(left: Term, right: Term, rest: list[Term], result: Labels) -> Term:
    """Multiply two operands, summing over the labels that are needed no more."""
    needed = set(result).union(*(term.labels for term in rest))
    kept = tuple(k for k in dict.fromkeys((*left.labels, *right.labels)) if k in needed)
    order = tuple(k for k in result if k in kept)
    kept = (*order, *(k for k in kept if k not in order))
    return Term(contract(left.x, right.x, left.labels, right.labels, kept), kept)


def _path(terms: list[Term], result: Labels, optimize: Any) -> Sequence[tuple[int, ...]]:
    """Return which operands to multiply; each product goes to the end of the list."""
    if len(terms) <= 2:
        return [tuple(range(len(terms)))]
    labels = sorted({k for term in terms for k in term.labels})
    arguments: list[Any] = []
    for term in terms:
        arguments += [_shape_only(term.x), [labels.index(k) for k in term.labels]]
    arguments.append([labels.index(k) for k in result])
    _, *steps = np.einsum_path(*arguments, optimize=optimize or "greedy")[0]
    return [tuple(step) for step in steps]
