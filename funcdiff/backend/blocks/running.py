"""Runs a fused region: calls its kernel for each block of rows, in one or several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from funcdiff.backend.blocks import threads
from funcdiff.backend.blocks.schedule import Region

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

        count = 1 if self._alone else min(threads.get_num_threads(), self._work // _SHARED, jobs)
        if count > 1:
            threads.share(work, jobs, count)
        else:
            for k in range(jobs):
                work(k)
        return [
            ufunc.reduce([part[self._stored + k] for part in parts], axis=0, dtype=dtype)
            for k, (dtype, ufunc) in enumerate(self._combined)
        ]
