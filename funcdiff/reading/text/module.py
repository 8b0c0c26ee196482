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
    text = Text(STATEMENTS)
    function = text.names.new(interface.name)
    body = _body(text, program, interface)
    if _has_hidden_calls(body, _words(interface.parameters)):
        text = Text(STATEMENTS)
        function = text.names.new(interface.name)
        body = _pass_on(text, program, interface, f"{function}_of")
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


def _has_hidden_calls(body: str, words: Sequence[str]) -> bool:
    """Whether statements call something of Python's that a parameter hides: ``range(3)``."""
    hidden = set(filter(is_builtin, words))
    calls = (n.func for n in ast.walk(ast.parse(_with_head(body))) if isinstance(n, ast.Call))
    return any(isinstance(f, ast.Name) and f.id in hidden for f in calls)


def _with_head(body: str, head: str = "def f():") -> str:
    return f"{head}\n{body}"


def _pass_on(text: Text, program: Program, interface: Interface, wanted: str) -> str:
    """Return statements that call a further function, whose parameters have other names."""
    words = _words(interface.parameters)
    names = text.names.scope()
    safe = {word: names.new(word) for word in words}
    renamed = Substitution({word: name(other) for word, other in safe.items()})
    operands = [
        operand._replace(value=renamed.visit(copy.deepcopy(operand.value)))
        for operand in interface.operands
    ]
    inner = text.names.new(wanted)
    inside = interface._replace(parameters=list(safe.values()), operands=operands)
    head = f"def {inner}({', '.join(safe.values())}):"
    text.functions.append(_with_head(_body(text, program, inside), head))
    return f"    return {inner}({', '.join(words)})"


def _body(text: Text, program: Program, interface: Interface) -> str:
    writer = Writer(text)
    for word in _words(interface.parameters):
        writer.reserve(word)
    operands = []
    for operand in interface.operands:
        if isinstance(operand.value, ast.Name) or not operand.wanted:
            operands.append(operand.value)
            continue
        word = _name_of_converted(operand) or writer.new(operand.wanted)
        end = f"  # {operand.comment}" if operand.comment else ""
        writer.line(f"{word} = {text_of(operand.value)}{end}")
        operands.append(name(word))
    results = writer.write(program, operands)
    writer.line(f"return {text_of(interface.result(results))}")
    return writer.text


def _name_of_converted(operand: Operand) -> str:
    """Return the name of a parameter that is converted, and keeps it; empty for others."""
    call = operand.value
    if not isinstance(call, ast.Call) or operand.comment:
        return ""
    (target, *_) = call.args
    return target.id if isinstance(target, ast.Name) else ""
