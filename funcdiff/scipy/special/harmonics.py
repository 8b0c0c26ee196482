"""Spherical harmonics of traced arrays, with SciPy's signatures."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.types import FLOAT, INT
from funcdiff.ops.special.harmonics import sph_legendre_p
from funcdiff.scipy.special.calls import broadcast_to, for_traced, whole


def _refuse_tables(name: str, diff_n: int) -> None:
    if diff_n != 0:
        raise TypeError(f"{name} of a traced array takes no diff_n: differentiate it")


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
        0: derivatives are what transforms are for.

    Returns
    -------
    array
        Of the common shape, complex128.

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
    _refuse_tables("sph_harm_y", diff_n)
    n, m = whole(n, "sph_harm_y", "degree"), whole(m, "sph_harm_y", "order")
    n, m, theta, phi = broadcast_to((INT, INT, FLOAT, FLOAT), n, m, theta, phi)
    turn: Any = m * phi
    return sph_legendre_p(n, m, theta) * np.exp(1j * turn)


@for_traced
def sph_harm_y_all(n: int, m: int, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Return those of degrees up to n and orders 0, ..., m, -m, ..., -1 along two axes in front."""
    _refuse_tables("sph_harm_y_all", diff_n)
    theta, phi = np.broadcast_arrays(theta, phi)
    places = (1,) * theta.ndim
    degrees = np.arange(n + 1).reshape(-1, 1, *places)
    orders = np.r_[: m + 1, -m:0].reshape(1, -1, *places)
    return sph_harm_y(degrees, orders, theta, phi)
