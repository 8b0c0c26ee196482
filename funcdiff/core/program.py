"""A program: an immutable, typed, straight-line list of equations, and its text."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.computed import computed
from funcdiff.core.primitive import Operation, Params, Primitive, operation
from funcdiff.core.types import DTYPE_NAMES, ArrayType
from funcdiff.pytree.bits import scalar_bits


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
        return np.broadcast_to(self.value, self.type.shape) if self.type.shape else self.value

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
    """Return `value` (a scalar) as a literal of the given type.

    Raises
    ------
    OverflowError
        If an integer does not fit the dtype, as in NumPy.
    """
    scalar = np.asarray(value, type_.dtype)[()] if type(value) is not type_.dtype.type else value
    return Literal(scalar, type_)


class Equation(NamedTuple):
    """One step of a program: ``results = primitive{params} operands``."""

    primitive: Primitive[Any]
    params: Params
    operands: tuple[Atom, ...]
    results: tuple[Var, ...]

    @property
    def operation(self) -> Operation:
        """The primitive with its parameters at the types of the operands.

        Raises what the type rule raises if they do not fit.
        """
        return operation(self.primitive, self.params, tuple(atom.type for atom in self.operands))

    def __str__(self) -> str:
        return _equation(self)


@dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A closed, pure function of arrays as data.

    Attributes
    ----------
    inputs
        Variables numbered from 0.
    equations
        In order of evaluation; results are numbered on from the inputs.
    outputs
        Variables or literals.

    Because the numbering is canonical, ``==`` is equality up to renaming.
    """

    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]

    @computed
    def _hash(self) -> int:
        return hash((self.inputs, self.equations, self.outputs))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self is other or (
            self._hash == other._hash
            and self.inputs == other.inputs
            and self.outputs == other.outputs
            and self.equations == other.equations
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # without the cached hash, which holds in this process only
        return Program, (self.inputs, self.equations, self.outputs)

    @computed
    def equation_count(self) -> int:
        """How many equations there are, those of the programs in parameters included."""
        return len(self.equations) + sum(eq.params.equation_count for eq in self.equations)

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """Types of the inputs."""
        return tuple(v.type for v in self.inputs)

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """Types of the outputs."""
        return tuple(atom.type for atom in self.outputs)

    def __str__(self) -> str:
        return "\n".join(lines(self))

    __repr__ = __str__


INDENT: Final = "  "


def lines(program: Program) -> list[str]:
    """Return the text of a program line by line; an equation with nested programs takes several."""
    inputs = ", ".join(f"{v}: {v.type}" for v in program.inputs)
    body = [f"{INDENT}{line}" for eq in program.equations for line in _equation(eq).split("\n")]
    outputs = f"{INDENT}return {', '.join(map(repr, program.outputs))}".rstrip()
    return [f"program({inputs}) {{", *body, outputs, "}"]


def _equation(eq: Equation) -> str:
    results = ", ".join(f"{v}: {v.type}" for v in eq.results)
    operands = ", ".join(map(repr, eq.operands))
    return f"{results} = {eq.primitive.name}{_params(eq.params)} {operands}".strip()


def _params(params: Params) -> str:
    entries = [f"{f.name}={_value(getattr(params, f.name))}" for f in fields(params)]
    return f"{{{', '.join(entries)}}}" if entries else ""


def _value(value: object) -> str:
    if isinstance(value, Program):
        return f"\n{INDENT}".join(lines(value))
    if isinstance(value, tuple):
        inner = ", ".join(map(_value, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, np.dtype):
        return DTYPE_NAMES.get(value, repr(value))
    if isinstance(value, str):  # of whatever class, it is read as a plain one
        return str.__repr__(value)
    return repr(value)


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


def used(program: Program) -> set[Atom]:
    """Return the atoms that equations or outputs of the program refer to."""
    return {atom for eq in program.equations for atom in eq.operands}.union(program.outputs)
