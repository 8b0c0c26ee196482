"""Explains calls of SciPy with traced arrays, and names the function in `funcdiff.scipy`."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any, Final

from funcdiff.core.late import late

cure: Final = late("funcdiff.scipy.covered", "cure")
"""``cure(module, name, code)``: what to write instead of a call of SciPy's, and why."""

_ANY: Final = (
    "Use the function of that name in funcdiff.scipy, which has SciPy's names for traced arrays; "
    "where there is none, declare it with fd.primitive."
)


def is_scipys(frame: FrameType | None) -> bool:
    """Return whether a frame runs SciPy's code as it is, not on traced arrays."""
    return frame is not None and str(frame.f_globals.get("__name__", "")).startswith("scipy.")


def cure_of_call(code: str, frame: FrameType) -> str:
    """Return what to write instead of an expression that calls SciPy, evaluated in a frame."""
    place = next(_public_places(code, frame), None) or _entry(frame)
    return cure(*place, code) if place else _ANY


def cure_of_compiled(code: str, frame: FrameType) -> str:
    """Return what to write instead of a call of SciPy's compiled code, or nothing.

    Such code has no frame; it is known by what the expression calls.
    """
    with suppress(SyntaxError, ValueError):
        called = ast.parse(code, mode="eval").body
        if isinstance(called, ast.Call):
            place = next(_public_places(ast.unparse(called.func), frame), None)
            return cure(*place, code) if place else ""
    return ""


def _public_places(code: str, frame: FrameType) -> Iterator[tuple[str, str]]:
    """Yield module and name of what an expression mentions of SciPy's, what is called first."""
    with suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(code, mode="eval")):
            if isinstance(node, ast.Name | ast.Attribute):
                place = public_place(_value(node, frame))
                if place is not None:
                    yield place


def _value(node: ast.expr, frame: FrameType) -> Any:
    """Return what a dotted name stands for in a frame, as far as modules and classes go."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if not isinstance(node, ast.Attribute):
        return None
    owner = _value(node.value, frame)
    return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else owner


def public_place(value: Any) -> tuple[str, str] | None:
    """Return module and name by which users know a function, class or object of SciPy's."""
    kind = value if isinstance(value, type) or hasattr(value, "__name__") else type(value)
    path = str(getattr(kind, "__module__", "")).split(".")
    if path[0] != "scipy" or isinstance(value, ModuleType):
        return None
    for end in range(len(path), 1, -1):
        module = ".".join(path[:end])
        names = vars(sys.modules.get(module) or sys)
        if any(part.startswith("_") for part in path[:end]):
            continue
        name = next((k for k, v in names.items() if v is value or v is kind), None)
        if name is not None:
            return module, name
    return None


def _entry(frame: FrameType) -> tuple[str, str] | None:
    """Return the function of SciPy's by which its code was entered from a frame."""
    inner: FrameType | None = sys._getframe(1)
    place = None
    while inner is not None and inner is not frame:
        if is_scipys(inner):
            found = inner.f_globals.get(inner.f_code.co_name)
            place = public_place(found) or place
        inner = inner.f_back
    return place
