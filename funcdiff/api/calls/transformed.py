"""The functions that transforms return: values that pickle, print and compare.

They are called like functions, and bind to instances as such; but they pickle, print and compare by
the transform, the user's function and the options, of which they can be made again anywhere.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, TypeVar, cast

from funcdiff.api.calls.wrong_calls import Uncalled, explains_calls
from funcdiff.core.tracebacks import shorten

F = TypeVar("F", bound=Callable[..., Any])


class ByParts(Uncalled):
    """A callable that pickles as a call that makes it, or by its name if it has one of its own.

    A function that a transform decorates in a module is known there by its name, under which the
    user's own function is not to be found any more.
    """

    __wrapped__: Callable[..., Any]
    __qualname__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute it."""
        raise NotImplementedError

    def _take_after(self, function: Callable[..., Any]) -> None:
        """Have the names of a function, its documentation, and what the user has attached to it."""
        given = getattr(function, "__dict__", {})
        attached = {k: v for k, v in given.items() if not k.startswith("_")}
        vars(self).update(attached)
        functools.update_wrapper(self, function, updated=())

    def _parts(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the function that makes this one, and what it takes."""
        raise NotImplementedError

    def __reduce__(self) -> str | tuple[Any, ...]:
        name = getattr(self.__wrapped__, "__qualname__", "")
        module = sys.modules.get(self.__module__ or "")
        if module is not None and _attribute(module, name) is self:
            return str(name)
        make, args, kwargs = self._parts()
        return functools.partial(make, **kwargs) if kwargs else make, args, self._state()

    def _state(self) -> Any:
        """Return what ``__setstate__`` sets: it may refer to this function, once that is made."""
        return None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ByParts) or type(other) is not type(self):
            return False
        return _equal((self._parts(), self._state()), (other._parts(), other._state()))

    def __hash__(self) -> int:
        make, args, _ = self._parts()
        return hash((make, args[0]))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be transformed."""
        return self if instance is None else functools.partial(self, instance)


def _attribute(owner: Any, name: str) -> Any:
    """Return what has a qualified name in a module, if that is anything."""
    for part in name.split("."):
        owner = getattr(owner, part, None)
    return owner


def _equal(these: Any, those: Any) -> bool:
    try:
        return bool(these == those)
    except ValueError:  # options with arrays
        return False


class Transformed(ByParts):
    """The function that a transform returns, computed by `function`.

    It is a value made of the transform and of its arguments, the user's function first.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        transform: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        self._take_after(function)
        self.__wrapped__ = vars(function).get("__wrapped__", function)  # the user's
        self._call = function
        self._made = transform, args, dict(kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute it."""
        try:
            return self._call(*args, **kwargs)
        except BaseException as error:
            shorten(error)
            raise

    def _parts(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        return self._made

    def __repr__(self) -> str:
        return str(self.__qualname__)


def transform(function: F) -> F:
    """Let a transform return functions that are values, and say what is wrong with its calls."""

    @functools.wraps(function)
    def apply(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        return Transformed(found, public, args, kwargs) if type(found) is FunctionType else found

    public: F = explains_calls(cast(F, apply))
    return public
