"""The garbage collector is kept away from long derivations, and always comes back."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.core.running.memo import memoised, without_collection


def test_a_pause_ends_with_what_it_is_for() -> None:
    assert gc.isenabled()
    assert not without_collection(gc.isenabled)
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        without_collection(lambda: without_collection(lambda: 1 // 0))
    assert gc.isenabled()


def test_who_has_switched_the_collector_off_finds_it_so() -> None:
    gc.disable()
    try:
        assert not without_collection(gc.isenabled)
        assert not gc.isenabled()
    finally:
        gc.enable()


@contextmanager
def pause_of_another_thread() -> Iterator[None]:
    first, second = threading.Event(), threading.Event()

    def other() -> None:
        first.set()
        second.wait(600)

    thread = threading.Thread(target=without_collection, args=(other,))
    thread.start()
    first.wait(600)
    try:
        yield
    finally:
        second.set()
        thread.join()


def test_a_pause_ends_with_that_of_another_thread() -> None:
    with pause_of_another_thread():
        assert not without_collection(gc.isenabled)
    assert gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked")
def test_a_child_that_is_forked_in_a_pause_of_another_thread_collects() -> None:
    with pause_of_another_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads beside a fork
        child = os.fork()
        if child == 0:
            os._exit(not gc.isenabled())
    assert os.waitpid(child, 0)[1] == 0


def test_what_is_memoised_is_derived_in_a_pause() -> None:
    seen: list[bool] = []

    @memoised
    def look(program: Program) -> None:
        seen.append(gc.isenabled())

    program = fd.trace(np.sin)(1.0)
    look(program)
    look(program)
    assert seen == [False]
    assert gc.isenabled()


@pytest.mark.parametrize("transform", [fd.grad, fd.hessian, lambda f: fd.jit(fd.grad(f))])
def test_deriving_leaves_little_that_only_the_collector_finds(
    transform: Callable[..., Any], collect: Callable[[], int]
) -> None:
    def f(x: Any) -> Any:
        for k in range(50):
            x = np.sin(x) * (k + 1.5)
        return np.sum(x)

    x = np.arange(3.0)
    fd.clear_caches()
    collect()
    transform(f)(x)
    assert collect() < 400  # thousands, if each equation of a pass were in a cycle
