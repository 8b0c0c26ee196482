"""Spherical Bessel functions of traced arrays, with SciPy's signatures."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from funcdiff.core.dependencies import scipy_function
from funcdiff.core.types import INT
from funcdiff.numpy.border.promotion import WEAK, Traced, dtype_of
from funcdiff.numpy.messages.foreign import handlers
from funcdiff.scipy.special.calls import broadcast_to, for_traced, whole


def _apply(name: str, n: Any, z: Any, derivative: Any) -> Traced:
    orders, dtype = whole(n, name, "order"), _result_dtype(name, dtype_of(z))
    op = handlers[f"{name}_slope" if derivative else name]
    return op(*broadcast_to((INT, dtype), orders, z))


@cache
def _result_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """Return the dtype that SciPy makes of an argument's, which differs between its functions."""
    probe = np.ones(1, np.dtype(dtype) if dtype in WEAK else dtype)
    found: np.dtype[Any] = scipy_function(name)(0, probe).dtype
    return found


@for_traced
def spherical_jn(n: Any, z: Any, derivative: Any = False) -> Traced:
    """Return the spherical Bessel function of the first kind, j_n(z), or its derivative.

    Parameters
    ----------
    n
        Whole orders, at least 0, of any shape that broadcasts with `z`.
    z
        Real or complex argument; the result is differentiable in it.
    derivative
        Whether to return j_n'(z) instead.

    Returns
    -------
    array
        Of the common shape, float64 or complex.

    Raises
    ------
    NotDifferentiableError
        If the order is a traced floating array.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.47 and equation 10.51.1.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda z: special.spherical_jn(1, z))(0.0).round(6))
    0.333333
    """
    return _apply("spherical_jn", n, z, derivative)


@for_traced
def spherical_yn(n: Any, z: Any, derivative: Any = False) -> Traced:
    """Return the spherical Bessel function of the second kind, y_n(z), or its derivative.

    Parameters, dtypes and errors are those of `spherical_jn`.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.47 and equation 10.51.1.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda z: special.spherical_yn(0, z))(2.0).round(6))
    0.350612
    """
    return _apply("spherical_yn", n, z, derivative)


@for_traced
def spherical_in(n: Any, z: Any, derivative: Any = False) -> Traced:
    """Return the modified spherical Bessel function of the first kind, i_n(z), or its derivative.

    Parameters, dtypes and errors are those of `spherical_jn`.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.47 and equation 10.51.4.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda z: special.spherical_in(1, z))(0.0).round(6))
    0.333333
    """
    return _apply("spherical_in", n, z, derivative)


@for_traced
def spherical_kn(n: Any, z: Any, derivative: Any = False) -> Traced:
    """Return the modified spherical Bessel function of the second kind, k_n(z), or its derivative.

    Parameters, dtypes and errors are those of `spherical_jn`.

    References
    ----------
    NIST Digital Library of Mathematical Functions, section 10.47 and equation 10.51.4.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda z: special.spherical_kn(0, z))(1.0).round(6))
    -1.155727
    """
    return _apply("spherical_kn", n, z, derivative)
