"""Python functions of SciPy's made of gamma functions, with SciPy's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.errors import user_location
from funcdiff.numpy.border.dispatch import refusal_error, refuse
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.scipy.primitives.special import gamma as gammas
from funcdiff.scipy.special.python_functions import broadcast_to, for_traced, widen


@for_traced
def polygamma(n: Any, x: Any) -> Traced:
    """Return the n-th derivative of the digamma function.

    Parameters
    ----------
    n
        Whole orders, at least 0.
    x
        Real array, which broadcasts with `n`; the result is differentiable in it.

    Returns
    -------
    array
        Float64, of the common shape.

    Raises
    ------
    NotDifferentiableError
        If a derivative in `n` is asked for.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 5.15.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda x: special.polygamma(0, x))(1.0).round(12))
    1.644934066848
    """
    dtype = np.result_type(widen(x).dtype, np.float64)
    return gammas.polygamma(*broadcast_to((dtype, dtype), n, x))


@for_traced
def zeta(x: Any, q: Any = None, out: Any = None) -> Traced:
    """Return Hurwitz' zeta function Σ (k + q)⁻ˣ, or Riemann's, for which q = 1.

    Parameters
    ----------
    x
        The exponent, real or complex; the result is differentiable in it where q > 0.
    q
        The offset, real; the derivative is -x·ζ(x + 1, q).
    out
        Must be left out.

    Returns
    -------
    array
        Of the common shape.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 25.11.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda q: special.zeta(2.0, q))(1.0).round(12))
    -2.404113806319
    """
    refuse("scipy.special.zeta", out=out)
    if q is None:
        return gammas.riemann_zeta(widen(x))
    strong = [widen(v).dtype for v in (x, q) if not isinstance(v, int | float)]
    dtype = np.result_type(*strong or [np.float64])
    if dtype.kind == "c":
        raise refusal_error(
            "scipy.special.zeta of complex numbers with q", "SciPy gives nan for it. Leave q out."
        )
    return gammas.zeta(*broadcast_to((dtype, dtype), x, q))


@for_traced
def multigammaln(a: Any, d: Any) -> Traced:
    """Return the logarithm of the multivariate gamma function of dimension d.

    It is ln π·d(d - 1)/4 + Σ ln Γ(a - (j - 1)/2) over j = 1, ..., d.

    Parameters
    ----------
    a
        Real array, greater than (d - 1)/2; elsewhere the result is NaN or infinite.
    d
        Whole number, at least 1.

    Returns
    -------
    array
        Of the shape of `a`.

    References
    ----------
    R. J. Muirhead, "Aspects of Multivariate Statistical Theory", Wiley 1982, theorem 2.1.12.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda a: special.multigammaln(a, 1))(1.0).round(12))
    -0.577215664902
    """
    if isinstance(d, np.ndarray | np.generic | float) and np.ndim(d) == 0 and int(d) == d:
        d = int(d)
    if type(d) is not int:
        raise ValueError(
            f"multigammaln got the dimension {d!r}, at {user_location()}. "
            "Give a positive whole number."
        )
    x: Any = widen(a)
    halves = np.arange(d, dtype=x.dtype).reshape(d, *(1,) * x.ndim) / 2
    terms: Any = gammas.loggamma(array(x - halves))
    return d * (d - 1) * 0.25 * np.log(np.pi) + np.sum(terms, axis=0)


@for_traced
def comb(N: Any, k: Any, *, exact: Any = False, repetition: Any = False) -> Traced:
    """Return the number of ways to take k of N things, as a function of real numbers.

    Parameters
    ----------
    N, k
        Arrays that broadcast; the result is 0 where k > N or one of them is negative.
    exact
        Must be false: exact numbers are integers.
    repetition
        Whether things may be taken repeatedly.

    Returns
    -------
    array
        Of the common shape.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda n: special.comb(n, 2))(4.0).round(12))
    3.5
    """
    if exact:
        raise refusal_error(
            "scipy.special.comb(exact=True)", "Leave exact out, or pass integers from outside."
        )
    x, y = array(N), array(k)
    if repetition:
        count = _binom(x + y - 1, y)
        return np.where(np.logical_and(y == 0, x >= 0), 1, count)
    within = np.logical_and(y <= x, np.logical_and(x >= 0, y >= 0))
    return np.where(within, _binom(x, y), 0)


def _binom(n: Any, k: Any) -> Traced:
    dtype = np.result_type(widen(n).dtype, widen(k).dtype)
    return gammas.binom(*broadcast_to((dtype, dtype), n, k))
