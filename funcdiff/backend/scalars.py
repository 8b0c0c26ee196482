"""Programs of single numbers as Python code: floats and `math` instead of NumPy calls.

Python's operators and `math` cost a twentieth of a NumPy call.  They agree with NumPy up to the
last bit, where they do not raise: ``1.0 / 0.0``, ``math.log(-1.0)``, ``math.exp(1000.0)``.  Who
calls such code lets NumPy compute what it would have computed.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from funcdiff.backend.source import Source
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Atom, Equation, Program, Var
from funcdiff.core.types import BOOL
from funcdiff.ops.structural import convert_p, select_p, stop_gradient_p

_FLOAT: Final = np.dtype(np.float64)

_FUNCTIONS: Final[dict[Any, str]] = {
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.divide: "{} / {}",
    np.negative: "-{}",
    np.square: "{0} * {0}",
    np.reciprocal: "1.0 / {}",
    np.absolute: "abs({})",
    np.fabs: "abs({})",
    np.power: "math.pow({}, {})",
    np.float_power: "math.pow({}, {})",
    np.sqrt: "math.sqrt({})",
    np.exp: "math.exp({})",
    np.expm1: "math.expm1({})",
    np.log: "math.log({})",
    np.log1p: "math.log1p({})",
    np.log2: "math.log2({})",
    np.log10: "math.log10({})",
    np.sin: "math.sin({})",
    np.cos: "math.cos({})",
    np.tan: "math.tan({})",
    np.arcsin: "math.asin({})",
    np.arccos: "math.acos({})",
    np.arctan: "math.atan({})",
    np.arctan2: "math.atan2({}, {})",
    np.hypot: "math.hypot({}, {})",
    np.sinh: "math.sinh({})",
    np.cosh: "math.cosh({})",
    np.tanh: "math.tanh({})",
    np.arcsinh: "math.asinh({})",
    np.arccosh: "math.acosh({})",
    np.arctanh: "math.atanh({})",
    np.copysign: "math.copysign({}, {})",
    np.maximum: "({0} if {0} >= {1} or {0} != {0} else {1})",
    np.minimum: "({0} if {0} <= {1} or {0} != {0} else {1})",
    np.less: "{} < {}",
    np.less_equal: "{} <= {}",
    np.greater: "{} > {}",
    np.greater_equal: "{} >= {}",
    np.equal: "{} == {}",
    np.not_equal: "{} != {}",
    np.logical_and: "bool({} and {})",
    np.logical_or: "bool({} or {})",
    np.logical_not: "not {}",
    np.isnan: "math.isnan({})",
    np.isfinite: "math.isfinite({})",
    np.isinf: "math.isinf({})",
}
"""What is the same of floats and flags, as an expression; the others are called and converted."""

_LOGIC: Final = frozenset((np.logical_and, np.logical_or, np.logical_not))
"""Functions that mean the same of flags."""

_OTHERS: Final[dict[Primitive[Any], str]] = {
    select_p: "({1} if {0} else {2})",
    stop_gradient_p: "{}",
    convert_p: "{}",  # of float64 and bool, one to the other
}


def of_scalars(program: Program) -> Source | None:
    """Return the code of a program of single numbers; None if there are others in it."""
    made = (v for eq in program.equations for v in eq.results)
    if not all(_is_scalar(atom) for atom in (*program.inputs, *made, *program.outputs)):
        return None
    names: dict[str, Any] = {"math": math, "float64": np.float64, "bool_": np.bool_}
    lines = [f"def program({', '.join(f'x{v.number}' for v in program.inputs)}):"]
    lines += [f"    x{v.number} = {_python(v)}(x{v.number})" for v in program.inputs]
    for eq in program.equations:
        text = _expression(eq, names)
        if text is None:
            return None
        lines.append(f"    x{eq.results[0].number} = {text}")
    results = [f"{_numpy(atom)}({_operand(atom)})" for atom in program.outputs]
    lines.append(f"    return [{', '.join(results)}]")
    return Source("\n".join(lines) + "\n", names)


def _is_scalar(atom: Atom) -> bool:
    return not atom.type.shape and atom.type.dtype in (_FLOAT, BOOL)


def _expression(eq: Equation, names: dict[str, Any]) -> str | None:
    """Return what computes the result of an equation; None if nothing here does."""
    function = eq.operation.function
    operands = [_operand(atom) for atom in eq.operands]
    if eq.primitive in _OTHERS:
        text = _OTHERS[eq.primitive].format(*operands)
        return f"{_python(eq.results[0])}({text})" if eq.primitive is convert_p else text
    of_floats = all(atom.type.dtype == _FLOAT for atom in eq.operands)
    if function in _FUNCTIONS and (of_floats or function in _LOGIC):
        return _FUNCTIONS[function].format(*operands)
    if not isinstance(function, np.ufunc) or len(eq.results) != 1 or not of_floats:
        return None
    names[function.__name__] = function
    return f"{_python(eq.results[0])}({function.__name__}({', '.join(operands)}))"


def _operand(atom: Atom) -> str:
    if isinstance(atom, Var):
        return f"x{atom.number}"
    value = atom.value.item()
    if value != value:
        return "math.nan"
    if value in (math.inf, -math.inf):
        return "math.inf" if value > 0 else "(-math.inf)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def _python(atom: Atom) -> str:
    """Return the Python type of a number."""
    return "bool" if atom.type.dtype == BOOL else "float"


def _numpy(atom: Atom) -> str:
    """Return the NumPy type of a number."""
    return "bool_" if atom.type.dtype == BOOL else "float64"
