"""Symbolic operands, which record calls of NumPy as expressions.

An implementation that is one expression is run on symbols, which gives its text; whatever else
needs to know a value raises `UnwritableError`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.types import ArrayType
from funcdiff.reading.text.expressions import attribute, build, item, items
from funcdiff.reading.text.literals import dtype_of, python_value


class UnwritableError(Exception):
    """Something has no text; caught by the writer, which knows the equation."""


Namer = Callable[[Any], str]
"""Under which name the text has a function of NumPy's or SciPy's."""


class Symbol:
    """An operand, or what was computed of operands: `count` results where that is not one.

    `names` calls functions by name; `type_` is the shape and dtype, where they are known.
    """

    def __init__(
        self, value: ast.expr, names: Namer, count: int, type_: ArrayType | None = None
    ) -> None:
        self.value = value
        self._names = names
        self.count = count
        self._type = type_

    def _make(self, value: ast.expr) -> Symbol:
        return Symbol(value, self._names, self.count)

    def _call(self, function: ast.expr, args: Sequence[Any], words: dict[str, Any]) -> Symbol:
        keywords = [ast.keyword(word, expression_of(x)) for word, x in words.items()]
        return self._make(ast.Call(function, [*map(expression_of, args)], keywords))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **words: Any) -> Symbol:
        name = self._names(ufunc)
        name = name if method == "__call__" else f"{name}.{method}"
        return self._call(build(name), args, words)

    def __array_function__(
        self, function: Any, _types: Any, args: Any, words: dict[str, Any]
    ) -> Symbol:
        return self._call(build(self._names(function)), args, words)

    def __array__(self, *_args: Any, **_words: Any) -> Any:
        raise UnwritableError("it needs values")

    def __bool__(self) -> bool:
        raise UnwritableError("it decides by values")

    def __iter__(self) -> Iterator[Part]:
        for place in range(self.count):
            yield Part(self, place)

    def __getitem__(self, index: Any) -> Symbol:
        parts = index if isinstance(index, tuple) else (index,)
        return self._make(item(self.value, [expression_of(part) for part in parts]))

    def __getattr__(self, word: str) -> Any:
        if word in ("real", "imag", "T"):
            return self._make(attribute(self.value, word))
        if word in ("shape", "dtype", "ndim") and self._type is not None:
            return getattr(self._type, word)
        if word.startswith("_") or not callable(getattr(np.ndarray, word, None)):
            raise UnwritableError(f"its {word} is not known")
        return lambda *args, **words: self._call(attribute(self.value, word), args, words)


class Part(Symbol):
    """One of several results."""

    def __init__(self, whole: Symbol, place: int) -> None:
        value = item(whole.value, [ast.Constant(place)])
        super().__init__(value, whole._names, whole.count)
        self.whole, self.place = whole, place


def _operator(formula: str) -> Callable[..., Symbol]:
    def apply(self: Symbol, *other: Any) -> Symbol:
        parts = dict(zip("xy", [self.value, *map(expression_of, other)], strict=False))
        return self._make(build(formula, **parts))

    return apply


_OPERATORS: Final = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<",
    "rshift": ">>",
}  # fmt: skip

for _word, _sign in _OPERATORS.items():
    setattr(Symbol, f"__{_word}__", _operator(f"x {_sign} y"))
    setattr(Symbol, f"__r{_word}__", _operator(f"y {_sign} x"))
for _word, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(Symbol, f"__{_word}__", _operator(f"x {_sign} y"))
for _word, _sign in {"neg": "-", "pos": "+", "invert": "~"}.items():
    setattr(Symbol, f"__{_word}__", _operator(f"{_sign}x"))


def expression_of(value: Any) -> ast.expr:
    """Return a symbol, or a value that is known; raise `UnwritableError` if it has no text."""
    if isinstance(value, Symbol):
        return value.value
    if isinstance(value, np.dtype):
        return dtype_of(value)
    if isinstance(value, str):
        return ast.Constant(value)
    if isinstance(value, type) and issubclass(value, np.generic | float | int | complex):
        return dtype_of(np.dtype(value))
    if isinstance(value, tuple | list):
        whole = _whole(value) if value else None
        if whole is not None:
            return whole.value
        parts = [expression_of(part) for part in value]
        return items(parts) if isinstance(value, tuple) else ast.List(parts, ast.Load())
    if isinstance(value, dict):
        keys: list[ast.expr | None] = [*map(expression_of, value)]
        return ast.Dict(keys, [*map(expression_of, value.values())])
    found = python_value(value)
    if found is None:
        raise UnwritableError(f"{value!r} has no text")
    return found


def _whole(parts: Sequence[Any]) -> Symbol | None:
    """Return what parts are all the results of, in order; None if they are not."""
    whole = parts[0].whole if isinstance(parts[0], Part) else None
    if whole is None or len(parts) != whole.count:
        return None
    pairs = enumerate(parts)
    same = [isinstance(x, Part) and x.whole is whole and x.place == k for k, x in pairs]
    return whole if all(same) else None
