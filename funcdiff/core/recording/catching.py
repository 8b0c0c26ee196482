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

    `is_nested` says that there is a trace around the innermost one, `by_with` that each ``with``
    counts, and not only where the name `suppress` is near.
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
            kinds = (kind for start, end, kind in _handlers(code) if start <= place < end)
            pending = next(kinds, "") in (("try", "with") if by_with else ("try",))
        frame = frame.f_back
    return found


@lru_cache(maxsize=4096)
def _handlers(code: CodeType) -> tuple[tuple[int, int, str], ...]:
    """Return which instructions a ``try`` protects or, if none does, only a ``with``.

    What a handler does not want it passes on, to that around its own instructions; so does what
    only puts things in order: after ``except``, and for a list.
    """
    if not code.co_exceptiontable or is_ours(code.co_filename):
        return ()
    names = {step.offset: step.opname for step in dis.get_instructions(code)}
    following = dict(pairwise(sorted(names)))
    parse: Any = dis._parse_exception_table  # type: ignore[attr-defined]
    entries = parse(code)

    def kind(place: int) -> str:
        around = [entry.target for entry in entries if entry.start <= place < entry.end]
        if not around:
            return ""
        (target,) = around
        second = names.get(following.get(target, -1), "")
        is_with = second == "WITH_EXCEPT_START" and "suppress" not in code.co_names
        if names.get(target) == "PUSH_EXC_INFO" and not is_with:
            return "try"
        return kind(target) or "with" * is_with

    return tuple([(entry.start, entry.end, kind(entry.start)) for entry in entries])
