"""Finds which values of a program are the same for all points: indices, masks, patterns of zeros.

What floating inputs hold never counts, for a pattern must hold at every point; but indices and
masks that a function was given as they are, and zeros of a matrix that it multiplies by, do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.quiet import quiet

Array: TypeAlias = np.ndarray[Any, Any]


class Known:
    """What is known of the values of a program."""

    def __init__(self) -> None:
        # By variable: integers and booleans, and what is computed from them alone.
        self.values: dict[Var, Array] = {}
        self.nonzero: dict[Var, Array] = {}  # by variable: where a floating array differs from zero

    def value(self, atom: Atom) -> Array | None:
        """Return the value of an atom if it is known."""
        if isinstance(atom, Literal):
            return np.broadcast_to(np.asarray(atom.value, atom.type.dtype), atom.type.shape)
        return self.values.get(atom)

    def where_nonzero(self, atom: Atom) -> Array | None:
        """Return where an atom may differ from zero; None for everywhere."""
        value = self.value(atom)
        if value is not None:
            return np.asarray(value != 0)
        return self.nonzero.get(atom) if isinstance(atom, Var) else None

    def learn(self, atom: Var, value: Any) -> None:
        """Note the value of an input: of integers and booleans; of others, where they are zero."""
        if value is not None:
            kept = self.values if atom.type.dtype.kind in "biu" else self.nonzero
            kept[atom] = np.asarray(value)

    def follow(self, eq: Equation) -> None:
        """Note what is known of the results of an equation."""
        operation = eq.operation
        if operation.calls_user or eq.operation.ends:
            return
        values = [self.value(atom) for atom in eq.operands]
        if not any(value is None for value in values):
            found = quiet(operation.function, *values)
            results = found if isinstance(found, tuple | list) else [found]
            self.values.update(zip(eq.results, map(np.asarray, results), strict=True))
        elif eq.primitive.facts.elements == "moved":
            nonzero = self.where_nonzero(eq.operands[0])
            if nonzero is not None:
                self.nonzero[eq.results[0]] = np.asarray(operation.function(nonzero))


def evaluate_known(program: Program, inputs: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return what is known of the outputs of a program: values, and where they are not zero.

    An input of which nothing is known is None; of a floating one it is said where it is not zero.
    """
    known = Known()
    for atom, value in zip(program.inputs, inputs, strict=True):
        known.learn(atom, value)
    for eq in program.equations:
        known.follow(eq)
    return [(known.value(atom), known.where_nonzero(atom)) for atom in program.outputs]
