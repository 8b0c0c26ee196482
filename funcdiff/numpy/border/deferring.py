"""Defers to operands of other libraries that override ufuncs, as ndarrays do: `__array_ufunc__`.

Reference: N. J. Smith, R. Gommers et al., NEP 13, "A mechanism for overriding ufuncs", 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import user_location
from funcdiff.numpy.border.sparse import is_sparse

_PLAIN: Final = ("pandas.",)
"""Packages whose objects hold plain arrays only, so that a traced array takes their values."""


class Stance(Enum):
    """What an operand does about ufuncs."""

    NONE = 0
    """Its values are taken."""
    REFUSES = 1
    """It takes part in none, and has operators of its own: ``__array_ufunc__ = None``."""
    OVERRIDES = 2
    """It is asked first."""
    SPARSE = 3
    """It is a sparse array of SciPy's: its values are taken, but not by operators."""


def _stance(kind: Any) -> Stance:
    """Return what operands of a class do.

    Subclasses of ndarray that compute in a way of their own are refused elsewhere.
    """
    if issubclass(kind, np.ndarray | np.generic | Tracer):
        return Stance.NONE
    if is_sparse(kind):
        return Stance.SPARSE
    protocol = getattr(kind, "__array_ufunc__", _stance)
    if protocol is None:
        return Stance.REFUSES
    plain = any(base.__module__.startswith(_PLAIN) for base in kind.__mro__)
    return Stance.NONE if protocol is _stance or plain else Stance.OVERRIDES


stance_of: Final[Callable[[Any], Stance]] = lru_cache(maxsize=1024)(_stance)
"""As `_stance`, by the class, which is asked once."""


def overrides(operands: Sequence[Any]) -> bool:
    """Whether one of the operands is to be asked first."""
    for x in operands:  # noqa: SIM110 -- a generator costs twice the time
        if stance_of(type(x)) is Stance.OVERRIDES:
            return True
    return False


def ask_operands(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return what operands that override ufuncs make of one, asked from left to right.

    Raises `TypeError` if none of them knows what to do.
    """
    out = kwargs.get("out", ())
    for x in (*inputs, *(out if isinstance(out, tuple) else (out,))):
        kind: Any = type(x)
        if stance_of(kind) is not Stance.OVERRIDES:
            continue
        try:
            result = kind.__array_ufunc__(x, ufunc, method, *inputs, **kwargs)
        except Exception as error:
            error.add_note(
                f"funcdiff: raised by {kind.__name__}.__array_ufunc__, which was asked for "
                f"np.{ufunc.__name__} with a traced array at {user_location()}"
            )
            raise
        if result is not NotImplemented:
            return result
    names = ", ".join(sorted({type(x).__name__ for x in inputs if not isinstance(x, Tracer)}))
    raise TypeError(
        f"np.{ufunc.__name__} met a traced array and a {names}, whose __array_ufunc__ does not "
        f"know traced arrays, at {user_location()}. Give it np.ndarray to handle, for which traced "
        "arrays stand, or use the numbers in it."
    )
