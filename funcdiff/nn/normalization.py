"""Softmax, log-softmax and log-sum-exp, without overflow."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from funcdiff.core.tracer import Tracer
from funcdiff.nn.operands import Float, floating, of_floats
from funcdiff.numpy.border.promotion import promote_and_broadcast
from funcdiff.scipy.special.normalization import log_of_sum, log_shares, shares

Axes: TypeAlias = int | tuple[int, ...] | None


@of_floats
def softmax(x: Any, axis: Axes = -1) -> Any:
    """Return exp(x)/Σ exp(x).

    Parameters
    ----------
    x
        Real numbers; an entry of -∞ takes no share.
    axis
        Axis or axes to sum over, the last one by default; None for all.

    Returns
    -------
    array
        Of the shape and dtype of `x`, with shares that add up to 1; integers become float64.
        NaN where all entries are -∞, or one is +∞, as SciPy has it.

    Raises
    ------
    TypeError
        If `x` is complex.

    References
    ----------
    P. Blanchard, D. J. Higham, N. J. Higham, "Accurately Computing the Log-Sum-Exp and Softmax
    Functions", IMA J. Numer. Anal. 41 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.nn.softmax(np.array([[0.0, 0.0], [1e4, -np.inf]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return shares(floating(x, "nn.softmax"), axis)


@of_floats
def log_softmax(x: Any, axis: Axes = -1) -> Any:
    """Return x - ln Σ exp(x): the logarithm of `softmax`, also where that underflows.

    Parameters
    ----------
    x
        Real numbers.
    axis
        Axis or axes to sum over, the last one by default; None for all.

    Returns
    -------
    array
        Of the shape and dtype of `x`; integers become float64.

    Raises
    ------
    TypeError
        If `x` is complex.

    References
    ----------
    P. Blanchard, D. J. Higham, N. J. Higham, "Accurately Computing the Log-Sum-Exp and Softmax
    Functions", IMA J. Numer. Anal. 41 (2021).

    Examples
    --------
    The cross-entropy of scores and labels, and its derivative, share minus target:

    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def cross_entropy(scores, labels):
    ...     return -np.mean(fd.nn.log_softmax(scores)[np.arange(len(labels)), labels])
    >>> fd.grad(cross_entropy)(np.array([[0.0, 0.0], [-1e4, 1e4]]), np.array([0, 1]))
    array([[-0.25,  0.25],
           [ 0.  ,  0.  ]])
    """
    return log_shares(floating(x, "nn.log_softmax"), axis)


@overload
def logsumexp(
    x: NDArray[Float],
    axis: None = None,
    *,
    b: ArrayLike | None = None,
    keepdims: Literal[False] = False,
) -> Float: ...
@overload
def logsumexp(
    x: NDArray[Float], axis: Axes = None, *, b: ArrayLike | None = None, keepdims: Literal[True]
) -> NDArray[Float]: ...
@overload
def logsumexp(
    x: ArrayLike, axis: Axes = None, *, b: ArrayLike | None = None, keepdims: bool = False
) -> Any: ...
def logsumexp(x: Any, axis: Axes = None, *, b: Any = None, keepdims: bool = False) -> Any:
    """Return ln Σ b·exp(x).

    The derivative in `x` is b·exp(x)/Σ b·exp(x).  Where the largest entries are infinite they
    share it equally.

    Parameters
    ----------
    x
        Real or complex numbers.
    axis
        Axis or axes to sum over; all by default.
    b
        Weights, which broadcast with `x`; an entry of weight 0 does not count, whatever it is,
        so that a mask is a weight.
    keepdims
        Whether the axes stay, with length 1.

    Returns
    -------
    array or NumPy scalar
        Of the dtype of `x` and `b`; integers become float64.  NaN where the sum is negative, and
        -∞ where there is nothing to sum or all entries are -∞.

    Raises
    ------
    TypeError
        If `x` does not hold numbers.
    ValueError
        If an axis is out of range, or `b` does not broadcast with `x`.

    References
    ----------
    P. Blanchard, D. J. Higham, N. J. Higham, "Accurately Computing the Log-Sum-Exp and Softmax
    Functions", IMA J. Numer. Anal. 41 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> print(fd.nn.logsumexp(np.array([-1e4, -1e4])).round(6))
    -9999.306853
    >>> print(fd.nn.logsumexp(np.array([[0.0, 9.0], [0.0, 0.0]]), axis=1, b=[[1, 0], [1, 1]]))
    [0.         0.69314718]
    """
    a, weights = floating(x, "nn.logsumexp", complex_too=True), None
    if b is not None:
        a, weights = _alike(a, floating(b, "nn.logsumexp", complex_too=True))
    y = log_of_sum(np.atleast_1d(a), axis, weights, keepdims=keepdims, return_sign=False)
    return y if isinstance(y, Tracer) else y[()]


def _alike(a: Any, b: Any) -> Any:
    if isinstance(a, Tracer) or isinstance(b, Tracer):
        return promote_and_broadcast(a, b)
    dtype = np.result_type(a, b)
    return [np.atleast_1d(x.astype(dtype, copy=False)) for x in np.broadcast_arrays(a, b)]
