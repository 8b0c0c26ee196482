"""Classes of parameters become dataclasses when their first instance is made."""

from __future__ import annotations

import threading
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from funcdiff.core.primitive import Params, fields_of


def test_a_class_of_parameters_is_a_frozen_dataclass_from_its_first_instance_on() -> None:
    class Turn(Params):
        axes: tuple[int, ...]
        times: int = 1

    class NamedTurn(Turn):
        name: str = "turn"

    assert [field.name for field in fields_of(Turn)] == ["axes", "times"]
    p = Turn((0, 1))
    assert repr(p).endswith("Turn(axes=(0, 1), times=1)")
    assert (p, hash(p)) == (Turn(axes=(0, 1), times=1), hash(Turn((0, 1))))
    assert replace(p, times=2).batched(3) == Turn((1, 2), 2)
    assert NamedTurn((0, 1)) != p
    assert NamedTurn((0, 1), 1, "turn") == NamedTurn((0, 1))
    with pytest.raises(FrozenInstanceError):
        p.times = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'axes'"):
        Turn()  # type: ignore[call-arg]


def test_threads_may_make_the_first_instances_at_once() -> None:
    class Shift(Params):
        places: int

    start, made = threading.Barrier(8), []

    def make() -> None:
        start.wait()
        made.append(Shift(3))

    threads: list[Any] = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == 8 * [Shift(3)]
    assert len(set(made)) == 1
