"""What the others take in units of funcdiff's times: tables, and means of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from docs.benchmarks.workloads.causes import TOLERATED, cause
from docs.benchmarks.workloads.timing import Figures

OURS: Final = ("fd.jit", "fd.jit, numpy", "fd.jit, llvm", "fd")
"""Ways of funcdiff's."""
GOAL: Final = 1.0
"""The ratio below which a cell is marked: funcdiff is to be as fast, at least."""
PEERS: Final = ("by hand", "autograd", "jax.jit", "jax.jit, own", "torch", "torch, own")
"""The others that take part everywhere."""
SMALL: Final = 1e-4
"""Seconds below which a gradient by hand is a small one."""


class Setting(NamedTuple):
    """How many threads the libraries have, and vectors of how many bits."""

    threads: int
    bits: int

    def __str__(self) -> str:
        return f"{self.threads} thread{'s' if self.threads > 1 else ''}, {self.bits} bits"


Measured = Mapping[Setting, Sequence[Figures]]


def measured(runs: Sequence[dict[str, Any]]) -> Measured:
    """Return the figures of each setting."""
    return {
        Setting(run["threads"], run["bits"]): [Figures(**w) for w in run["workloads"]]
        for run in runs
    }


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, all but its first column to the right; empty if it has no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        return ""
    rule = "|---|" + "--:|" * (len(head) - 1)
    return "\n".join([f"| {' | '.join(head)} |", rule, *lines]) + "\n"


def cell(ratio: float | None) -> str:
    """Return a ratio with its mark."""
    if ratio is None:
        return "–"
    digits = 0 if ratio >= 100 else 1 if ratio >= 10 else 2
    return f"{ratio:.{digits}f}" + (" ▼" if ratio < GOAL else "")


def of_setting(figures: Sequence[Figures], name: str, others: Sequence[str] = PEERS) -> str:
    """Return the table of one of ours against the others."""
    shown = [o for o in others if any(f.ratio(o, name) is not None for f in figures)]
    rows = [[f.name, *(cell(f.ratio(o, name)) for o in shown)] for f in figures]
    return table(["workload", *shown], rows)


def shortfalls(found: Measured) -> str:
    """Return the section of compiled gradients that are much slower than others, with causes."""
    others = tuple(TOLERATED)
    rows: list[list[str]] = []
    reasons: list[str] = []
    for same in zip(*found.values(), strict=True):
        worst = [
            min((r for f in same if (r := f.ratio(other, "fd.jit")) is not None), default=None)
            for other in others
        ]
        if any(r is not None and r < TOLERATED[o] for r, o in zip(worst, others, strict=True)):
            why = cause(same[0].name)
            is_repeated = bool(rows) and why == reasons[-1]
            reasons.append(why)
            rows.append([same[0].name, *map(cell, worst), "as above" if is_repeated else why])
    bounds = " or ".join(f"{bound:.2g} ({name})" for name, bound in TOLERATED.items())
    heading = (
        "## Where it is slower, and why\n\nThe workloads in which `fd.jit` takes more than 1.4 "
        f"times as long as another: a cell\nis below {bounds}. Shown is the lowest ratio of all "
        "settings.\n\n"
    )
    body = table(["workload", *others, "cause"], rows)
    return heading + body.replace("--:|\n", "---|\n", 1) if body else ""


def means(found: Measured, others: Sequence[str] = PEERS) -> str:
    """Return the section of geometric means over the workloads in which both took part."""
    columns = [(name, setting) for name in OURS for setting in found]
    rows = [[o, *(mean(found[s], o, name) for name, s in columns)] for o in others]
    head = ["against", *(f"`{name}`, {setting}" for name, setting in columns)]
    return "## Geometric means\n\n" + table(head, rows)


def mean(figures: Sequence[Figures], other: str, name: str) -> str:
    """Return the geometric mean of the ratios, and how many of them are below the goal."""
    ratios = [r for f in figures if (r := f.ratio(other, name)) is not None]
    if not ratios:
        return "–"
    below = sum(r < GOAL for r in ratios)
    return f"{cell(statistics.geometric_mean(ratios))} ({below} of {len(ratios)} below {GOAL:g})"


def is_small(f: Figures) -> bool:
    """Return whether a gradient takes little time by hand."""
    return not f.is_loop and f.median("by hand") < SMALL


def is_large(f: Figures) -> bool:
    """Return whether a gradient is neither small nor a loop."""
    return not f.is_loop and not is_small(f)


KINDS: Final[Mapping[str, Callable[[Figures], bool]]] = {
    "small (below 0.1 ms by hand)": is_small,
    "large": is_large,
    "loops": lambda f: f.is_loop,
}
PAIRS: Final = (
    ("fd.jit", "by hand"),
    ("fd.jit, numpy", "by hand"),
    ("fd.jit, llvm", "by hand"),
    ("fd.jit", "jax.jit, own"),
    ("fd.jit, numpy", "jax.jit, own"),
    ("fd.jit, llvm", "jax.jit, own"),
    ("fd", "autograd"),
    ("fd", "torch, own"),
)
"""Of ours and others: what is compiled with what is compiled, what is traced with what is."""


def means_by_kind(found: Measured) -> str:
    """Return the geometric means of small and large workloads and of loops, in each setting."""
    rows = []
    for setting, figures in found.items():
        if not all("by hand" in f.seconds for f in figures):
            continue
        for kind, is_of in KINDS.items():
            chosen = [f for f in figures if is_of(f)]
            cells = [mean(chosen, other, name).split(" (")[0] for name, other in PAIRS]
            rows.append([f"{setting}: {kind}", str(len(chosen)), *cells])
    head = ["kind", "workloads", *(f"{other} / {name}" for name, other in PAIRS)]
    body = table(head, rows)
    return f"The same by the kind of workload:\n\n{body}" if body else ""
