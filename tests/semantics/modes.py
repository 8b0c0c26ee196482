"""Derivatives computed in every mode at once, so that each fact is stated once and holds in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcdiff as fd
from tests.claims import claims


def gradient(f: Callable[..., Any], x: Any) -> Any:
    """Return the gradient of a scalar function, the same in all modes."""
    return _agreeing({
        "vjp": fd.vjp(f, x)[1]()[0],
        "grad": fd.grad(f)(x),
        "jvp": _pushed(f, x),
        "jacfwd": fd.jacfwd(f)(x),
        "jacrev": fd.jacrev(f)(x),
    })  # fmt: skip


def second(f: Callable[..., Any], x: Any) -> Any:
    """Return the Hessian of a scalar function, the same in all modes."""
    return _agreeing({
        "forward over reverse": fd.jacfwd(fd.grad(f))(x),
        "reverse over reverse": fd.jacrev(fd.grad(f))(x),
        "forward over forward": fd.jacfwd(fd.jacfwd(f))(x),
        "reverse over forward": fd.jacrev(fd.jacfwd(f))(x),
    })  # fmt: skip


@claims
def slopes(
    f: Callable[..., Any], x: Any, slope: Any, *curvature: Any, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Require the gradient of a scalar function at a point, and its Hessian if it is given."""
    x = np.array(x) if isinstance(x, list) else x
    for derive, expected in zip((gradient, second), (slope, *curvature), strict=False):
        np.testing.assert_allclose(derive(f, x), expected, rtol=rtol, atol=atol)


def _pushed(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of a scalar function by one `jvp` for each element of `x`."""
    x = np.asarray(x)
    directions = np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
    found = [fd.jvp(f, (x[()],), (t[()],))[1] for t in directions]
    return np.reshape(found, x.shape)


def _agreeing(results: dict[str, Any]) -> Any:
    """Return the first result if the others are the same to rounding, NaN and infinities too."""
    first, *rest = results.items()
    for name, result in rest:
        np.testing.assert_allclose(
            result, first[1], rtol=1e-12, atol=1e-12, err_msg=f"{name} against {first[0]}"
        )
    return first[1]
