"""The page with the figures: its text is written by hand, its tables by the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from docs.benchmarks.gradbench.causes import CAUSES, TOLERATED
from docs.benchmarks.gradbench.tables import (
    COLD,
    RATIOS,
    WARM,
    cells,
    cold,
    head,
    quotients,
    rounded,
    warm,
)
from docs.benchmarks.workloads.causes import cause
from docs.benchmarks.workloads.timing import Figures

PAGE: Final = Path(__file__).parents[3] / "docs" / "gradbench.md"


def table(
    columns: tuple[str, ...], make: Callable[[Figures], list[str]], figures: list[Figures]
) -> str:
    """Return a table with a row for each workload."""
    return "\n".join([head(columns), *(cells(f.name, make(f)) for f in figures)])


def slower(figures: list[Figures]) -> str:
    """Return the table of what takes longer than in JAX, with the causes."""
    rows, last = [], ""
    for f in figures:
        ratio = f.ratio("fd.jit", "jax.jit, own")
        if ratio is not None and ratio > TOLERATED:
            why = cause(f.name, CAUSES)
            rows.append(cells(f.name, [rounded(ratio), "as above" if why == last else why]))
            last = why
    return "\n".join(["| evaluation | fd.jit / jax.jit, own | cause |\n|---|--:|---|", *rows])


def setting(found: dict[str, Any]) -> str:
    """Return a row for the machine and one for the versions."""
    clock = "CPU time" if found["cpu time"] else "the clock"
    versions = ", ".join(f"{name} {v}" for name, v in found["versions"].items())
    return "\n".join(
        [
            "| machine | measured | load | versions |\n|---|---|--:|---|",
            cells(
                f"{found['cpu']}, 1 thread, vectors of {found['bits']} bits",
                [clock, f"{found['load']:.1f}", versions],
            ),
        ]
    )


def with_figures(text: str, found: dict[str, Any]) -> str:
    """Return the text of the page with the tables of what was measured."""
    figures = [Figures(**w) for w in found["workloads"]]
    ratios = tuple(f"{ours} / {other}" for ours, other in RATIOS)
    tables = {
        "setting": setting(found),
        "ratios": table(ratios, quotients, figures),
        "warm": table(WARM, warm, figures),
        "first": table(COLD, cold, figures),
        "causes": slower(figures),
    }
    for name, body in tables.items():
        begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = before + begin + "\n" + body + "\n" + end + after
    return text
