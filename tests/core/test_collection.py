"""The garbage collector is kept away from long derivations, and always comes back."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.builder import Builder, current_builder
from funcdiff.core.collection import pause
from funcdiff.core.memo import memoised
from funcdiff.core.program import Program


def test_a_pause_ends_with_its_context() -> None:
    def paused() -> bool:
        pause()
        return gc.isenabled()

    assert gc.isenabled()
    assert not copy_context().run(paused)
    assert gc.isenabled()


def test_a_pause_ends_although_the_error_that_ended_it_is_kept() -> None:
    def failing() -> None:
        pause()
        copy_context().run(pause)
        assert not gc.isenabled()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        copy_context().run(failing)
    assert gc.isenabled()
    assert caught.value.__traceback__ is not None


def test_a_builder_that_was_never_closed_and_lives_on_does_not_keep_a_pause() -> None:
    kept: list[Builder] = []

    def interrupted() -> None:
        pause()
        kept.append(Builder("test").__enter__())

    copy_context().run(interrupted)
    assert gc.isenabled()
    assert current_builder() is None


def test_who_has_switched_the_collector_off_finds_it_so() -> None:
    gc.disable()
    try:
        copy_context().run(pause)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_of_two_threads_the_one_that_began_ends_the_pause() -> None:
    first, second = threading.Event(), threading.Event()

    def other() -> None:
        pause()
        first.set()
        second.wait(600)

    thread = threading.Thread(target=copy_context().run, args=(other,))
    thread.start()
    first.wait(600)
    copy_context().run(pause)
    assert not gc.isenabled()
    second.set()
    thread.join()
    del thread
    assert gc.isenabled()


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="pauses need reference counts")
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


def test_a_pause_that_begins_while_another_thread_has_one_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def another_thread_pauses() -> None:
        monkeypatch.undo()
        thread = threading.Thread(target=copy_context().run, args=(pause,))
        thread.start()
        thread.join()
        gc.disable()

    monkeypatch.setattr(gc, "disable", another_thread_pauses)
    copy_context().run(pause)
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
