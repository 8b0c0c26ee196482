"""Writes an equation as a line of NumPy code, of texts for its operands.

This is what compiled code and the text for readers have in common: operators, indices, and where
the axes of products go.  A formula computes the interpreter's bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation
from funcdiff.ops.axes.indexing import Indexed, gather_p
from funcdiff.ops.products.contract import (
    Contraction,
    arrangement,
    contract_p,
    is_matrix_product,
    is_product_of_elements,
)
from funcdiff.ops.structure.slicing import Slice, slice_p
from funcdiff.ops.structure.structural import (
    Axis,
    Iota,
    Permutation,
    Reversal,
    concatenate_p,
    iota_p,
    permute_p,
    reshape_p,
    reverse_p,
)
from funcdiff.space import Broadcast, broadcast_p, kept_axes

Formula: TypeAlias = Callable[..., str]
"""``formula(eq, *operands)``: an expression of names, or of others that need no parentheses."""

OPERATORS: Final[dict[Any, str]] = {
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.divide: "{} / {}",
    np.negative: "-{}",
    np.less: "{} < {}",
    np.less_equal: "{} <= {}",
    np.greater: "{} > {}",
    np.greater_equal: "{} >= {}",
    np.equal: "{} == {}",
    np.not_equal: "{} != {}",
}
"""Ufuncs that are operators of Python, of floats as of arrays."""


def is_ufunc(eq: Equation) -> bool:
    """Whether an equation is one elementwise NumPy ufunc with one result."""
    function = eq.operation.function
    return isinstance(function, np.ufunc) and function.signature is None and len(eq.results) == 1


def reduction_ufunc(eq: Equation) -> np.ufunc | None:
    """Return the ufunc of which an equation is a reduction, None if it is none."""
    ufunc = eq.operation.access.reduces
    same = ufunc is not None and eq.results[0].type.dtype == eq.operands[0].type.dtype
    return ufunc if same else None


# ---- axes ----------------------------------------------------------------------------------------


def index(shape: Sequence[int], slices: Sequence[slice]) -> str:
    """Return slices as an index, without what says nothing: ``1:, ::2``."""
    parts = [
        f"{part.start or ''}:{'' if part.stop == n else part.stop}"
        f"{'' if part.step in (1, None) else f':{part.step}'}"
        for n, part in zip(shape, slices, strict=True)
    ]
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts) or "()"


def permute(x: str, axes: Sequence[int]) -> str:
    """Return an array with its axes in another order."""
    if list(axes) == sorted(axes):
        return x
    if list(axes) == sorted(axes, reverse=True):
        return f"{x}.T"
    moved = [k for k, axis in enumerate(axes) if k != axis]
    if len(moved) > 2:
        return f"{x}.transpose({', '.join(map(str, axes))})"
    last = moved == [len(axes) - 2, len(axes) - 1]
    return f"{x}.swapaxes(-2, -1)" if last else f"{x}.swapaxes({moved[0]}, {moved[1]})"


def axes_first(x: str, ndim: int, axes: tuple[int, ...]) -> str:
    """Return a view of an array with the given axes in front."""
    return permute(x, axes + kept_axes(ndim, axes))


def reshape(x: str, shape: Sequence[int]) -> str:
    """Return an array in another shape."""
    if len(shape) == 1:
        return f"{x}.reshape({-1 if shape[0] else 0})"
    return f"{x}.reshape({', '.join(map(str, shape))})"


def with_new_axes(eq: Equation, x: str, count: int) -> str:
    """Return the operand of a broadcast with the last axes of the result, new ones of length 1."""
    p = eq.params_as(Broadcast)
    new = [axis not in p.axes for axis in range(len(p.shape))][len(p.shape) - count :]
    if not any(new):
        return x
    if all(new):  # of a number, which has no index
        return f"np.reshape({x}, {(1,) * count})"
    return f"{x}[{', '.join('None' if flag else ':' for flag in new)}]"


def _reshape(eq: Equation, x: str) -> str:
    shape = eq.results[0].type.shape
    if not shape:  # a number, which is quicker to work with than an array
        return f"{x}[{', '.join('0' for _ in eq.operands[0].type.shape)}]"
    return reshape(x, shape)


def _broadcast(eq: Equation, x: str) -> str:
    p = eq.params_as(Broadcast)
    inner = len(p.shape) - p.axes[0] if p.axes else 0
    return f"np.broadcast_to({with_new_axes(eq, x, inner)}, {p.shape})"


def _reverse(eq: Equation, x: str) -> str:
    p = eq.params_as(Reversal)
    return f"{x}[{', '.join('::-1' if k in p.axes else ':' for k in range(max(p.axes) + 1))}]"


def _iota(eq: Equation) -> str:
    p = eq.params_as(Iota)
    count = f"np.arange({p.shape[p.axis]})"
    if len(p.shape) == 1:
        return count
    behind = ", None" * (len(p.shape) - p.axis - 1)
    return f"np.broadcast_to({count}{f'[:{behind}]' if behind else ''}, {p.shape})"


def _gather(eq: Equation, x: str, *indices: str) -> str:
    p = eq.params_as(Indexed)
    taken = f"{axes_first(x, eq.operands[0].type.ndim, p.axes)}[{', '.join(indices)}]"
    is_view = not eq.operands[1].type.ndim and eq.results[0].type.ndim
    return f"{taken}.copy()" if is_view else taken


def is_gather_of_rows(eq: Equation) -> bool:
    """Whether rows are taken, which the implementation does quicker than an index."""
    if eq.primitive is not gather_p or eq.params_as(Indexed).axes != (0,):
        return False
    x, index = (atom.type for atom in eq.operands)
    return x.ndim > 1 and index.ndim > 0 and eq.results[0].type.size >= _MANY


_MANY: Final = 256
"""Elements from which a call more does not count."""


def _concatenate(eq: Equation, *xs: str) -> str:
    axis = eq.params_as(Axis).axis
    return f"np.concatenate(({', '.join(xs)},){f', axis={axis}' if axis else ''})"


# ---- products ------------------------------------------------------------------------------------


class Product(NamedTuple):
    """A contraction as a product of two expressions, with their axes where they belong."""

    left: str
    sign: str  # ``@``, or ``*`` where nothing is summed
    right: str
    after: str = ""  # method that makes the result of the product, or empty
    shape: tuple[int, ...] = ()  # of the product, if the result has another

    def __str__(self) -> str:
        product = f"{self.left} {self.sign} {self.right}"
        return f"({product}){self.after}" if self.after else product


def product(eq: Equation, x: str, y: str) -> Product:
    """Return a contraction as a product: of matrices, of stacks of them, or of elements."""
    p = eq.params_as(Contraction)
    at = arrangement(p)
    back = permute("", [at.natural.index(k) for k in p.out])
    if is_matrix_product(p):
        left = x if p.left[-1] in at.inner else f"{x}.T"
        return Product(left, "@", y if p.right[0] in at.inner else f"{y}.T", back)
    if is_product_of_elements(at):
        left = permute(x, [p.left.index(k) for k in (*at.stack, *at.rows)])
        right = permute(y, [p.right.index(k) for k in (*at.stack, *at.columns)])
        whole = ":, " * len(at.stack)
        left += f"[{whole}{':, ' * len(at.rows)}None]" if at.columns else ""
        right += f"[{whole}None]" if at.rows and at.stack else ""
        return Product(left, "*", right, back)
    op = eq.operation
    sizes = op.access.lengths(op.operands, op.results)

    def shape_of(*groups: Sequence[int]) -> list[int]:
        return [*(sizes[k] for k in at.stack), *(prod(sizes[k] for k in g) for g in groups)]

    def arrange(z: str, labels: Sequence[int], *groups: Sequence[int]) -> str:
        order = [labels.index(k) for group in (at.stack, *groups) for k in group]
        z, shape = permute(z, order), shape_of(*groups)
        return z if [sizes[labels[k]] for k in order] == shape else reshape(z, shape)

    full, shape = [sizes[k] for k in at.natural], shape_of(at.rows, at.columns)
    if full == shape:
        shape = []
    else:
        back = f"{reshape('', full)}{back}" if full else "[0, 0]"
    left, right = arrange(x, p.left, at.rows, at.inner), arrange(y, p.right, at.inner, at.columns)
    return Product(left, "@" if at.inner else "*", right, back, tuple(shape))


FORMULAS: Final[dict[Primitive[Any], Formula]] = {
    reshape_p: _reshape,
    permute_p: lambda eq, x: permute(x, eq.params_as(Permutation).axes),
    broadcast_p: _broadcast,
    slice_p: lambda eq, x: f"{x}[{index(eq.operands[0].type.shape, eq.params_as(Slice).index)}]",
    reverse_p: _reverse,
    iota_p: _iota,
    gather_p: _gather,
    concatenate_p: _concatenate,
    contract_p: lambda eq, x, y: str(product(eq, x, y)),
}
"""Formulas by primitive.  Default for the others: a call of the implementation."""
