"""Functions whose derivatives are integrals, sums or eigenvectors: digits, edges, modes, orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special as S  # noqa: N812

import funcdiff as fd
from funcdiff.testing import check_grads

DIGITS: dict[tuple[Any, ...], tuple[float, float]] = {
    ("elliprf", 0, 1.3, 2.1, 0.7): (-0.11423497766533787, 0.079851300585892026),
    ("elliprf", 0, 1.0, 1.0, 1.0): (-0.16666666666666667, 0.15),
    ("elliprf", 1, 0.001, 1000.0, 2.0): (-5.4964117229330353e-5, 7.4603869273857403e-8),
    ("elliprc", 1, 1.0, 1.000000001): (-0.3333333329333333, 0.39999999914285707),
    ("elliprd", 2, 1.0, 2.0, 2.0): (-0.20035940073319402, 0.18304041819415421),
    ("elliprd", 0, 1e-08, 3.0, 200000000.0): (-3.0616854119512675e-9, 0.15309310841369716),
    ("elliprj", 3, 1.0, 1.0, 2.0, 2.0): (-0.16924702690571274, 0.12636201945546122),
    ("elliprj", 0, 1.3, 2.1, 0.7, 0.9): (-0.2064613488036672, 0.17534530361956178),
    ("elliprg", 1, 1.0, 1.0, 1.0): (0.16666666666666667, -0.05),
}
"""Name, number of an argument and arguments -> the derivatives by it, with mpmath."""


@pytest.mark.parametrize("entry", DIGITS, ids=str)
def test_both_derivatives_have_all_digits(entry: tuple[Any, ...]) -> None:
    name, k, *point = entry
    slope, bend = DIGITS[entry]

    def f(x: Any) -> Any:
        return getattr(S, name)(*point[:k], x, *point[k + 1 :])

    for found in (fd.grad(f), fd.jacfwd(f), fd.jit(fd.grad(f))):
        np.testing.assert_allclose(found(point[k]), slope, rtol=1e-13)
    np.testing.assert_allclose(fd.grad(fd.grad(f))(point[k]), bend, rtol=1e-12)
    batch = fd.vmap(fd.grad(f))(np.full(2, point[k]))
    np.testing.assert_allclose(batch, [slope, slope], rtol=1e-13)
    assert fd.vmap(fd.grad(f))(np.ones(0)).shape == (0,)


@pytest.mark.parametrize("name", ["elliprc", "elliprd", "elliprf", "elliprg", "elliprj"])
def test_carlsons_integrals_have_all_derivatives(name: str) -> None:
    function, count = getattr(S, name), getattr(S, name).nin
    rows = [np.array([0.7, 1.9]) + 0.4 * k for k in range(count)]
    check_grads(function, rows, order=2)
    singles = [row.astype(np.float32) for row in rows]
    slopes = fd.grad(lambda *xs: np.sum(function(*xs)), argnums=tuple(range(count)))
    for single, double in zip(slopes(*singles), slopes(*rows), strict=True):
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, double, rtol=1e-5)
    if name != "elliprj":
        check_grads(function, [row[0] + (k - 0.7) * 1j for k, row in enumerate(rows)], order=2)


def test_carlsons_integrals_at_a_boundary_and_beyond_a_pole() -> None:
    assert fd.grad(S.elliprf)(0.0, 1.0, 2.0) == -np.inf
    assert fd.grad(S.elliprf)(np.inf, 1.0, 2.0) == 0
    assert np.isnan(fd.grad(S.elliprf)(-1.0, 1.0, 2.0))
    at_zero = fd.grad(S.elliprg, argnums=(0, 1))(0.0, 1.0, 2.0)
    np.testing.assert_allclose(at_zero, (0.3277571942865145, 0.177989664944566), rtol=1e-13)
    check_grads(S.elliprc, (1.0, -2.0), order=2)
    check_grads(S.elliprj, (1.0, 2.0, 3.0, -1.5), order=2)
    principal = fd.grad(S.elliprc, argnums=(0, 1))(1.0, -2.0)
    np.testing.assert_allclose(principal, (0.10330450030825447, 0.14669549969174553), rtol=1e-13)
