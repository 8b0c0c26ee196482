"""Batching: one program for one example becomes one program for all of them.

A batched value has the batch axis in front.  Equations without batched operands are copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import walk
from funcdiff.core.tracer import Tracer
from funcdiff.space import align
from funcdiff.transforms.jvp import Mask


@memoised
def vmap(program: Program, size: int, batched: Mask, wanted: Mask = ()) -> tuple[Program, Mask]:
    """Return the batched program.

    Parameters
    ----------
    program
        The program of one example.
    size
        Length of the batch axis.
    batched
        Which inputs have a batch axis.
    wanted
        Which outputs must have one even if they are equal for all examples; by default none.

    Returns
    -------
    program
        The same computation for all examples.
    mask
        Which outputs have the batch axis.
    """
    with Builder("vmap", SHARED) as builder:
        xs = [
            builder.input(v.type.with_shape((size, *v.type.shape)) if flag else v.type)
            for v, flag in zip(program.inputs, batched, strict=True)
        ]
        marked = {v.number for v, flag in zip(program.inputs, batched, strict=True) if flag}

        def rule(eq: Equation, operands: list[Tracer]) -> Sequence[Tracer]:
            flags = [getattr(atom, "number", -1) in marked for atom in eq.operands]
            if not any(flags):
                return bind(eq.primitive, eq.params, *operands)
            marked.update(v.number for v in eq.results)
            return batch_equation(eq, size, operands, flags)

        ys = walk(program, xs, rule)
        mask = [getattr(atom, "number", -1) in marked for atom in program.outputs]
        for k, want in enumerate(wanted):
            if want and not mask[k]:
                (ys[k],) = align(size, [ys[k]], [False])
                mask[k] = True
        return builder.program(ys), tuple(mask)


def batch_equation(
    eq: Equation, size: int, operands: list[Tracer], flags: Sequence[bool]
) -> Sequence[Tracer]:
    """Record an equation of operands of which those that are flagged have a batch axis."""
    if eq.primitive.batch is None:
        wide = operands if all(flags) else align(size, operands, flags)
        return bind(eq.primitive, eq.params.with_batch_axis(size), *wide)
    return eq.primitive.batch(eq.params, size, operands, flags)


def batch_outputs(program: Program, size: int, batched: Sequence[bool]) -> Program:
    """Return the batched program of which every output has the batch axis."""
    return vmap(program, size, tuple(batched), (True,) * len(program.outputs))[0]
