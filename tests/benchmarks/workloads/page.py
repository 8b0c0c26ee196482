"""The page of the documentation that shows the figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.workloads.causes import TOLERATED, cause
from tests.benchmarks.workloads.tables import milliseconds
from tests.benchmarks.workloads.timing import Figures

PAGE: Final = Path(__file__).parents[3] / "docs" / "benchmarks.md"

GOAL: Final = 1.0
"""The ratio below which a cell is marked: funcdiff is to be as fast, at least."""

QUESTIONS: Final = (
    ("Against gradients written by hand", "by hand", ("fd.jit", "fd")),
    ("Against autograd", "autograd", ("fd.jit", "fd")),
    ("Against JAX, compiled", "jax.jit", ("fd.jit", "fd")),
    ("Against JAX, not compiled", "jax", ("fd.jit", "fd")),
    ("Against PyTorch's `backward`", "torch", ("fd.jit", "fd")),
    ("Against `torch.func`", "torch.func", ("fd.jit", "fd")),
)
"""Title, the other contestant, and ours."""

NOTES: Final = {
    "by hand": "The derivative as a competent person writes it in plain NumPy, without `out=`.",
    "autograd": "HIPS autograd through `autograd.numpy`: the same text of the function.",
    "jax.jit": "`jax.jit(jax.grad(f))` with NumPy arrays in and out, `float64` enabled.",
    "jax": "`jax.grad(f)`, operation by operation. Loops that take minutes are left out.",
    "torch": "`backward()` on tensors from `torch.from_numpy`, gradients out by `.numpy()`; for "
    "products, Jacobians and Hessians `torch.autograd.functional`.",
    "torch.func": "`torch.func.grad`, `jvp` of `grad`, `jacrev` and `hessian`.",
}

HEAD: Final = """# Benchmarks

<!-- Written by `python -m tests.benchmarks.workloads --write`. -->

What a gradient costs in funcdiff and elsewhere, for whole programs. Every table is made by

```sh
python -m pip install -e ".[bench,scipy]"
python -m tests.benchmarks.workloads --write
```

A cell is the other's time divided by funcdiff's: **2.0 means that funcdiff takes half the time**,
and a cell below {goal:g} is marked with ▼, because there funcdiff is slower. All workloads are
shown, and those that a contestant cannot run are listed at the end with the reason.

How it is measured: all contestants get the same NumPy arrays and return NumPy arrays, and their
values are checked against each other first. They run in one process and take turns in {rounds}
rounds; a ratio is taken in each round, and the median of the ratios is shown. After the check
each is called {warm} more times before the first round, so that programs are compiled and
allocators have their memory; a slow one is called once more, and takes turns in some rounds only.
With one and with two threads the libraries run in separate processes.

| machine | {machine} |
|---|---|
| versions | {versions} |
| load average | {load} |

A load above the number of threads means that other programs ran at the same time, and that the
figures are noisy.

`fd.jit` is `fd.jit(fd.grad(f))`, and `fd` is `fd.grad(f)`, which traces `f` in every call.
"""


def page(runs: Sequence[dict[str, Any]]) -> str:
    """Return the text of the page from a run for each number of threads."""
    measured = {run["threads"]: [Figures(**w) for w in run["workloads"]] for run in runs}
    first = runs[0]
    parts = [
        HEAD.format(
            goal=GOAL,
            rounds=first["rounds"],
            warm=first["warm calls"],
            machine=f"{first['cpu']}, {first['cores']} cores, {first['system']}",
            load=" and ".join(f"{run['load']:.1f} ({plural(run['threads'])})" for run in runs),
            versions=", ".join(f"{name} {v}" for name, v in first["versions"].items()),
        ),
        means(measured),
        shortfalls(measured),
        *(question(measured, *q) for q in QUESTIONS),
        times(measured),
        memory(measured),
        first_calls(runs),
        first_calls_of_workloads(measured),
        slopes(runs),
        left_out(measured),
    ]
    return "\n".join(part for part in parts if part)


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


def columns(measured: dict[int, list[Figures]], ours: Sequence[str]) -> list[tuple[str, int]]:
    """Return the pairs of one of ours and a number of threads."""
    return [(name, threads) for name in ours for threads in measured]


def title(column: tuple[str, int]) -> str:
    """Return the head of a column."""
    name, threads = column
    return f"`{name}`, {plural(threads)}"


def plural(threads: int) -> str:
    """Return a number of threads in words."""
    return f"{threads} thread{'s' if threads > 1 else ''}"


def question(
    measured: dict[int, list[Figures]], heading: str, other: str, ours: Sequence[str]
) -> str:
    """Return the section that compares with one contestant."""
    shown = columns(measured, ours)
    rows = []
    for same in zip(*measured.values(), strict=True):
        by_threads = dict(zip(measured, same, strict=True))
        ratios = [by_threads[threads].ratio(other, name) for name, threads in shown]
        if any(ratio is not None for ratio in ratios):
            rows.append([same[0].name, *map(cell, ratios)])
    body = table(["workload", *map(title, shown)], rows)
    return f"## {heading}\n\n{NOTES[other]}\n\n{body}" if body else ""


def shortfalls(measured: dict[int, list[Figures]]) -> str:
    """Return the section of compiled gradients that are much slower than others, with causes."""
    others = tuple(TOLERATED)
    rows = []
    for same in zip(*measured.values(), strict=True):
        worst = [
            min((r for f in same if (r := f.ratio(other, "fd.jit")) is not None), default=None)
            for other in others
        ]
        if any(r is not None and r < TOLERATED[o] for r, o in zip(worst, others, strict=True)):
            rows.append([same[0].name, *map(cell, worst), cause(same[0].name)])
    bounds = " or ".join(f"{bound:g} ({name})" for name, bound in TOLERATED.items())
    heading = (
        "## Where it is slower, and why\n\nThe workloads in which `fd.jit` is below "
        f"{bounds}, with the lower\nof the ratios for one and two threads.\n\n"
    )
    body = table(["workload", *others, "cause"], rows)
    return heading + body.replace("--:|\n", "---|\n", 1) if body else ""


def means(measured: dict[int, list[Figures]]) -> str:
    """Return the section of geometric means over the workloads in which both took part."""
    rows = []
    shown = columns(measured, ("fd.jit", "fd"))
    for _, other, _ in QUESTIONS:
        cells = []
        for name, threads in shown:
            ratios = [r for f in measured[threads] if (r := f.ratio(other, name)) is not None]
            if not ratios:
                cells.append("–")
                continue
            below = sum(r < GOAL for r in ratios)
            mean = cell(statistics.geometric_mean(ratios))
            cells.append(f"{mean} ({below} of {len(ratios)} below {GOAL:g})")
        rows.append([other, *cells])
    return "## Geometric means\n\n" + table(["against", *map(title, shown)], rows)


def times(measured: dict[int, list[Figures]]) -> str:
    """Return the section of times."""
    threads, figures = next(iter(measured.items()))
    names = ["by hand", "fd.jit", "fd", *(other for _, other, _ in QUESTIONS[1:])]
    rows = [
        [f.name, *(milliseconds(f.median(name)) if name in f.seconds else "–" for name in names)]
        for f in figures
    ]
    heading = f"## Times\n\nMedians in milliseconds, with {plural(threads)}.\n\n"
    return heading + table(["workload", *names], rows)


def memory(measured: dict[int, list[Figures]]) -> str:
    """Return the section of peak memory."""
    names = ("by hand", "fd.jit", "fd", "autograd")
    figures = [f for some in measured.values() for f in some if f.peaks]
    rows = [
        [f.name, *(f"{f.peaks[name] / 1e6:.1f}" if name in f.peaks else "–" for name in names)]
        for f in figures
    ]
    heading = (
        "## Peak memory\n\nMegabytes that a warm call holds at most, arguments apart, with the "
        "compiled\nprograms and the memory that they keep between calls; as `tracemalloc` counts "
        "it, so for those\nwhose arrays are NumPy's. Workloads that need less than 1 MB by hand "
        "are not shown.\n\nWhat a compiled function has of its own stays allocated between calls, "
        "and counts here even while\nother arrays are at their peak: matrices of a Gaussian "
        "process, states and gates of an LSTM. A loop\nof Python is kept as a program with an "
        "equation for each operation, of about 4 kB.\n\n"
    )
    body = table(["workload", *names], rows)
    return heading + body if body else ""


def first_calls(runs: Sequence[dict[str, Any]]) -> str:
    """Return the section of the first call."""
    found: dict[str, float] = next((r["first calls"] for r in runs if r["first calls"]), {})
    rows = [[name, milliseconds(seconds)] for name, seconds in found.items()]
    heading = (
        "## First call\n\nMilliseconds of the first call of the gradient of a function of 30 "
        "equations that is new to\nthe library, with everything that is made for it.\n\n"
    )
    body = table(["contestant", "ms"], rows)
    return heading + body if body else ""


def first_calls_of_workloads(measured: dict[int, list[Figures]]) -> str:
    """Return the section of the first calls of the workloads."""
    names = ("fd.jit", "jax.jit")
    figures = next(iter(measured.values()))
    rows = [
        [f.name, *(milliseconds(f.first[name]) if name in f.first else "–" for name in names)]
        for f in figures
    ]
    heading = "Of the workloads, tracing, compiling and running, in milliseconds:\n\n"
    return heading + table(["workload", *names], rows)


def slopes(runs: Sequence[dict[str, Any]]) -> str:
    """Return the section of single reads."""
    found: dict[str, list[float]] = next((dict(r["slopes"]) for r in runs if r["slopes"]), {})
    if not found:
        return ""
    sizes = found.pop("n")
    steps = [log(m / n) for n, m in pairwise(sizes)]
    rows = []
    for name, seconds in found.items():
        growth = [log(b / a) for a, b in pairwise(seconds)]
        exponents = [f"{g / step:.2f}" for g, step in zip(growth, steps, strict=True)]
        rows.append([name, *map(milliseconds, seconds), *exponents])
    heading = (
        "## Growth of reads in a loop\n\nMilliseconds of the gradient of a loop that reads n "
        "single elements, and the exponents of its\ngrowth from size to size: 1 is linear.\n\n"
    )
    head = ["contestant", *(f"n = {n}" for n in sizes), *(f"exponent to {n}" for n in sizes[1:])]
    return heading + table(head, rows)


def left_out(measured: dict[int, list[Figures]]) -> str:
    """Return the section of those who did not take part."""
    reasons = dict.fromkeys(
        (f.name, name, " ".join(why.split())[:150])
        for figures in measured.values()
        for f in figures
        for name, why in f.left_out.items()
    )
    body = table(["workload", "contestant", "why"], reasons).replace("--:|", "---|")
    return f"## Left out\n\n{body}" if body else ""
