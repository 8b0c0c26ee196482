"""Comparisons, predicates, logic and bits: elementwise operations without a derivative."""

from __future__ import annotations

from typing import Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import Elementwise, elementwise

_UNARY: Final = (
    np.isfinite, np.isinf, np.isnan, np.signbit, np.logical_not, np.invert, np.bitwise_count,
)  # fmt: skip
_BINARY: Final = (
    np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal,
    np.logical_and, np.logical_or, np.logical_xor,
    np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.left_shift, np.right_shift,
    np.gcd, np.lcm,
)  # fmt: skip

operations: Final[dict[str, Elementwise]] = {
    **{f.__name__: elementwise(f.__name__, f, None) for f in _UNARY},
    **{f.__name__: elementwise(f.__name__, f, None, None) for f in _BINARY},
}
"""The operations by their NumPy names."""

equal: Final = operations["equal"]
greater: Final = operations["greater"]
less: Final = operations["less"]
less_equal: Final = operations["less_equal"]
isfinite: Final = operations["isfinite"]
isnan: Final = operations["isnan"]
logical_and: Final = operations["logical_and"]
logical_not: Final = operations["logical_not"]
logical_or: Final = operations["logical_or"]
not_equal: Final = operations["not_equal"]


def same(x: Tracer, y: Tracer) -> Tracer:
    """Return where elements are equal, NaN and NaN, too."""
    return logical_or(equal(x, y), logical_and(isnan(x), isnan(y)))
