"""Runs the kernel of a scan's body, which writes rows and carries to where they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.scan import Scan


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


def _memory(types: Sequence[ArrayType]) -> list[Any]:
    return [np.empty(t.shape, t.dtype) for t in types]


def of_one(function: Callable[..., Any], body: Program) -> Callable[..., Any]:
    """Return an implementation whose one result stands for itself."""
    return (lambda *xs: function(*xs)[0]) if len(body.outputs) == 1 else function
