"""Compositions of forward and reverse mode, and functions never evaluated where they are unsafe."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Final

import numpy as np

import funcdiff as fd
from tests.semantics.masked import KEPT, Function

DIRECTION: Final = np.array([0.3, -0.7, 0.2, 0.9])


def compositions(order: int) -> list[str]:
    """Return the names of all compositions up to an order: "rf" is reverse over forward mode."""
    return ["".join(modes) for n in range(1, order + 1) for modes in product("rf", repeat=n)]


def composed(modes: str, f: Function) -> Function:
    """Return a derivative, the last mode innermost; results that are arrays are weighted."""
    for mode in reversed(modes):
        f = _pulled(f) if mode == "r" else _pushed(f)
    return f


def _pulled(f: Function) -> Function:
    def scalar(x: Any) -> Any:
        y = f(x)
        return np.sum(y * DIRECTION) if np.ndim(y) else y

    return lambda x: fd.grad(scalar)(x)


def _pushed(f: Function) -> Function:
    return lambda x: fd.jvp(f, (x,), (DIRECTION,))[1]


def require_agreement(
    make: Callable[[Function], Function],
    u: Function,
    x: Any,
    modes: str,
    around: Callable[[Function], Function] = lambda f: f,
) -> None:
    """Compare a derivative of ``make(u)`` with the one for a `u` that is never unsafe."""
    safe = x[KEPT][0]

    def never_unsafe(z: Any) -> Any:
        return u(np.where(KEPT, z, safe))

    with np.errstate(all="ignore"):
        expected, found = (around(composed(modes, make(v)))(x) for v in (never_unsafe, u))
    assert np.isfinite(expected).all()
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * scale)
