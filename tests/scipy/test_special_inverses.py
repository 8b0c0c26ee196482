"""Inverses of distribution functions in their parameters: exact slopes, and none where none is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special as S  # noqa: N812

import funcdiff as fd
from funcdiff.scipy import stats
from tests.together import together

_NORMAL = 1 / np.sqrt(2 * np.pi)

SLOPES: dict[tuple[str, tuple[float, ...]], tuple[float, ...]] = {
    ("stdtridf", (0.83, 1.1)): (113.1130174214615, -21.61023338630568),
    ("fdtridfd", (3.2, 0.55, 1.2)): (0.555994605102097, 29.41044803821972, -7.753352143888564),
    ("nrdtrisd", (0.3, 0.8, 1.1)): (-1.18818294989389, -4.034202138239571, 1.18818294989389),
    ("nrdtrimn", (0.5, 2.0, 1.0)): (-2 * np.sqrt(2 * np.pi), 0.0, 1.0),
    ("gdtria", (0.3, 1.0, 2.0)): (0.7142857142857143, 0.330961814118234, np.log(0.7) / 4),
    ("chndtrix", (0.3, 2.7, 1.4)): (6.053066200484146, 0.8384316693023321, 0.5996169856886795),
    ("chndtridf", (3.0, 0.45, 1.2)): (1.014998467270748, -6.991790280859353, -0.8403409744255109),
    ("chndtrinc", (2.4, 3.1, 0.3)): (1.576594347900211, -1.34407300914931, -10.72089107234423),
    ("nctdtrit", (3.0, 1.0, 0.4)): (-0.01843634925805712, 1.060369938389764, 2.877149184393769),
    ("nctdtrinc", (3.0, 0.4, 0.8)): (0.01739246537259048, -2.713430055667486, 0.9430718307822065),
}
"""Call -> its partial derivatives, with mpmath."""


@together
@pytest.mark.thinned(4)
@pytest.mark.parametrize("call", SLOPES, ids=str)
def test_slopes_are_those_of_the_implicit_function(call: tuple[str, tuple[float, ...]]) -> None:
    name, point = call
    places = tuple(range(len(point)))
    for derivative in (fd.grad, fd.jacfwd):
        slopes: Any = derivative(getattr(S, name), argnums=places)(*point)
        np.testing.assert_allclose(slopes, SLOPES[call], rtol=1e-8, atol=1e-12)


@together
@pytest.mark.thinned(4)
@pytest.mark.parametrize(("name", "point"), [
    ("stdtridf", (0.9, 1.2)),  # SciPy gives 1e10
    ("fdtridfd", (3.0, 0.9, 1.2)),  # 1e100
    ("bdtrik", (0.01, 10.0, 0.3)),  # 0
    ("pdtrik", (0.1, 2.0)),  # 0
    ("ncfdtridfn", (0.35, 4.4, 1.4, 1.3)),  # 1e-100
    ("nctdtridf", (0.2, 1.0, -0.8)),  # -1e100
    ("nrdtrimn", (0.5, -2.0, 1.0)),  # nan
])  # fmt: skip
def test_there_is_no_derivative_where_no_parameter_is_a_solution(name: str, point: Any) -> None:
    assert np.isnan(fd.grad(getattr(S, name), argnums=tuple(range(len(point))))(*point)).all()


def test_inverses_take_arrays_of_any_shape_and_of_single_precision() -> None:
    shares = np.array([[0.2], [0.7]], np.float32)
    rates = np.array([0.5, 1.5, 2.5], np.float32)
    slopes = fd.grad(lambda p, x: np.sum(S.chdtriv(p, x)), argnums=(0, 1))(shares, rates)
    assert [(s.shape, s.dtype) for s in slopes] == [((2, 1), np.float32), ((3,), np.float32)]
    each = fd.vmap(fd.vmap(fd.grad(S.chdtriv), (None, 0)), (0, None))(shares[:, 0], rates)
    np.testing.assert_allclose(np.sum(each, axis=1), slopes[0][:, 0], rtol=1e-5)
    assert fd.grad(lambda p: np.sum(S.chdtriv(p, 1.0)))(np.zeros(0)).shape == (0,)


@pytest.mark.parametrize(("name", "point", "expected"), [
    ("chndtr", (0.0, 2.0, 1.0), (np.exp(-0.5) / 2, 0, 0)),
    ("chndtr", (0.0, 1.0, 1.0), (np.inf, 0, 0)),
    ("chndtr", (np.inf, 2.0, 1.0), (0, 0, 0)),
    ("chndtr", (2.0, -1.0, 1.0), (np.nan, np.nan, np.nan)),
    ("ncfdtr", (2.0, 3.0, 1.0, 0.0), (0, 0, 0, np.exp(-0.5))),
    ("ncfdtr", (1.0, 3.0, 1.0, 0.0), (0, 0, 0, np.inf)),
    ("ncfdtr", (2.0, 3.0, 1.0, np.inf), (0, 0, 0, 0)),
    ("ncfdtr", (2.0, 3.0, 1.0, -1.0), (np.nan, np.nan, np.nan, np.nan)),
    ("nctdtr", (np.inf, 1.0, 2.0), (0, -_NORMAL * np.exp(-0.5), _NORMAL * np.exp(-0.5))),
    ("nctdtr", (3.0, 0.0, 0.0), (0, -_NORMAL, 2 / np.sqrt(3) / np.pi)),
    ("nctdtr", (3.0, 1.0, np.inf), (0, 0, 0)),
    ("nctdtr", (3.0, 1.0, -np.inf), (0, 0, 0)),
    ("nctdtr", (-1.0, 1.0, 2.0), (np.nan, np.nan, np.nan)),
])  # fmt: skip
def test_noncentral_slopes_on_the_boundary(name: str, point: Any, expected: Any) -> None:
    places = tuple(range(len(point)))
    for derivative in (fd.grad, fd.jacfwd):
        slopes: Any = derivative(getattr(S, name), argnums=places)(*point)
        np.testing.assert_allclose(slopes, expected, rtol=1e-14)


def test_noncentral_slopes_without_noncentrality_are_those_of_the_central_function() -> None:
    x, k = np.array([[0.3], [4.0], [30.0]]), np.array([0.7, 5.2])
    slopes = fd.grad(lambda x, k: np.sum(S.chndtr(x, k, 0.0)), argnums=(0, 1))(x, k)
    central = fd.grad(lambda x, k: np.sum(S.chdtr(k, x)), argnums=(0, 1))(x, k)
    for found, expected in zip(slopes, central, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert fd.grad(lambda x: np.sum(S.chndtr(x, 2.0, 1.0)))(np.zeros((0, 3))).shape == (0, 3)
    many = fd.grad(lambda x: np.sum(S.chndtr(x, 2.0, 1.0)))(np.full(1100, 0.4))
    np.testing.assert_array_equal(many, many[0])


def test_slopes_of_the_noncentral_t_distribution_are_reflected_and_those_of_its_kind_in_stats() -> (
    None
):
    df, nc, t = np.array([[0.3], [5.0], [900.0]]), 1.2, np.array([-3.0, 0.4, 0.0, 2.5])
    slopes = fd.grad(lambda *xs: np.sum(S.nctdtr(*xs)), argnums=(0, 1, 2))(df, nc, t)
    turned = fd.grad(lambda *xs: np.sum(S.nctdtr(*xs)), argnums=(0, 1, 2))(df, -nc, -t)
    for sign, found, expected in zip((-1, 1, 1), turned, slopes, strict=True):
        np.testing.assert_allclose(sign * found, expected, rtol=1e-13)
    tails = fd.grad(lambda *xs: np.sum(stats.nct.sf(*xs)), argnums=(1, 2, 0))(t, df, nc)
    for found, expected in zip(tails, slopes, strict=True):
        np.testing.assert_allclose(-found, expected, rtol=1e-13)
    central = fd.grad(lambda df, t: np.sum(S.stdtr(df, t)), argnums=(0, 1))(df, t)
    found = fd.grad(lambda df, t: np.sum(S.nctdtr(df, 0.0, t)), argnums=(0, 1))(df, t)
    for each, expected in zip(found, central, strict=True):
        np.testing.assert_allclose(each, expected, rtol=1e-12, atol=1e-17)


@together
@pytest.mark.thinned(4)
@pytest.mark.parametrize(("name", "point", "places"), [
    ("gammaincinv", (1.7, 0.0), (0,)),
    ("gammainccinv", (0.6, 1.0), (0,)),
    ("betaincinv", (1.7, 2.3, 0.0), (0, 1)),
    ("betaincinv", (0.7, 2.3, 1.0), (0, 1)),
    ("betainccinv", (1.7, 2.3, 0.0), (0, 1)),
    ("chdtri", (3.0, 1.0), (0,)),
    ("fdtri", (5.0, 3.0, 0.0), (0, 1)),
    ("gdtria", (0.0, 1.7, 2.0), (1, 2)),
    ("gdtria", (0.0, 0.6, 2.0), (1, 2)),
    ("gdtrix", (2.0, 1.7, 0.0), (0, 1)),
    ("chndtrix", (0.0, 3.0, 1.0), (1, 2)),
])  # fmt: skip
def test_an_end_of_the_support_does_not_move(
    name: str, point: tuple[float, ...], places: tuple[int, ...]
) -> None:
    function = getattr(S, name)
    assert not np.any(fd.grad(function, argnums=places)(*point))
    assert not np.any(fd.hessian(function, argnums=places)(*point))
