"""Atoms, the operands of programs: variables and literals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.late import computed
from funcdiff.core.types import ArrayType
from funcdiff.pytree.statics import scalar_bits


class Var(NamedTuple):
    """A variable, numbered in order of definition: inputs first, then results."""

    number: int
    type: ArrayType

    def __repr__(self) -> str:
        return f"%{self.number}"


@dataclass(frozen=True, eq=False)
class Literal:
    """One number filled to a type: ``2.0:f64[3]`` is an array of three twos.

    Literals compare by bits, so that ``nan`` equals itself and ``-0.0`` differs from ``0.0``.
    """

    value: Any
    type: ArrayType

    @computed
    def bits(self) -> bytes:
        """What tells two values of one type apart."""
        return scalar_bits(self.value)

    @computed
    def array(self) -> Any:
        """The value as NumPy sees it: a scalar, or a read-only array without own memory."""
        shape = self.type.shape
        if not shape:
            return self.value
        # sooner done than numpy.broadcast_to
        return np.ndarray(shape, self.type.dtype, self.value.tobytes(), strides=(0,) * len(shape))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self.type is other.type and self.bits == other.bits

    @computed
    def _hash(self) -> int:
        return hash((self.type, self.bits))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # without the cached hash, which holds in this process only
        return Literal, (self.value, self.type)

    def __repr__(self) -> str:
        return f"{_number(self.value)}:{self.type}"


Atom: TypeAlias = Var | Literal


def literal(value: Any, type_: ArrayType) -> Literal:
    """Return a scalar as a literal of the given type.

    Raises `OverflowError` if an integer does not fit the dtype, as in NumPy.
    """
    scalar = np.asarray(value, type_.dtype)[()] if type(value) is not type_.dtype.type else value
    return Literal(scalar, type_)


def _number(value: Any) -> str:
    """Return a NumPy scalar in the fewest digits that tell it from its neighbours."""
    if isinstance(value, np.complexfloating):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    if not isinstance(value, np.floating):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if np.isnan(value):
        plain = scalar_bits(value) == scalar_bits(value.dtype.type(np.nan))
        return "nan" if plain else f"nan<{scalar_bits(value).hex()}>"
    positional = value == 0 or 1e-4 <= float(abs(value)) < 1e16
    write = np.format_float_positional if positional else np.format_float_scientific
    return write(value, trim="0")


Ref: TypeAlias = int | Literal
"""In a program that is being recorded: the number of a variable, or a literal."""

Entry: TypeAlias = tuple[Any, ...]
"""Defines a variable of a program that is being recorded: `funcdiff.core.recording.entries`."""
