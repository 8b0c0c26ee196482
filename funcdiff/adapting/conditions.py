"""Conditions in code of others on unknown values, as inside `vmap`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.core.recording.builder import builders
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import integer_or_none


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


def concrete_rank(count: Any, name: str) -> int:
    """Return a rank, of which values or shapes depend; raises ConcreteValueError if unknown."""
    found = integer_or_none(array(count))
    if found is None:
        raise ConcreteValueError(
            f"{name} was asked at {user_location()} for what depends on the rank of a matrix "
            "whose values are not known (inside scan, cond or trace, or in vmap over matrices of "
            "several ranks). Call it outside, or matrix by matrix."
        )
    return found


def forgiveness() -> Callable[[], None]:
    """Return what lets the open traces forget values that were asked for in vain from now on."""
    before = [(builder, builder.refused) for builder in builders()]

    def forgive() -> None:
        for builder, refused in before:
            builder.refused = refused

    return forgive
