"""Subclasses of ndarray that compute in a way of their own, which a traced array would lose.

``*`` of `numpy.matrix` is the product of matrices, and a masked array leaves elements out.
`numpy.memmap` and `numpy.recarray` only keep their memory elsewhere, and compute as ndarrays.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

_COMPUTING: Final = (
    "__array_ufunc__",
    "__array_function__",
    "__add__",
    "__sub__",
    "__mul__",
    "__truediv__",
    "__matmul__",
    "__pow__",
)
"""What a subclass overrides whose values do not say all."""


def lost_by_tracing(value: Any) -> str:
    """Return what would be lost of an array if it were traced, and the cure; else an empty text.

    >>> lost_by_tracing(np.ones(2))
    ''
    >>> lost_by_tracing(np.ma.masked_array([1.0, 2.0], [True, False]))
    'its mask would be lost. Use x.filled(value) and np.where(mask, a, b)'
    """
    kind: type[object] = type(value)
    if kind is np.ndarray or not isinstance(value, np.ndarray) or _is_plain(kind):
        return ""
    if isinstance(value, np.ma.MaskedArray):
        return "its mask would be lost. Use x.filled(value) and np.where(mask, a, b)"
    if isinstance(value, np.matrix):
        return "its * is @, which would be lost. Use np.asarray(x), and write @ for products"
    return "what its operators do would be lost. Use np.asarray(x) if only its values matter"


def describe_class(value: Any) -> str:
    """Return how messages call an array of a subclass."""
    return "a masked array" if isinstance(value, np.ma.MaskedArray) else f"a {type(value).__name__}"


def _is_plain(kind: type[object]) -> bool:
    """Whether a subclass computes as ndarrays do."""
    return all(getattr(kind, name) is getattr(np.ndarray, name) for name in _COMPUTING)
