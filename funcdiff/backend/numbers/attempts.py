"""Functions that are tried first, because they are quick, and raise where they know no result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.computed import computed
from funcdiff.core.quiet import quiet

_TRIES: Final = 8
"""How often a function may raise before it is no longer tried."""


class Attempt:
    """A function of arrays that runs a quick one, or a sure one where the quick one raises.

    Parameters
    ----------
    quick
        Raises `ArithmeticError` or `ValueError` for numbers that it does not know the result of.
    sure
        Makes the function that knows it, when it is needed.

    Attributes
    ----------
    quick
        The quick function; who calls it by itself gives the operands to the `Attempt` if it raises.
    """

    def __init__(self, quick: Callable[..., Any], sure: Callable[[], Callable[..., Any]]) -> None:
        self.quick = quick
        self._make = sure
        self._failures = 0

    def __call__(self, *operands: Any) -> Any:
        """Return the results."""
        if self._failures < _TRIES:
            try:
                return self.quick(*operands)
            except (ArithmeticError, ValueError):
                self._failures += 1
                if self._failures == _TRIES:
                    self.quick = self
        numbers = [np.float64(x) if type(x) is float else x for x in operands]
        return quiet(self._sure, *numbers)

    @computed
    def _sure(self) -> Callable[..., Any]:
        return self._make()
