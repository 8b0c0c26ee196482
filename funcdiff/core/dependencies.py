"""Optional dependencies: functions of SciPy, imported when they are called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from funcdiff.errors import MissingDependencyError, user_location


@cache
def scipy_function(name: str, module: str = "scipy.special") -> Callable[..., Any]:
    """Return a function of SciPy's; raise `MissingDependencyError` if SciPy is not installed."""
    try:
        whole: Callable[..., Any] = getattr(import_module(module), name)
    except ImportError as error:
        raise MissingDependencyError(
            f"{name} is a function of {module}, and SciPy is not installed, at "
            f'{user_location()}. Install it: python -m pip install "funcdiff[scipy]"'
        ) from error
    # what SciPy puts around its special functions if SCIPY_ARRAY_API is set is left out
    found: Callable[..., Any] = inspect.unwrap(whole, stop=_is_whole)
    return found


def _is_whole(function: Any) -> bool:
    return bool(function.__module__ != "scipy.special")


@dataclass(frozen=True)
class Routine:
    """A function of ``scipy.special`` by its name, found when it is called."""

    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *xs: Any) -> Any:
        """Return what it computes."""
        return scipy_function(self.name)(*xs)
