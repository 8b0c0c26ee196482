"""Effects of opaque functions happen once, also where something fails after them, or in them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd

X: Final = np.ones(3)


class Device:
    """Code with effects, which may fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails = False
        self.function = fd.primitive(self._run, result=lambda x: x)

        def rule(primals: Any, tangents: Any) -> Any:
            return self.function(primals[0]), tangents[0] * primals[0]

        self.function.defjvp(rule)

    def _run(self, x: Any) -> Any:
        self.calls += 1
        if self.fails:
            raise OSError("the disk is full")
        return np.asarray(x) * 2

    def __call__(self, x: Any) -> Any:
        return self.function(x)


def fails_later(x: Any) -> Any:
    """Raise when it is run, for the matrix is singular."""
    return np.linalg.inv(np.reshape(x * 0, (1, 1)))[0, 0]


def summed(f: Any) -> Any:
    def g(x: Any) -> Any:
        return np.sum(f(x))

    return g


def looped(f: Any) -> Any:
    return lambda x: fd.scan(lambda c, x: (c + f(x), c), 0.0, x)


RUNS: Final[dict[str, Callable[[Callable[[Any], Any]], Callable[[], Any]]]] = {
    "jit": lambda f: partial(fd.jit(f), X),
    "jit of a number": lambda f: partial(fd.jit(f), 2.0),
    "jit of a container": lambda f: partial(fd.jit(lambda p: f(p[0])), [X]),
    "jvp": lambda f: partial(fd.jvp, f, (X,), (X,)),
    "value_and_grad": lambda f: partial(fd.value_and_grad(summed(f)), X),
    "vjp": lambda f: partial(fd.vjp, f, X),
    "evaluate": lambda f: partial(fd.evaluate, fd.trace(f)(X), [X]),
    "scan": lambda f: partial(looped(f), X[:1]),
    "jit of scan": lambda f: partial(fd.jit(looped(f)), X[:1]),
    "jit of cond": lambda f: partial(fd.jit(lambda x: fd.cond(np.sum(x) > 0, f, f, x)), X),
    "checkpoint": lambda f: partial(fd.jvp, fd.checkpoint(f), (X,), (X,)),
}


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_an_opaque_function_that_raises_is_called_once(
    make: Callable[[Callable[[Any], Any]], Callable[[], Any]],
) -> None:
    device = Device()
    run = make(device)
    for _ in range(8):
        device.fails = True
        device.calls = 0
        with pytest.raises(OSError, match="the disk is full"):
            run()
        assert device.calls == 1
        device.fails = False
        device.calls = 0
        run()
        assert device.calls == 1


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_an_opaque_function_is_called_once_if_something_else_raises(
    make: Callable[[Callable[[Any], Any]], Callable[[], Any]],
) -> None:
    device = Device()
    run = make(lambda x: fails_later(np.sum(device(x))) + x)
    for _ in range(8):
        device.calls = 0
        with pytest.raises(np.linalg.LinAlgError):
            run()
        assert device.calls == 1


def test_an_opaque_function_in_a_batch_is_called_once_per_example() -> None:
    device = Device()
    for _ in range(8):
        device.calls = 0
        fd.vmap(device)(X)
        assert device.calls == 3
    device.fails = True
    for _ in range(8):
        device.calls = 0
        with pytest.raises(OSError, match="the disk is full"):
            fd.vmap(device)(X)
        assert device.calls == 1


def test_where_nothing_has_effects_the_line_that_fails_is_named() -> None:
    run = fd.jit(lambda x: fails_later(np.sum(x)))
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            run(X)
        assert any("test_effects.py" in note for note in caught.value.__notes__)
