"""Loops as data: sweeps over the same iterations, of a number that is known before or not.

The first sweep runs as often as it was said, or until its test fails; every further sweep walks
over these iterations again, forward or backward, and reads the rows that the sweeps before it have
left at each.  Reverse mode is a sweep that leaves residuals and one that reads them backwards; a
derivative of that is four sweeps.

Where the number is known, each sweep is an equation of its own, a `Scan`: rows are stacked, come in
from outside and leave.  Where it is not, all sweeps are one equation, a `While`: how many rows
there are is known to the running loop only, and no type has to say it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, TypeVar

from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import Params, Tracers
from funcdiff.core.program import Program, atoms_in_use
from funcdiff.core.recording.builder import Builder
from funcdiff.core.running.walk import inline, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.transforms.jvp import Mask

Step: TypeAlias = Callable[[list[Tracer], list[Tracer], list[Tracer]], tuple[Tracers, Tracers]]
"""What a sweep does at an iteration: ``(constants, carry, rows) -> (carry, new rows)``."""
P = TypeVar("P")
Restricted: TypeAlias = tuple[P, list[int], list[int]]
"""A smaller loop, the operands it takes, and the places of the results."""


class Loop(NamedTuple):
    """A loop; operands are the constants, the first carry of each sweep, and the rows given.

    Results are the last carry of each sweep, and the rows that leave.
    """

    # ``(*constants, *carry of the first sweep) -> bool``: whether there is one more iteration; or
    # the number of iterations
    end: Program | int
    # ``(*constants, *carry, *rows given and of all sweeps before) -> (*carry, *rows)``
    sweeps: tuple[Program, ...]
    constants: int  # how many there are
    carries: tuple[int, ...]  # how many there are, by sweep
    reverse: tuple[bool, ...]  # which sweeps walk backward; not the first one with a test
    given: int = 0  # how many rows are operands: they are counted first
    leaving: tuple[int, ...] = ()  # numbers of the rows that are results

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[list[Any]], list[Any]]:
        """Split operands into the constants, the carry of each sweep, and the rows given."""
        values, first = list(values), self.constants
        carries = []
        for count in self.carries:
            carries.append(values[first : first + count])
            first += count
        return values[: self.constants], carries, values[first:]

    def results(self, values: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
        """Split results into the last carry of each sweep, and the rows that leave."""
        return self.split([*(None for _ in range(self.constants)), *values])[1:]

    @property
    def params(self) -> Scan | While:
        """The parameters of the one equation that it is."""
        if isinstance(self.end, Program):
            return While(self.end, self.sweeps, self.constants, self.carries, self.reverse)
        (body,), (carries,), (reverse,) = self.sweeps, self.carries, self.reverse
        return Scan(body, self.constants, carries, self.end, reverse)


class Scan(Params):
    """A loop of fixed length.

    The body maps ``(*constants, *carry, *x)`` to ``(*carry, *y)``; operands are the constants,
    the initial carry, and arrays whose first axis the loop walks along.
    """

    body: Program
    constants: int
    carries: int
    length: int
    reverse: bool

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Split operands into constants, carry and xs."""
        constants, (carry,), xs = self.loop.split(values)
        return constants, carry, xs

    @property
    def loop(self) -> Loop:
        """The loop that it stands for."""
        given = len(self.body.inputs) - self.constants - self.carries
        left = range(given, given + len(self.body.outputs) - self.carries)
        counts = self.constants, (self.carries,), (self.reverse,), given
        return Loop(self.length, (self.body,), *counts, tuple(left))


class While(Params):
    """A loop of unknown length, as in `Loop`; operands are the constants, then the carries."""

    test: Program
    sweeps: tuple[Program, ...]
    constants: int
    carries: tuple[int, ...]
    reverse: tuple[bool, ...]

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
        """Split operands into the constants and the carry of each sweep."""
        return self.loop.split(values)[:2]

    @property
    def loop(self) -> Loop:
        """The loop that it stands for."""
        return Loop(self.test, self.sweeps, self.constants, self.carries, self.reverse)


# ---- properties of values, carried around a loop -------------------------------------------------

Flow: TypeAlias = Callable[[Program, Mask], Sequence[bool]]
"""For a property of values: which outputs of a program have it if some inputs have."""


def input_flags(p: Loop, operands: Sequence[bool], flow: Flow) -> tuple[list[Mask], list[bool]]:
    """Return which inputs of each sweep have a property in some iteration, and which results."""
    constants, carries, rows = p.split(operands)
    flags: list[Mask] = []
    ends: list[bool] = []
    for body, carry in zip(p.sweeps, carries, strict=True):
        while True:
            marked = (*constants, *carry, *rows)
            outgoing = flow(body, marked)
            after = [a or b for a, b in zip(carry, outgoing, strict=False)]
            if after == carry:
                break
            carry = after
        flags.append(marked)
        ends += carry
        rows += outgoing[len(carry) :]
    return flags, [*ends, *(rows[j] for j in p.leaving)]


# ---- construction --------------------------------------------------------------------------------


class Assembly:
    """A loop in the making, from the types of its constants and rows: sweeps are added in order."""

    def __init__(self, constants: Iterable[ArrayType], rows: Iterable[ArrayType] = ()) -> None:
        self._constants, self._rows = list(constants), list(rows)
        self._given = len(self._rows)
        self._sweeps: list[Program] = []
        self._carries: list[int] = []
        self._reverse: list[bool] = []

    def add(self, carry: Sequence[ArrayType], step: Step, *, reverse: bool) -> range:
        """Add a sweep; return the numbers of the rows that it leaves."""
        groups = (self._constants, carry, self._rows)
        with Builder("while_loop", SHARED) as builder:
            after, rows = step(*([builder.input(t) for t in group] for group in groups))
            self._sweeps.append(builder.program([*after, *rows]))
        self._carries.append(len(carry))
        self._reverse.append(reverse)
        first = len(self._rows)
        self._rows += [x.type for x in rows]
        return range(first, len(self._rows))

    def loop(self, end: Program | int, constants: int, leaving: Sequence[int] = ()) -> Loop:
        """Return the loop, of whose constants a test takes the first, and the first carry's."""
        count = len(self._constants)
        if isinstance(end, Program):
            carry = len(end.inputs) - constants
            with Builder("while_loop", SHARED) as builder:
                types = self._sweeps[0].input_types[: count + self._carries[0]]
                xs = [builder.input(t) for t in types]
                end = builder.program(apply(end, xs[:constants], xs[count : count + carry]))
        counts = count, tuple(self._carries), tuple(self._reverse), self._given
        return Loop(end, tuple(self._sweeps), *counts, tuple(leaving))


def apply(program: Program, *groups: Tracers) -> list[Tracer]:
    """Record the equations of a program, applied to operands that come in groups."""
    return inline(program, [x for group in groups for x in group])


# ---- dead-code elimination: carries and rows that no result needs --------------------------------


class Kept(NamedTuple):
    """What stays of a loop."""

    sweeps: dict[int, tuple[Program, list[int]]]  # of which results, and the carries among them
    constants: list[int]
    rows: list[int]


def restrict(p: Loop, wanted: Sequence[int]) -> Restricted[Loop]:
    """Restrict every sweep to some results; carries and rows that are needed on the way stay."""
    carries, leaving = p.results(range(sum(p.carries) + len(p.leaving)))
    starts = list(accumulate([len(b.outputs) - n for b, n in zip(p.sweeps, p.carries, strict=True)],
                             initial=p.given))  # fmt: skip
    kept = _find_needed(
        p,
        starts,
        {k for k in range(sum(p.carries)) if k in wanted},
        {j for j, k in zip(p.leaving, leaving, strict=True) if k in wanted},
    )
    shared, rows = kept.constants, kept.rows
    operands, outputs = list(shared), list[int]()
    bodies = []
    for k, (body, carry) in kept.sweeps.items():
        head = p.constants + p.carries[k]
        inputs = [*shared, *(p.constants + j for j in carry)]
        inputs += [head + j for j in rows if j < starts[k]]
        bodies.append(rearrange(body, inputs, range(len(body.outputs))))
        outputs += [carries[k][j] for j in carry]
    operands += [p.constants + k for k in outputs]
    operands += [p.constants + sum(p.carries) + j for j in rows if j < p.given]
    left = sorted((j, k) for j, k in zip(p.leaving, leaving, strict=True) if k in wanted)
    end = p.end
    if isinstance(end, Program):
        end = rearrange(end, [*shared, *(p.constants + j for j in kept.sweeps[0][1])], [0])
    loop = Loop(
        end,
        tuple(bodies),
        len(shared),
        tuple(len(carry) for _, carry in kept.sweeps.values()),
        tuple(p.reverse[k] for k in kept.sweeps),
        sum(j < p.given for j in rows),
        tuple(rows.index(j) for j, _ in left),
    )
    outputs += [k for _, k in left]
    return loop, operands, [outputs.index(k) for k in wanted]


def _find_needed(p: Loop, starts: Sequence[int], wanted: set[int], rows: set[int]) -> Kept:
    """Return what the wanted carries and rows need; those of sweeps have numbers from `starts`."""
    tested = atoms_in_use(p.end) if isinstance(p.end, Program) else set()
    tests = [x in tested for x in p.end.inputs] if isinstance(p.end, Program) else []
    shared = {j for j, flag in enumerate(tests[: p.constants]) if flag}
    carries, _ = p.results(range(sum(p.carries)))
    sweeps: dict[int, tuple[Program, list[int]]] = {}
    for k in range(len(p.sweeps) - 1, -1, -1):
        n, head = p.carries[k], p.constants + p.carries[k]
        carry = {j for j in range(n) if carries[k][j] in wanted}
        if k == 0:
            carry |= {j for j, flag in enumerate(tests[p.constants :]) if flag}
        others = [n + j - starts[k] for j in range(starts[k], starts[k + 1]) if j in rows]
        if k and not (carry or others):
            continue
        body, kept = _restrict_body(p.sweeps[k], p.constants, n, carry, others)
        read = atoms_in_use(body)
        shared |= {j for j in range(p.constants) if body.inputs[j] in read}
        rows |= {j for j in range(starts[k]) if body.inputs[head + j] in read}
        sweeps[k] = body, kept
    return Kept(dict(sorted(sweeps.items())), sorted(shared), sorted(rows))


def _restrict_body(
    body: Program, constants: int, carries: int, carry: set[int], others: Sequence[int]
) -> tuple[Program, list[int]]:
    """Restrict a body to some carries and other outputs; return also which carries that takes."""
    while True:
        kept = sorted(carry)
        restricted = rearrange(body, range(len(body.inputs)), [*kept, *others])
        read = atoms_in_use(restricted)
        needed = {k for k in range(carries) if restricted.inputs[constants + k] in read}
        if needed <= carry:
            return restricted, kept
        carry = carry | needed
