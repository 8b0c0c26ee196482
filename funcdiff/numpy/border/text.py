"""Text of traced values: text that goes into the computation is the value's, or an error.

`str` and `format` give NumPy's text where the value is known and has no derivative.  What has one
is marked by a tilde, ``~2.500``, which people read and no parser takes: of ``float(f"{x}")`` the
derivative would be lost without a word.  Where there are no values, integers and booleans decide,
as an index does, and all else is refused.  What only shows its text, ``print(x)`` or ``raise``,
gets the type then.  So does `repr` of what can have a derivative: it describes the traced value.
"""

from __future__ import annotations

import ast
import linecache
import sys
from functools import lru_cache
from itertools import islice
from types import FrameType
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, calling_frame, user_frame
from funcdiff.numpy.border.swallowing import is_shown
from funcdiff.numpy.border.values import concrete_value, is_constant, value_for

_CURE: Final = (
    "Show it by print(x) or in the message of an error, which have its type, or show what the "
    "function returns: text that the function goes on with would be that of one call."
)
_SHOWING: Final = ("print", "warn")
"""Functions that show their arguments and return nothing."""


def description(x: Tracer) -> str:
    """Return what `repr` is: of integers and booleans that of the value, else value and type."""
    if x.type.differentiable:
        try:
            return f"traced({np.array2string(np.asarray(concrete_value(x)))}: {x.type})"
        except ConcreteValueError:
            return _type(x)
    if is_shown() or calling_frame() is not sys._getframe(2):  # in messages of ours
        return _type(x)
    return repr(_stood_for(x, value_for(x, "repr(x)", _CURE)))


def format_value(x: Tracer, spec: str) -> str:
    """Return the value of an array as text."""
    try:
        value = concrete_value(x)
    except ConcreteValueError:
        if _is_only_shown():
            return _type(x)
        value = value_for(x, f"the format {spec!r}" if spec else "the text of x", _CURE)
    if is_constant(x):
        return format(_stood_for(x, value), spec)
    if not spec and np.ndim(value):
        return f"~{np.array2string(value, prefix='~')}"
    shown = format(value, spec)
    number = shown.lstrip(" ")
    return f"{'~':>{len(shown) - len(number)}}{number}"


def _type(x: Tracer) -> str:
    return f"traced({x.type})"


def _stood_for(x: Tracer, value: Any) -> Any:
    """Return a value as what NumPy or Python would have in its place: array, scalar or number."""
    if x.weak:
        return value.item()
    return np.asarray(value) if isinstance(x, Builder.array_handle) else value


# ---- who asks ----------------------------------------------------------------------------------


def _is_only_shown() -> bool:
    """Whether text goes no further than to people, as far as the code says that asks for it.

    It is in an argument of `print` or of ``warnings.warn``, in an error that is raised there, or in
    an assertion's message; or a log or a debugger asks.
    """
    frame = user_frame()
    return is_shown() or (frame is not None and _stands_in(frame))


def _stands_in(frame: FrameType) -> bool:
    code = frame.f_code
    first, last, start, end = next(islice(code.co_positions(), frame.f_lasti // 2, None))
    if first is None or last is None or start is None or end is None:
        return False
    text = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    spans = _showing_spans(text)
    return any((a, b) <= (first, start) and (last, end) <= (c, d) for a, b, c, d in spans)


@lru_cache(maxsize=16)
def _showing_spans(text: str) -> list[tuple[int, int, int, int]]:
    """Return where the parts of a source text are that show what they hold."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    shown = [part for node in ast.walk(tree) if (part := _shown_part(node)) is not None]
    return [(p.lineno, p.col_offset, p.end_lineno or 0, p.end_col_offset or 0) for p in shown]


def _shown_part(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Raise):
        return node.exc
    if isinstance(node, ast.Assert):
        return node.msg
    if isinstance(node, ast.Call):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        return node if name in _SHOWING else None
    return None
