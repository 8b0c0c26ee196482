"""Formulas in which numbers near 1 are written by their distance from it, to all its digits.

Of 1 + u little is left of a small u, and nothing of ln(1 + u), which is what powers of 1 + u have
for a derivative by their exponents.  While a program is recorded anew, numbers ±(1 + u) are
followed with their excess u: those that are sums with 1, exponentials, powers and quotients of
such.  Logarithms, powers and differences of them are written by the excess.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.atoms import Literal
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import copy_equation, walk
from funcdiff.scipy.primitives.special.losses import xlog1py, xlogy
from funcdiff.scipy.primitives.special.powers import pow1p, pow1pm1, powm1


class Near(NamedTuple):
    """A number sign·(1 + u), perhaps as sign·exp(e); a sum is 1 + u as it stands."""

    sign: float
    excess: Callable[[], Any]
    exponent: Callable[[], Any] | None = None
    is_sum: bool = False
    is_one: bool = False


_Known: TypeAlias = tuple[Any, Near | None]
"""A value in place of what a formula has, if there is a better one, and what is known of it."""
_Look: TypeAlias = Callable[[Any], Near | None]
"""Returns what is known of an operand."""


def _by_excess(near: Near, x: Any, by_u: Callable[[Any], Any], by_x: Callable[[Any], Any]) -> Any:
    """Return a function of x = sign·(1 + u) by u where that is small, or always of a sum."""
    u = near.excess()
    if near.is_sum:
        return by_u(u)
    small = np.abs(u) < 0.5
    spare = np.where(small, 0.75 * near.sign, x)
    return np.where(small, by_u(np.where(small, u, -0.25)), by_x(spare))


def _difference(look: _Look, a: Any, b: Any) -> Any:
    """Return a - b, of exponentials by the difference of their exponents."""
    p, q = look(a), look(b)
    if not (p and q and p.exponent and q.exponent and p.sign == q.sign):
        return a - b
    step = _difference(look, q.exponent(), p.exponent())
    apart = np.where(step < 0, -a * _less_one(step), b * _less_one(-step))
    return np.where(step == 0, a - b, apart)  # whose logarithm is infinitely steep


def _less_one(exponent: Any) -> Any:
    """Return eˣ - 1 of x <= 0, flat at minus infinity, however fast the exponent falls."""
    return np.expm1(np.where(exponent > 0, 0.0, np.where(exponent == -np.inf, -800.0, exponent)))


def _sum(look: _Look, a: Any, b: Any) -> _Known:
    return _of_sum(look(a), look(b), a, b)


def _subtraction(look: _Look, a: Any, b: Any) -> _Known:
    p, q = look(a), look(b)
    if p and q and p.exponent and q.exponent and p.sign == q.sign:
        return _difference(look, a, b), None
    return _of_sum(p, _opposite(q), a, -b)


def _of_sum(p: Near | None, q: Near | None, a: Any, b: Any) -> _Known:
    for one, other, value in ((p, q, b), (q, p, a)):
        if one is None or not one.is_one or (other and other.is_one):
            continue
        if other and other.sign == -one.sign:
            return other.sign * other.excess(), None
        return None, Near(one.sign, partial(np.multiply, one.sign, value), is_sum=True)
    return None, None


def _opposite(near: Near | None) -> Near | None:
    return near and near._replace(sign=-near.sign)


def _power(near: Near | None, x: Any, p: Any) -> _Known:
    if isinstance(p.atom, Literal):
        return None, None
    if near is None or near.sign < 0 or near.is_one:
        return None, Near(1.0, lambda: powm1(x, p), lambda: p * np.log(x))
    value = _by_excess(near, x, lambda u: pow1p(u, p), lambda v: np.power(v, p))
    excess = near.excess
    return value, Near(1.0, lambda: pow1pm1(excess(), p), lambda: p * np.log1p(excess()))


def _quotient(p: Near | None, q: Near | None) -> _Known:
    if not (p and p.is_one and q and q.exponent):
        return None, None
    exponent = q.exponent
    return None, Near(p.sign * q.sign, lambda: np.expm1(-exponent()), lambda: -exponent())


def _logarithm(near: Near | None, x: Any, by_u: Any, by_x: Any, sign: float) -> _Known:
    if near is None or near.is_one or near.sign != sign:
        return None, None
    return _by_excess(near, x, by_u, by_x), None


_RULES: Final[dict[str, Callable[..., _Known]]] = {
    "add": _sum,
    "sub": _subtraction,
    "neg": lambda look, a: (None, _opposite(look(a))),
    "exp": lambda _look, a: (None, Near(1.0, lambda: np.expm1(a), lambda: a)),
    "expm1": lambda _look, a: (None, Near(-1.0, lambda: -np.exp(a))),
    "log1p": lambda look, a: _logarithm(
        look(a), a, lambda u: np.log(-u), np.log1p, -1.0),
    "xlog1py": lambda look, k, a: _logarithm(
        look(a), a, lambda u: xlogy(k, -u), lambda x: xlog1py(k, x), -1.0),
    "power": lambda look, a, b: _power(look(a), a, b),
    "div": lambda look, a, b: _quotient(look(a), look(b)),
    "log": lambda look, a: _logarithm(look(a), a, np.log1p, np.log, 1.0),
    "xlogy": lambda look, k, a: _logarithm(
        look(a), a, lambda u: xlog1py(k, u), lambda x: xlogy(k, x), 1.0),
}  # fmt: skip


@memoised
def sharpen(program: Program) -> Program:
    """Return the program with numbers near 1 written by their distance from it."""
    known: dict[Any, Near] = {}

    def look(x: Any) -> Near | None:
        if isinstance(x.atom, Literal):
            numbers = np.unique(x.atom.array)
            is_one = numbers.size == 1 and abs(numbers[0]) == 1
            return Near(float(numbers[0]), lambda: 0.0, is_one=True) if is_one else None
        return known.get(x.atom)

    def rule(eq: Equation, xs: Sequence[Any]) -> Sequence[Any]:
        found, near = None, None
        form = _RULES.get(eq.primitive.name.removeprefix("special_"))
        if form is not None and eq.results[0].type.dtype == float:
            found, near = form(look, *xs)
        ys = copy_equation(eq, xs) if found is None else [found]
        if near is not None:
            known[ys[0].atom] = near
        return ys

    with Builder("sharpen") as builder:
        xs = [builder.input(v.type) for v in program.inputs]
        return builder.program(walk(program, xs, rule))
