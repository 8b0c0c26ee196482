"""Translates elementwise equations of floats and flags to instructions on vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.backend.native import mathematics
from funcdiff.backend.native.vectors import Vector, where
from funcdiff.core.program import Equation, Program
from funcdiff.ops.structure.structural import convert_p, select_p

Formula: TypeAlias = Callable[..., Vector]

KINDS: Final = {np.dtype(np.float64): "double", np.dtype(np.float32): "float", np.dtype(bool): "i1"}
"""What vectors there are."""

_NUMBERS: Final = 160
"""Numbers that Python's floats compute in the time of a few loops of machine code."""


def _maximum(x: Vector, y: Vector) -> Vector:
    return where(x.compare("ogt", y) | x.compare("uno", x), x, y)


def _minimum(x: Vector, y: Vector) -> Vector:
    return where(x.compare("olt", y) | x.compare("uno", x), x, y)


def _sign(x: Vector) -> Vector:
    zero = x.like(0.0)
    return where(x > 0.0, 1.0, where(x < 0.0, -1.0, where(x.compare("oeq", 0.0), zero, x)))


def _fmax(x: Vector, y: Vector) -> Vector:
    return where(x.compare("oge", y) | y.compare("uno", y), x, y)


def _fmin(x: Vector, y: Vector) -> Vector:
    return where(x.compare("ole", y) | y.compare("uno", y), x, y)


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
    np.maximum: _maximum,
    np.minimum: _minimum,
    np.fmax: _fmax,
    np.fmin: _fmin,
    np.less: _compare("olt"),
    np.less_equal: _compare("ole"),
    np.greater: _compare("ogt"),
    np.greater_equal: _compare("oge"),
    np.equal: _compare("oeq"),
    np.not_equal: _compare("une"),
    np.isnan: lambda x: x.compare("uno", x),
    np.isinf: lambda x: x.unary("fabs").compare("oeq", math.inf),
    np.isfinite: lambda x: x.unary("fabs") < math.inf,
    "root_of_squares": lambda x: x.unary("sqrt"),
}
OF_DOUBLES: Final[dict[Any, Formula]] = {
    np.exp: mathematics.exp,
    np.expm1: mathematics.expm1,
    np.log: mathematics.log,
    np.log1p: mathematics.log1p,
    np.sin: mathematics.sin,
    np.cos: mathematics.cos,
    np.sinh: mathematics.sinh,
    np.cosh: mathematics.cosh,
    np.tanh: mathematics.tanh,
    "erf": mathematics.erf,
}
"""Functions that are computed in double precision (see `code.expansion` for further ones)."""
_QUICK_OF_SINGLE: Final = frozenset((np.exp, np.log, np.sin, np.cos, np.tanh))
"""Those of single precision that NumPy computes as quickly itself, by vectors, too."""
_OF_FLAGS: Final[dict[Any, Formula]] = {
    np.logical_and: lambda x, y: x & y,
    np.logical_or: lambda x, y: x | y,
    np.logical_not: lambda x: x ^ 1,
}


def _key(eq: Equation) -> Any:
    """Return by what the formula of an equation is found: its name, or the ufunc it calls."""
    name = eq.primitive.name
    return name if name in OF_DOUBLES or name in OF_FLOATS else eq.operation.function


def is_function(eq: Equation) -> bool:
    """Whether an equation computes a function that takes a chain of instructions."""
    return _key(eq) in OF_DOUBLES


def is_worth_a_loop(equations: Sequence[Equation]) -> bool:
    """Whether machine code for equations is quicker than NumPy's functions one by one."""
    return len(equations) > 1 or any(map(is_function, equations))


def is_mostly_loops(program: Program) -> bool:
    """Whether loops compute most equations, and quicker than Python's floats would."""
    sizes = [
        eq.results[0].type.size * (1 + is_function(eq)) for eq in program.equations if formula(eq)
    ]
    return 2 * len(sizes) > len(program.equations) and sum(sizes) > _NUMBERS


def formula(eq: Equation) -> Formula | None:
    """Return what computes an equation of vectors; None if nothing here does."""
    types = [atom.type for atom in (*eq.operands, *eq.results)]
    if not types[-1].shape or not all(t.dtype in KINDS for t in types):
        return None
    given = {KINDS[t.dtype] for t in types[:-1]}
    if eq.primitive is select_p:
        return where
    if eq.primitive is convert_p:
        kind = KINDS[types[-1].dtype]
        return None if kind == "i1" else lambda x: x.convert(kind)
    key = _key(eq)
    if given == {"i1"}:
        return _OF_FLAGS.get(key)
    if key in OF_DOUBLES:
        by_numpy = key in _QUICK_OF_SINGLE and "double" not in given
        return None if by_numpy else _in_double_precision(OF_DOUBLES[key], *given)
    return OF_FLOATS.get(key) if len(given) == 1 else None


def _in_double_precision(function: Formula, kind: str) -> Formula:
    if kind == "double":
        return function
    return lambda *xs: function(*[x.convert("double") for x in xs]).convert(kind)
