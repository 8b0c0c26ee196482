"""Runs code without floating-point warnings, in a context of its own.

However the code ends, an interrupt at any moment included, the warnings are as they were, which
`np.errstate` cannot promise: its exit is a function, and the interrupt may come when it begins.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import lru_cache
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.core.scope import current

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


def errors_are_heard() -> bool:
    """Whether floating-point errors raise, or are recorded by the code that is traced."""
    return bool(floating_errors()[0])


def floating_errors() -> tuple[tuple[str, ...], type[Exception] | None]:
    """Return the kinds of errors that are heard, and what they raise; None if they only warn.

    Python's filters of warnings are those that the code has set which is traced: filters of a whole
    process, as tests have them, change nothing.
    """
    raising, warning = _raising_and_warning(error_state())
    builder = current()
    if builder is None or warnings.filters is builder.filters or not warning:
        return raising, FloatingPointError
    action = _action()
    if action == "error":
        return raising + warning, FloatingPointError if raising else RuntimeWarning
    is_recorded = getattr(warnings, "_showwarnmsg_impl", None) is not builder.shows_warnings
    if raising or action == "ignore" or not is_recorded:
        return raising, FloatingPointError
    return warning, None


def _action() -> str:
    """Return what is done with NumPy's warnings, with some of them at least if that is to raise."""
    for action, message, category, module, _ in warnings.filters:
        if issubclass(RuntimeWarning, category) and (action == "error" or not (message or module)):
            return action
    return "default"


@lru_cache(maxsize=64)
def _raising_and_warning(_present: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kinds of errors at which NumPy raises in the present state, or warns."""
    kinds = np.geterr().items()
    ours = str(getattr(np.geterrcall(), "__module__", "")).startswith("funcdiff.")
    raising = ("raise",) if ours else ("raise", "call")
    return (
        tuple([kind for kind, what in kinds if what in raising]),
        tuple([kind for kind, what in kinds if what == "warn"]),
    )


def without_warnings(function: Callable[..., T], args: Sequence[Any] = ()) -> T:
    """Return ``function(*args)`` without warnings of NumPy's, where a context is left anyway.

    Unlike with `quiet`, context variables that the function sets stay set.
    """
    before = [(v, v.get(), value) for v, value in _SETTINGS if v.get(None) is not value]
    try:  # which an interrupt may end at any moment
        for variable, _, value in before:
            variable.set(value)
        return function(*args)
    finally:
        for variable, value, _ in before:
            variable.set(value)


def quiet(function: Callable[..., T], *args: Any) -> T:
    """Return ``function(*args)``, without warnings of NumPy's."""
    return copy_context().run(_quietly, function, args)


def _quietly(function: Callable[..., T], args: tuple[Any, ...]) -> T:
    for variable, value in _SETTINGS:
        variable.set(value)
    return function(*args)
