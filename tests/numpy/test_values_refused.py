"""What NumPy refuses for its values is refused where a trace has none, too: when it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.scipy.interpolate import make_smoothing_spline
from funcdiff.scipy.linalg import solve_circulant
from funcdiff.scipy.spatial.distance import minkowski
from tests.together import together

Function = Callable[[Any], Any]

X: Final = np.array([1.0, 2.0, 4.0])
NAN: Final = np.full(3, np.nan)
CASES: Final[dict[str, tuple[Function, Any, Any]]] = {
    "nanargmin": (np.nanargmin, np.array([np.nan, 2.0, 1.0]), NAN),
    "nanargmax of rows": (lambda x: np.nanargmax(np.stack([X, x]), 1), X, NAN),
    "average": (lambda w: np.average(X, weights=w), X, np.array([1.0, 1.0, -2.0])),
    "geomspace": (lambda x: np.geomspace(x[0], x[1], 4), X, np.array([1.0, 0.0, 1.0])),
    "quantile": (lambda q: np.quantile(X, q / 4), X, X + 1),
    "percentile": (lambda q: np.percentile(X, q), X, -X),
    "weights of a quantile": (
        lambda w: np.quantile(X, 0.3, weights=w, method="inverted_cdf"), X, X - 2,
    ),
    "weights that sum to nothing": (
        lambda w: np.quantile(X, 0.3, weights=w, method="inverted_cdf"), X, 0 * X,
    ),
    "frequencies": (lambda w: np.cov(X, fweights=np.floor(w)), X, X - 3),
    "bins": (lambda b: np.histogram(X, bins=b)[0], X, X[::-1]),
    "range": (lambda b: np.histogram(b, bins=3, range=(b[0], b[1]))[1], X, -X),
    "infinite samples": (lambda x: np.histogram(x, bins=3)[1], X, X * np.inf),
    "positions": (lambda x: fnp.unravel_index(fnp.floor(x).astype(int), (2, 3))[1], X, X * 3),
    "coordinates": (lambda x: fnp.ravel_multi_index((fnp.floor(x).astype(int),), (5,)), X, X * 3),
    "circulant": (lambda c: solve_circulant(c, X), X, np.ones(3)),
    "a power of distances": (lambda p: minkowski(X, 2 * X, p[0]), X, -X),
    "a penalty": (
        lambda p: make_smoothing_spline(np.arange(6.0), np.arange(6.0) ** 3, lam=p[0])(2.5), X, -X,
    ),
}  # fmt: skip
WAYS: Final[dict[str, Callable[[Function], Function]]] = {
    "as it is": lambda f: lambda x: fd.jvp(f, (x,), (x,))[0],
    "jit": fd.jit,
    "vmap": lambda f: lambda x: fd.vmap(f)(np.stack([x, x]))[0],
    "jit of vmap": lambda f: lambda x: fd.jit(fd.vmap(f))(np.stack([x, x]))[1],
    "scan": lambda f: lambda x: fd.scan(lambda c, y: (c, f(y)), 0.0, np.stack([x, x]))[1][1],
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@together
@pytest.mark.parametrize("name", CASES)
def test_an_error_for_values_is_numpys_in_every_way(
    name: str, way: Callable[[Function], Function]
) -> None:
    f, good, bad = CASES[name]
    transformed = way(f)
    with np.errstate(all="ignore"):
        try:
            f(bad)
        except Exception as error:
            expected = type(error)
        for _ in range(2):
            np.testing.assert_allclose(transformed(good), f(good), rtol=1e-14)
            with pytest.raises(expected):
                transformed(bad)


def test_one_example_of_many_is_refused_as_in_a_loop() -> None:
    rows = np.array([[1.0, np.nan], [np.nan, np.nan]])
    with pytest.raises(ValueError, match="All-NaN slice"):
        fd.vmap(np.nanargmin)(rows)


def test_an_error_for_values_is_caught_under_jit_where_it_is_caught_without() -> None:
    @fd.jit
    def f(x: Any) -> Any:
        try:
            return np.nanargmin(x) * x[0]
        except ValueError:
            return -1.0

    for x in (X, NAN, X[::-1].copy(), NAN):
        assert f(x) == f.__wrapped__(x)


def test_a_derivative_by_what_may_be_refused_is_that_of_the_value() -> None:
    def f(w: Any) -> Any:
        return np.average(X, weights=w)

    found = fd.jit(fd.grad(f))(X)
    np.testing.assert_allclose(found, (X - f(X)) / X.sum(), rtol=1e-14)
    np.testing.assert_allclose(fd.jit(fd.hessian(f))(X), fd.hessian(f)(X), rtol=1e-12)
