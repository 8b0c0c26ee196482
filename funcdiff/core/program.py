"""Programs: immutable, typed, straight-line lists of equations in SSA form, and their text."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.late import computed, late_import
from funcdiff.core.origins import Origins
from funcdiff.core.primitive import Operation, P, Params, Primitive, operation
from funcdiff.core.types import DTYPE_NAMES, ArrayType


class _Parts(NamedTuple):
    """What an equation consists of."""

    operation: Operation
    operands: tuple[Atom, ...]
    results: tuple[Var, ...]


class Equation(_Parts):
    """One step of a program: ``results = primitive{params} operands``.

    Its operation is the primitive with its parameters at the types of the operands.
    """

    __slots__ = ()

    @property
    def primitive(self) -> Primitive[Any]:
        """What is applied."""
        return self.operation.primitive

    @property
    def params(self) -> Params:
        """How."""
        return self.operation.params

    def __reduce__(self) -> tuple[Any, ...]:
        return equation, (self.primitive, self.params, self.operands, self.results)

    def params_as(self, kind: type[P]) -> P:
        """Return the parameters, of which the primitive says that they are of that class."""
        params = self.params
        assert isinstance(params, kind), f"{self.primitive} has no parameters {kind.__name__}"
        return params

    def __str__(self) -> str:
        return _equation(self)


def equation(
    primitive: Primitive[Any], params: Params, operands: tuple[Atom, ...], results: tuple[Var, ...]
) -> Equation:
    """Return the equation of a primitive.

    Raises what the type rule raises if parameters or operands do not fit.
    """
    return Equation(
        operation(primitive, params, tuple([x.type for x in operands])), operands, results
    )


@lru_cache(maxsize=256)
def program_of_operation(op: Operation) -> Program:
    """Return the program that applies an operation to its inputs."""
    numbers = count()
    inputs, results = (
        tuple([Var(next(numbers), t) for t in types]) for types in (op.operands, op.results)
    )
    return Program(inputs, (Equation(op, inputs, results),), results)


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
    origins
        Where the variables come from, in order; None unless the program was made to be read.

    Because the numbering is canonical, ``==`` is equality up to renaming.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> program = fd.trace(lambda x: np.sin(x) * x)(2.0)
    >>> len(program.equations)
    2
    >>> program == fd.trace(lambda z: np.sin(z) * z)(3.0)
    True
    >>> program == fd.parse(str(program))
    True
    """

    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]
    origins: Origins | None = None

    @computed
    def _hash(self) -> int:
        return hash((self.inputs, self.equations, self.outputs))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):  # no global name: at exit it may be gone
            return NotImplemented
        return self is other or (
            self._hash == other._hash
            and self.inputs == other.inputs
            and self.outputs == other.outputs
            and self.equations == other.equations
            and self.origins == other.origins
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # without the cached hash, which holds in this process only
        return Program, (self.inputs, self.equations, self.outputs)

    @computed
    def equation_count(self) -> int:
        """How many equations there are, those of the programs in parameters included."""
        return len(self.equations) + sum(eq.params.equation_count for eq in self.equations)

    @computed
    def ends(self) -> bool:
        """Whether an equation counts though nobody needs its results: a guard, or a check."""
        return any(eq.operation.ends for eq in self.equations)

    @computed
    def raises(self) -> bool:
        """Whether an equation may raise for some values of its operands."""
        return any(eq.primitive.facts.raises or eq.params.total("raises") for eq in self.equations)

    @property
    def input_types(self) -> tuple[ArrayType, ...]:
        """Types of the inputs."""
        return tuple([v.type for v in self.inputs])

    @property
    def output_types(self) -> tuple[ArrayType, ...]:
        """Types of the outputs."""
        return tuple([atom.type for atom in self.outputs])

    def __str__(self) -> str:
        return "\n".join(lines(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return how a notebook shows it: drawn if igraph is installed, or else as text."""
        shown: str = late_import("funcdiff.reading.drawing.picture").program_html(self)
        return shown


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


def atoms_in_use(program: Program) -> set[Atom]:
    """Return the atoms that equations or outputs of the program refer to."""
    return {atom for eq in program.equations for atom in eq.operands}.union(program.outputs)
