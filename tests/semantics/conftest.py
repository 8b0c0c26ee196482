"""Derivatives computed in every mode at once, so that each fact is stated once and holds in all."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

import funcdiff as fd

Derivative: TypeAlias = Callable[[Callable[..., Any], Any], Any]


def _pushed(f: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient of a scalar function by one `jvp` for each element of `x`."""
    x = np.asarray(x)
    directions = np.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
    slopes = [fd.jvp(f, (x[()],), (t[()],))[1] for t in directions]
    return np.reshape(slopes, x.shape)


def _agreeing(results: dict[str, Any]) -> Any:
    """Return the first result if the others are the same to rounding, NaN and infinities too."""
    first, *rest = results.items()
    for name, result in rest:
        np.testing.assert_allclose(
            result, first[1], rtol=1e-12, atol=1e-12, err_msg=f"{name} against {first[0]}"
        )
    return first[1]


@pytest.fixture
def gradient() -> Derivative:
    """Return a function that gives the gradient of a scalar function, the same in all modes."""

    def in_all_modes(f: Callable[[Any], Any], x: Any) -> Any:
        return _agreeing(
            {
                "vjp": fd.vjp(f, x)[1]()[0],
                "grad": fd.grad(f)(x),
                "jvp": _pushed(f, x),
                "jacfwd": fd.jacfwd(f)(x),
                "jacrev": fd.jacrev(f)(x),
            }
        )

    return in_all_modes


@pytest.fixture
def second() -> Derivative:
    """Return a function that gives the Hessian of a scalar function, the same in all modes."""

    def in_all_modes(f: Callable[[Any], Any], x: Any) -> Any:
        return _agreeing(
            {
                "forward over reverse": fd.jacfwd(fd.grad(f))(x),
                "reverse over reverse": fd.jacrev(fd.grad(f))(x),
                "forward over forward": fd.jacfwd(fd.jacfwd(f))(x),
                "reverse over forward": fd.jacrev(fd.jacfwd(f))(x),
            }
        )

    return in_all_modes
