"""Writes equations as statements: which results get a name, which are written inline."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.backend.code.formulas import axes_first, index, is_ufunc, with_new_axes
from funcdiff.backend.code.lower import implicit_broadcasts
from funcdiff.backend.numbers.scalars import makes_index
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.types import FLOAT
from funcdiff.errors import ProgramError
from funcdiff.ops.axes.indexing import Indexed, Written
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.rematerialization import Tap
from funcdiff.ops.structure.slicing import Slice
from funcdiff.ops.structure.structural import select_p
from funcdiff.reading.provenance import Label, label_of
from funcdiff.reading.text.expressions import (
    UnwritableError,
    broadcast_array,
    build,
    call,
    full_array,
    is_simple,
    item,
    items,
    name,
    number,
    substitute,
    text_of,
)
from funcdiff.reading.text.helpers import Helpers
from funcdiff.reading.text.lines import SHORT_WORDS, Lines, Names, Translate
from funcdiff.reading.text.templates import SIGNS, Template

# ---- Writes updates of slices and scattered elements as in-place assignments ---------------------


Statement: TypeAlias = Callable[[Equation, ast.expr, Sequence[ast.expr]], str]
"""Of an equation, the array that is written into, and the further operands."""


def _slice(sign: str) -> Statement:
    def write(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
        p = eq.params_as(Slice)
        place = build(f"x[{index(eq.operands[0].type.shape, p.index)}]", x=target)
        return f"{text_of(place)} {sign} {text_of(xs[0])}"

    return write


def _axes_first(x: ast.expr, eq: Equation, axes: tuple[int, ...]) -> ast.expr:
    return build(axes_first("x", eq.operands[0].type.ndim, axes), x=x)


def _scatter_add(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
    p = eq.params_as(Indexed)
    whole = _axes_first(target, eq, p.axes)
    updates, *indices = xs
    where = indices[0] if len(indices) == 1 else items(indices)
    return text_of(call("np.add.at", whole, where, updates))


def _scatter(eq: Equation, target: ast.expr, xs: Sequence[ast.expr]) -> str:
    """Write at positions; where they may repeat, in the order of the positions, not of memory."""
    p = eq.params_as(Written)
    whole = _axes_first(target, eq, p.axes)
    updates, *indices = xs
    if not p.distinct and eq.operands[2].type.ndim:
        updates = call("np.ascontiguousarray", updates)
        indices = [call("np.ascontiguousarray", i) for i in indices]
    return f"{text_of(item(whole, indices))} = {text_of(updates)}"


IN_PLACE: Final[dict[str, Statement]] = {
    "add_slice": _slice("+="),
    "replace_slice": _slice("="),
    "scatter_add": _scatter_add,
    "scatter": _scatter,
}
"""Statements that write into the first operand."""


# ---- Analyses a program before it is written: counts uses, finds broadcasts and views ------------


def is_elementwise(eq: Equation) -> bool:
    """Whether NumPy broadcasts the operands of an equation by itself."""
    return is_ufunc(eq) or eq.primitive is select_p


def is_view(value: ast.expr) -> bool:
    """Whether an expression only looks at an array that has a name."""
    if isinstance(value, ast.Subscript):
        parts = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
        plain = all(isinstance(part, ast.Slice | ast.Constant) for part in parts)
        return plain and isinstance(value.value, ast.Name)
    return isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)


def uses_of(program: Program) -> Counter[int]:
    """Count how often every variable is used by equations that are needed, or returned."""
    uses: Counter[int] = Counter()
    uses.update(atom.number for atom in program.outputs if isinstance(atom, Var))
    for eq in reversed(program.equations):
        if eq.operation.ends or any(uses[v.number] for v in eq.results):
            uses.update(atom.number for atom in eq.operands if isinstance(atom, Var))
    return uses


_SCIPY: Final = re.compile(r"(?<!\.)\bscipy\.")
"""A name of SciPy's own."""
_INLINED: Final = 44
"""Characters up to which an expression is written where it is used."""
_VIEWS: Final = 20
"""The same for views, which may be written several times."""


Writing: TypeAlias = Callable[["Body", Equation], None]
"""Adds the statements of an equation."""

Statements: TypeAlias = Mapping[str, Writing]
"""How equations that take several statements are written; all others are expressions."""


class Dialect(NamedTuple):
    """A library of arrays, and how a text calls it."""

    name: str
    opening: str  # the sentence at the head of a module
    statements: Statements
    templates: Mapping[str, Template]
    in_place: Mapping[str, Statement]
    imports: Mapping[str, str] = {}  # from lines to parts of the text for which they are needed
    translate: Translate | None = None  # from NumPy's syntax trees; None for NumPy itself
    takes_numbers: bool = True  # whether its functions, too, take Python numbers for arrays
    takes_functions: bool = True  # whether a text may need functions from outside
    # From the program, its array operands, the statements that convert these and the others to the
    # body of the function.
    enclose: Callable[[Program, Sequence[ast.expr], str, str], str] | None = None


class Text:
    """A module in the making: functions, helpers and what it needs from outside."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.names = Names()
        self.helpers = Helpers(self.names, copies=dialect.translate is None)
        self.functions: list[str] = []
        self.needs: dict[str, str] = {}
        self._written: dict[Any, str] = {}
        self._needed: dict[Any, str] = {}

    def function(self, program: Program, wanted: str) -> str:
        """Return the name of a function that runs a program, writing it the first time."""
        found = self._written.get(program)
        if found is None:
            found = self._written[program] = self.names.new(wanted)
            writer = Writer(self)
            inputs = [
                writer.new(label_of(program, v).name or f"x{v.number}") for v in program.inputs
            ]
            results = writer.write(program, [name(word) for word in inputs])
            writer.line(f"return {text_of(items(results) if len(results) > 1 else results[0])}")
            self.functions.append(f"def {found}({', '.join(inputs)}):\n{writer.text}\n")
        return found

    def need(self, key: Any, wanted: str, meaning: str) -> str:
        """Return the name of something that the text cannot have, which is to be given."""
        if not self.dialect.takes_functions:
            raise UnwritableError(f"it needs {wanted} from outside, {meaning}")
        if key not in self._needed:
            self._needed[key] = self.names.new(wanted)
            self.needs[self._needed[key]] = meaning
        return self._needed[key]


class Writer(Lines):
    """The statements of a function of the module, and those of programs in it."""

    def __init__(self, text: Text) -> None:
        super().__init__(text.names.scope(), text.dialect.translate)
        self.module = text

    def write(
        self,
        program: Program,
        operands: Sequence[ast.expr],
        plain: Collection[str] = (),
    ) -> list[ast.expr]:
        """Add the statements of a program; return its outputs.

        Names in `plain` are those that the outputs get afterwards: they need no statement here.
        """
        return Body(self, program, operands, plain).write()


class Body:
    """A program that is being written."""

    def __init__(
        self,
        writer: Writer,
        program: Program,
        operands: Sequence[ast.expr],
        plain: Collection[str],
    ) -> None:
        self.writer = writer
        self._dialect = writer.module.dialect
        self._program = program
        self._env: dict[int, ast.expr] = dict(enumerate(operands))
        self._uses = uses_of(program)
        self._made = {v.number: eq for eq in program.equations for v in eq.results}
        self._views = implicit_broadcasts(program, is_elementwise)
        self._owned: set[int] = set()
        self._plain = plain

    def write(self) -> list[ast.expr]:
        """Add the statements; return the outputs."""
        for eq in self._program.equations:
            if eq.operation.ends or any(self._uses[v.number] for v in eq.results):
                self._equation(eq)
        return [self.whole(atom) for atom in self._program.outputs]

    # ---- what statements need --------------------------------------------------------------------

    def label(self, v: Var) -> Label:
        """Return what is known of a variable."""
        return label_of(self._program, v)

    def uses(self, atom: Atom) -> int:
        """Return how often a variable is used."""
        return 0 if isinstance(atom, Literal) else self._uses[atom.number]

    def is_used(self, v: Var) -> bool:
        """Whether something needs a variable."""
        return self._uses[v.number] > 0

    def maker(self, atom: Atom) -> Equation | None:
        """Return the equation that makes a variable."""
        return None if isinstance(atom, Literal) else self._made.get(atom.number)

    def whole(self, atom: Atom) -> ast.expr:
        """Return an operand as an array of its own shape."""
        return full_array(atom) if isinstance(atom, Literal) else self._env[atom.number]

    def simple(self, atom: Atom, wanted: str = "") -> ast.expr:
        """Return an operand as a name, or a number."""
        value = self.writer.simple(self.whole(atom), wanted or self.fitting_name(atom))
        if isinstance(atom, Var):
            self._env[atom.number] = value
        return value

    def fitting_name(self, atom: Atom) -> str:
        """Return a fitting name for an atom."""
        if isinstance(atom, Literal):
            return "constant"
        return self.label(atom).name or self._short(atom)

    def define(self, v: Var, value: ast.expr) -> None:
        """Let an expression stand for a variable."""
        self._env[v.number] = value

    def target(self, v: Var) -> str:
        """Return a new name for a variable, which stands for it from now on."""
        if not self.is_used(v):
            return "_"
        found = self.writer.new(self.fitting_name(v))
        self._env[v.number] = name(found)
        return found

    def assign(self, eq: Equation, value: ast.expr) -> None:
        """Assign the results of an equation."""
        self.writer.assign(", ".join(map(self.target, eq.results)), value)

    # ---- equations -----------------------------------------------------------------------------

    def _equation(self, eq: Equation) -> None:
        """Add the statements of an equation."""
        try:
            self._statements(eq)
        except UnwritableError as error:
            raise ProgramError(
                f"{eq.primitive.name} cannot be written as {self._dialect.name} code: {error}. Its "
                f"program is fd.trace(f)(...), with the equation\n{eq}"
            ) from error

    def _statements(self, eq: Equation) -> None:
        write = self._dialect.statements.get(eq.primitive.name)
        if write is not None:
            self.writer.comment(self.label(eq.results[0]).place)
            write(self, eq)
        elif eq.primitive.name in self._dialect.in_place:
            self._write_into(eq)
        elif eq.results[0].number in self._views:
            (x,), (y,) = eq.operands, eq.results
            if self._uses[y.number] > 1:
                self.simple(x)
            text = with_new_axes(eq, "x", len(self._views[y.number]))
            self.define(y, build(text, x=self.whole(x)))
        else:
            self.expression(eq)

    def expression(self, eq: Equation) -> None:
        """Add an equation that is written as one expression."""
        value = self._value(eq)
        if len(eq.results) == 1 and self._is_inlined(eq.results[0], value):
            self.define(eq.results[0], value)
            return
        self.writer.comment(self.label(eq.results[0]).place)
        self.assign(eq, value)

    def _is_inlined(self, y: Var, value: ast.expr) -> bool:
        """Whether an expression is written where the variable is used."""
        if is_simple(value) and isinstance(value, ast.Name):
            return True
        if self._is_only_condition(y):
            return True
        length = len(text_of(value))
        if is_view(value) and length <= _VIEWS:
            return True
        named = self.label(y).name not in ("", *self._plain)
        return self._uses[y.number] == 1 and not named and length <= _INLINED

    def _is_only_condition(self, y: Var) -> bool:
        """Whether a boolean was converted for nothing but to choose branches, which need none."""
        eq = self._made[y.number]
        if not makes_index(eq):
            return False
        choices = [e for e in self._program.equations if isinstance(e.params, Cond)]
        two = [e for e in choices if e.operands[0] == y and len(e.params_as(Cond).branches) == 2]
        return len(two) == self._uses[y.number]

    def _value(self, eq: Equation) -> ast.expr:
        """Return an equation as an expression."""
        template = self._dialect.templates.get(eq.primitive.name)
        found = None
        if template is not None:
            found = template(eq, [self._distinct(eq, x) for x in self._operands(eq)])
        found = self._implementation(eq) if found is None else found
        if self._dialect.translate is None:
            return found
        if _SCIPY.search(text_of(found)) and any(x.type.dtype.kind == "c" for x in eq.operands):
            raise UnwritableError("functions of SciPy's take complex numbers in SciPy alone")
        translated: ast.expr = self._dialect.translate(found)
        return translated

    def _implementation(self, eq: Equation) -> ast.expr:
        """Return a call of the implementation, or, if that is one expression, the expression."""
        xs = self._operands(eq)
        helpers = self.writer.module.helpers
        words = [f"_{k}" for k in range(len(xs))]
        formula = helpers.expression(eq, words)
        if formula is None:
            return helpers.call(eq.operation.function, eq.primitive.name, xs)
        counts = Counter(n.id for n in ast.walk(formula) if isinstance(n, ast.Name))
        parts = {
            word: self.simple(atom) if counts[word] > 1 else x
            for word, atom, x in zip(words, eq.operands, xs, strict=True)
        }
        found: ast.expr = substitute(formula, parts)
        return found

    def _distinct(self, eq: Equation, x: ast.expr) -> ast.expr:
        """Give a matrix product a name where it would stand beside another sign of its rank."""
        if eq.primitive.name in ("mul", "div", "contract") and isinstance(x, ast.BinOp):
            mixed = isinstance(x.op, ast.MatMult) or eq.primitive.name == "contract"
            return self.writer.simple(x, "product") if mixed else x
        return x

    def _operands(self, eq: Equation) -> list[ast.expr]:
        """Return the operands; a number among arrays of its dtype is a Python number."""
        some = any(isinstance(atom, Var) for atom in eq.operands)
        elementwise = is_elementwise(eq)
        found = []
        for atom in eq.operands:
            if isinstance(atom, Var):
                found.append(self._env[atom.number])
            elif elementwise and some:
                found.append(number(atom.value, weak=self._is_weak(eq, atom)))
            else:
                found.append(broadcast_array(atom))
        return found

    def _is_weak(self, eq: Equation, literal: Literal) -> bool:
        """Whether a Python number in place of a literal takes its dtype."""
        takes_numbers, function = self._dialect.takes_numbers, eq.operation.function
        chooses = eq.primitive is select_p
        arrays = eq.operands[1:] if chooses else eq.operands
        dtypes = {atom.type.dtype for atom in arrays if isinstance(atom, Var)}
        if chooses:
            return literal.type.dtype in dtypes or (takes_numbers and literal.type.dtype == FLOAT)
        plain = takes_numbers or function in SIGNS
        return literal.type.dtype in dtypes and isinstance(function, np.ufunc) and plain

    def _write_into(self, eq: Equation) -> None:
        """Add statements that write into an array: a new one, or one that nobody else has."""
        first, (y,) = eq.operands[0], eq.results
        owned = isinstance(first, Var) and first.number in self._owned
        self.writer.comment(self.label(y).place)
        if owned and isinstance(first, Var) and self._uses[first.number] == 1:
            self._env[y.number] = self._env[first.number]
            target = self._env[y.number]
        else:
            value = self.whole(first)
            value = value if isinstance(first, Literal) else call("np.array", value)
            found = self.writer.new(self.fitting_name(self._last_written(y)))
            self.writer.assign(found, value)
            target = self._env[y.number] = name(found)
        self._owned.add(y.number)
        xs = [self.whole(atom) for atom in eq.operands[1:]]
        self.writer.line(self._dialect.in_place[eq.primitive.name](eq, target, xs))

    def _last_written(self, y: Var) -> Var:
        """Return what becomes of an array after all that is written into it."""
        while self._uses[y.number] == 1:
            user = next((eq for eq in self._program.equations if y in eq.operands), None)
            if user is None or not self._is_written_into(user, y):
                break
            (y,) = user.results
        return y

    def _is_written_into(self, eq: Equation, y: Var) -> bool:
        return eq.primitive.name in self._dialect.in_place and eq.operands[0] == y

    def _short(self, v: Var) -> str:
        """Return a short name that tells the kind of a variable."""
        eq = self._made.get(v.number)
        if eq is None:
            return f"x{v.number}"
        if isinstance(eq.params, Tap):
            return eq.params.name
        word = SHORT_WORDS.get(eq.primitive.name, "")
        if word:
            return word
        (operand, *others) = eq.operands or (None,)
        plain = getattr(eq.params, "name", eq.primitive.name)
        if not others and isinstance(operand, Var):
            inner = self._env.get(operand.number)
            if isinstance(inner, ast.Name) and len(inner.id) + len(plain) < 14:
                return f"{plain}_{inner.id}"
        return "t"
