"""Conditions in code of others: on unknown values, as inside `vmap`, and such as find solutions."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Any, Final
from weakref import ref

from funcdiff.core.recording.builder import Builder, builders
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, LostDerivativeWarning, user_location
from funcdiff.numpy.border import conversions
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import integer_or_none, is_constant

OF_ADAPTED: Final = "__funcdiff_trace__"
"""A built-in name that only adapted code has."""


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


# ---- solutions that are found by comparing, as by bisection --------------------------------------
#
# A search asks at one place, again and again, which of two values is larger.  The answers vary,
# while the difference goes to zero.  They decide where it ends, and have no derivative.

_COUNT: Final = 12
"""How many differences in a row decide."""
_CLOSER: Final = 64.0
"""How much smaller the last ones are: eight halvings give 256, and chance does not."""

_seen: Final[dict[tuple[int, int], tuple[ref[Any], deque[float]]]] = {}
"""Places in code -> the trace in which it ran last, and the last differences compared there."""
_MOST: Final = 4096
"""How many places are kept, at most."""


def watch(condition: Tracer, frame: FrameType) -> None:
    """Look at a condition on which code branches, and at what it compares."""
    if OF_ADAPTED not in frame.f_builtins:
        return
    builder, number = condition.builder, condition.atom
    if builder is None or not isinstance(number, int) or not builder.policy.eager:
        return
    op, refs = builder.origin(number) or (None, ())
    if op is None or [t.dtype.kind for t in op.operands] != ["f", "f"] or condition.type.shape:
        return
    values, place = builder.value, (id(frame.f_code), frame.f_lasti)
    trace, found = _seen.get(place, (None, deque(maxlen=_COUNT)))
    if trace is None or trace() is not builder:
        found.clear()
        if len(_seen) >= _MOST:
            _seen.clear()
        _seen[place] = ref(builder), found
    with suppress(ConcreteValueError):  # as under `jit`
        left, right = map(values, refs)
        found.append(float(left) - float(right))
    sizes, above = [*map(abs, found)], sum(x > 0 for x in found)
    is_mixed = len(sizes) == _COUNT and 2 <= above <= _COUNT - 2
    sides = map(partial(Builder.handle, builder), refs, op.operands)
    converges = is_mixed and max(sizes[:4]) > _CLOSER * max(sizes[-4:])
    if converges and not all(map(is_constant, sides)):
        warnings.warn_explicit(
            "A solution is found by comparing traced numbers here, as by bisection. Its "
            "derivative is not that of the solution: comparisons have none. Differentiate the "
            "equation instead, by a step of Newton's method from the solution or by "
            "fd.custom_root.",
            LostDerivativeWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
        )


conversions.watching.append(watch)
