"""Modules in which some names mean something else to adapted code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

from funcdiff.api.calls.repeated import MODULES

_own: Final[Callable[[ModuleType], dict[str, Any]]] = vars(ModuleType)["__dict__"].__get__
"""Return the names that a module holds itself."""

_KEPT: Final = ("_plain", "_named", "__getattr__")


class Substitute(ModuleType):
    """A module that has some names of its own, and all others from the one it stands for.

    With `find`, names that are not its own are asked there first; it raises AttributeError.
    """

    def __init__(
        self, plain: ModuleType, names: dict[str, Any], find: Callable[[str], Any] | None = None
    ) -> None:
        super().__init__(plain.__name__, plain.__doc__)
        own = _own(self)

        def look(name: str) -> Any:
            try:
                own[name] = value = find(name)  # type: ignore[misc]
            except AttributeError:
                return getattr(plain, name)
            return value

        other = partial(getattr, plain) if find is None else look  # called without Python's help
        own.update(names, _plain=plain, _named=frozenset(names), __getattr__=other)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """All names, for code that takes them from ``np.__dict__`` or ``vars(math)``."""
        own = [name for name in _own(self) if name not in _KEPT]
        return {name: getattr(self, name) for name in [*vars(self._plain), *own]}

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a name of the module that it stands for, as ``sys.stdout``, or one of its own."""
        if name in self._named or isinstance(value, ModuleType):
            _own(self)[name] = value
        else:
            _own(self).pop(name, None)
            setattr(self._plain, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._plain), *_own(self)})


MODULES.add(Substitute)


_HOME: Final = str(Path(__file__).parents[1])
"""The folder whose frames do not count."""


def warn(message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **named: Any) -> None:
    """Do what `warnings.warn` does, with levels of the stack as if we were not on it."""
    frame: FrameType | None = sys._getframe(1)
    hidden = 1
    for _ in range(stacklevel - 1):
        frame = frame and frame.f_back
        while frame is not None and frame.f_code.co_filename.startswith(_HOME):
            frame, hidden = frame.f_back, hidden + 1
    warnings.warn(message, category, stacklevel + hidden, *args, **named)
