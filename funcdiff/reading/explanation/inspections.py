"""Inspects an equation: formulas that lose digits or time, and kinks near its operands.

A formula is found in the program; whether it does harm is decided by the values of this call.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.origins import Place
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import nested
from funcdiff.reading.explanation.findings import Advice, Kink
from funcdiff.reading.provenance import origin_of, shorten
from funcdiff.reading.text.expressions import call, constant, name, number, public_name, text_of
from funcdiff.reading.text.templates import TEMPLATES

# --------------------------------------------------------------------------------------------------
# Formats equations as NumPy expressions in the names of the code, and values in a few digits.


_DEPTH: Final = 3
"""So many operations deep an expression goes into what has no name."""
_LONGEST: Final = 60


def phrase(program: Program, eq: Equation) -> str:
    """Return an equation as an expression: ``np.log(y + 1.0)``."""
    made = {v.number: e for e in program.equations for v in e.results}
    return shorten(text_of(_equation(program, eq, made, _DEPTH)), _LONGEST)


def phrase_of(program: Program, atom: Atom, *, is_operand: bool = False) -> str:
    """Return a variable by its name, or as the expression that makes it.

    As an operand, the expression is in parentheses if it needs any.
    """
    made = {v.number: e for e in program.equations for v in e.results}
    expression = _atom(program, atom, made, _DEPTH)
    text = shorten(text_of(expression), _LONGEST)
    needs = isinstance(expression, ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp)
    return f"({text})" if is_operand and needs else text


def _atom(program: Program, atom: Atom, made: dict[int, Equation], depth: int) -> ast.expr:
    if isinstance(atom, Literal):
        return number(atom.value, weak=True)
    word = origin_of(program, atom).name
    eq = made.get(atom.number)
    if word or eq is None or not depth:
        plain = word if word.isidentifier() else ""
        return name(plain or ("t" if eq else f"argument_{atom.number + 1}"))
    return _equation(program, eq, made, depth - 1)


def _equation(program: Program, eq: Equation, made: dict[int, Equation], depth: int) -> ast.expr:
    xs = [_atom(program, atom, made, depth) for atom in eq.operands]
    if eq.primitive.name in ("broadcast", "reshape"):
        return _drop_axes(xs[0], eq.operands[0].type.shape, eq.results[0].type.ndim)
    template = TEMPLATES.get(eq.primitive.name)
    found = template(eq, xs) if template is not None else None
    if found is not None:
        return found
    word = public_name(eq.operation.function) or f"np.{eq.primitive.name}"
    return call(word, *xs)


def _drop_axes(x: ast.expr, shape: Sequence[int], ndim: int) -> ast.expr:
    """Return ``x[1:2, :]``, of a shape, as ``x[1, :]`` where just such axes are dropped."""
    if not isinstance(x, ast.Subscript):
        return x
    parts = x.slice.elts if isinstance(x.slice, ast.Tuple) else [x.slice]
    plain = [_single(part) if n == 1 else None for part, n in zip(parts, shape, strict=False)]
    dropped = len(shape) - ndim
    if not dropped or sum(index is not None for index in plain) != dropped:
        return x
    chosen = [part if index is None else index for part, index in zip(parts, plain, strict=False)]
    return ast.Subscript(x.value, ast.Tuple(chosen) if len(chosen) > 1 else chosen[0])


def _single(part: ast.expr) -> ast.expr | None:
    """Return the index of a slice of one element."""
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    return constant(0) if part.lower is None else part.lower


def value_text(x: Any, index: tuple[int, ...] | None = None) -> str:
    """Return an element of an array, or what is to be said of all of it."""
    if index is not None:
        return f"{x[index]:.6g}" if np.ndim(x) else f"{x:.6g}"
    if not np.ndim(x):
        return f"{x:.6g}"
    shape = "x".join(map(str, np.shape(x)))
    if not x.size or x.dtype.kind == "c":
        return f"{x.dtype.name}[{shape}]"
    return f"{x.dtype.name}[{shape}] from {np.min(x):.6g} to {np.max(x):.6g}"


def first_of(flags: Any) -> tuple[int, ...]:
    """Return the index of the first element that is set."""
    shape: Sequence[int] = np.shape(flags)
    return tuple(int(k) for k in np.unravel_index(int(np.argmax(flags)), shape)) if shape else ()


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


# --------------------------------------------------------------------------------------------------
# Finds points without a derivative: how far the operands are from the kinks of an operation.
#
# What has no entry here has no kink, or is made of what has one.


Looked: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Kink | None]
"""Of the operands and results of an equation."""

Gap: TypeAlias = Callable[[Any, Sequence[Any], Any], Any]
"""Of parameters, operands and result: the distances from the nearest kink."""

_NEAR: Final = 0.75
"""The power of the rounding unit, times the largest distance, up to which a kink is near."""


class _Kind(NamedTuple):
    gap: Gap
    convention: str


def _difference(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    x, y = xs
    return np.abs(x - y)


def _from_zero(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    return np.abs(xs[0])


def _from_multiple(_p: Any, xs: Sequence[Any], _y: Any) -> Any:
    quotient = xs[0] / xs[1]
    return np.abs(quotient - np.rint(quotient))


def _from_second(p: Any, xs: Sequence[Any], y: Any) -> Any:
    """Return how far all but one of the extreme elements are from the extremum."""
    axes = tuple(p.axes)
    gaps = np.abs(xs[0] - np.expand_dims(y, axes))
    moved = np.moveaxis(gaps, axes, range(len(axes)))
    lines = moved.reshape((-1, *moved.shape[len(axes) :]))
    if len(lines) < 2:
        return np.full(1, np.inf)
    return np.partition(lines, 1, axis=0)[1]


def _between_largest(p: Any, xs: Sequence[Any], _y: Any) -> Any:
    """Return how far the second largest elements are from the largest."""
    ordered = np.sort(xs[0], axis=p.axis)
    if ordered.shape[p.axis] < 2:
        return np.full(1, np.inf)
    return np.take(ordered, -1, axis=p.axis) - np.take(ordered, -2, axis=p.axis)


def _from_places(_p: Any, xs: Sequence[Any], y: Any) -> Any:
    """Return how far values are from the elements between which they belong."""
    a, v = xs
    if not a.shape[-1]:
        return np.full(1, np.inf)
    rows, last = np.reshape(y, (*a.shape[:-1], -1)), a.shape[-1] - 1
    below, above = (np.take_along_axis(a, np.clip(rows + k, 0, last), -1) for k in (-1, 0))
    v = np.reshape(v, rows.shape)
    return np.minimum(np.abs(v - below), np.abs(v - above))


def _between_ranks(p: Any, xs: Sequence[Any], _y: Any) -> Any:
    return np.abs(np.diff(np.sort(xs[0], axis=p.axis), axis=p.axis))


def _around_ranks(p: Any, xs: Sequence[Any], _y: Any) -> Any:
    """Return how far order statistics are from the nearest of the other elements."""
    x, positions = xs
    gaps = np.diff(np.sort(x, axis=p.axis), axis=p.axis)
    ends = np.full_like(gaps, np.inf, shape=np.take(x, [0], axis=p.axis).shape)
    below, above = (
        np.take_along_axis(np.concatenate(pair, axis=p.axis), positions, axis=p.axis)
        for pair in ((ends, gaps), (gaps, ends))
    )
    return np.minimum(below, above)


def _from_running(p: Any, xs: Sequence[Any], y: Any) -> Any:
    """Return how far elements are from the extremum before them."""
    x, before = np.moveaxis(xs[0], p.axis, 0), np.moveaxis(y, p.axis, 0)
    return np.abs(x[1:] - before[:-1])


_JUMP: Final = "a jump: the derivative is 0 on both sides, and counts as 0"
_SHARED: Final = "equal elements share the derivative equally"
_HALVES: Final = "of equal operands each gets half of the derivative"

_BY_NAME: Final[dict[str, _Kind]] = {
    "absolute fabs": _Kind(_from_zero, "the derivative at 0 counts as 0"),
    "modulus hypot root_of_squares": _Kind(
        lambda _p, _xs, y: np.abs(y), "the derivative at 0 counts as 0"
    ),
    "sign heaviside": _Kind(_from_zero, _JUMP),
    "floor ceil": _Kind(lambda _p, xs, _y: np.abs(xs[0] - np.rint(xs[0])), _JUMP),
    "trunc": _Kind(
        lambda _p, xs, _y: np.abs(xs[0] - np.where(np.abs(xs[0]) < 0.5, np.inf, np.rint(xs[0]))),
        _JUMP,
    ),
    "rint": _Kind(lambda _p, xs, _y: np.abs(xs[0] - np.floor(xs[0]) - 0.5), _JUMP),
    "floor_divide": _Kind(_from_multiple, _JUMP),
    "remainder fmod": _Kind(_from_multiple, "a jump: the derivative is 1 on both sides"),
    "maximum minimum fmax fmin": _Kind(_difference, _HALVES),
    "reduce_max reduce_min": _Kind(_from_second, _SHARED),
    "running_maximum running_minimum": _Kind(_from_running, _SHARED),
    "sort": _Kind(
        lambda p, _xs, y: np.abs(np.diff(y, axis=p.axis)),
        "equal elements keep their order, as in a stable sort",
    ),
    "partition": _Kind(_between_ranks, _SHARED),
    "order_statistics": _Kind(_around_ranks, _SHARED),
}

_TAKEN: Final = "the derivative is that of the branch that is taken, on the border too"

_CHOICES: Final[dict[str, _Kind]] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _Kind(_difference, _TAKEN)),
    "argmax": _Kind(_between_largest, _TAKEN),
    "argmin": _Kind(lambda p, xs, y: _between_largest(p, [-xs[0]], y), _TAKEN),
    **dict.fromkeys(("argsort", "argpartition"), _Kind(_between_ranks, _TAKEN)),
    "searchsorted": _Kind(_from_places, _TAKEN),
}
"""What has a kink where a number is chosen by it."""

KINDS: Final[dict[str, _Kind]] = {
    name: kind for names, kind in _BY_NAME.items() for name in names.split()
}


_FLAT: Final = frozenset(
    ("stop_gradient", *(name for name, kind in KINDS.items() if kind.convention is _JUMP))
)


def has_slope(eq: Equation) -> bool:
    """Whether a derivative may go through an equation."""
    real = any(v.type.dtype.kind in "fc" for v in eq.results)
    return real and eq.primitive.name not in _FLAT


def kinks_in(program: Program) -> Iterator[tuple[int, Equation, Gap, str]]:
    """Yield the equations with kinks by index, how far these are, and what counts there."""
    # booleans and integers by which numbers, branches or iterations are chosen
    used = {x for eq in program.equations for x in eq.operands}
    deciding = set[Atom]()
    for eq in program.equations:  # what nothing uses is a result, or Python looked at it
        if used.isdisjoint(eq.results) and all(map(_is_choice, eq.results)):
            deciding.update(eq.results)
    for eq in reversed(program.equations):
        if not deciding.isdisjoint(eq.results) or not all(map(_is_choice, eq.results)):
            deciding.update(filter(_is_choice, eq.operands))
    for index, eq in enumerate(program.equations):
        kind = KINDS.get(eq.primitive.name)
        if not deciding.isdisjoint(eq.results):
            kind = _CHOICES.get(eq.primitive.name)
        same = len(set(eq.operands)) < len(eq.operands)  # the larger of x and x is smooth
        if kind is not None and not same and eq.operands[0].type.dtype.kind in "fc":
            yield index, eq, kind.gap, kind.convention


def _is_choice(x: Atom) -> bool:
    return isinstance(x, Var) and x.type.dtype.kind in "biu"


def lookers(program: Program) -> dict[int, Looked]:
    """Return, by index, what looks for kinks at the equations that have some."""
    return {k: _looker(program, eq, gap, said) for k, eq, gap, said in kinks_in(program)}


def _looker(program: Program, eq: Equation, gap: Gap, convention: str) -> Looked:
    rounding = np.finfo(eq.operands[0].type.dtype).eps ** _NEAR

    def look(xs: Sequence[Any], ys: Sequence[Any]) -> Kink | None:
        gaps = np.asarray(gap(eq.params, xs, ys[0]))
        if not gaps.size:
            return None
        scale = np.max(gaps, where=np.isfinite(gaps), initial=0.0) if gaps.size > 1 else 1.0
        flags = gaps <= rounding * scale
        count = int(np.count_nonzero(flags))
        if not count:
            return None
        met = gaps == 0
        hits = int(np.count_nonzero(met))
        return Kink(
            origin_of(program, eq.results[0]).place, eq.primitive.name, phrase(program, eq),
            convention, hits, count - hits, first_of(met if hits else flags),
        )  # fmt: skip

    return look


# --------------------------------------------------------------------------------------------------
# How far a run of a program passes by kinks, those in the bodies of loops and branches too.


class Kinked(NamedTuple):
    """An equation with a kink; the convention is empty where that is in code that is not seen."""

    program: Program
    eq: Equation
    convention: str


@memoised
def _kinks_of(program: Program) -> dict[int, tuple[Gap | None, Kinked]]:
    """Return kinks by equation, without a distance where they are not seen."""
    found: dict[int, tuple[Gap | None, Kinked]] = {}
    for k, eq in enumerate(program.equations):
        calls = eq.primitive.facts.calls_user or hasattr(eq.params, "batches")  # of `python_call`
        hides = calls or any(map(has_kinks, nested(eq.params)))
        if hides and eq.primitive.implementation.nested is None:  # nobody can look on
            found[k] = None, Kinked(program, eq, "")
    return found | {k: (gap, Kinked(program, eq, said)) for k, eq, gap, said in kinks_in(program)}


@memoised
def has_kinks(program: Program) -> bool:
    """Whether a program, or one that it holds, may have kinks."""
    inner = (p for eq in program.equations for p in nested(eq.params))
    return bool(_kinks_of(program)) or any(map(has_kinks, inner))


def distances(program: Program, arrays: Sequence[Any]) -> list[tuple[Kinked, Any]]:
    """Run a program, and return the distances from its kinks in order, those in loops too."""
    found: list[tuple[Kinked, Any]] = []

    def runner(inner: Program) -> Callable[..., list[Any]]:
        prepared = executable(inner)
        equations, kinks = prepared.program.equations, _kinks_of(prepared.program)
        bodies = {
            k: make(eq.params, runner) for k, eq in enumerate(equations)
            if (make := eq.primitive.implementation.nested) is not None
        }  # fmt: skip

        def step(k: int, function: Callable[..., Any], xs: list[Any]) -> Any:
            ys = bodies.get(k, function)(*xs)
            if k in kinks:
                gap, kink = kinks[k]
                y = ys if len(kink.eq.results) == 1 else ys[0]
                away = 0.0 if gap is None else gap(kink.eq.params, xs, y)
                found.append((kink, np.reshape(away, -1)))
            return ys

        return lambda *xs: prepared.watch(xs, step)

    runner(program)(*arrays)
    return found
