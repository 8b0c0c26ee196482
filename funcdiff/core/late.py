"""Imports rarely needed modules on first use, never while the process forks.

A child that is forked while another thread imports would find that module's lock held for ever.
Bodies of modules import what they need as usual: a late import there could wait for itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import Any, Final


def lock_against_forks() -> RLock:
    """Return a lock that another thread never holds in a child that is forked.

    A fork takes the locks that were made later first, as do those who take several.
    """
    lock = RLock()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )
    return lock


making: Final = lock_against_forks()
"""Held while something is made once, by code that imports nothing."""
_importing: Final = lock_against_forks()
listening: Final = lock_against_forks()
"""Held while the filters of warnings, which all threads share, are those of one call."""
_complete: Final[set[str]] = set()
"""Packages of which every module is imported."""


def late_import(module: str) -> ModuleType:
    """Return the module of that name, imported if it was not yet."""
    with _importing:
        return import_module(module)


def import_all(package: str) -> None:
    """Import every module of a package."""
    with _importing:
        if package not in _complete:
            found = import_module(package)
            for module in import_module("pkgutil").walk_packages(found.__path__, f"{package}."):
                import_module(module.name)
            _complete.add(package)


def late_names(
    package: str, homes: Mapping[str, str], missing: Callable[[str], str] = str
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, which imports what is asked for.

    `homes` has the names that each of its modules has, and under "" those of modules; `missing`
    says what is told of other names.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(name if name.startswith("__") else missing(name))
        if not home[name]:
            return late_import(f"{package}.{name}")
        found = getattr(late_import(f"{package}.{home[name]}"), name)
        return vars(sys.modules[package]).setdefault(name, found)

    return find


def late(module: str, name: str) -> Callable[..., Any]:
    """Return the function of that name, whose module is imported by the first call."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(late_import(module), name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call


close_matches: Final = late("difflib", "get_close_matches")
"""Find what is meant by a name that is not known, for messages."""
