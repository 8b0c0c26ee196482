"""Modules in which some names mean something else to adapted code."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from funcdiff.api.calls.repeated import MODULES


class Substitute(ModuleType):
    """A module that has some names of its own, and all others from the one it stands for.

    With `find`, names that are not its own are asked there first; it raises AttributeError.
    """

    def __init__(
        self, plain: ModuleType, names: dict[str, Any], find: Callable[[str], Any] | None = None
    ) -> None:
        super().__init__(plain.__name__, plain.__doc__)
        vars(self).update(names, _plain=plain, _find=find, _own=frozenset(names))

    def __getattr__(self, name: str) -> Any:
        if self._find is not None:
            try:
                found = self._find(name)
            except AttributeError:
                return getattr(self._plain, name)
            vars(self)[name] = found
            return found
        return getattr(self._plain, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a name of the module that it stands for, as ``sys.stdout``, or one of its own."""
        if name in self._own or isinstance(value, ModuleType):
            vars(self)[name] = value
        else:
            vars(self).pop(name, None)
            setattr(self._plain, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._plain), *vars(self)})


MODULES.add(Substitute)
