"""The copies as modules: ``funcdiff.adapting.packages.pvlib`` is that of pvlib.

Importing one makes it, so that pickle finds the functions and classes of copies in any process.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType
from typing import Any

from funcdiff.adapting import copies

__path__: list[str] = []  # nothing but `_Finder` finds modules here


class _Finder(MetaPathFinder, Loader):
    """Finds copies by the names of the originals behind that of this module."""

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        """Return a specification of a copy."""
        return ModuleSpec(name, self) if name.startswith(f"{__name__}.") else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the copy; of NumPy, of which a part is copied, an empty module."""
        name = spec.name.removeprefix(f"{__name__}.")
        if name in copies.NEVER:
            found = ModuleType(spec.name)
            found.__path__ = []
            return found
        copy: ModuleType = copies.copy_of(name)
        spec.loader_state = copy.__spec__
        return copy

    def exec_module(self, module: ModuleType) -> None:
        """Leave a copy as it was before importing it wrote on it."""
        module.__spec__ = module.__spec__ and (module.__spec__.loader_state or module.__spec__)


sys.meta_path.insert(0, _Finder())


def let_pickle_find(module: ModuleType) -> None:
    """Let pickle find what the copy of a module defines, which is not what the original does."""
    for value in vars(module).values():
        kind = type(value)  # objects may raise whatever they are asked
        if kind is not FunctionType and not issubclass(kind, type):
            continue
        if value.__module__ != module.__name__:
            continue
        if kind is FunctionType:
            value.__module__ = f"{__name__}.{module.__name__}"
        else:
            for inner in _with_inner(value):
                copyreg.pickle(inner, reduce_object)


copies.when_copied.append(let_pickle_find)


def _with_inner(kind: type) -> Iterator[type]:
    """Yield a class, and those that are defined within it."""
    yield kind
    for value in vars(kind).values():
        if isinstance(value, type) and value.__qualname__.startswith(f"{kind.__qualname__}."):
            yield from _with_inner(value)


def is_of_copy(x: Any) -> bool:
    """Return whether that is a class or a function of a copy, or an object of such a class."""
    kind = x if isinstance(x, type) else type(x)
    is_class = copyreg.dispatch_table.get(kind) is reduce_object
    return is_class or str(getattr(x, "__module__", "")).startswith(f"{__name__}.")


class _Named:
    """A class of a copy, by name where it is pickled."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __reduce__(self) -> Any:
        return look_up, (self.kind.__module__, self.kind.__qualname__)


def look_up(module: str, name: str) -> Any:
    """Return what the copy of a module has under a name."""
    return copies.follow(copies.copy_of(module), name)


def by_name(x: Any) -> Any:
    """Return a class of a copy by its name; others as they are."""
    return _Named(x) if isinstance(x, type) and is_of_copy(x) else x


def reduce_object(x: Any) -> Any:
    """Return what pickle asks of an object of a copied class, that class by its name."""
    found = x.__reduce_ex__(4)
    if isinstance(found, str):
        return look_up, (type(x).__module__, found)
    make, args, *rest = found
    return make_object, tuple(map(by_name, (make, *args))), *rest


def make_object(make: Any, *args: Any) -> Any:
    """Return a new object; `copy` gives what is to be pickled as it is."""
    function, *given = (x.kind if isinstance(x, _Named) else x for x in (make, *args))
    return function(*given)
