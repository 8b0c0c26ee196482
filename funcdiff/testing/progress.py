"""Lines that say how far a check is that takes long."""

from __future__ import annotations

import sys
import time
from typing import Final

_PATIENCE: Final = 5.0
"""Seconds until the first line; every further one comes after twice the time."""


class Progress:
    """Counts evaluations, and writes a line to stderr when they have taken long.

    Parameters
    ----------
    check
        What is being done: ``check_grads of f``.
    wanted
        True writes the first line at once, False none at all, None after some seconds.
    """

    def __init__(self, check: str, *, wanted: bool | None) -> None:
        self._check = check
        self._started = time.monotonic()
        patience = {None: _PATIENCE, True: 0.0, False: float("inf")}[wanted]
        self._due = self._started + patience
        self._evaluations = 0
        self.doing = "the value"

    def tick(self) -> None:
        """Count an evaluation."""
        self._evaluations += 1
        now = time.monotonic()
        if now >= self._due:
            took = now - self._started
            self._due = now + max(took, 1.0)
            sys.stderr.write(
                f"{self._check}: {self.doing}, after {self._evaluations} calls in {took:.0f} s\n"
            )
            sys.stderr.flush()
