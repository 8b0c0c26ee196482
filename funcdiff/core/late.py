"""Imports rarely needed modules on first use, never while the process forks.

A child that is forked while another thread imports would find that module's lock held for ever.
Bodies of modules import what they need as usual: a late import there could wait for itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any, Final


def unforked_lock() -> RLock:
    """Return a lock that another thread never holds in a child that is forked.

    A fork takes the locks that were made later first, as do those who take several.
    """
    lock = RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock


making: Final = unforked_lock()
"""Held while something is made once, by code that imports nothing."""
_importing: Final = unforked_lock()


def late_import(module: str) -> ModuleType:
    """Return the module of that name, imported if it was not yet."""
    with _importing:
        return import_module(module)


@cache
def import_all(package: str) -> None:
    """Import every module of a package."""
    with _importing:
        found = import_module(package)
        for module in import_module("pkgutil").walk_packages(found.__path__, f"{package}."):
            import_module(module.name)


def late(module: str, name: str) -> Callable[..., Any]:
    """Return the function of that name, whose module is imported by the first call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(late_import(module), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


close_matches: Final = late("difflib", "get_close_matches")
"""Find what is meant by a name that is not known, for messages."""
