"""What Python is told of the class of a traced value, to decide as for the value itself.

``isinstance``, ``match``, ``functools.singledispatch`` and abstract base classes ask a value for
its ``__class__``; abstract base classes also look for methods in the bases of its type.
"""

from __future__ import annotations

from typing import Any, NoReturn

from funcdiff.errors import user_location


class StandsFor(type):
    """The class of classes that show the bases of another, ``stands_for``, as theirs.

    With its own bases a traced array would be a ``collections.abc.Hashable``, since it has a
    ``__hash__`` that raises, and a traced scalar an ``Iterable``.
    """

    stands_for: type[Any]

    @property
    def __mro__(cls) -> Any:
        return cls.stands_for.__mro__


class NoSuchMethodError(TypeError, AttributeError):
    """A method of Python's protocols is not there: ``hasattr`` is false, and a use raises."""


class Absent:
    """Stands where a method would be, and raises with the place and the cure when it is used."""

    def __init__(self, problem: str, cure: str) -> None:
        self._problem = problem
        self._cure = cure

    def __get__(self, instance: Any, owner: Any = None) -> NoReturn:
        raise NoSuchMethodError(f"{self._problem}, at {user_location()}. {self._cure}")
