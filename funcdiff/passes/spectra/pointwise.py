"""Extracts f from f(w), elementwise in eigenvalues or singular values w, as a scalar program.

It is read off the recording: what leads from the values to a scale, if that is elementwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.policy import SHARED
from funcdiff.core.tracer import Tracer
from funcdiff.core.walk import made_by, maker, operands_of
from funcdiff.ops.elementwise import mathematics
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.linalg.radial import radial_p
from funcdiff.ops.structure.structural import convert, reshape, reshape_p
from funcdiff.space import broadcast, broadcast_p, mul, splat

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
        made = self._copy_equation(x) if parameter is None else self._as_parameter(parameter)
        if made is not None:
            self.copies[x.atom] = made
        return made

    def _as_parameter(self, parameter: Tracer) -> Tracer:
        self.parameters.append(parameter)
        with self.builder:
            taken = self.builder.input(parameter.type)
            return broadcast(taken, self.w.shape, tuple(range(taken.ndim)))

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
        reshapes = head.primitive is reshape_p
        if not reshapes and not head.primitive.pointwise:
            return None
        operands = []
        for y in operands_of(x, head):
            copied = self.copy(y)
            if copied is None:
                return None
            operands.append(copied)
        if reshapes:
            return operands[0]
        with self.builder:
            return bind(head.primitive, head.params, *operands)[0]


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
        head = maker(y)
        if head is not None and head.primitive is radial_p:
            waiting.append(operands_of(y, head)[0])
        elif head is not None and (head.primitive is reshape_p or head.primitive.pointwise):
            waiting += operands_of(y, head)
        elif recognise(y):
            return y
    return None
