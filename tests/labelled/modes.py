"""Every mode of a function of a small vector, against the plain function."""

from collections.abc import Callable
from typing import Any

import numpy as np

import funcdiff as fd
from tests.differences import differences

STEP = 1e-6


def number(x: Any) -> float:
    """The value of a scalar with labels or without."""
    return float(np.asarray(x))


def check_first_order(f: Callable[[Any], Any], b: Any) -> None:
    """The value is that of the plain function; so is the gradient, compiled or not."""
    t = np.linspace(0.5, 1.0, len(b))
    after, before = number(f(b + STEP * t)), number(f(b - STEP * t))
    value, gradient = fd.value_and_grad(f)(b)
    np.testing.assert_allclose(number(value), number(f(b)), rtol=1e-12)
    np.testing.assert_allclose(gradient @ t, (after - before) / (2 * STEP), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fd.jit(fd.grad(f))(b), gradient, rtol=1e-12)


def check_all_modes(f: Callable[[Any], Any], b: Any) -> None:
    """Forward and reverse, the ninth call, examples in a batch and second derivatives."""
    gradient = fd.grad(f)
    first = gradient(b)
    np.testing.assert_allclose(first, differences(lambda b: number(f(b)), b), rtol=1e-5, atol=1e-6)
    t = np.linspace(0.5, 1.0, len(b))
    np.testing.assert_allclose(number(fd.jvp(f, (b,), (t,))[1]), first @ t, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(fd.vjp(f, b)[1]()[0], first, rtol=1e-10, atol=1e-12)
    compiled = fd.jit(gradient)
    for _ in range(8):
        again, jitted = gradient(b), compiled(b)
    np.testing.assert_allclose(again, first, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(jitted, first, rtol=1e-10, atol=1e-12)
    batch = fd.vmap(gradient)(np.stack([b, 1.0001 * b]))
    np.testing.assert_allclose(batch, [first, gradient(1.0001 * b)], rtol=1e-10, atol=1e-12)
    hessian = fd.hessian(f)(b)
    np.testing.assert_allclose(hessian, differences(gradient, b), rtol=1e-4, atol=1e-4)
