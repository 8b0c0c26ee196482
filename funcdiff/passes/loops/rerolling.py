"""Loop rerolling: equations that are repeated become the body of a scan.

Operands at one place in the body, iteration by iteration, must be one of these: always the same
value; what the same iteration has made, or the one before it, a carry; or values from before the
loop, whose rows it walks along: what another loop has stacked, small slices that move, arrays that
are given, or different numbers.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Primitive
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, bind, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.tracer import Tracer
from funcdiff.ops.control.loops import scan
from funcdiff.ops.control.sweeps import Scan
from funcdiff.ops.structure.slicing import Slice, add_slice_p, replace_slice_p, slice_along, slice_p
from funcdiff.ops.structure.structural import concatenate, reshape, reverse
from funcdiff.passes.loops.boxes import Boxes, are_disjoint, path, take_boxes, write_boxes
from funcdiff.passes.loops.distribution import addend, can_batch
from funcdiff.space import broadcast, reduce_sum

# ---- Finds repeated sequences of equations in a program: candidates for loop rerolling -----------
#
# A Python loop is recorded iteration by iteration, and so is the backward pass of its derivative.
# Equations that say the same, up to which variables they are of and where slices begin, stand one
# period apart, for as many periods as there are iterations.


FEWEST: Final = 16
"""Iterations from which equations are taken for a loop."""
_WINDOW: Final = 6
"""Equations that must be the same for a period to be tried."""
_MULTIPLES: Final = 4
"""Periods that may be one iteration."""
_TRIMMED: Final = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1))
"""How many iterations are left out at the beginning and at the end."""
_TRIED: Final = 8
"""Periods that are tried from one equation on."""


class Run(NamedTuple):
    """Equations ``[start, start + period * length)``, which are iterations of a loop."""

    start: int
    period: int
    length: int

    @property
    def stop(self) -> int:
        """The place behind the last iteration."""
        return self.start + self.period * self.length

    def guesses(self) -> Iterator[Run]:
        """Yield runs that may be a loop if this is none.

        The first or last iteration may be like the others in words alone, and what is repeated
        twice in an iteration has half of the period.
        """
        for times in range(1, _MULTIPLES + 1):
            for first, last in _TRIMMED:
                length = (self.length - first) // times - last
                if length >= FEWEST:
                    yield Run(self.start + first * self.period, self.period * times, length)


def runs(program: Program) -> Iterator[Run]:
    """Yield the runs of a program, in order."""
    words = _words(program.equations)
    n = len(words)
    if n < FEWEST * 2:
        return
    windows = _windows(words)
    places = defaultdict(list)
    for place, window in enumerate(windows.tolist()):
        places[window].append(place)
    following = {
        place: found[k + 1 : k + 1 + _TRIED]
        for found in places.values()
        if len(found) >= FEWEST - 2
        for k, place in enumerate(found)
    }
    place = 0
    while place < n:
        found = _run_at(words, windows, place, following.get(place, ()))
        if found is None:
            place += 1
        else:
            run = _rotate(program, found)
            yield run
            place = run.stop


def _run_at(words: Any, windows: Any, start: int, others: Sequence[int]) -> Run | None:
    """Return the longest run that begins at a place."""
    best = None
    for other in others:
        period = other - start
        probe = windows[start : start + period * (FEWEST - 2) : period]
        if len(probe) < FEWEST - 2 or np.any(probe != probe[0]):
            continue
        same = words[start:-period] == words[start + period :]
        length = int(np.argmin(same)) if not same.all() else len(same)
        count = length // period + 1
        if count >= FEWEST and (best is None or count * period > best.length * best.period):
            best = Run(start, period, count)
    return best


def _rotate(program: Program, run: Run) -> Run:
    """Return a run that begins where the fewest variables go from one iteration to the next."""
    first, period = run.start, run.period
    begin, places = first + period, range(first, first + 3 * period)
    makers = {v: k for k in places for v in program.equations[k].results}
    last = {atom: k for k in places for atom in program.equations[k].operands if atom in makers}
    crossing = [
        sum(makers[v] < begin + turn <= place for v, place in last.items())  # type: ignore[index]
        for turn in range(period)
    ]
    turn = int(np.argmin(crossing))
    return run if turn == 0 else Run(first + turn, period, run.length - 1)


def _words(equations: Sequence[Equation]) -> Any:
    """Return a number for each equation, the same for those that say the same."""
    known: dict[Hashable, int] = {}
    words = []
    for place, eq in enumerate(equations):
        # what cannot be in a loop is unlike everything else
        word: Hashable = _word(eq) if can_batch(eq) else place
        words.append(known.setdefault(word, len(known)))
    return np.array(words, np.int64)


def _word(eq: Equation) -> Hashable:
    params: Hashable = eq.params
    if isinstance(eq.params, Slice):
        params = (eq.params.lengths, eq.params.steps)
    operands = tuple((isinstance(atom, Literal), atom.type) for atom in eq.operands)
    return eq.primitive, params, operands, eq.results[0].type


def _windows(words: Any) -> Any:
    """Return a number for each equation and those behind it."""
    mixed = words.astype(np.uint64)
    total = np.zeros(len(words), np.uint64)
    for k in range(min(_WINDOW, len(words))):
        shifted = np.zeros_like(mixed)
        shifted[: len(words) - k] = mixed[k:]
        total = total * np.uint64(1_000_003) + shifted
    return total


# ---- Loop rerolling: classifies operands of repeated equations as constants, carries or rows -----


def _writes_box(eq: Equation) -> bool:
    return eq.primitive in (add_slice_p, replace_slice_p)


class _NoLoopError(Exception):
    """Equations that say the same are no iterations of one loop."""


Term: TypeAlias = int | tuple[Atom, ...]


class Chain(NamedTuple):
    """A value that each iteration adds to, or writes to, in moving boxes: its start, and terms.

    A term is the place of the equation, what it adds or writes (a place of the body, or values from
    before the loop), and where: None for all of it or a box that does not move.
    """

    write: Primitive[Slice]
    start: Atom
    terms: list[tuple[int, Term, Boxes | None]]


class Iterations(NamedTuple):
    """A run as a loop."""

    run: Run  # the equations
    body: Program  # from constants, carries, rows and moving slices to carries and stacked results
    constants: list[Atom]  # values that are the same in every iteration
    carried: list[int]  # places whose results go on to the next iteration
    starts: list[Atom]  # the first of these results
    rows: list[tuple[Atom, ...]]  # values from before the loop, iteration by iteration
    # Slices that move: their places, their operands, and their boxes.
    moving: list[tuple[int, Atom, Boxes]]
    stacked: list[int]  # places whose results are needed outside
    sums: list[Chain]  # what is added up after the loop
    reverse: bool = False  # whether the first iteration has the last row

    def turn_around(self) -> Iterations:
        """Return the same loop with its rows in the other order."""
        return self._replace(
            rows=[atoms[::-1] for atoms in self.rows],
            moving=[(place, x, box.turn_around()) for place, x, box in self.moving],
            sums=[x._replace(terms=[_turn(*term) for term in x.terms]) for x in self.sums],
            reverse=not self.reverse,
        )


def _turn(place: int, term: Term, box: Boxes | None) -> tuple[int, Term, Boxes | None]:
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
        self._moving: dict[int, tuple[Atom, Boxes]] = {}

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
                atoms = self._atoms(place, 0)  # which must be there before the loop
                if any(atom != atoms[0] for atom in atoms) or self._find(atoms[0]) is not None:
                    raise _NoLoopError
                self._moving[place] = (atoms[0], boxes)
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

    def _boxes(self, place: int) -> Boxes | None:
        """Return on which path the boxes at a place move; None if they do not."""
        boxes = [self._equation(t, place).params for t in range(self._run.length)]
        if all(box == boxes[0] for box in boxes):
            return None
        found = path([box for box in boxes if isinstance(box, Slice)])
        eq = self._equation(0, place)
        if found is None or not (eq.primitive is slice_p or _writes_box(eq)):
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
        """Return the values to which iterations add, or write, in boxes that move."""
        chains: list[Chain] = []
        seen: set[int] = set()
        for place in range(self._run.period):
            eq = self._equation(0, place)
            if _writes_box(eq) and place not in seen and self._boxes(place):
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
            eq, write = self._equation(iteration, after), self._equation(t, place).primitive
            replaces = eq.primitive is replace_slice_p and eq.operands[0] == v
            if not (replaces if write is replace_slice_p else addend(eq, v)):
                raise _NoLoopError
            following.add(after)
            wraps.add(iteration > t)
        if len(following) != 1:
            raise _NoLoopError
        return following.pop()

    def _chain(self, members: Sequence[int]) -> Chain:
        terms: list[tuple[int, Term, Boxes | None]] = []
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
        if self._equation(0, members[0]).primitive is not replace_slice_p:
            return Chain(add_slice_p, start, terms)
        written = (self._equation(t, k) for k in members for t in range(self._run.length))
        if not are_disjoint((eq.params_as(Slice) for eq in written), start.type.shape):
            raise _NoLoopError  # the order counts
        return Chain(replace_slice_p, start, terms)

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
                    terms = [term for chain in loop.sums for _, term, _ in chain.terms]
                    rows = [*loop.rows, *(t for t in terms if isinstance(t, tuple))]
                    if (loop.sums or _computes(loop.body)) and all(map(self._are_few, rows)):
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
            self._env[atom] = reshape(
                slice_along(self._stacks[key], 0, row, row + 1, 1), atom.type.shape
            )
        return self._env[atom]

    def _turn(self, loop: Iterations) -> Iterations:
        """Return a loop in the direction in which its rows are stacked."""
        ahead = [box.step > 0 for _, _, box in loop.moving if box.step]
        moved = [box for chain in loop.sums for _, _, box in chain.terms if box]
        ahead += [box.step > 0 for box in moved if box.step]
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
                if box is None:
                    eq = program.equations[run.start + place]
                    (total,) = bind(eq.primitive, eq.params, total, reduce_sum(us, (0,)))
                else:
                    total = write_boxes(total, us, box, chain.write)
            self._env[program.equations[last + chain.terms[-1][0]].results[0]] = total

    def _rows(self, atoms: Sequence[Atom]) -> Tracer:
        """Return values from before a loop, stacked."""
        pieces: list[Tracer] = []
        for group in self._pieces(atoms):
            made = [self._made[x] for x in group[:2] if isinstance(x, Var) and x in self._made]
            if len(made) == 2:
                first, step = made[0].row, made[1].row - made[0].row
                pieces.append(_line(self._stacks[made[0].stack], first, step, len(group)))
            elif group[0] == group[-1]:
                x = self._read(group[0])
                pieces.append(broadcast(x, (len(group), *x.shape), tuple(range(1, x.ndim + 1))))
            else:
                xs = map(self._read, group)
                pieces.append(concatenate([reshape(x, (1, *x.shape)) for x in xs], 0))
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
                elif atom == piece[-1] or (a is b is None and self._are_inputs(piece[-1], atom)):
                    piece.append(atom)
                    continue
                yield piece
            piece = [atom]
        yield piece

    def _are_inputs(self, *atoms: Atom) -> bool:
        return all(isinstance(x, Var) and x.number < len(self._program.inputs) for x in atoms)


def _computes(body: Program) -> bool:
    """Whether a body does more than to move elements."""
    return any(eq.primitive.facts.elements != "moved" for eq in body.equations)


def _line(stack: Tracer, first: int, step: int, count: int) -> Tracer:
    """Return rows of a stack that are some steps apart, backwards if the step is negative."""
    last = first + step * (count - 1)
    rows = slice_along(stack, 0, min(first, last), max(first, last) + 1, abs(step))
    return reverse(rows, (0,)) if step < 0 else rows
