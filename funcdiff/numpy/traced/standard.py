"""The array API standard: traced arrays have a namespace of their own, `funcdiff.numpy`.

Code for any array library asks an array for its namespace.  That of plain arrays is another one,
and the library with which such code asks (array-api-compat, of which SciPy and scikit-learn have
copies) refuses arguments of both.  But functions of ours take plain arrays, too.  So, when a traced
array is first asked, the function of each copy that finds the namespace of a class learns to leave
plain arrays out of account beside traced ones.  Another one learns that traced scalars, as NumPy's,
cannot be written, so that a copy of them is made for it.
"""

from __future__ import annotations

import sys
from functools import wraps
from types import FrameType, ModuleType
from typing import Any, Final

import numpy as np

from funcdiff.core.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.numpy.namespace import numpy

_FOUND_BY: Final = "_cls_to_namespace"
"""The function that finds the namespace of a class."""

_WRITEABLE_BY: Final = "_is_writeable_cls"
"""The function that says of a class whether its objects can be written: of scalars not."""

_PLAIN: Final = (np.ndarray, np.generic)
_taught: Final[set[str]] = set()
"""Modules that know already."""


def namespace_of_traced() -> ModuleType:
    """Return the namespace of traced arrays."""
    frame: FrameType | None = sys._getframe(2)
    module = str(frame.f_globals.get("__name__", "")) if frame is not None else ""
    if frame is not None and module.endswith("array_api_compat.common._helpers"):
        _teach(module)
        found = frame.f_locals.get("namespaces")  # of arrays that came before
        if isinstance(found, set):
            found.difference_update([xp for xp in found if xp is not numpy])
    return numpy


def _teach(module: str) -> None:
    """Let a copy of array-api-compat leave plain arrays out of account beside traced ones."""
    helpers: Any = sys.modules[module]
    original = getattr(helpers, _FOUND_BY, None)
    if original is None or module in _taught:
        return
    _taught.add(module)

    @wraps(original)
    def find(cls: Any, *args: Any, **kwargs: Any) -> Any:
        others = sys._getframe(1).f_locals.get("xs", ())
        if issubclass(cls, _PLAIN) and any(isinstance(x, Tracer) for x in others):
            return None, helpers._ClsToXPInfo.SCALAR
        return original(cls, *args, **kwargs)

    setattr(helpers, _FOUND_BY, find)
    writeable = getattr(helpers, _WRITEABLE_BY, None)
    if writeable is not None:

        def is_writeable(cls: Any) -> Any:
            is_scalar = issubclass(cls, Tracer) and cls is not Builder.array_handle
            return False if is_scalar else writeable(cls)

        setattr(helpers, _WRITEABLE_BY, is_writeable)
