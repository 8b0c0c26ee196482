"""Writes convolutions, and products with a masked operand, for any library.

A library convolves sequences of channels with kernels, ``y[n, f, p] = Σ x[n, c, s·p + d·t - l] ·
k[f, c, t]``, by strides s and dilations d, where x is padded by l entries before, and may have
zeros between its entries.  Every equation of `Convolution` is of that form once an operand is
turned round where its places run the other way.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcdiff.backend.code.formulas import permute, product, reshape
from funcdiff.core.program import Equation
from funcdiff.core.types import ArrayType
from funcdiff.ops.products.contract import arrangement
from funcdiff.ops.products.convolution import Convolution
from funcdiff.ops.products.masked import MaskedContraction, MaskedConvolution
from funcdiff.reading.text.expressions import (
    allocation,
    build,
    call,
    constant,
    dtype_of,
    name,
    text_of,
)
from funcdiff.reading.text.writer import Body, Writing


class Filter(NamedTuple):
    """A convolution of channels as libraries have it."""

    x: ast.expr  # axes are batch, channels, places
    kernels: ast.expr  # axes are filters, channels, places
    strides: tuple[int, ...]  # from place to place of the result
    spread: tuple[int, ...]  # from place to place of `x`: zeros are put between
    dilations: tuple[int, ...]
    # Entries before and behind `x` with these zeros; may be negative.
    padding: tuple[tuple[int, int], ...]
    shape: tuple[int, ...]  # of `x` with these zeros, without padding
    groups: int  # of channels that are convolved apart


Convolve: TypeAlias = Callable[[Body, Filter, np.dtype[Any]], ast.expr]
"""Write a convolution of a dtype; return the result."""

Product: TypeAlias = Callable[[ast.expr, ast.expr], ast.expr]


def _convolution(
    b: Body, p: Convolution, types: Sequence[ArrayType], result: ArrayType, convolve: Convolve
) -> Product:
    """Return what writes a convolution of operands of these types."""
    at, (left, right) = arrangement(p), types
    sizes = {
        **dict(zip(p.left, left.shape, strict=False)),
        **dict(zip(p.right, right.shape, strict=False)),
    }
    stack, rows, columns, inner = (
        prod(sizes[k] for k in group) for group in (at.stack, at.rows, at.columns, at.inner)
    )
    lengths = left.shape[len(p.left) :], right.shape[len(p.right) :]
    padding = []
    for (a, s, c), offset, count, n, m in zip(p.steps, p.offsets, p.lengths, *lengths, strict=True):
        before = s * (m - 1) * (s > 0) - offset + a * (n - 1) * (a < 0)
        size, extent = abs(a) * (n - 1) + 1, abs(s) * (m - 1) + 1
        padding.append((before, (count - 1) * c + extent - before - size))
    spread = tuple(abs(a) for a, _, _ in p.steps)
    full = tuple(k * (n - 1) + 1 for k, n in zip(spread, lengths[0], strict=True))

    def write(x: ast.expr, y: ast.expr) -> ast.expr:
        if 0 in (*left.shape, *right.shape, *result.shape):
            return allocation("np.zeros", result)
        x = _arrange(x, p.left, (*at.rows, *at.stack, *at.inner), [a < 0 for a, _, _ in p.steps])
        y = _arrange(
            y, p.right, (*at.stack, *at.columns, *at.inner), [s > 0 for _, s, _ in p.steps]
        )
        kernels = build(reshape("y", (stack * columns, inner, *lengths[1])), y=y)
        found = convolve(
            b,
            Filter(
                build(reshape("x", (rows, stack * inner, *lengths[0])), x=x),
                kernels,
                tuple(c for _, _, c in p.steps),
                spread,
                tuple(abs(s) for _, s, _ in p.steps),
                tuple(padding),
                (rows, stack * inner, *full),
                stack,
            ),
            result.dtype,
        )
        natural = (*at.rows, *at.stack, *at.columns)
        whole = build(reshape("y", (*(sizes[k] for k in natural), *p.lengths)), y=found)
        return _arrange(whole, natural, p.out, [False] * len(p.lengths))

    return write


def _arrange(
    x: ast.expr, labels: Sequence[int], wanted: Sequence[int], turned: Sequence[bool]
) -> ast.expr:
    """Put axes in order by their labels, and turn the places round that run the other way."""
    if any(turned):
        parts = ["::-1" if flag else ":" for flag in turned]
        x = build(f"x[{', '.join([':'] * len(labels) + parts)}]", x=x)
    order = [*(labels.index(k) for k in wanted), *range(len(labels), len(labels) + len(turned))]
    return build(permute("x", order), x=x)


def _product_with_mask(convolve: Convolve, choice: str) -> Writing:
    """Write a product; what is masked meets nothing that is not finite (see `masked`)."""

    def write(b: Body, eq: Equation) -> None:
        p = eq.params
        assert isinstance(p, MaskedContraction | MaskedConvolution)
        x, y, mask = (b.simple(atom) for atom in eq.operands)
        multiply = _product_of(b, eq, convolve)
        result = b.writer.simple(multiply(x, y), "product")
        careful = b.writer.new("careful")
        factor, coefficient = (x, y) if p.masked == 0 else (y, x)

        def of(c: ast.expr, f: ast.expr) -> ast.expr:
            return multiply(f, c) if p.masked == 0 else multiply(c, f)

        with b.writer.block(f"def {careful}():"):
            finite = b.writer.simple(build("np.isfinite(x)", x=coefficient), "finite")
            kept = build(
                "np.where(finite | met, x, 0)",
                finite=finite,
                met=_meets_unmasked(p, eq, mask),
                x=coefficient,
            )
            real = dtype_of(eq.results[0].type.dtype.type(0).real.dtype)
            parts = (
                build("(~x).astype(d)", x=finite, d=real),
                build("x.astype(d)", x=mask, d=real),
            )
            spoilt = b.writer.simple(build("x > 0", x=of(*parts)), "spoilt")
            naive = b.writer.simple(of(b.writer.simple(kept, "kept"), factor), "naive")
            rest = build("np.where(finite, x, 0)", finite=finite, x=coefficient)
            plain = b.writer.simple(of(b.writer.simple(rest, "rest"), factor), "plain")
            b.writer.line(f"return {text_of(call('np.where', spoilt, naive, plain))}")
        b.assign(eq, build(choice, product=result, careful=name(careful)))

    return write


def _product_of(b: Body, eq: Equation, convolve: Convolve) -> Product:
    p, (left, right, _), result = eq.params, [x.type for x in eq.operands], eq.results[0].type
    if isinstance(p, Convolution):
        return _convolution(b, p, (left, right), result, convolve)
    return lambda x, y: build(str(product(eq, "x", "y")), x=x, y=y)


def _meets_unmasked(
    p: MaskedContraction | MaskedConvolution, eq: Equation, mask: ast.expr
) -> ast.expr:
    """Return which coefficients are multiplied by an entry that is not masked."""
    own, others = (p.left, p.right) if p.masked == 0 else (p.right, p.left)
    shape = eq.operands[1 - p.masked].type.shape
    gone = [axis for axis, label in enumerate(own) if label not in others]
    axes = (*gone, *range(len(own), eq.operands[2].type.ndim))
    some = (
        call("np.any", mask, axis=constant(axes[0] if len(axes) == 1 else axes)) if axes else mask
    )
    kept = [label for label in own if label in others]
    order = [kept.index(label) for label in others if label in kept]
    places = [":" if label in kept else "None" for label in others] + ["None"] * (
        len(shape) - len(others)
    )
    moved = build(permute("x", order), x=some)
    return moved if "None" not in places else build(f"x[{', '.join(places)}]", x=moved)


def products(convolve: Convolve, choice: str) -> dict[str, Writing]:
    """Return the statements by which a library that convolves so computes contractions.

    `choice` is the formula that takes ``product``, and where it is not finite what the function
    ``careful`` computes.
    """

    def plain(b: Body, eq: Equation) -> None:
        types = [atom.type for atom in eq.operands]
        write = _convolution(b, eq.params_as(Convolution), types, eq.results[0].type, convolve)
        b.assign(eq, write(*(b.simple(atom) for atom in eq.operands)))

    return {
        "convolve": plain,
        "masked_contract": _product_with_mask(convolve, choice),
        "masked_convolve": _product_with_mask(convolve, choice),
    }
