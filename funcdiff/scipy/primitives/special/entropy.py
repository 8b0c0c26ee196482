"""Products with logarithms, which are 0 where the factor is, and the entropies built of them.

At 0·ln 0 the derivative in the factor is taken as 0, and 0/0 in the quotient of two arguments
that vanish together as 1, its value on the diagonal: all first derivatives there are finite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.scipy.primitives.special.family import Op, special


def _where_seen(formula: Callable[[Any, Any], Any], bound: int) -> Callable[..., Any]:
    """Return a formula that is 0 where x = 0 hides a logarithm that is not finite.

    That is at y = bound, and for real y below it.
    """

    def partial(x: Any, y: Any, _z: Any) -> Any:
        singular = y == bound if y.dtype.kind == "c" else y <= bound
        hidden = np.logical_and(x == 0, singular)
        return np.where(hidden, 0, formula(x, np.where(hidden, 1, y)))

    return partial


xlogy: Op = special(
    "xlogy",
    _where_seen(lambda x, y: np.log(y), 0),
    _where_seen(lambda x, y: x / y, 0),
)
xlog1py: Op = special(
    "xlog1py",
    _where_seen(lambda x, y: np.log1p(y), -1),
    _where_seen(lambda x, y: x / (1 + y), -1),
)


def _ratio(x: Any, y: Any) -> Any:
    """x / y, and 1 where both are 0."""
    both = np.logical_and(x == 0, y == 0)
    return np.where(both, 1, x) / np.where(both, 1, y)


entr: Op = special("entr", lambda x, y: -np.log(x) - 1)
rel_entr: Op = special(
    "rel_entr",
    lambda x, y, z: np.log(_ratio(x, y)) + 1,
    lambda x, y, z: -_ratio(x, y),
)
kl_div: Op = special(
    "kl_div",
    lambda x, y, z: np.log(_ratio(x, y)),
    lambda x, y, z: 1 - _ratio(x, y),
)
