"""Runs the kernel of a scan's body, which writes rows and carries to where they belong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.scan import Scan


class Places(NamedTuple):
    """Which outputs of a body its kernel writes to given memory."""

    rows: list[int]  # stacked outputs, written row by row
    kept: dict[int, int]  # carries of which all values are an output, too: that output
    carried: list[int]  # other carries

    @property
    def in_order(self) -> tuple[int, ...]:
        """Return all of them, in the order in which the kernel takes the memory."""
        return (*self.rows, *self.kept, *self.carried)


def writable_outputs(p: Scan) -> Places:
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

    def new(candidates: Sequence[int]) -> list[int]:
        found = []
        for k in candidates:
            if outputs[k].type.shape and outputs[k] not in seen:
                found.append(k)
                seen.add(outputs[k])
        return found

    rows = new(range(p.carries, len(outputs)))
    carried = [] if moves else new(range(p.carries))
    kept = {
        k: outputs.index(places[k], p.carries)
        for k in carried
        if places[k] in outputs[p.carries :]
    }  # fmt: skip
    return Places(rows, kept, [k for k in carried if k not in kept])


class Body(Protocol):
    """The kernel of a body, which runs in memory that is taken and given back."""

    def take(self) -> Callable[..., Any]: ...  # noqa: D102
    def give_back(self, run: Callable[..., Any]) -> None: ...  # noqa: D102


def scan(p: Scan, body: Body) -> Callable[..., Any]:
    """Return the implementation of a scan.

    Parameters
    ----------
    p
        Its parameters.
    body
        Its kernel, which takes memory for the `writable_outputs`, behind the operands.
    """
    order = range(p.length - 1, -1, -1) if p.reverse else range(p.length)
    types = p.body.output_types
    places = writable_outputs(p)
    stacked = [k for k in range(p.carries, len(types)) if k not in places.kept.values()]
    others = [k for k in stacked if k not in places.rows]

    def function(*operands: Any) -> Any:
        constants, carry, xs = p.split(operands)
        ys = {k: np.empty((p.length, *types[k].shape), types[k].dtype) for k in stacked}
        buffers = [_start(p, types[k], carry[k]) for k in places.kept]
        # one is written while the other is read
        memory, spare = (
            [np.empty(types[k].shape, types[k].dtype) for k in places.carried] for _ in range(2)
        )
        walked = [*xs, *(ys[k] for k in places.rows)]
        walked += [buffer[: p.length] if p.reverse else buffer[1:] for buffer in buffers]
        rows = zip(*[x[::-1] if p.reverse else x for x in walked], strict=True)
        run = body.take()
        for k, row in zip(order, rows if walked else repeat(()), strict=False):
            results = run(*constants, *carry, *row, *memory)
            memory, spare = spare, memory
            carry = results[: p.carries]
            for place in others:
                ys[place][k] = results[place]
        body.give_back(run)
        for k, buffer in zip(places.kept, buffers, strict=True):
            ys[places.kept[k]] = buffer[1:] if p.reverse else buffer[: p.length]
            carry[k] = carry[k].copy()
        return (*carry, *(ys[k] for k in range(p.carries, len(types))))

    return function


def _start(p: Scan, type_: ArrayType, start: Any) -> Any:
    """Return memory for all values of a carry, with the first one in it."""
    buffer = np.empty((p.length + 1, *type_.shape), type_.dtype)
    buffer[p.length if p.reverse else 0] = start
    return buffer
