"""Runs fused regions block by block, in one or several threads, whose pool is kept here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.backend.blocks.schedule import Region
from funcdiff.errors import InputError, user_location

# --------------------------------------------------------------------------------------------------
# Keeps the thread pool for blocks of elementwise work, and sets how many threads there are.


def _available() -> int:
    """Return how many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


class _Pool:
    """Threads that help the calling one; made when they are first needed."""

    def __init__(self) -> None:
        self.threads = _available()
        self._executor: ThreadPoolExecutor | None = None

    def resize(self, threads: int) -> None:
        """Let so many threads work together, the calling one included."""
        if self._executor is not None and threads != self.threads:
            self._executor.shutdown(wait=False)
            self._executor = None
        self.threads = threads

    def forget(self) -> None:
        """Leave the threads behind, which a forked process does not have."""
        self._executor = None

    def submit(self, work: Callable[[], None]) -> Future[None]:
        """Let another thread do the work."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(max(1, self.threads - 1), "funcdiff")
        return self._executor.submit(work)


_pool: Final = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.forget)


def set_num_threads(threads: int | None) -> None:
    """Choose how many threads elementwise work on large arrays is shared by.

    Only compiled functions use threads (see `jit`), and only where a block-by-block run of
    elementwise operations makes at least a million numbers or so.  Products of matrices have the
    threads of NumPy's BLAS, which this does not change: set ``OMP_NUM_THREADS`` for these.
    A process that was forked starts threads of its own.

    Parameters
    ----------
    threads
        1 keeps everything in the calling thread; None takes as many as there are cores that this
        process may use, which is the default.

    Raises
    ------
    InputError
        If `threads` is not a positive integer.

    Examples
    --------
    >>> import funcdiff as fd
    >>> fd.set_num_threads(1)
    >>> fd.get_num_threads()
    1
    >>> fd.set_num_threads(None)
    """
    if threads is None:
        threads = _available()
    if type(threads) is bool or not isinstance(threads, int | np.integer) or threads < 1:
        raise InputError(
            f"set_num_threads takes a positive integer or None, got {threads!r}, at "
            f"{user_location()}"
        )
    _pool.resize(int(threads))


def get_num_threads() -> int:
    """Return how many threads elementwise work on large arrays is shared by.

    Returns
    -------
    int
        At least 1; what `set_num_threads` was given, or what the machine has.

    Examples
    --------
    >>> import funcdiff as fd
    >>> fd.get_num_threads() >= 1
    True
    """
    return _pool.threads


def share(work: Callable[[int], None], jobs: int, threads: int) -> None:
    """Call ``work(k)`` for every job k, in several threads; each takes the next one.

    An error of any is raised, when all threads have stopped.
    """
    numbers = count()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with np.errstate(all="ignore"):  # each thread has a state of its own
                while (k := next(numbers)) < jobs and not failures:
                    work(k)
        except BaseException as error:  # also an interrupt, of the calling thread
            failures.append(error)

    helpers = [_pool.submit(run) for _ in range(threads - 1)]
    run()
    for helper in helpers:
        helper.result()
    if failures:
        raise failures[0]


Lender: TypeAlias = Callable[..., Any]
"""A kernel: takes the operands, then the memory for the results stored."""

_SHARED: Final = 1 << 18
"""Elements of work for each thread, at least: less is done before another has woken up."""


class Blocks:
    """A region as a function of its operands and of the memory for its results.

    `whole` is its kernel for blocks of full length, `rest` for the shorter one at the end, if any.
    It stays `alone` in one thread if what it calls has threads of its own.
    """

    def __init__(self, region: Region, whole: Lender, rest: Lender | None, *, alone: bool) -> None:
        self._whole, self._rest = whole, rest
        self._length, self._block = region.length, region.block
        self._stored = len(region.stored)
        self._combined = [(v.type.dtype, ufunc) for v, ufunc in region.combined]
        self._alone = alone
        self._work = sum(
            max(a.type.size for a in (*eq.operands, *eq.results)) for eq in region.equations
        )

    def __call__(
        self, blocked: Sequence[Any], whole: Sequence[Any], stored: Sequence[Any]
    ) -> list[Any]:
        """Write the results stored, and return those combined."""
        length, block = self._length, self._block
        jobs = -(-length // block)
        parts: list[Any] = [None] * jobs

        def work(k: int) -> None:
            low, high = k * block, (k + 1) * block
            kernel: Any = self._whole if high <= length else self._rest
            rows = [x[low:high] for x in blocked]
            parts[k] = kernel(*rows, *whole, *[y[low:high] for y in stored])

        count = 1 if self._alone else min(get_num_threads(), self._work // _SHARED, jobs)
        if count > 1:
            share(work, jobs, count)
        else:
            for k in range(jobs):
                work(k)
        return [
            ufunc.reduce([part[self._stored + k] for part in parts], axis=0, dtype=dtype)
            for k, (dtype, ufunc) in enumerate(self._combined)
        ]
