"""Runs code without floating-point warnings, in a context of its own.

However the code ends, an interrupt at any moment included, the warnings are as they were, which
`np.errstate` cannot promise: its exit is a function, and the interrupt may come when it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np

T = TypeVar("T")

_context = copy_context()
_context.run(np.seterr, all="ignore")
_SETTINGS: Final = tuple(
    (variable, value) for variable, value in _context.items() if variable.get(None) is not value
)
"""NumPy's context variables, with the values that they have when warnings are off."""

error_state: Final[Callable[[], Any]] = _SETTINGS[0][0].get
"""What NumPy does at floating-point errors, an object for each time that this is set."""

_USUAL: Final = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
"""What NumPy does at floating-point errors, if nobody wants something else."""


def warns_as_usual() -> bool:
    """Whether NumPy does at floating-point errors what it does if it is told nothing."""
    return _is_usual(error_state())


@lru_cache(maxsize=64)
def _is_usual(_present: object) -> bool:
    return np.geterr() == _USUAL


def errors_that_raise() -> tuple[str, ...]:
    """Return the kinds of floating-point errors at which NumPy raises, or calls the user's code."""
    return _raised_in(error_state())


@lru_cache(maxsize=64)
def _raised_in(_present: object) -> tuple[str, ...]:
    ours = str(getattr(np.geterrcall(), "__module__", "")).startswith("funcdiff.")
    raising = ("raise",) if ours else ("raise", "call")
    return tuple([kind for kind, what in np.geterr().items() if what in raising])


def without_warnings(function: Callable[..., T], args: Sequence[Any] = ()) -> T:
    """Return ``function(*args)`` without warnings of NumPy's, where a context is left anyway.

    Unlike with `quiet`, context variables that the function sets stay set.
    """
    changed = [(v, v.set(value)) for v, value in _SETTINGS if v.get(None) is not value]
    try:
        return function(*args)
    finally:
        for variable, token in changed:
            variable.reset(token)


def quiet(function: Callable[..., T], *args: Any) -> T:
    """Return ``function(*args)``, without warnings of NumPy's."""
    return copy_context().run(_quietly, function, args)


def _quietly(function: Callable[..., T], args: tuple[Any, ...]) -> T:
    for variable, value in _SETTINGS:
        variable.set(value)
    return function(*args)
