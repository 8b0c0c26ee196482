"""``autograd.numpy.numpy_jvps``: the helpers that custom forward rules import."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.autograd.names import attributes
from funcdiff.autograd.numpy import numpy_vjps

__all__ = ["broadcast"]


def broadcast(x: Any, target: Any) -> Any:
    """Return an array repeated to the shape of another, and complex where this is."""
    y = np.broadcast_to(x, np.broadcast_shapes(np.shape(x), np.shape(target)))
    return y + 0j if np.iscomplexobj(target) and not np.iscomplexobj(y) else y


__getattr__, __dir__ = attributes(__name__, numpy_vjps)
