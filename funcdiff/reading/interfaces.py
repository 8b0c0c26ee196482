"""Writes the signature, the unpacking of arguments and the return value of a source text."""

from __future__ import annotations

import ast
import inspect
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_numeric
from funcdiff.api.calls.inputs import type_of
from funcdiff.api.calls.tracing import Trace
from funcdiff.api.calls.transformed import Transformed, name_of
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.border.promotion import is_weak
from funcdiff.pytree.structure import keys_of
from funcdiff.reading.provenance import Examined, short_name, shorten
from funcdiff.reading.text.expressions import (
    array,
    attribute,
    build,
    constant,
    dtype_of,
    item,
    name,
    python_value,
    regular,
    text_of,
)
from funcdiff.reading.text.lines import free, identifier, is_plain
from funcdiff.reading.text.module import NUMPY, Interface, Operand
from funcdiff.reading.text.writer import Dialect, uses_of

_LONGEST: Final = 80
"""Characters that are shown of what a value prints."""
_POSITIONAL_ONLY: Final = inspect.Parameter.POSITIONAL_ONLY
_SMALL: Final = 16
"""Elements up to which an array that a function closes over is written out."""


class _Argument(NamedTuple):
    """An argument: how it stands in the signature, how the body calls it, and its value."""

    parameter: str
    value: ast.expr
    given: Any


def interface(
    f: Callable[..., Any],
    examined: Examined,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dialect: Dialect = NUMPY,
) -> Interface:
    """Return how the text of a call is called, and what it returns."""
    arguments = list(_arguments(f, args, kwargs))
    parameters = list(dict.fromkeys(a.parameter for a in arguments))
    _refuse_other_names(parameters)
    _mark_positional(f, kwargs, parameters)
    imported = {line.split()[-1].partition(".")[0] for line in dialect.imports.values()}
    hidden = {"np", "scipy", *imported}.intersection(p.lstrip("*") for p in parameters)
    if hidden:
        raise InputError(
            f"the function has a parameter named {hidden.pop()}, which would hide that module in "
            f"its text, at {user_location()}. Give the parameter another name."
        )
    operands: list[Operand] = []
    described: list[str] = []
    for argument in arguments:
        _take_apart(argument, operands, described, converts=dialect.translate is not None)
    count, given = len(operands), dict[str, Any]()
    captured = _captures(examined, {p.lstrip("*") for p in parameters})
    for word, operand, value in captured:
        if isinstance(operand.value, ast.Name):
            given[word] = value
            if dialect.translate is not None:
                operand = operand._replace(value=_as_array(operand.value, value))
            if not any(p.startswith("*") for p in parameters):
                parameters.append("*")
            parameters.append(word)
            described.append(
                f"{word} : {_type_text(type_of(value))}, which the function closes over"
            )
        operands.append(operand)
    trace = examined.trace
    outputs = iter(trace.outputs)
    types = [next(outputs).type if flag else None for flag in trace.numeric]

    def result(values: Sequence[ast.expr]) -> ast.expr:
        numbers, others = iter(values), iter(trace.others)
        leaves = [next(numbers) if flag else _value_or_text(next(others)) for flag in trace.numeric]
        return _display(pytree.unflatten(trace.structure, leaves))

    ordered = sorted(parameters, key=lambda p: p.startswith("**"))  # what collects keywords last
    return Interface(
        free("_".join(_chain(f)), set()), summary_of(f), ordered, described,
        operands, result, _describe_result(trace, types), count, given,
    )  # fmt: skip


def _refuse_other_names(parameters: Sequence[str]) -> None:
    """Refuse names that Python reads as others, or not at all: a signature may be made by hand."""
    for word in (p.lstrip("*") for p in parameters):
        if not is_plain(word):
            raise InputError(
                f"the function has a parameter named {word!r}, which Python cannot read as it "
                f"stands, at {user_location()}. Give the parameter another name."
            )


def _mark_positional(f: Callable[..., Any], kwargs: dict[str, Any], parameters: list[str]) -> None:
    """Let a parameter that is given by position only leave its name to a further keyword."""
    if not set(kwargs).intersection(parameters) or not parameters[-1].startswith("**"):
        return
    kinds = inspect.signature(f).parameters
    only = [p for p in parameters if p in kinds and kinds[p].kind is _POSITIONAL_ONLY]
    if only:
        parameters.insert(len(only), "/")


def _arguments(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[_Argument]:
    """Give the arguments in the order in which they were given, positional ones first."""
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except (TypeError, ValueError):  # a built-in without a signature
        for k, value in enumerate(args):
            yield _Argument(f"x{k}", name(f"x{k}"), value)
        for word, value in kwargs.items():
            yield _Argument("**options", item(name("options"), [_key(word)]), value)
        return
    kinds = bound.signature.parameters
    for word, value in bound.arguments.items():
        kind = kinds[word].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            for k, part in enumerate(value):
                yield _Argument(f"*{word}", item(name(word), [constant(k)]), part)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            for key, part in value.items():
                yield _Argument(f"**{word}", item(name(word), [_key(key)]), part)
        else:
            yield _Argument(word, name(word), value)


def _take_apart(
    argument: _Argument, operands: list[Operand], described: list[str], *, converts: bool
) -> None:
    """Add the numeric leaves of an argument, and lines about it."""
    leaves, structure = pytree.flatten(argument.given)
    base = text_of(argument.value)
    for leaf, path, keys in zip(leaves, pytree.paths(structure), keys_of(structure), strict=True):
        if not is_numeric(leaf):
            described.append(f"{base}{path} : {_text_of_value(leaf)}, not to be changed")
            continue
        value = _accessor(argument, path, keys, leaf)
        wanted = short_name(identifier(base), path)
        described.append(f"{base}{path} : {_type_text(_type_of_leaf(leaf))}")
        convert = _as_array if converts else _convert
        operands.append(Operand(convert(value, leaf), wanted))


def _accessor(argument: _Argument, path: str, keys: tuple[Any, ...], leaf: Any) -> ast.expr:
    """Return the expression of a leaf: values lead to it, for their text may be anything."""
    value: ast.expr | None = argument.value
    reached = argument.given
    try:
        for key in keys:
            if isinstance(key, str):
                word = key.removeprefix(".")
                reached = getattr(reached, word)
                value = attribute(value, word) if value is not None and is_plain(word) else None
            else:
                inner = key[0] if isinstance(key, tuple) else key
                reached = reached[inner]
                index = python_value(inner)
                value = item(value, [index]) if value is not None and index is not None else None
    except Exception:  # the paths of a registered class say what they like
        value = None
    if value is None or (reached is not leaf and not (is_weak(leaf) and reached == leaf)):
        raise InputError(
            f"{text_of(argument.value)}{path} is not reached by an expression of Python, at "
            f"{user_location()}: its container was registered with paths of its own, or has keys "
            "that are no literals. Give a dict, list, tuple or dataclass."
        )
    return value


def _type_of_leaf(leaf: Any) -> ArrayType:
    return type_of(np.asarray(leaf))


def _convert(value: ast.expr, leaf: Any) -> ast.expr:
    """Return a Python number as the scalar that the program takes."""
    if isinstance(leaf, np.ndarray | np.generic):
        return value
    word = {float: "np.float64", complex: "np.complex128"}.get(type(leaf), "np.asarray")
    return build(f"{word}(x)", x=value)


def _as_array(value: ast.expr, leaf: Any) -> ast.expr:
    """Return whatever array or number is given as an array of the dtype that the program takes."""
    return build("np.asarray(x, dtype)", x=value, dtype=dtype_of(_type_of_leaf(leaf).dtype))


def _captures(examined: Examined, taken: set[str]) -> Iterator[tuple[str, Operand, Any]]:
    """Give the arrays that the function closes over, as operands."""
    captures = examined.trace.captures
    uses = uses_of(examined.program)
    first = len(examined.program.inputs) - len(captures)
    for number, value in enumerate(captures, first):
        word = examined.notes.array_name(value)
        small = np.size(value) <= _SMALL or regular(value) is not None
        if not word and ((small and uses[number] == 1) or not np.ndim(value)):
            yield word, Operand(array(value), word), value
            continue
        word = free(word or "captured", taken)
        taken.add(word)
        if not small:
            yield word, Operand(name(word), word), value
        else:
            yield word, Operand(array(value), word, "closed over"), value


# ---- names and lines about them ------------------------------------------------------------------


def _chain(f: Callable[..., Any]) -> list[str]:
    """Return the names of the transforms around a function, the outermost first, and its own."""
    found = []
    while hasattr(f, "__wrapped__"):
        if isinstance(f, Transformed):
            found.append(f.__qualname__.partition("(")[0])  # as `name_after` writes it
        f = f.__wrapped__
    words = [*found, name_of(f)]
    return [word if word.isidentifier() else "f" for word in words]


def summary_of(f: Callable[..., Any]) -> str:
    """Return a function as the caller wrote it: ``grad(loss)``."""
    chain = _chain(f)
    return "(".join(chain) + ")" * (len(chain) - 1)


def _type_text(type_: ArrayType) -> str:
    shape = f"[{', '.join(map(str, type_.shape))}]" if type_.shape else ""
    return f"{type_.dtype.name}{shape}"


def _key(word: str) -> ast.expr:
    """Return the name of an argument as text: the plain one, of whatever class it is."""
    return ast.Constant(str.__str__(word))


def _value_or_text(leaf: Any) -> ast.expr:
    """Return a value of the user's that is no number; where it has no text, what it prints."""
    found = python_value(leaf)
    return ast.Constant(_text_of_value(leaf)) if found is None else found


def _text_of_value(leaf: Any) -> str:
    """Return what a value prints, which may be anything: for text to be read, never run."""
    try:
        text = str.__str__(repr(leaf))
    except Exception:
        return f"<{type(leaf).__name__}>"
    return shorten(text, _LONGEST)


def _display(value: Any) -> ast.expr:
    """Return the display of a container that holds expressions, of a class a dict of its parts."""
    if isinstance(value, ast.expr):
        return value
    if value is None:
        return constant(None)
    if type(value) is list or isinstance(value, deque):
        return ast.List([_display(part) for part in value], ast.Load())
    if type(value) is tuple:
        return ast.Tuple([_display(part) for part in value], ast.Load())
    if isinstance(value, dict):
        return _dict(value)
    return _dict(_fields(value))


def _dict(parts: Mapping[Any, Any]) -> ast.expr:
    """Return the display of a dict; keys that print the same are numbered."""
    keys: dict[str, ast.expr | None] = {}
    for key in parts:
        text = _value_or_text(key)
        for count in range(2, len(parts) + 2):
            if text_of(text) not in keys:
                break
            text = ast.Constant(f"{_text_of_value(key)} ({count})")
        keys[text_of(text)] = text
    return ast.Dict(list(keys.values()), [_display(part) for part in parts.values()])


def _fields(value: Any) -> dict[str, Any]:
    """Return the parts of an instance of a class by name; of a registered class, its leaves."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        found: dict[str, Any] = value._asdict()
        return found
    leaves, structure = pytree.flatten(value)
    paths = pytree.paths(structure)
    words = [re.match(r"\.(\w+)", path) for path in paths]
    if all(word is not None and hasattr(value, word[1]) for word in words):
        return {word[1]: getattr(value, word[1]) for word in words if word is not None}
    return {path.lstrip("."): leaf for path, leaf in zip(paths, leaves, strict=True)}


def _describe_result(trace: Trace, types: Sequence[ArrayType | None]) -> list[str]:
    """Return lines about the result."""
    if trace.structure is pytree.LEAF:
        return [_type_text(types[0]) if types[0] is not None else "a constant"]
    paths = pytree.paths(trace.structure)
    result = pytree.unflatten(trace.structure, types)
    if result is None:
        return ["None"]
    plain = isinstance(result, dict | list) or type(result) is tuple
    kind = type(result).__name__ if plain else f"dict, of the parts of a {type(result).__name__}"
    pairs = zip(paths, types, strict=True)
    return [kind, *(f"    {path} : {_type_text(t)}" for path, t in pairs if t is not None)]
