"""Modules in which some names mean something else to adapted code."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


class Substitute(ModuleType):
    """A module that has some names of its own, and all others from the one it stands for.

    With `find`, names that are not its own are asked there first; it raises AttributeError.
    """

    def __init__(
        self, plain: ModuleType, names: dict[str, Any], find: Callable[[str], Any] | None = None
    ) -> None:
        super().__init__(plain.__name__, plain.__doc__)
        self._plain, self._find = plain, find
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if self._find is not None:
            try:
                found = self._find(name)
            except AttributeError:
                return getattr(self._plain, name)
            setattr(self, name, found)
            return found
        return getattr(self._plain, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._plain), *vars(self)})
