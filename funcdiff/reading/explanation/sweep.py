"""Interprets a program equation by equation: times each, and inspects its results."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from math import isfinite
from time import perf_counter
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.core.atoms import Atom, Var
from funcdiff.core.origins import UNKNOWN, Origin
from funcdiff.core.program import Equation, Program, program_of_operation
from funcdiff.core.running.evaluate import evaluate, executable
from funcdiff.core.running.memo import memoised
from funcdiff.errors import FuncdiffError
from funcdiff.ops.structure.structural import select_p
from funcdiff.reading.explanation.findings import Advice, Kink, Masked
from funcdiff.reading.explanation.inspections import Advisor, Looked, advisors, lookers, phrase_of
from funcdiff.reading.provenance import origin_of
from funcdiff.space import Axes
from funcdiff.transforms.transpose import transpose

# --------------------------------------------------------------------------------------------------
# Root causes of nan and inf: traces them back to equations that made them of finite operands.


_FEW: Final = 64


class NotFinite(NamedTuple):
    """A variable that is not finite."""

    flags: Any  # which elements are not
    value: Any
    operands: tuple[Any, ...] = ()  # what it was computed from; none of an input
    # The source in a program that its equation holds, if it was found there.
    inner: Root | None = None


class Root(NamedTuple):
    """The source of elements that are not finite: the result of an equation, or an input."""

    program: Program
    variable: Var
    flags: Any  # which of its elements reach the result in question
    found: NotFinite  # all of them


def not_finite(x: Any) -> Any:
    """Return which elements are not finite; None if all are.

    A sum is finite if its terms are, but for overflow, and takes one pass without memory; of a few
    elements, that of the squares takes a fifth of the time.
    """
    if x.dtype.kind not in "fc":
        return None
    if isfinite(np.vdot(x, x).real if x.size <= _FEW else abs(np.add.reduce(x, axis=None))):
        return None
    flags = ~np.isfinite(x)
    return flags if flags.any() else None


def roots(
    program: Program, found: Mapping[int, NotFinite], targets: Mapping[Var, Any]
) -> list[Root]:
    """Return the sources of the flagged elements of `targets`, in order of definition.

    Both tables have a flag for each element of a variable; `found` says what is not finite.
    """
    live = {v.number: flags for v, flags in targets.items()}
    origins: list[Root] = []
    for eq in reversed(program.equations):
        for v in eq.results:
            if v.number not in live:
                continue
            own = live[v.number]
            for k, atom in enumerate(eq.operands):
                if not (isinstance(atom, Var) and atom.number in found):
                    continue
                pulled = _pull_back(eq, k, live[v.number], found[v.number], found[atom.number])
                if pulled.any():
                    live[atom.number] = live.get(atom.number, False) | pulled
                    own = own & ~pulled if eq.primitive.pointwise else np.False_
            if np.any(own):
                origins.append(Root(program, v, own, found[v.number]))
    given = [v for v in reversed(program.inputs) if v.number in live]
    origins += [Root(program, v, live[v.number], found[v.number]) for v in given]
    return origins[::-1]


def _pull_back(eq: Equation, k: int, flags: Any, result: NotFinite, operand: NotFinite) -> Any:
    """Return which elements of an operand reach these of the result."""
    facts, op = eq.primitive.facts, eq.operation
    linear = range(len(eq.operands))[facts.linear or slice(0)]
    if facts.elements in ("moved", "summed", "added") and k in linear:
        return operand.flags & _reach(eq, k, linear, flags, result.operands)
    if eq.primitive.pointwise and np.shape(operand.flags) == np.shape(flags):
        return operand.flags & flags
    if op.access.reduces is not None:
        return operand.flags & np.expand_dims(flags, eq.params_as(Axes).axes)
    return operand.flags


def _reach(eq: Equation, k: int, linear: range, flags: Any, operands: tuple[Any, ...]) -> Any:
    """Return which elements of an operand the flagged sums have, by the transpose of all sums."""
    marked = tuple([j in linear for j in range(len(eq.operands))])
    pulled = transpose(program_of_operation(eq.operation), marked)
    given = [x for j, x in enumerate(operands) if j not in linear]
    cts = evaluate(pulled, [*given, np.asarray(flags, eq.results[0].type.dtype)])
    return cts[linear.index(k)] != 0


_WATCHED: Final = 32
"""So many iterations of a loop are looked at, if its body has nothing but that to be looked for."""


class SweepError(FuncdiffError):
    """An equation has raised an error."""

    def __init__(self, program: Program, eq: Equation, error: Exception) -> None:
        super().__init__(str(error))
        self.program, self.eq, self.error = program, eq, error


class Looks(NamedTuple):
    """What looks at operands and results of an equation."""

    kinks: Looked | None = None
    advice: Advisor | None = None


class _Step(NamedTuple):
    """An equation, with what looks at it."""

    eq: Equation
    nested: Callable[..., Any] | None  # runs the programs that it holds, equation by equation
    moves: bool
    origin: Origin
    looks: Looks


class Sweep:
    """A run of a program and those in it."""

    def __init__(self) -> None:
        self.kinks: dict[tuple[Any, str], Kink] = {}
        self.masked: dict[tuple[Any, str], Masked] = {}
        self.advice: dict[tuple[Any, str], Advice] = {}
        self.inner: list[Root] = []  # sources in the programs that the present equation holds
        self._runs: dict[Program, Run] = {}

    def run(self, program: Program, active: frozenset[Atom] | None = None) -> Run:
        """Return what runs a program; `active` has the variables whose kinks matter, None all."""
        if program not in self._runs:
            self._runs[program] = Run(self, program, active)
        return self._runs[program]

    def seconds(self) -> dict[Origin, float]:
        """Return how long equations took, by line and whether they are for its derivative."""
        found: dict[Origin, float] = {}
        for run in self._runs.values():
            for origin, taken in run.seconds():
                found[origin] = found.get(origin, 0.0) + taken
        return found

    def look(self, looks: Looks, xs: Sequence[Any], ys: Sequence[Any]) -> None:
        """Note what is seen; of kinks of the same line and kind the larger counts stay."""
        kink = looks.kinks and looks.kinks(xs, ys)
        if kink:
            key = kink.place, kink.expression
            known = self.kinks.get(key)
            if known is None or (kink.met, kink.near) > (known.met, known.near):
                self.kinks[key] = kink
        advice = looks.advice and looks.advice(xs, ys)
        if advice:
            self.advice.setdefault((advice.place, advice.about), advice)


class Run:
    """A program that can be run, and what is found; made by `Sweep.run`."""

    def __init__(self, sweep: Sweep, program: Program, active: frozenset[Atom] | None) -> None:
        self.program = program
        self.found: dict[int, NotFinite] = {}  # by variable: what is not finite in the last run
        self._sweep = sweep
        self._steps, self._executable = self._prepare(active), executable(program)
        self._taken = [0.0 for _ in self._steps]
        self._calls, self._unwatched = 0, 0.0
        self._is_plain = not any(
            step.looks.kinks or step.looks.advice or step.nested or _is_choice(step)
            for step in self._steps
        )

    def _prepare(self, active: frozenset[Atom] | None) -> list[_Step]:
        steps = list(steps_of(self.program, active))
        for k, step in enumerate(steps):
            if (nested := step.eq.primitive.implementation.nested) is not None:
                run = nested(step.eq.params, lambda inner: self._sweep.run(inner).run_nested)
                steps[k] = step._replace(nested=run)
        return steps

    def run_nested(self, *arrays: Any) -> list[Any]:
        """Run the program as part of an equation, noting where something is first not finite."""
        self._calls += 1
        if self._is_plain and self._calls > _WATCHED:
            start = perf_counter()
            outputs = self._executable(*arrays)
            self._unwatched += perf_counter() - start
            if all(not_finite(np.asarray(y)) is None for y in outputs):
                return outputs
        outputs = self(*arrays)
        if self.found:
            self._sweep.inner += [r for r in self.roots(self.program.outputs) if r.found.operands]
        return outputs

    def seconds(self) -> Iterator[tuple[Origin, float]]:
        """Give where equations come from, and how long they took."""
        watched = sum(self._taken)
        scale = 1 + self._unwatched / watched if watched else 1.0
        for step, taken in zip(self._steps, self._taken, strict=True):
            if not step.nested:  # or else its equations have been counted
                yield step.origin, taken * scale

    def roots(self, atoms: Sequence[Atom]) -> list[Root]:
        """Return where what is not finite among some results of the last run comes from."""
        bad = {
            x: self.found[x.number] for x in atoms if isinstance(x, Var) and x.number in self.found
        }
        return roots(self.program, self.found, {v: found.flags for v, found in bad.items()})

    def __call__(self, *arrays: Any) -> list[Any]:
        """Return the outputs for concrete inputs."""
        self.found = {}
        for v, x in zip(self.program.inputs, arrays, strict=True):
            self._note(v, x, (), None)
        return self._executable.watch(arrays, self._run)

    def _run(self, k: int, function: Callable[..., Any], xs: list[Any]) -> Any:
        step, sweep, found = self._steps[k], self._sweep, self.found
        eq = step.eq
        inner, sweep.inner = sweep.inner, []
        start = perf_counter()
        try:
            made = (step.nested or function)(*xs)
        except SweepError:
            raise
        except Exception as error:
            raise SweepError(self.program, eq, error) from error
        self._taken[k] += perf_counter() - start
        first, sweep.inner = next(iter(sweep.inner), None), inner
        ys = (made,) if len(eq.results) == 1 else made
        finite = not found or not any(x.number in found for x in eq.operands if type(x) is Var)
        for v, y in zip(eq.results, ys, strict=True):
            if not (step.moves and finite):
                self._note(v, y, tuple(xs), first)
        if not finite and _is_choice(step):
            self._note_masked(eq, xs[0])
        sweep.look(step.looks, xs, ys)
        return made

    def _note(self, v: Var, y: Any, xs: tuple[Any, ...], inner: Root | None) -> None:
        flags = not_finite(y)
        if flags is not None:
            self.found[v.number] = NotFinite(flags, y, xs, inner)

    def _note_masked(self, eq: Equation, chosen: Any) -> None:
        """Note what a choice drops that is not finite."""
        for atom, dropped in zip(eq.operands[1:], (np.logical_not(chosen), chosen), strict=True):
            found = self.found.get(atom.number) if isinstance(atom, Var) else None
            if found is None or not isinstance(atom, Var):
                continue
            flags = found.flags & dropped
            made = [r for r in roots(self.program, self.found, {atom: flags}) if r.found.operands]
            if not np.any(flags) or not made:
                continue
            place = origin_of(self.program, eq.results[0]).place
            branch = phrase_of(self.program, atom)
            made_at = origin_of(self.program, made[0].variable).place
            masked = Masked(place, branch, made_at, int(np.count_nonzero(flags)))
            self._sweep.masked.setdefault((place, branch), masked)


@memoised
def steps_of(program: Program, active: frozenset[Atom] | None) -> tuple[_Step, ...]:
    """Return what is to be looked at for each equation."""
    looks = looks_of(program, active)
    return tuple(
        _Step(
            eq, None,
            eq.primitive.implementation.view or eq.primitive.facts.elements == "moved",
            origin_of(program, eq.results[0])._replace(name="") if eq.results else UNKNOWN,
            looks.get(k, Looks()),
        )
        for k, eq in enumerate(program.equations)
    )  # fmt: skip


def looks_of(program: Program, active: Container[Atom] | None) -> dict[int, Looks]:
    """Return, by place, what looks for kinks that a derivative goes through, and what advises."""
    kinks, advice, found = lookers(program), advisors(program), {}
    for place in kinks.keys() | advice.keys():
        eq = program.equations[place]
        matters = active is None or any(x in active for x in eq.operands)
        looks = matters and not origin_of(program, eq.results[0]).derived
        found[place] = Looks(kinks.get(place) if looks else None, advice.get(place))
    return found


def _is_choice(step: _Step) -> bool:
    return step.eq.primitive is select_p and not step.origin.derived
