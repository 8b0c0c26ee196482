"""Spherical harmonics of traced arrays, with SciPy's signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.api.derivatives.linear_maps import jvp
from funcdiff.core.types import FLOAT, INT
from funcdiff.scipy.primitives.special.polynomials import sph_legendre_p
from funcdiff.scipy.special.calls import broadcast_to, for_traced, whole


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
