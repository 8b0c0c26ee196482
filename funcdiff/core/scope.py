"""Tracks the innermost builder of this context, and closes builders that errors leave open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from threading import get_ident
from typing import Any, Final, TypeVar

R = TypeVar("R")

innermost: Final[ContextVar[Any]] = ContextVar("funcdiff_builder", default=None)


def current() -> Any:
    """Return the innermost builder of this context; None in a thread that is not its own.

    Threads may start in a copy of the context (``asyncio.to_thread``), and two of them must not
    record into one builder at once.
    """
    builder = innermost.get()
    return builder if builder is None or builder.thread == get_ident() else None


def run_isolated(function: Callable[[], R]) -> R:
    """Call a function in a context of its own: however that ends, no builder of it stays open.

    An interrupt may arrive between any two steps of Python, also while a builder is being opened
    or closed; Python leaves a context as one step.  Context variables that the user's code has
    set stay set, unless it is interrupted.
    """
    context = copy_context()
    interrupted = True
    try:
        result = context.run(function)
        interrupted = False
    except Exception:
        interrupted = False
        raise
    finally:
        if not interrupted:
            for variable, value in context.items():
                if variable is not innermost and variable.get(None) is not value:
                    variable.set(value)
        del context  # which a traceback would keep alive
    return result


def without_recording() -> AbstractContextManager[None]:
    """Let no builder record: code that runs with concrete arrays is no part of a trace."""
    return recording_in(None)


def recording_in(builder: Any) -> AbstractContextManager[None]:
    """Let a builder that is open record, though others were opened within it; None: let none."""
    return setting(innermost, builder)


@contextmanager
def setting(variable: ContextVar[R], value: R) -> Iterator[None]:
    """Set a context variable for a while."""
    outer = variable.get()
    variable.set(value)
    try:
        yield
    finally:
        variable.set(outer)
