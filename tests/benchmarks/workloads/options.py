"""What is to be measured, and the environment for it."""

from __future__ import annotations

from dataclasses import dataclass


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
    largest
        The most reads in the loop whose growth is measured.
    cpu_time
        Whether the processor's time is taken in place of the clock's: of all threads together, so
        for one thread, on a machine that is busy with other things.
    output
        The file for the figures.
    """

    only: list[str]
    contestants: list[str]
    rounds: int
    budget: float
    threads: int
    largest: int
    cpu_time: bool
    output: str


def environment(threads: int) -> dict[str, str]:
    """Return the environment variables by which libraries use so many threads."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
    variables = dict.fromkeys(names, str(threads))
    variables["OPENBLAS_THREAD_TIMEOUT"] = "20"  # its threads sleep before the next one's turn
    if threads == 1:
        variables["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return variables
