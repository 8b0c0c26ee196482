"""Makes a report of a sweep: faults in order, and the costs of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.origins import Origin, Place
from funcdiff.core.program import Program
from funcdiff.reading.costs import Counts, counts_of
from funcdiff.reading.explanation.findings import Advice, Fault, LineCost
from funcdiff.reading.explanation.phrases import first_of, phrase, phrase_of, value_text
from funcdiff.reading.explanation.report import Report
from funcdiff.reading.explanation.roots import Root
from funcdiff.reading.explanation.sweep import Run, Sweep, SweepError
from funcdiff.reading.explanation.watching import Swept
from funcdiff.reading.labels import origin_of

_OPERANDS: Final = 3
"""So many operands of an equation are shown."""


def diagnose(
    name: str, swept: Swept, arrays: Sequence[Any], word_of: Callable[[Any], str]
) -> Report:
    """Sweep a program on the values of its inputs, and report what is found."""
    sweep = Sweep()
    run = sweep.run(swept.program, swept.active)
    try:
        run(*arrays)
        faults = _faults(run, swept, word_of)
    except SweepError as failure:
        faults = [_failure(failure)]
    lines = lines_of(counts_of(swept.program), sweep.seconds())
    return report_of(name, faults, sweep, swept.unused, lines)


def report_of(
    name: str,
    faults: Sequence[Fault],
    sweep: Sweep,
    unused: Sequence[str],
    lines: Sequence[LineCost],
) -> Report:
    """Return a report of what a sweep has found, of arguments without influence, and of costs."""
    advice = [*sweep.advice.values(), *map(_advice_on_unused, unused)]
    return Report(
        name,
        tuple(faults),
        tuple(sweep.masked.values()),
        tuple(sweep.kinks.values()),
        tuple(advice),
        tuple(lines),
    )


def _advice_on_unused(word: str) -> Advice:
    return Advice(
        None,
        f"the argument {word}",
        "no operation leads from it to the result, so that its derivative is zero",
        "leave it out of what is differentiated, or use it",
    )


# ---- faults --------------------------------------------------------------------------------------


def _faults(run: Run, swept: Swept, word_of: Callable[[Any], str]) -> list[Fault]:
    """Return where values are first not finite, in order, and derivatives, from behind."""
    program = swept.program
    targets: list[Atom] = list(dict.fromkeys([*swept.values, *program.outputs]))
    found = run.roots([x for x in targets if not origin_of(program, x).derived])
    known = {root.variable for root in found}
    backward = [r for r in run.roots(targets) if r.variable not in known]
    order = _order_of_places(program)
    backward.sort(key=lambda r: -order.get(origin_of(program, r.variable).place, -1))
    return list(dict.fromkeys(_fault(root, word_of) for root in [*found, *backward]))


def _order_of_places(program: Program) -> dict[Place | None, int]:
    """Return when lines run, going forward."""
    found: dict[Place | None, int] = {}
    for index, eq in enumerate(program.equations):
        for v in eq.results:
            origin = origin_of(program, v)
            if not origin.derived:
                found.setdefault(origin.place, index)
    return found


def _fault(root: Root, word_of: Callable[[Any], str]) -> Fault:
    while root.found.inner is not None:
        root = root.found.inner
    program, v, flags = root.program, root.variable, root.flags
    origin = origin_of(program, v)
    index, count = first_of(flags), int(np.count_nonzero(flags))
    eq = next((eq for eq in program.equations if v in eq.results), None)
    if eq is None:
        text = value_text(root.found.value, index)
        word = origin.name or word_of(root.found.value) or phrase_of(program, v)
        return Fault("argument", None, word, text, count, np.size(flags), index)
    operands: list[tuple[str, str]] = []
    for atom, x in zip(eq.operands, root.found.operands, strict=True):
        if not isinstance(atom, Literal) and len(operands) < _OPERANDS:
            same = eq.primitive.pointwise and np.shape(x) == np.shape(flags)
            operands.append((phrase_of(program, atom), value_text(x, index if same else None)))
    return Fault(
        "derivative" if origin.derived else "value", origin.place, phrase(program, eq),
        value_text(root.found.value, index), count, np.size(flags), index,
        tuple(dict.fromkeys(operands)),
    )  # fmt: skip


def _failure(failure: SweepError) -> Fault:
    program, eq = failure.program, failure.eq
    place = origin_of(program, eq.results[0]).place if eq.results else None
    found = f"{type(failure.error).__name__}: {failure.error}"
    return Fault("error", place, phrase(program, eq), found)


# ---- costs ---------------------------------------------------------------------------------------


def lines_of(counts: Counts, seconds: Mapping[Origin, float]) -> list[LineCost]:
    """Return what lines cost, of operations and of time by where they come from, the slowest first.

    What has the same line in different functions is one.
    """
    places: dict[tuple[str, int] | None, Place | None] = {}
    sums: dict[tuple[str, int] | None, list[list[float]]] = {}

    def add(origin: Origin, *values: float) -> None:
        key = origin.place and origin.place[:2]
        if key not in places:
            places[key], sums[key] = origin.place, [[0.0, 0.0] for _ in range(3)]
        for pair, value in zip(sums[key], values, strict=True):
            pair[origin.derived] += value

    for origin, taken in seconds.items():
        add(origin, taken, 0, 0)
    for origin, (flops, read, written, _) in counts.items():
        add(origin, 0.0, flops, read + written)
    lines = []
    for key, (times, operations, moved) in sums.items():
        memory = int(moved[0]), int(moved[1])
        pair = times[0], times[1]
        lines.append(LineCost(places[key], pair, (operations[0], operations[1]), memory))
    return sorted(lines, key=lambda line: -line.total_seconds)
