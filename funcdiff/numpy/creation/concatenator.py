"""``fnp.r_[x, 1:3]`` and ``fnp.c_[x, y]``: arrays joined by indexing notation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.numpy.border.dispatch import unsupported
from funcdiff.numpy.border.promotion import common_dtype
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import array
from funcdiff.numpy.shapes.joining import concatenate


class Concatenator:
    """What stands for ``np.r_`` or ``np.c_``; with nothing traced it is NumPy's own."""

    def __init__(self, name: str, plain: Any, join: Any) -> None:
        self._name = name
        self._plain = plain
        self._join = join

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if not any(map(_has_traced, items)):
            return self._plain[key]
        if any(isinstance(item, str) for item in items):
            raise unsupported(
                f"np.{self._name} with a string", "Use fnp.concatenate(arrays, axis) instead."
            )
        parts = [self._part(item) for item in items]
        dtype = common_dtype(parts)
        return self._join([np.atleast_1d(array(part, dtype)) for part in parts])

    def _part(self, item: Any) -> Any:
        if not isinstance(item, slice):
            return array(item) if isinstance(item, list | tuple) else item  # numbers are weak
        if _has_traced(item):
            raise unsupported(
                f"a traced bound of a slice in np.{self._name}",
                "Use fnp.arange or fnp.linspace instead.",
            )
        return np.r_[item]


def _has_traced(item: Any) -> bool:
    return is_traced([item.start, item.stop, item.step] if isinstance(item, slice) else item)


r_: Final = Concatenator("r_", np.r_, concatenate)
c_: Final = Concatenator("c_", np.c_, np.column_stack)
