"""Conditions that adapted code asks: of unknown values, as inside `vmap`, and in bisections."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.core.recording.builder import Builder, builders
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, LostDerivativeWarning, user_location
from funcdiff.numpy.border.failures import traces_of
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import integer_or_none


def is_known_to_hold(condition: Callable[[], Any], *, otherwise: bool = False) -> bool:
    """Return whether a condition is true, and `otherwise` where nobody knows its values."""
    forgive = forgiveness()
    try:
        return bool(condition())
    except ConcreteValueError:
        forgive()
        return otherwise


may_hold: Final = partial(is_known_to_hold, otherwise=True)
"""Return whether a condition is true, and true where nobody knows its values."""


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


def choice(test: Any, chosen: str, others: str) -> Any:
    """Return a condition by which a loop searches (see `bisections`), and warn of what is lost.

    That is the derivative by those of the `others` that are more than numbers: they reach the
    `chosen` variables by this condition alone.
    """
    if not isinstance(test, Tracer) or test.type.dtype != bool or not _has_derivative(test):
        return test
    frame = sys._getframe(1)
    held = (frame.f_globals | frame.f_locals).get
    state, given = map(held, chosen.split()), map(held, others.split())
    known = (isinstance(x, _PLAIN) and not isinstance(x, Tracer) for x in given)
    if any(map(_is_continuous, state)) and not all(known):
        warnings.warn_explicit(
            "A solution is found by comparing traced numbers here, as by bisection. Its "
            "derivative is not that of the solution: comparisons have none. Differentiate the "
            "equation instead, by a step of Newton's method from the solution or by "
            "fd.custom_root.",
            LostDerivativeWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
        )
    return test


_PLAIN: Final = (int, float, complex, np.ndarray, np.generic)


def _is_continuous(x: Any) -> bool:
    """Return whether that is a number or an array of real or complex numbers, and no index."""
    dtype = getattr(x, "dtype", None)
    return isinstance(x, float | complex) or (isinstance(dtype, np.dtype) and dtype.kind in "fc")


def _has_derivative(test: Tracer) -> bool:
    """Return whether a condition compares what a derivative is asked of."""
    left: list[Any] = [test]
    seen = set()
    while left:
        x = left.pop()
        if not isinstance(x, Tracer) or x.builder is None or (x.builder, x.atom) in seen:
            continue
        seen.add((x.builder, x.atom))
        if x.type.differentiable:
            if any(trace.policy.pending for trace in traces_of(x, of_derivative=True)):
                return True
        elif isinstance(x.atom, int):
            op, refs = x.builder.origin(x.atom) or (None, ())
            left += map(partial(Builder.handle, x.builder), refs, op.operands if op else ())
            left.append(x.builder.capture_of(x.atom))
    return False
