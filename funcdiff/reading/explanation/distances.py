"""How far a run of a program passes by kinks, those in the bodies of loops and branches too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff.core.evaluate import executable
from funcdiff.core.memo import memoised
from funcdiff.core.program import Equation, Program
from funcdiff.core.walk import nested
from funcdiff.reading.explanation.inspections import Gap, kinks_in


class Kinked(NamedTuple):
    """An equation with a kink; the convention is empty where that is in code that is not seen."""

    program: Program
    eq: Equation
    convention: str


@memoised
def _kinks_of(program: Program) -> dict[int, tuple[Gap | None, Kinked]]:
    """Return kinks by equation, without a distance where they are not seen."""
    found: dict[int, tuple[Gap | None, Kinked]] = {
        k: (None, Kinked(program, eq, "")) for k, eq in enumerate(program.equations) if _hides(eq)
    }
    return found | {k: (gap, Kinked(program, eq, said)) for k, eq, gap, said in kinks_in(program)}


def _hides(eq: Equation) -> bool:
    """Whether an equation calls Python code, or holds a program with kinks that it runs itself."""
    if eq.primitive.implementation.nested is not None:
        return False
    calls = eq.primitive.facts.calls_user or hasattr(eq.params, "batches")  # of `python_call`
    return calls or any(map(has_kinks, nested(eq.params)))


@memoised
def has_kinks(program: Program) -> bool:
    """Whether a program, or one that it holds, may have kinks."""
    inner = (p for eq in program.equations for p in nested(eq.params))
    return bool(_kinks_of(program)) or any(map(has_kinks, inner))


def distances(program: Program, arrays: Sequence[Any]) -> list[tuple[Kinked, Any]]:
    """Run a program, and return the distances from its kinks in order, those in loops too."""
    found: list[tuple[Kinked, Any]] = []

    def runner(inner: Program) -> Callable[..., list[Any]]:
        prepared = executable(inner)
        equations, kinks = prepared.program.equations, _kinks_of(prepared.program)
        bodies = {
            k: make(eq.params, runner) for k, eq in enumerate(equations)
            if (make := eq.primitive.implementation.nested) is not None
        }  # fmt: skip

        def step(k: int, function: Callable[..., Any], xs: list[Any]) -> Any:
            ys = bodies.get(k, function)(*xs)
            if k in kinks:
                gap, kink = kinks[k]
                y = ys if len(kink.eq.results) == 1 else ys[0]
                away = 0.0 if gap is None else gap(kink.eq.params, xs, y)
                found.append((kink, np.reshape(away, -1)))
            return ys

        return lambda *xs: prepared.watch(xs, step)

    runner(program)(*arrays)
    return found
