"""An interrupt at any moment leaves the process whole, and the next call is right."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core import types
from funcdiff.core.origins import reader
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.running.memo import caches
from tests.core.interrupts import Moments

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""Of an interrupt in a generator that is being thrown away Python only tells."""

X: Final = np.array([0.5, 1.0, 2.0])
LARGE: Final = np.ones(200_000)
WARM: Final = 6
"""Calls after which a program is compiled."""


def loss(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total = total + np.sum(np.where(x > k, np.sin(x) ** 2, np.sqrt(x)))
    return total


def folded(x: Any) -> Any:
    return fd.scan(lambda c, t: (c * np.sin(t), c), 1.0, x)[0]


def looped(x: Any) -> Any:
    return fd.while_loop(lambda c: np.sum(c) < 9, lambda c: c * 2, x)


def captured(x: Any) -> Any:
    return np.sum(x * LARGE[:3]) * np.mean(LARGE)


def iterated(x: Any) -> Any:
    return np.sum(fd.fixed_point(lambda y: np.cos(x * y) / 2, x))


MAKERS: Final[dict[str, Callable[[], Callable[[], Any]]]] = {
    "grad": lambda: lambda: fd.grad(loss)(X),
    "hessian": lambda: lambda: fd.hessian(loss)(X),
    "vjp": lambda: lambda: fd.vjp(loss, X)[1](1.0)[0],
    "vmap": lambda: lambda: fd.vmap(fd.grad(lambda x: np.sin(x) * x))(X),
    "jit": lambda: _called(fd.jit(fd.grad(loss))),
    "jit of numbers": lambda: _called(fd.jit(lambda x: folded(x))),
    "scan": lambda: lambda: fd.grad(folded)(X),
    "while_loop": lambda: lambda: fd.jvp(looped, (X,), (X,))[1],
    "captured": lambda: lambda: fd.grad(captured)(X),
    "fixed_point": lambda: lambda: fd.grad(iterated)(X),
    "checkpoint": lambda: lambda: fd.grad(fd.checkpoint(loss))(X),
    "cost": lambda: lambda: fd.cost(loss)(X).flops,
}


def _called(f: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: f(X)


def require_whole() -> None:
    assert current_builder() is None
    assert reader.get() is None
    assert gc.isenabled()
    assert sys.getprofile() is None  # what was there takes itself away
    assert not types._lock.locked()
    assert np.geterr() == ERRORS
    assert sum(map(len, caches)) == sum(info.entries for info in fd.cache_info())
    assert all(cache.weight >= len(cache) for cache in caches)


ERRORS: Final = np.geterr()


def interrupted_at(
    make: Callable[[], Callable[[], Any]], share: Callable[[int], list[int]], calls: int
) -> None:
    """Interrupt a call after so many others at some of its moments, and call again."""
    expected = make()()

    def prepared() -> Callable[[], Any]:
        fd.clear_caches()
        run = make()
        for _ in range(calls):
            run()
        return run

    counter = Moments()
    counter.run(prepared())
    for moment in share(counter.count):
        run = prepared()
        with contextlib.suppress(KeyboardInterrupt):
            Moments(moment).run(run)
        require_whole()
        for _ in range(2):
            np.testing.assert_allclose(run(), expected, rtol=1e-13)
        require_whole()


@pytest.mark.thinned(36)
@pytest.mark.sampled(3)
@pytest.mark.parametrize("calls", [0, 1, WARM])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_interrupt_leaves_everything_whole(
    make: Callable[[], Callable[[], Any]], calls: int
) -> None:
    rng = np.random.default_rng(0)
    interrupted_at(make, lambda count: rng.integers(0, count, 4).tolist(), calls)


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("calls", [0, 1, WARM])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_so_does_an_interrupt_at_every_moment(
    make: Callable[[], Callable[[], Any]], calls: int
) -> None:
    def share(count: int) -> list[int]:
        return list(range(0, count, max(1, count // 20)))

    interrupted_at(make, share, calls)
