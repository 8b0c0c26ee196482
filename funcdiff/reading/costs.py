"""Estimates the cost of a program by source line: operations, memory traffic, peak memory.

The counts follow the program as the interpreter runs it, equation by equation.  Nothing is
measured: they are sums over types that are known before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log2, prod
from typing import Any, Final, TypeAlias

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.late import computed
from funcdiff.core.origins import UNKNOWN, Origin
from funcdiff.core.primitive import Operation
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.dataflow import count_of_variables, functions, last_uses
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import nested
from funcdiff.ops.axes.indexing import gather_p
from funcdiff.ops.axes.sorting import Sorting
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.ops.families import weights
from funcdiff.ops.linalg.orthogonal import Qr
from funcdiff.ops.linalg.singular import Vectors
from funcdiff.ops.products.convolution import Convolution
from funcdiff.ops.products.fourier import Fourier
from funcdiff.ops.structure.structural import Axis
from funcdiff.ops.user.custom_function import tangent_program
from funcdiff.ops.user.custom_rules import Custom, Tangent
from funcdiff.reading.provenance import comment, origin_of
from funcdiff.reading.tables import Cell, table_html

# ---- Counts the floating-point operations of an equation, to leading order -----------------------
#
# What has no formula here is counted by the facts on its record: see `flops`.
#
# One addition, multiplication or comparison of real numbers counts as one.  Of other elementwise
# functions, the weights are round numbers for how much longer they take in a current processor.
# Factorizations count as in G. Golub, C. Van Loan, "Matrix Computations", 4th edition, 2013 (GVL
# below, with section numbers), LAPACK's solvers as in its Users' Guide, and Fourier transforms as
# 5·N·log₂N (M. Frigo, S. Johnson, "The Design and Implementation of FFTW3", 2005, section VI).


Flops: TypeAlias = Callable[[Equation], float]

_WORDS: Final[dict[int, str]] = {
    4: "div reciprocal sqrt root_of_squares floor_divide remainder fmod gcd lcm",
    5: "hypot modulus",
    10: "sinc exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt "
    "decay exponential_ratio",
    20: "power float_power arcsin arccos arctan arcsinh arccosh arctanh arctan2 "
    "logaddexp logaddexp2 logistic",
    40: "bessel_i0 bessel_i1",
}
WEIGHTS: Final = {word: weight for weight, words in _WORDS.items() for word in words.split()}
"""Operations for each element of the result, where there are more than one."""


def flops(eq: Equation) -> float:
    """Return how many operations an equation takes, without those of programs in it.

    By default these are none for views, for what holds programs and for the user's functions, one
    for each element of a pointwise result, and of others one for each element of the largest
    operand or result.

    >>> import numpy as np
    >>> import funcdiff as fd
    >>> program = fd.trace(lambda x, y: x @ y)(np.ones((2, 3)), np.ones((3, 4)))
    >>> flops(program.equations[0])
    48
    """
    formula, facts = FORMULAS.get(eq.primitive.name), eq.primitive.facts
    if formula is not None:
        return formula(eq)
    moves = eq.primitive.implementation.view or facts.hands_on
    if moves or facts.calls_user or eq.params.equation_count:
        return 0
    weight = WEIGHTS.get(eq.primitive.name) or weights.get(eq.primitive.name)
    if eq.primitive.pointwise or weight:
        # complex: two real sums, or four products and two sums
        factor = 2 if facts.linear else 6 if facts.elements == "multiplied" else 4
        return _results(eq) * (weight or 1) * (factor if _is_complex(eq) else 1)
    return max(atom.type.size for atom in (*eq.operands, *eq.results)) * (
        2 if _is_complex(eq) else 1
    )


# ---- sizes ---------------------------------------------------------------------------------------


def _results(eq: Equation) -> int:
    return sum(v.type.size for v in eq.results)


def _is_complex(eq: Equation) -> bool:
    return any(atom.type.dtype.kind == "c" for atom in eq.operands)


def _matrix(eq: Equation) -> tuple[int, int, int]:
    """Return how many matrices there are, and their longer and shorter side."""
    *stack, rows, columns = eq.operands[0].type.shape
    return prod(stack) * (4 if _is_complex(eq) else 1), max(rows, columns), min(rows, columns)


# ---- products and sums ---------------------------------------------------------------------------


def _contract(eq: Equation) -> int:
    """Count 2·m·n·k: a product and a sum for every term; without a sum, the products."""
    op = eq.operation
    sizes = op.access.lengths(op.operands, op.results)
    terms, summed = prod(sizes.values()), len(sizes) > len(op.access.results[0])
    if _is_complex(eq):
        return terms * (8 if summed else 6)
    return terms * (2 if summed else 1)


def _convolve(eq: Equation) -> int:
    """Count a product and a sum for every pair of places that may fit; some do not, at the ends."""
    p = eq.params_as(Convolution)
    x, y = (atom.type.shape for atom in eq.operands[:2])
    sizes = dict(zip(p.left, x, strict=False)) | dict(zip(p.right, y, strict=False))
    terms = prod(sizes.values())
    for a, b, c in zip(x[len(p.left) :], y[len(p.right) :], p.lengths, strict=True):
        terms *= min(a * b, a * c, b * c)
    return 2 * terms * (4 if _is_complex(eq) else 1)


# ---- order ---------------------------------------------------------------------------------------


def _comparisons(eq: Equation, axis: int) -> float:
    """Count n·log₂n comparisons for each line along an axis."""
    n = eq.operands[0].type.shape[axis]
    return eq.operands[0].type.size * log2(max(n, 2))


def _searching(eq: Equation) -> float:
    n = eq.operands[0].type.shape[-1]
    return eq.operands[1].type.size * log2(max(n, 2))


def _fourier(eq: Equation) -> float:
    """Count 5·N·log₂N, and half of it between real sequences and halves of spectra."""
    p = eq.params_as(Fourier)
    shape = eq.operands[0].type.shape
    lines = prod(shape[: p.axis]) * prod(shape[p.axis + 1 :])
    whole = 5 * p.points * log2(max(p.points, 2)) * lines
    return float(whole / 2 if eq.primitive.name in ("rfft", "irfft") else whole)


# ---- matrices --------------------------------------------------------------------------------


def _by_sides(count: Callable[[Equation, int, int], float]) -> Flops:
    """Count, by the longer and the shorter side, what each matrix takes."""

    def flops_of_all(eq: Equation) -> float:
        stack, m, n = _matrix(eq)
        return stack * count(eq, m, n)

    return flops_of_all


def _cubic(factor: float) -> Flops:
    """Count a multiple of n³ for square matrices."""
    return _by_sides(lambda _eq, n, _: factor * n**3)


def _columns(eq: Equation) -> int:
    """Return how many right-hand sides there are."""
    return eq.operands[1].type.shape[-1]


def _qr(eq: Equation, m: int, n: int) -> float:
    """Count 2·n²·(m - n/3) for R, and as much again, or more, for the columns of Q (GVL 5.2)."""
    r = 2 * n**2 * (m - n / 3)
    q = {"reduced": r, "complete": 4 * (m**2 * n - m * n**2 + n**3 / 3)}
    return r + q.get(eq.params_as(Qr).mode, 0.0)


def _svd(eq: Equation, m: int, n: int) -> float:
    """Count 6·m·n² + 20·n³, with all of U 4·m²·n + 22·n³ (GVL 8.6)."""
    full = isinstance(eq.params, Vectors) and eq.params.full
    return 4 * m**2 * n + 22 * n**3 if full else 6 * m * n**2 + 20 * n**3


_BY_NAME: Final[dict[str, Flops]] = {
    # what only moves elements
    "concatenate gather guard needed scatter replace_slice": lambda _eq: 0,
    "convert conj join part iota": lambda _eq: 0,
    "scatter_add add_slice": lambda eq: eq.operands[1].type.size,
    "select": _results,
    "contract masked_contract": _contract,
    "convolve masked_convolve": _convolve,
    "recurrence": lambda eq: 3 * _results(eq),
    "sort argsort": lambda eq: _comparisons(eq, eq.params_as(Sorting).axis),
    "origins": lambda eq: 2 * _comparisons(eq, eq.params_as(Axis).axis),
    "searchsorted": _searching,
    "fft ifft rfft irfft": _fourier,
    "cholesky": _cubic(1 / 3),  # GVL 4.2
    "cholesky_differential": _cubic(2 / 3),
    "det slogdet": _cubic(2 / 3),  # GVL 3.2
    "inv": _cubic(2),  # LAPACK's getrf and getri
    "triangular_inv": _cubic(1 / 3),
    "eigh": _cubic(9),  # GVL 8.3
    "eigvalsh": _cubic(4 / 3),
    "eig": _cubic(25),  # GVL 7.5
    "eigvals": _cubic(10),
    # a determinant, an inverse, and two products for each direction
    "adjugate": _by_sides(lambda eq, n, _: n**3 * (8 / 3 + 4 * (len(eq.operands) - 1))),
    "solve named_solve": _by_sides(  # GVL 3.2
        lambda eq, n, _: 2 / 3 * n**3 + 2 * n**2 * _columns(eq)
    ),
    "triangular_solve": _by_sides(lambda eq, n, _: n**2 * _columns(eq)),  # GVL 3.1
    "qr": _by_sides(_qr),
    "svd": _by_sides(_svd),
    "svdvals": _by_sides(lambda _eq, m, n: 4 * m * n**2 - 4 / 3 * n**3),  # GVL 8.6
    # the decomposition, and one product
    "lstsq pinv": _by_sides(lambda eq, m, n: _svd(eq, m, n) + 2 * m * n**2),
}

FORMULAS: Final[dict[str, Flops]] = {
    name: formula for names, formula in _BY_NAME.items() for name in names.split()
}
"""Operations to leading order, of what facts do not tell.  Default: see `flops`."""


ELSEWHERE: Final = "elsewhere"
"""What stands for the line where it is not known."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one line of the user's costs.

    Attributes
    ----------
    place
        The line, or the line that it is the derivative of.
    origin
        The same as data.
    flops, read, written, equations
        As in `Cost`.
    """

    place: str
    origin: Origin
    flops: float
    read: int
    written: int
    equations: int


@dataclass(frozen=True, slots=True, repr=False)
class Cost:
    """What a call costs, counted, not measured.

    Attributes
    ----------
    flops
        Floating-point operations.
    read, written
        Bytes that equations read from their operands and write to their results.
    peak
        The most bytes that arrays take at any time, those of the arguments included.
    equations
        How many equations run.
    rows
        The same by the user's lines, those that move the most bytes first.
    loops
        How many loops have a length that is not known before they run: of these, one iteration
        is counted.
    unknown
        How many calls of functions there are of which nothing is known.
    """

    flops: float
    read: int
    written: int
    peak: int
    equations: int
    rows: tuple[Row, ...]
    loops: int
    unknown: int

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.read + self.written

    def __str__(self) -> str:
        table = [_HEAD, *self._rows()]
        widths = [max(len(line[k]) for line in table) for k in range(4)]
        lines = []
        for line in table:
            numbers = [cell.rjust(w) for cell, w in zip(line[:4], widths, strict=True)]
            lines.append("  ".join([*numbers, line[4]]))
        return "\n".join([*lines, *self._remarks()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return how a notebook shows it."""
        rows = [[*(Cell(x, is_number=True) for x in row[:4]), Cell(row[4])] for row in self._rows()]
        return table_html(", ".join(self._remarks()), _HEAD, rows)

    def _rows(self) -> list[tuple[str, ...]]:
        return [*(_cells(row, row.place) for row in self.rows), _cells(self, "total")]

    def _remarks(self) -> list[str]:
        remarks = [f"peak memory {bytes_text(self.peak)}"]
        if self.loops:
            loops = with_count(self.loops, "loop")
            remarks.append(f"of {loops} of unknown length one iteration counts")
        if self.unknown:
            calls = with_count(self.unknown, "call")
            remarks.append(f"{calls} of functions that cannot be looked into count as nothing")
        return remarks


_HEAD: Final = ("flops", "read", "written", "equations", "line")


def _cells(row: Row | Cost, place: str) -> tuple[str, ...]:
    return (
        count_text(row.flops),
        bytes_text(row.read),
        bytes_text(row.written),
        f"{row.equations}",
        place,
    )


def count_text(count: float) -> str:
    """Return a number of operations in three digits and a unit."""
    return _number(count, 1000, ("", "k", "M", "G", "T", "P"))


def bytes_text(count: float) -> str:
    """Return a number of bytes in three digits and a unit."""
    return _number(count, 1024, (" B", " KiB", " MiB", " GiB", " TiB", " PiB"))


def _number(count: float, step: int, units: Sequence[str]) -> str:
    """Return a count in three digits and a unit."""
    unit = 0
    while count >= step and unit + 1 < len(units):
        count, unit = count / step, unit + 1
    plain = (count == int(count) and unit == 0) or count >= 100
    return f"{count:.0f}{units[unit]}" if plain else f"{count:.3g}{units[unit]}"


def with_count(count: int, word: str) -> str:
    """Return a word behind a number of things, in the plural if there is not one."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


# ---- counting --------------------------------------------------------------------------------


Counts: TypeAlias = "dict[Origin, list[Any]]"
"""Operations, bytes read, bytes written and equations, by where they come from."""


@memoised
def counts_of(program: Program) -> Counts:
    """Return what a program costs, by where its equations come from; not to be changed."""
    tally = _Tally(has_peak=False)
    tally.run(program, 1, UNKNOWN)
    return tally.rows


def cost_of(program: Program) -> Cost:
    """Return the cost of a program."""
    tally = _Tally()
    peak = tally.run(program, 1, UNKNOWN)
    rows = [Row(comment(at) or ELSEWHERE, at, *counts) for at, counts in tally.rows.items()]
    rows.sort(key=lambda row: (-(row.read + row.written), -row.flops))
    total = [sum(counts[k] for counts in tally.rows.values()) for k in range(4)]
    return Cost(
        total[0], int(total[1]), int(total[2]), peak, int(total[3]), tuple(rows), tally.loops,
        tally.unknown,
    )  # fmt: skip


class _Tally:
    """Counts in the making; without a peak in less time."""

    def __init__(self, *, has_peak: bool = True) -> None:
        self.rows: Counts = {}
        self._has_peak = has_peak
        self.loops = 0
        self.unknown = 0
        self._flops: dict[Operation, float] = {}

    def run(self, program: Program, times: int, around: Origin) -> int:
        """Add what running a program so many times costs; return its peak in bytes."""
        memory = Memory(program)
        peak = memory.live
        for index, eq in enumerate(program.equations):
            place = origin_of(program, eq.results[0]) if eq.results else UNKNOWN
            if place.place is None:
                place = around
            elif place.name:
                place = place._replace(name="")
            op = eq.operation
            inner = self._tally_nested(eq, times, place) if op.calls_user else None
            if inner is None:
                count = self._flops.get(op)
                if count is None:
                    count = self._flops[op] = flops(eq)
                self._add(place, times, count, *memory.traffic(index), 1)
            if self._has_peak:
                peak = max(peak, memory.step(index, inner or 0))
        return peak

    def _add(self, place: Origin, times: int, *counts: float) -> None:
        row = self.rows.get(place)
        if row is None:
            row = self.rows[place] = [0, 0, 0, 0]
        for k, count in enumerate(counts):
            row[k] += times * count

    def _tally_nested(self, eq: Equation, times: int, place: Origin) -> int | None:
        """Add what programs in an equation cost; return the most memory that one of them adds.

        None if there are none.
        """
        if eq.primitive.facts.calls_user:
            self.unknown += times
            return None
        runs = list(_runs(eq, times))
        if isinstance(eq.params, While):
            self.loops += 1
        if isinstance(eq.params, Scan):
            stacked = size_of(eq.results[eq.params.carries :])
            self._add(place, times, 0, stacked, stacked, 0)
        if isinstance(eq.params, Cond):
            return self._dearest(runs, place)
        added = [
            self.run(program, count, place) - size_of(program.inputs) for program, count in runs
        ]
        return max(added) if runs else None

    def _dearest(self, runs: Sequence[tuple[Program, int]], place: Origin) -> int:
        """Add the branch that moves the most bytes."""
        tallies = []
        for k, (program, count) in enumerate(runs):
            tally = _Tally(has_peak=self._has_peak)
            peak = tally.run(program, count, place) - size_of(program.inputs)
            moved = sum(row[1] + row[2] for row in tally.rows.values())
            tallies.append((moved, k, tally, peak))
        _, _, dearest, peak = max(tallies, key=lambda entry: entry[:2])
        for at, row in dearest.rows.items():
            self._add(at, 1, *row)
        self.loops += dearest.loops
        self.unknown += dearest.unknown
        return peak


def _runs(eq: Equation, times: int) -> Iterator[tuple[Program, int]]:
    """Give the programs in an equation, and how often each runs."""
    p = eq.params
    if isinstance(p, Custom):  # whose rules do not run
        yield p.body, times
    elif isinstance(p, Tangent):
        yield tangent_program(p.backward, p), times
    elif not eq.primitive.facts.hands_on:  # which says what derivatives are
        rounds = p.length if isinstance(p, Scan) else 1
        for program in nested(p):
            yield program, times * rounds


# ---- memory ----------------------------------------------------------------------------------


def size_of(atoms: Sequence[Atom]) -> int:
    """Return how many bytes arrays take together; literals take none."""
    return sum(atom.type.nbytes for atom in atoms if isinstance(atom, Var))


class Memory:
    """The arrays of a running program: a view keeps the memory alive that it looks at."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._last = last_uses(program)
        self._functions = functions(program, self._last)
        count = count_of_variables(program)
        self._owner: list[int] = list(range(count))
        self._stored = [v.type.nbytes for v in program.inputs] + [0] * (count - len(program.inputs))
        self._follow_views()
        # Bytes of the arrays that are alive now; those of the inputs always are.
        self.live = size_of(program.inputs)

    def _follow_views(self) -> None:
        for index, eq in enumerate(self._program.equations):
            shared = eq.primitive.implementation.view or self._is_in_place(index)
            for k, v in enumerate(eq.results):
                source = eq.operands[k] if shared and k < len(eq.operands) else None
                if isinstance(source, Var):
                    self._owner[v.number] = self._owner[source.number]
                    self._stored[v.number] = min(v.type.nbytes, self._stored[source.number])
                else:
                    self._stored[v.number] = v.type.nbytes

    def _is_in_place(self, index: int) -> bool:
        eq = self._program.equations[index]
        return (
            eq.primitive.implementation.in_place is not None
            and self._functions[index] is not eq.operation.function
        )

    @computed
    def _ends(self) -> list[int]:
        """For each owner, the last equation that needs its memory."""
        last = self._last
        ends = list(last)
        for number, owner in enumerate(self._owner):
            ends[owner] = max(ends[owner], last[number])
        for v in self._program.inputs:
            ends[v.number] = len(self._program.equations)
        return ends

    def traffic(self, index: int) -> tuple[int, int]:
        """Return how many bytes an equation reads and writes."""
        eq = self._program.equations[index]
        if eq.primitive.implementation.view:
            return 0, 0
        written = sum(v.type.nbytes for v in eq.results)
        operands = [atom for atom in eq.operands if isinstance(atom, Var)]
        if eq.primitive is gather_p:
            indices = size_of(eq.operands[1:])
            return written + indices, written
        if eq.primitive.implementation.in_place is not None:
            touched = eq.operands[1].type.nbytes
            adds = touched if eq.primitive.facts.elements == "added" else 0
            copied = 0 if self._is_in_place(index) else written
            base = copied if isinstance(eq.operands[0], Var) else 0
            return base + size_of(eq.operands[1:]) + adds, copied + touched
        return sum(self._stored[v.number] for v in operands), written

    def step(self, index: int, inside: int) -> int:
        """Run an equation that needs so many bytes inside; return the bytes at its busiest."""
        eq = self._program.equations[index]
        made = [v for v in eq.results if self._owner[v.number] == v.number]
        self.live += size_of(made)
        # what a loop stacks is there beside what an iteration needs; other programs make it
        beside = 0 if isinstance(eq.params, Scan | While) else size_of(made)
        busiest = self.live + max(0, inside - beside)
        used = {self._owner[a.number] for a in eq.operands if isinstance(a, Var)}
        for owner in used | {v.number for v in made}:
            if self._ends[owner] == index:
                self.live -= self._stored[owner]
                self._ends[owner] = -2  # freed
        return busiest
