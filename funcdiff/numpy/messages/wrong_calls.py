"""Explains errors of wrong calls: the function, shapes and dtypes, and the line.

The errors themselves are NumPy's own, in type and wording; what NumPy does not know is noted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from textwrap import shorten
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import DTYPE_NAMES, ArrayType
from funcdiff.errors import is_raised_by_user, user_location


def explain(
    error: Exception, name: str, operands: Iterable[Any], keywords: Mapping[str, Any] | None = None
) -> None:
    """Note in an error which call it comes from, unless it says where or the user raised it.

    Of calls that call others, the outermost is named: it is what the user wrote.

    Parameters
    ----------
    error
        As it was caught.
    name
        What was called: ``np.sum``.
    operands, keywords
        Its arguments; of arrays, the types are shown.
    """
    where = user_location()
    if where in str(error) or is_raised_by_user(error):
        return
    notes: list[str] = getattr(error, "__notes__", [])
    if notes and notes[-1].startswith("funcdiff: ") and notes[-1].endswith(where):
        notes.pop()
    given = [_show(x) for x in operands]
    given += [f"{key}={_show(x)}" for key, x in (keywords or {}).items()]
    error.add_note(f"funcdiff: in {name}({', '.join(given)}), at {where}")


def _show(x: Any) -> str:
    if isinstance(x, Tracer):
        return str(x.type)
    if isinstance(x, np.ndarray | np.generic):
        known = x.dtype in DTYPE_NAMES
        return str(ArrayType(x.shape, x.dtype)) if known else f"an array of dtype {x.dtype}"
    if isinstance(x, list | tuple) and any(isinstance(y, Tracer | np.ndarray) for y in x):
        return shorten(f"[{', '.join(map(_show, x))}]", 80, placeholder=" ...]")
    return shorten(getattr(x, "__name__", repr(x)), 40, placeholder=" ...")
