"""A process that forks children while its threads trace, derive, compile and run; see test_fork."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np

import funcdiff as fd
from funcdiff import pytree
from funcdiff.ops.user.python_call import entered

X = np.arange(1.0, 4.0)


class Point:
    """A container that is registered anew by the children."""

    def __init__(self, x: Any) -> None:
        self.x = x


def work(turn: int) -> None:
    """Use all that is shared: types, operations, caches, names, kinds, compiled programs."""
    n = 1 + turn % 50

    def f(x: Any) -> Any:
        for k in range(turn % 7):
            x = np.sin(x) * (k + 2.5 + turn % 11)
        return np.sum(x**2)

    x = np.ones((n, 2))
    fd.grad(f)(x)
    fd.jit(fd.grad(f))(x)
    fd.vmap(fd.grad(f))(x)
    opaque = fd.primitive(lambda x: x * 2, result=lambda x: x)
    fd.vmap(opaque)(x)
    kind = type("Pair", (tuple,), {})
    pytree.flatten([kind((1.0, 2.0)), Point(1.0)])


def child() -> None:
    """Use the same, and see that it is right."""
    for turn in range(8):
        work(turn)
    gradient = fd.grad(lambda x: np.sum(np.sin(x) ** 2 * 1.25))(X)
    np.testing.assert_allclose(gradient, 1.25 * np.sin(2 * X))
    fd.clear_caches()
    gradient = fd.jit(fd.grad(lambda x: np.sum(np.sin(x) ** 2 * 1.5)))(X)
    np.testing.assert_allclose(gradient, 1.5 * np.sin(2 * X))
    assert len(entered) >= 0


def main(children: int, seconds: float) -> int:
    """Fork children, one after the other; return how many of them failed or hung."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about threads
    done = threading.Event()

    def trace(turn: int) -> None:
        while not done.is_set():
            work(turn)
            turn += 3
            if turn % 60 < 3:
                fd.clear_caches()

    threads = [threading.Thread(target=trace, args=(k,), daemon=True) for k in range(3)]
    for thread in threads:
        thread.start()
    failures = 0
    for _ in range(children):
        pid = os.fork()
        if pid == 0:
            try:
                child()
            except BaseException:
                os._exit(1)
            os._exit(0)
        failures += not _ended_well(pid, seconds)
    done.set()
    for thread in threads:
        thread.join(seconds)
    return failures


def _ended_well(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status == 0
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
