"""Other libraries whose functions reach traced arrays: by ufuncs, or a protocol of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from funcdiff.core.late import late_import
from funcdiff.numpy.messages.scipy_calls import cure
from funcdiff.ops.families import Elementwise

handlers: Final[dict[str, Elementwise | Callable[..., Any]]] = {}
"""What ufuncs of ``scipy.special`` become, by name: entered by `funcdiff.scipy`."""

_protocols: Final = {
    "scipy.fft": "funcdiff.scipy.fft.protocol",
    "scipy.special": "funcdiff.scipy.special",
}
"""Modules with a protocol or ufuncs -> the module of ours that answers to it, not imported yet."""

_HOMES: Final = ("scipy.special", "scipy.special._ufuncs")
"""Where ufuncs live: the second has those that Python functions of the first call."""


def operation_of(ufunc: np.ufunc) -> Elementwise | Callable[..., Any] | None:
    """Return what a ufunc of ``scipy.special`` becomes: an operation or a handler, if we know it.

    SciPy is looked for only among the modules that are imported already.
    """
    if not _is_scipys(ufunc):
        return None
    answer_protocols()
    return handlers.get(ufunc.__name__)


def qualified_name(ufunc: np.ufunc) -> str:
    """Return ``np.sin`` or ``scipy.special.gamma`` for that ufunc, or how others call theirs."""
    if _is_scipys(ufunc):
        return f"scipy.special.{ufunc.__name__}"
    known = hasattr(np, ufunc.__name__) or hasattr(np.strings, ufunc.__name__)
    return f"np.{ufunc.__name__}" if known else f"the ufunc {ufunc.__name__} of another library"


def cure_of_ufunc(ufunc: np.ufunc) -> str:
    """Return why we do not know a ufunc of ``scipy.special`` and what to write; else nothing."""
    return cure("scipy.special", ufunc.__name__, "") if _is_scipys(ufunc) else ""


def _is_scipys(ufunc: np.ufunc) -> bool:
    return any(getattr(sys.modules.get(m), ufunc.__name__, None) is ufunc for m in _HOMES)


def answer_protocols() -> None:
    """Answer to the protocols of those modules that are imported: before a function is traced."""
    for theirs, ours in list(_protocols.items()):
        if theirs in sys.modules:
            _protocols.pop(theirs, None)
            late_import(ours)
