"""The copies as modules: ``funcdiff.adapting.packages.pvlib`` is that of pvlib.

Importing one makes it, so that pickle finds the functions and classes of copies in any process.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import CodeType, FunctionType, ModuleType
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

    def get_code(self, name: str) -> CodeType | None:
        """Return the code of an original, for ``python -m``, by which pools start processes."""
        spec = find_spec(name.removeprefix(f"{__name__}."))
        return spec.loader.get_code(spec.name) if spec else None  # type: ignore[union-attr]

    def exec_module(self, module: ModuleType) -> None:
        """Leave a copy as it was before importing it wrote on it."""
        module.__spec__ = module.__spec__ and (module.__spec__.loader_state or module.__spec__)


sys.meta_path.insert(0, _Finder())


def let_pickle_find(module: ModuleType) -> None:
    """Let pickle find what the copy of a module defines, which is not what the original does."""
    name, original = module.__name__, sys.modules.get(module.__name__)
    sys.modules[f"{__name__}.{name}"] = module  # where code looks for `cls.__module__`
    pending = [*vars(module).values()]
    while pending:
        x = pending.pop()
        is_named = issubclass(type(x), FunctionType | type)  # others may raise, whatever is asked
        if is_named and x.__module__ == name and copies.follow(original, x.__qualname__) is not x:
            x.__module__ = f"{__name__}.{name}"
            pending += vars(x).values()


copies.when_copied.append(let_pickle_find)


def is_of_copy(x: Any) -> bool:
    """Return whether that is a class or a function of a copy, or an object of such a class."""
    return str(getattr(x, "__module__", "")).startswith(f"{__name__}.")
