"""Assembles the text of a program: imports, helper functions, one documented function."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from funcdiff.core.program import Program
from funcdiff.reading.text.control import STATEMENTS
from funcdiff.reading.text.expressions import Substitution, name, text_of
from funcdiff.reading.text.layout import in_docstring
from funcdiff.reading.text.names import is_builtin
from funcdiff.reading.text.writer import Text, Writer


class Operand(NamedTuple):
    """Where an input of the program comes from.

    Attributes
    ----------
    value
        The expression of it: a parameter, or a part of one.
    wanted
        A fitting name for it; empty if it needs none.
    comment
        Where it comes from, empty for an argument.
    """

    value: ast.expr
    wanted: str
    comment: str = ""


class Interface(NamedTuple):
    """The function as its caller sees it.

    Attributes
    ----------
    name
        Of the function.
    summary
        The first line of its docstring.
    parameters
        As they stand in the signature: ``x``, ``*args``, ``*``.
    described
        Lines about the parameters.
    operands
        One per input of the program.
    result
        From the outputs to what is returned.
    returned
        Lines about that.
    """

    name: str
    summary: str
    parameters: Sequence[str]
    described: Sequence[str]
    operands: Sequence[Operand]
    result: Callable[[Sequence[ast.expr]], ast.expr]
    returned: Sequence[str]


_OPENING: Final = "Written by funcdiff: it runs with NumPy alone, and computes the same bits."


def module(program: Program, interface: Interface) -> str:
    """Return a program as the text of a module.

    Raises
    ------
    ProgramError
        If an operation has no text; the message names it.
    """
    text, function, body = _write(program, interface)
    hidden = _hidden_calls(body, interface.parameters)
    if hidden:
        text, function, body = _write(program, interface, hidden)
    parts = [
        _docstring_of_module(text, interface.summary),
        "\n".join(_imports(text.helpers.imports)),
    ]
    parts += [helper.strip("\n") for helper in text.helpers.texts]
    parts += [other.strip("\n") for other in text.functions]
    head = f"def {function}({', '.join(interface.parameters)}):"
    parts.append("\n".join([head, *_docstring_of_function(interface), body]))
    return _join(parts)


def of_program(program: Program) -> str:
    """Return a program as a function ``program(x0, x1, …)`` that returns a list.

    Examples
    --------
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
    )
    return module(program, interface)


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
    lines = [f"{summary} as NumPy code.", "", _OPENING]
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


def _hidden_calls(body: str, parameters: Sequence[str]) -> list[str]:
    """Return what statements call of Python's that a parameter hides: ``range(3)``."""
    nodes = ast.walk(ast.parse(f"def f():\n{body}"))
    calls = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    return [word for word in _words(parameters) if is_builtin(word) and word in calls]


def _write(
    program: Program, interface: Interface, hidden: Sequence[str] = ()
) -> tuple[Text, str, str]:
    """Return a text with the name of its function, and the statements of that.

    Parameters that are `hidden` get other names, so that their own ones are Python's again.
    """
    text = Text(STATEMENTS)
    function = text.names.new(interface.name)
    writer = Writer(text)
    for word in _words(interface.parameters):
        writer.reserve(word)
    renamed = Substitution({word: name(writer.new(word)) for word in hidden})
    for word in hidden:
        writer.assign(text_of(renamed.visit(name(word))), name(word))
        writer.line(f"from builtins import {word}")
    operands = []
    for operand in interface.operands:
        value = renamed.visit(copy.deepcopy(operand.value)) if hidden else operand.value
        if isinstance(value, ast.Name) or not operand.wanted:
            operands.append(value)
            continue
        word = _name_of_converted(operand, value) or writer.new(operand.wanted)
        end = f"  # {operand.comment}" if operand.comment else ""
        writer.line(f"{word} = {text_of(value)}{end}")
        operands.append(name(word))
    results = writer.write(program, operands)
    writer.line(f"return {text_of(interface.result(results))}")
    return text, function, writer.text


def _name_of_converted(operand: Operand, call: ast.expr) -> str:
    """Return the name of a parameter that is converted, and keeps it; empty for others."""
    if not isinstance(call, ast.Call) or operand.comment:
        return ""
    (target, *_) = call.args
    return target.id if isinstance(target, ast.Name) else ""
