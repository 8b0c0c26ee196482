"""Recognises V·f(w)·Vᴴ and Σ f(w) of `eigh`, U·f(s)·Vᴴ and Σ f(s) of `svd`.

Their derivatives exist at equal values, where those of the values and vectors do not.  The value
stays as it is computed; `spectral`, `singular_function` and their sums give it the derivatives of
the whole.  The function f is read off the recording: what leads from the values to a scale, if
that is elementwise, is a program of one number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Operation, Params, Primitive
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.walk import made_by, maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.ops.elementwise import mathematics
from funcdiff.ops.elementwise.complex import conj, conj_p
from funcdiff.ops.linalg.factorizations import eigh_p, eigvalsh_p
from funcdiff.ops.linalg.matrices import matrix_transpose
from funcdiff.ops.linalg.matrix_functions import (
    Spectral,
    SpectralSum,
    spectral,
    spectral_p,
    spectral_sum,
    spectral_sum_p,
)
from funcdiff.ops.linalg.radial_functions import radial_p
from funcdiff.ops.linalg.singular import svd_p, svdvals_p
from funcdiff.ops.linalg.singular_functions import (
    SingularFunction,
    SingularSum,
    singular_function,
    singular_function_p,
    singular_sum,
    singular_sum_p,
)
from funcdiff.ops.linalg.systems import Triangle
from funcdiff.ops.products.contract import Contraction, contract_p
from funcdiff.ops.structure.slicing import Slice, slice_p
from funcdiff.ops.structure.structural import (
    Permutation,
    concatenate_p,
    convert,
    convert_p,
    permute_p,
    reshape,
    reshape_p,
)
from funcdiff.passes.rewrites.rewriter import Emit, Rules, is_same
from funcdiff.space import Axes, broadcast, broadcast_p, mul, mul_p, reduce_sum_p, splat
from funcdiff.transforms.jvp import jvp

_LONGEST: Final = 200
"""Equations that a function of the eigenvalues may have."""


@dataclass(frozen=True)
class Scale:
    """A factor for each vector: a value of the shape of the eigenvalues."""

    value: Tracer
    inverse: bool = False
    conjugate: bool = False


class Body:
    """Copies the equations between the eigenvalues and a scale to a program of their own.

    Inputs, and what does not depend on the number of the eigenvalue, become parameters.  Axes of
    length one, which only serve NumPy's broadcasting, are dropped.
    """

    def __init__(self, w: Tracer) -> None:
        self.builder = Builder("spectral", SHARED)
        self.w = w
        self.result = self.builder.input(w.type)
        self.parameters: list[Tracer] = []
        self.copies: dict[Any, Tracer] = {w.atom: self.result}

    def copy(self, x: Tracer) -> Tracer | None:
        """Return `x` as a value of the body, or None if it is no function of one eigenvalue."""
        if x.builder is None:
            return constant(splat(x), self.w.type.with_dtype(x.dtype))
        if x.atom in self.copies:
            return self.copies[x.atom]
        value = made_by(x, radial_p)  # a mark that the body will have itself, where it is due
        if value:
            return self.copy(value[1][0])
        if _long_axes(x) != _long_axes(self.w) or len(self.copies) > _LONGEST:
            return None
        parameter = self._parameter(x)
        if parameter is None:
            made = self._copy_equation(x)
        else:
            self.parameters.append(parameter)
            with self.builder:
                taken = self.builder.input(parameter.type)
                made = broadcast(taken, self.w.shape, tuple(range(taken.ndim)))
        if made is not None:
            self.copies[x.atom] = made
        return made

    def _parameter(self, x: Tracer) -> Tracer | None:
        """Return what to take as a parameter: an input, or what is equal for all eigenvalues.

        The latter has one value per matrix.
        """
        assert x.builder is not None
        assert isinstance(x.atom, int)
        shape = self.w.shape
        if x.builder.entries[x.atom] == (x.type,) and x.type.differentiable:
            return reshape(x, shape)
        found = made_by(x, broadcast_p)
        if not found or (found[0].axes and (x.shape != shape or x.ndim - 1 in found[0].axes)):
            return None
        return broadcast(found[1][0], shape[:-1], found[0].axes)

    def _copy_equation(self, x: Tracer) -> Tracer | None:
        head = maker(x)
        if head is None:
            return None
        if not _keeps_numbers(head):
            return None
        operands = []
        for y in operands_of(x, head):
            copied = self.copy(y)
            if copied is None:
                return None
            operands.append(copied)
        if not head.primitive.pointwise:
            return operands[0]
        with self.builder:
            return bind(head.primitive, head.params, *operands)[0]


def _keeps_numbers(head: Operation) -> bool:
    """Whether an operation makes of each number one of its own: elementwise, or a reshape."""
    return head.primitive is reshape_p or head.primitive.pointwise


def _long_axes(x: Tracer) -> tuple[int, ...]:
    return tuple(n for n in x.shape if n != 1)


def function_of(w: Tracer, scales: Sequence[Scale], dtype: Any) -> Body | None:
    """Return the product of the scales as a function f of the eigenvalues, if it is one."""
    body = Body(w)
    total = constant(1, w.type.with_dtype(dtype))
    for scale in scales:
        value = body.copy(scale.value)
        if value is None:
            return None
        with body.builder:
            value = convert(value, dtype)
            value = conj(value) if scale.conjugate and dtype.kind == "c" else value
            total = mathematics.div(total, value) if scale.inverse else mul(total, value)
    body.result = total
    return body


def values_of(x: Tracer, recognise: Callable[[Tracer], object]) -> Tracer | None:
    """Return the values that elementwise operations lead from to `x`, if there are any."""
    waiting: list[Tracer] = [x]
    seen: set[Any] = set()
    while waiting and len(seen) < _LONGEST:
        y = waiting.pop()
        if y.builder is None or y.atom in seen:
            continue
        seen.add(y.atom)
        head, marked = maker(y), made_by(y, radial_p)
        if marked:
            waiting.append(marked[1][0])
        elif head is not None and _keeps_numbers(head):
            waiting += operands_of(y, head)
        elif recognise(y):
            return y
    return None


@dataclass(frozen=True)
class _Factor:
    """Vectors of a matrix, scaled, perhaps conjugated, perhaps as rows: what an operand may be.

    `made` are the parameters of the factorization; `left` says which singular vectors they are.
    """

    a: Tracer
    made: Any
    w: Tracer
    left: bool | None = None
    as_rows: bool = False
    conjugate: bool = False
    scales: tuple[Scale, ...] = ()

    @property
    def axis(self) -> int:
        """The axis that numbers the vectors."""
        return self.a.ndim - (2 if self.as_rows else 1)

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that are those of the values."""
        return (*range(self.a.ndim - 2), self.axis)

    def scale(self, scale: Scale | None) -> _Factor | None:
        """Return the factor with one more scale."""
        return None if scale is None else replace(self, scales=(*self.scales, scale))


# ---- the factors ---------------------------------------------------------------------------------


def _factor(x: Tracer) -> _Factor | None:
    """Recognise scaled vectors."""
    head = maker(x)
    read = None if head is None else _READERS.get(head.primitive)
    if head is not None and read is not None:
        return read(head.params, *operands_of(x, head))
    factor = _vectors(x)
    return factor if factor and x.shape[factor.axis] == factor.w.shape[-1] else None


def _vectors(x: Tracer) -> _Factor | None:
    """Recognise what `eigh` or `svd` returns."""
    for primitive, place, value, left in _VECTORS:
        if found := _result(x, primitive, place, value):
            made, a, w = found
            right = left is False
            return _Factor(a, made, w, left, as_rows=right, conjugate=right)
    return None


_VECTORS: Final[tuple[tuple[Primitive[Any], int, int, bool | None], ...]] = (
    (eigh_p, 1, 0, None), (svd_p, 0, 1, True), (svd_p, 2, 1, False),
)  # fmt: skip
"""Factorizations, at which places of their results vectors and values are, and `_Factor.left`."""


def _result(
    x: Tracer, primitive: Primitive[Any], place: int, other: int
) -> tuple[Any, Tracer, Tracer] | None:
    """Return parameters, operand and another result of the equation that `x` is a result of."""
    if x.builder is None or not isinstance(x.atom, int) or x.atom < place:
        return None
    first = x.atom - place
    head, *_ = x.builder.entries[first] or (None,)
    if not isinstance(head, Operation) or head.primitive is not primitive:
        return None
    if any(x.builder.entries[first + 1 : x.atom + 1]):
        return None
    results = [Builder.handle(x.builder, first + k, t) for k, t in enumerate(head.results)]
    found = made_by(results[0], primitive)
    assert found is not None
    return found[0], found[1][0], results[other]


def _first_ones(p: Slice, x: Tracer) -> _Factor | None:
    """Recognise the singular vectors that belong to singular values, of as many as rows."""
    factor = _vectors(x)
    if factor is None or factor.left is None:
        return None
    wanted = list(x.shape)
    wanted[factor.axis] = factor.w.shape[-1]
    steps = (1,) * x.ndim
    return factor if p == Slice((0,) * x.ndim, tuple(wanted), steps) else None


def _read_permuted(p: Permutation, x: Tracer) -> _Factor | None:
    factor, stack = _factor(x), range(x.ndim - 2)
    if factor is None or p.axes != (*stack, x.ndim - 1, x.ndim - 2):
        return None
    return replace(factor, as_rows=not factor.as_rows)


def _read_conjugate(_p: Params, x: Tracer) -> _Factor | None:
    factor = _factor(x)
    if factor is None:
        return None
    scales = tuple(replace(s, conjugate=not s.conjugate) for s in factor.scales)
    return replace(factor, conjugate=not factor.conjugate, scales=scales)


def _read_product(_p: Params, x: Tracer, y: Tracer) -> _Factor | None:
    for candidate, other in ((x, y), (y, x)):
        factor = _factor(candidate)
        if factor:
            return factor.scale(_scale(factor, other))
    return None


def _read_quotient(_p: Params, x: Tracer, y: Tracer) -> _Factor | None:
    factor = _factor(x)
    scale = factor and _scale(factor, y)
    return factor.scale(replace(scale, inverse=True)) if factor and scale else None


def _scale(factor: _Factor, x: Tracer) -> Scale | None:
    """Recognise what is equal for all elements of an eigenvector."""
    if splat(x) is not None:
        return Scale(constant(splat(x), factor.w.type.with_dtype(x.dtype)))
    found = made_by(x, broadcast_p)
    if not found or not set(found[0].axes) <= set(factor.axes):
        return None
    p, (inner,) = found
    if inner.shape == factor.w.shape:
        return Scale(inner)
    return Scale(broadcast(inner, factor.w.shape, tuple(map(factor.axes.index, p.axes))))


def _read_contraction(p: Contraction, x: Tracer, y: Tracer) -> _Factor | None:
    """Recognise a product with a vector of scales, or with the matrix that has them as diagonal."""
    sides = (x, p.left, y, p.right), (y, p.right, x, p.left)
    for candidate, labels, other, others in sides:
        factor = _factor(candidate)
        if factor is None:
            continue
        numbers = labels[factor.axis]
        if others == tuple(labels[k] for k in factor.axes):
            scale: Scale | None = Scale(other)
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
        return turned.scale(scale)
    return None


def _on_diagonal(matrix: Tracer) -> Scale | None:
    """Recognise what `np.diag` records, by what its steps make of a probe."""
    steps: list[tuple[Callable[..., Any], list[Any], int]] = []
    converted = made_by(matrix, convert_p)
    (x,), n = converted[1] if converted else [matrix], matrix.shape[0]
    while x.shape != (n,):
        head = maker(x)
        if head is None or head.primitive not in (reshape_p, slice_p, concatenate_p):
            return None
        xs = operands_of(x, head)
        moving = [k for k, y in enumerate(xs) if splat(y) != 0]
        if len(moving) != 1:
            return None
        zeros = [np.zeros(y.shape) if splat(y) == 0 else None for y in xs]
        steps.append((head.function, zeros, moving[0]))
        x = xs[moving[0]]
    probe: Any = np.arange(1.0, n + 1)
    result = probe
    for function, operands, place in reversed(steps):
        result = function(*operands[:place], result, *operands[place + 1 :])
    return Scale(x) if np.array_equal(result, np.diag(probe)) else None


_READERS: Final[dict[Primitive[Any], Callable[..., _Factor | None]]] = {
    permute_p: _read_permuted,
    conj_p: _read_conjugate,
    convert_p: lambda _p, x: _factor(x),
    slice_p: _first_ones,
    mul_p: _read_product,
    mathematics.div.primitive: _read_quotient,
    contract_p: _read_contraction,
}


# ---- the product ---------------------------------------------------------------------------------


def _function_of_matrix(_emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """V·f(w)·Vᴴ and U·f(s)·Vᴴ are themselves, with the derivative of the whole."""
    left, right = _factor(x), _factor(y)
    if left is None or right is None or not is_same(left.w, right.w):
        return None
    if left.left is not None and left.left == right.left:
        return None
    if left.a.dtype.kind == "c" and left.conjugate == right.conjugate:
        return None
    stack, number = p.left[: x.ndim - 2], p.left[left.axis]
    if p.right[: x.ndim - 2] != stack or p.right[right.axis] != number or number in p.out:
        return None
    (row,), (column,) = (set(side) - {*stack, number} for side in (p.left, p.right))
    plain = left
    if left.conjugate:
        row, column, plain = column, row, right
    if p.out[:-2] != stack or row == column:
        return None
    body = function_of(left.w, (*left.scales, *right.scales), x.dtype)
    if body is None:
        return None
    flipped = p.out[-2:] == (column, row)
    value = bind(contract_p, p, x, y)[0]
    operands = [matrix_transpose(value) if flipped else value, left.a, *body.parameters]
    program = body.builder.program([body.result])
    if plain.left is None:
        known = spectral(Spectral(program, plain.made.lower), operands)
    else:
        known = singular_function(SingularFunction(program, not plain.left), operands)
    return matrix_transpose(known) if flipped else known


# ---- the trace -----------------------------------------------------------------------------------


def _sum_of_function(_emit: Emit, p: Axes, x: Tracer) -> Tracer | None:
    """Σ f(w) is itself, with the derivative of a trace."""
    w = values_of(x, _values)
    if w is None or w.shape != x.shape or x.ndim - 1 not in p.axes:
        return None
    return _with_derivative_of_sum(w, [Scale(x)], x.dtype, p.axes, bind(reduce_sum_p, p, x)[0])


def _inner_product(_emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """Σ f(w)·g(w) is itself, with the derivative of a trace."""
    w = values_of(x, _values)
    axes = tuple(axis for axis, label in enumerate(p.left) if label not in p.out)
    if w is None or w.shape != x.shape or p.left != p.right or x.ndim - 1 not in axes:
        return None
    if p.out != tuple(label for label in p.left if label in p.out):
        return None
    return _with_derivative_of_sum(
        w, [Scale(x), Scale(y)], x.dtype, axes, bind(contract_p, p, x, y)[0]
    )


def _eigenvalue_sum(
    p: Triangle, program: Program, axes: tuple[int, ...], operands: Sequence[Tracer]
) -> Tracer | None:
    return spectral_sum(SpectralSum(program, axes, p.lower), operands)


def _singular_value_sum(
    _p: Params, program: Program, axes: tuple[int, ...], operands: Sequence[Tracer]
) -> Tracer | None:
    is_real = operands[0].dtype.kind == "f"
    return singular_sum(SingularSum(program, axes), operands) if is_real else None


_VALUES: Final[tuple[tuple[Primitive[Any], int, Callable[..., Tracer | None]], ...]] = (
    (eigvalsh_p, 0, _eigenvalue_sum), (svdvals_p, 0, _singular_value_sum),
    (eigh_p, 0, _eigenvalue_sum), (svd_p, 1, _singular_value_sum),
)  # fmt: skip
"""Factorizations, at which place of their results the values are, and what sums functions of them.
"""


def _values(x: Tracer) -> tuple[Callable[..., Tracer | None], Any, Tracer] | None:
    """Recognise eigenvalues and singular values; return what sums them, and of which matrix."""
    for primitive, place, sum_of in _VALUES:
        if found := _result(x, primitive, place, 0):
            return sum_of, *found[:2]
    return None


def _with_derivative_of_sum(
    w: Tracer, scales: Sequence[Scale], dtype: Any, axes: tuple[int, ...], total: Tracer
) -> Tracer | None:
    """Return the total, known to be the sum of the product of the scales."""
    body, made = function_of(w, scales, dtype), _values(w)
    if body is None or made is None or any(x.shape == w.shape for x in body.parameters):
        return None
    sum_of, p, a = made
    program, operands = body.builder.program([body.result]), [total, a, *body.parameters]
    if not jvp(program, (True,) * len(program.inputs))[1][0]:
        return None  # a count, which has no derivative
    return sum_of(p, program, axes, operands)


def _twice(_emit: Emit, _p: Params, y: Tracer, *xs: Tracer) -> Tracer | None:
    """spectral(spectral(y)) = spectral(y), and the same of sums and of singular values."""
    head = maker(y)
    if head is None or not (head.primitive.facts.spectral and head.primitive.facts.hands_on):
        return None
    return y if is_same(operands_of(y, head)[1], xs[0]) else None


rules: Final[Rules] = {
    contract_p: (_function_of_matrix, _inner_product),
    reduce_sum_p: (_sum_of_function,),
    spectral_p: (_twice,),
    spectral_sum_p: (_twice,),
    singular_function_p: (_twice,),
    singular_sum_p: (_twice,),
}
