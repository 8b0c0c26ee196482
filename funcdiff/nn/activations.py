"""Activations and softmax, without overflow, and right in the tails."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.nn.operands import Float, apply_op, elementwise, floating, in_single, of_floats
from funcdiff.numpy.border.promotion import promote_and_broadcast
from funcdiff.ops.elementwise.mathematics import logistic
from funcdiff.scipy.primitives.special.normal import ndtr
from funcdiff.scipy.special.normalization import log_of_sum, log_shares, shares

_SATURATED: Final = 40.0
"""Where Φ(-x) is below every floating number of up to 64 bits."""

_ROOT_8_BY_PI: Final = float(np.sqrt(8 / np.pi))
_CUBIC: Final = 0.044715

Approximation = Literal["none", "tanh"]


@elementwise
def relu(x: Any) -> Any:
    """Return max(x, 0).

    The derivative at 0 is ½, the symmetric one, as everywhere in funcdiff.

    Parameters
    ----------
    x
        Real numbers, of any shape.

    Returns
    -------
    array or NumPy scalar
        Of the shape and dtype of `x`; integers become float64.

    Raises
    ------
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.nn.relu(np.array([-1.0, 0.0, 2.0]))
    array([0., 0., 2.])
    >>> fd.elementwise_grad(fd.nn.relu)(np.array([-1.0, 0.0, 2.0]))
    array([0. , 0.5, 1. ])
    """
    return np.maximum(x, 0)


@elementwise
def sigmoid(x: Any) -> Any:
    """Return the logistic function 1/(1 + exp(-x)).

    Parameters
    ----------
    x
        Real numbers, of any shape.

    Returns
    -------
    array or NumPy scalar
        Of the shape and dtype of `x`; integers become float64.

    Raises
    ------
    TypeError
        If `x` is complex.

    Notes
    -----
    Small values are exp(x) to all digits, and so are the derivatives on both sides.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> print(fd.nn.sigmoid(np.array([-1e4, 0.0, 1e4])))
    [0.  0.5 1. ]
    >>> print(fd.elementwise_grad(fd.nn.sigmoid)(np.array([0.0, 1e4])))
    [0.25 0.  ]
    """
    return in_single(_logistic, x)


@elementwise
def softplus(x: Any) -> Any:
    """Return ln(1 + exp(x)).

    Parameters
    ----------
    x
        Real numbers, of any shape.

    Returns
    -------
    array or NumPy scalar
        Of the shape and dtype of `x`; integers become float64.

    Raises
    ------
    TypeError
        If `x` is complex.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> print(fd.nn.softplus(np.array([-1e4, 1e4])))
    [    0. 10000.]
    >>> print(fd.grad(fd.nn.softplus)(0.0))
    0.5
    """
    with np.errstate(invalid="ignore"):  # that NumPy has for NaN
        return np.logaddexp(x, 0)


@of_floats
def gelu(x: Any, *, approximate: Approximation = "none") -> Any:
    """Return x·Φ(x), with the distribution function Φ of the standard normal distribution.

    Parameters
    ----------
    x
        Real numbers, of any shape.
    approximate
        "none" for Φ(x) = ½·(1 + erf(x/√2)); "tanh" for
        ½·(1 + tanh(√(2/π)·(x + 0.044715·x³))) in its place, which many published networks use.
        They differ by up to 5e-4.

    Returns
    -------
    array or NumPy scalar
        Of the shape and dtype of `x`; integers become float64.

    Raises
    ------
    TypeError
        If `x` is complex, or of extended precision without `approximate`.
    ValueError
        If `approximate` is neither.

    Notes
    -----
    Φ is computed by `scipy.special.ndtr`; where SciPy is not installed by NumPy alone, with
    rational approximations whose relative error is below 1e-15 in double precision (Cody 1969).

    References
    ----------
    D. Hendrycks, K. Gimpel, "Gaussian Error Linear Units (GELUs)", arXiv:1606.08415, 2016.
    W. J. Cody, "Rational Chebyshev Approximations for the Error Function", Math. Comp. 23, 1969.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> print(fd.nn.gelu(np.array([-1e4, 0.0, 1.0])).round(6))
    [-0.        0.        0.841345]
    >>> print(fd.nn.gelu(1.0, approximate="tanh").round(6))
    0.841192
    >>> print(fd.grad(fd.nn.gelu)(0.0))
    0.5
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(
            f"nn.gelu: approximate must be 'none' or 'tanh', not {approximate!r}, at "
            f"{user_location()}"
        )
    a = floating(x, "nn.gelu")
    if approximate == "none" and a.dtype.itemsize > 8:
        raise TypeError(
            f"nn.gelu: x has dtype {a.dtype}, of more precision than Φ is known to, at "
            f"{user_location()}. Convert it with .astype(float), or pass approximate='tanh'."
        )
    return in_single(_gelu if approximate == "none" else _gelu_by_tanh, a)


def _logistic(x: Any) -> Any:
    with np.errstate(over="ignore"):  # where the result is 0
        return apply_op(logistic, x)


def _gelu(x: Any) -> Any:
    above, inside = _limits(x)
    return above * apply_op(ndtr, inside)


def _gelu_by_tanh(x: Any) -> Any:
    """Return x·σ(2u), as ½·(1 + tanh(u)) = σ(2u) also where little is left of the sum."""
    above, z = _limits(x)
    return above * _logistic(_ROOT_8_BY_PI * (z + _CUBIC * z * z * z))


def _limits(x: Any) -> tuple[Any, Any]:
    """Return x where Φ is not 0, so that -∞·0 is not met, and of these where it is not 1 either."""
    above: Any = np.maximum(x, -_SATURATED)
    return above, np.minimum(above, _SATURATED)


# ---- Softmax, log-softmax and log-sum-exp, without overflow --------------------------------------


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
@public
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
