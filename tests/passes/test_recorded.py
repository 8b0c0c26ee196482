"""Long programs are differentiated, and compiled, after what is repeated in them became loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.passes import recorded as module
from funcdiff.pytree import flatten_with_paths
from tests.passes.test_rolling import FUNCTIONS, arguments, random_loop, recursion

CALLS = 8


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    fd.clear_caches()


def differentiated(f: Callable[..., Any]) -> list[Any]:
    """Return values and derivatives of a function, of both modes and of second order."""
    xs = arguments()
    ts = [np.cos(np.arange(x.size)).reshape(x.shape) for x in xs]
    gradient = fd.grad(f, argnums=(0, 1))
    y, pull = fd.vjp(f, *xs)
    compiled = fd.jit(fd.value_and_grad(f, argnums=(0, 1)))
    return [
        y,
        pull(np.float64(2.0)),
        gradient(*xs),
        fd.jvp(f, tuple(xs), tuple(ts)),
        fd.jvp(gradient, tuple(xs), tuple(ts))[1],
        fd.jacobian(f, argnums=(0, 1))(*xs),
        fd.vmap(gradient)(*(np.stack([x, x[::-1]]) for x in xs)),
        fd.jit(f)(*xs),
        [compiled(*xs) for _ in range(CALLS)],
    ]


def flattened(tree: Any) -> list[Any]:
    """Return the leaves."""
    return [leaf for _, leaf in flatten_with_paths(tree)[0]]


def require_the_same(f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that with loops there are the same values and derivatives as without."""
    fd.clear_caches()
    expected = flattened(differentiated(f))
    monkeypatch.setattr(module, "LONG", 10)
    fd.clear_caches()
    found = flattened(differentiated(f))
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives_of_loops_are_those_of_what_they_replace(
    f: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_the_same(f, monkeypatch)


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(24))
def test_so_it_is_with_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    require_the_same(random_loop(np.random.default_rng(seed)), monkeypatch)


def test_a_long_program_becomes_short() -> None:
    xs = arguments(length=module.LONG // 3)
    assert len(fd.trace(fd.grad(recursion))(*xs).equations) < 30
