"""Translates operations of single numbers to Python operators and functions of `math`.

Python's operators and `math` cost a twentieth of a NumPy call.  They agree with NumPy up to the
last bit, where they do not raise: ``1.0 / 0.0``, ``math.log(-1.0)``, ``math.exp(1000.0)``.  Who
calls such code tries it first, and lets NumPy compute what it would have computed.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.backend.code.formulas import OPERATORS
from funcdiff.core.atoms import Literal
from funcdiff.core.late import computed
from funcdiff.core.program import Equation
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.types import BOOL, FLOAT, INT, ArrayType
from funcdiff.errors import went_through_users_code
from funcdiff.ops.structure.structural import convert_p

_MAXIMUM: Final = "({0} if {0} > {1} or {0} != {0} else {1})"
_MINIMUM: Final = "({0} if {0} < {1} or {0} != {0} else {1})"

_SAME: Final = (
    "sqrt cbrt exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh isnan isfinite isinf"
)
_INVERSE: Final = "sin cos tan sinh cosh tanh"

FUNCTIONS: Final[dict[Any, str]] = {
    **OPERATORS,
    **{getattr(np, word): f"math.{word}({{}})" for word in _SAME.split()},
    **{getattr(np, f"arc{word}"): f"math.a{word}({{}})" for word in _INVERSE.split()},
    np.square: "{0} * {0}",
    np.reciprocal: "1.0 / {}",
    np.absolute: "abs({})",
    np.fabs: "abs({})",
    operator.pow: "math.pow({}, {})",
    np.float_power: "math.pow({}, {})",
    np.arctan2: "math.atan2({}, {})",
    np.hypot: "math.hypot({}, {})",
    np.copysign: "math.copysign({}, {})",
    np.maximum: _MAXIMUM,
    np.minimum: _MINIMUM,
    np.logical_and: "bool({} and {})",
    np.logical_or: "bool({} or {})",
    np.logical_not: "not {}",
}
"""What is the same of floats and flags, as an expression; of the others NumPy is called."""

EXACT: Final = frozenset(
    (*OPERATORS, np.square, np.reciprocal, np.absolute, np.fabs, np.sqrt, np.maximum, np.minimum)
)  # fmt: skip
"""Functions of floats that are right to the last bit, or whose results are among the operands."""

_LOGIC: Final = frozenset(
    (np.logical_and, np.logical_or, np.logical_not, np.equal, np.not_equal)
)  # fmt: skip
"""Functions that mean the same of flags."""

SPECIAL: Final = {
    "select": "({1} if {0} else {2})",
    "stop_gradient": "{}",
    "root_of_squares": "math.sqrt({})",
    "erf": "math.erf({})",
    "erfc": "math.erfc({})",
    "expit": "1.0 / (1.0 + math.exp(-{}))",
}
"""What is no ufunc, or one of ``scipy.special``, by the name of its primitive."""


class Expression(NamedTuple):
    """What computes an element of a result."""

    template: str  # formatted with elements of the operands
    # NumPy's function ``{called}``, where only that knows the result.
    called: Callable[..., Any] | None = None


def expression(eq: Equation) -> Expression | None:
    """Return what computes an element of the result of an equation.

    None if nothing here does, because not everything is a float or a flag, say.
    """
    if makes_index(eq):
        return Expression("{}")
    if not all(is_number(atom.type.dtype) for atom in (*eq.operands, *eq.results)):
        return None
    function = eq.operation.function
    python = "bool" if eq.results[0].type.dtype == BOOL else "float"
    if eq.primitive is convert_p:
        return Expression(f"{python}({{}})")
    if eq.primitive.name in SPECIAL:
        return Expression(SPECIAL[eq.primitive.name])
    of_floats = all(atom.type.dtype == FLOAT for atom in eq.operands)
    if function in FUNCTIONS and (of_floats or function in _LOGIC):
        return Expression(FUNCTIONS[function])
    if not eq.primitive.pointwise or len(eq.results) != 1 or not of_floats:
        return None
    operands = ", ".join(
        "{}" if isinstance(function, np.ufunc) else "float64({})" for _ in eq.operands
    )
    return Expression(f"{python}({{called}}({operands}))", function)


def makes_index(eq: Equation) -> bool:
    """Whether an equation makes a flag a number, which chooses a branch."""
    if eq.primitive is not convert_p:
        return False
    return eq.operands[0].type == ArrayType((), BOOL) and eq.results[0].type == ArrayType((), INT)


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether Python has numbers like that."""
    return dtype in (FLOAT, BOOL)


def literal(atom: Literal) -> str:
    """Return the number of a literal as an expression."""
    value = atom.value.item()
    if value != value:
        return "math.nan"
    if value in (math.inf, -math.inf):
        return "math.inf" if value > 0 else "(-math.inf)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


_TRIES: Final = 8
"""How often a function may fail to compute what NumPy can before it is no longer tried."""


class Attempt:
    """A function of arrays that runs a quick one, or a sure one where the quick one raises.

    The quick one raises `ArithmeticError` or `ValueError` for numbers that it cannot handle;
    ``sure()`` makes the other one when it is needed.  `warns` says whether the quick one may warn.
    """

    warns: bool = False

    def __init__(self, quick: Callable[..., Any], sure: Callable[[], Callable[..., Any]]) -> None:
        # Who calls it by itself gives the operands to the `Attempt` if it raises.
        self.quick = quick
        self._make = sure
        self._failures = 0

    def __call__(self, *operands: Any) -> Any:
        """Return the results."""
        if self._failures < _TRIES:
            try:
                return self.quick(*operands)
            except (ArithmeticError, ValueError) as error:
                if went_through_users_code(error):  # in a signal handler
                    raise
        numbers = [np.float64(x) if type(x) is float else x for x in operands]
        results = quiet(self._fallback, *numbers)
        self._failures += 1  # unless it raises as well
        if self._failures == _TRIES:
            self.quick = self
        return results

    @computed
    def _fallback(self) -> Callable[..., Any]:
        return self._make()
