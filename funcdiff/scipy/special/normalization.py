"""Logarithms of sums of exponentials and the distributions that they normalise.

All are shifted by the largest entry, so nothing overflows.  In the derivatives the shift is a
constant: they do not depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import WEAK, Traced, array, promote_and_broadcast
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.primitives.special.losses import excess
from funcdiff.scipy.special.python_functions import floating, for_traced


@for_traced
def logsumexp(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """Return ln Σ b·exp(a).

    The derivative in `a` is b·exp(a)/Σ b·exp(a).  Where the largest entries are infinite they
    share it equally.

    Parameters
    ----------
    a
        Real or complex array.
    axis
        Axis or axes to sum over; all by default.
    b
        Weights, which broadcast with `a` and may be negative; an entry of weight 0 does not
        count, whatever it is.
    keepdims
        Whether the axes stay, with length 1.
    return_sign
        Whether to return ln|Σ| and the sign of Σ, a phase if it is complex.  Otherwise the
        logarithm of a negative number is NaN.

    Returns
    -------
    array or tuple of two arrays
        Of the dtype of `a` and `b`; integers count as float64.

    References
    ----------
    P. Blanchard, D. J. Higham, N. J. Higham, "Accurately Computing the Log-Sum-Exp and Softmax
    Functions", IMA J. Numer. Anal. 41 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(special.logsumexp)(np.array([1000.0, 1000.0])))
    [0.5 0.5]
    """
    weights = None
    x: Any = a if type(a) in WEAK and isinstance(b, Tracer) else floating(a)
    if b is not None:
        x, weights = promote_and_broadcast(x, b if type(b) in WEAK else array(b))
        weights = np.atleast_1d(weights)
    x = np.atleast_1d(x)
    return log_of_sum(x, axis, weights, keepdims=keepdims, return_sign=return_sign)


def log_of_sum(x: Any, axis: Any, weights: Any, *, keepdims: bool, return_sign: bool) -> Any:
    """Return `logsumexp` of an array, traced or not, and weights of the same type."""
    axes = tuple(range(x.ndim)) if axis is None else axis
    if not x.shape or 0 in x.shape:
        logarithm = np.sum(x, axes, keepdims=True) - np.inf
        sign = np.sign(logarithm)
    elif x.dtype.kind == "c":
        logarithm, sign = _complex_sum(x, weights, axes, return_sign=return_sign)
    else:
        logarithm, sign = _real_sum(x, weights, axes)
        if not return_sign and weights is not None:
            logarithm = np.where(sign < 0, np.nan, logarithm)
    if not keepdims:
        logarithm, sign = np.squeeze(logarithm, axes), np.squeeze(sign, axes)
    return (logarithm, sign) if return_sign else logarithm


def _real_sum(a: Any, b: Any, axes: Any) -> tuple[Any, Any]:
    """Return the logarithm of |Σ b·exp(a)| and the sign of the sum.

    The largest entries, of total weight m, are left out of the sum s of the others:
    ln |m + s| = ln |m| + ln |1 + s/m| keeps the digits of a small s.  Each adds exp(0) - 1 = 0 to
    s, which has the right derivative.
    """
    counts = True if b is None else b != 0
    largest = _largest(np.where(counts, a, -np.inf), axes)
    top = np.broadcast_to(largest, a.shape)
    at_top = np.logical_and(a == top, counts)
    z: Any = excess(a, top)
    with np.errstate(over="ignore"):  # of entries without a weight, which are larger than the top
        others = np.exp(z) - at_top
    if b is not None:
        hidden = np.logical_and(b == 0, np.logical_not(np.isfinite(others)))
        others = b * np.where(hidden, 0, others)
    m = np.sum(np.where(at_top, np.ones_like(a) if b is None else b, 0), axes, keepdims=True)
    s = np.sum(others, axes, keepdims=True)
    if b is None:
        return np.log1p(s / m) + np.log(m) + largest, np.ones_like(m)
    cancelled = m == 0  # the largest entries cancel each other: there are only the others
    weight = np.where(cancelled, 1, m)
    beside = np.where(cancelled, 0, s / weight)
    alone = np.where(cancelled, m + s, 1)
    sign = np.sign(1 + beside) * np.sign(weight) * np.sign(alone)
    magnitude = np.log1p(np.where(beside < -1, -beside - 2, beside))
    with np.errstate(divide="ignore"):
        return magnitude + np.log(np.absolute(weight * alone)) + largest, sign


def _complex_sum(a: Any, b: Any, axes: Any, *, return_sign: bool) -> tuple[Any, Any]:
    """Return the logarithm of Σ b·exp(a) (of its modulus beside a sign) and its phase."""
    size = np.real(a) if b is None else np.where(b == 0, -np.inf, np.real(a))
    largest = _largest(size, axes)
    shift = np.where(np.isfinite(largest), largest, 0)
    terms = np.exp(a - shift)
    if b is not None:
        hidden = np.logical_and(b == 0, np.logical_not(np.isfinite(terms)))
        terms = b * np.where(hidden, 0, terms)
    total = np.sum(terms, axes, keepdims=True)
    if return_sign:
        return np.log(np.absolute(total)) + shift, np.sign(total)
    return np.log(total) + shift, np.ones_like(total)


def _largest(a: Any, axes: Any) -> Traced:
    """Return the largest entries along axes, which are kept, as constants."""
    largest = np.max(a, axes, keepdims=True)
    return stop_gradient(largest) if isinstance(largest, Tracer) else largest


@for_traced
def softmax(x: Any, axis: Any = None) -> Traced:
    """Return exp(x)/Σ exp(x).

    Parameters
    ----------
    x
        Real array.
    axis
        Axis or axes to sum over; all by default.

    Returns
    -------
    array
        Of the shape of `x`, with entries that sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.jacobian(special.softmax)(np.zeros(2)))
    [[ 0.25 -0.25]
     [-0.25  0.25]]
    """
    return shares(floating(x), axis)


def shares(x: Any, axis: Any) -> Any:
    """Return `softmax` of an array, traced or not."""
    exponentials = np.exp(x - _largest(x, axis))
    return exponentials / np.sum(exponentials, axis, keepdims=True)


@for_traced
def log_softmax(x: Any, axis: Any = None) -> Traced:
    """Return x - ln Σ exp(x), the logarithm of `softmax`, also where that underflows.

    Parameters
    ----------
    x
        Real array.
    axis
        Axis or axes to sum over; all by default.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda x: special.log_softmax(x)[1])(np.array([800.0, 0.0])))
    [-1.  1.]
    """
    return log_shares(floating(x), axis)


def log_shares(x: Any, axis: Any) -> Any:
    """Return `log_softmax` of an array, traced or not."""
    largest = _largest(x, axis)
    shifted = x - np.where(np.isfinite(largest), largest, 0)
    with np.errstate(divide="ignore"):
        return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


def softplus(x: Any) -> Any:
    """Return ln(1 + exp(x)).

    Parameters
    ----------
    x
        Real array.

    Returns
    -------
    array
        Of the shape of `x`.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(special.softplus)(1000.0))
    1.0
    """
    return np.logaddexp(0, x)
