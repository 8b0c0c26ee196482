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


LOOKS: Final[dict[str, Callable[[Any], Callable[[Any], Any]]]] = {
    "once": lambda f: lambda x: np.sum(y * x) if np.sum(y := f(x)) > 0 else np.sum(x),
    "twice": lambda f: lambda x: np.sum(y) if np.sum(y := f(x)) > 0 and bool(y[0] > 0) else x[0],
    "at something else": lambda f: lambda x: np.sum(f(x)) if np.sum(x) > 0 else np.sum(x),
    "before": lambda f: lambda x: np.sum(f(x) * x) if x[0] > 0 else x[0],
    "in a loop": lambda f: lambda x: y if (y := np.sum(looped(f)(x[:1])[0])) > 0 else x[0],
    "in an inner function": lambda f: (
        lambda x: fd.grad(lambda z: np.sum(y * z) if np.sum(y := f(x)) > 0 else z[0])(x)[0]
    ),
    "at a derivative": lambda f: (
        lambda x: y if (y := np.sum(fd.jvp(f, (x,), (x,))[0])) > 0 else x[0]
    ),
}
TAKEN: Final[dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]]] = {
    "value_and_grad": fd.value_and_grad,
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: fd.vjp(f, x),
    "tap_values": lambda f: fd.tap_values(lambda x: fd.tap("y", f(x))),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("transform", TAKEN.values(), ids=TAKEN)
def test_an_opaque_function_whose_value_decides_is_called_once(
    transform: Callable[[Callable[[Any], Any]], Callable[[Any], Any]],
    look: Callable[[Any], Callable[[Any], Any]],
    declared: bool,
) -> None:
    device = Device()
    if not declared:
        if look is LOOKS["in a loop"]:  # where it has to be
            return
        device.function = fd.primitive(device._run)
        device.function.defjvp(lambda xs, ts: (device.function(xs[0]), ts[0] * xs[0]))
    run = transform(look(device))
    plain = look(device)
    for k in range(8):
        x = X + k
        device.calls = 0
        run(x)
        assert device.calls == 1
        device.calls = 0
        plain(x)
        assert device.calls == 1


def test_calls_of_equal_arguments_that_are_looked_at_are_calls_of_their_own() -> None:
    count = 0

    def tick(x: Any) -> Any:
        nonlocal count
        count += 1
        return x + count

    counter = fd.primitive(tick)

    def f(x: Any) -> Any:
        first = counter(x)
        second = counter(x)
        assert bool(np.all(second == x + 2))
        assert bool(np.all(first == x + 1))
        return fd.tap("first", first)

    for _ in range(8):
        count = 0
        np.testing.assert_array_equal(fd.tap_values(f)(X)["first"], X + 1)
        assert count == 2


def test_a_call_of_a_changed_buffer_is_another_call() -> None:
    doubled = fd.primitive(lambda x: 2 * x)

    def f(x: Any) -> Any:
        buffer = np.ones(3)
        first = doubled(buffer * 1.0 + x)
        assert bool(np.all(first > 0))
        buffer[:] = 5.0
        return fd.tap("both", np.stack([first, doubled(buffer * 1.0 + x)]))

    for _ in range(8):
        found = fd.tap_values(f)(X)["both"]
        np.testing.assert_array_equal(found, np.array([[4.0] * 3, [12.0] * 3]))
