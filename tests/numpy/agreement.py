"""What the tables of NumPy calls are held against: NumPy's values and central differences."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

Function = Callable[..., Any]


class Default:
    """Up to which order derivatives are held against differences, as `tests/conftest.py` sets it.

    It is known whether a test has asked for it.
    """

    highest = 2
    is_asked = False

    @property
    def order(self) -> int:
        """The order."""
        self.is_asked = True
        return self.highest


default = Default()
Calls = Sequence[tuple[str, Function, tuple[Any, ...]]]
"""Names, functions, and what they are called with."""


def each_of(calls: Calls) -> pytest.MarkDecorator:
    """Run a test of ``f`` and ``args`` once for each of the calls."""
    names = [name for name, *_ in calls]
    return pytest.mark.parametrize(("f", "args"), [call for _, *call in calls], ids=names)


def value_under_trace(f: Function, *args: Any) -> Any:
    """Return what `f` computes while its floating arguments are traced."""
    traced, call = _floating(f, args)
    return fd.vjp(lambda *xs: (0.0 * np.sum(np.real(xs[0])), call(*xs)), *traced, has_aux=True)[2]


def assert_value(f: Function, *args: Any, digits: int | None = None) -> None:
    """Assert that a traced call gives NumPy's values, shapes and dtypes, bit for bit.

    If `digits` is given, values may differ from then on; in single precision after half as many.
    """
    for share, given in ((1.0, args), (0.5, tuple(map(_single, args)))):
        expected, found = _leaves(f(*given)), _leaves(value_under_trace(f, *given))
        assert len(found) == len(expected)
        for y, z in zip(found, expected, strict=True):
            assert np.shape(y) == np.shape(z)
            assert np.asarray(y).dtype == np.asarray(z).dtype
            tolerance = 0.0 if digits is None else 0.1 ** (share * digits)
            np.testing.assert_allclose(y, z, rtol=tolerance, atol=tolerance)


def assert_derivatives(
    f: Function, *args: Any, order: int | None = None, tolerance: float = 1e-6
) -> None:
    """Assert both modes, by central differences and by ``<v, J t> == <J^T v, t>``; then again.

    Unless an order is given it is 1 by default, and 2 where slow tests run.
    """
    order = default.order if order is None else order
    xs, call = _floating(f, args)
    random = np.random.default_rng(len(xs) + order)
    ts = [_noise(random, x) for x in xs]

    def flat(*xs: Any) -> Any:
        leaves = [y for y in _leaves(call(*xs)) if y.dtype.kind in "fc"]
        return np.concatenate([np.ravel(y) for y in leaves])

    y, tangent = fd.jvp(flat, tuple(xs), tuple(ts))
    h = 1e-5
    ahead, behind = (
        flat(*(x + s * h * t for x, t in zip(xs, ts, strict=True))) for s in (1.0, -1.0)
    )
    np.testing.assert_allclose(tangent, (ahead - behind) / (2 * h), rtol=tolerance, atol=tolerance)
    v = _noise(random, y)
    cts = fd.vjp(flat, *xs)[1](v)
    left = np.real(np.vdot(v, tangent))
    right = sum(np.real(np.vdot(ct, t)) for ct, t in zip(cts, ts, strict=True))
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)
    assert [(ct.shape, ct.dtype) for ct in cts] == [(x.shape, x.dtype) for x in xs]
    if order > 1:
        assert_derivatives(lambda *xs: fd.vjp(flat, *xs)[1](v), *xs, order=1, tolerance=tolerance)


def _floating(f: Function, args: Sequence[Any]) -> tuple[list[Any], Function]:
    """Return the floating arguments, and `f` as a function of them alone."""
    places = [k for k, x in enumerate(args) if _is_floating(x)]

    def call(*xs: Any) -> Any:
        given = list(args)
        for k, x in zip(places, xs, strict=True):
            given[k] = x
        return f(*given)

    return [args[k] for k in places], call


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _single(x: Any) -> Any:
    """Return a double precision array as a strided one of single precision."""
    if not _is_floating(x):
        return x
    wide = np.repeat(x.astype("f4" if x.dtype.kind == "f" else "c8"), 2).reshape(*x.shape, 2)
    return wide[..., 0][()]


def _is_floating(x: Any) -> bool:
    return isinstance(x, np.ndarray | np.generic) and x.dtype.kind in "fc"


def _noise(random: np.random.Generator, x: Any) -> Any:
    x = np.asarray(x)
    noise = random.normal(size=x.shape)
    return noise + 1j * random.normal(size=x.shape) if x.dtype.kind == "c" else noise
