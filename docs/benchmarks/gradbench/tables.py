"""Figures as rows of Markdown: milliseconds, and funcdiff's time in units of another's."""

from __future__ import annotations

from typing import Final

from docs.benchmarks.workloads.tables import milliseconds
from docs.benchmarks.workloads.timing import Figures

WARM: Final = ("fd.jit", "fd.jit, llvm", "fd", "autograd", "jax.jit", "jax.jit, own", "torch, own")
COLD: Final = ("fd.jit", "fd", "autograd", "jax.jit", "torch, own")
RATIOS: Final = (
    ("fd.jit", "jax.jit"),
    ("fd.jit", "jax.jit, own"),
    ("fd.jit, llvm", "jax.jit, own"),
    ("fd", "autograd"),
    ("fd", "torch, own"),
)
"""Whose time is divided by whose."""


def head(columns: tuple[str, ...]) -> str:
    """Return the first two rows of a table."""
    return f"| evaluation | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}"


def cells(name: str, texts: list[str]) -> str:
    """Return a row."""
    return f"| {name} | {' | '.join(texts)} |"


def warm(f: Figures) -> list[str]:
    """Return the medians of calls that are not the first, in milliseconds."""
    return [milliseconds(f.median(name)) if f.seconds.get(name) else "–" for name in WARM]


def cold(f: Figures) -> list[str]:
    """Return the first calls, in milliseconds of CPU time."""
    return [milliseconds(f.first[name]) if name in f.first else "–" for name in COLD]


def quotients(f: Figures) -> list[str]:
    """Return the ratios."""
    found = (f.ratio(ours, other) for ours, other in RATIOS)
    return ["–" if ratio is None else rounded(ratio) for ratio in found]


def rounded(ratio: float) -> str:
    """Return a ratio with two digits, or as a whole number."""
    return f"{ratio:.0f}" if ratio >= 10.0 else f"{ratio:.2g}"


HEAD: Final = head(
    (
        *(f"{name}, ms" for name in WARM),
        *(f"{name}, first" for name in COLD),
        *(f"{ours} / {other}" for ours, other in RATIOS),
    )
)


def row(f: Figures) -> str:
    """Return all of it, and below it why a contestant failed."""
    errors = [f"{name}: {why[:300]}" for name, why in f.left_out.items() if "Error" in why]
    return "\n".join([cells(f.name, [*warm(f), *cold(f), *quotients(f)]), *errors])
