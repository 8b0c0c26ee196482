"""Caches of derived programs can be looked at and cleared."""

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.memo import caches


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
