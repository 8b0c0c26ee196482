"""Formulas of LLVM's instructions for elementwise operations."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.backend.native import llvm
from funcdiff.backend.native.llvm import Vector, join, of_width, where
from funcdiff.core.program import Equation
from funcdiff.core.types import BOOL, FLOAT, INT
from funcdiff.ops.structure.structural import convert_p, select_p

Formula: TypeAlias = Callable[..., Vector]

KINDS: Final = {FLOAT: "double", np.dtype(np.float32): "float", BOOL: "i1", INT: "i64"}
"""What vectors there are."""

MEMORY: Final = {"double": ("double", 8), "float": ("float", 4), "i1": ("i8", 1), "i64": ("i64", 8)}
"""How each kind lies in memory: type and bytes."""


def _sign(x: Vector) -> Vector:
    zero = x.like(0.0)
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, where(x.compare("oeq", 0.0), zero, x)))


def _remainder(x: Vector, y: Vector) -> Vector:
    """Return x - y·⌊x/y⌋, with the sign of y."""
    rest, zero = x.emit(f"frem {x}, {y.text}"), x.like(0.0)
    other_sign = (y < 0.0) ^ (rest < 0.0)
    moved = where(other_sign & rest.compare("une", 0.0), rest + y, rest)
    return where(moved.compare("oeq", 0.0), where(y < 0.0, -zero, zero), moved)


def _logaddexp(x: Vector, y: Vector) -> Vector:
    """Return max(x, y) + ln(1 + exp(-|x - y|)); equal infinities have the distance 0."""
    distance = (x - y).unary("fabs")
    distance = where(distance.compare("uno", distance), distance.like(0.0), distance)
    larger = where(x.compare("ogt", y) | x.compare("uno", x), x, y)
    return larger + llvm.log1p(llvm.exp(-distance))


def _compare(predicate: str) -> Formula:
    return lambda x, y: x.compare(predicate, y)


OF_FLOATS: Final[dict[Any, Formula]] = {
    np.add: lambda x, y: x + y,
    np.subtract: lambda x, y: x - y,
    np.multiply: lambda x, y: x * y,
    np.divide: lambda x, y: x / y,
    np.negative: lambda x: -x,
    np.square: lambda x: x * x,
    np.reciprocal: lambda x: 1.0 / x,
    np.absolute: lambda x: x.unary("fabs"),
    np.fabs: lambda x: x.unary("fabs"),
    np.sqrt: lambda x: x.unary("sqrt"),
    np.sign: _sign,
    np.maximum: lambda x, y: where(x.compare("ogt", y) | x.compare("uno", x), x, y),
    np.minimum: lambda x, y: where(x.compare("olt", y) | x.compare("uno", x), x, y),
    np.fmax: lambda x, y: where(x.compare("oge", y) | y.compare("uno", y), x, y),
    np.fmin: lambda x, y: where(x.compare("ole", y) | y.compare("uno", y), x, y),
    np.less: _compare("olt"),
    np.less_equal: _compare("ole"),
    np.greater: _compare("ogt"),
    np.greater_equal: _compare("oge"),
    np.equal: _compare("oeq"),
    np.not_equal: _compare("une"),
    np.floor: lambda x: x.unary("floor"),
    np.ceil: lambda x: x.unary("ceil"),
    np.trunc: lambda x: x.unary("trunc"),
    np.rint: lambda x: x.unary("rint"),
    np.fmod: lambda x, y: x.emit(f"frem {x}, {y.text}"),
    np.remainder: _remainder,
    np.heaviside: lambda x, at_zero: where(
        x.compare("oeq", 0.0), at_zero, where(x < 0.0, x.like(0.0), where(x > 0.0, 1.0, x))
    ),
    np.deg2rad: lambda x: x * (math.pi / 180.0),
    np.rad2deg: lambda x: x * (180.0 / math.pi),
    np.isnan: lambda x: x.compare("uno", x),
    np.isinf: lambda x: x.unary("fabs").compare("oeq", math.inf),
    np.isfinite: lambda x: x.unary("fabs") < math.inf,
    "root_of_squares": lambda x: x.unary("sqrt"),
}
OF_DOUBLES: Final[dict[Any, Formula]] = {
    np.exp: llvm.exp,
    np.expm1: llvm.expm1,
    np.log: llvm.log,
    np.log1p: llvm.log1p,
    np.sin: llvm.sin,
    np.cos: llvm.cos,
    np.sinh: llvm.sinh,
    np.cosh: llvm.cosh,
    np.tanh: llvm.tanh,
    "erf": llvm.erf,
    np.logaddexp: _logaddexp,
    "logistic": lambda x: 1.0 / (llvm.exp(-x) + 1.0),
    "expit": lambda x: 1.0 / (llvm.exp(-x) + 1.0),
}
"""Functions that are computed in double precision (see `code.lower` for further ones)."""
_OF_FLAGS: Final[dict[Any, Formula]] = {
    np.logical_and: lambda x, y: x & y,
    np.logical_or: lambda x, y: x | y,
    np.logical_xor: lambda x, y: x ^ y,
    np.not_equal: lambda x, y: x ^ y,
    np.equal: lambda x, y: (x ^ y) ^ 1,
    np.logical_not: lambda x: x ^ 1,
    np.bitwise_and: lambda x, y: x & y,
    np.bitwise_or: lambda x, y: x | y,
    np.bitwise_xor: lambda x, y: x ^ y,
    np.invert: lambda x: x ^ 1,
}
_OF_TRUTH: Final = frozenset((np.logical_and, np.logical_or, np.logical_xor, np.logical_not))
"""Functions of numbers of which it counts whether they are 0."""
OF_INTEGERS: Final[dict[Any, Formula]] = {
    np.add: lambda x, y: x + y,
    np.subtract: lambda x, y: x - y,
    np.multiply: lambda x, y: x * y,
    np.negative: lambda x: 0 - x,
    np.square: lambda x: x * x,
    np.absolute: lambda x: where(compare_integers("slt", x, x.like(0)), 0 - x, x),
    np.bitwise_and: lambda x, y: x & y,
    np.bitwise_or: lambda x, y: x | y,
    np.bitwise_xor: lambda x, y: x ^ y,
    np.invert: lambda x: x ^ -1,
    np.maximum: lambda x, y: where(compare_integers("sgt", x, y), x, y),
    np.minimum: lambda x, y: where(compare_integers("slt", x, y), x, y),
    np.less: lambda x, y: compare_integers("slt", x, y),
    np.less_equal: lambda x, y: compare_integers("sle", x, y),
    np.greater: lambda x, y: compare_integers("sgt", x, y),
    np.greater_equal: lambda x, y: compare_integers("sge", x, y),
    np.equal: lambda x, y: compare_integers("eq", x, y),
    np.not_equal: lambda x, y: compare_integers("ne", x, y),
}

_SAME: Final = "tan cbrt exp2 log2 log10 hypot copysign"
_INVERSE: Final = "sin cos tan sinh cosh tanh"
OF_LIBRARY: Final[dict[Any, str]] = {
    **{getattr(np, word): word for word in _SAME.split()},
    **{getattr(np, f"arc{word}"): f"a{word}" for word in _INVERSE.split()},
    np.arctan2: "atan2", np.power: "pow", np.float_power: "pow", operator.pow: "pow",
    "erfc": "erfc",
}  # fmt: skip
"""Functions of doubles that the C library computes number by number."""

LIBRARY: Final = frozenset(("sin", "cos", *OF_LIBRARY.values()))
"""Functions of the C library that formulas call."""


def compare_integers(predicate: str, x: Vector, y: Vector) -> Vector:
    """Compare integers: ``slt`` says less, ``ult`` less of numbers without sign, and so on."""
    return x.emit(f"icmp {predicate} {x}, {y.text}", "i1")


def _by_library(name: str, *xs: Vector) -> Vector:
    code = xs[0].code
    numbers = zip(*[x.lanes for x in xs], strict=True)
    made = [code.call(name, "double", *map(str, lanes)) for lanes in numbers]
    return join([Vector(code, text, "double", 1) for text in made])


def key(eq: Equation) -> Any:
    """Return by what the formula of an equation is found: its name, or the ufunc it calls."""
    name = eq.primitive.name
    known = name in OF_DOUBLES or name in OF_FLOATS or name in OF_LIBRARY
    return name if known else eq.operation.function


def is_function(eq: Equation) -> bool:
    """Whether an equation computes a function that takes a chain of instructions."""
    return key(eq) in OF_DOUBLES


def formula(eq: Equation) -> Formula | None:
    """Return what computes an elementwise equation of vectors; None if nothing here does."""
    types = [atom.type for atom in (*eq.operands, *eq.results)]
    if not all(t.dtype in KINDS for t in types):
        return None
    given = {KINDS[t.dtype] for t in types[:-1]}
    if eq.primitive is select_p:
        return where
    if eq.primitive is convert_p:
        return _conversion(KINDS[types[0].dtype], KINDS[types[-1].dtype])
    if not eq.primitive.pointwise:
        return None
    function = key(eq)
    if given == {"i1"}:
        return _OF_FLAGS.get(function)
    if function in _OF_TRUTH:
        return lambda *xs: _OF_FLAGS[function](*map(_is_true, xs))
    if given == {"i64"}:
        return OF_INTEGERS.get(function)
    if function in OF_DOUBLES:
        return _in_double_precision(OF_DOUBLES[function], *given)
    if function in OF_LIBRARY and given == {"double"}:
        return partial(_by_library, OF_LIBRARY[function])
    return OF_FLOATS.get(function) if len(given) == 1 else None


def _conversion(source: str, target: str) -> Formula | None:
    """Return what makes numbers of another kind; no integers of floats, which may be too large."""
    if target == "i64":
        return None if source in ("double", "float") else to_integers
    if target == "i1":
        return _is_true
    return lambda x: x.convert(target)


def _is_true(x: Vector) -> Vector:
    if x.kind == "i1":
        return x
    return compare_integers("ne", x, x.like(0)) if x.kind == "i64" else x.compare("une", 0.0)


def to_integers(x: Vector) -> Vector:
    """Return flags as integers, or integers as they are."""
    return x if x.kind == "i64" else x.emit(f"zext {x} to {of_width('i64', x.width)}", "i64")


def _in_double_precision(function: Formula, kind: str) -> Formula:
    if kind == "double":
        return function
    return lambda *xs: function(*[x.convert("double") for x in xs]).convert(kind)
