"""Generates Python source for a program: one assignment of a NumPy call per equation."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from itertools import count
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.backend.checking import with_check
from funcdiff.backend.code.formulas import (
    FORMULAS,
    is_gather_of_rows,
    is_ufunc,
    product,
    reduction_ufunc,
    reshape,
    with_new_axes,
)
from funcdiff.backend.code.lower import implicit_broadcasts
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.program import Equation, Program, equation
from funcdiff.core.running.dataflow import choices, last_uses
from funcdiff.ops.products.contract import (
    Contraction,
    arrangement,
    contract_p,
    contraction,
    is_matrix_product,
)
from funcdiff.ops.products.masked import MaskedContraction
from funcdiff.space import Axes

LONGEST: Final = 4000
"""Equations up to which compiled code is faster; longer programs stay interpreted."""

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


class Quick(NamedTuple):
    """A function in place of the interpreter's: by a key, with a word for its name."""

    key: Any
    word: str
    function: Callable[..., Any]


class Calls:
    """Names for the variables, constants and functions of a program, and calls of the latter.

    These compute the interpreter's bits, but for what `quicker` finds for an equation.
    """

    def __init__(
        self, program: Program, quicker: Callable[[Equation], Quick | None] = lambda _eq: None
    ) -> None:
        self.names: dict[str, Any] = {}  # what they mean
        self.renamed: dict[int, str] = {}  # by number of a variable that has another name
        # By number, the broadcasts that are left to NumPy, and the shapes of their views.
        self.views = implicit_broadcasts(program, is_ufunc)
        pairs = zip(program.equations, choices(program, last_uses(program)), strict=True)
        self.choices = {eq.results[0].number: choice for eq, choice in pairs}
        self._known: dict[Any, str] = {}
        self._inputs, self._quicker = len(program.inputs), quicker

    def call(self, eq: Equation) -> str:
        """Return the call that computes the results of an equation in new memory."""
        if is_ufunc(eq):
            return self.elementwise(eq)
        operands = [self.operand(atom) for atom in eq.operands]
        plain = self.choices[eq.results[0].number].function is eq.operation.function
        formula = FORMULAS.get(eq.primitive)
        if plain and formula is not None and not is_gather_of_rows(eq):
            return self.bind_numpy(formula(eq, *operands))
        if reduction_ufunc(eq) is not None:
            return self.reduction(eq)
        return f"{self._function(eq)}({', '.join(operands)})"

    def reduction(self, eq: Equation, place: str = "") -> str:
        """Return the call that reduces an array, to given memory if there is some."""
        p, type_, dtype = eq.params_as(Axes), eq.operands[0].type, eq.results[0].type.dtype
        ufunc: Any = reduction_ufunc(eq)
        function = self.bind(ufunc.reduce, f"{ufunc.__name__}_reduce", ufunc.reduce)
        axes = None if len(p.axes) == type_.ndim else p.axes[0] if len(p.axes) == 1 else p.axes
        arguments = [self.operand(eq.operands[0]), str(axes)]
        if dtype.kind not in "fc" or place:
            arguments.append(self.dtype(dtype))
        return f"{function}({', '.join([*arguments, *filter(None, [place])])})"

    def elementwise(self, eq: Equation, place: str = "") -> str:
        """Return the call of a ufunc, which writes to given memory if there is some."""
        operands = [
            self._constant(eq, atom) if isinstance(atom, Literal) else self.name(atom)
            for atom in eq.operands
        ]
        if all(isinstance(atom, Literal) for atom in eq.operands):
            operands[0] = self.operand(eq.operands[0])
        if place:  # by position, NumPy deprecates it for these
            by_keyword = eq.operation.function in (np.maximum, np.minimum)
            operands.append(f"out={place}" if by_keyword else place)
        return f"{self._function(eq)}({', '.join(operands)})"

    def view(self, eq: Equation) -> str:
        """Return the statement for a broadcast that is left to NumPy."""
        (atom,), (result,) = eq.operands, eq.results
        text = with_new_axes(eq, self.operand(atom), len(self.views[result.number]))
        return f"{self.name(result)} = {self.bind_numpy(text)}"

    def deletions(self, dying: Iterable[Var]) -> list[str]:
        """Return the statement that frees large arrays."""
        large = dict.fromkeys(self.name(v) for v in dying if v.type.nbytes >= _LARGE)
        return [f"del {', '.join(large)}"] if large else []

    # ---- names -----------------------------------------------------------------------------

    def bind_numpy(self, text: str) -> str:
        """Return a text with the functions of NumPy bound to names, which are found sooner."""
        return _OF_NUMPY.sub(lambda m: self.numpy(m[1]), text)

    def numpy(self, word: str) -> str:
        """Return the name of a function of NumPy."""
        function = getattr(np, word)
        return self.bind(function, word, function)

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """Return the name of a dtype."""
        return self.bind_numbered(dtype, "dtype_", dtype)

    def name(self, v: Var) -> str:
        """Return the name of what holds a variable."""
        return self.renamed.get(v.number) or self.own_name(v)

    def own_name(self, v: Var) -> str:
        """Return the name of a variable before it is where it belongs."""
        return f"x{v.number}" if v.number < self._inputs else f"v{v.number}"

    def operand(self, atom: Atom) -> str:
        """Return the name of a variable or of a literal."""
        if isinstance(atom, Var):
            return self.name(atom)
        return self.bind_numbered(("array", atom), "c", atom.array)

    def _constant(self, eq: Equation, atom: Literal) -> str:
        """Return a constant operand of a ufunc.

        NumPy works on two arrays sooner than on an array and a number, of which it makes one in
        every call; but for some exponents that are one number `np.power` has a fast path.  An
        array without axes has no say in how NumPy lays the result out in memory.
        """
        number = not atom.type.shape or eq.operation.function is np.power
        value = atom.value if number else np.array(atom.value)
        return self.bind_numbered((number, atom.bits, atom.type.dtype), "c", value)

    def _function(self, eq: Equation) -> str:
        if (quicker := self._quicker(eq)) is not None:
            return self.bind_numbered(*quicker)
        function = self.choices[eq.results[0].number].function
        if isinstance(function, np.ufunc):
            return self.bind(function, function.__name__, function)
        in_place = function is not eq.operation.function
        place = eq.results[0].number if in_place else None
        key = (eq.primitive, eq.params, tuple(atom.type for atom in eq.operands), place)
        return self.bind_numbered(key, f"{eq.primitive.name}_", function)

    def bind_numbered(self, key: Any, word: str, value: Any) -> str:
        """Return the name of a value that a key stands for: a word with a number."""
        return self.bind(key, f"{word}{len(self._known)}", value)

    def bind(self, key: Any, name: str, value: Any) -> str:
        """Return the name of a value that a key stands for, which is this one if it is new."""
        if key not in self._known:
            self._known[key] = name
            self.names[name] = value
        return self._known[key]


def source(program: Program) -> Source:
    """Return the source of a program.

    The function takes and returns what the interpreter does, and computes the same bits.
    """
    calls, last = Calls(program), last_uses(program)
    lines: list[str] = []
    for k, eq in enumerate(program.equations):
        if eq.results[0].number in calls.views:
            lines.append(calls.view(eq))
        else:
            lines.append(f"{', '.join(map(calls.name, eq.results))} = {calls.call(eq)}")
        used = [
            a for a in (*eq.operands, *eq.results) if isinstance(a, Var) and last[a.number] == k
        ]
        lines += calls.deletions(v for v in used if v.number >= len(program.inputs))
    lines.append(f"return [{', '.join(map(calls.operand, program.outputs))}]")
    return Source(function("program", map(calls.name, program.inputs), lines), calls.names)


def compile_source(program: Program) -> Callable[..., list[Any]] | None:
    """Return a function that computes what the interpreter does; None if it is not worth it.

    ``FUNCDIFF_INTERPRET=1`` in the environment keeps everything in the interpreter.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1" or len(program.equations) > LONGEST:
        return None
    return with_check(program, source(program).function(), exact=True)


# ---- sums and contractions, by BLAS where that is faster -----------------------------------------

_SHORT: Final = 128
"""Elements up to which NumPy sums one after the other, too."""


def write_product(calls: Calls, eq: Equation, place: str) -> str:
    """Return the product of matrices or vectors, written to memory if some is given."""
    x, y = map(calls.operand, eq.operands)
    if is_product_of_rows(eq):
        return f"{calls.numpy('vecdot')}({', '.join(filter(None, [x, y, place]))})"
    made = product(eq, x, y)
    p = eq.params_as(Contraction)
    is_turned = made.sign == "*" or (place and p.out != arrangement(p).natural)
    if made.after and is_turned:
        # what is turned around is the product of the operands turned around
        turned = Contraction(p.right, p.left, p.out)
        made = product(equation(eq.primitive, turned, eq.operands[::-1], eq.results), y, x)
    if not place:
        return str(made)
    if made.shape:
        place = reshape(place, made.shape)
    times = calls.numpy("matmul" if made.sign == "@" else "multiply")
    return f"{times}({made.left}, {made.right}, {place})"


def write_masked_product(calls: Calls, eq: Equation) -> str:
    """Return a product with a mask, which is asked only where a result is not finite."""
    p, whole = eq.params_as(MaskedContraction), eq.operation.function
    plain = equation(contract_p, contraction(p.left, p.right, p.out), eq.operands[:2], eq.results)
    x, y, mask = map(calls.operand, eq.operands)

    def finite(result: Any, x: Any, y: Any, mask: Any) -> Any:
        return result if np.isfinite(result).all() else whole(x, y, mask)

    checked = calls.bind_numbered((eq.primitive, eq.params, whole), "finite_", finite)
    return f"{checked}({write_product(calls, plain, '')}, {x}, {y}, {mask})"


def sum_by_product(calls: Calls, eq: Equation, place: str) -> str | None:
    """Return a sum as a product with ones, which BLAS computes several times as fast.

    A long last axis is summed in pairs by NumPy, more exactly than here.
    """
    p = eq.params_as(Axes)
    type_ = eq.operands[0].type
    ndim, count = type_.ndim, prod(type_.shape[axis] for axis in p.axes)
    if eq.operation.access.reduces is not np.add or type_.dtype.char not in "fd" or count < 2:
        return None
    x = calls.operand(eq.operands[0])
    ones = calls.bind(("ones", type_.dtype, count), f"ones_{count}", np.ones(count, type_.dtype))
    matmul = calls.numpy("matmul")
    rest = f", {place}" if place else ""
    first, last = p.axes == tuple(range(len(p.axes))), p.axes[-1] == ndim - 1
    if last and p.axes == tuple(range(p.axes[0], ndim)) and count <= _SHORT and ndim > 1:
        if len(p.axes) > 1:
            x = f"{x}.reshape({(*type_.shape[: p.axes[0]], count)})"
        return f"{matmul}({x}, {ones}{rest})" if p.axes[0] else None
    if p.axes == (ndim - 2,):
        return f"{matmul}({ones}, {x}{rest})"
    if first and len(p.axes) == ndim - 1:
        return f"{matmul}({ones}, {x}.reshape({(count, type_.shape[-1])}){rest})"
    return None


def is_product_of_rows(eq: Equation) -> bool:
    """Whether a contraction multiplies each row of an array by that of the same place."""
    if not eq.operation.contracts or eq.results[0].type.dtype.char not in "fd":
        return False
    p = eq.params_as(Contraction)
    return p.left == p.right and len(p.left) > 1 and p.out == p.left[:-1]


def is_product(eq: Equation) -> bool:
    """Whether a contraction is a product that is written to memory as it comes out.

    Of matrices or vectors, an outer one of vectors, or of stacks of matrices whose axes are in
    order: in that of the operands, or of the operands turned around.
    """
    if not eq.operation.contracts:
        return False
    p = eq.params_as(Contraction)
    if is_product_of_rows(eq) or is_matrix_product(p):
        return True
    at = arrangement(p)
    if not at.inner:
        return len(p.left) == len(p.right) == 1 and len(p.out) == 2
    return p.out in (at.natural, (*at.stack, *at.columns, *at.rows))
