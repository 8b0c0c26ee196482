"""Derivatives of log densities and special functions where their own formulas cancel."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special as plain_special
from scipy import stats as plain_stats

import funcdiff as fd
from funcdiff.scipy import special, stats
from tests.scipy.freeze_scores import DENSITIES, FILE

ROWS = json.loads(FILE.read_text())


def _function(name: str, k: int, point: list[float], *, traced: bool = True) -> Any:
    """Return a function of the argument of that number."""
    if name in DENSITIES:
        found = getattr(stats if traced else plain_stats, name)
        function = found.logpmf if hasattr(found, "logpmf") else found.logpdf
    elif "." in name:
        distribution, method = name.split(".")
        function = getattr(getattr(stats if traced else plain_stats, distribution), method)
    elif name == "airye":
        airye = (special if traced else plain_special).airye
        return lambda z: airye(z)[int(point[0])]
    else:
        function = getattr(special if traced else plain_special, name)
    return lambda x: np.real(function(*point[:k], x, *point[k + 1 :]))


@pytest.mark.thinned(12)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}")
def test_both_derivatives_have_the_digits_that_mpmath_finds(row: Any) -> None:
    name, k, point, (slope, bend) = row
    f, at = _function(name, k, point), point[k]
    for found in (fd.grad(f), fd.jacfwd(f), fd.jit(fd.grad(f))):
        np.testing.assert_allclose(found(at), slope, rtol=1e-11)
    for found in (fd.grad(fd.grad(f)), fd.jacfwd(fd.jacfwd(f)), fd.jacfwd(fd.grad(f))):
        np.testing.assert_allclose(found(at), bend, rtol=1e-9, atol=1e-307)
    batch = fd.vmap(fd.grad(f))(np.full(3, at))
    np.testing.assert_allclose(batch, np.full(3, slope), rtol=1e-11)
    with np.errstate(over="ignore"):  # in formulas of SciPy's, to a power that is not used
        expected = _function(name, k, point, traced=False)(at)
    assert fd.jvp(f, (at,), (1.0,))[0] == expected


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_arrays_of_any_length_meet_shapes_of_another(length: int) -> None:
    x = np.linspace(0.2, 0.7, length)
    for name, parameters in (("t", (3.3,)), ("beta", (2.0, 1e9)), ("gamma", (1e8,))):
        logpdf = partial(getattr(stats, name).logpdf)

        def total(x: Any, *parameters: Any, logpdf: Any = logpdf) -> Any:
            return np.sum(logpdf(x, *parameters))

        numbers = tuple(range(len(parameters) + 1))
        found = fd.grad(total, argnums=numbers)(x, *parameters)
        single = [fd.grad(total, argnums=numbers)(number, *parameters) for number in x]
        np.testing.assert_allclose(found[0], [s[0] for s in single], rtol=1e-13)
        for k in numbers[1:]:
            np.testing.assert_allclose(found[k], sum(s[k] for s in single), rtol=1e-13)
        column = [np.full((2, 1), p) for p in parameters]
        jitted = fd.jit(fd.grad(total, argnums=numbers))
        tables = [jitted(x, *column) for _ in range(9)]
        for table in (tables[0], tables[-1]):
            np.testing.assert_allclose(table[1], np.full((2, 1), found[1]), rtol=1e-13)
        mapped = fd.vmap(fd.grad(total, argnums=numbers), in_axes=(None, *([0] * len(column))))
        rows = mapped(x, *(c[:, 0] for c in column))
        np.testing.assert_allclose(rows[1], np.full(2, found[1]), rtol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gamma", "t", "betabinom", "johnsonsu", "exponnorm"])
def test_nestings_engines_and_values_agree(name: str) -> None:
    x = np.array([1.0, 2.0, 4.0])
    shapes = {"gamma": (2.5,), "t": (3.5,), "betabinom": (7.0, 1.3, 2.5), "johnsonsu": (0.3, 1.4),
              "exponnorm": (0.8,)}[name]  # fmt: skip
    found = getattr(stats, name)
    log_density = found.logpmf if hasattr(found, "logpmf") else found.logpdf
    first = len(shapes) - {"betabinom": 2}.get(name, len(shapes))

    def f(v: Any) -> Any:
        return np.sum(np.sin(log_density(x, *shapes[:first], *v)))

    v = np.array(shapes[first:])
    hessian = fd.hessian(f)(v)
    others = (
        fd.jacfwd(fd.jacfwd(f)), fd.jacrev(fd.grad(f)), fd.jit(fd.hessian(f)),
        fd.jit(fd.hessian(f), engine="llvm"),
    )  # fmt: skip
    for other in others:
        np.testing.assert_allclose(other(v), hessian, rtol=1e-11)
    step = 1e-5 * np.eye(len(v))
    differences = [(fd.grad(f)(v + h) - fd.grad(f)(v - h)) / 2e-5 for h in step]
    np.testing.assert_allclose(differences, hessian, rtol=1e-6, atol=1e-8)
    third = fd.jacfwd(fd.hessian(f))(v)
    differences = [(fd.hessian(f)(v + h) - fd.hessian(f)(v - h)) / 2e-5 for h in step]
    np.testing.assert_allclose(np.moveaxis(third, -1, 0), differences, rtol=1e-6, atol=1e-8)


def test_single_precision_at_large_arguments() -> None:
    for name in ("i0e", "k1e"):
        slope = fd.grad(getattr(special, name))
        assert slope(np.float32(1e6)).dtype == np.float32
        np.testing.assert_allclose(slope(np.float32(1e6)), slope(1e6), rtol=1e-6)
