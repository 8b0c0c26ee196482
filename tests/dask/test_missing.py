"""Dask is an extra, and its absence has a cure."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

import funcdiff as fd


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("funcdiff.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(fd, "dask", raising=False)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    asks: list[Callable[[], Any]] = [
        lambda: fd.dask,
        lambda: importlib.import_module("funcdiff.dask"),
    ]
    for ask in asks:
        with pytest.raises(fd.errors.MissingDependencyError, match=r'"funcdiff\[dask\]"') as caught:
            ask()
        assert "test_missing.py" in str(caught.value)
