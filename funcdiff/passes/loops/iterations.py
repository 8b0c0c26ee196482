"""Loop rerolling: classifies operands of repeated equations as constants, carries or rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.builder import Builder, bind, constant
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, Program
from funcdiff.core.tracer import Tracer
from funcdiff.ops.structure.slicing import Slice, add_slice_p, slice_p
from funcdiff.passes.loops.boxes import Path, path
from funcdiff.passes.loops.repetition import Run
from funcdiff.space import add_p


class _NoLoopError(Exception):
    """Equations that say the same are no iterations of one loop."""


Term: TypeAlias = int | tuple[Atom, ...]


class Chain(NamedTuple):
    """A value to which each iteration adds, in moving boxes: where it starts, and what is added.

    A term is the place of the equation, what it adds (a place of the body, or values from before
    the loop), and where: None for all of it or a box that does not move.
    """

    start: Atom
    terms: list[tuple[int, Term, Path | None]]


class Iterations(NamedTuple):
    """A run as a loop."""

    run: Run  # the equations
    body: Program  # from constants, carries, rows and moving slices to carries and stacked results
    constants: list[Atom]  # values that are the same in every iteration
    carried: list[int]  # places whose results go on to the next iteration
    starts: list[Atom]  # the first of these results
    rows: list[tuple[Atom, ...]]  # values from before the loop, iteration by iteration
    # Slices that move: their places, their operands, and their boxes.
    moving: list[tuple[int, Atom, Path]]
    stacked: list[int]  # places whose results are needed outside
    sums: list[Chain]  # what is added up after the loop
    reverse: bool = False  # whether the first iteration has the last row

    def turn_around(self) -> Iterations:
        """Return the same loop with its rows in the other order."""
        return self._replace(
            rows=[atoms[::-1] for atoms in self.rows],
            moving=[(place, x, box.turn_around()) for place, x, box in self.moving],
            sums=[Chain(start, [_turn(*term) for term in terms]) for start, terms in self.sums],
            reverse=not self.reverse,
        )


def _turn(place: int, term: Term, box: Path | None) -> tuple[int, Term, Path | None]:
    return place, term if isinstance(term, int) else term[::-1], box and box.turn_around()


class Uses:
    """By its number, which equations use a variable of a program: the first, the last, how many.

    Behind all equations, the outputs do.
    """

    def __init__(self, program: Program) -> None:
        made = sum(len(eq.results) for eq in program.equations)
        self.count = array("q", [0]) * (len(program.inputs) + made)
        self.first = self.count[:]
        self.last = self.count[:]
        for k, eq in enumerate(program.equations):
            self._add(k, eq.operands)
        self._add(len(program.equations), program.outputs)

    def _add(self, place: int, atoms: Iterable[Atom]) -> None:
        for atom in atoms:
            if isinstance(atom, Var):
                number = atom.number
                if not self.count[number]:
                    self.first[number] = place
                self.last[number] = place
                self.count[number] += 1


def analyse(program: Program, run: Run, uses: Uses) -> Iterations | None:
    """Return a run as a loop; None if it is none."""
    try:
        return _Analysis(program, run, uses).iterations()
    except _NoLoopError:
        return None


class _Source(NamedTuple):
    """Where an operand comes from: of what kind, and its number among those of the kind."""

    kind: str
    number: int


class _Analysis:
    """A run, looked at place by place."""

    def __init__(self, program: Program, run: Run, uses: Uses) -> None:
        self._program, self._run, self._uses = program, run, uses
        self._first = program.equations[run.start].results[0].number  # each makes one variable
        self._literals: dict[Literal, int] = {}
        self._fixed: dict[Atom, int] = {}
        self._carries: dict[tuple[int, Atom], int] = {}
        self._rows: dict[tuple[Atom, ...], int] = {}
        self._moving: dict[int, tuple[Atom, Path]] = {}

    def iterations(self) -> Iterations:
        """Return the loop."""
        chains = self._chains()
        summed = {place for chain in chains for place, _, _ in chain.terms}
        plan: dict[int, list[_Source]] = {}
        for place in range(self._run.period):
            if place in summed:
                continue
            boxes = self._boxes(place)
            if boxes is None:
                count = len(self._equation(0, place).operands)
                plan[place] = [self._source(self._atoms(place, k)) for k in range(count)]
            else:
                self._moving[place] = (self._same(place), boxes)
        terms = {t for chain in chains for _, t, _ in chain.terms if isinstance(t, int)}
        outside = [k for k in plan if k in terms or self._is_needed_outside(k)]
        return Iterations(
            self._run,
            self._body(plan, outside),
            list(self._fixed),
            [place for place, _ in self._carries],
            [start for _, start in self._carries],
            list(self._rows),
            [(place, x, box) for place, (x, box) in self._moving.items()],
            outside,
            chains,
        )

    # ---- operands --------------------------------------------------------------------------

    def _equation(self, iteration: int, place: int) -> Equation:
        run = self._run
        return self._program.equations[run.start + iteration * run.period + place]

    def _atoms(self, place: int, operand: int) -> list[Atom]:
        """Return the operands at a place, iteration by iteration."""
        return [self._equation(t, place).operands[operand] for t in range(self._run.length)]

    def _find(self, atom: Atom) -> tuple[int, int] | None:
        """Return the iteration and the place of what a run makes."""
        run, index = self._run, atom.number - self._first if isinstance(atom, Var) else -1
        return divmod(index, run.period) if 0 <= index < run.stop - run.start else None

    def _source(self, atoms: list[Atom]) -> _Source:
        first, found = atoms[0], [self._find(atom) for atom in atoms]
        if found[1] is None:
            if any(found):
                raise _NoLoopError
            if any(atom != first for atom in atoms):
                return _Source("row", self._rows.setdefault(tuple(atoms), len(self._rows)))
            if isinstance(first, Literal):
                return _Source("literal", self._literals.setdefault(first, len(self._literals)))
            return _Source("fixed", self._fixed.setdefault(first, len(self._fixed)))
        before, place = 1 - found[1][0], found[1][1]
        if before and found[0]:
            raise _NoLoopError
        if any(made != (t - before, place) for t, made in enumerate(found) if t >= before):
            raise _NoLoopError
        if not before:
            return _Source("local", place)
        key = (place, first)
        return _Source("carry", self._carries.setdefault(key, len(self._carries)))

    def _same(self, place: int) -> Atom:
        """Return what the slices at a place are of, which must be there before the loop."""
        atoms = self._atoms(place, 0)
        if any(atom != atoms[0] for atom in atoms) or self._find(atoms[0]) is not None:
            raise _NoLoopError
        return atoms[0]

    def _boxes(self, place: int) -> Path | None:
        """Return on which path the boxes at a place move; None if they do not."""
        boxes = [self._equation(t, place).params for t in range(self._run.length)]
        if all(box == boxes[0] for box in boxes):
            return None
        found = path([box for box in boxes if isinstance(box, Slice)])
        is_known = self._equation(0, place).primitive in (slice_p, add_slice_p)
        if found is None or not is_known:
            raise _NoLoopError
        return found

    # ---- results ---------------------------------------------------------------------------

    def _is_needed_outside(self, place: int) -> bool:
        run, carried = self._run, {place for place, _ in self._carries}
        for t in range(run.length - (place in carried)):
            v = self._equation(t, place).results[0]
            if self._uses.last[v.number] >= run.stop:
                return True
        return False

    def _body(self, plan: Mapping[int, list[_Source]], outside: Sequence[int]) -> Program:
        with Builder("loop", SHARED) as builder:
            inputs: dict[str, list[Tracer]] = {
                "literal": [constant(atom.value, atom.type) for atom in self._literals],
                "fixed": [builder.input(atom.type) for atom in self._fixed],
                "carry": [builder.input(start.type) for _, start in self._carries],
                "row": [builder.input(atoms[0].type) for atoms in self._rows],
            }
            made = {
                place: builder.input(self._equation(0, place).results[0].type)
                for place in self._moving
            }
            for place, sources in plan.items():
                eq = self._equation(0, place)
                xs = [made[k] if kind == "local" else inputs[kind][k] for kind, k in sources]
                (made[place],) = bind(eq.primitive, eq.params, *xs)
            carried = [made[place] for place, _ in self._carries]
            return builder.program([*carried, *(made[place] for place in outside)])

    # ---- sums ------------------------------------------------------------------------------

    def _chains(self) -> list[Chain]:
        """Return the values to which iterations add in boxes that move."""
        chains: list[Chain] = []
        seen: set[int] = set()
        for place in range(self._run.period):
            eq = self._equation(0, place)
            if eq.primitive is add_slice_p and place not in seen and self._boxes(place):
                members = self._members(place)
                seen.update(members)
                chains.append(self._chain(members))
        return chains

    def _members(self, place: int) -> list[int]:
        """Return the places at which a value is added to, one after the other."""
        members, at = [place], self._next(place)
        while at != place:
            if len(members) > self._run.period:
                raise _NoLoopError
            members.append(at)
            at = self._next(at)
        members.sort()
        return members

    def _next(self, place: int) -> int:
        """Return the place where the results of another are added to; nothing else uses them."""
        run = self._run
        following, wraps = set[int](), set[bool]()
        for t in range(run.length):
            v = self._equation(t, place).results[0]
            count, user = self._uses.count[v.number], self._uses.first[v.number]
            is_inside = count > 0 and user < run.stop
            if t == run.length - 1 and not is_inside and wraps == {True}:
                continue
            if count != 1 or not is_inside:
                raise _NoLoopError
            iteration, after = divmod(user - run.start, run.period)
            if iteration - t not in (0, 1) or (iteration == t) != (after > place):
                raise _NoLoopError
            eq = self._equation(iteration, after)
            if eq.primitive is not add_p and (
                eq.primitive is not add_slice_p or eq.operands[0] != v
            ):
                raise _NoLoopError
            following.add(after)
            wraps.add(iteration > t)
        if len(following) != 1:
            raise _NoLoopError
        return following.pop()

    def _chain(self, members: Sequence[int]) -> Chain:
        terms: list[tuple[int, Term, Path | None]] = []
        start = None
        for k, place in enumerate(members):
            eq = self._equation(1, place)
            before = self._equation(1, members[k - 1]) if k else self._equation(0, members[-1])
            if before.results[0] not in eq.operands:
                raise _NoLoopError
            side = eq.operands.index(before.results[0])
            if k == 0:
                start = self._equation(0, place).operands[side]
            atoms = self._atoms(place, 1 - side)
            terms.append((place, self._term(atoms), self._boxes(place)))
        if start is None or self._find(start) is not None:
            raise _NoLoopError
        return Chain(start, terms)

    def _term(self, atoms: list[Atom]) -> Term:
        found = [self._find(atom) for atom in atoms]
        if found[0] is None:
            if any(found):
                raise _NoLoopError
            return tuple(atoms)
        place = found[0][1]
        if any(made != (t, place) for t, made in enumerate(found)):
            raise _NoLoopError
        return place
