"""Lazy attributes of modules: names of funcdiff, submodules, and errors for names without a match.

A package takes names when it is imported, and of most it never makes use.  So a name of autograd's
whose meaning cannot be given is an object that can be imported, and says at its first use what to
write instead.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NoReturn

from funcdiff.errors import InputError, user_location


class Absent:
    """A name in autograd that has no meaning here; `cure` says what to write instead."""

    def __init__(self, name: str, cure: str) -> None:
        self._name, self._cure = name, cure

    def __repr__(self) -> str:
        return f"<{self._name}, which has no meaning in funcdiff>"

    def _refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise InputError(
            f"{self._name} of autograd has no meaning in funcdiff, and was used at "
            f"{user_location()}. {self._cure}"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # which inspecting code asks for
            raise AttributeError(name)
        self._refuse()

    __call__ = __getitem__ = __setitem__ = __contains__ = __iter__ = __mro_entries__ = _refuse
    __instancecheck__ = __subclasscheck__ = __enter__ = __exit__ = __len__ = _refuse


def attributes(
    module: str, *sources: Any, absent: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and the ``__dir__`` of a module.

    Its submodules are attributes, imported when they are asked for; the names in `sources` are
    shown, too; `absent` maps names, with spaces between, to what to write instead.
    """
    cures = {name: cure for names, cure in (absent or {}).items() for name in names.split()}

    def get(name: str) -> Any:
        for source in sources:
            if hasattr(source, name):
                return getattr(source, name)
        if name in cures:
            return Absent(f"{module}.{name}".removeprefix("funcdiff."), cures[name])
        path = vars(sys.modules[module]).get("__path__", ())
        if any(name == submodule.name for submodule in iter_modules(path)):
            return import_module(f"{module}.{name}")
        if sources:
            return getattr(sources[-1], name)  # which knows what to say
        raise AttributeError(f"{module} has no attribute {name!r}")

    return get, lambda: sorted({name for source in sources for name in dir(source)} | {*cures})
