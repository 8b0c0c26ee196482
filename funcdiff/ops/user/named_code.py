"""A weak registry of Python code by name: code lives as long as its name is held.

Parameters of equations hold names, never code.  Names are not given twice, so equal programs
compute the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Final, Generic, TypeVar
from weakref import WeakValueDictionary

from funcdiff.errors import ProgramError

T = TypeVar("T")

_NUMBERED: Final = re.compile(r"\.\d+\Z")


class Name(str, Generic[T]):
    """The name of some code, with the code itself; pickled and copied without it."""

    __slots__ = ("__weakref__", "code")
    code: T

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class Entered(Generic[T]):
    """The code that is in use, by name; messages say what it is, and what to do where it is not."""

    def __init__(self, what: str, cure: str) -> None:
        self._what: Final = what
        self._cure: Final = cure
        self._living: Final[WeakValueDictionary[str, Name[T]]] = WeakValueDictionary()
        self._given: Final[dict[str, Iterator[int]]] = {}

    def __len__(self) -> int:
        return len(self._living)

    def enter(self, name: str, code: T) -> Name[T]:
        """Enter code; return its name, numbered if it was given before."""
        if _NUMBERED.search(name):  # a function may be named like the second one of another name
            name += "."
        number = next(self._given.setdefault(name, count(1)))
        unique: Name[T] = Name(name if number == 1 else f"{name}.{number}")
        unique.code = code
        self._living[str(unique)] = unique  # a copy: the key must not keep the value
        return unique

    def __getitem__(self, name: str) -> T:
        found = self._living.get(name)
        if found is None:
            raise ProgramError(
                f"a program needs {self._what} {name!r}, which is not known in this process, or "
                f"not any more. {self._cure}"
            )
        return found.code
