"""The modules `math` and `cmath`, of traced numbers, too.

With plain numbers these functions are Python's own.  Of a traced number they are NumPy's or
SciPy's, give what stands for a Python number, and raise what Python raises outside of their domain.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable
from functools import reduce, wraps
from operator import mul
from types import ModuleType
from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import is_known_to_hold
from funcdiff.adapting.runtime import convert
from funcdiff.adapting.substitutes import Substitute
from funcdiff.api.calls.repeated import CLOSED
from funcdiff.core.late import Routine, scipy_function
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.numpy.border.promotion import as_number
from funcdiff.numpy.border.values import is_traced
from funcdiff.ops.structure.structural import stop_gradient

Function = Callable[..., Any]

_SAME: Final = (
    "cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod log10 log1p log2 "
    "radians sin sinh sqrt tan tanh"
)
_UFUNCS: Final = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "pow": "power",
    **{name: name for name in _SAME.split()},
}  # fmt: skip
_OF_SCIPY: Final = ("erf", "erfc", "gamma")


def _number(x: Any) -> Any:
    return as_number(x) if isinstance(x, Tracer) else x


def _of_numbers(plain: Function, traced: Function, kind: type) -> Function:
    """Return a function of numbers; the traced one gives what stands for a Python number."""

    @wraps(plain)
    def function(*xs: Any) -> Any:
        if not any_traced(xs):
            return plain(*xs)
        given = [convert(kind, x) for x in xs]
        with np.errstate(all="ignore"):  # where NumPy warns, Python raises
            y = traced(*given)
            if not is_known_to_hold(lambda: np.isfinite(y)):
                _raise_as(plain, given, y)
        return _number(y)

    return function


def _raise_as(plain: Function, xs: list[Any], y: Any) -> None:
    """Raise what Python raises where NumPy gives no finite number, if the numbers are known."""
    if is_known_to_hold(lambda: np.isinf(y)):
        if all(_holds(np.isfinite, x) for x in xs):
            overflows = plain in _OVERFLOWING and not _holds(lambda x: x == 0, xs[0])
            raise OverflowError("math range error") if overflows else ValueError(_OUTSIDE)
    elif _holds(np.isnan, y) and not any(_holds(np.isnan, x) for x in xs):
        raise ValueError(_OUTSIDE)


def _holds(condition: Function, x: Any) -> bool:
    return is_known_to_hold(lambda: condition(x))


_OUTSIDE: Final = "math domain error"
_OVERFLOWING: Final = (
    {getattr(math, name, None) for name in "cosh exp exp2 expm1 gamma ldexp pow sinh".split()}  # noqa: SIM905
    | {cmath.cosh, cmath.exp, cmath.sinh}
)


def of_either(plain: Function) -> Callable[[Function], Function]:
    """Let the decorated function stand in for a plain one where something is traced."""

    def decorate(traced: Function) -> Function:
        @wraps(plain)
        def function(*args: Any, **keywords: Any) -> Any:
            given = [*args, *keywords.values()]
            return (traced if is_traced(given) else plain)(*args, **keywords)

        return function

    return decorate


def _whole(name: str) -> Function:
    """Return a function of Python's that gives an integer."""
    return of_either(getattr(math, name))(lambda x: convert(int, getattr(np, name)(x)))


@wraps(math.fsum)
def _fsum(seq: Iterable[Any]) -> Any:
    numbers = [convert(float, x) for x in seq]
    return _exact_sum(numbers) if is_traced(numbers) else math.fsum(numbers)


def _exact_sum(numbers: list[Any]) -> Any:
    """Return the sum of numbers, as if of twice the digits.

    T. Ogita, S. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005.
    """
    total, rest = 0.0, 0.0
    with np.errstate(invalid="ignore"):  # of infinite numbers there is no rest
        for x in numbers:
            following = total + x
            added = following - total
            rest = rest + ((total - (following - added)) + (x - added))
            total = following
        return _number(total + np.where(np.isfinite(total), rest, 0.0))


@wraps(math.prod)
def _prod(iterable: Iterable[Any], *, start: Any = 1) -> Any:
    numbers = [*iterable]
    traced = is_traced([*numbers, start])
    return reduce(mul, numbers, start) if traced else math.prod(numbers, start=start)


@of_either(math.hypot)
def _hypot(*coordinates: Any) -> Any:
    return _number(reduce(np.hypot, (convert(float, x) for x in coordinates), 0.0))


@of_either(math.dist)
def _dist(p: list[Any], q: list[Any]) -> Any:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _hypot(*(x - y for x, y in zip(p, q, strict=True)))


@of_either(math.isclose)
def _isclose(a: Any, b: Any, *, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> Any:
    if rel_tol < 0 or abs_tol < 0:
        raise ValueError("tolerances must be non-negative")
    bound = np.maximum(rel_tol * np.maximum(abs(a), abs(b)), abs_tol)
    return bool((a == b) | (np.isfinite(a) & np.isfinite(b) & (abs(a - b) <= bound)))


def _predicates(plain: ModuleType, kind: type) -> dict[str, Function]:
    """Return the functions of a module that say yes or no, as Python's numbers do."""

    def predicate(name: str) -> Function:
        return of_either(getattr(plain, name))(lambda x: bool(getattr(np, name)(convert(kind, x))))

    return {name: predicate(name) for name in ("isfinite", "isinf", "isnan")}


@of_either(math.modf)
def _modf(x: Any) -> Any:
    fraction, whole = np.modf(convert(float, x))
    return _number(fraction), _number(whole)


@of_either(math.frexp)
def _frexp(x: Any) -> Any:
    number = convert(float, x)
    known: Any = stop_gradient(number)
    exponent = convert(int, np.frexp(known)[1])
    return _number(np.ldexp(number, -exponent)), exponent


@of_either(math.ldexp)
def _ldexp(x: Any, i: Any) -> Any:
    number, exponent = convert(float, x), convert(int, i)
    with np.errstate(over="ignore"):
        y = np.ldexp(number, exponent)
        _raise_as(math.ldexp, [number], y)
    return _number(y)


def _log(x: Any, base: Any = None) -> Any:
    """Return the logarithm, to a base if there is one."""
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _lgamma(x: Any) -> Any:
    """Return the logarithm of the magnitude of the gamma function; Python's is inf at -inf."""
    return np.where(np.isinf(x), math.inf, scipy_function("gammaln")(x))


def _remainder(x: Any, y: Any) -> Any:
    """Return the remainder of the division by the nearest integer, of two the even one.

    As IEEE 754 defines it; by an exact ``fmod``, as in Python.
    """
    size, step = np.abs(x), np.abs(y)
    rest = np.fmod(size, step)
    up = step - rest
    even = rest - 2.0 * np.fmod(0.5 * (size - rest), step)
    found = np.where(rest < up, rest, np.where(rest > up, -up, even))
    return np.copysign(1.0, x) * found


def _functions(plain: ModuleType, kind: type) -> dict[str, Function]:
    """Return the functions of a module that are ufuncs of NumPy's."""
    found = {ours: getattr(np, theirs) for ours, theirs in _UFUNCS.items()} | {"log": _log}
    if plain is math:
        found |= {name: Routine(name) for name in _OF_SCIPY}
        found |= {"lgamma": _lgamma, "remainder": _remainder}
    return {
        name: _of_numbers(getattr(plain, name), traced, kind)
        for name, traced in found.items()
        if hasattr(plain, name)
    }


def _module(plain: ModuleType, names: dict[str, Function]) -> Substitute:
    """Return a module with all its names, as for ``import *``; functions are no methods."""
    functions = {name: staticmethod(f) for name, f in names.items()}
    CLOSED.update(names.values())
    return Substitute(plain, {**vars(plain), **functions})


MATH: Final = _module(
    math,
    _functions(math, float)
    | _predicates(math, float)
    | {name: _whole(name) for name in ("ceil", "floor", "trunc")}
    | {
        "dist": _dist, "frexp": _frexp, "fsum": _fsum, "hypot": _hypot, "isclose": _isclose,
        "ldexp": _ldexp, "modf": _modf, "prod": _prod,
    },
)  # fmt: skip
CMATH: Final = _module(
    cmath,
    _functions(cmath, complex)
    | _predicates(cmath, complex)
    | {
        "phase": _of_numbers(cmath.phase, np.angle, complex),
        "polar": of_either(cmath.polar)(lambda z: (_number(np.abs(z)), _number(np.angle(z)))),
        "rect": of_either(cmath.rect)(
            lambda r, phi: convert(complex, r * (np.cos(phi) + 1j * np.sin(phi)))
        ),
    },
)
