"""Reports the progress of long work: by a bar of tqdm where that is installed, else by lines."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Final, Self

from funcdiff.core.late import late_import

_PATIENCE: Final = 5.0
"""Seconds until the first line; every further one comes after twice the time."""


class Progress:
    """Counts steps, in `unit`, and says on stderr how many there were.

    `wanted`: True says it at once, by a bar where tqdm is installed; False never; None after some
    seconds, by a line.
    """

    def __init__(
        self, what: str, *, wanted: bool | None, total: int | None = None, unit: str = "steps"
    ) -> None:
        self._what, self._total, self._unit = what, total, unit
        self._started = time.monotonic()
        patience = {None: _PATIENCE, True: 0.0, False: float("inf")}[wanted]
        self._due = self._started + patience
        self._steps, self._has_spoken = 0, False
        self._bar = _bar(what, total, unit) if wanted else None
        self.doing = ""  # the part of the work that the next steps belong to

    def tick(self, count: int = 1) -> None:
        """Count steps that are done."""
        self._steps += count
        if self._bar is not None:
            if self.doing:
                self._bar.set_postfix_str(self.doing, refresh=False)
            self._bar.update(count)
            return
        now = time.monotonic()
        if now >= self._due or (self._steps == self._total and self._has_spoken):
            self._has_spoken = True
            took = now - self._started
            self._due = now + max(took, 1.0)
            of_all = "" if self._total is None else f" of {self._total}"
            doing = f"{self.doing}, after " if self.doing else ""
            sys.stderr.write(
                f"{self._what}: {doing}{self._steps}{of_all} {self._unit} in {took:.0f} s\n"
            )
            sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar(what: str, total: int | None, unit: str) -> Any:
    """Return a bar, or None where tqdm is not installed."""
    try:
        tqdm = late_import("tqdm.auto").tqdm
    except ImportError:
        return None
    return tqdm(desc=what, total=total, unit=f" {unit}", file=sys.stderr)
