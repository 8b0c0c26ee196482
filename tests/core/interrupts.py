"""Interrupts at a chosen moment: what Ctrl-C does, made repeatable.

Python looks for signals when a function begins, after a call, and when it jumps back, and nowhere
else; those are the moments.  What comes after a call is raised by the next instruction here, which
may be behind the end of a ``with`` or ``try`` that would still have caught it: a little stricter.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

import funcdiff

_OURS: Final = str(Path(funcdiff.__file__).parent)
_PACKAGES: Final = (_OURS, "<funcdiff")
_BEFORE: Final = frozenset(
    dis.opmap[name]
    for name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "JUMP_BACKWARD")
    if name in dis.opmap
)


class Moments:
    """Counts the moments in which funcdiff may be interrupted, and interrupts one of them.

    Parameters
    ----------
    chosen
        Number of the moment; None only counts.
    """

    def __init__(self, chosen: int | None = None) -> None:
        self.count = 0
        self._chosen = chosen
        self._code: dict[CodeType, bytes] = {}
        self._last: dict[FrameType, int] = {}

    def run(self, function: Callable[[], Any]) -> Any:
        """Call the function; raises KeyboardInterrupt in the chosen moment."""
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            return function()
        finally:
            sys.settrace(before)
            self._last.clear()

    def _moment(self) -> None:
        self.count += 1
        if self.count - 1 == self._chosen:
            sys.settrace(None)
            raise KeyboardInterrupt

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        file = frame.f_code.co_filename
        managers = file.endswith("contextlib.py") or frame.f_code.co_name in _MANAGERS
        if not (file.startswith(_PACKAGES) or managers):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self._moment()
        return self._stepped

    def _stepped(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "opcode":
            code = self._code.get(frame.f_code)
            if code is None:
                code = self._code[frame.f_code] = frame.f_code.co_code
            last = self._last.get(frame)
            self._last[frame] = code[frame.f_lasti]
            if last in _BEFORE:
                self._moment()
        elif event == "return":
            self._last.pop(frame, None)
        return self._stepped


_MANAGERS: Final = frozenset(("__enter__", "__exit__"))
"""Also those of NumPy and Python's own modules: what they leave behind is left behind by us."""
