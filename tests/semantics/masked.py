"""Functions that are unsafe somewhere, and what their masked derivatives are held against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import funcdiff as fd

Function = Callable[[Any], Any]

KEPT: Final = np.array([False, True, False, True])
WEIGHTS: Final = np.array([2.0, 3, 5, 7])
ROW: Final = np.array([3.0, 1, 2])
ROOTS: Final = [0.0, 4.0, -1.0, 1.0]
UNIT: Final = [1.0, 0.5, -2.0, 0.25]
ZEROS: Final = [0.0, 3.0, 0.0, 1.0]


def _rows(f: Function) -> Function:
    """Return the function of a row of √x that has one entry for each entry of x."""
    return lambda x: f(np.sqrt(x)[:, None] * ROW)


def _divided_in_place(x: Any) -> Any:
    y = x * 1.0
    y /= np.sqrt(x)
    return y


def _written(x: Any, values: Any) -> Any:
    y = x * 1.0
    y[[0, 1, 2, 3]] = values
    return y


UNSAFE: Final[dict[str, tuple[Function, list[float]]]] = {
    "sqrt": (np.sqrt, ROOTS),
    "log": (np.log, ROOTS),
    "log1p": (np.log1p, [-1.0, 0.5, -2.0, 3.0]),
    "1 / x": (lambda x: 1 / x, ZEROS),
    "x ** 0.5": (lambda x: x**0.5, ROOTS),
    "x ** -1": (lambda x: x**-1, ZEROS),
    "x ** -1.5": (lambda x: x**-1.5, ROOTS),
    "arcsin": (np.arcsin, UNIT),
    "arccos": (np.arccos, UNIT),
    "arctanh": (np.arctanh, UNIT),
    "arccosh": (np.arccosh, [1.0, 2.0, 0.0, 3.0]),
    "x * log(x)": (lambda x: x * np.log(x), ROOTS),
    "cbrt": (np.cbrt, ZEROS),
    "arctan2": (lambda x: np.arctan2(x, 0 * x), ZEROS),
    "hypot": (lambda x: np.sqrt(np.hypot(x, x)), ZEROS),
    "logaddexp": (lambda x: np.logaddexp(np.log(x), 0), ROOTS),
    "x ** x": (lambda x: np.power(x, x), ROOTS),
    "2 ** (1 / x)": (lambda x: 2.0 ** (1 / x), ZEROS),
    "sin(x) / x": (lambda x: np.sin(x) / x, ZEROS),
    "log(expm1)": (lambda x: np.log(np.expm1(x)), ROOTS),
    "exp(log) / sqrt": (lambda x: np.exp(3 * np.log(x)) / np.sqrt(x), ROOTS),
    "log(abs) of complex": (lambda x: np.log(np.abs(x + 1j * x)), ZEROS),
    "sqrt of complex": (lambda x: np.sqrt(x + 0j).real, ZEROS),
    "norm": (_rows(lambda y: np.linalg.norm(y, axis=1)), ROOTS),
    "std": (_rows(lambda y: np.std(y, axis=1)), ROOTS),
    "matmul": (_rows(lambda y: y @ ROW), ROOTS),
    "einsum": (_rows(lambda y: np.einsum("ij,j->i", y, ROW)), ROOTS),
    "fft": (_rows(lambda y: np.fft.rfft(y, axis=1).real[:, 1]), ROOTS),
    "cumsum": (_rows(lambda y: np.cumsum(y, axis=1)[:, 2]), ROOTS),
    "prod": (_rows(lambda y: np.prod(y, axis=1)), ROOTS),
    "max": (_rows(lambda y: np.max(y, axis=1)), ROOTS),
    "sort": (_rows(lambda y: np.sort(y, axis=1)[:, 0]), ROOTS),
    "median": (_rows(lambda y: np.median(y, axis=1)), ROOTS),
    "trapezoid": (_rows(lambda y: np.trapezoid(y, axis=1)), ROOTS),
    "gradient": (_rows(lambda y: np.gradient(y, axis=1)[:, 1]), ROOTS),
    "concatenate": (lambda x: np.concatenate([np.sqrt(x)[:2], np.log(x)[2:]]), ROOTS),
    "pad": (lambda x: np.pad(np.sqrt(x), 2, mode="edge")[2:-2], ROOTS),
    "roll": (lambda x: np.roll(np.roll(np.sqrt(x), 1), -1), ROOTS),
    "take": (lambda x: np.take(np.sqrt(x), [0, 1, 2, 3]), ROOTS),
    "clip": (lambda x: np.sqrt(np.clip(x, 0, 3)), [0.0, 2.0, -1.0, 1.0]),
    "in place": (_divided_in_place, ROOTS),
    "by index": (lambda x: _written(x, np.sqrt(x)), ROOTS),
}


def kept(u: Function, x: Any) -> Any:
    """Return the values of a function where they are kept, zeros elsewhere."""
    return np.where(KEPT, u(x), 0)


DERIVATIVES: Final[dict[str, Callable[[Function], Function]]] = {
    "grad": fd.grad,
    "jvp": fd.jacfwd,
    "grad of grad": lambda f: fd.jacrev(fd.grad(f)),
    "jvp of grad": lambda f: fd.jacfwd(fd.grad(f)),
    "grad of jvp": lambda f: fd.jacrev(fd.jacfwd(f)),
    "jvp of jvp": lambda f: fd.jacfwd(fd.jacfwd(f)),
    "vmap of grad": lambda f: lambda x: fd.vmap(fd.grad(f))(np.stack([x, x])),
    "a third grad": lambda f: fd.grad(lambda x: np.sum(fd.grad(
        lambda z: np.sum(fd.grad(f)(z) * WEIGHTS[:len(z)]))(x) * WEIGHTS[::-1][:len(x)])),
}  # fmt: skip


def weighted(mask: Callable[[Function, Any], Any], u: Function) -> Function:
    """Return the sum of what is masked, every entry with a weight of its own."""

    def f(x: Any) -> Any:
        y = mask(u, x)
        return np.sum(y * np.arange(1.0, 1 + np.size(y)).reshape(np.shape(y)))

    return f


def require_true_zeros(
    mask: Callable[[Function, Any], Any], u: Function, x: Any, *names: str
) -> None:
    """Compare derivatives with those of a function that is never evaluated where unsafe."""
    safe = x[KEPT][0]
    f = weighted(mask, u)
    never_unsafe = weighted(mask, lambda z: u(np.where(KEPT, z, safe)))
    for name in names or DERIVATIVES:
        derivative = DERIVATIVES[name]
        with np.errstate(all="ignore"):
            expected = derivative(never_unsafe)(x)
            found = derivative(f)(x)
        assert np.isfinite(expected).all()
        scale = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale, err_msg=name)
