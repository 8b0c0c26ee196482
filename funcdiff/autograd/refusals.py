"""Names of autograd's that have no place here, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn


def refusing(module: str, instead: Mapping[str, str]) -> Callable[[str], NoReturn]:
    """Return the ``__getattr__`` of a module that says what to write instead of a name.

    Parameters
    ----------
    module
        Its own name.
    instead
        Names, with spaces between, -> a sentence.
    """
    cures = {name: cure for names, cure in instead.items() for name in names.split()}

    def get(name: str) -> NoReturn:
        raise AttributeError(f"{module} has no attribute {name!r}. {cures.get(name, '')}".rstrip())

    return get
