"""The signature of a text: where the inputs of a program come from, and what is returned."""

from __future__ import annotations

import ast
import inspect
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import is_numeric, type_of
from funcdiff.api.examining import Examined
from funcdiff.api.provenance import short_name
from funcdiff.api.tracing import Trace
from funcdiff.backend.text.expressions import build, constant, name, text_of
from funcdiff.backend.text.literals import array, regular
from funcdiff.backend.text.module import Interface, Operand
from funcdiff.backend.text.names import identifier
from funcdiff.backend.text.uses import uses_of
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.promotion import is_weak

_OURS: Final = "funcdiff."
_SMALL: Final = 16
"""Elements up to which an array that a function closes over is written out."""


class _Argument(NamedTuple):
    """An argument: how it stands in the signature, how the body calls it, and its value."""

    parameter: str
    value: ast.expr
    given: Any


def interface(
    f: Callable[..., Any], examined: Examined, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Interface:
    """Return how the text of a call is called, and what it returns."""
    arguments = list(_arguments(f, args, kwargs))
    parameters = list(dict.fromkeys(a.parameter for a in arguments))
    hidden = {"np", "scipy"}.intersection(p.lstrip("*") for p in parameters)
    if hidden:
        raise InputError(
            f"the function has a parameter named {hidden.pop()}, which would hide that module in "
            f"its text, at {user_location()}. Give the parameter another name."
        )
    operands: list[Operand] = []
    described: list[str] = []
    for argument in arguments:
        _take_apart(argument, operands, described)
    captured = _captures(examined, {identifier(p) for p in parameters})
    for word, operand, value in captured:
        operands.append(operand)
        if isinstance(operand.value, ast.Name):
            if not any(p.startswith("*") for p in parameters):
                parameters.append("*")
            parameters.append(word)
            described.append(
                f"{word} : {_type_text(type_of(value))}, which the function closes over"
            )
    trace = examined.trace
    outputs = iter(trace.outputs)
    types = [next(outputs).type if flag else None for flag in trace.numeric]

    def result(values: Sequence[ast.expr]) -> ast.expr:
        numbers, others = iter(values), iter(trace.others)
        leaves = [next(numbers) if flag else _static(next(others)) for flag in trace.numeric]
        return _display(pytree.unflatten(trace.structure, leaves))

    return Interface(
        "_".join(_chain(f)), _summary(f), _sorted(parameters), described, operands, result,
        _returned(trace, types),
    )  # fmt: skip


def _sorted(parameters: list[str]) -> list[str]:
    """Put what collects keywords last."""
    return sorted(parameters, key=lambda p: p.startswith("**"))


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
            yield _Argument(word, name(word), value)
        return
    kinds = bound.signature.parameters
    for word, value in bound.arguments.items():
        kind = kinds[word].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            for k, part in enumerate(value):
                yield _Argument(f"*{word}", build(f"{word}[{k}]"), part)
        elif kind is inspect.Parameter.VAR_KEYWORD:
            for key, part in value.items():
                yield _Argument(f"**{word}", build(f"{word}[{key!r}]"), part)
        else:
            yield _Argument(word, name(word), value)


def _take_apart(argument: _Argument, operands: list[Operand], described: list[str]) -> None:
    """Add the numeric leaves of an argument, and lines about it."""
    leaves, structure = pytree.flatten(argument.given)
    base = text_of(argument.value)
    for leaf, path in zip(leaves, pytree.paths(structure), strict=True):
        if not is_numeric(leaf):
            described.append(f"{base}{path} : {leaf!r}, not to be changed")
            continue
        value = _accessor(argument, path, leaf)
        wanted = short_name(identifier(base), path)
        described.append(f"{base}{path} : {_type_text(_type_of_leaf(leaf))}")
        operands.append(Operand(_converted(value, leaf), wanted))


def _accessor(argument: _Argument, path: str, leaf: Any) -> ast.expr:
    """Return the expression of a leaf, which Python must understand."""
    try:
        found: Any = build(f"argument{path}", argument=argument.value)
        reached = eval(compile(f"argument{path}", "", "eval"), {"argument": argument.given})
    except Exception:
        reached = None
    if reached is not leaf and not (is_weak(leaf) and reached == leaf):
        raise InputError(
            f"{text_of(argument.value)}{path} is not reached by an expression of Python, at "
            f"{user_location()}: its container was registered with paths of its own, or has keys "
            "that are no literals. Give a dict, list, tuple or dataclass."
        )
    accessor: ast.expr = found
    return accessor


def _type_of_leaf(leaf: Any) -> ArrayType:
    return type_of(np.asarray(leaf))


def _converted(value: ast.expr, leaf: Any) -> ast.expr:
    """Return a Python number as the scalar that the program takes."""
    if isinstance(leaf, np.ndarray | np.generic):
        return value
    word = {float: "np.float64", complex: "np.complex128"}.get(type(leaf), "np.asarray")
    return build(f"{word}(x)", x=value)


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
        word = word or "captured"
        while word in taken:
            word += "_"
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
        code = getattr(f, "__code__", None)
        if code is not None and str(getattr(f, "__globals__", {}).get("__name__")).startswith(
            _OURS
        ):
            outer, *_, inner = code.co_qualname.split(".")
            found.append(inner.removesuffix("_of") if outer.startswith("_") else outer)
        f = f.__wrapped__
    own = getattr(f, "__name__", "f")
    return [*found, own if own.isidentifier() else "f"]


def _summary(f: Callable[..., Any]) -> str:
    """Return a function as the caller wrote it: ``grad(loss)``."""
    chain = _chain(f)
    return "(".join(chain) + ")" * (len(chain) - 1)


def _type_text(type_: ArrayType) -> str:
    shape = f"[{', '.join(map(str, type_.shape))}]" if type_.shape else ""
    return f"{type_.dtype.name}{shape}"


def _static(leaf: Any) -> ast.expr:
    """Return a leaf of the result that is no number."""
    try:
        return constant(leaf)
    except SyntaxError:
        return constant(repr(leaf))


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
        keys: list[ast.expr | None] = [_static(key) for key in value]
        return ast.Dict(keys, [_display(part) for part in value.values()])
    named = _fields(value)
    return ast.Dict([constant(word) for word in named], [_display(x) for x in named.values()])


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


def _returned(trace: Trace, types: Sequence[ArrayType | None]) -> list[str]:
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
