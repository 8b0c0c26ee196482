"""Python functions of SciPy's made of its ufuncs: factorials, slopes of Bessel functions, sums."""

from __future__ import annotations

from math import comb
from typing import Any, Final

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.types import FLOAT, INT
from funcdiff.numpy import asarray
from funcdiff.numpy.border.dispatch import refusal_error
from funcdiff.numpy.border.promotion import Traced
from funcdiff.scipy.covered import covers
from funcdiff.scipy.primitives.special import integrals
from funcdiff.scipy.special.python_functions import broadcast_to, floating, for_traced, whole, widen


@for_traced
def factorial(n: Any, exact: Any = False, extend: str = "zero") -> Any:
    """Return Γ(n + 1), and 0 for negative n if it is not extended.

    Exact numbers are integers, and refused.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(special.factorial)(0.0).round(12))
    -0.577215664902
    """
    if exact:
        raise refusal_error(
            "scipy.special.factorial(exact=True)", "Leave exact out, or pass integers from outside."
        )
    x: Any = widen(n)
    value = scipy_function("gamma")(x + 1)
    if extend == "complex":
        return value
    found = np.where(x < 0, 0, value)
    return found.astype(np.float64) if x.ndim and x.size else found  # as SciPy has it of arrays


@for_traced
def perm(N: Any, k: Any, exact: Any = False) -> Any:
    """Return the number of ordered ways to take k of N things, as a function of real numbers.

    Exact numbers are integers, and refused.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda n: special.perm(n, 2))(4.0).round(12))
    7.0
    """
    if exact:
        raise refusal_error(
            "scipy.special.perm(exact=True)", "Leave exact out, or pass integers from outside."
        )
    x, y = floating(N), floating(k)
    within = np.logical_and(y <= x, np.logical_and(x >= 0, y >= 0))
    return np.where(within, scipy_function("poch")(np.where(within, x - y + 1, 1), y), 0)


@for_traced
def diric(x: Any, n: Any) -> Any:
    """Return sin(n·x/2)/(n·sin(x/2)), which is smooth at multiples of 2π, too.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(fd.grad(lambda x: special.diric(x, 3)))(0.0).round(12))
    -0.666666666667
    """
    x, n = floating(x), asarray(n)
    turns = np.round(x / (2 * np.pi))
    rest = x / (2 * np.pi) - turns
    whole = np.logical_and(n > 0, n == np.floor(n))
    sign = np.where(turns * (n - 1) % 2 == 0, 1, -1)
    return np.where(whole, sign * np.sinc(n * rest) / np.sinc(rest), np.nan)


@for_traced
def assoc_laguerre(x: Any, n: Any, k: Any = 0.0) -> Any:
    """Return the generalized Laguerre polynomial of degree n and parameter k."""
    return scipy_function("eval_genlaguerre")(n, k, x)


def _slopes_of(name: str, function: str, sign: int, outer: int) -> None:
    """Cover the n-th derivative of a Bessel function, NIST DLMF 10.6.7 and 10.29.5."""

    def slope(v: Any, z: Any, n: Any = 1) -> Any:
        ufunc = scipy_function(function)
        terms = (sign**k * comb(n, k) * ufunc(v - n + 2 * k, z) for k in range(n + 1))
        return outer**n * sum(terms) / 2**n

    slope.__doc__ = f"Return the n-th derivative of `{function}` in z."
    covers("scipy.special", name)(slope)


for _row in (
    ("jvp", "jv", -1, 1),
    ("yvp", "yv", -1, 1),
    ("kvp", "kv", 1, -1),
    ("ivp", "iv", 1, 1),
    ("h1vp", "hankel1", -1, 1),
    ("h2vp", "hankel2", -1, 1),
):
    _slopes_of(*_row)


# ---- Lambert's W function of traced arrays, with SciPy's signature -------------------------------


_COMPLEX: Final = np.dtype(np.complex128)


@for_traced
def lambertw(z: Any, k: Any = 0, tol: Any = 1e-8) -> Traced:
    """Return Lambert's W function, a solution w of ``w·exp(w) = z``.

    Parameters
    ----------
    z
        Real or complex argument; the result is differentiable in it.
    k
        Whole numbers, the branch; it broadcasts with `z`.
    tol
        Tolerance of the iteration, which has no part in the derivative.

    Returns
    -------
    array
        Complex128, of the common shape.  For real z on the branches 0 and -1 the real function is
        ``lambertw(z).real``.

    Raises
    ------
    NotDifferentiableError
        If the branch is a traced floating array.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 4.13.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda z: special.lambertw(z).real)(0.0))
    1.0
    """
    branch = whole(k, "lambertw", "branch")
    return integrals.lambertw(*broadcast_to((_COMPLEX, INT, FLOAT), z, branch, tol))
