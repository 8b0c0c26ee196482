"""The classes that stand for traced values under autograd's names, and access to the values."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from funcdiff import pytree
from funcdiff.api.inspection import stop_gradient
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, InputError, user_location
from funcdiff.numpy.border.values import concrete_value


class _Boxes(type):
    """The class of `Box`, of which all traced values are instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isbox(instance)


class _Containers(type):
    """The class of `SequenceBox` and `DictBox`, whose instances are containers of traced values."""

    of: tuple[type, ...]

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = type(instance)
        return issubclass(kind, cls.of) and any(map(isbox, pytree.flatten(instance)[0]))


class Box(metaclass=_Boxes):
    """What ``isinstance(x, Box)`` asks for: a traced value, of arrays and numbers alike.

    Containers are not boxed: a traced dict is a dict of traced values.
    """

    def __init_subclass__(cls) -> None:
        cls.register(cls)

    @classmethod
    def register(cls, value_type: type) -> NoReturn:
        """Raise: there are no boxes for classes of one's own."""
        raise InputError(
            f"no box can be registered for {value_type.__name__}, at {user_location()}. Classes "
            "that hold arrays are registered with fd.pytree.register(cls, flatten, unflatten)."
        )


class SequenceBox(metaclass=_Containers):
    """What ``isinstance(x, SequenceBox)`` asks for: a list or a tuple with traced values."""

    of = (list, tuple)


class DictBox(metaclass=_Containers):
    """What ``isinstance(x, DictBox)`` asks for: a dict with traced values."""

    of = (dict,)


def isbox(x: Any) -> bool:
    """Return whether `x` is a traced value."""
    return isinstance(x, Tracer)


def getval(x: Any) -> Any:
    """Return the plain value of `x`, without a derivative; anything else as it is.

    Where nothing has a value, inside `jit` and `vmap`, it is what `stop_gradient` returns.
    """
    if not isinstance(x, Tracer):
        return x
    try:
        value = concrete_value(x)
    except ConcreteValueError:
        return stop_gradient(x)
    return np.copy(value)[()]


# ``x._value`` of a box.  It is the plain value at every depth of derivatives, where a box of
# autograd's gives the next one: what packages want of it is to look at numbers.
Tracer._value = property(getval)  # type: ignore[attr-defined]
