"""Runs the kernel of a scan's body, on arrays or on Python floats.

The kernel of a body of arrays writes rows and carries to where they belong; one of numbers hands
floats from iteration to iteration.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.program import Program
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.ops.control.scan import Scan

_BLOCK: Final = 1 << 12
"""Rows that are taken apart at a time."""


def writable_outputs(p: Scan) -> tuple[int, ...]:
    """Return which outputs of the body its kernel can write to given memory.

    Those are arrays that the body computes, each once; but no carry if one moves to the place of
    another, so that it is looked at for longer than an iteration.
    """
    inputs, outputs = p.body.inputs, p.body.outputs
    places = inputs[p.constants : p.constants + p.carries]
    moves = any(
        atom in inputs and atom != place for atom, place in zip(outputs, places, strict=False)
    )
    seen = {atom for atom in outputs if atom in inputs or isinstance(atom, Literal)}
    found = []
    for k in (*range(p.carries, len(outputs)), *(() if moves else range(p.carries))):
        if outputs[k].type.shape and outputs[k] not in seen:
            found.append(k)
            seen.add(outputs[k])
    return tuple(found)


def scan(p: Scan, body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the implementation of a scan.

    Parameters
    ----------
    p
        Its parameters.
    body
        Kernel of the body; takes memory for the `writable_outputs`, behind the operands.
    """
    order = range(p.length - 1, -1, -1) if p.reverse else range(p.length)
    types = p.body.output_types
    places = writable_outputs(p)
    carried = [k for k in places if k < p.carries]
    rows = [k - p.carries for k in places if k >= p.carries]
    others = [k for k in range(len(types) - p.carries) if k not in rows]

    def function(*operands: Any) -> Any:
        constants, carry, xs = p.split(operands)
        ys = [np.empty((p.length, *t.shape), t.dtype) for t in types[p.carries :]]
        written = [ys[k] for k in rows]
        # one is written while the other is read
        memory, spare = (_memory([types[k] for k in carried]) for _ in range(2))
        for k in order:
            results = body(
                *constants, *carry, *[x[k] for x in xs], *[y[k] for y in written], *memory
            )
            memory, spare = spare, memory
            carry = results[: p.carries]
            for place in others:
                ys[place][k] = results[p.carries + place]
        return (*carry, *ys)

    return function


def scan_of_numbers(p: Scan, body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the implementation of a scan by a body that takes and returns floats one by one."""
    end = p.constants + p.carries
    carried, stacked = p.body.output_types[: p.carries], p.body.output_types[p.carries :]
    size = sum(t.size for t in carried)

    def function(*operands: Any) -> Any:
        fixed, carry = _floats(operands[: p.constants]), _floats(operands[p.constants : end])
        made = array("d")
        for row in _rows(p, operands[end:]):
            results = body(*fixed, *carry, *row)
            carry = results[:size]
            made.extend(results[size:])
        rows = np.array(made).reshape((p.length, sum(t.size for t in stacked)))
        last = _split(np.array(carry, FLOAT), carried)
        return (*last, *_split(rows[::-1] if p.reverse else rows, stacked))

    return function


def _floats(arrays: Sequence[Any]) -> list[Any]:
    """Return all elements as Python's numbers."""
    return [number for x in arrays for number in x.ravel().tolist()]


def _rows(p: Scan, xs: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield the elements of each row of all arrays."""
    if not xs:
        yield from repeat((), p.length)
        return
    flat = [x.reshape(p.length, x.size // max(p.length, 1)) for x in xs]
    for first in range(0, p.length, _BLOCK):
        place = slice(first, first + _BLOCK)
        blocks = [(x[::-1] if p.reverse else x)[place].astype(FLOAT) for x in flat]
        yield from np.concatenate(blocks, axis=1).tolist()


def _split(elements: Any, types: Sequence[ArrayType]) -> list[Any]:
    """Cut the last axis into arrays of the given types."""
    parts, start = [], 0
    for t in types:
        part = elements[..., start : start + t.size].astype(t.dtype)
        parts.append(part.reshape((*elements.shape[:-1], *t.shape))[()])
        start += t.size
    return parts


def _memory(types: Sequence[ArrayType]) -> list[Any]:
    return [np.empty(t.shape, t.dtype) for t in types]


def of_one(function: Callable[..., Any], body: Program) -> Callable[..., Any]:
    """Return an implementation whose one result stands for itself."""
    return (lambda *xs: function(*xs)[0]) if len(body.outputs) == 1 else function
