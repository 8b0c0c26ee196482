"""Computes attributes and imports modules on first use, never while the process forks.

A child that is forked while another thread imports would find that module's lock held for ever.
Bodies of modules import what they need as usual: a late import there could wait for itself.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from funcdiff.core.tracebacks import public
from funcdiff.errors import not_installed
from funcdiff.pytree.registry import homes

# ---- attributes ----------------------------------------------------------------------------------
#
# Unlike `functools.cached_property` of Python 3.11 this takes no lock, which a process that was
# forked meanwhile would find taken for ever.  What two threads compute at once is equal.

T = TypeVar("T")


class computed(cached_property[T]):  # noqa: N801  (it reads as `property` does)
    """A method without arguments as an attribute that is kept by the instance."""

    if not TYPE_CHECKING:

        def __init__(self, function: Callable[[Any], Any]) -> None:
            super().__init__(public(function))

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


# ---- modules -------------------------------------------------------------------------------------


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
compiling: Final = lock_against_forks()
"""Held while LLVM works, which has one context for all."""
_complete: Final[set[str]] = set()
"""Packages of which every module is imported."""


def late_import(module: str) -> ModuleType:
    """Return the module of that name, imported if it was not yet."""
    with _importing:
        return import_module(module)


def require(module: str, what: str, *install: str) -> Any:
    """Return a module; raise `MissingDependencyError`, which says `what` and how to `install`."""
    try:
        return late_import(module)
    except ImportError as error:
        raise not_installed(error, what, *install) from error


def import_all(package: str) -> None:
    """Import every module of a package."""
    with _importing:
        if package not in _complete:
            found = import_module(package)
            for module in import_module("pkgutil").walk_packages(found.__path__, f"{package}."):
                import_module(module.name)
            _complete.add(package)


def late_names(
    package: str, homes: Mapping[str, str], missing: Callable[[str], str] | None = None
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package, which imports what is asked for.

    `homes` has the names that each of its modules has, and under "" those of modules; `missing`
    says what is told of other names, which is by default what there is.
    """
    home = {name: module for module, names in homes.items() for name in names.split()}
    there = f"it has {', '.join(home)}"

    @public
    def find(name: str) -> Any:
        if name not in home:
            told = missing or (lambda name: f"{package} has no attribute {name!r}: {there}")
            raise AttributeError(name if name.startswith("__") else told(name))
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


homes["pandas"] = partial(late_import, "funcdiff.labelled.dataframes")
homes["xarray"] = partial(late_import, "funcdiff.labelled.dataarrays")
homes["torch"] = partial(late_import, "funcdiff.interop.torch")
homes["jaxlib"] = partial(late_import, "funcdiff.interop.jax")

close_matches: Final = late("difflib", "get_close_matches")
"""Find what is meant by a name that is not known, for messages."""


# ---- Optional dependencies: functions of SciPy, imported when they are called --------------------


@cache
def scipy_function(name: str, module: str = "scipy.special") -> Callable[..., Any]:
    """Return a function of SciPy's; raise `MissingDependencyError` if SciPy is not installed."""
    whole = getattr(require(module, f"{module}.{name} needs SciPy", "funcdiff[scipy]"), name)
    # what SciPy puts around its special functions if SCIPY_ARRAY_API is set is left out
    found: Callable[..., Any]
    found = inspect.unwrap(whole, stop=lambda f: f.__module__ != "scipy.special")
    return found


@dataclass(frozen=True)
class Routine:
    """A function of ``scipy.special`` by its name, found when it is called."""

    name: str

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, *xs: Any) -> Any:
        """Return what it computes."""
        return scipy_function(self.name)(*xs)
