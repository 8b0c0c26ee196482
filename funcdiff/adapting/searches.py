"""Warns of solutions that adapted code finds by comparing, as bisection does.

A search asks at one place, again and again, which of two values is larger.  The answers vary, while
the difference goes to zero.  They decide where it ends, and have no derivative.
"""

from __future__ import annotations

import warnings
from collections import deque
from contextlib import suppress
from types import CodeType, FrameType
from typing import Final
from weakref import WeakKeyDictionary

from funcdiff.adapting.copies import BUILTINS
from funcdiff.core.recording.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, LostDerivativeWarning
from funcdiff.numpy.border.values import concrete_value, is_constant
from funcdiff.ops.elementwise import logic

_COMPARISONS: Final = {f.primitive for f in (logic.less, logic.less_equal, logic.greater)}
_COUNT: Final = 12
"""How many differences in a row decide."""

_seen: Final[WeakKeyDictionary[Builder, dict[tuple[CodeType, int], deque[float]]]]
_seen = WeakKeyDictionary()
"""Traces -> places in code -> the last differences of what was compared there."""


def watch(condition: Tracer, frame: FrameType) -> None:
    """Look at a condition on which code branches, and at what it compares."""
    builder, number = condition.builder, condition.atom
    if frame.f_builtins is not BUILTINS or builder is None or not isinstance(number, int):
        return
    origin = builder.origin(number) if builder.policy.eager else None
    if origin is None or origin[0].primitive not in _COMPARISONS or condition.type.shape:
        return
    pairs = zip(origin[1], origin[0].operands, strict=True)
    sides = [Builder.handle(builder, ref, type_) for ref, type_ in pairs]
    place = frame.f_code, frame.f_lasti
    found = _seen.setdefault(builder, {}).setdefault(place, deque(maxlen=_COUNT))
    with suppress(ConcreteValueError):  # as under `jit`
        found.append(float(concrete_value(sides[0]) - concrete_value(sides[1])))
    if _converges(found) and not all(map(is_constant, sides)):
        warnings.warn_explicit(
            "A solution is found by comparing traced numbers here, as by bisection. Its "
            "derivative is not that of the solution: comparisons have none. Differentiate the "
            "equation instead, by a step of Newton's method from the solution or by "
            "fd.custom_root.",
            LostDerivativeWarning,
            frame.f_code.co_filename,
            frame.f_lineno,
        )


def _converges(differences: deque[float]) -> bool:
    """Return whether differences go to zero, and not from one side.

    Eight halvings make them 256 times smaller; of numbers by chance the last four are not.
    """
    sizes = [*map(abs, differences)]
    above = sum(x > 0 for x in differences)
    return 2 <= above <= len(sizes) - 2 == _COUNT - 2 and max(sizes[:4]) > 64 * max(sizes[-4:])
