"""Finds formulas that lose digits or time, and suggests replacements.

A formula is found in the program; whether it does harm is decided by the values of this call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.origins import Place
from funcdiff.core.program import Equation, Program
from funcdiff.reading.explanation.findings import Advice
from funcdiff.reading.explanation.phrases import phrase_of
from funcdiff.reading.labels import origin_of

Advisor: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Advice | None]
"""Of the operands and results of an equation."""

_DIGITS: Final = 0.5
"""Advice is given where less than this part of the digits is right."""
_MANY: Final = 10_000
"""So many terms of a sum of float32 are worth a second look."""
_LOST: Final = 1e-4
"""The relative error of such a sum from which on it is mentioned."""
_LARGE: Final = 32
"""Rows of a matrix from which on its inverse costs noticeably more than solving."""
_LAYOUT: Final = frozenset(("broadcast", "reshape", "permute", "convert"))
_SCALED: Final = frozenset(("mul", "div"))


class _Reader:
    """A program, read for formulas."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.made = {v.number: eq for eq in program.equations for v in eq.results}
        self.index = {v.number: k for k, eq in enumerate(program.equations) for v in eq.results}

    def maker(self, atom: Atom, name: str = "") -> Equation | None:
        """Return the equation that makes a variable, if it is of that name."""
        eq = self.made.get(atom.number) if isinstance(atom, Var) else None
        return eq if eq is not None and name in ("", eq.primitive.name) else None

    def place(self, eq: Equation) -> Place | None:
        """Return the line of an equation."""
        return origin_of(self.program, eq.results[0]).place

    def bare(self, atom: Atom, names: frozenset[str] = _LAYOUT) -> Atom:
        """Return what is only moved, or scaled by a number."""
        while (eq := self.maker(atom)) is not None and eq.primitive.name in names | _LAYOUT:
            rest = [x for x in eq.operands if isinstance(x, Var)]
            if len(rest) != 1:
                break
            (atom,) = rest
        return atom


def advisors(program: Program) -> dict[int, Advisor]:
    """Return, by index, what looks at the values of equations that are part of such formulas."""
    read, found = _Reader(program), {}
    for index, eq in enumerate(program.equations):
        if eq.results and origin_of(program, eq.results[0]).derived:
            continue
        rule = _RULES.get(eq.primitive.name)
        made = rule(read, index, eq) if rule is not None else None
        if made is not None:
            found[made[0]] = made[1]
    return found


def _log_of_one_plus(read: _Reader, _index: int, eq: Equation) -> tuple[int, Advisor] | None:
    added = read.maker(eq.operands[0], "add")
    k = _other_of_one(added, 1.0) if added is not None else None
    if added is None or k is None:
        return None
    x = phrase_of(read.program, added.operands[k])
    place = read.place(eq)

    def advise(xs: Sequence[Any], _ys: Sequence[Any]) -> Advice | None:
        reason = _digits_lost(xs[k])
        if reason is None:
            return None
        return Advice(place, f"np.log(1 + {x})", reason, f"np.log1p({x})")

    return read.index[added.results[0].number], advise


def _exp_minus_one(read: _Reader, _index: int, eq: Equation) -> tuple[int, Advisor] | None:
    minus = -1.0 if eq.primitive.name == "add" else 1.0
    k = _other_of_one(eq, minus)
    made = read.maker(eq.operands[k], "exp") if k is not None else None
    if made is None or (minus == 1.0 and k):
        return None
    x = phrase_of(read.program, made.operands[0])
    place = read.place(eq)

    def advise(xs: Sequence[Any], _ys: Sequence[Any]) -> Advice | None:
        reason = _digits_lost(xs[0])
        if reason is None:
            return None
        return Advice(place, f"np.exp({x}) - 1", reason, f"np.expm1({x})")

    return read.index[made.results[0].number], advise


def _other_of_one(eq: Equation, one: float) -> int | None:
    """Return which operand is added to a number, if it is that number."""
    for k, atom in enumerate(eq.operands):
        if isinstance(atom, Literal) and atom.value == one and len(eq.operands) == 2:
            return 1 - k if isinstance(eq.operands[1 - k], Var) else None
    return None


def _digits_lost(x: Any) -> str | None:
    """Say what is left of small numbers that 1 is added to; None where enough is."""
    rounding = np.finfo(x.dtype).eps
    flags = (np.abs(x) < rounding**_DIGITS) & (x != 0)
    count = int(np.count_nonzero(flags))
    if not count:
        return None
    smallest = float(np.min(np.abs(x), where=flags, initial=np.inf))
    error = min(1.0, rounding / smallest)
    these = "it is" if np.ndim(x) == 0 else f"{count} of {np.size(x)} are"
    return f"{these} as small as {smallest:.2g}: an error of {100 * error:.2g} %"


def _inverse_times(read: _Reader, index: int, eq: Equation) -> tuple[int, Advisor] | None:
    y = eq.results[0]
    users = [e for e in read.program.equations if y in e.operands]
    users = [e for e in users if not origin_of(read.program, e.results[0]).derived]
    if not users or any(e.primitive.name != "contract" or y != e.operands[0] for e in users):
        return None
    rows = y.type.shape[-1]
    matrix = phrase_of(read.program, eq.operands[0])
    right = phrase_of(read.program, users[0].operands[1], is_operand=True)
    place = read.place(users[0])

    def advise(xs: Sequence[Any], ys: Sequence[Any]) -> Advice | None:
        norms = [np.max(np.sum(np.abs(a), axis=-1), initial=0.0) for a in (xs[0], ys[0])]
        condition = float(norms[0] * norms[1])
        lost = not condition * np.finfo(y.type.dtype).eps < np.finfo(y.type.dtype).eps ** _DIGITS
        if rows < _LARGE and not lost:
            return None
        reason = f"the inverse of {rows} rows takes three times as long as solving"
        if lost:
            reason += f", and loses digits: the condition is {condition:.2g}"
        about = f"np.linalg.inv({matrix}) @ {right}"
        plain = phrase_of(read.program, users[0].operands[1])
        return Advice(place, about, reason, f"np.linalg.solve({matrix}, {plain})")

    return index, advise


def _difference_of_moments(read: _Reader, index: int, eq: Equation) -> tuple[int, Advisor] | None:
    x = _mean_of(read, eq.operands[0])
    squared = _base_of_square(read, x) if x is not None else None
    mean = _base_of_square(read, read.bare(eq.operands[1]))
    if squared is None or mean is None or _mean_of(read, mean) != squared:
        return None
    word, place = phrase_of(read.program, squared), read.place(eq)
    power = phrase_of(read.program, squared, is_operand=True)

    def advise(xs: Sequence[Any], ys: Sequence[Any]) -> Advice | None:
        limit = np.finfo(ys[0].dtype).eps ** _DIGITS
        first = np.abs(xs[0])
        if not np.any((np.abs(ys[0]) < limit * first) & (first > 0)):
            return None
        part = float(np.min(np.abs(ys[0]) / np.where(first > 0, first, 1.0)))
        reason = f"the difference is {part:.2g} of its parts: the digits before that are lost"
        about = f"np.mean({power}**2) - np.mean({word})**2"
        return Advice(place, about, reason, f"np.var({word})")

    return index, advise


def _mean_of(read: _Reader, atom: Atom) -> Atom | None:
    """Return what a mean is of, or a sum."""
    made = read.maker(read.bare(atom, _SCALED), "reduce_sum")
    return read.bare(made.operands[0]) if made is not None else None


def _base_of_square(read: _Reader, atom: Atom) -> Atom | None:
    """Return what is squared."""
    eq = read.maker(atom)
    if eq is None or not eq.operands:
        return None
    same = eq.primitive.name == "square"
    same = same or (eq.primitive.name == "mul" and eq.operands[0] == eq.operands[1])
    return read.bare(eq.operands[0]) if same else None


def _sum_of_many(read: _Reader, index: int, eq: Equation) -> tuple[int, Advisor] | None:
    x, y = eq.operands[0].type, eq.results[0].type
    cumulative = eq.primitive.name == "cumsum"
    terms = x.shape[getattr(eq.params, "axis", 0)] if cumulative else x.size // max(1, y.size)
    if x.dtype != np.float32 or terms < _MANY:
        return None
    word, place = phrase_of(read.program, eq.operands[0]), read.place(eq)
    name, axes = ("cumsum", "axis") if cumulative else ("sum", "axes")
    add, along = getattr(np, name), getattr(eq.params, axes)

    def advise(xs: Sequence[Any], ys: Sequence[Any]) -> Advice | None:
        exact = add(xs[0], axis=along, dtype=np.float64)
        errors = np.abs(ys[0] - exact) / np.where(exact == 0, 1.0, np.abs(exact))
        error = float(np.max(errors, initial=0.0))
        if not error > _LOST:
            return None
        reason = f"of {terms} float32 the error is {100 * error:.2g} % of the sum"
        return Advice(place, f"np.{name}({word})", reason, f"np.{name}({word}, dtype=np.float64)")

    return index, advise


_Rule: TypeAlias = Callable[[_Reader, int, Equation], tuple[int, Advisor] | None]

_RULES: Final[dict[str, _Rule]] = {
    "log": _log_of_one_plus,
    "sub": lambda read, k, eq: _exp_minus_one(read, k, eq) or _difference_of_moments(read, k, eq),
    "add": _exp_minus_one,
    "inv": _inverse_times,
    "reduce_sum": _sum_of_many,
    "cumsum": _sum_of_many,
}
"""Formulas by the operation that ends them, or that is to be looked at.  Default: no advice."""
