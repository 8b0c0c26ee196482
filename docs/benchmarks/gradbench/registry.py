"""The twelve evaluations, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Final

from docs.benchmarks.gradbench import (
    ba,
    det,
    gmm,
    hello,
    ht,
    kmeans,
    llsq,
    lse,
    lstm,
    ode,
    particle,
    saddle,
)
from docs.benchmarks.workloads.workload import Workload

EVALUATIONS: Final[tuple[ModuleType, ...]] = (
    hello,
    lse,
    llsq,
    det,
    gmm,
    kmeans,
    ht,
    ba,
    lstm,
    ode,
    saddle,
    particle,
)
WORKLOADS: Final[tuple[Workload, ...]] = tuple(w for e in EVALUATIONS for w in e.WORKLOADS)
TINY: Final[tuple[Workload, ...]] = tuple(w for e in EVALUATIONS for w in e.TINY)


def chosen(names: Sequence[str]) -> list[Workload]:
    """Return the workloads whose names begin with one of some texts; all if there are none."""
    found = [w for w in WORKLOADS if not names or w.name.startswith(tuple(names))]
    if not found:
        raise SystemExit(f"no evaluation is named like {names}: {[w.name for w in WORKLOADS]}")
    return found


def is_slow(w: Workload) -> bool:
    """Return whether a call takes many seconds: descents in Python's loops."""
    return w in (*saddle.IN_PYTHON, *particle.IN_PYTHON)
