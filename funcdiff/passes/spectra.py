"""Products that are functions of a Hermitian matrix: V·f(w)·Vᴴ with w and V from `eigh`.

Their derivative exists at equal eigenvalues, where those of w and V do not.  The value stays as
it is computed; `spectral` gives it the derivative of the whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder, Tracer, bind, constant
from funcdiff.core.primitive import Operation, Primitive
from funcdiff.core.types import real_dtype
from funcdiff.core.walk import made_by
from funcdiff.ops import elementwise
from funcdiff.ops.complex import conj, conj_p, imag_p, real_p
from funcdiff.ops.contract import Contraction, contract_p
from funcdiff.ops.factorizations import eigh_p
from funcdiff.ops.families import by_ufunc
from funcdiff.ops.slicing import slice_p
from funcdiff.ops.spectral import Spectral, spectral, spectral_p
from funcdiff.ops.structural import (
    concatenate_p,
    convert,
    convert_p,
    permute_p,
    reshape,
    reshape_p,
    select_p,
)
from funcdiff.passes.algebra import same
from funcdiff.passes.rewriting import Rules
from funcdiff.space import broadcast, broadcast_p, mul, mul_p, splat

_LONGEST: Final = 200
"""Equations that a function of the eigenvalues may have."""


@dataclass(frozen=True)
class _Scale:
    """A factor for each eigenvector: a value of the shape of the eigenvalues."""

    value: Tracer
    inverse: bool = False
    conjugate: bool = False


@dataclass(frozen=True)
class _Factor:
    """Eigenvectors, scaled, perhaps conjugated, perhaps as rows: what one operand may be."""

    a: Tracer
    lower: bool
    w: Tracer
    v: Tracer
    as_rows: bool = False
    conjugate: bool = False
    scales: tuple[_Scale, ...] = ()

    @property
    def axis(self) -> int:
        """The axis that numbers the eigenvectors."""
        return self.v.ndim - (2 if self.as_rows else 1)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that are those of the eigenvalues."""
        return (*range(self.v.ndim - 2), self.axis)

    def scaled(self, scale: _Scale | None) -> _Factor | None:
        """Return the factor with one more scale."""
        return None if scale is None else replace(self, scales=(*self.scales, scale))


# ---- the factors ---------------------------------------------------------------------------------


def _factor(x: Tracer) -> _Factor | None:
    """Recognise scaled eigenvectors."""
    for primitive, read in _READERS.items():
        found = made_by(x, primitive)
        if found:
            return read(found[0], *found[1])
    return _eigenvectors(x)


def _eigenvectors(v: Tracer) -> _Factor | None:
    """Recognise the second result of `eigh`."""
    if v.builder is None or v.ndim < 2 or not isinstance(v.atom, int) or v.atom == 0:
        return None
    values = v.type.with_shape(v.shape[:-1]).with_dtype(real_dtype(v.dtype))
    w = v.builder.handle(v.builder, v.atom - 1, values)
    found = made_by(w, eigh_p) if not v.builder.entries[v.atom] else None
    return _Factor(found[1][0], found[0].lower, w, v) if found else None


def _permuted(p: Any, x: Tracer) -> _Factor | None:
    factor, stack = _factor(x), range(x.ndim - 2)
    if factor is None or p.axes != (*stack, x.ndim - 1, x.ndim - 2):
        return None
    return replace(factor, as_rows=not factor.as_rows)


def _conjugated(_p: Any, x: Tracer) -> _Factor | None:
    factor = _factor(x)
    if factor is None:
        return None
    scales = tuple(replace(s, conjugate=not s.conjugate) for s in factor.scales)
    return replace(factor, conjugate=not factor.conjugate, scales=scales)


def _multiplied(_p: Any, x: Tracer, y: Tracer) -> _Factor | None:
    for candidate, other in ((x, y), (y, x)):
        factor = _factor(candidate)
        if factor:
            return factor.scaled(_scale(factor, other))
    return None


def _divided(_p: Any, x: Tracer, y: Tracer) -> _Factor | None:
    factor = _factor(x)
    scale = factor and _scale(factor, y)
    return factor.scaled(replace(scale, inverse=True)) if factor and scale else None


def _scale(factor: _Factor, x: Tracer) -> _Scale | None:
    """Recognise what is equal for all elements of an eigenvector."""
    if splat(x) is not None:
        return _Scale(constant(splat(x), factor.w.type.with_dtype(x.dtype)))
    found = made_by(x, broadcast_p)
    if not found or not set(found[0].axes) <= set(factor.axes):
        return None
    p, (inner,) = found
    if inner.shape == factor.w.shape:
        return _Scale(inner)
    return _Scale(broadcast(inner, factor.w.shape, tuple(map(factor.axes.index, p.axes))))


def _contracted(p: Contraction, x: Tracer, y: Tracer) -> _Factor | None:
    """Recognise a product with a vector of scales, or with the matrix that has them as diagonal."""
    sides = (x, p.left, y, p.right), (y, p.right, x, p.left)
    for candidate, labels, other, others in sides:
        factor = _factor(candidate)
        if factor is None:
            continue
        numbers = labels[factor.axis]
        if others == tuple(labels[k] for k in factor.axes):
            scale: _Scale | None = _Scale(other)
            renamed = p.out
        elif len(others) == 2 and numbers in others and numbers not in p.out:
            scale = _on_diagonal(other)
            (named,) = set(others) - {numbers}
            renamed = tuple(numbers if k == named else k for k in p.out)
        else:
            return None
        flipped = (*labels[:-2], labels[-1], labels[-2])
        if renamed not in (labels, flipped):
            return None
        turned = replace(factor, as_rows=factor.as_rows != (renamed == flipped))
        return turned.scaled(scale)
    return None


def _on_diagonal(matrix: Tracer) -> _Scale | None:
    """Recognise what `np.diag` records, by what its steps make of a probe."""
    steps: list[tuple[Callable[..., Any], list[Any], int]] = []
    converted = made_by(matrix, convert_p)
    (x,), n = converted[1] if converted else [matrix], matrix.shape[0]
    while x.shape != (n,):
        found, step = None, None
        for primitive in (reshape_p, slice_p, concatenate_p):
            found = found or made_by(x, primitive)
            step = step or (found and primitive.impl(found[0]))
        moving = [k for k, y in enumerate(found[1]) if splat(y) != 0] if found else []
        if not found or not step or len(moving) != 1:
            return None
        zeros = [np.zeros(y.shape) if splat(y) == 0 else None for y in found[1]]
        steps.append((step, zeros, moving[0]))
        x = found[1][moving[0]]
    probe: Any = np.arange(1.0, n + 1)
    result = probe
    for function, operands, place in reversed(steps):
        result = function(*operands[:place], result, *operands[place + 1 :])
    return _Scale(x) if np.array_equal(result, np.diag(probe)) else None


_READERS: Final[dict[Primitive[Any], Callable[..., _Factor | None]]] = {
    permute_p: _permuted,
    conj_p: _conjugated,
    convert_p: lambda _p, x: _factor(x),
    mul_p: _multiplied,
    elementwise.div.primitive: _divided,
    contract_p: _contracted,
}


# ---- the function --------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _pointwise() -> frozenset[Primitive[Any]]:
    lone = (elementwise.root_of_squares, elementwise.square_of_root)
    single: tuple[Primitive[Any], ...] = (convert_p, select_p, real_p, imag_p, conj_p)
    return frozenset((*single, *(op.primitive for op in (*by_ufunc.values(), *lone))))


class _Body:
    """Copies the equations between the eigenvalues and a scale to a program of their own.

    Inputs, and what does not depend on the number of the eigenvalue, become parameters.  Axes of
    length one, which only serve NumPy's broadcasting, are dropped.
    """

    def __init__(self, w: Tracer) -> None:
        self.builder = Builder("spectral", closed=True, shares=True)
        self.w = w
        self.result = self.builder.input(w.type)
        self.parameters: list[Tracer] = []
        self.several: list[int] = []
        self.copies: dict[Any, Tracer] = {w.atom: self.result}
        self.depends = False

    def copy(self, x: Tracer) -> Tracer | None:
        """Return `x` as a value of the body, or None if it is no function of one eigenvalue."""
        self.depends = self.depends or same(x, self.w)
        if x.builder is None:
            return constant(splat(x), self.w.type.with_dtype(x.dtype))
        if x.atom in self.copies:
            return self.copies[x.atom]
        if _long_axes(x) != _long_axes(self.w) or len(self.copies) > _LONGEST:
            return None
        parameter = self._parameter(x)
        made = self._computed(x) if parameter is None else self._taken(parameter)
        if made is not None:
            self.copies[x.atom] = made
        return made

    def _taken(self, parameter: Tracer) -> Tracer:
        self.parameters.append(parameter)
        return self.builder.input(parameter.type)

    def _parameter(self, x: Tracer) -> Tracer | None:
        """Return what to take as a parameter: an input, or what is equal for all eigenvalues."""
        assert x.builder is not None
        assert isinstance(x.atom, int)
        shape = self.w.shape
        if x.builder.entries[x.atom] == (x.type,) and x.type.differentiable:
            self.several.append(len(self.parameters))
            return reshape(x, shape)
        found = made_by(x, broadcast_p)
        if not found or (found[0].axes and (x.shape != shape or x.ndim - 1 in found[0].axes)):
            return None
        return broadcast(found[1][0], shape, found[0].axes)

    def _computed(self, x: Tracer) -> Tracer | None:
        assert x.builder is not None
        assert isinstance(x.atom, int)
        head, *_ = x.builder.entries[x.atom] or (None,)
        if not isinstance(head, Operation):
            return None
        reshapes = head.primitive is reshape_p
        if not reshapes and head.primitive not in _pointwise():
            return None
        found = made_by(x, head.primitive)
        assert found is not None
        operands = []
        for y in found[1]:
            copied = self.copy(y)
            if copied is None:
                return None
            operands.append(copied)
        if reshapes:
            return operands[0]
        with self.builder:
            return bind(head.primitive, found[0], *operands)[0]


def _long_axes(x: Tracer) -> tuple[int, ...]:
    return tuple(n for n in x.shape if n != 1)


def _function(factor: _Factor, dtype: Any) -> _Body | None:
    """Return the product of the scales as a function f of the eigenvalues, if it is one."""
    body = _Body(factor.w)
    total = constant(1, factor.w.type.with_dtype(dtype))
    for scale in factor.scales:
        value = body.copy(scale.value)
        if value is None:
            return None
        with body.builder:
            value = convert(value, dtype)
            value = conj(value) if scale.conjugate and dtype.kind == "c" else value
            total = elementwise.div(total, value) if scale.inverse else mul(total, value)
    body.result = total
    return body if body.depends else None


# ---- the product ---------------------------------------------------------------------------------


def _function_of_matrix(_emit: Any, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """V·f(w)·Vᴴ is spectral(V·f(w)·Vᴴ), which has the derivative of the whole."""
    left, right = _factor(x), _factor(y)
    if left is None or right is None or not same(left.v, right.v):
        return None
    if x.dtype.kind == "c" and left.conjugate == right.conjugate and left.v.dtype.kind == "c":
        return None
    stack, number = p.left[: x.ndim - 2], p.left[left.axis]
    if p.right[: x.ndim - 2] != stack or p.right[right.axis] != number or number in p.out:
        return None
    (row,), (column,) = (set(side) - {*stack, number} for side in (p.left, p.right))
    if left.conjugate:
        row, column = column, row
    if p.out[:-2] != stack or row == column:
        return None
    body = _function(replace(left, scales=(*left.scales, *right.scales)), x.dtype)
    if body is None:
        return None
    program = body.builder.program([body.result])
    params = Spectral(program, left.lower, p.out[-2:] == (column, row), tuple(body.several))
    product = bind(contract_p, p, x, y)[0]
    return spectral(params, [product, left.a, *body.parameters])


def _spectral_twice(_emit: Any, _p: Spectral, y: Tracer, *xs: Tracer) -> Tracer | None:
    """spectral(spectral(y)) = spectral(y)."""
    found = made_by(y, spectral_p)
    return y if found and same(found[1][1], xs[0]) else None


rules: Final[Rules] = {
    contract_p: (_function_of_matrix,),
    spectral_p: (_spectral_twice,),
}
