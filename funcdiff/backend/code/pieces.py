"""Generates code that assembles arrays from pieces: paddings, chains of them, concatenations."""

from __future__ import annotations

from typing import Final

from funcdiff.backend.code.formulas import index
from funcdiff.backend.code.products import ProductWriter
from funcdiff.core.atoms import Literal
from funcdiff.core.program import Equation, Program
from funcdiff.ops.structure.slicing import Slice, add_slice_p
from funcdiff.ops.structure.structural import Axis

_BOXES: Final = 16
"""Boxes of an array up to which it is looked which are still empty."""


class PieceWriter(ProductWriter):
    """Writes calls that put pieces where they belong."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._boxes: dict[int, tuple[Slice, ...]] = {}

    def _put(self, eq: Equation, name: str) -> str:
        """Return the statement that adds something to a box, or puts it where nothing is."""
        box = index(eq.operands[0].type.shape, eq.params_as(Slice).index)
        return (
            f"{name}[{box}] {'=' if self._is_nothing(eq) else '+='} {self._operand(eq.operands[1])}"
        )

    def _is_nothing(self, eq: Equation) -> bool:
        """Whether there are zeros where an equation adds something, which can be put there."""
        x, box = eq.operands[0], eq.params_as(Slice)
        boxes = () if isinstance(x, Literal) else self._boxes.get(x.number)
        if boxes is None or len(boxes) == _BOXES:
            return False
        self._boxes[eq.results[0].number] = (*boxes, box)
        return all(map(box.is_apart_from, boxes))

    def _concatenation(self, eq: Equation, place: str) -> str:
        """Return the call that joins arrays."""
        if not place:
            return super()._call(eq)
        xs = "".join(f"{self._operand(atom)}, " for atom in eq.operands)
        axis = eq.params_as(Axis).axis
        return f"{self._numpy('concatenate')}(({xs}), {axis}, {place})"


def is_padding(eq: Equation) -> bool:
    """Whether something is put into zeros."""
    x = eq.operands[0] if eq.primitive is add_slice_p else None
    return isinstance(x, Literal) and not any(x.bits)  # -0.0 is no zero to fill with
