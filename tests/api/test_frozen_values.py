"""Random draws and global numbers under `jit`: they stay what they were, and a warning says so."""

from __future__ import annotations

import random
import secrets
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.compiling.frozen import _state_of
from funcdiff.errors import FrozenValueWarning

HERE = Path(__file__).name
rng = np.random.default_rng(0)
legacy = np.random.RandomState(0)
drawn = np.random.rand
FACTOR = 2.0
calls = 0


class Model:
    def __init__(self) -> None:
        self.noise = np.random.default_rng(2)

    def noisy(self, x: Any) -> Any:
        return x + self.noise.normal()

    def fresh(self) -> Any:
        return np.random.default_rng().normal()

    def noisier(self, x: Any) -> Any:
        return x + self.fresh()


model = Model()


def _noise() -> Any:
    return rng.normal()


def _new_noise(seed: Any = None) -> Any:
    from numpy.random import default_rng  # noqa: PLC0415 - which no global name shows

    return default_rng(seed).normal()


holder = SimpleNamespace(draw=_new_noise)


def _method(self: Any, x: Any) -> Any:
    return x + self + rng.normal()


def _of_closure() -> Callable[[Any], Any]:
    mine = np.random.default_rng(1)
    return lambda x: x + mine.normal()


UNSEEDED = "a generator without a seed"

DRAWS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a generator": (lambda x: x + rng.normal(), "rng"),
    "in a function that is called": (lambda x: x + _noise(), "rng"),
    "in a comprehension": (lambda x: x + sum([rng.normal() for _ in range(3)]), "rng"),
    "the old kind": (lambda x: x + legacy.rand(), "legacy"),
    "NumPy's own": (lambda x: x + np.random.rand(), "np"),  # noqa: NPY002
    "Python's": (lambda x: x + random.random(), "random"),
    "closed over": (_of_closure(), "mine"),
    "a method": (partial(_method, 1.0), "rng"),
    "by a name of its own": (lambda x: x + drawn(), "drawn"),
    "held by an object": (lambda x: x + model.noise.normal(), "model"),
    "of the object itself": (Model().noisy, "self"),
    "made within": (lambda x: x + np.random.default_rng().normal(), UNSEEDED),
    "of bits, made within": (
        lambda x: x + np.random.Generator(np.random.PCG64()).normal(),
        UNSEEDED,
    ),
    "the old kind, made within": (lambda x: x + np.random.RandomState().rand(), UNSEEDED),
    "Python's, made within": (lambda x: x + random.Random().random(), UNSEEDED),
    "the system's": (lambda x: x + secrets.randbelow(10**9), UNSEEDED),
    "made in a function that is called": (lambda x: x + _new_noise(), UNSEEDED),
    "made by a method": (Model().noisier, UNSEEDED),
    "made by a function that an object holds": (lambda x: x + holder.draw(), UNSEEDED),
    "made by a method of a global": (lambda x: x + model.fresh(), UNSEEDED),
    "by a method of a global": (lambda x: model.noisy(x), "self"),
    "a derivative": (fd.grad(lambda x: x**2 * rng.normal()), "rng"),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_that_is_compiled_is_told_once_with_the_line(name: str) -> None:
    f, by = DRAWS[name]
    compiled = fd.jit(f)
    with pytest.warns(FrozenValueWarning, match=rf"draws random .* by {by}, at .*{HERE}', line \d"):
        first = compiled(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(1.0) == first
        compiled(np.float32(1.0))


def test_a_generator_without_a_state_may_be_seen() -> None:
    system = random.SystemRandom()
    assert fd.jit(lambda x: x * (1 + 0 * system.random()))(2.0) == 2.0


def _seeded(x: Any) -> Any:
    np.random.seed(0)  # noqa: NPY002
    return x + np.random.rand()  # noqa: NPY002


def test_a_draw_outside_of_what_is_compiled_says_nothing() -> None:
    drawn = fd.primitive(lambda x: x * 0 + rng.normal(), result=lambda x: x)
    fresh = fd.primitive(lambda x: x * 0 + _new_noise(), result=lambda x: x)
    for f in (lambda x: x + len(repr(rng)), lambda x: x + np.sin(1.0), drawn, fresh, _seeded):
        compiled: Callable[[Any], Any] = fd.jit(f)
        rng.normal()
        compiled(1.0)


def _scaled(x: Any) -> Any:
    return x * FACTOR


def _counted(x: Any) -> Any:
    global calls  # noqa: PLW0603
    calls += 1
    return x * calls


def _branching(x: Any, n: Any = 1) -> Any:
    return x * FACTOR if x > 0 else x - n


@pytest.mark.parametrize("compiled", [
    fd.jit(_scaled), fd.jit(lambda x: _scaled(x) + 1), fd.jit(fd.grad(_scaled)), fd.jit(_branching),
    partial(fd.jit(_branching, static_argnames="n"), n=2), fd.jit(fd.vmap(_scaled)),
])  # fmt: skip
def test_a_global_number_that_has_changed_is_told_once_with_the_line(
    compiled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.ones(2) if "vmap" in repr(compiled) else 1.0
    before = [compiled(x) for _ in range(3)]
    monkeypatch.setattr(f"{__name__}.FACTOR", float("2"))  # another object of the same value
    compiled(x)
    monkeypatch.setattr(f"{__name__}.FACTOR", 3.0)
    with pytest.warns(FrozenValueWarning, match=rf"FACTOR, .* at .*{HERE}', .* was 2.0 and is 3.0"):
        np.testing.assert_array_equal(compiled(x), before[0])
    np.testing.assert_array_equal(compiled(x), before[0])


def test_what_is_closed_over_is_looked_at_too_and_forgotten_with_the_programs() -> None:
    scale = 2.0
    compiled = fd.jit(lambda x: x * scale)
    assert compiled(1.0) == 2.0
    scale = 3.0
    compiled.clear_cache()
    assert compiled(1.0) == 3.0
    scale = 4.0
    with pytest.warns(FrozenValueWarning, match=r"scale, .* was 3\.0 and is 4\.0.*clear_cache\(\)"):
        compiled(1.0)


def test_a_parameter_that_an_inner_function_uses_is_not_the_global_of_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def scaled(x: Any, FACTOR: Any) -> Any:
        return (lambda y: y * FACTOR)(x)

    compiled = fd.jit(scaled)
    assert compiled(1.0, 3.0) == 3.0
    monkeypatch.setattr(f"{__name__}.FACTOR", 7.0)
    assert compiled(1.0, 4.0) == 4.0  # without a warning


def test_what_a_function_changes_itself_is_no_constant() -> None:
    compiled = fd.jit(_counted)
    assert compiled(1.0) == 1
    compiled(np.ones(2))
    assert compiled(1.0) == 1


def test_states_are_looked_at_only_where_code_can_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def state_of(generator: Any) -> Any:
        asked.append(generator)
        return 0

    monkeypatch.setattr("funcdiff.api.compiling.frozen._state_of", state_of)
    fd.jit(lambda x: np.sin(x))(1.0)  # NumPy is named, and none of its generators
    assert asked == []
    fd.jit(lambda x: x + np.random.rand())(1.0)  # noqa: NPY002
    assert len(asked) == 2


@pytest.mark.parametrize("bits", ["PCG64", "MT19937", "Philox", "SFC64"])
def test_every_kind_of_generator_shows_that_it_has_drawn(bits: str) -> None:
    generator = np.random.Generator(getattr(np.random, bits)(0))
    before = _state_of(generator)
    assert _state_of(generator) == before
    generator.normal()
    assert _state_of(generator) != before


def test_generators_that_are_not_made_or_have_a_seed_are_not_told() -> None:
    def f(x: Any, given: Any = None) -> Any:
        generator = np.random.default_rng() if given is None else np.random.default_rng(3)
        return x + generator.normal() + _new_noise(5)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fd.jit(f)(1.0, 2.0) == f(1.0, 2.0)
    with pytest.warns(FrozenValueWarning, match=UNSEEDED):
        fd.jit(f)(1.0)


@pytest.mark.slow
def test_what_numpy_makes_when_it_is_imported_is_not_told() -> None:
    code = """import sys, numpy as np, funcdiff as fd
assert "numpy.random" not in sys.modules
fd.jit(lambda x: x * np.random.default_rng(3).normal())(1.0)"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_profile_that_is_taken_goes_on() -> None:
    seen: list[str] = []
    sys.setprofile(lambda frame, *_: seen.append(frame.f_code.co_name))
    try:
        fd.jit(lambda x: x + _new_noise())(1.0)
        profile = sys.getprofile()
    finally:
        sys.setprofile(None)
    assert profile is not None
    assert "_new_noise" in seen
    with pytest.raises(ZeroDivisionError):
        fd.jit(lambda x: x + _new_noise() / 0)(1.0)
    assert sys.getprofile() is None
