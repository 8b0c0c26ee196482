"""Recognises V·f(w)·Vᴴ and Σ f(w) of `eigh`, U·f(s)·Vᴴ and Σ f(s) of `svd`.

Their derivatives exist at equal values, where those of the values and vectors do not.  The value
stays as it is computed; `spectral`, `singular_function` and their sums give it the derivatives of
the whole.  The function f is read off the recording: what leads from the values to a scale, if
that is elementwise, is a program of one number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial as with_first
from typing import Any, Final

import numpy as np

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Operation, Params, Primitive
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.walk import made_by, maker, operands_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise import mathematics
from funcdiff.ops.elementwise.complex import conj, conj_p
from funcdiff.ops.linalg.factorizations import eigh_p, eigvalsh_p
from funcdiff.ops.linalg.invariant_subspaces import Kept, pick
from funcdiff.ops.linalg.matrices import matmul, matrix_transpose
from funcdiff.ops.linalg.matrix_functions import (
    Spectral,
    SpectralSum,
    function_of_matrix,
    spectral,
    spectral_p,
    spectral_sum,
    spectral_sum_p,
)
from funcdiff.ops.linalg.radial_functions import known, known_p, radial_p
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
from funcdiff.ops.structure.slicing import along, slice_p
from funcdiff.ops.structure.structural import (
    Permutation,
    concatenate_p,
    convert,
    convert_p,
    permute_p,
    reshape,
    reshape_p,
    reverse_p,
)
from funcdiff.passes.rewrites.rewriter import Emit, Rules, is_same
from funcdiff.space import Axes, broadcast, broadcast_p, mul, mul_p, reduce_sum_p, splat
from funcdiff.transforms.jvp import jvp

_LONGEST: Final = 200
"""Equations that a function of the eigenvalues may have."""


@dataclass(frozen=True)
class Scale:
    """A factor for each vector: numbers along the last axis, one for each value that is kept."""

    value: Tracer
    kept: range
    inverse: bool = False
    conjugate: bool = False


class Body:
    """Copies the equations between the eigenvalues and a scale to a program of their own.

    Inputs, and what does not depend on the number of the eigenvalue, become parameters.  Axes of
    length one, which only serve NumPy's broadcasting, are dropped.  The program is one of those
    values that are kept: what is elementwise is the same of a slice.
    """

    def __init__(self, w: Tracer, kept: range) -> None:
        self.builder = Builder("spectral", SHARED)
        self.w = w
        self.shape = (*w.shape[:-1], len(kept))
        self.result = self.builder.input(w.type.with_shape(self.shape))
        self.parameters: list[Tracer] = []
        self.copies: dict[Any, Tracer] = {(w.atom, kept): self.result}

    def copy(self, x: Tracer, places: range, length: int) -> Tracer | None:
        """Return `x` at some of its places as a value of the body.

        None if it is no function of one eigenvalue.
        """
        if x.builder is None:
            return constant(splat(x), self.result.type.with_dtype(x.dtype))
        key = x.atom, places
        if key in self.copies:
            return self.copies[key]
        value = made_by(x, radial_p)  # a mark that the body will have itself, where it is due
        if value:
            return self.copy(value[1][0], places, length)
        whole = (*self.w.shape[:-1], length)
        if _long_axes(x.shape) != _long_axes(whole) or len(self.copies) > _LONGEST:
            return None
        parameter = self._parameter(x, places, whole)
        if parameter is None:
            made = self._copy_equation(x, places, length)
        else:
            self.parameters.append(parameter)
            with self.builder:
                taken = self.builder.input(parameter.type)
                made = broadcast(taken, self.shape, tuple(range(taken.ndim)))
        if made is not None:
            self.copies[key] = made
        return made

    def _parameter(self, x: Tracer, places: range, whole: tuple[int, ...]) -> Tracer | None:
        """Return what to take as a parameter: an input, or what is equal for all eigenvalues.

        The latter has one value per matrix.
        """
        assert x.builder is not None
        assert isinstance(x.atom, int)
        if x.builder.entries[x.atom] == (x.type,) and x.type.differentiable:
            return pick(reshape(x, whole), _kept(places, whole[-1]))
        found = made_by(x, broadcast_p)
        if not found or (found[0].axes and (x.shape != whole or x.ndim - 1 in found[0].axes)):
            return None
        return broadcast(found[1][0], whole[:-1], found[0].axes)

    def _copy_equation(self, x: Tracer, places: range, length: int) -> Tracer | None:
        head = maker(x)
        if head is None or not head.operands:
            return None
        shape = head.operands[0].shape
        part = _picked(head.primitive, head.params, shape, self.w.ndim - 1)
        if part is not None and len(shape) == self.w.ndim:
            return self.copy(operands_of(x, head)[0], _compose(part, places), shape[-1])
        if not _keeps_numbers(head):
            return None
        operands = []
        for y in operands_of(x, head):
            copied = self.copy(y, places, length)
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


def _long_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _picked(primitive: Primitive[Any], p: Any, shape: tuple[int, ...], axis: int) -> range | None:
    """Return which places of one axis an operation takes, in their order, if it does only that."""
    if primitive is reverse_p and p.axes == (axis,):
        return range(shape[axis] - 1, -1, -1)
    if primitive is not slice_p or axis >= len(shape):
        return None
    first, last, step = p.ranges[axis]
    is_along = first < last and p == along(shape, axis, first, last, step)
    return range(first, last, step) if is_along else None


def _compose(places: range, others: range) -> range:
    """Return some places of some."""
    step = places.step * others.step if len(others) > 1 else 1
    first = places[others[0]]
    return range(first, first + step * len(others), step)


def _within(kept: range, fewer: range) -> range:
    """Return at which places of the first range the numbers of the second are."""
    first = kept.index(fewer[0]) if fewer else 0
    step = fewer.step // kept.step if len(fewer) > 1 else 1
    return range(first, first + step * len(fewer), step)


def _kept(places: range, length: int) -> Kept:
    """Return the parameters that say which values are kept."""
    all_of_them = places == range(length)
    return () if all_of_them else (places.start, len(places), places.step)


def function_of(
    w: Tracer, scales: Sequence[Scale], dtype: Any, kept: range | None = None
) -> Body | None:
    """Return the product of the scales as a function f of the kept eigenvalues, if it is one."""
    kept = range(w.shape[-1]) if kept is None else kept
    body = Body(w, kept)
    total = constant(1, body.result.type.with_dtype(dtype))
    for scale in scales:
        value = body.copy(scale.value, _within(scale.kept, kept), len(scale.kept))
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

    `made` are the parameters of the factorization; `left` says which singular vectors they are,
    and `kept` by their numbers, which are.
    """

    a: Tracer
    made: Any
    w: Tracer
    kept: range
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

    @property
    def has_values(self) -> bool:
        """Whether each vector belongs to a value, rather than to a null space."""
        return not self.kept or max(self.kept[0], self.kept[-1]) < self.w.shape[-1]

    @property
    def scales_type(self) -> ArrayType:
        """The type of one value for each vector."""
        return self.w.type.with_shape((*self.w.shape[:-1], len(self.kept)))

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
    for primitive, place, value, left in _VECTORS:
        if found := _result(x, primitive, place, value):
            made, a, w = found
            right = left is False
            every = range(x.shape[-2 if right else -1])
            return _Factor(a, made, w, every, left, as_rows=right, conjugate=right)
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


def _read_part(primitive: Primitive[Any], p: Params, x: Tracer) -> _Factor | None:
    factor = _factor(x)
    part = None if factor is None else _picked(primitive, p, x.shape, factor.axis)
    if factor is None or part is None:
        return None
    return replace(factor, kept=_compose(factor.kept, part))


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
    """Recognise what is equal for all elements of a vector, or is of vectors of one element."""
    type_, kept = factor.scales_type, factor.kept
    if splat(x) is not None:
        return Scale(constant(splat(x), type_.with_dtype(x.dtype)), kept)
    found = made_by(x, broadcast_p)
    if not found or not set(found[0].axes) <= set(factor.axes):
        return Scale(reshape(x, type_.shape), kept) if x.type.size == type_.size else None
    p, (inner,) = found
    if inner.shape == type_.shape:
        return Scale(inner, kept)
    return Scale(broadcast(inner, type_.shape, tuple(map(factor.axes.index, p.axes))), kept)


def _read_contraction(p: Contraction, x: Tracer, y: Tracer) -> _Factor | None:
    """Recognise a product with a vector of scales, or with the matrix that has them as diagonal."""
    sides = (x, p.left, y, p.right), (y, p.right, x, p.left)
    for candidate, labels, other, others in sides:
        factor = _factor(candidate)
        if factor is None:
            continue
        numbers = labels[factor.axis]
        if others == tuple(labels[k] for k in factor.axes):
            scale: Scale | None = Scale(other, factor.kept)
            renamed = p.out
        elif len(others) == 2 and numbers in others and numbers not in p.out:
            diagonal = _on_diagonal(other)
            scale = None if diagonal is None else Scale(diagonal, factor.kept)
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


def _on_diagonal(matrix: Tracer) -> Tracer | None:
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
    return x if np.array_equal(result, np.diag(probe)) else None


_READERS: Final[dict[Primitive[Any], Callable[..., _Factor | None]]] = {
    permute_p: _read_permuted,
    conj_p: _read_conjugate,
    convert_p: lambda _p, x: _factor(x),
    slice_p: with_first(_read_part, slice_p),
    reverse_p: with_first(_read_part, reverse_p),
    mul_p: _read_product,
    mathematics.div.primitive: _read_quotient,
    contract_p: _read_contraction,
}


# ---- the product ---------------------------------------------------------------------------------


def _function_of_matrix(_emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """V·f(w)·Vᴴ and U·f(s)·Vᴴ are themselves, with the derivative of the whole.

    If those of the smallest singular values are left out, so are U·f(s)·Uᴴ and V·f(s)·Vᴴ.
    """
    left, right = _factor(x), _factor(y)
    if left is None or right is None or not is_same(left.w, right.w) or left.kept != right.kept:
        return None
    count, is_one_sided = left.w.shape[-1], left.left is not None and left.left == right.left
    is_truncated = left.left is not None and count - 1 not in left.kept
    if not left.has_values or (is_one_sided and not is_truncated):
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
    body = function_of(left.w, (*left.scales, *right.scales), x.dtype, left.kept)
    if body is None:
        return None
    flipped = p.out[-2:] == (column, row)
    value = bind(contract_p, p, x, y)[0]
    operands = [matrix_transpose(value) if flipped else value, left.a, *body.parameters]
    program, kept = body.builder.program([body.result]), _kept(left.kept, count)
    if plain.left is None:
        whole = spectral(Spectral(program, kept, plain.made.lower), operands)
    else:
        function = SingularFunction(program, kept, not plain.left)
        if is_one_sided:
            unit = function_of(left.w, (), x.dtype, left.kept)
            whole = known(operands[0], _of_one_side(function, unit, operands[1:]))
        else:
            whole = singular_function(function, operands)
    return matrix_transpose(whole) if flipped else whole


def _of_one_side(p: SingularFunction, unit: Body | None, operands: Sequence[Tracer]) -> Tracer:
    """Return U·f(s)·Uᴴ as U·f(s)·Vᴴ times V·Uᴴ: singular values that are squared lose digits."""
    assert unit is not None
    other = replace(p, body=unit.builder.program([unit.result]), turned=not p.turned)
    a, *parameters = operands
    (x,) = function_of_matrix(p, a, parameters, [])
    (y,) = function_of_matrix(other, a, [], [])
    return matmul(x, y)


# ---- the trace -----------------------------------------------------------------------------------


def _sum_of_function(_emit: Emit, p: Axes, x: Tracer) -> Tracer | None:
    """Σ f(w) is itself, with the derivative of a trace."""
    w = values_of(x, _values)
    if w is None or w.shape != x.shape or x.ndim - 1 not in p.axes:
        return None
    scales = [Scale(x, range(w.shape[-1]))]
    return _with_derivative_of_sum(w, scales, x.dtype, p.axes, bind(reduce_sum_p, p, x)[0])


def _inner_product(_emit: Emit, p: Contraction, x: Tracer, y: Tracer) -> Tracer | None:
    """Σ f(w)·g(w) is itself, with the derivative of a trace."""
    w = values_of(x, _values)
    axes = tuple(axis for axis, label in enumerate(p.left) if label not in p.out)
    if w is None or w.shape != x.shape or p.left != p.right or x.ndim - 1 not in axes:
        return None
    if p.out != tuple(label for label in p.left if label in p.out):
        return None
    scales = [Scale(z, range(w.shape[-1])) for z in (x, y)]
    return _with_derivative_of_sum(w, scales, x.dtype, axes, bind(contract_p, p, x, y)[0])


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


def _known_twice(_emit: Emit, _p: Params, y: Tracer, _z: Tracer) -> Tracer | None:
    """known(known(y, z), z) = known(y, z)."""
    return y if made_by(y, known_p) else None


rules: Final[Rules] = {
    known_p: (_known_twice,),
    contract_p: (_function_of_matrix, _inner_product),
    reduce_sum_p: (_sum_of_function,),
    spectral_p: (_twice,),
    spectral_sum_p: (_twice,),
    singular_function_p: (_twice,),
    singular_sum_p: (_twice,),
}
