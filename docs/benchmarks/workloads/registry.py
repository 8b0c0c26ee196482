"""The list of workloads, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from docs.benchmarks.workloads import (
    attention,
    chains,
    curvature,
    diffusion,
    hands,
    images,
    indexing,
    integrators,
    letters,
    matrices,
    mixtures,
    networks,
    observations,
    pricing,
    processes,
    recurrent,
    regression,
    reprojection,
    rosenbrock,
)
from docs.benchmarks.workloads.workload import Workload

FAMILIES: Final = (
    chains,
    networks,
    images,
    attention,
    recurrent,
    letters,
    regression,
    mixtures,
    processes,
    reprojection,
    observations,
    hands,
    pricing,
    rosenbrock,
    curvature,
    diffusion,
    matrices,
    integrators,
    indexing,
)

WORKLOADS: Final[tuple[Workload, ...]] = tuple(w for f in FAMILIES for w in f.WORKLOADS)
TINY: Final[tuple[Workload, ...]] = tuple(w for f in FAMILIES for w in f.TINY)


def chosen(names: Sequence[str]) -> list[Workload]:
    """Return the workloads in whose names one of some texts occurs; all if there are none."""
    found = [w for w in WORKLOADS if not names or any(n.lower() in w.name.lower() for n in names)]
    if not found:
        raise SystemExit(f"no workload is named like {names}: {[w.name for w in WORKLOADS]}")
    return found
