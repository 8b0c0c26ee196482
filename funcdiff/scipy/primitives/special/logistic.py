"""The logistic function, its antiderivative, and the losses of robust statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.ops.families import elementwise
from funcdiff.scipy.primitives.special.family import Op, special

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
