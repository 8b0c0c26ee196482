"""Python expressions as syntax trees: operators, literals, operands that record calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.types import BOOL, FLOAT, INT, ArrayType
from funcdiff.pytree.statics import scalar_bits


@cache
def _parse(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def substitute(node: Any, parts: Mapping[str, ast.expr]) -> Any:
    """Return a new tree with expressions in place of names."""
    if isinstance(node, ast.Name):
        return parts.get(node.id, node)
    if isinstance(node, list):
        return [substitute(part, parts) for part in node]
    if not isinstance(node, ast.AST) or not node._fields:
        return node
    return type(node)(**{word: substitute(part, parts) for word, part in ast.iter_fields(node)})


def build(text: str, **parts: ast.expr) -> ast.expr:
    """Return the expression of a text, with expressions in place of some of its names.

    >>> sum_ = build("a + b", a=name("x"), b=name("y"))
    >>> text_of(build("a * b", a=sum_, b=name("z")))
    '(x + y) * z'
    """
    found: ast.expr = substitute(_parse(text), parts)
    return found


def name(identifier: str) -> ast.Name:
    """Return a name."""
    return ast.Name(identifier, ast.Load())


def constant(value: Any) -> ast.expr:
    """Return a Python value with an exact `repr`: a string, None, integers, tuples of them."""
    return _parse(repr(value))


def call(function: str, *args: ast.expr, **keywords: ast.expr) -> ast.expr:
    """Return a call of a function given by its dotted name."""
    words = [ast.keyword(word, value) for word, value in keywords.items()]
    return ast.Call(_parse(function), list(args), words)


def method(x: ast.expr, word: str, *args: ast.expr) -> ast.expr:
    """Return a call of a method."""
    return ast.Call(ast.Attribute(x, word, ast.Load()), list(args), [])


def attribute(x: ast.expr, word: str) -> ast.expr:
    """Return an attribute."""
    return ast.Attribute(x, word, ast.Load())


def item(x: ast.expr, indices: Sequence[ast.expr]) -> ast.expr:
    """Return ``x[i, j]``."""
    index = indices[0] if len(indices) == 1 else ast.Tuple(list(indices), ast.Load())
    return ast.Subscript(x, index, ast.Load())


def items(values: Sequence[ast.expr]) -> ast.expr:
    """Return a tuple display."""
    return ast.Tuple(list(values), ast.Load())


def text_of(expression: ast.expr) -> str:
    """Return the text of an expression, on one line."""
    text = ast.unparse(expression)
    return text[1:-1] if isinstance(expression, ast.Tuple) and len(expression.elts) > 1 else text


def is_simple(expression: ast.expr) -> bool:
    """Whether an expression is a name or a number, which may be repeated."""
    return isinstance(expression, ast.Name | ast.Constant)


def public_name(function: Any) -> str | None:
    """Return under which name NumPy has a function: ``np.linalg.solve``."""
    word = getattr(function, "__name__", "")
    for path, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft)):
        if vars(module).get(word) is function:  # without warnings of old names
            return f"{path}.{word}"
    return None


# ---- Writes numbers and arrays as Python expressions that evaluate to the same bits --------------


_LARGEST: Final = 1 << 4096
"""Integers from which on Python refuses to write or read digits."""


def dtype_of(dtype: np.dtype[Any]) -> ast.expr:
    """Return a dtype as the class of its scalars: ``np.float32``.

    >>> ast.unparse(dtype_of(np.dtype(bool)))
    'np.bool_'
    """
    word = "bool_" if dtype.kind == "b" else dtype.type.__name__
    return build(f"np.{word}")


def number(value: Any, *, weak: bool) -> ast.expr:
    """Return a NumPy scalar as text; a weak one meets an array of its dtype, so a float will do.

    >>> [ast.unparse(number(np.float32(x), weak=True)) for x in (0.1, -0.0, np.inf)]
    ['0.1', '-0.0', 'np.inf']
    >>> ast.unparse(number(np.float32(0.1), weak=False))
    'np.float32(0.1)'
    """
    value = np.asarray(value)[()]
    plain = _python_number(value)
    if plain is None:
        return _from_bits(value)
    return plain if weak else build("f(x)", f=dtype_of(value.dtype), x=plain)


def _python_number(value: Any) -> ast.expr | None:
    """Return the Python number that converts to exactly this scalar, or None."""
    if value.dtype.kind in "biu":
        return constant(value.item())
    if value.dtype.kind == "c":
        parts = _python_number(value.real), _python_number(value.imag)
        if parts[0] is None or parts[1] is None:
            return None
        return build("complex(x, y)", x=parts[0], y=parts[1])
    if np.isnan(value):
        return build("np.nan") if _is_exact(value, np.nan) else None
    if np.isinf(value):
        return build("np.inf") if value > 0 else build("-np.inf")
    shortest = float(np.format_float_scientific(value, trim="0"))
    for candidate in (shortest, float(value)):
        if _is_exact(value, candidate):
            return constant(candidate)
    return None


def _is_exact(value: Any, candidate: float) -> bool:
    """Whether a Python number converts to exactly this scalar."""
    with np.errstate(all="ignore"):
        return scalar_bits(value.dtype.type(candidate)) == scalar_bits(value)


def _from_bits(value: Any) -> ast.expr:
    """Return what no Python number converts to: digits, or bytes, of the dtype itself."""
    kind = dtype_of(value.dtype)
    if value.dtype.kind == "f" and np.isfinite(value):
        digits = constant(np.format_float_scientific(value, trim="0"))
        return build("f(digits)", f=kind, digits=digits)
    raw = constant(value.tobytes())
    return build("np.frombuffer(raw, f)[0]", raw=raw, f=kind)


def full_array(literal: Literal) -> ast.expr:
    """Return a literal as an array of its own, or as a scalar.

    >>> zero = Literal(np.float64(0.0), ArrayType((2, 3), FLOAT))
    >>> ast.unparse(full_array(zero))
    'np.zeros((2, 3))'
    """
    type_ = literal.type
    if not type_.shape:
        return number(literal.value, weak=False)
    for value, function in ((0, "np.zeros"), (1, "np.ones")):
        if literal.bits == scalar_bits(type_.dtype.type(value)):
            return allocation(function, type_)
    return call("np.full", _shape(type_), number(literal.value, weak=type_.dtype == FLOAT))


def allocation(function: str, type_: ArrayType) -> ast.expr:
    """Return a call of a function of a shape and a dtype, which is that of floats by default."""
    return call(function, _shape(type_), *([] if type_.dtype == FLOAT else [dtype_of(type_.dtype)]))


def _shape(type_: ArrayType) -> ast.expr:
    return constant(type_.shape[0] if type_.ndim == 1 else type_.shape)


def broadcast_array(literal: Literal) -> ast.expr:
    """Return a literal as the interpreter has it: one number, repeated without memory."""
    value = number(literal.value, weak=literal.type.dtype == FLOAT)
    if not literal.type.shape:
        return number(literal.value, weak=False)
    return call("np.broadcast_to", value, constant(literal.type.shape))


def array(values: Any) -> ast.expr:
    """Return a concrete array as text, element by element.

    >>> ast.unparse(array(np.array([1.0, -0.0])))
    'np.array([1.0, -0.0])'
    >>> ast.unparse(array(np.array([[1], [2]], np.int8)))
    'np.array([[1], [2]], np.int8)'
    """
    values = np.asarray(values)
    if not values.shape:
        return number(values[()], weak=False)
    if not values.size:
        return allocation("np.empty", ArrayType(values.shape, values.dtype))
    found = regular(values)
    if found is not None:
        return found
    if values.flags.f_contiguous and not values.flags.c_contiguous:  # sums follow the layout
        return build("x.T", x=array(values.T))
    plain = values.dtype in (FLOAT, INT, BOOL) and values.dtype == np.array(values.tolist()).dtype
    return call("np.array", _nest(values), *([] if plain else [dtype_of(values.dtype)]))


def regular(values: Any) -> ast.expr | None:
    """Return how NumPy makes an array that follows a rule; None for others.

    >>> [ast.unparse(regular(x)) for x in (np.eye(5), np.ones((2, 3)), np.arange(4.0))]
    ['np.eye(5)', 'np.ones((2, 3))', 'np.arange(4.0)']
    """
    values = np.asarray(values)
    if values.size < 2 or not values.flags.c_contiguous:
        return None
    same = np.full(values.shape, values.flat[0])
    if _have_same_bits(values, same):
        return full_array(Literal(values.flat[0], ArrayType(values.shape, values.dtype)))
    if values.ndim == 2 and _have_same_bits(values, np.eye(*values.shape, dtype=values.dtype)):
        shape = values.shape[:1] if values.shape[0] == values.shape[1] else values.shape
        words = {} if values.dtype == FLOAT else {"dtype": dtype_of(values.dtype)}
        return call("np.eye", *map(constant, shape), **words)
    if values.ndim == 1 and values.dtype in (INT, FLOAT):
        stop = values.dtype.type(values.size).item()
        if _have_same_bits(values, np.arange(stop)):
            return call("np.arange", constant(stop))
    return None


def _have_same_bits(x: Any, y: Any) -> bool:
    """Whether arrays of numbers have the same bits; padding, which longdouble has, may differ."""
    if x.dtype.kind in "fc" and x.dtype.itemsize not in (2, 4, 8, 16):
        return False
    return bool(x.dtype == y.dtype and x.tobytes() == y.tobytes())


def _nest(values: Any) -> ast.expr:
    if not values.shape:
        return number(values[()], weak=True)
    return ast.List([_nest(row) for row in values], ast.Load())


def python_value(value: Any) -> ast.expr | None:
    """Return the text of a Python or NumPy value that evaluates to it; None if there is none.

    Types are exact: what a class of the user's prints is no text to be run.

    >>> ast.unparse(python_value(("a", -1, np.float32(2.0))))
    "('a', -1, np.float32(2.0))"
    >>> python_value(object()) is None
    True
    """
    kind = type(value)
    if value is None or value is ... or kind in (bool, str, bytes):
        return ast.Constant(value)
    if kind in (float, complex):
        return number(np.asarray(value)[()], weak=True)
    if kind in (np.str_, np.bytes_):
        return call(f"np.{kind.__name__}", ast.Constant(value.item()))
    if kind is int:
        return constant(value) if abs(value) < _LARGEST else None
    if kind.__module__ == "numpy" and isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return number(value, weak=False)
    if kind not in (range, slice, tuple, frozenset):
        return None
    inner = (value.start, value.stop, value.step) if kind in (range, slice) else value
    parts = [part for part in map(python_value, inner) if part is not None]
    if len(parts) < len(inner):
        return None
    if kind is tuple:
        return items(parts)
    return call(kind.__name__, *(parts if kind is not frozenset else [items(parts)]))


# ---- Symbolic operands, which record calls of NumPy as expressions -------------------------------
#
# An implementation that is one expression is run on symbols, which gives its text; whatever else
# needs to know a value raises `UnwritableError`.


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
