"""Generates calls for sums and contractions, by BLAS where that is faster."""

from __future__ import annotations

from typing import Final

import numpy as np

from funcdiff.backend.blocks.schedule import Region, Step
from funcdiff.backend.code.source import Writer
from funcdiff.backend.code.triangles import (
    WORTHWHILE,
    triangles,
    triangular_product,
    wanted_triangles,
)
from funcdiff.core.atoms import Var
from funcdiff.core.program import Equation, Program
from funcdiff.ops.products.contract import Contraction, contract_p
from funcdiff.space import Axes, reduce_sum_p

_SHORT: Final = 128
"""Elements up to which NumPy sums one after the other, too."""


def reduction_ufunc(eq: Equation) -> np.ufunc | None:
    """Return the ufunc of which an equation is a reduction, None if it is none."""
    ufunc = eq.primitive.facts.reduces
    same = ufunc is not None and eq.results[0].type.dtype == eq.operands[0].type.dtype
    return ufunc if same else None


class ProductWriter(Writer):
    """Writes calls that multiply matrices and add up elements."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._triangles = triangles(program)
        self._wanted = wanted_triangles(program)

    def _product(self, eq: Equation, place: str) -> str:
        """Return the call that writes a product of matrices to given memory."""
        p = eq.params_as(Contraction)
        x, y = map(self._operand, eq.operands)
        (inner,) = set(p.left) & set(p.right)
        left = x if p.left[-1] == inner else f"{x}.T"
        right = y if p.right[0] == inner else f"{y}.T"
        if len(p.out) == 2 and p.out[0] in p.right:
            left, right = _transpose(right), _transpose(left)
        return f"{self._matmul(eq, left, right)}({left}, {right}, {place})"

    def _matmul(self, eq: Equation, left: str, right: str) -> str:
        """Return the name of what multiplies two matrices that are written like that."""
        kinds = {
            self._operand(atom): self._triangles.get(atom.number)
            for atom in eq.operands
            if isinstance(atom, Var)
        }

        def kind(text: str) -> bool | None:
            lower = kinds.get(_without_transpose(text))
            return not lower if lower is not None and text.endswith(".T") else lower

        key = (kind(left), kind(right), self._wanted.get(eq.results[0].number))
        if all(lower is None for lower in key) or not _are_large_squares(eq):
            return self._bind(np.matmul, "matmul", np.matmul)
        return self._bind(
            ("product", *key), f"product_{len(self._bound)}", triangular_product(*key)
        )

    def _outer(self, eq: Equation, place: str) -> str:
        p = eq.params_as(Contraction)
        x, y = map(self._operand, eq.operands)
        rows, columns = (x, y) if p.out == (*p.left, *p.right) else (y, x)
        multiply = self._bind(np.multiply, "multiply", np.multiply)
        return f"{multiply}({rows}[:, None], {columns}{f', {place}' if place else ''})"

    def _reduction(self, eq: Equation, place: str) -> str:
        return self._sum_by_product(eq, place) or self._sum_by_ufunc(eq, place)

    def _sum_by_product(self, eq: Equation, place: str) -> str | None:
        """Return a sum as a product with ones, which BLAS computes several times as fast.

        A long last axis is summed in pairs by NumPy, more exactly than here.
        """
        p = eq.params_as(Axes)
        type_ = eq.operands[0].type
        ndim, count = type_.ndim, 1
        for axis in p.axes:
            count *= type_.shape[axis]
        if eq.primitive is not reduce_sum_p or type_.dtype.char not in "fd" or count < 2:
            return None
        x = self._operand(eq.operands[0])
        ones = self._bind(
            ("ones", type_.dtype, count), f"ones_{count}", np.ones(count, type_.dtype)
        )
        matmul = self._bind(np.matmul, "matmul", np.matmul)
        rest = f", {place}" if place else ""
        first, last = p.axes == tuple(range(len(p.axes))), p.axes[-1] == ndim - 1
        if last and p.axes == tuple(range(p.axes[0], ndim)) and count <= _SHORT and ndim > 1:
            if len(p.axes) > 1:
                x = f"{x}.reshape({(*type_.shape[: p.axes[0]], count)})"
            return f"{matmul}({x}, {ones}{rest})" if p.axes[0] else None
        if p.axes == (ndim - 2,):
            return f"{matmul}({ones}, {x}{rest})"
        if first and len(p.axes) == ndim - 1:
            return f"{matmul}({ones}, {x}.reshape({(count, type_.shape[-1])}){rest})"
        return None

    def _sum_by_ufunc(self, eq: Equation, place: str) -> str:
        p = eq.params_as(Axes)
        type_ = eq.operands[0].type
        ufunc = reduction_ufunc(eq)
        assert ufunc is not None
        function = self._bind(ufunc.reduce, f"{ufunc.__name__}_reduce", ufunc.reduce)
        axes = "None" if len(p.axes) == type_.ndim else p.axes[0] if len(p.axes) == 1 else p.axes
        dtype = self._bind(type_.dtype, f"dtype_{len(self._bound)}", type_.dtype)
        rest = [dtype] if type_.dtype.kind not in "fc" or place else []
        arguments = [self._operand(eq.operands[0]), str(axes), *rest, *([place] if place else [])]
        return f"{function}({', '.join(arguments)})"


def _transpose(text: str) -> str:
    return _without_transpose(text) if text.endswith(".T") else f"{text}.T"


def _without_transpose(text: str) -> str:
    return text.removesuffix(".T")


def _are_large_squares(eq: Equation) -> bool:
    types = [v.type for v in (*eq.operands, *eq.results)]
    return all(t is types[0] and t.ndim == 2 and t.shape[0] >= WORTHWHILE for t in types)


def is_matrix_product(eq: Equation) -> bool:
    """Whether an equation is a product of matrices or vectors over one axis."""
    if eq.primitive is not contract_p:
        return False
    p = eq.params_as(Contraction)
    shared = set(p.left) & set(p.right)
    return len(p.left) <= 2 and len(p.right) <= 2 and len(shared) == 1 and not shared & set(p.out)


def is_outer_product(step: Step) -> bool:
    """Whether an equation is the product of every element of a vector with every one of another."""
    if isinstance(step, Region) or step.primitive is not contract_p:
        return False
    p = step.params_as(Contraction)
    return len(p.left) == len(p.right) == 1 and len(p.out) == 2
