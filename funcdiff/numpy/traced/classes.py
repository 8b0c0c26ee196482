"""Class identity of traced values: ``isinstance``, ``match`` and dispatch by type.

``isinstance``, ``match``, ``functools.singledispatch`` and abstract base classes ask a value for
its ``__class__``; abstract base classes also look for methods in the bases of its type.
"""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from funcdiff.errors import UnsupportedNumPyError, user_frame, user_location
from funcdiff.numpy.messages.mistakes import cure_in_scipy


class StandsFor(type):
    """The class of classes that show the bases of another, ``_stands_for``, as theirs.

    With its own bases a traced array would be a ``collections.abc.Hashable``, since it has a
    ``__hash__`` that raises, and a traced scalar an ``Iterable``.
    """

    _stands_for: type[Any]
    _claimed: tuple[type[Any], ...]

    @property
    def __mro__(cls) -> Any:
        return cls._stands_for.__mro__

    def __eq__(cls, other: object) -> bool:
        """Refuse ``type(x) == np.ndarray`` in the user's code: false here, where it is true."""
        if (
            cls is not other
            and isinstance(other, type)
            and issubclass(other, cls._claimed)
            and user_frame() is sys._getframe(1)
        ):
            name = other.__name__
            raise TypeError(
                f"type(x) was compared with {name} at {user_location()}, where x is a traced value "
                f"that has a type of its own. Write isinstance(x, {name}), which holds if it "
                "holds for what x stands for."
            )
        return cls is other

    __hash__ = type.__hash__


class NoSuchMethodError(TypeError, AttributeError):
    """A method of Python's protocols is not there: ``hasattr`` is false, and a use raises."""


class UnsupportedAttributeError(UnsupportedNumPyError, AttributeError):
    """A traced array has not an attribute that ndarrays have: ``hasattr`` is false."""


class NoMatricesError(ValueError, AttributeError):
    """An array of fewer than two axes has no ``mT``: NumPy's error, and ``hasattr`` is false."""


class Absent:
    """Stands where a method would be, and raises with the place and the cure when it is used."""

    def __init__(self, problem: str, cure: str) -> None:
        self._problem = problem
        self._cure = cure

    def __get__(self, instance: Any, owner: Any = None) -> NoReturn:
        cure = cure_in_scipy() or self._cure
        raise NoSuchMethodError(f"{self._problem}, at {user_location()}. {cure}")
