"""``autograd.misc.fixed_points``: the solution of ``x = f(a)(x)``, as a function of `a`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcdiff.api.rules import implicit


def fixed_point(
    f: Callable[[Any], Callable[[Any], Any]],
    a: Any,
    x0: Any,
    distance: Callable[[Any, Any], Any],
    tol: float,
) -> Any:
    """Iterate ``f(a)`` from `x0` until it stays, and differentiate the solution by `a`.

    Parameters
    ----------
    f
        Of `a`, returning a function of `x`.
    a, x0
        Arrays or containers.
    distance, tol
        The iteration ends when ``distance(x, previous) <= tol``.

    Returns
    -------
    any
        Like `x0`.

    Examples
    --------
    >>> from funcdiff.autograd import grad
    >>> heron = lambda a: lambda x: (x + a / x) / 2
    >>> root = lambda a: fixed_point(heron, a, 1.0, lambda x, y: abs(x - y), 1e-12)
    >>> print(grad(root)(4.0))
    0.25
    """

    def iterate(step: Callable[[Any], Any], x: Any) -> Any:
        x, previous = step(x), x
        while distance(x, previous) > tol:
            x, previous = step(x), x
        return x

    found: Any = implicit.fixed_point(lambda x, a: f(a)(x), x0, a, solve=iterate)
    return found
