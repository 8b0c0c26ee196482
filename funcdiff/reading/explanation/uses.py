"""In which of the user's lines an argument is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcdiff.core.atoms import Atom
from funcdiff.core.builder import Builder
from funcdiff.core.origins import Place
from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Equation, Program
from funcdiff.core.walk import copy_equation, walk
from funcdiff.reading.provenance import origin_of


def split_uses(program: Program) -> tuple[list[Place], Program]:
    """Return the lines that use the first input, and a program with an input for each of them.

    These inputs, and one for what is used in no line, stand in the place of the first.  Taking a
    part of it is no use, where the user has no line for that.
    """
    first, lines = program.inputs[0], []
    parts: set[Atom] = {first}
    for eq in program.equations:
        if not parts.isdisjoint(eq.operands):
            place = origin_of(program, eq.results[0]).place
            if place is None:
                parts.update(eq.results)
            elif place not in lines:
                lines.append(place)
    with Builder("uses", CLOSED) as builder:
        copies = [builder.input(first.type) for _ in range(len(lines) + 1)]
        versions: dict[Atom, Sequence[Any]] = {first: copies}

        def rule(eq: Equation, xs: list[Any]) -> Sequence[Any]:
            def record(j: int) -> Sequence[Any]:
                pairs = zip(eq.operands, xs, strict=True)
                return copy_equation(eq, [versions[a][j] if a in versions else x for a, x in pairs])

            if eq.results[0] not in parts:
                place = origin_of(program, eq.results[0]).place
                return record(lines.index(place) if place in lines else -1)
            each = [record(j) for j in range(len(copies))]
            versions.update(zip(eq.results, zip(*each, strict=True), strict=True))
            return each[-1]

        rest = [builder.input(t) for t in program.input_types[1:]]
        return lines, builder.program(walk(program, [copies[-1], *rest], rule))
