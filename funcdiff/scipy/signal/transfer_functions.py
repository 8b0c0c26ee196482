"""Transfer functions as polynomials: their roots, and changes of the variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import value_of
from funcdiff.scipy.array_api import is_lazy_array
from funcdiff.scipy.covered import covers, load
from funcdiff.scipy.equalities import zero_without_slope


def without_leading_zeros(p: Any) -> Any:
    """Return a polynomial without the highest powers that have no coefficient, if that is known."""
    while len(p) > 1 and not is_lazy_array(p) and p[0] == 0.0:
        p = p[1:]
    return p


@covers("scipy.signal._polyutils")
def polyroots(coef: Any, *, xp: Any = None) -> Any:
    """Return the roots: eigenvalues of the companion matrix, and zeros.

    Where nobody knows the values, a polynomial is taken to begin and to end with another number.
    """
    p: Any = array(coef)
    if len(p) < 2:
        return np.zeros(0, p.dtype)
    if not (is_lazy_array(p) or (p[0] != 0 and p[-1] != 0)):
        return np.roots(p)
    below = np.eye(len(p) - 2, len(p) - 1, dtype=p.dtype)
    return np.linalg.eigvals(np.concatenate([(-p[1:] / p[0])[None], below]))


def _of_order(p: Any, order: int) -> Any:
    """Return a polynomial without powers above its order, by whose coefficients nobody knows it."""
    surplus = max(0, len(p) - order - 1)
    return p[surplus:] + zero_without_slope(p[:surplus]) if surplus else p


@covers("scipy.signal._filter_design", closures=True)
def _resize(a: Any, new_shape: tuple[int, ...], xp: Any = None) -> Any:
    """Return an array of that shape with the same numbers again and again, to be written to."""
    return np.resize(array(a), new_shape)


@covers("scipy.signal")
def bilinear(b: Any, a: Any, fs: Any = 1.0) -> tuple[Any, Any]:
    """Return the digital filter of an analog one: ``s = 2·fs·(z - 1)/(z + 1)``.

    Differentiable in the coefficients and in `fs`.
    """
    b, a = (np.atleast_1d(array(x)) for x in (b, a))
    for name, polynomial in (("b", b), ("a", a)):
        if polynomial.ndim != 1:
            raise ValueError(
                f"Parameter {name} is not a 1d array since {name}.shape={polynomial.shape}, at "
                f"{user_location()}"
            )
    order = max(len(without_leading_zeros(x)) for x in (b, a)) - 1
    b, a = (_of_order(x, order) for x in (b, a))
    # (z + 1)^(N - q)·(z - 1)^q, the highest power first
    powers = np.array([np.poly([-1.0] * (order - q) + [1.0] * q) for q in range(order + 1)])
    scales = np.sqrt(2 * fs) ** (2 * np.arange(order + 1) - order)
    changed = [p[::-1] * scales[: len(p)] @ powers[: len(p)] for p in (b, a)]
    return load("funcdiff.scipy.signal").normalize(*changed)  # type: ignore[no-any-return]


@covers("scipy.signal._signaltools")  # by which others of that module call it
@covers("scipy.signal")
def unique_roots(p: Any, tol: float = 1e-3, rtype: str = "min") -> tuple[Any, Any]:
    """Return groups of roots nearer than `tol` by one root each, and how many they have.

    Which roots are near follows from their values; `rtype` says what is differentiated.
    """
    roots = array(p)
    counts = {"min": np.min, "minimum": np.min, "max": np.max, "maximum": np.max}
    reduce = counts.get(rtype, np.mean if rtype in ("avg", "mean") else None)
    if reduce is None:
        raise ValueError(
            "`rtype` must be one of {'max', 'maximum', 'min', 'minimum', 'avg', 'mean'}, not "
            f"{rtype!r}, at {user_location()}"
        )
    values = np.array(value_of(roots))
    groups: list[Any] = []
    left = np.ones(len(values), bool)
    for k, value in enumerate(values):
        if left[k]:
            group = np.flatnonzero(left & (np.abs(values - value) <= tol))
            groups.append(group)
            left[group] = False
    found: Any = np.stack([reduce(roots[group]) for group in groups]) if groups else roots
    return found, np.array([len(group) for group in groups])
