"""Verifies the invariants of a program that was built by hand or by a transform."""

from __future__ import annotations

import typing
from collections.abc import Hashable
from dataclasses import fields
from functools import lru_cache
from types import UnionType
from typing import Any, Final, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.primitive import Params, primitives
from funcdiff.core.program import Equation, Program, lines
from funcdiff.core.running.walk import nested
from funcdiff.core.types import DTYPE_NAMES, ArrayType
from funcdiff.errors import VerificationError


def fault_of(params: Params) -> str | None:
    """Return which parameter is not what its class declares, None if all are.

    Types are exact, for parameters are compared by ``==``, and 0 is equal to 0.0 and to False.
    """
    hints = _hints(cast("Hashable", type(params)))
    for field in fields(params):
        value = getattr(params, field.name)
        if not _is_static(value):
            return (
                f"{field.name} is the {type(value).__name__} {value!r}: parameters are ints, "
                "floats (not nan), bools, strings, None, dtypes, types, programs and tuples of "
                "these"
            )
        if not _is_of_type(value, hints[field.name]):
            found = f"the {type(value).__name__} {value!r}"
            return f"{field.name} is {found}, where {field.type} is declared"
    return None


@lru_cache(maxsize=1024)
def _hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def _is_static(value: Any) -> bool:
    """Whether a value is hashable, equal to itself, printable and parseable."""
    if type(value) is tuple:
        return all(map(_is_static, value))
    if isinstance(value, np.dtype):
        return value in DTYPE_NAMES
    if type(value) is float:
        return value == value
    return value is None or isinstance(value, str) or type(value) in (bool, int, ArrayType, Program)


def _is_of_type(value: Any, hint: Any) -> bool:
    """Whether a static value is of a declared type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if args[-1:] == (...,):
            return all(_is_of_type(item, args[0]) for item in value)
        return len(value) == len(args) and all(map(_is_of_type, value, args))
    if origin is typing.Literal:
        return any(type(value) is type(arg) and value == arg for arg in args)
    if origin in (Union, UnionType):
        return any(_is_of_type(value, arg) for arg in args)
    if hint is str or origin is np.dtype:
        return isinstance(value, origin or hint)
    return hint in (Any, object) or type(value) is hint


# ---- programs ------------------------------------------------------------------------------------


_ARROW: Final = "--> "
_SHOWN: Final = 20
"""Lines of a long program that are printed before and after the marked one."""


class _Fault(NamedTuple):
    """What is wrong, and in which line of the program's text."""

    line: int
    what: str


def check(program: Program) -> None:
    """Verify a program; raise `VerificationError`, which prints it with the line marked.

    - Variables are numbered in order of definition from 0, inputs first, and used only after
      their definition, with the type that was recorded there.
    - Result types are those that the type rule gives, applied anew.
    - Literals are NumPy scalars of their dtype.
    - Parameters belong to the primitive, are hashable, and have values that can be printed and
      parsed; programs among them are verified too.

    >>> from funcdiff.core.text.parse import parse
    >>> program = parse('''program(%0: f64[3], %1: f64[]) {
    ...   %2: f64[3] = neg %0
    ...   return %2
    ... }''')
    >>> check(program)
    >>> check(Program(program.inputs[1:], program.equations, program.outputs))
    Traceback (most recent call last):
    ...
    funcdiff.errors.VerificationError: %1 is defined where %0 should be: variables are numbered
    in order of definition, inputs first
    --> program(%1: f64[]) {
          %2: f64[3] = neg %0
          return %2
        }
    """
    fault = _fault(program)
    if fault is not None:
        raise VerificationError(f"{fault.what}\n{_mark_line(lines(program), fault.line)}")


def _mark_line(text: list[str], line: int) -> str:
    """Return a program with an arrow at one line, without what is far from it."""
    first, last = max(line - _SHOWN, 0), min(line + _SHOWN + 1, len(text))
    blank = " " * len(_ARROW)
    shown = [f"{_ARROW if k == line else blank}{text[k]}" for k in range(first, last)]
    above = [f"{blank}... {first} lines ..."] if first else []
    below = [f"{blank}... {len(text) - last} lines ..."] if last < len(text) else []
    return "\n".join([*above, *shown, *below])


def _fault(program: Program) -> _Fault | None:
    """Return the first fault of a program."""
    defined: list[Var] = []
    what = _define(program.inputs, defined)
    if what is not None:
        return _Fault(0, what)
    for index, eq in enumerate(program.equations):
        fault = _equation_fault(eq, defined)
        if fault is not None:
            above = sum(str(before).count("\n") + 1 for before in program.equations[:index])
            return _Fault(1 + above + fault.line, fault.what)
    what = _misuse(program.outputs, defined)
    if what is not None:
        return _Fault(len(lines(program)) - 2, what)
    return None


def _equation_fault(eq: Equation, defined: list[Var]) -> _Fault | None:
    what = _misuse(eq.operands, defined) or _params_fault(eq)
    if what is not None:
        return _Fault(0, what)
    line = 0
    for inner in nested(eq.params):
        fault = _fault(inner)
        if fault is not None:
            return _Fault(line + fault.line, fault.what)
        line += len(lines(inner)) - 1
    what = _type_fault(eq) or _define(eq.results, defined)
    return None if what is None else _Fault(0, what)


# ---- variables and literals ------------------------------------------------------------------


def _define(variables: tuple[Var, ...], defined: list[Var]) -> str | None:
    """Add definitions to those before; return what is wrong with one."""
    for v in variables:
        if v.number != len(defined):
            return (
                f"{v} is defined where %{len(defined)} should be: variables are numbered in "
                "order of definition, inputs first"
            )
        if not isinstance(v.type, ArrayType):
            return f"the type of {v} is {v.type!r}, which is no ArrayType"
        defined.append(v)
    return None


def _misuse(atoms: tuple[Atom, ...], defined: list[Var]) -> str | None:
    """Return what is wrong with the use of an operand or output."""
    for atom in atoms:
        if isinstance(atom, Literal):
            dtype = getattr(atom.value, "dtype", None)
            if not isinstance(atom.value, np.generic) or dtype != atom.type.dtype:
                return (
                    f"the literal {atom} holds a {type(atom.value).__name__}, where a NumPy "
                    f"scalar of dtype {atom.type.dtype} should be: make it with `literal`"
                )
        elif not isinstance(atom, Var):
            return f"{atom!r} is neither a variable nor a literal"
        elif not 0 <= atom.number < len(defined):
            return f"{atom} is used before it is defined"
        elif defined[atom.number].type is not atom.type:
            return f"{atom} is used as {atom.type}, but it is a {defined[atom.number].type}"
    return None


# ---- parameters and types --------------------------------------------------------------------


def _params_fault(eq: Equation) -> str | None:
    name = eq.primitive.name
    if primitives.get(name) is not eq.primitive:
        return f"{name} is not in the primitive table"
    if type(eq.params) is not eq.primitive.params:
        wanted = eq.primitive.params.__name__
        return f"{name} has parameters of class {wanted}, not {type(eq.params).__name__}"
    fault = fault_of(eq.params)
    return None if fault is None else f"the parameter {fault.replace(' is', f' of {name} is', 1)}"


def _type_fault(eq: Equation) -> str | None:
    """Apply the type rule anew and compare."""
    operands = tuple(atom.type for atom in eq.operands)
    try:
        results = eq.primitive.abstract(eq.params, *operands)
    except Exception as error:  # params that do not fit may fail in any way
        return f"{eq.primitive} does not accept operands of types {operands}: {error}"
    if tuple(results) != tuple(v.type for v in eq.results):
        return f"{eq.primitive} gives results of types {tuple(results)}"
    if eq.operation.operands != operands:
        return f"{eq.primitive} is the operation on operands of types {eq.operation.operands}"
    return None
