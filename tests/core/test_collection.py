"""The garbage collector is kept away from long derivations, and comes back."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.collection import paused
from funcdiff.core.memo import memoised
from funcdiff.core.program import Program


def test_pauses_nest_and_end_with_an_exception() -> None:
    assert gc.isenabled()
    with paused():
        with pytest.raises(ZeroDivisionError), paused():
            raise ZeroDivisionError
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_switched_the_collector_off_finds_it_so() -> None:
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_pauses_of_several_threads_overlap() -> None:
    first, second = threading.Event(), threading.Event()

    def other() -> None:
        with paused():
            first.set()
            second.wait(10)

    thread = threading.Thread(target=other)
    with paused():
        thread.start()
        first.wait(10)
    assert not gc.isenabled()
    second.set()
    thread.join()
    assert gc.isenabled()


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
