"""What is to be measured, and the environment for it."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Final

_KERNELS: Final = importlib.import_module("numpy._core._multiarray_umath")

NARROW: Final = {
    "NPY_DISABLE_CPU_FEATURES": " ".join(
        name for name in _KERNELS.__cpu_dispatch__ if "512" in name or name == "X86_V4"
    ),
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
"""By which NumPy, its BLAS, PyTorch and its kernels do without vectors of 512 bits."""
NARROW_XLA: Final = "--xla_cpu_max_isa=AVX2"
"""The same for XLA, among its flags."""


@dataclass(frozen=True)
class Options:
    """What one process measures.

    Attributes
    ----------
    only
        Parts of the names of the workloads; all if empty.
    contestants
        The names of the contestants; all if empty.
    rounds
        How often each takes its turn.
    budget
        Seconds for the rounds of one workload.
    threads
        How many threads each library may use.
    bits
        The width of vectors that the libraries may use: 512, where the processor has them, or 256.
    largest
        The most reads in the loop whose growth is measured.
    cpu_time
        Whether the processor's time is taken in place of the clock's: of all threads together, so
        for one thread, on a machine that is busy with other things.
    further
        Whether first calls, growth, peaks of memory and what was never seen are measured, too.
    output
        The file for the figures.
    """

    only: list[str]
    contestants: list[str]
    rounds: int
    budget: float
    threads: int
    bits: int
    largest: int
    cpu_time: bool
    further: bool
    output: str


def widest() -> int:
    """Return how wide the vectors of the processor are, in bits."""
    return 512 if _KERNELS.__cpu_features__.get("AVX512F") else 256


def kernels() -> list[str]:
    """Return for which processors NumPy has loops of their own that this process uses."""
    return [name for name in _KERNELS.__cpu_dispatch__ if _KERNELS.__cpu_features__.get(name)]


def environment(threads: int, bits: int) -> dict[str, str]:
    """Return the environment in which libraries use so many threads and vectors so wide.

    What chooses kernels in the environment of the caller is not passed on: with all that the
    processor has, each library chooses for itself.
    """
    variables = {name: text for name, text in os.environ.items() if name not in NARROW}
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    variables |= dict.fromkeys(names, str(threads))
    variables["OPENBLAS_THREAD_TIMEOUT"] = "20"  # its threads sleep before the next one's turn
    flags = []
    if threads == 1:
        flags += ["--xla_cpu_multi_thread_eigen=false", "intra_op_parallelism_threads=1"]
    if bits < widest():
        variables |= NARROW
        flags.append(NARROW_XLA)
    variables["XLA_FLAGS"] = " ".join(flags)
    return variables


def in_force() -> dict[str, str]:
    """Return the variables of this process that choose kernels or the sizes of their blocks."""
    names = (*NARROW, "OPENBLAS_L2_SIZE", "XLA_FLAGS")
    return {name: os.environ[name] for name in names if os.environ.get(name)}
