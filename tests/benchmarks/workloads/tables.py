"""Figures as lines of text."""

from __future__ import annotations

from tests.benchmarks.workloads.timing import Figures

PEERS = ("by hand", "fd", "autograd", "jax.jit", "jax", "torch", "torch.func")


def milliseconds(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{seconds * 1e3:.3g}"


def head(threads: int) -> str:
    """Return the head of the lines."""
    columns = "".join(f"{name:>11}" for name in PEERS)
    return (
        f"{threads} thread(s): ms of fd.jit, then the time of each over that of fd.jit (medians)\n"
        f"{'':42}{'fd.jit ms':>11}{columns}"
    )


def line(figures: Figures) -> str:
    """Return the figures of a workload: the time of fd.jit, and of the others in units of it."""
    if "fd.jit" not in figures.seconds:
        return f"{figures.name:42} {figures.left_out}"
    cells = []
    for name in PEERS:
        ratio = figures.ratio(name, "fd.jit")
        cells.append("-" if ratio is None else f"{ratio:.2f}")
    reasons = "".join(
        f"\n    {name}: {why[:300]}" for name, why in figures.left_out.items() if "Error" in why
    )
    peaks = "".join(f" {name} {size / 1e6:.1f}" for name, size in figures.peaks.items())
    memory = f"   peak MB:{peaks}" if peaks else ""
    return (
        f"{figures.name:42}{milliseconds(figures.median('fd.jit')):>11}"
        + "".join(f"{cell:>11}" for cell in cells)
        + memory
        + reasons
    )
