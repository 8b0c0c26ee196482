"""Caches of derived programs can be looked at and cleared."""

import gc
import sys
from collections.abc import Collection, Iterable, MutableMapping
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.running.memo import caches


def test_clearing_forgets_and_changes_no_result() -> None:
    f = fd.grad(lambda x: np.sum(np.sin(x) ** 3))
    before = f(np.ones(3))
    f(np.ones(3))
    assert fd.cache_info()
    fd.clear_caches()
    assert fd.cache_info() == []
    assert all(cache.weight == 0 for cache in caches)
    np.testing.assert_array_equal(f(np.ones(3)), before)


def test_a_function_called_again_derives_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FUNCDIFF_CHECK")  # which derives the program at once, to compare
    fd.clear_caches()
    f = fd.grad(lambda x: np.sum(np.cos(x) * 3.7))
    f(np.ones(3))
    assert not fd.cache_info()  # at first sight no program is derived
    f(np.ones(3))
    entries = sum(info.entries for info in fd.cache_info())
    for k in range(5):
        f(np.full(3, float(k)))
    assert sum(info.entries for info in fd.cache_info()) == entries


LRU = type(lru_cache(len))


def _loss(x: Any) -> Any:
    y = np.sin(x) * x[::-1] + np.cumsum(x)
    z = np.where(y > 0, y, x)[1:] - np.exp(-(x**2))[:-1]
    return np.sum(z * z) + np.max(x) + np.mean(np.sort(x)) + np.linalg.norm(np.outer(x, x) @ x)


def _use(lengths: Iterable[int]) -> None:
    for n in lengths:
        x = np.linspace(0.1, 1.0, n)
        for _ in range(6):
            fd.grad(_loss)(x)
        fd.jit(_loss)(x)
        fd.jvp(_loss, (x,), (x,))
        fd.vmap(_loss)(np.stack([x, x]))
        fd.hessian(_loss)(x)


def _sizes() -> dict[tuple[str, str], int]:
    """Return how much is in every container and cache that a module of ours has a name for."""
    gc.collect()
    found = {}
    for module, home in list(sys.modules.items()):
        if module.partition(".")[0] != "funcdiff":
            continue
        for name, value in list(vars(home).items()):
            if name.startswith("__") or getattr(value, "maxlen", None) is not None:
                continue
            if isinstance(value, LRU):
                found[module, name] = value.cache_info().currsize
            elif isinstance(value, MutableMapping | list | set):
                found[module, name] = len(value)
            elif isinstance(getattr(value, "alive", None), Collection):
                found[module, name] = len(value.alive)
    return found


@pytest.mark.slow
def test_nothing_is_kept_of_new_shapes_when_the_caches_were_cleared() -> None:
    _use([5, 6])  # which imports what is used
    fd.clear_caches()
    before = _sizes()
    _use(range(10, 14))
    fd.clear_caches()
    grown = {key: size for key, size in _sizes().items() if size > before.get(key, 0)}
    assert grown == {}
