"""Decompresses Jacobians: reads entries off few vectors, each of many columns or rows.

What a vector takes in memory on its way is bounded: all vectors go as one batch if they fit, else
a loop takes as many at a time as do.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np

from funcdiff.api.derivatives.programs import pullback
from funcdiff.core.atoms import Var
from funcdiff.core.builder import Builder, constant
from funcdiff.core.dataflow import last_uses
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.core.walk import inline
from funcdiff.ops.control.scan import Scan, scan
from funcdiff.ops.structure.structural import convert, reshape
from funcdiff.passes.sparsity.assembly import Pattern
from funcdiff.passes.sparsity.coloring import Coloring
from funcdiff.passes.sparsity.known import Array
from funcdiff.passes.sparsity.parts import held, joined, take
from funcdiff.transforms.linearize import Linearized
from funcdiff.transforms.vmap import vmap

BUDGET: Final = 1 << 28
"""Bytes that all vectors of a batch may take on their way."""
_PER_ENTRY: Final = 32
"""Bytes that they may take for each entry that they tell, if those are more."""


def fits(program: Program, vectors: int, entries: int) -> bool:
    """Whether vectors may go through a program as one batch, to find so many entries."""
    return _bytes_on_the_way(program) * vectors <= max(BUDGET, _PER_ENTRY * entries)


def entries_of_vectors(
    split: Linearized,
    linear: Program,
    blocks: Sequence[Pattern],
    whole: Pattern,
    coloring: Coloring,
    residuals: Sequence[Tracer],
) -> list[Tracer]:
    """Return the entries of the blocks, output by output, each in the order of its pattern.

    `whole` is the pattern of all blocks together, which has the coloring; `residuals` are the
    further inputs of the linear program.
    """
    count = len(linear.input_types) - len(residuals)
    xs, ys = linear.input_types[:count], linear.output_types
    pushes, pulls = coloring.pushes, coloring.pulls
    images: list[Tracer] = []
    if pushes:
        images = _images(linear, _units(coloring.columns, pushes, xs), residuals, last=False)
    rows = images
    if pulls:
        pulled = pullback(split, count, (True,) * len(ys))
        rows = _images(pulled, _units(coloring.rows, pulls, ys), residuals, last=True)
    tops, lefts = _starts(ys), _starts(xs)
    found = []
    for n, block in enumerate(blocks):
        k, j = divmod(n, count)
        row, column = block.rows + tops[k], block.columns + lefts[j]
        keys = row * whole.shape[1] + column
        mirrored = coloring.mirrored[np.searchsorted(whole.keys, keys)]
        direct = coloring.columns[column] * ys[k].size + block.rows
        across = coloring.rows[row] * xs[j].size + block.columns
        if not len(keys):
            found.append(constant(0, ArrayType((0,), ys[k].dtype)))
            continue
        if not mirrored.any():
            entries = take(images[k], direct)
        elif mirrored.all():
            entries = take(rows[j], across)
        elif rows is images and k == j:
            entries = take(images[k], np.where(mirrored, across, direct))
        else:
            both = joined([_flat(images[k], ys[k].dtype), _flat(rows[j], ys[k].dtype)])
            entries = take(both, np.where(mirrored, across + images[k].type.size, direct))
        assert entries is not None
        found.append(convert(entries, ys[k].dtype))
    return found


def _starts(types: Sequence[ArrayType]) -> list[int]:
    return list(accumulate((t.size for t in types), initial=0))


def _flat(x: Tracer, dtype: np.dtype[Any]) -> Tracer:
    return convert(reshape(x, (x.type.size,)), dtype)


def _units(colors: Array, count: int, types: Sequence[ArrayType]) -> list[Array]:
    """Return one vector for each colour, which is 1 where an element has it, by array."""
    units = []
    for (start, stop), t in zip(pairwise(_starts(types)), types, strict=True):
        own = colors[start:stop]
        places = np.flatnonzero(own >= 0)
        unit = np.zeros((count, t.size), t.dtype)
        unit[own[places], places] = 1
        units.append(unit.reshape(count, *t.shape))
    return units


def _images(
    program: Program, units: Sequence[Array], residuals: Sequence[Tracer], *, last: bool
) -> list[Tracer]:
    """Return the images of vectors, stacked, by result; `last` says that vectors come last.

    They may be followed by zeros.
    """
    size = len(units[0]) if units else 0
    most = max(1, BUDGET // max(1, _bytes_on_the_way(program)))
    length = max(1, -(-size // most))
    chunk = -(-size // length)
    flags = ((False,) * len(residuals), (True,) * len(units))
    stacked, _ = vmap(
        program, chunk, sum(flags if last else flags[::-1], ()), (True,) * len(program.outputs)
    )
    if length == 1:
        vectors = list(map(held, units))
        return inline(stacked, [*residuals, *vectors] if last else [*vectors, *residuals])
    with Builder("jacobian", SHARED) as builder:
        given = [builder.input(x.type) for x in residuals]
        rows = [builder.input(ArrayType((chunk, *x.shape[1:]), x.dtype)) for x in units]
        operands = [*given, *rows] if last else [*rows, *given]
        body = builder.program(inline(stacked, operands))
    chunks = []
    for x in units:
        whole = np.zeros((length * chunk, *x.shape[1:]), x.dtype)
        whole[:size] = x
        chunks.append(held(whole.reshape(length, chunk, *x.shape[1:])))
    return list(scan(Scan(body, len(given), 0, length, reverse=False), [*residuals, *chunks]))


def _bytes_on_the_way(program: Program) -> int:
    """Return the most bytes that results of a program take together while it runs."""
    last = last_uses(program)
    live = most = 0
    for index, eq in enumerate(program.equations):
        live += sum(v.type.nbytes for v in eq.results)
        most = max(most, live)
        atoms = {*eq.results, *(a for a in eq.operands if isinstance(a, Var))}
        atoms.difference_update(program.inputs)
        live -= sum(v.type.nbytes for v in atoms if last[v.number] == index)
    return most
