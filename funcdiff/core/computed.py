"""A cached property: an attribute that is computed when it is first asked for.

Unlike `functools.cached_property` of Python 3.11 this takes no lock, which a process that was
forked meanwhile would find taken for ever.  What two threads compute at once is equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")


class computed(Generic[T]):  # noqa: N801  (it reads as `property` does)
    """A method without arguments as an attribute that is kept by the instance."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, instance: Any, owner: type) -> T:
        if instance is None:
            return cast(T, self)  # as a property of its class is, of which nobody asks the type
        value = instance.__dict__[self._name] = self._function(instance)
        return value
