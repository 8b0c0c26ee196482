"""Loop rerolling: equations that are repeated become the body of a scan.

Operands at one place in the body, iteration by iteration, must be one of these: always the same
value; what the same iteration has made, or the one before it, a carry; or values from before the
loop, whose rows it walks along: what another loop has stacked, slices that move on by the same
step, or different numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.memo import memoised
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Program
from funcdiff.core.tracer import Tracer
from funcdiff.ops.control.scan import Scan, scan
from funcdiff.ops.structure.slicing import Slice, take_slice
from funcdiff.ops.structure.structural import concatenate, reshape, reverse
from funcdiff.passes.loops.boxes import add_boxes, take_boxes
from funcdiff.passes.loops.iterations import Iterations, Uses, analyse
from funcdiff.passes.loops.repetition import Run, runs
from funcdiff.space import broadcast, reduce_sum

_PIECES: Final = 8
"""Pieces of which rows are put together, at most."""


class _Made(NamedTuple):
    """Which row of a stack a variable is."""

    stack: tuple[int, int]
    row: int


@memoised
def roll(program: Program) -> Program:
    """Return a program in which equations that are repeated are loops."""
    found = list(runs(program))
    return _Roller(program).roll(found) if found else program


class _Roller:
    """Records a program again, with scans in the place of runs."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._env: dict[Var, Tracer] = {}
        self._made: dict[Var, _Made] = {}
        self._stacks: dict[tuple[int, int], Tracer] = {}

    def roll(self, found: Sequence[Run]) -> Program:
        """Return the program with loops for some runs."""
        program, place = self._program, 0
        uses = Uses(program)
        with Builder("roll", SHARED) as builder:
            self._env.update((v, builder.input(v.type)) for v in program.inputs)
            for run in found:
                for guess in run.guesses():
                    loop = analyse(program, guess, uses) if guess.start >= place else None
                    if loop is None:
                        continue
                    self._copy(range(place, guess.start))
                    place = guess.start
                    if self._has_few_pieces(loop):
                        self._record(self._turn(loop))
                        place = guess.stop
                        break
            self._copy(range(place, len(program.equations)))
            return builder.program([self._read(atom) for atom in program.outputs])

    def _copy(self, places: Iterable[int]) -> None:
        for k in places:
            eq = self._program.equations[k]
            ys = bind(eq.primitive, eq.params, *map(self._read, eq.operands))
            self._env.update(zip(eq.results, ys, strict=True))

    def _read(self, atom: Atom) -> Tracer:
        if isinstance(atom, Literal):
            return constant(atom.value, atom.type)
        if atom not in self._env:
            key, row = self._made[atom]
            self._env[atom] = reshape(_cut(self._stacks[key], row, row + 1, 1), atom.type.shape)
        return self._env[atom]

    def _has_few_pieces(self, loop: Iterations) -> bool:
        """Whether the rows that a loop walks along come from few places."""
        terms = [term for chain in loop.sums for _, term, _ in chain.terms]
        return all(map(self._are_few, [*loop.rows, *(t for t in terms if isinstance(t, tuple))]))

    def _turn(self, loop: Iterations) -> Iterations:
        """Return a loop in the direction in which its rows are stacked."""
        ahead = [box.step > 0 for _, _, box in loop.moving]
        ahead += [box.step > 0 for chain in loop.sums for _, _, box in chain.terms if box]
        for atoms in loop.rows:
            made = [self._made[x] for x in atoms[1:3] if isinstance(x, Var) and x in self._made]
            if len(made) == 2:
                ahead.append(made[0].row < made[1].row)
        return loop.turn_around() if 2 * sum(ahead) < len(ahead) else loop

    def _are_few(self, atoms: Sequence[Atom]) -> bool:
        literals = all(isinstance(atom, Literal) for atom in atoms)
        return literals or sum(1 for _ in self._pieces(atoms)) <= _PIECES

    def _record(self, loop: Iterations) -> None:
        """Record a loop, and what is added up after it."""
        run, program = loop.run, self._program
        rows = [self._rows(atoms) for atoms in loop.rows]
        moving = {place: take_boxes(self._read(x), box) for place, x, box in loop.moving}
        starts = [self._read(x) for x in loop.starts]
        operands = [*map(self._read, loop.constants), *starts, *rows, *moving.values()]
        p = Scan(loop.body, len(loop.constants), len(starts), run.length, loop.reverse)
        results = scan(p, operands)
        stacks = moving | dict(zip(loop.stacked, results[len(starts) :], strict=True))
        self._stacks |= {(run.start, place): stack for place, stack in stacks.items()}
        for k in range(run.start, run.stop):
            iteration, place = divmod(k - run.start, run.period)
            if place in stacks:
                row = run.length - 1 - iteration if loop.reverse else iteration
                self._made[program.equations[k].results[0]] = _Made((run.start, place), row)
        last = run.stop - run.period
        for place, x in zip(loop.carried, results, strict=False):
            self._env[program.equations[last + place].results[0]] = x
        for chain in loop.sums:
            total = self._read(chain.start)
            for place, term, box in chain.terms:
                us = stacks[term] if isinstance(term, int) else self._rows(term)
                total = add_boxes(total, us, box) if box else self._plus(total, us, place, run)
            self._env[program.equations[last + chain.terms[-1][0]].results[0]] = total

    def _plus(self, total: Tracer, rows: Tracer, place: int, run: Run) -> Tracer:
        """Return a total with all rows added, as the equation at a place adds one."""
        eq = self._program.equations[run.start + place]
        (y,) = bind(eq.primitive, eq.params, total, reduce_sum(rows, (0,)))
        return y

    def _rows(self, atoms: Sequence[Atom]) -> Tracer:
        """Return values from before a loop, stacked."""
        pieces: list[Tracer] = []
        for group in self._pieces(atoms):
            made = [self._made[x] for x in group[:2] if isinstance(x, Var) and x in self._made]
            if len(made) == 2:
                first, step = made[0].row, made[1].row - made[0].row
                pieces.append(_line(self._stacks[made[0].stack], first, step, len(group)))
            else:
                x = self._read(group[0])
                pieces.append(broadcast(x, (len(group), *x.shape), tuple(range(1, x.ndim + 1))))
        return pieces[0] if len(pieces) == 1 else concatenate(pieces, 0)

    def _pieces(self, atoms: Sequence[Atom]) -> Iterable[list[Atom]]:
        """Cut a list of values where they come from elsewhere than those before."""
        piece: list[Atom] = []
        step = 0
        for atom in atoms:
            if piece:
                a, b = (
                    self._made.get(x) if isinstance(x, Var) else None for x in (piece[-1], atom)
                )
                if a and b and a.stack == b.stack:
                    moved = b.row - a.row
                    if moved and (len(piece) == 1 or moved == step):
                        step = moved
                        piece.append(atom)
                        continue
                elif atom == piece[-1]:
                    piece.append(atom)
                    continue
                yield piece
            piece = [atom]
        yield piece


def _line(stack: Tracer, first: int, step: int, count: int) -> Tracer:
    """Return rows of a stack that are some steps apart, backwards if the step is negative."""
    last = first + step * (count - 1)
    rows = _cut(stack, min(first, last), max(first, last) + 1, abs(step))
    return reverse(rows, (0,)) if step < 0 else rows


def _cut(x: Tracer, start: int, stop: int, step: int) -> Tracer:
    others = x.shape[1:]
    p = Slice((start, *(0 for _ in others)), (stop, *others), (step, *(1 for _ in others)))
    return x if p.lengths == x.shape else take_slice(x, p)
