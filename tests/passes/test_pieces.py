"""Slices of an array are worked on one by one, and put together again: with and without jit."""

from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd


@pytest.mark.parametrize("n", [2, 3, 20, 40, 100])
def test_a_loop_over_neighbours_has_ends(n: int) -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(x) - 1):
            total = total + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
        return total

    x = np.random.default_rng(n).normal(size=n)
    gradient = fd.jit(fd.grad(f))
    for _ in range(9):
        np.testing.assert_allclose(gradient(x), fd.grad(f)(x), rtol=1e-13, atol=1e-12)


def test_what_is_used_between_is_kept() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[:2] += x[:2]
        halfway = y.copy()
        y[2:] += x[2:]
        return halfway, y

    x = np.arange(1.0, 5.0)
    halfway, y = fd.jit(f)(x)
    assert np.array_equal(halfway, [1.0, 2.0, 0.0, 0.0])
    assert np.array_equal(y, x)


def step(random: Random, made: list[Any]) -> list[Any]:
    """Return what a random step makes of arrays: it cuts, turns, computes, joins or adds."""
    x = random.choice(made[-6:])
    if not x.ndim:
        return [np.sin(x), x[None]]
    axis = random.randrange(x.ndim)
    at, around = (slice(None),) * axis, x.shape[:axis] + x.shape[axis + 1 :]
    first, second = sorted(random.randint(0, x.shape[axis]) for _ in range(2))
    ends = [0, first, second, x.shape[axis]]
    boxes = [(*at, slice(*pair)) for pair in pairwise(ends)]
    like = random.choice([y for y in made if y.shape == x.shape])
    longer, moved = np.concatenate([x, like], axis), random.randint(0, x.shape[axis])
    moves = [random.choice([moved, moved, 0]) + box[axis].start for box in boxes]
    others = [
        longer[(*at, slice(start, start + box[axis].stop - box[axis].start))]
        for start, box in zip(moves, boxes, strict=True)
    ]
    match random.choice(["apply", "apply", "pair", "take", "turn", "join", "add", "nest"]):
        case "apply":
            return [np.sin(x[box]) * 2.0 for box in boxes]
        case "pair":
            return [x[box] * other for box, other in zip(boxes, others, strict=True)]
        case "take":
            return [np.sin(x[(*at, k)]) for k in range(x.shape[axis])]
        case "turn":
            return [x.T, x[(*at, slice(None, None, random.choice([-1, 2])))]]
        case "join":
            fits = [y for y in made if y.shape[:axis] + y.shape[axis + 1 :] == around and y.ndim]
            fits = [y for y in fits if y.ndim == x.ndim] + [x[box] for box in boxes]
            return [np.concatenate(random.choices(fits, k=random.randint(1, 3)), axis)]
        case "add":
            total = random.choice([np.zeros_like(x), like * 1.0])
            for k in random.sample(range(3), random.randint(2, 3)):
                total[boxes[k]] += others[k]
            return [total]
    return [x[None]]


def wander(seed: int, *xs: Any) -> list[Any]:
    """Return what some random steps make of arrays, each of at most 40 elements."""
    random, made = Random(seed), list(xs)
    for _ in range(random.randint(2, 8)):
        made += [y for y in step(random, made) if y.size <= 40]
    return made[len(xs) :]


@pytest.mark.slow
@given(st.integers(0, 2**32), st.sampled_from([(4,), (3, 3), (2, 4), (3, 1), (0, 2)]))
def test_compiled_functions_compute_the_same(seed: int, shape: tuple[int, ...]) -> None:
    def total(*xs: Any) -> Any:
        return sum(np.sum(np.sin(y)) for y in wander(seed, *xs))

    xs = np.random.default_rng(seed).normal(size=(2, *shape))
    for f in (partial(wander, seed), fd.grad(total, argnums=(0, 1))):
        compiled = fd.jit(f)
        for _ in range(2):
            for x, y in zip(f(*xs), compiled(*xs), strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-13, atol=1e-13)
