"""Polynomials, and convolution, by which they are multiplied.

Each function does NumPy's own steps on traced coefficients.  How many zeros are cut off, and
whether complex roots come in pairs, is looked at in the values and counts as constant.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT
from funcdiff.errors import ConcreteValueError
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.border.masks import holds
from funcdiff.numpy.border.promotion import array, promote_arrays
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.memory import mutation
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.products.convolution import convolve as linear_convolution
from funcdiff.ops.products.convolution import sequences
from funcdiff.ops.structure import structural as ops
from funcdiff.ops.structure.slicing import along, shortened, slice_along, trimmed, unknown, whole_of
from funcdiff.ops.structure.structural import stop_gradient

# ---- coefficients ------------------------------------------------------------------------------


def _vector(p: Any) -> Any:
    """Return the coefficients of a polynomial as a vector."""
    return np.atleast_1d(p.coeffs if isinstance(p, np.poly1d) else array(p))


def _of_whole(function: Callable[..., Any], *given: Any) -> Any:
    """Return a function of coefficients, known as that of what was cut off because it is 0, too."""
    found, whole = function(*given), [whole_of(array(p)) for p in given]
    if all(p.shape == q.shape for p, q in zip(whole, given, strict=True)):
        return found
    return shortened(array(found), array(function(*whole)))


def _cut(p: Any, count: int) -> Any:
    """Cut off as many leading coefficients, which are 0; one is left."""
    first = min(count, p.shape[0] - 1)
    return trimmed(p, along(p.shape, 0, first, p.shape[0])) if first > 0 else p


def _like(given: tuple[Any, ...], coefficients: Any) -> Any:
    """Return coefficients, as a poly1d if one of the given polynomials is one."""
    if any(isinstance(p, np.poly1d) for p in given):
        return np.poly1d(coefficients)
    return coefficients


# ---- arithmetic --------------------------------------------------------------------------------


@implements(np.roots)
def roots(p: Any) -> Any:
    """Return the roots of a polynomial: the eigenvalues of its companion matrix.

    There are as many roots at 0 as trailing coefficients that are 0: of more than one the
    derivative by these is nan.
    """
    p = whole_of(array(_vector(p)))
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array")
    nonzero = np.flatnonzero(np.asarray(p != 0))
    if len(nonzero) == 0:
        return np.array([])
    at_zero = p.shape[0] - int(nonzero[-1]) - 1
    if not p.type.differentiable:
        p = p.astype(FLOAT)
    given = p
    p = p[int(nonzero[0]) : int(nonzero[-1]) + 1]
    found: Any = np.array([])
    if p.shape[0] > 1:
        first = np.reshape(-p[1:] / p[0], (1, -1))
        below = np.eye(p.shape[0] - 2, p.shape[0] - 1, dtype=p.dtype)
        found = np.linalg.eigvals(np.concatenate([first, below]))
        if found.dtype.kind == "c" != p.dtype.kind and np.all(found.imag == 0):
            found = found.real  # of roots, unlike eigenvalues, in every version of NumPy
    if at_zero == 1:
        found = np.hstack((found, np.zeros(1, found.dtype)))
    if p.shape[0] < given.shape[0]:
        found = _follow_roots(found, given)
    if at_zero > 1:
        zeros: Any = unknown(array(given[-at_zero:]))
        found = np.hstack((found, zeros.astype(found.dtype)))
    return found


def _follow_roots(roots: Any, p: Any) -> Any:
    """Return known simple roots as functions of all coefficients, by steps of Newton's method.

    Derivatives double their order with each step: these are exact to the seventh.
    """
    roots = stop_gradient(array(roots))
    slopes = p[:-1] * np.arange(p.shape[0] - 1, 0, -1)
    for _ in range(3):
        rest = np.polyval(p, roots)
        roots = roots - (rest - stop_gradient(array(rest))) / np.polyval(slopes, roots)
    return roots


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    """Return the sum of two polynomials."""
    return _like((a1, a2), _of_whole(partial(_combine, np.add), _vector(a1), _vector(a2)))


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    """Return the difference of two polynomials."""
    return _like((a1, a2), _of_whole(partial(_combine, np.subtract), _vector(a1), _vector(a2)))


def _combine(ufunc: Any, x: Any, y: Any) -> Any:
    """Combine two vectors of coefficients, the shorter one with zeros in front."""
    missing = len(y) - len(x)
    if missing > 0:
        x = np.concatenate([np.zeros(missing, x.dtype), x])
    elif missing < 0:
        y = np.concatenate([np.zeros(-missing, y.dtype), y])
    return ufunc(x, y)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    """Return the product of two polynomials, without their leading zeros.

    Where the trace has no values, leading zeros stay.
    """
    x, y = (p if len(p) else np.zeros(1, p.dtype) for p in map(_vector, (a1, a2)))
    x, y = (_cut(p, _leading_zeros(p)) for p in (x, y))
    return _like((a1, a2), _of_whole(np.convolve, x, y))


def _leading_zeros(p: Any) -> int:
    """Return how many leading zeros np.poly1d cuts off: of nothing else, one zero is left."""
    try:
        filled = np.flatnonzero(value_of(p))
    except ConcreteValueError:
        return 0
    return int(filled[0]) if len(filled) else len(p) - 1


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """Return quotient and remainder; leading zeros of the remainder are cut off.

    Long division: of what is left of `u`, a step changes only as many coefficients as `v` has.
    """
    dividend, divisor = _vector(u) + 0.0, _vector(v) + 0.0
    dtype = (dividend[0] + divisor[0]).dtype
    m, n = len(dividend) - 1, len(divisor) - 1
    scale = 1.0 / divisor[0]
    rest = dividend.astype(dtype)
    if m < n:
        return _like((u, v), np.zeros(1, dtype)), _like((u, v), _without_leading_zeros(rest, 0))
    window: Any = rest[: n + 1]
    heads: list[Any] = []
    factors: list[Any] = []
    for k in range(m - n + 1):
        factor = scale * window[0]
        factors.append(factor.astype(dtype))
        window = (window - factor * divisor).astype(dtype)
        if k < m - n:
            heads.append(window[:1])
            window = np.concatenate([window[1:], rest[k + n + 1 : k + n + 2]])
    remainder = _without_leading_zeros(np.concatenate([*heads, window]), m - n + 1)
    return _like((u, v), np.stack(factors)), _like((u, v), remainder)


def _without_leading_zeros(p: Any, count: int) -> Any:
    """Cut off what is zero to within NumPy's tolerance for remainders, but for the last one.

    As many as `count` are zero whatever is divided.
    """
    large = np.flatnonzero(np.logical_not(np.isclose(p, 0, rtol=1e-14)))
    first = int(large[0]) if len(large) else len(p) - 1
    always = min(first, count)
    return _cut(p[always:], first - always)


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """Return the value of a polynomial, by Horner's rule; of a poly1d `x`, the composition."""
    y: Any = 0 if isinstance(x, np.poly1d) else np.zeros_like(x := array(x))
    coefficients: Any = whole_of(array(_vector(p)))
    for coefficient in coefficients:
        y = y * x + coefficient
    return y


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Any:
    """Return the derivative of order `m` of a polynomial."""
    order = int(m)
    if order < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    if not order:
        return _like((p,), p.coeffs if isinstance(p, np.poly1d) else array(p))

    def derive(x: Any) -> Any:
        for _ in range(order):
            x = x[:-1] * np.arange(len(x) - 1, 0, -1)
        return x

    return _like((p,), _of_whole(derive, _vector(p)))


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return the antiderivative of order `m` of a polynomial, with constants of integration."""
    order = int(m)
    if order < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = np.atleast_1d(np.zeros(order) if k is None else array(k))
    if len(constants) == 1 and order > 1:
        constants = constants[0] * np.ones(order)
    if len(constants) < order:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")

    def integrate(x: Any) -> Any:
        for step in range(order):
            divided = np.true_divide(x, np.arange(len(x), 0, -1))
            x = np.concatenate((divided, constants[step : step + 1]))
        return x

    given = p.coeffs if isinstance(p, np.poly1d) else array(p)
    return _like((p,), _of_whole(integrate, given))


# ---- least squares -------------------------------------------------------------------------------


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """Fit a polynomial by least squares; the rank of the problem counts as constant.

    NumPy's own code looks at the rank, which nobody knows inside `scan`.
    """
    order = int(deg) + 1
    x, rhs = (array(z) + 0.0 for z in (x, y))
    weights = None if w is None else array(w) + 0.0
    _check_fit(x, rhs, deg, weights)
    if rcond is None:
        rcond = len(x) * np.finfo(x.dtype).eps
    lhs: Any = np.vander(x, order)
    if weights is not None:
        column = weights[:, np.newaxis]
        lhs = _weigh(lhs, column)
        rhs = _weigh(rhs, column if rhs.ndim == 2 else weights)
    scale = np.sqrt((lhs * lhs).sum(axis=0))
    lhs = lhs / scale
    solution: Any = np.linalg.lstsq(lhs, rhs, rcond)
    c, residuals, rank, singular_values = solution
    c = (c.T / scale).T
    if not full and holds(rank != order):
        warnings.warn("Polyfit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
    if full:
        return c, residuals, rank, singular_values, rcond
    if not cov:
        return c
    spread = np.linalg.inv(np.dot(lhs.T, lhs)) / np.outer(scale, scale)
    factor: Any = 1
    if cov != "unscaled":
        if len(x) <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (len(x) - order)
    return c, (spread if rhs.ndim == 1 else spread[:, :, np.newaxis]) * factor


def _weigh(x: Tracer, weights: Any) -> Any:
    """Return ``x *= weights``, which keeps the dtype of `x`."""
    mutation.check_castable(np.multiply, x, x, weights)
    return (x * weights).astype(x.dtype)


def _check_fit(x: Tracer, y: Tracer, deg: Any, w: Tracer | None) -> None:
    """Raise NumPy's errors for points that cannot be fitted."""
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.type.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if w is not None and w.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if w is not None and w.shape[0] != y.shape[0]:
        raise TypeError("expected w and y to have the same length")


# ---- Convolution and correlation: sums over shifted copies ---------------------------------------


_MODES: Final = ("full", "same", "valid")


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: Any = "full") -> Tracer:
    """Return the convolution of two vectors: ``out[n] = Σ_k a[n-k] v[k]``."""
    x, y = _vectors("np.convolve", np.atleast_1d(array(a)), np.atleast_1d(array(v)), mode)
    return _convolve(x, y, mode)


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: Any = "valid") -> Tracer:
    """Return the correlation of two vectors: ``out[n] = Σ_k a[n+k] conj(v[k])``."""
    x, y = _vectors("np.correlate", a, v, mode)
    y = conj(y)
    if x.shape[0] >= y.shape[0]:
        return _convolve(x, ops.reverse(y, (0,)), mode)
    return ops.reverse(_convolve(y, ops.reverse(x, (0,)), mode), (0,))


def _vectors(name: str, a: Any, v: Any, mode: Any) -> list[Tracer]:
    if mode not in _MODES:
        raise ValueError(f"{name}: mode must be one of {_MODES}, not {mode!r}")
    vectors = promote_arrays(a, v)
    for what, x in zip("av", vectors, strict=True):
        if x.ndim != 1:
            raise ValueError(f"{name}: {what} has {x.ndim} axes, but must be a vector")
        if x.type.size == 0:
            raise ValueError(f"{name}: {what} cannot be empty")
    return vectors


def _convolve(x: Tracer, y: Tracer, mode: str) -> Tracer:
    """Convolve; "same" is the middle of the full convolution, as long as the longer vector.

    Of an even overhang, NumPy cuts one element more at the end.
    """
    p = sequences(x.type, y.type, full=mode != "valid")
    result = linear_convolution(x, y, p)
    if mode != "same":
        return result
    long, short = max(x.shape[0], y.shape[0]), min(x.shape[0], y.shape[0])
    return slice_along(result, 0, (short - 1) // 2, (short - 1) // 2 + long)
