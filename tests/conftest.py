"""The tests' mode: compiled programs are checked, random examples are few, large tables thinned."""

import gc
import os
from collections.abc import Sequence
from zlib import crc32

import pytest
from hypothesis import settings

settings.register_profile(
    "quick", deadline=None, derandomize=True, max_examples=50, print_blob=True
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=200)
settings.register_profile("by hand", settings.get_profile("quick"), max_examples=5000)
settings.load_profile("quick")

# the first execution of every compiled program is held against the interpreter
os.environ["FUNCDIFF_CHECK"] = "1"

# tens of thousands of tests keep many objects: looking through them all less often saves a third
gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark as slow what ``@pytest.mark.thinned(n)`` leaves out: all but about one case of n.

    Which ones are left follows from the names of the cases, so that it is the same everywhere.
    """
    for item in items:
        for mark in item.iter_markers("thinned"):
            if crc32(item.name.encode()) % mark.args[0]:
                item.add_marker("slow")
