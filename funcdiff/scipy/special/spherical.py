"""Spherical Bessel functions and spherical harmonics, with SciPy's signatures."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from funcdiff.api.derivatives.linear_maps import jvp
from funcdiff.core.late import scipy_function
from funcdiff.core.types import FLOAT, INT
from funcdiff.numpy.border.promotion import WEAK, Traced, dtype_of
from funcdiff.numpy.messages.foreign import handlers
from funcdiff.scipy.primitives.special.orthogonal_polynomials import sph_legendre_p
from funcdiff.scipy.special.python_functions import broadcast_to, for_traced, whole


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


# ---- Spherical harmonics of traced arrays, with SciPy's signatures -------------------------------


def _slopes(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the derivatives of a function by its two angles, along a last axis."""

    def slopes(theta: Any, phi: Any) -> Any:
        zero, one = np.zeros(theta.shape), np.ones(theta.shape)
        sides = (one, zero), (zero, one)
        return np.stack([jvp(f, (theta, phi), side)[1] for side in sides], axis=-1)

    return slopes


@for_traced
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return the spherical harmonic of degree n and order m at a polar and an azimuthal angle.

    Parameters
    ----------
    n, m
        Whole numbers; all arguments broadcast.
    theta, phi
        Real angles; the result is differentiable in both, at the poles, too.
    diff_n
        How many derivatives by the angles are wanted, too; SciPy has two.

    Returns
    -------
    array or tuple of arrays
        Of the common shape, complex128; derivatives have an axis of length 2 more each.

    Raises
    ------
    NotDifferentiableError
        If a degree or order is a traced floating array.

    References
    ----------
    A. R. Edmonds, "Angular Momentum in Quantum Mechanics", 1957, section 2.5.

    Examples
    --------
    >>> import funcdiff as fd
    >>> from funcdiff.scipy import special
    >>> print(fd.grad(lambda theta: special.sph_harm_y(1, 0, theta, 0.0).real)(0.5).round(6))
    -0.234249
    """
    n, m = whole(n, "sph_harm_y", "degree"), whole(m, "sph_harm_y", "order")
    n, m, theta, phi = broadcast_to((INT, INT, FLOAT, FLOAT), n, m, theta, phi)
    functions: list[Callable[..., Any]] = [
        lambda theta, phi: sph_legendre_p(n, m, theta) * np.exp(1j * (m * phi))
    ]
    for _ in range(diff_n):
        functions.append(_slopes(functions[-1]))
    found = tuple(f(theta, phi) for f in functions)
    return found if diff_n else found[0]


@for_traced
def sph_harm_y_all(n: int, m: int, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return those of degrees up to n and orders 0, ..., m, -m, ..., -1 along two axes in front."""
    theta, phi = np.broadcast_arrays(theta, phi)
    places = (1,) * theta.ndim
    degrees = np.arange(n + 1).reshape(-1, 1, *places)
    orders = np.r_[: m + 1, -m:0].reshape(1, -1, *places)
    return sph_harm_y(degrees, orders, theta, phi, diff_n=diff_n)
