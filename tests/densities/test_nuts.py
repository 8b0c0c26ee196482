"""The reference sampler: seeds, moments, places where the density is 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.densities.nuts import _Point, _Transition
from funcdiff.errors import InputError
from tests.densities.test_unconstrained import FEW, MEAN, PRECISION, make


def standardized(x: Any, mean: Any) -> Any:
    """Return errors of means in standard errors, by batches of 100 draws."""
    batches = x.reshape(-1, 100, *x.shape[2:]).mean(axis=1)
    return (batches.mean(axis=0) - mean) / (batches.std(axis=0, ddof=1) / np.sqrt(len(batches)))


@FEW
def test_equal_seeds_give_equal_draws_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    one, two, other = (
        make().sample(10, rng=seed, warmup=20, chains=2, progress=lambda *n: told.append(n))
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.vectors, two.vectors)
    assert not np.array_equal(one.vectors, other.vectors)
    assert not np.array_equal(one.vectors[0], one.vectors[1])
    assert one.params["x"].shape == (2, 10, 2)
    assert one.params["tau"].shape == one.logp.shape == (2, 10)
    assert told[59] == (60, 60)


@pytest.mark.slow
@FEW
def test_moments_are_those_of_the_density() -> None:
    draws = make().sample(500, rng=3, warmup=200, chains=2)
    assert not draws.diverging.any()
    assert np.all(np.abs(standardized(draws.params["x"], MEAN)) < 4.5)
    assert abs(standardized(draws.params["tau"], 1.5)) < 4.5


@FEW
@pytest.mark.slow
def test_second_moments_are_those_of_the_density() -> None:
    draws = make().sample(4000, rng=4, chains=4)
    x, tau = draws.params["x"], draws.params["tau"]
    outer = (x - MEAN)[..., :, None] * (x - MEAN)[..., None, :]
    assert np.all(np.abs(standardized(outer, np.linalg.inv(PRECISION))) < 4.5)
    assert abs(standardized((tau - 1.5) ** 2, 0.75)) < 4.5


@FEW
@pytest.mark.slow
def test_uniform_simplices_and_correlations_have_their_moments() -> None:
    params = {"w": np.full(3, 1 / 3), "L": np.eye(2), "u": 0.5}
    bounds = {"w": "simplex", "L": "correlation_cholesky", "u": (0, 1)}
    draws = fd.density(lambda _: 0.0, params, bounds).sample(4000, rng=5, chains=4)
    assert np.all(np.abs(standardized(draws.params["w"], 1 / 3)) < 4.5)
    assert np.all(np.abs(standardized(draws.params["w"] ** 2, 1 / 6)) < 4.5)
    assert abs(standardized(draws.params["u"] ** 2, 1 / 3)) < 4.5
    assert abs(standardized(draws.params["L"][..., 1, 0] ** 2, 1 / 3)) < 4.5


def normal(z: Any) -> tuple[float, Any]:
    return -0.5 * float(z @ z), -z


def moved(size: int, step: float, count: int) -> Any:
    """Return independent normal vectors, each after one transition."""
    rng, found = np.random.default_rng(7), []
    for z in rng.normal(size=(count, size)):
        start = _Point(z, z, *normal(z))
        found.append(_Transition(normal, rng, np.full(size, step)).run(start).z)
    return np.array(found)


def assert_still_normal(z: Any) -> None:
    """Compare the mean of squares, of which the variance is 2, and of products, where it is 1."""
    assert abs(np.mean(z**2) - 1) < 4.5 * np.sqrt(2 / z.size)
    assert abs(np.mean(z)) < 4.5 * np.sqrt(1 / z.size)


def test_transitions_leave_the_density_as_it_is() -> None:
    assert_still_normal(moved(3, 0.5, 5000))
    assert_still_normal(moved(2, 1.5, 1000))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "step"), [(1, 1.6), (2, 1.2), (3, 0.5), (4, 1.4), (30, 0.7)])
def test_transitions_with_steps_of_every_kind_leave_the_density_as_it_is(
    size: int, step: float
) -> None:
    assert_still_normal(moved(size, step, 60_000))


def steps_by_hand(z: Any, momentum: Any, step: float, seen: list[Any]) -> int:
    """Return how many steps a trajectory takes by the definition; `seen` tells its directions."""
    places = {0: (z, momentum)}
    for sign in (1, -1):
        at, p = z, momentum
        for k in range(1, 200):
            half = p - 0.5 * sign * step * at
            at = at + sign * step * half
            p = half - 0.5 * sign * step * at
            places[sign * k] = at, p

    def comes_back(low: int, high: int) -> bool:
        along = sum(places[k][1] for k in range(low, high + 1))
        return bool(min(places[low][1] @ along, places[high][1] @ along) <= 0)

    def turns(low: int, high: int) -> bool:
        middle = (low + high) // 2
        return any(map(comes_back, (low, low, middle), (high, middle + 1, high)))

    low = high = steps = 0
    for depth in range(7):
        onward = np.allclose(seen[steps], places[high + 1][0], rtol=1e-9)
        for count in range(1, 2**depth + 1):
            steps += 1
            for width in (2**k for k in range(1, depth + 1) if count % 2**k == 0):
                last = high + count if onward else low - count + width - 1
                if turns(last - width + 1, last):
                    return steps
        low, high = (low, high + 2**depth) if onward else (low - 2**depth, high)
        if turns(low, high):
            break
    return steps


def test_trajectories_end_where_the_definition_of_turns_says() -> None:
    rng, lengths = np.random.default_rng(5), set()
    for seed in range(200):
        z, step, seen = rng.normal(size=2), float(rng.uniform(0.1, 1.9)), list[Any]()

        def watched(z: Any, seen: list[Any] = seen) -> tuple[float, Any]:
            seen.append(z)
            return normal(z)

        own = np.random.default_rng(seed)
        move = _Transition(watched, own, np.array([step, step]))
        move.run(_Point(z, z, *normal(z)))
        momentum = np.random.default_rng(seed).normal(size=2)
        assert move.steps == len(seen) == steps_by_hand(z, momentum, step, seen)
        lengths.add(move.steps)
    assert len(lengths) > 5


@FEW
def test_pointwise_has_an_axis_for_observations() -> None:
    data = np.array([0.0, 1.0, 3.0])
    d = fd.density(lambda m: -0.5 * np.sum((data - m) ** 2), 0.0)
    draws = d.sample(5, rng=0, warmup=20, chains=2)
    found = d.pointwise(lambda m: -0.5 * (data - m) ** 2, draws)
    expected = -0.5 * (data - draws.params[..., None]) ** 2
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_samplers_refuse_what_they_cannot_start_from() -> None:
    with pytest.raises(InputError, match="Start where the density is positive"):
        fd.density(lambda x: np.where(x > 1e6, 0.0, -np.inf), 0.0).sample(5, rng=0)
    with pytest.raises(InputError, match="do not make a sampler"):
        make().sample(0, rng=0)
