"""A number that is zero, and of which nobody knows how it changes: its derivative is nan.

As a linear operation: what does not change has no part in it, in either mode.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import NONE, Facts, Params
from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import symmetric


def _nan_unless_zero(x: Any) -> Any:
    return np.where(x == 0, x, np.asarray(np.nan, x.dtype))[()]


unknown_p: Final = symmetric(
    "unknown",
    Params,
    impl=lambda _p: _nan_unless_zero,
    facts=Facts(fresh=True, pointwise=True),
)


def unknown(x: Tracer) -> Tracer:
    """Return 0 where `x` is 0, and nan elsewhere."""
    return bind(unknown_p, NONE, x)[0]
