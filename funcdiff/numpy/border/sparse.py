"""Sparse arrays of SciPy in operators with traced arrays: ``A @ x``, ``x @ A``.

They know no protocol for others.  But what they can make no array of, their operators leave to the
other operand: so a traced array shows them its own class, and no values, where they ask.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import numpy as np

from funcdiff.core.late import late_import

_HOME: Final = "scipy.sparse._"
"""What the modules of its classes are called."""
_PREDICATES: Final = frozenset(("__instancecheck__", "isdense", "isscalar", "isscalarlike"))
_ASKING: Final = _PREDICATES | {"_matmul_dispatch"}
"""Functions by which sparse arrays ask for a class."""
_INNER: Final = frozenset(
    ("_matmul_dispatch", "_rmatmul_dispatch", "multiply", "_multiply_2d_with_broadcasting",
     "_divide")
)  # fmt: skip
"""Functions through which operators of SciPy's sparse arrays go."""

met: Final[list[Callable[[np.ufunc, tuple[Any, ...]], Any]]] = []
"""``met(ufunc, operands)`` of `funcdiff.scipy.sparse`, once it is imported."""


def is_sparse(kind: type[Any]) -> bool:
    """Whether a class is one of SciPy's sparse arrays."""
    return any(base.__module__ == _HOME + "base" for base in kind.__mro__)


def _is_sparses(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_HOME)


def asks_for_class() -> bool:
    """Whether it is an operator of a sparse array that asks a traced array for its class.

    The method ``dot`` goes on to an operator if it is shown an array.
    """
    frame: FrameType | None = sys._getframe(2)
    if frame is None or frame.f_code.co_name not in _ASKING:
        return False
    while frame is not None and frame.f_code.co_name in _PREDICATES:
        frame = frame.f_back
    return (
        frame is not None
        and _is_sparses(frame)
        and frame.f_code.co_name != "dot"
        and frame.f_code.co_varnames[:1] == ("self",)
    )


def asks_for_values() -> bool:
    """Whether it is an operator of a sparse array that asks a traced array for its values."""
    frame: FrameType | None = sys._getframe(3)
    inner = False
    while frame is not None and frame.f_code.co_name in _INNER and _is_sparses(frame):
        frame, inner = frame.f_back, True
    return inner and frame is not None and frame.f_code.co_name.startswith("__")


NO_VALUES: Final = np.array(None, dtype=object)
"""What they take for something else than an array."""


def meet(ufunc: np.ufunc, operands: tuple[Any, ...]) -> Any:
    """Return what an operator between a traced and a sparse array is."""
    if not met:
        late_import("funcdiff.scipy.sparse")
    return met[0](ufunc, operands)
