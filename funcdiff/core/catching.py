"""Finds active exception handlers: whether an exception raised now could be caught by traced code.

What is recorded runs later, where no ``try`` of the traced function is active any more.  So what
may raise is computed when it is recorded, but only where somebody could notice: the handlers that
are active in each frame are read off the exception tables of its code.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any, Final

from funcdiff.core.scope import run_isolated
from funcdiff.errors import is_ours

_BOUNDARY: Final = run_isolated.__code__
"""Calls of traced functions are made from here: what is outside of the outermost catches nothing
that a plain call would not raise there as well."""


def may_be_caught(*, is_nested: bool, by_with: bool) -> bool:
    """Return whether a handler is active in what is traced.

    Parameters
    ----------
    is_nested
        Whether there is a trace around the innermost one.
    by_with
        Whether each ``with`` counts, or only where the name `suppress` is near.
    """
    found = pending = False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code is _BOUNDARY:
            found = found or pending
            if not is_nested or found:
                return found
        elif not pending:
            place = frame.f_lasti
            pending = any(
                start <= place < end and (by_with or not is_with)
                for start, end, is_with in _handlers(code)
            )
        frame = frame.f_back
    return found


@lru_cache(maxsize=4096)
def _handlers(code: CodeType) -> tuple[tuple[int, int, bool], ...]:
    """Return which instructions handlers protect, and whether these are of a ``with``."""
    if not code.co_exceptiontable or is_ours(code.co_filename):
        return ()
    names = {step.offset: step.opname for step in dis.get_instructions(code)}
    order = sorted(names)
    following = dict(pairwise(order))
    parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
    found = []
    for entry in parse(code):
        first = names.get(entry.target, "")
        if first == "PUSH_EXC_INFO":  # others put things in order: after ``except``, for a list
            second = names.get(following.get(entry.target, -1), "")
            is_with = second == "WITH_EXCEPT_START" and "suppress" not in code.co_names
            found.append((entry.start, entry.end, is_with))
    return tuple(found)
