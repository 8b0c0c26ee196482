"""Compiled functions find their program by the containers, names and types of their arguments."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd

X = np.array([0.3, -0.7, 1.2])


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    name: str = dataclasses.field(default="", metadata={"static": True})


CONTAINERS: dict[str, Any] = {
    "a tuple": (X, 2.0),
    "a list": [X, [2.0]],
    "a dict": {"x": X, "s": 2.0},
    "the other order": {"s": 2.0, "x": X},
    "keys that are no text": {1: X, True + 1: 2.0},
    "a named tuple": Pair(X, (2.0, None)),
    "a dataclass": Layer([X, 2.0], name="first"),
    "another": Layer([X, 2.0], name="second"),
    "of numbers": (1.0, np.float64(2.0)),
    "deep": ((((((((((X, 2.0),),),),),),),),),),
    "empty": ([], X),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_arguments_in_containers_are_found_directly(name: str) -> None:
    x = CONTAINERS[name]

    def g(tree: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in fd.pytree.flatten(tree)[0])

    jitted = fd.jit(fd.grad(g))
    (expected, structure), calls = fd.pytree.flatten(fd.grad(g)(x)), []
    for _ in range(4):
        found = fd.pytree.flatten(jitted(x))
        assert found[1] == structure
        calls.append(found[0])
    for leaves in calls:
        for a, b in zip(leaves, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
            assert type(a) is type(b)
    if np.ndim(expected[0]):  # results are the caller's own
        assert not np.shares_memory(calls[0][0], calls[1][0])
    assert jitted.cache_info().kinds == 1


def test_kinds_of_containers_are_told_apart() -> None:
    seen = []

    def g(tree: Any, *, s: Any = 1.0, t: Any = 1.0) -> Any:
        seen.append((tree, s, t))
        return tree, s - t

    class Name(str):
        pass

    jitted = fd.jit(g)
    kinds = [{"a": 1.0}, {Name("a"): 1.0}, {"b": 1.0}, [1.0], (1.0,), Pair(1.0, None), {1: 1.0},
             {1.0: 1.0}, {True: 1.0}, (1.0, None), Layer(1.0, "p"), Layer(1.0, "q")]  # fmt: skip
    for _ in range(3):
        for kind in kinds:
            found, _ = jitted(kind)
            assert fd.pytree.flatten(found)[1] == fd.pytree.flatten(kind)[1]
            assert not isinstance(kind, dict) or [*map(type, found)] == [*map(type, kind)]
    assert len(seen) == len(kinds)


def test_keywords_are_found_directly() -> None:
    jitted = fd.jit(lambda x, s=1.0, t=1.0: x * (s - t))
    for _ in range(3):
        assert np.array_equal(jitted(X, s=3.0, t=1.0), 2.0 * X)
        assert np.array_equal(jitted(X, t=1.0, s=3.0), 2.0 * X)
        assert np.array_equal(jitted(X, t=3.0), -2.0 * X)
        assert np.array_equal(jitted(x=X, s=3.0), 2.0 * X)
    static = fd.jit(lambda x, way="up": x if way == "up" else -x, static_argnames="way")
    for _ in range(3):
        assert np.array_equal(static(X, way="up"), X)
        assert np.array_equal(static(X, way="down"), -X)


def test_containers_that_contain_themselves_are_refused_by_name() -> None:
    endless: list[Any] = [X]
    endless.append(endless)
    jitted = fd.jit(lambda x: x[0])
    jitted([X])
    with pytest.raises(fd.errors.PytreeError, match="contains itself"):
        jitted(endless)


def test_branches_by_numbers_in_containers_are_guarded() -> None:
    def g(tree: Any, *, scale: Any = 1.0) -> Any:
        return tree["x"] * 2.0 if tree["s"] > scale else tree["x"]

    jitted = fd.jit(g)
    for s, scale in ((1.0, 0.0), (1.0, 2.0), (3.0, 2.0), (1.0, 2.0)) * 3:
        expected = g({"x": X, "s": s}, scale=scale)
        assert np.array_equal(jitted({"x": X, "s": s}, scale=scale), expected)
    assert jitted.cache_info().leaves == 2
