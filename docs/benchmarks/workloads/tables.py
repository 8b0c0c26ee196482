"""Figures as lines of text."""

from __future__ import annotations

from docs.benchmarks.workloads.ratios import PEERS
from docs.benchmarks.workloads.timing import Figures

OTHERS = ("by hand", "fd.jit, numpy", "fd.jit, llvm", "fd", *PEERS[1:])


def milliseconds(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{seconds * 1e3:.3g}"


def head(threads: int, bits: int) -> str:
    """Return the head of the lines."""
    columns = "".join(f"{name:>13}" for name in OTHERS)
    return (
        f"{threads} thread(s), vectors of {bits} bits: "
        "ms of fd.jit, then the time of each over that of fd.jit (medians)\n"
        f"{'':48}{'fd.jit ms':>11}{columns}"
    )


def line(figures: Figures) -> str:
    """Return the figures of a workload: the time of fd.jit, and of the others in units of it."""
    if "fd.jit" not in figures.seconds:
        return f"{figures.name:48} {figures.left_out}"
    cells = []
    for name in OTHERS:
        ratio = figures.ratio(name, "fd.jit")
        cells.append("-" if ratio is None else f"{ratio:.2f}")
    reasons = "".join(
        f"\n    {name}: {why[:300]}" for name, why in figures.left_out.items() if "Error" in why
    )
    peaks = "".join(f" {name} {size / 1e6:.1f}" for name, size in figures.peaks.items())
    memory = f"   peak MB:{peaks}" if peaks else ""
    return (
        f"{figures.name:48}{milliseconds(figures.median('fd.jit')):>11}"
        + "".join(f"{cell:>13}" for cell in cells)
        + memory
        + reasons
    )
