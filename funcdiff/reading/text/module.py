"""Assembles the text of a program: imports, helper functions, one documented function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from funcdiff.core.program import Program
from funcdiff.errors import ProgramError
from funcdiff.reading.text.control import STATEMENTS
from funcdiff.reading.text.expressions import UnwritableError, name, substitute, text_of
from funcdiff.reading.text.lines import in_docstring, is_builtin
from funcdiff.reading.text.templates import TEMPLATES
from funcdiff.reading.text.writer import IN_PLACE, Dialect, Text, Writer


class Operand(NamedTuple):
    """Where an input of the program comes from."""

    value: ast.expr  # a parameter, or a part of one
    wanted: str  # a fitting name, if it needs one
    comment: str = ""  # its origin; empty for an argument


class Interface(NamedTuple):
    """The function as its caller sees it."""

    name: str
    summary: str  # first line of its docstring
    parameters: Sequence[str]  # as in the signature: ``x``, ``*args``, ``*``
    described: Sequence[str]  # lines about the parameters
    operands: Sequence[Operand]  # one per input of the program
    result: Callable[[Sequence[ast.expr]], ast.expr]  # from the outputs to the returned value
    returned: Sequence[str]  # lines about that
    arguments: int  # how many operands are parts of arguments; the others are captures
    captured: Mapping[str, Any] = {}  # arrays that the caller has to give, by keyword


NUMPY: Final = Dialect(
    "NumPy",
    "Written by funcdiff: it runs with NumPy alone, and computes the same bits.",
    STATEMENTS,
    TEMPLATES,
    IN_PLACE,
)
"""What texts are written in, if nothing else is said."""


def module(program: Program, interface: Interface, dialect: Dialect = NUMPY) -> str:
    """Return a program as a module's text; `ProgramError` names an operation that has none."""
    try:
        text, function, body = _write(program, interface, dialect)
        hidden = _calls_behind_parameters(body, interface.parameters)
        if hidden:
            text, function, body = _write(program, interface, dialect, hidden)
    except UnwritableError as error:
        raise ProgramError(
            f"{interface.summary} cannot be written as {dialect.name} code: {error}."
        ) from error
    parts = [helper.strip("\n") for helper in text.helpers.texts]
    parts += [other.strip("\n") for other in text.functions]
    head = f"def {function}({', '.join(interface.parameters)}):"
    parts.append("\n".join([head, *_docstring_of_function(interface), body]))
    code = "\n".join(parts)
    found = {line for part, line in dialect.imports.items() if part in code}
    imports = "\n".join(sorted(found) if dialect.imports else _imports(text.helpers.imports))
    return _join([_docstring_of_module(text, interface.summary), imports, *parts])


def of_program(program: Program, dialect: Dialect = NUMPY) -> str:
    """Return a program as a function ``program(x0, x1, …)`` that returns a list.

    >>> import numpy as np
    >>> import funcdiff as fd
    >>> print(of_program(fd.trace(np.sin)(1.0)).split("import numpy as np")[1].strip())
    def program(x0):
        \"\"\"Return program(x0).\"\"\"
        return [np.sin(x0)]
    """
    words = [f"x{k}" for k in range(len(program.inputs))]
    interface = Interface(
        "program",
        "program",
        words,
        (),
        [Operand(name(word), word) for word in words],
        lambda results: ast.List(list(results), ast.Load()),
        (),
        len(words),
    )
    return module(program, interface, dialect)


def _join(parts: Sequence[str]) -> str:
    """Put two empty lines around functions, one between constants."""
    text = parts[0]
    for before, after in pairwise(parts):
        constants = " = " in before.split("\n")[0] and " = " in after.split("\n")[0]
        first = before.startswith('"""')
        text += ("\n\n" if first else "\n" if constants else "\n\n\n") + after
    return text + "\n"


def _imports(found: set[str]) -> list[str]:
    standard = sorted(line for line in found if "numpy" not in line and "scipy" not in line)
    others = sorted(found - set(standard))
    return [*standard, "", *others] if standard else others


def _docstring_of_module(text: Text, summary: str) -> str:
    lines = [f"{summary} as {text.dialect.name} code.", "", text.dialect.opening]
    if text.needs:
        lines += ["", "It needs these names from outside:", ""]
        lines += [f"- {word}: {meaning}." for word, meaning in text.needs.items()]
    return "\n".join(['"""' + in_docstring(lines[0]), *map(in_docstring, lines[1:]), '"""'])


def _docstring_of_function(interface: Interface) -> list[str]:
    given = ", ".join(p for p in interface.parameters if p not in ("*", "/"))
    sections = [f'    """Return {interface.summary}({given}).']
    if interface.described:
        sections += ["", "    Parameters", "    ----------"]
        sections += [f"    {in_docstring(line)}" for line in interface.described]
    if interface.returned:
        sections += ["", "    Returns", "    -------"]
        sections += [f"    {in_docstring(line)}" for line in interface.returned]
    if len(sections) == 1:
        return [f'{sections[0]}"""']
    return [*sections, '    """']


def _words(parameters: Sequence[str]) -> list[str]:
    """Return the names of parameters."""
    return [p.lstrip("*") for p in parameters if p not in ("*", "/")]


def _calls_behind_parameters(body: str, parameters: Sequence[str]) -> list[str]:
    """Return what statements call of Python's that a parameter hides: ``range(3)``."""
    nodes = ast.walk(ast.parse(f"def f():\n{body}"))
    calls = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    return [word for word in _words(parameters) if is_builtin(word) and word in calls]


def _write(
    program: Program, interface: Interface, dialect: Dialect, hidden: Sequence[str] = ()
) -> tuple[Text, str, str]:
    """Return a text with the name of its function, and the statements of that.

    Parameters that are `hidden` get other names, so that their own ones are Python's again.
    """
    text = Text(dialect)
    function = text.names.new(interface.name)
    writer = Writer(text)
    for word in _words(interface.parameters):
        writer.reserve(word)
    renamed: dict[str, ast.expr] = {word: name(writer.new(word)) for word in hidden}
    for word in hidden:
        writer.assign(text_of(renamed[word]), name(word))
        writer.line(f"from builtins import {word}")
    operands: list[ast.expr] = []
    head = ""
    for operand in interface.operands:
        head = writer.text if len(operands) <= interface.arguments else head
        value = substitute(operand.value, renamed)
        if isinstance(value, ast.Name) or not operand.wanted:
            operands.append(value)
            continue
        word = _name_of_converted(operand, value) or writer.new(operand.wanted)
        writer.line(f"{word} = {text_of(value)}", operand.comment)
        operands.append(name(word))
    head = writer.text if len(operands) == interface.arguments else head
    results = writer.write(program, operands)
    writer.line(f"return {text_of(interface.result(results))}")
    if dialect.enclose is None:
        return text, function, writer.text
    rest = writer.text.removeprefix(head).removeprefix("\n")
    arguments = operands[: interface.arguments]
    arrays = [x for x, v in zip(arguments, program.inputs, strict=False) if v.type.shape]
    return text, function, dialect.enclose(program, arrays or arguments, head, rest)


def _name_of_converted(operand: Operand, call: ast.expr) -> str:
    """Return the name of a parameter that is converted, and keeps it; empty for others."""
    if not isinstance(call, ast.Call) or operand.comment:
        return ""
    (target, *_) = call.args
    return target.id if isinstance(target, ast.Name) else ""
