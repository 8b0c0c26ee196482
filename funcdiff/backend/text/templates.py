"""Templates: what an equation looks like as an expression of NumPy.

Where an operation has no entry, its implementation itself is the template: a function of one line
becomes that line, a longer one is called and comes along (`helpers`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.backend.text.expressions import (
    attribute,
    build,
    call,
    constant,
    item,
    items,
    method,
)
from funcdiff.backend.text.literals import dtype_of, shape_of
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation, Literal
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.complex import conj_p, imag_p, real_p
from funcdiff.ops.contract import contract_p
from funcdiff.ops.convolution import convolve_p
from funcdiff.ops.elementwise import absolute, div, sub
from funcdiff.ops.indexing import gather_p
from funcdiff.ops.linear_solve import named_solve_p
from funcdiff.ops.logic import operations
from funcdiff.ops.reductions import (
    argmax_p,
    argmin_p,
    cumprod_p,
    cumsum_p,
    reduce_all_p,
    reduce_any_p,
    reduce_count_p,
    reduce_max_p,
    reduce_min_p,
    reduce_prod_p,
)
from funcdiff.ops.slicing import slice_p
from funcdiff.ops.sorting import sort_p
from funcdiff.ops.structural import (
    concatenate_p,
    convert_p,
    iota_p,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
)
from funcdiff.space import add_p, broadcast_p, kept_axes, mul_p, neg_p, reduce_sum_p

Template: TypeAlias = Callable[[Equation, Sequence[ast.expr]], ast.expr | None]
"""Of an equation and its operands as expressions; None where the implementation has to do."""

# ---- operators -----------------------------------------------------------------------------------


def _operator(sign: str, function: str) -> Template:
    """Write an operator, where it is sure to compute the bits of the ufunc.

    Of scalars NumPy has other loops, which agree but for products and quotients of complex
    numbers, and warn where integers overflow.
    """
    formula = f"{sign}x" if sign in "-~" and function != "np.subtract" else f"x {sign} y"

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        type_ = eq.operands[0].type
        plain = type_.dtype.kind != "c" or sign in "+-"
        if type_.shape or (plain and (type_.dtype.kind in "fcb" or type_.dtype.itemsize == 8)):
            return build(formula, **dict(zip("xy", xs, strict=False)))
        return call(function, *xs)

    return write


def _logical(sign: str, function: str) -> Template:
    """Write an operator for bits, which of booleans is that of logic."""
    written = _operator(sign, function)

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        booleans = all(atom.type.dtype == BOOL for atom in eq.operands)
        return written(eq, xs) if booleans else call(function, *xs)

    return write


def _not_equal(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Write a comparison; of booleans with False, it is what is compared."""
    other = eq.operands[1]
    if isinstance(other, Literal) and other.type.dtype == BOOL and not other.value:
        return xs[0]
    return _operator("!=", "np.not_equal")(eq, xs)


_OPERATORS: Final[dict[Primitive[Any], Template]] = {
    add_p: _operator("+", "np.add"),
    sub.primitive: _operator("-", "np.subtract"),
    mul_p: _operator("*", "np.multiply"),
    div.primitive: _operator("/", "np.divide"),
    neg_p: _operator("-", "np.negative"),
    **{
        operations[word].primitive: _operator(sign, f"np.{word}")
        for word, sign in (
            ("less", "<"),
            ("less_equal", "<="),
            ("greater", ">"),
            ("greater_equal", ">="),
            ("equal", "=="),
            ("bitwise_and", "&"),
            ("bitwise_or", "|"),
            ("bitwise_xor", "^"),
            ("invert", "~"),
        )
    },
    **{
        operations[word].primitive: _logical(sign, f"np.{word}")
        for word, sign in (
            ("logical_and", "&"),
            ("logical_or", "|"),
            ("logical_xor", "^"),
            ("logical_not", "~"),
        )
    },
    operations["not_equal"].primitive: _not_equal,
    absolute.primitive: lambda _eq, xs: call("np.abs", *xs),
    conj_p: lambda _eq, xs: call("np.conj", *xs),
    real_p: lambda _eq, xs: attribute(xs[0], "real"),
    imag_p: lambda _eq, xs: attribute(xs[0], "imag"),
}

# ---- structure -----------------------------------------------------------------------------------


def _reshape(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    shape = eq.results[0].type.shape
    element = None if shape else _element(xs[0], eq.operands[0].type.ndim)
    if element is not None:
        return element
    if len(shape) == 1:
        return method(xs[0], "reshape", constant(-1) if shape[0] else constant(0))
    return (
        method(xs[0], "reshape", *map(constant, shape))
        if shape
        else build("x.reshape(())", x=xs[0])
    )


def _element(x: ast.expr, ndim: int) -> ast.expr | None:
    """Return the only element of a slice that has one, by its indices; None if it is no slice."""
    if not isinstance(x, ast.Subscript):
        return None
    parts = x.slice.elts if isinstance(x.slice, ast.Tuple) else [x.slice]
    lowers = [part.lower for part in parts if isinstance(part, ast.Slice)]
    if len(lowers) != ndim:
        return None
    return item(x.value, [constant(0) if lower is None else lower for lower in lowers])


def turned(x: ast.expr) -> ast.expr:
    """Return ``x.T``, of a transpose what it is of."""
    if isinstance(x, ast.Attribute) and x.attr == "T":
        return x.value
    return attribute(x, "T")


def transposed(x: ast.expr, axes: Sequence[int]) -> ast.expr:
    """Return ``x`` with its axes in another order."""
    if list(axes) == sorted(axes):
        return x
    if list(axes) == sorted(axes, reverse=True):
        return turned(x)
    moved = [k for k, axis in enumerate(axes) if k != axis]
    if len(moved) == 2:
        first, second = moved
        if (first, second) == (len(axes) - 2, len(axes) - 1):
            first, second = -2, -1
        return method(x, "swapaxes", constant(first), constant(second))
    return method(x, "transpose", *map(constant, axes))


def _permute(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p: Any = eq.params
    return transposed(xs[0], p.axes)


def expanded(eq: Equation, x: ast.expr) -> ast.expr:
    """Return the operand of a broadcast such that NumPy will broadcast it by itself."""
    p: Any = eq.params
    ndim = len(p.shape)
    if p.axes == tuple(range(ndim - len(p.axes), ndim)):
        return x
    first = p.axes[0] if p.axes else ndim
    whole = [build("x[:]", x=x).slice, constant(None)]  # type: ignore[attr-defined]
    return item(x, [whole[0] if k in p.axes else whole[1] for k in range(first, ndim)])


def _broadcast(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    return call("np.broadcast_to", expanded(eq, xs[0]), constant(eq.results[0].type.shape))


def _convert(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    (x,), before, after = xs, eq.operands[0].type.dtype, eq.results[0].type.dtype
    if before.kind == "c" and after.kind not in "cb":
        x = attribute(x, "real")
    return method(x, "astype", dtype_of(after))


def index(type_: ArrayType, slices: Sequence[slice]) -> list[ast.expr]:
    """Return slices as an index, without what says nothing."""
    parts = []
    for n, part in zip(type_.shape, slices, strict=True):
        start = f"{part.start}" if part.start else ""
        stop = "" if part.stop == n else f"{part.stop}"
        step = "" if part.step in (1, None) else f":{part.step}"
        parts.append(f"{start}:{stop}{step}")
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    found = build(f"x[{', '.join(parts)},]")
    assert isinstance(found, ast.Subscript)
    assert isinstance(found.slice, ast.Tuple)
    return found.slice.elts


def _slice(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p: Any = eq.params
    return item(xs[0], index(eq.operands[0].type, p.index))


def _reverse(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p: Any = eq.params
    parts = ["::-1" if k in p.axes else ":" for k in range(max(p.axes) + 1)]
    return build(f"x[{', '.join(parts)}]", x=xs[0])


def _iota(eq: Equation, _xs: Sequence[ast.expr]) -> ast.expr:
    p: Any = eq.params
    count = call("np.arange", constant(p.shape[p.axis]))
    if len(p.shape) == 1:
        return count
    parts = [":", *("None" for _ in p.shape[p.axis + 1 :])]
    count = count if len(parts) == 1 else build(f"x[{', '.join(parts)}]", x=count)
    return call("np.broadcast_to", count, constant(p.shape))


def axes_first(x: ast.expr, ndim: int, axes: tuple[int, ...]) -> ast.expr:
    """Return a view of an array with the given axes in front."""
    return transposed(x, axes + kept_axes(ndim, axes))


def _gather(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p: Any = eq.params
    return item(axes_first(xs[0], eq.operands[0].type.ndim, p.axes), xs[1:])


def _concatenate(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p: Any = eq.params
    if p.axis == 0:
        return call("np.concatenate", items(xs))
    return call("np.concatenate", items(xs), axis=constant(p.axis))


# ---- reductions ----------------------------------------------------------------------------------


def _reduction(function: str, *, widens: bool = False) -> Template:
    """Write a reduction; `widens` is for one that NumPy would give another dtype for integers."""

    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        p: Any = eq.params
        words = {}
        if len(p.axes) < eq.operands[0].type.ndim:
            words["axis"] = constant(p.axes[0] if len(p.axes) == 1 else p.axes)
        dtype = eq.results[0].type.dtype
        if widens and dtype.kind not in "fc" and dtype != np.int64:
            words["dtype"] = dtype_of(dtype)
        return call(function, *xs, **words)

    return write


def _along_axis(function: str, *, typed: bool = False) -> Template:
    def write(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
        p: Any = eq.params
        words = {} if eq.operands[0].type.ndim == 1 else {"axis": constant(p.axis)}
        dtype = eq.results[0].type.dtype
        if typed and dtype.kind not in "fc" and dtype != np.int64:
            words["dtype"] = dtype_of(dtype)
        return call(function, *xs, **words)

    return write


# ---- contraction -----------------------------------------------------------------------------


def _sort(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    p: Any = eq.params
    words = {} if p.axis == eq.operands[0].type.ndim - 1 else {"axis": constant(p.axis)}
    if p.kind != "quicksort":
        words["kind"] = constant(p.kind)
    return call("np.sort", *xs, **words)


def _convolve(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr | None:
    """Write a convolution of two sequences that needs no zeros around them; None for others."""
    p: Any = eq.params
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


def _contract(eq: Equation, xs: Sequence[ast.expr]) -> ast.expr:
    """Write what the implementation does: a product of matrices, of views where they are needed."""
    p: Any = eq.params
    stack = [k for k in p.out if k in p.left and k in p.right]
    inner = [k for k in p.left if k in p.right and k not in p.out]
    if not stack and len(p.left) <= 2 and len(p.right) <= 2 and len(inner) == 1:
        return _product_of_matrices(p, inner[0], xs)
    return _product_of_stacks(eq, stack, inner, xs)


def _product_of_matrices(p: Any, inner: int, xs: Sequence[ast.expr]) -> ast.expr:
    x, y = xs
    if p.left.index(inner) != len(p.left) - 1:
        x = turned(x)
    if p.right.index(inner) != 0:
        y = turned(y)
    z = build("x @ y", x=x, y=y)
    return z if len(p.out) < 2 or p.out[0] in p.left else turned(z)


def _product_of_stacks(
    eq: Equation, stack: list[int], inner: list[int], xs: Sequence[ast.expr]
) -> ast.expr:
    p: Any = eq.params
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
        moved = transposed(x, order)
        return moved if before == shape else build("x.reshape(s)", x=moved, s=shape_of((*shape,)))

    a = arranged(xs[0], p.left, rows, inner)
    b = arranged(xs[1], p.right, inner, columns)
    z = build("a @ b" if inner else "a * b", a=a, b=b)
    natural = (*stack, *rows, *columns)
    full = (*(sizes[k] for k in natural),)
    shape = (*(sizes[k] for k in stack), *(_product(sizes[k] for k in g) for g in (rows, columns)))
    if full != shape:
        z = build("z.reshape(s)", z=z, s=shape_of(full))
    z = transposed(z, [natural.index(k) for k in p.out])
    return z if full else build("z[()]", z=z)


def _outer_product(
    p: Any, stack: list[int], rows: list[int], columns: list[int], xs: Sequence[ast.expr]
) -> ast.expr:
    """Write a product without a sum, which NumPy broadcasts."""
    a = transposed(xs[0], [p.left.index(k) for k in (*stack, *rows)])
    b = transposed(xs[1], [p.right.index(k) for k in (*stack, *columns)])
    if columns:
        a = build(f"a[{', '.join([':'] * len(stack + rows) + ['None'])}]", a=a)
    if rows and stack:
        b = build(f"b[{', '.join([':'] * len(stack) + ['None'])}]", b=b)
    natural = [*stack, *rows, *columns]
    return transposed(build("a * b", a=a, b=b), [natural.index(k) for k in p.out])


def _product(sizes: Any) -> int:
    result = 1
    for n in sizes:
        result *= n
    return result


TEMPLATES: Final[dict[Primitive[Any], Template]] = {
    **_OPERATORS,
    reshape_p: _reshape,
    permute_p: _permute,
    broadcast_p: _broadcast,
    convert_p: _convert,
    slice_p: _slice,
    reverse_p: _reverse,
    iota_p: _iota,
    gather_p: _gather,
    concatenate_p: _concatenate,
    select_p: lambda _eq, xs: call("np.where", *xs),
    reduce_sum_p: _reduction("np.sum", widens=True),
    reduce_prod_p: _reduction("np.prod", widens=True),
    reduce_max_p: _reduction("np.max"),
    reduce_min_p: _reduction("np.min"),
    reduce_all_p: _reduction("np.all"),
    reduce_any_p: _reduction("np.any"),
    reduce_count_p: _reduction("np.sum"),
    argmax_p: _along_axis("np.argmax"),
    argmin_p: _along_axis("np.argmin"),
    cumsum_p: _along_axis("np.cumsum", typed=True),
    cumprod_p: _along_axis("np.cumprod", typed=True),
    sort_p: _sort,
    convolve_p: _convolve,
    contract_p: _contract,
    named_solve_p: lambda _eq, xs: call("np.linalg.solve", *xs),
}
"""Templates by primitive.  Default for the others: the implementation (see `helpers`)."""
