"""Conditions of SciPy's code on values that nobody may know, as inside `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.core.builder import builders
from funcdiff.errors import ConcreteValueError


def is_known_to_hold(condition: Callable[[], Any]) -> bool:
    """Return whether a condition is true, and false where nobody knows its values."""
    return _holds(condition, otherwise=False)


def may_hold(condition: Callable[[], Any]) -> bool:
    """Return whether a condition is true, and true where nobody knows its values."""
    return _holds(condition, otherwise=True)


def _holds(condition: Callable[[], Any], *, otherwise: bool) -> bool:
    """Return whether a condition is true, and `otherwise` where nobody knows its values."""
    forgive = forgiveness()
    try:
        return bool(condition())
    except ConcreteValueError:
        forgive()
        return otherwise


def forgiveness() -> Callable[[], None]:
    """Return what lets the open traces forget values that were asked for in vain from now on."""
    before = [(builder, builder.refused) for builder in builders()]

    def forgive() -> None:
        for builder, refused in before:
            builder.refused = refused

    return forgive
