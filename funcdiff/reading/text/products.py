"""Writes contractions and convolutions as NumPy expressions: ``@``, ``*``, `np.convolve`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from funcdiff.core.program import Equation
from funcdiff.ops.products.contract import Contraction
from funcdiff.ops.products.convolution import Convolution
from funcdiff.reading.text.expressions import attribute, build, call, constant, method
from funcdiff.reading.text.literals import shape_of


def transpose_of(x: ast.expr) -> ast.expr:
    """Return ``x.T``, of a transpose what it is of."""
    if isinstance(x, ast.Attribute) and x.attr == "T":
        return x.value
    return attribute(x, "T")


def permute_axes(x: ast.expr, axes: Sequence[int]) -> ast.expr:
    """Return ``x`` with its axes in another order."""
    if list(axes) == sorted(axes):
        return x
    if list(axes) == sorted(axes, reverse=True):
        return transpose_of(x)
    moved = [k for k, axis in enumerate(axes) if k != axis]
    if len(moved) == 2:
        first, second = moved
        if (first, second) == (len(axes) - 2, len(axes) - 1):
            first, second = -2, -1
        return method(x, "swapaxes", constant(first), constant(second))
    return method(x, "transpose", *map(constant, axes))


def convolution(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    """Write a convolution of two sequences that needs no zeros around them; None for others."""
    p = eq.params_as(Convolution)
    (n, *others), (m, *_) = (atom.type.shape for atom in eq.operands)
    if p.left or p.right or others or not (n and m) or set(map(abs, p.steps[0])) != {1}:
        return None
    (a, b, _), (offset,), (length,) = p.steps[0], p.offsets, p.lengths
    x, y = (build("x[::-1]", x=x) if s < 0 else x for x, s in zip(xs, (a, b), strict=True))
    offset += (n - 1) * (a < 0) + (m - 1) * (b < 0)
    if (offset, length) == (0, n + m - 1):
        return call("np.convolve", x, y)
    if (offset, length) == (min(n, m) - 1, abs(n - m) + 1):
        return call("np.convolve", x, y, constant("valid"))
    return None


def contraction(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Write what the implementation does: a product of matrices, of views where they are needed."""
    p = eq.params_as(Contraction)
    stack = [k for k in p.out if k in p.left and k in p.right]
    inner = [k for k in p.left if k in p.right and k not in p.out]
    if not stack and len(p.left) <= 2 and len(p.right) <= 2 and len(inner) == 1:
        return _product_of_matrices(p, inner[0], xs)
    return _product_of_stacks(eq, stack, inner, xs)


def _product_of_matrices(p: Contraction, inner: int, xs: Sequence[ast.expr]) -> ast.expr:
    x, y = xs
    if p.left.index(inner) != len(p.left) - 1:
        x = transpose_of(x)
    if p.right.index(inner) != 0:
        y = transpose_of(y)
    z = build("x @ y", x=x, y=y)
    return z if len(p.out) < 2 or p.out[0] in p.left else transpose_of(z)


def _product_of_stacks(
    eq: Equation, stack: list[int], inner: list[int], xs: Sequence[ast.expr]
) -> ast.expr:
    p = eq.params_as(Contraction)
    rows = [k for k in p.out if k not in p.right]
    columns = [k for k in p.out if k not in p.left]
    shapes = [atom.type.shape for atom in eq.operands]
    sizes = dict(zip(p.left + p.right, shapes[0] + shapes[1], strict=True))

    if not inner and len(rows) <= 1 and len(columns) <= 1:
        return _outer_product(p, stack, rows, columns, xs)

    def arranged(x: ast.expr, labels: Sequence[int], *groups: list[int]) -> ast.expr:
        order = [labels.index(k) for group in (stack, *groups) for k in group]
        shape = [*(sizes[k] for k in stack), *(_product(sizes[k] for k in g) for g in groups)]
        before = [sizes[labels[k]] for k in order]
        moved = permute_axes(x, order)
        return moved if before == shape else build("x.reshape(s)", x=moved, s=shape_of((*shape,)))

    a = arranged(xs[0], p.left, rows, inner)
    b = arranged(xs[1], p.right, inner, columns)
    z = build("a @ b" if inner else "a * b", a=a, b=b)
    natural = (*stack, *rows, *columns)
    full = (*(sizes[k] for k in natural),)
    shape = (*(sizes[k] for k in stack), *(_product(sizes[k] for k in g) for g in (rows, columns)))
    if full != shape:
        z = build("z.reshape(s)", z=z, s=shape_of(full))
    z = permute_axes(z, [natural.index(k) for k in p.out])
    return z if full else build("z[()]", z=z)


def _outer_product(
    p: Contraction, stack: list[int], rows: list[int], columns: list[int], xs: Sequence[ast.expr]
) -> ast.expr:
    """Write a product without a sum, which NumPy broadcasts."""
    a = permute_axes(xs[0], [p.left.index(k) for k in (*stack, *rows)])
    b = permute_axes(xs[1], [p.right.index(k) for k in (*stack, *columns)])
    if columns:
        a = build(f"a[{', '.join([':'] * len(stack + rows) + ['None'])}]", a=a)
    if rows and stack:
        b = build(f"b[{', '.join([':'] * len(stack) + ['None'])}]", b=b)
    natural = [*stack, *rows, *columns]
    return permute_axes(build("a * b", a=a, b=b), [natural.index(k) for k in p.out])


def _product(sizes: Any) -> int:
    result = 1
    for n in sizes:
        result *= n
    return result
