"""Conditions of SciPy's code on values that nobody may know, as inside `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.core.builder import current_builder
from funcdiff.errors import ConcreteValueError


def is_known_to_hold(condition: Callable[[], Any]) -> bool:
    """Return whether a condition is true, and false where nobody knows its values."""
    return _holds(condition, otherwise=False)


def may_hold(condition: Callable[[], Any]) -> bool:
    """Return whether a condition is true, and true where nobody knows its values."""
    return _holds(condition, otherwise=True)


def _holds(condition: Callable[[], Any], *, otherwise: bool) -> bool:
    """Return whether a condition is true, and `otherwise` where nobody knows its values."""
    builder = current_builder()
    before = None if builder is None else builder.refused
    try:
        return bool(condition())
    except ConcreteValueError:
        if builder is not None:
            builder.refused = before
        return otherwise
