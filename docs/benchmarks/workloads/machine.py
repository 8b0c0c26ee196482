"""The machine and the libraries: what figures depend on besides the programs."""

from __future__ import annotations

import ctypes
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import numpy as np

from docs.benchmarks.workloads.options import in_force, kernels, widest

PACKAGES: Final = ("numpy", "scipy", "autograd", "jax", "torch")


def cpu() -> str:
    """Return the model of the processor."""
    try:
        rows = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((r.split(":")[1].strip() for r in rows if r.startswith("model name")), "unknown")


def versions() -> dict[str, str]:
    """Return the versions of the libraries; those that are not installed are left out."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def blas() -> str:
    """Return the processor for which NumPy's OpenBLAS has chosen its kernels; "unknown" if none."""
    for path in sorted((Path(np.__file__).parents[1] / "numpy.libs").glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_get_corename64_", "scipy_openblas_get_corename"):
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = ctypes.c_char_p
                return str(function().decode())
    return "unknown"


def machine() -> dict[str, Any]:
    """Return all of this, of the process that asks."""
    return {
        "load": os.getloadavg()[1],
        "cores": len(os.sched_getaffinity(0)),
        "cpu": cpu(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "widest": widest(),
        "kernels": kernels(),
        "blas": blas(),
        "in force": in_force(),
    }
