"""Parses the text of a program back to the program, so that ``parse(str(p)) == p``.

The grammar, in which a list may end with a comma; one equation a line::

    program    = "program" "(" [definition {"," definition}] ")" "{" {equation} return "}"
    equation   = [definition {"," definition}] "=" primitive [params] [atoms]
    return     = "return" [atoms]
    definition = variable ":" type
    params     = "{" [name "=" value {"," name "=" value}] "}"
    atoms      = atom {"," atom}
    atom       = variable | literal
    literal    = (number | "True" | "False" | "complex" "(" number "," number ")") ":" type
    type       = dtype "[" [integer {"," integer}] "]"
    value      = number | string | "True" | "False" | "None" | dtype | type | tuple | program
    tuple      = "(" [value {"," value}] ")"
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import MISSING
from math import prod
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.late import close_matches
from funcdiff.core.primitive import Params, Primitive, fields_of, is_registered, primitives
from funcdiff.core.program import Equation, Program, equation
from funcdiff.core.text.check import fault_of
from funcdiff.core.tracebacks import public
from funcdiff.core.types import DTYPES, ArrayType
from funcdiff.errors import InputError, ParseError, user_location
from funcdiff.pytree.statics import scalar_of_bits

T = TypeVar("T")

_TOKENS: Final = re.compile(
    r"""(?P<variable>%\d+)
    | (?P<number>-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf\b|nan<[0-9a-f]+>|nan\b))
    | (?P<name>[A-Za-z_]\w*)
    | (?P<string>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<unfinished>['"].*)
    | (?P<sign>[(){}\[\],:=])
    | (?P<space>\s+)
    | (?P<unknown>.)""",
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_PLAIN_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_SHOWN: Final = 80
"""Characters of a word, or of a line around it, that messages show."""


class Token(NamedTuple):
    """A word of the text; the kind of a sign is the sign itself."""

    kind: str
    text: str
    line: int
    column: int

    def __str__(self) -> str:
        if self.kind == "end":
            return "the end of the text"
        if self.kind == "unfinished":
            return f"{abbreviate(self.text)!r}, a string without an end"
        return repr(abbreviate(self.text))


class Reader:
    """The tokens of a text and the position reached in them."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._tokens = [
            token for number, line in enumerate(self._lines) for token in _tokens(line, number)
        ]
        self._tokens.append(Token("end", "", len(self._lines) - 1, len(self._lines[-1])))
        self._position = 0

    @property
    def next(self) -> Token:
        """The next token."""
        return self._tokens[self._position]

    @property
    def is_at_end_of_line(self) -> bool:
        """Whether the next token is on another line than the one taken last."""
        before = self._tokens[self._position - 1]
        return self.next.line != before.line or self.next.kind == "end"

    def take(self, kind: str, expected: str = "") -> Token:
        """Return the next token, which has to be of the given kind, and go past it."""
        token = self.next
        if token.kind != kind:
            raise self.error(token, expected or repr(kind))
        self._position += 1
        return token

    def take_word(self, word: str) -> Token:
        """Go past a keyword."""
        if self.next.text != word:
            raise self.error(self.next, repr(word))
        return self.take("name")

    def skip(self, sign: str) -> bool:
        """Go past a sign if it comes next; return whether it did."""
        found = self.next.kind == sign
        self._position += found
        return found

    def read_list(self, item: Callable[[], T], closing: str) -> list[T]:
        """Read items between commas, and the closing sign; a comma may be left at the end."""
        items: list[T] = []
        while not self.skip(closing):
            items.append(item())
            if not self.skip(","):
                self.take(closing, f"',' or {closing!r}")
                break
        return items

    def error(self, token: Token, expected: str) -> ParseError:
        """Return the error for a token where something else was expected."""
        return self.failure(token, f"found {token}, expected {expected}")

    def failure(self, token: Token, what: str) -> ParseError:
        """Return an error that shows the line of a token."""
        line = self._lines[token.line]
        indent = len(line) - len(line.lstrip())
        start = max(indent, token.column - _SHOWN)  # of a long line, what is around it
        stop = min(len(line.rstrip()), token.column + _SHOWN)
        before, after = "... " * (start > indent), " ..." * (stop < len(line.rstrip()))
        text = before + _printable(line[start:stop]) + after
        marker = " " * max(token.column - start + len(before), 0) + "^"
        return ParseError(
            f"line {token.line + 1}: {_printable(what)}\n    {text}\n    {marker}",
            token.line + 1,
            token.column + 1,
        )

    def integer(self, token: Token) -> int:
        """Return the integer that a token says; Python reads no more than thousands of digits."""
        try:
            return int(token.text.removeprefix("%"))
        except ValueError:
            raise self.failure(
                token, f"found {abbreviate(token.text)}, expected an integer of fewer digits"
            ) from None

    def string(self, token: Token) -> str:
        """Return the string that a token says, in the escapes that `repr` writes."""

        def said(escape: re.Match[str]) -> str:
            digits = escape.group()[2:]
            if digits and int(digits, 16) <= sys.maxunicode:
                return chr(int(digits, 16))
            if not digits and escape.group()[1] in _PLAIN_ESCAPES:
                return _PLAIN_ESCAPES[escape.group()[1]]
            place = token._replace(column=token.column + 1 + escape.start())
            raise self.failure(
                place,
                f"found {escape.group()}, which stands for no character: expected one of \\n \\r "
                "\\t \\' \\\" \\\\, or \\x, \\u, \\U with 2, 4, 8 digits",
            )

        return _ESCAPE.sub(said, token.text[1:-1])


def abbreviate(text: str, most: int = _SHOWN) -> str:
    """Return a text as messages show it, not all of a long one."""
    return text if len(text) <= most else f"{text[: most - 4]} ..."


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in text)


def _tokens(line: str, number: int) -> Iterable[Token]:
    for match in _TOKENS.finditer(line):
        kind = match.lastgroup or "unknown"
        if kind != "space":
            text = match.group()
            yield Token(text if kind == "sign" else kind, text, number, match.start())


def near_misses(name: str, known: Iterable[str]) -> str:
    """Return a hint at names that are like the one found."""
    found = close_matches(name, sorted(known), n=2)
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


_INTEGER: Final = re.compile(r"-?\d+")
_MOST_AXES: Final = 64
"""Of NumPy's arrays."""
_CONSTANTS: Final[dict[str, Any]] = {"True": True, "False": False, "None": None}


@public
def parse(text: str) -> Program:
    """Read a program from its text.

    Variables have to be numbered in order of definition, inputs first; the recorded types of
    results have to be what the type rules of the primitives say.

    Parameters
    ----------
    text
        What ``str(program)`` gives; see the grammar at the top of this module.

    Returns
    -------
    Program
        The program, for which ``parse(str(program)) == program``.

    Raises
    ------
    ParseError
        If the text is not a program, whatever else it is: nothing of it is ever run.  The message
        shows the line, what was found in it and what was expected; ``line`` and ``column`` of the
        error say where.
    InputError
        If it is no text.

    Examples
    --------
    >>> program = parse('''
    ... program(%0: f64[3]) {
    ...   %1: f64[3] = mul %0, 2.0:f64[3]
    ...   return %1
    ... }
    ... ''')
    >>> program.input_types
    (f64[3],)
    >>> parse(str(program)) == program
    True

    A misspelt name is answered with near misses:

    >>> parse('''program(%0: f64[3]) {
    ...   %1: f64[3] = reduce_sun{axes=(0,)} %0
    ...   return %1
    ... }''')
    Traceback (most recent call last):
    ...
    funcdiff.errors.ParseError: line 2: found 'reduce_sun', expected a primitive; did you mean
    'reduce_sum'...
        %1: f64[3] = reduce_sun{axes=(0,)} %0
                     ^
    """
    if not isinstance(text, str):
        raise InputError(
            f"parse takes the text of a program, but a {type(text).__name__} was given, at "
            f"{user_location()}. Give str(program)."
        )
    reader = Reader(text)
    with suppress(RecursionError):
        program = _program(reader)
        reader.take("end", "nothing after the closing brace of the program")
        return program
    # with no context, which would be as deep: who pickles an error may pickle its context, too
    raise reader.failure(reader.next, f"found {reader.next}, nested deeper than Python can follow")


# ---- programs and equations ------------------------------------------------------------------


def _program(reader: Reader) -> Program:
    reader.take_word("program")
    reader.take("(")
    defined: list[Var] = []
    reader.read_list(lambda: defined.append(_definition(reader, len(defined))), ")")
    inputs = tuple(defined)
    reader.take("{")
    equations = []
    while reader.next.text != "return":
        equations.append(_equation(reader, defined))
    reader.take_word("return")
    outputs = _atoms(reader, defined)
    reader.take("}")
    return Program(inputs, tuple(equations), outputs)


def _definition(reader: Reader, number: int) -> Var:
    """Read the definition of the variable that has to come next."""
    token = reader.take("variable", f"the definition of %{number}, or 'return'")
    if token.text != f"%{number}":
        raise reader.error(
            token, f"%{number}: variables are numbered in order of definition, inputs first"
        )
    reader.take(":", "':' with the type of the variable")
    return Var(number, _type(reader))


def _equation(reader: Reader, defined: list[Var]) -> Equation:
    results: list[Var] = []
    while not reader.skip("="):
        if results:
            reader.take(",", "',' or '='")
        results.append(_definition(reader, len(defined) + len(results)))
    name = reader.take("name", "a primitive")
    if not is_registered(name.text):
        raise reader.error(name, f"a primitive{near_misses(name.text, primitives)}")
    primitive = primitives[name.text]
    params = _params(reader, primitive)
    operands = () if reader.is_at_end_of_line else _atoms(reader, defined)
    if not reader.is_at_end_of_line:
        raise reader.error(reader.next, "',' or the end of the line after an equation")
    eq = _check_equation(reader, name, primitive, params, operands, tuple(results))
    defined.extend(results)
    return eq


def _check_equation(
    reader: Reader,
    name: Token,
    primitive: Primitive[Any],
    params: Params,
    operands: tuple[Atom, ...],
    results: tuple[Var, ...],
) -> Equation:
    """Return the equation if its type rule accepts the operands and gives the written types."""
    types = abbreviate(", ".join(repr(atom.type) for atom in operands), 400)
    refusal = f"{primitive} does not accept operands of types ({types})"
    # first: what is equal to right parameters, as 0.0 is to 0, must not get among the operations
    fault = fault_of(params)
    if fault is not None:
        raise reader.failure(name, f"{refusal} so: {abbreviate(fault, 400)}")
    try:
        eq = equation(primitive, params, operands, results)
    except RecursionError:
        raise
    except Exception as error:  # params that do not fit may fail in any way
        raise reader.failure(name, f"{refusal}: {abbreviate(str(error), 800)}") from error
    written, expected = tuple(v.type for v in results), eq.operation.results
    if expected != written:
        raise reader.failure(
            name,
            f"found results of types {written}, expected {expected}: that is what {primitive} "
            f"gives for operands of types ({types})",
        )
    return eq


def _atoms(reader: Reader, defined: list[Var]) -> tuple[Atom, ...]:
    if reader.next.kind == "}":  # `return` without outputs
        return ()
    atoms = [_atom(reader, defined)]
    while reader.skip(","):
        atoms.append(_atom(reader, defined))
    return tuple(atoms)


def _atom(reader: Reader, defined: list[Var]) -> Atom:
    token = reader.next
    if token.kind != "variable":
        return _literal(reader)
    number = reader.integer(token)
    if number >= len(defined):
        expected = "a literal: no variable is defined before"
        if defined:
            expected = f"a variable defined before (%0 to %{len(defined) - 1})"
        raise reader.failure(token, f"found {abbreviate(token.text)}, expected {expected}")
    reader.take("variable")
    return defined[number]


# ---- types and literals ----------------------------------------------------------------------


def _dtype(reader: Reader) -> np.dtype[Any]:
    token = reader.take("name", "a dtype such as f64")
    if token.text not in DTYPES:
        raise reader.error(token, f"a dtype{near_misses(token.text, DTYPES)}")
    return DTYPES[token.text]


def _type(reader: Reader) -> ArrayType:
    return _type_of(reader, _dtype(reader))


def _type_of(reader: Reader, dtype: np.dtype[Any]) -> ArrayType:
    """Read the shape of a type, which an array must be able to have."""
    bracket = reader.take("[", "'[' with the shape")
    shape = tuple(reader.read_list(lambda: _length(reader), "]"))
    if len(shape) > _MOST_AXES or prod(n for n in shape if n) * dtype.itemsize > sys.maxsize:
        raise reader.failure(
            bracket,
            f"found a shape that no array can have, expected at most {_MOST_AXES} axes and "
            f"{sys.maxsize} bytes",
        )
    return ArrayType(shape, dtype)


def _length(reader: Reader) -> int:
    token = reader.take("number", "the length of an axis")
    if not token.text.isdecimal():
        raise reader.error(token, "the length of an axis")
    return reader.integer(token)


def _literal(reader: Reader) -> Literal:
    first = reader.next
    parts = [first]
    if first.text == "complex":
        reader.take("name")
        reader.take("(")
        parts = [reader.take("number", "the real part")]
        reader.take(",")
        parts.append(reader.take("number", "the imaginary part"))
        reader.take(")")
    elif first.text in ("True", "False"):
        reader.take("name")
    else:
        reader.take("number", "a variable or a literal")
    reader.take(":", "':' with the type of the literal")
    type_ = _type(reader)
    kind = "complex" if first.text == "complex" else first.kind
    if kind != {"b": "name", "c": "complex"}.get(type_.dtype.kind, "number"):
        raise reader.failure(first, f"found {first}, expected a value of type {type_}")
    if kind == "name":
        return Literal(np.bool_(first.text == "True"), type_)
    if kind == "number":
        return Literal(_number(reader, first, type_.dtype), type_)
    value = np.empty((), type_.dtype)
    value.real, value.imag = (_number(reader, part, value.real.dtype) for part in parts)
    return Literal(value[()], type_)


def _number(reader: Reader, token: Token, dtype: np.dtype[Any]) -> Any:
    """Return a token as a scalar of an integer or floating dtype."""
    try:
        if dtype.kind in "iu":
            return dtype.type(int(token.text))
        if token.text.startswith("nan<"):
            value = scalar_of_bits(bytes.fromhex(token.text[4:-1]), dtype)
            if not np.isnan(value):
                raise ValueError(f"these are the bits of {value}")
            return value
        with np.errstate(over="raise"):
            return dtype.type(token.text)
    except (ValueError, OverflowError, FloatingPointError) as error:
        raise reader.failure(
            token, f"found {abbreviate(token.text)}, expected a number of dtype {dtype}: {error}"
        ) from error


# ---- parameters ------------------------------------------------------------------------------


def _params(reader: Reader, primitive: Primitive[Any]) -> Params:
    brace = reader.next
    known = {field.name: field for field in fields_of(primitive.params)}
    values: dict[str, Any] = {}

    def entry() -> None:
        name = reader.take("name", "the name of a parameter")
        if name.text not in known:
            raise reader.error(name, f"a parameter of {primitive}{near_misses(name.text, known)}")
        if name.text in values:
            raise reader.error(name, "every parameter once")
        reader.take("=")
        values[name.text] = _value(reader)

    if reader.skip("{"):
        reader.read_list(entry, "}")
    required = [name for name, field in known.items() if field.default is MISSING]
    missing = [name for name in required if name not in values]
    if missing:
        raise reader.error(brace, f"the parameters {{{', '.join(missing)}}} of {primitive}")
    try:
        params: Params = primitive.params(**values)
    except (TypeError, ValueError) as error:
        raise reader.failure(
            brace, f"{primitive} does not accept its parameters: {error}"
        ) from error
    return params


def _value(reader: Reader) -> Any:
    token = reader.next
    if reader.skip("("):
        return tuple(reader.read_list(lambda: _value(reader), ")"))
    if token.text == "program":
        return _program(reader)
    if token.text in DTYPES:
        dtype = _dtype(reader)
        return _type_of(reader, dtype) if reader.next.kind == "[" else dtype
    if token.text in _CONSTANTS:
        reader.take("name")
        return _CONSTANTS[token.text]
    if token.kind == "string":
        reader.take("string")
        return reader.string(token)
    number = reader.take("number", f"a value{near_misses(token.text, [*DTYPES, *_CONSTANTS])}")
    if number.text.startswith("nan<"):
        raise reader.error(number, "a number without a payload")
    return reader.integer(number) if _INTEGER.fullmatch(number.text) else float(number.text)
