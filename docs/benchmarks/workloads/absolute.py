"""The tables of the page that are no ratios: times, memory, first calls, growth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from math import log
from typing import Any, Final

from docs.benchmarks.workloads.causes import PEAKS, cause
from docs.benchmarks.workloads.peaks import COUNTED
from docs.benchmarks.workloads.ratios import OURS, PEERS, Measured, Setting, table
from docs.benchmarks.workloads.tables import milliseconds
from docs.benchmarks.workloads.timing import Figures

TOLERATED_PEAK: Final = 1.2
"""How much more memory than by hand needs a reason."""


def times(setting: Setting, figures: Sequence[Figures]) -> str:
    """Return the section of times."""
    by_hand, *others = PEERS
    names = [by_hand, *OURS, *others]
    rows = [
        [f.name, *(milliseconds(f.median(name)) if name in f.seconds else "–" for name in names)]
        for f in figures
    ]
    return f"## Times\n\nMedians in milliseconds ({setting}).\n\n" + table(
        ["workload", *names], rows
    )


def memory(figures: Sequence[Figures]) -> str:
    """Return the section of peak memory."""
    rows = []
    for f in figures:
        if f.peaks:
            ratio = f.peaks["fd.jit"] / f.peaks["by hand"]
            sizes = (f"{f.peaks[name] / 1e6:.1f}" for name in COUNTED)
            is_more = ratio > TOLERATED_PEAK
            why = cause(f.name, PEAKS) if is_more else ""
            rows.append([f.name, *sizes, f"{ratio:.2f}{' ▼' if is_more else ''}", why])
    heading = (
        "## Peak memory\n\nMegabytes that a warm call holds at most, arguments apart, with the "
        "compiled\nprograms and the memory that they keep between calls; as `tracemalloc` counts "
        "it, each in a\nprocess of its own. Workloads that need less than 1 MB by hand are not "
        "shown. There is a cause\nwhere `fd.jit` holds more than 1.2 times as much (▼). Some 3 MB "
        "of `fd.jit`, and 2 of `fd`, are\nmodules that are imported when they are first used.\n\n"
    )
    body = table(["workload", *COUNTED, "fd.jit / by hand", "cause"], rows)
    return heading + body.replace("--:|\n", "---|\n", 1) if body else ""


def unseen(runs: Sequence[dict[str, Any]]) -> str:
    """Return the section of functions that were never seen before."""
    found: list[Any] = next((run["unseen"] for run in runs if run.get("unseen")), [])
    rows = []
    for name, group in groupby(found, key=lambda result: result[0]):
        ratios = {transform: (ours, theirs) for _, transform, ours, theirs, *_ in group}
        ours, theirs = ratios["grad"]
        others = [f"{a / b:.2f}" for a, b in (ratios["vjp"], ratios["jvp"])]
        rows.append(
            [name, milliseconds(ours), milliseconds(theirs), f"{ours / theirs:.2f}", *others]
        )
    heading = (
        "## Never seen before\n\nCode that branches, iterates or adapts records another program "
        "in every call. Milliseconds of CPU\ntime of such calls, medians, and funcdiff's time in "
        "units of autograd's (`python -m\ndocs.benchmarks.first_sight`): below 1, funcdiff is "
        "quicker. The first call of a process, which derives\nwhat the operations have in common, "
        "takes some milliseconds more.\n\n"
    )
    head = ["function", "`grad`: fd", "autograd", "ratio", "ratio of `vjp`", "ratio of `jvp`"]
    body = table(head, rows)
    return heading + body if body else ""


def first_calls(runs: Sequence[dict[str, Any]]) -> str:
    """Return the section of the first call."""
    found: dict[str, float] = next((r["first calls"] for r in runs if r["first calls"]), {})
    rows = [[name, milliseconds(seconds)] for name, seconds in found.items()]
    heading = (
        "## First call\n\nMilliseconds of CPU time of the first call "
        "of the gradient of a function of "
        "30 equations that is new to\nthe library, with everything that is made for it.\n\n"
    )
    body = table(["contestant", "ms"], rows)
    return heading + body if body else ""


def first_calls_of_workloads(figures: Sequence[Figures]) -> str:
    """Return the section of the first calls of the workloads."""
    names = ("fd.jit", "fd", "autograd", "jax.jit", "torch")
    if not any(f.first for f in figures):
        return ""
    rows = [
        [f.name, *(milliseconds(f.first[name]) if name in f.first else "–" for name in names)]
        for f in figures
    ]
    heading = (
        "Of the workloads, tracing, compiling and running. (`fd` comes after "
        "`fd.jit`, whose\nprograms it shares; `jax.jit` before the one with its own arrays.)\n\n"
    )
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
        "## Growth of reads in a loop\n\nMilliseconds of CPU time of the gradient of a loop that"
        " reads n single elements, and the "
        "exponents of its\ngrowth from size to size: 1 is linear.\n\n"
    )
    head = ["contestant", *(f"n = {n}" for n in sizes), *(f"exponent to {n}" for n in sizes[1:])]
    return heading + table(head, rows)


def left_out(found: Measured) -> str:
    """Return the section of those who did not take part."""
    reasons = dict.fromkeys(
        (f.name, name, " ".join(why.split())[:150])
        for figures in found.values()
        for f in figures
        for name, why in f.left_out.items()
    )
    body = table(["workload", "contestant", "why"], reasons).replace("--:|", "---|")
    return f"## Left out\n\n{body}" if body else ""
