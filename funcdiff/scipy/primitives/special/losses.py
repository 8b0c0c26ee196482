"""The logistic function, entropies, and the losses of statistics that are built of such terms.

Products with logarithms are 0 where the factor is.  At 0·ln 0 the derivative in the factor is taken
as 0, and 0/0 in the quotient of two arguments that vanish together as 1, its value on the diagonal:
all first derivatives there are finite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import elementwise
from funcdiff.scipy.primitives.special.family import Op, special

# ---- the logistic function -----------------------------------------------------------------------

logit: Op = special("logit", lambda x, y: 1 / x + 1 / (1 - x))
# not y·(1 - y), of which nothing is left where y rounds to 1
expit: Op = special("expit", lambda x, y: y * expit(-x))
log_expit: Op = special("log_expit", lambda x, y: expit(-x))


def _huber_threshold(delta: Any, r: Any, _y: Any) -> Any:
    """max(|r| - δ, 0); for δ < 0, where the loss is infinite, NaN."""
    excess = np.absolute(r) - delta
    return np.where(delta < 0, np.nan, np.where(excess > 0, excess, 0))


def _huber_residual(delta: Any, r: Any, _y: Any) -> Any:
    """r, limited to [-δ, δ].

    P. J. Huber, "Robust Estimation of a Location Parameter", Ann. Math. Stat. 35 (1964).
    """
    limited = np.where(np.absolute(r) > delta, delta * np.sign(r), r)
    return np.where(delta < 0, np.nan, limited)


def _pseudo_huber_scale(delta: Any, r: Any, _y: Any) -> Any:
    """(√(δ² + r²) - δ)² / √(δ² + r²), the difference as r²/(√(δ² + r²) + δ)."""
    radius, zero = _radius(delta, r)
    difference = r * r / (radius + delta)
    return np.where(delta < 0, np.nan, np.where(zero, 0, difference * difference / radius))


def _pseudo_huber_residual(delta: Any, r: Any, _y: Any) -> Any:
    """δr / √(δ² + r²), and ±δ where r is infinite."""
    infinite = np.isinf(r)
    finite = np.where(infinite, 0, r)
    radius, _ = _radius(np.where(infinite, 1, delta), finite)
    slope = np.where(infinite, delta * np.sign(r), delta * finite / radius)
    return np.where(delta < 0, np.nan, slope)


def _radius(delta: Any, r: Any) -> tuple[Any, Any]:
    """Return √(δ² + r²), or 1 at the origin, and where that is."""
    zero = np.logical_and(delta == 0, r == 0)
    return np.hypot(np.where(zero, 1, delta), r), zero


huber: Op = special("huber", _huber_threshold, _huber_residual)
pseudo_huber: Op = special("pseudo_huber", _pseudo_huber_scale, _pseudo_huber_residual)

# ---- logarithms of sums of exponentials ----------------------------------------------------------


def _excess(x: Any, top: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.where(x == top, 0, x - top).astype(x.dtype)[()]


_excess_op: Op = elementwise("excess", _excess, 1, -1)


def excess(x: Any, top: Any) -> Any:
    """Return x - top, but 0 between equal infinities, with the derivatives of the difference."""
    return _excess_op(x, top) if isinstance(x, Tracer) else _excess(x, top)


# ---- products with logarithms --------------------------------------------------------------------


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
    "xlogy", _where_seen(lambda x, y: np.log(y), 0), _where_seen(lambda x, y: x / y, 0)
)
xlog1py: Op = special(
    "xlog1py", _where_seen(lambda x, y: np.log1p(y), -1), _where_seen(lambda x, y: x / (1 + y), -1)
)


def _ratio(x: Any, y: Any) -> Any:
    """x / y, and 1 where both are 0."""
    both = np.logical_and(x == 0, y == 0)
    return np.where(both, 1, x) / np.where(both, 1, y)


def log_ratio(x: Any, y: Any) -> Any:
    """Return ln(x/y), with the digits of x - y where the two are near each other."""
    difference, ratio = x - y, _ratio(x, y)
    near = np.abs(difference) < y / 2
    is_moderate = np.logical_and(ratio > 1e-8, ratio < 1e8)
    apart = np.where(is_moderate, np.log(np.where(is_moderate, ratio, 1)), np.log(x) - np.log(y))
    return np.where(near, np.log1p(difference / np.where(near, y, 1)), apart)


def ratio_less_one(x: Any, y: Any) -> Any:
    """Return x/y - 1, with the digits of x - y where the two are near each other."""
    near = np.abs(x - y) < y / 2
    return np.where(near, (x - y) / np.where(near, y, 1), _ratio(x, y) - 1)


entr: Op = special("entr", lambda x, y: -np.log(x) - 1)
rel_entr: Op = special(
    "rel_entr", lambda x, y, z: log_ratio(x, y) + 1, lambda x, y, z: -_ratio(x, y)
)
kl_div: Op = special(
    "kl_div",
    lambda x, y, z: log_ratio(x, y),
    lambda x, y, z: -ratio_less_one(x, y),
)
