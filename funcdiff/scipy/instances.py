"""Lets plain objects of SciPy's classes be instances of the classes that are borrowed from them."""

from __future__ import annotations

from functools import cache
from typing import Any


class Borrowed(type):
    """A metaclass of classes that name in `borrowed_from` whose objects are instances, too.

    So code that asks for a class of its own takes plain objects beside those that hold traced
    arrays: a product of a plain rotation and one of a traced vector.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        plain = vars(cls).get("borrowed_from", ())
        return isinstance(instance, plain) or super().__instancecheck__(instance)


def metaclass_of(plain: type) -> Any:
    """Return the metaclass of what is borrowed from a class."""
    return _class_with_instances(type(plain))


@cache
def _class_with_instances(kind: Any) -> Any:
    return Borrowed if kind is type else type(kind.__name__, (Borrowed, kind), {})
