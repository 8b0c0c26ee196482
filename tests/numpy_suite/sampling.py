"""Lets a package's own tests be sampled: a plugin of the process that runs them.

``NUMPY_SUITE_ONE_IN=3`` runs a third of them, the same ones every time.
"""

from __future__ import annotations

import os
from zlib import crc32

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out all but one test in so many."""
    n = int(os.environ.get("NUMPY_SUITE_ONE_IN", "1"))
    items[:] = [item for item in items if crc32(item.nodeid.encode()) % n == 0]
