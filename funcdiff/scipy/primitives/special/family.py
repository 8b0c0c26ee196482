"""Functions of ``scipy.special``, known by name: ``special`` declares one with its derivatives.

SciPy is an optional dependency: nothing here imports it before one of its functions is met.  A
program that mentions one prints, parses, differentiates and hashes as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.late import scipy_function
from funcdiff.core.primitive import Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy.messages.foreign import handlers
from funcdiff.ops.families import (
    Elementwise,
    Partial,
    Tangent,
    conform,
    elementwise,
    resolver,
    weights,
)
from funcdiff.ops.structure.structural import convert
from funcdiff.space import mul, same_types, sum_tangents

Op: TypeAlias = Callable[..., Any]
"""An operation as a function of tracers."""


def _scipys(name: str, substitute: Callable[..., Any] | None) -> Callable[..., Any]:
    """Return SciPy's function, or what there is instead if that is not installed."""
    if substitute is not None and not _is_installed():
        return substitute
    return scipy_function(name)


@cache
def _is_installed() -> bool:
    try:
        import_module("scipy.special")
    except ImportError:
        return False
    return True


def special(
    name: str,
    *partials: Partial | str,
    whole: Sequence[str] = (),
    tangent: Tangent | None = None,
    run: Op | None = None,
    dtypes: Callable[..., np.dtype[Any]] | None = None,
    primitive: str | None = None,
    substitute: Op | None = None,
) -> Elementwise:
    """Declare an elementwise operation that ``scipy.special`` computes.

    `name`: name of the function there.
    `*partials`: as in `elementwise`, or SciPy's name of an operand if there is no closed derivative
      in it; `tangent` replaces them all.
    `whole`: names of first operands that are whole numbers, or of which SciPy drops the fraction:
      so does the derivative in the only other operand, the partial derivative given.
    `run`: what computes it, if not the function of that name: one of its several results, say.
    `dtypes`: result dtype, where the function is not a ufunc; by default that of the last operand.
    `primitive`: name of the primitive, where that of the function is NumPy's, too.
    `substitute`: what computes it where SciPy is not installed, in the dtype of its operands.
    """

    def compute(*xs: Any) -> Any:
        return _scipys(name, substitute)(*xs)

    def into(*xs: Any) -> Any:
        *operands, result = xs
        function = _scipys(name, substitute)
        if isinstance(function, np.ufunc):
            return function(*operands, out=result)
        result[...] = function(*operands)
        return result

    def resolve(*operands: np.dtype[Any]) -> np.dtype[Any]:
        function = _scipys(name, substitute)
        return operands[0] if function is substitute else resolver(function)(*operands)

    slopes = [undefined(name, slope) if isinstance(slope, str) else slope for slope in partials]
    if whole:
        slopes = [*(undefined(name, n) for n in whole), *map(_of_whole_numbers, slopes)]
    op = elementwise(
        primitive or name,
        run or compute,
        *slopes,
        tangent=tangent,
        dtypes=dtypes or (_last if run else resolve),
        into=None if run else lambda _p: into,
    )
    handlers[name] = op
    weights[op.primitive.name] = 40
    return op


def with_complement(
    name: str, *partials: Op | str, whole: Sequence[str] = ()
) -> tuple[Elementwise, Elementwise]:
    """Declare a function as `special` does and, by its name with a c, one minus it."""
    opposite = [slope if isinstance(slope, str) else _opposite(slope) for slope in partials]
    return special(name, *partials, whole=whole), special(f"{name}c", *opposite, whole=whole)


def _opposite(slope: Op) -> Op:
    return lambda *operands: -slope(*operands)


def result_of(function: str, k: int) -> Op:
    """Return what computes one of the results of a function of ``scipy.special``."""

    def result(*xs: Any) -> Any:
        return scipy_function(function)(*xs)[k]

    return result


def _last(*operands: np.dtype[Any]) -> np.dtype[Any]:
    return operands[-1]


# ---- operands without a derivative ---------------------------------------------------------------


def undefined(function: str, parameter: str) -> Op:
    """Return the partial derivative in a parameter, which refuses and says how to go on.

    `function`: name in ``scipy.special``.
    `parameter`: name of the argument in SciPy's signature.
    """

    def refuse(*_operands: Any) -> Any:
        raise NotDifferentiableError(
            f"scipy.special.{function} was differentiated in its parameter {parameter} at "
            f"{user_location()}, and there is no closed formula for that. Keep {parameter} out of "
            f"the differentiated arguments, or write fd.stop_gradient({parameter}); if it has to "
            "vary, take differences in it."
        )

    return refuse


def _refuse_order(*_operands: Any) -> Any:
    raise NotDifferentiableError(
        "a derivative of a function of scipy.special was differentiated in a parameter that is a "
        f"whole number, at {user_location()}. Keep it out of the differentiated arguments, or "
        "write fd.stop_gradient of it; if it has to vary, take differences in it."
    )


whole_part: Final = elementwise("whole_part", lambda n: np.trunc(n), _refuse_order)
"""What SciPy takes for a whole number n; there is no derivative in it, not even 0."""


def _of_whole_numbers(slope: Any) -> Op:
    """Return the derivative of whole numbers in the dtype of the last operand."""

    def partial(*operands: Any) -> Any:
        *numbers, x, y = operands
        return slope(*(whole_part(convert(n, x.dtype)) for n in numbers), x, y)

    return partial


# --------------------------------------------------------------------------------------------------
# Families of functions numbered by integers: the derivatives of each are others of the family.
#
# The numbers are parameters of the equation, so that derivatives of any order are defined without
# a primitive for each.


Formula: TypeAlias = Callable[..., Any]
"""``formula(orders, *xs)``: of float64 arrays where it computes, of tracers where it derives."""


class Orders(Params):
    """The numbers of a function in its family."""

    orders: tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """The functions of a family: ``family(orders, *xs)`` of tracers of one type."""

    primitive: Primitive[Orders]

    def __call__(self, orders: tuple[int, ...], *xs: Tracer) -> Tracer:
        """Record the function of these numbers."""
        return bind(self.primitive, Orders(orders), *xs)[0]


def by_order(name: str, compute: Formula, *partials: Formula | None, kinds: str = "f") -> Family:
    """Declare a family by what computes it in float64, and its partial derivatives in each operand.

    Functions of the family occur in derivatives only, so they silence NumPy's warnings.  Complex
    operands, of kind "c", come in complex128; None is the derivative in a whole number.
    """

    def abstract(p: Orders, *types: ArrayType) -> Types:
        if any(t.dtype.kind not in kinds for t in types):
            raise TypeError(f"{name} needs real operands, got {', '.join(map(repr, types))}")
        return same_types(p, *types)

    def implement(p: Orders) -> Callable[..., Any]:
        def run(*xs: Any) -> Any:
            with np.errstate(all="ignore"):
                wide = np.result_type(xs[0].dtype, np.float64)
                y = compute(p.orders, *(np.asarray(x, wide) for x in xs))
            return np.asarray(y).astype(xs[0].dtype)[()]

        return run

    def forward(p: Orders, xs: Tracers, ts: Tangents) -> Pushed:
        y = family(p.orders, *xs)
        terms = [
            None
            if t is None or partial is None
            else mul(t, conform(partial(p.orders, *xs), y.type))
            for partial, t in zip(partials, ts, strict=True)
        ]
        return [y], [sum_tangents(terms)]

    weights[name] = 1000  # an integral, or a series of many terms
    family = Family(Primitive(name, Orders, abstract, implement, jvp=forward))
    return family
