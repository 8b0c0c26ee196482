"""Generates Python source for a program: one assignment of a NumPy call per equation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.backend.code.broadcasting import implicit_broadcasts
from funcdiff.backend.code.formulas import (
    FORMULAS,
    is_gather_of_rows,
    is_ufunc,
    reduction_ufunc,
    with_new_axes,
)
from funcdiff.backend.code.memory import in_calls
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.liveness import last_uses
from funcdiff.core.overwriting import choices
from funcdiff.core.program import Equation, Program
from funcdiff.space import Axes

_OF_NUMPY: Final = re.compile(r"np\.(\w+)")

_LARGE: Final = 1 << 15
"""Bytes from which an array is freed as soon as it is dead."""


_numbers: Final = count()
"""Of the texts, by which tracebacks tell them apart."""


class Source(NamedTuple):
    """The text of a function, and what its names mean."""

    text: str  # ``def program(x0, ...): ... return [...]``
    names: dict[str, Any]  # functions and constants that the text uses

    def function(self) -> Callable[..., Any]:
        """Return the function that the text defines."""
        names = dict(self.names)
        exec(compile(self.text, f"<funcdiff program {next(_numbers)}>", "exec"), names)
        defined: Callable[..., Any] = names["program"]
        return defined


def function(name: str, parameters: Iterable[str], lines: Iterable[str]) -> str:
    """Return the text of a function."""
    return "\n    ".join([f"def {name}({', '.join(parameters)}):", *lines]) + "\n"


class Writer:
    """Names for the variables, constants and functions of a program, and calls of the latter."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names: dict[str, Any] = {}
        self._known: dict[Any, str] = {}
        self._views = implicit_broadcasts(program, is_ufunc)
        pairs = zip(program.equations, choices(program, last_uses(program)), strict=True)
        self._choices = {eq.results[0].number: choice for eq, choice in pairs}

    def _call(self, eq: Equation) -> str:
        """Return the call that computes the results of an equation in new memory."""
        if is_ufunc(eq):
            return self._elementwise(eq)
        operands = [self._operand(atom) for atom in eq.operands]
        plain = self._choices[eq.results[0].number].function is eq.operation.function
        if plain and eq.primitive in FORMULAS and not is_gather_of_rows(eq):
            return self._bind_numpy(FORMULAS[eq.primitive](eq, *operands))
        if reduction_ufunc(eq) is not None:
            return self._reduction(eq)
        return f"{self._function(eq)}({', '.join(operands)})"

    def _reduction(self, eq: Equation, place: str = "") -> str:
        """Return the call that reduces an array, to given memory if there is some."""
        p, type_, dtype = eq.params_as(Axes), eq.operands[0].type, eq.results[0].type.dtype
        ufunc: Any = reduction_ufunc(eq)
        function = self._bind(ufunc.reduce, f"{ufunc.__name__}_reduce", ufunc.reduce)
        axes = None if len(p.axes) == type_.ndim else p.axes[0] if len(p.axes) == 1 else p.axes
        arguments = [self._operand(eq.operands[0]), str(axes)]
        if dtype.kind not in "fc" or place:
            arguments.append(self._dtype(dtype))
        return f"{function}({', '.join([*arguments, *filter(None, [place])])})"

    def _elementwise(self, eq: Equation, place: str = "") -> str:
        """Return the call of a ufunc, which writes to given memory if there is some."""
        operands = [
            self._constant(eq, atom) if isinstance(atom, Literal) else self._name(atom)
            for atom in eq.operands
        ]
        if all(isinstance(atom, Literal) for atom in eq.operands):
            operands[0] = self._operand(eq.operands[0])
        if place:
            operands.append(f"out={place}" if _is_out_by_keyword(eq) else place)
        return f"{self._function(eq)}({', '.join(operands)})"

    def _view(self, eq: Equation) -> str:
        """Return the statement for a broadcast that is left to NumPy."""
        (atom,), (result,) = eq.operands, eq.results
        text = with_new_axes(eq, self._operand(atom), len(self._views[result.number]))
        return f"{self._name(result)} = {self._bind_numpy(text)}"

    def _deletions(self, dying: Iterable[Var]) -> list[str]:
        """Return the statement that frees large arrays."""
        large = dict.fromkeys(self._name(v) for v in dying if v.type.nbytes >= _LARGE)
        return [f"del {', '.join(large)}"] if large else []

    # ---- names -----------------------------------------------------------------------------

    def _bind_numpy(self, text: str) -> str:
        """Return a text with the functions of NumPy bound to names, which are found sooner."""
        return _OF_NUMPY.sub(lambda m: self._numpy(m[1]), text)

    def _numpy(self, word: str) -> str:
        function = getattr(np, word)
        return self._bind(function, word, function)

    def _dtype(self, dtype: np.dtype[Any]) -> str:
        return self._bind_numbered(dtype, "dtype_", dtype)

    def _name(self, v: Var) -> str:
        return f"x{v.number}" if v.number < len(self._program.inputs) else f"v{v.number}"

    def _operand(self, atom: Atom) -> str:
        if isinstance(atom, Var):
            return self._name(atom)
        return self._bind_numbered(("array", atom), "c", atom.array)

    def _constant(self, eq: Equation, atom: Literal) -> str:
        """Return a constant operand of a ufunc.

        NumPy works on two arrays sooner than on an array and a number, of which it makes one in
        every call; but for some exponents that are one number `np.power` has a fast path.  An
        array without axes has no say in how NumPy lays the result out in memory.
        """
        number = not atom.type.shape or eq.operation.function is np.power
        value = atom.value if number else np.array(atom.value)
        return self._bind_numbered((number, atom.bits, atom.type.dtype), "c", value)

    def _function(self, eq: Equation) -> str:
        function = self._choices[eq.results[0].number].function
        if isinstance(function, np.ufunc):
            return self._bind(function, function.__name__, function)
        in_place = function is not eq.operation.function
        place = eq.results[0].number if in_place else None
        key = (eq.primitive, eq.params, tuple(atom.type for atom in eq.operands), place)
        return self._bind_numbered(key, f"{eq.primitive.name}_", function)

    def _bind_numbered(self, key: Any, word: str, value: Any) -> str:
        return self._bind(key, f"{word}{len(self._known)}", value)

    def _bind(self, key: Any, name: str, value: Any) -> str:
        if key not in self._known:
            self._known[key] = name
            self._names[name] = value
        return self._known[key]


def _is_out_by_keyword(eq: Equation) -> bool:
    """Whether NumPy deprecates the memory for the result by position."""
    return eq.operation.function in (np.maximum, np.minimum)


def source(program: Program) -> Source:
    """Return the source of a program.

    The function takes and returns what the interpreter does, and computes the same bits.
    """
    return _Faithful(program).source()


class _Faithful(Writer):
    """Writes code that computes the interpreter's bits."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._memory = in_calls(program)
        first: dict[int, int] = {}
        self._buffer = {
            number: first.setdefault(slot, number) for number, slot in self._memory.slot.items()
        }

    def source(self) -> Source:
        program = self._program
        lines: list[str] = []
        for eq, dying in zip(program.equations, self._memory.dying, strict=True):
            atoms = {a.number: a for a in (*eq.operands, *eq.results) if isinstance(a, Var)}
            lines += [self._statement(eq), *self._deletions(atoms[k] for k in dying)]
        lines.append(f"return [{', '.join(map(self._operand, program.outputs))}]")
        return Source(function("program", map(self._name, program.inputs), lines), self._names)

    def _statement(self, eq: Equation) -> str:
        number = eq.results[0].number
        if number in self._views:
            return self._view(eq)
        names = ", ".join(self._name(v) for v in eq.results)
        if self._buffer.get(number, number) != number:
            return self._elementwise(eq, names)
        return f"{names} = {self._call(eq)}"

    def _name(self, v: Var) -> str:
        return super()._name(Var(self._buffer.get(v.number, v.number), v.type))
