"""Loop distribution: computes operations without a recurrence for all iterations at once.

``for t: carry, y[t] = f(carry, x[t])`` spends most of its time on calls of NumPy with small arrays.
The equations before and after the recurrence are batched over t by `vmap`, and sums over t of
products are products: Σₜ aₜᵀbₜ = AᵀB.

Without it an LSTM of letters takes 2.6 times as long, 50 species by Runge-Kutta 1.5 times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from itertools import chain
from typing import Final, NamedTuple

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.policy import SHARED
from funcdiff.core.primitive import NONE
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import (
    Rule,
    cut,
    inline,
    live_equations,
    made_by,
    maker,
    map_nested,
    rearrange,
    walk,
    with_nested,
)
from funcdiff.core.tracer import Tracer
from funcdiff.ops.control.loops import scan
from funcdiff.ops.control.sweeps import Scan
from funcdiff.ops.structure.slicing import add_slice_p, slice_along
from funcdiff.ops.structure.structural import concatenate, reshape
from funcdiff.passes.rewrites import algebra, numbers, rearranging
from funcdiff.passes.rewrites.rewriter import Emit, Rewriter
from funcdiff.space import Axes, add_p, broadcast, reduce_sum_p, splat
from funcdiff.transforms.vmap import batch_outputs

# ---- Loop distribution, the analysis: which equations of a scan's body need the loop -------------
#
# An equation is *fixed* if it is the same in every iteration, *early* if it needs no carry, *late*
# if no carry needs it. What is early or late is computed for all iterations at once, before or
# after the loop; only the *core* is left in it. A carry to which every iteration adds something,
# and at which nothing else looks, is a sum over the rows of what is added.


_WIDEST: Final = 1 << 13
"""Elements up to which the results of an iteration are worth putting together with the others."""
_MOST: Final = 1 << 23
"""Elements of all iterations together, at most."""


class Term(NamedTuple):
    """What an iteration adds to a carry: `equation` adds `added`, to all of it or to a box."""

    equation: Equation
    added: Atom


class Stages(NamedTuple):
    """Where the equations of a body belong, by their places."""

    fixed: list[int]
    early: list[int]
    core: list[int]
    late: list[int]
    sums: dict[int, list[Term]]  # for carries that only are added to, what is added


def is_batchable(eq: Equation, length: int) -> bool:
    """Whether an equation may be computed of all iterations at once, and that is worth it."""
    sizes = [atom.type.size for atom in (*eq.operands, *eq.results)]
    return can_batch(eq) and max(sizes) <= _WIDEST and max(sizes) * length <= _MOST


def can_batch(eq: Equation) -> bool:
    """Whether an equation may be computed of all iterations at once: nothing in it is mixed."""
    facts, access = eq.primitive.facts, eq.operation.access
    apart = facts.elements == "moved" or None not in chain(*access.results, *access.operands)
    known = apart and eq.primitive.access is not None
    return known and not facts.calls_user and len(eq.results) == 1


def stages(p: Scan) -> Stages:
    """Return where the equations of a scan's body belong."""
    body = p.body
    sums = _sums(p)
    chains = {eq.results[0] for terms in sums.values() for eq, _ in terms}
    kinds: dict[Atom, str] = dict.fromkeys(body.inputs[: p.constants], "fixed")
    kinds |= dict.fromkeys(body.inputs[p.constants : p.constants + p.carries], "core")
    kinds |= dict.fromkeys(body.inputs[p.constants + p.carries :], "early")
    found = []
    for eq in body.equations:
        facts = eq.primitive.facts
        of_operands = {kinds[atom] for atom in eq.operands if isinstance(atom, Var)}
        kind = "core"
        if eq.results and eq.results[0] in chains:
            kind = "sum"
        elif of_operands <= {"fixed"} and not (facts.calls_user or eq.operation.ends):
            kind = "fixed"
        elif of_operands <= {"fixed", "early"} and is_batchable(eq, p.length):
            kind = "early"
        kinds |= dict.fromkeys(eq.results, kind)
        found.append(kind)
    _mark_late(p, found, sums)
    places = {
        kind: [k for k, other in enumerate(found) if other == kind]
        for kind in ("fixed", "early", "core", "late")
    }
    return Stages(**places, sums=sums)


def _mark_late(p: Scan, kinds: list[str], sums: dict[int, list[Term]]) -> None:
    """Mark those in the core that no carry needs."""
    equations = p.body.equations
    needed = {atom for k, atom in enumerate(p.body.outputs[: p.carries]) if k not in sums}
    products = {term.added for terms in sums.values() for term in terms}
    for k in range(len(equations) - 1, -1, -1):
        eq = equations[k]
        if kinds[k] != "core":
            continue
        summed = eq.operation.contracts and eq.results[0] in products
        late = is_batchable(eq, p.length) or summed
        if late and needed.isdisjoint(eq.results):
            kinds[k] = "late"
        else:
            needed.update(eq.operands)


def rows_needed_after(p: Scan, found: Stages) -> set[Atom]:
    """Return what of the loop is needed after it, row by row."""
    needed = {*p.body.outputs[p.carries :], *part(p.body, found.late)[0]}
    needed.update(term.added for terms in found.sums.values() for term in terms)
    return needed


def _sums(p: Scan) -> dict[int, list[Term]]:
    """Return the carries to which every iteration only adds, and what it adds."""
    body = p.body
    uses = Counter(atom for eq in body.equations for atom in eq.operands)
    uses.update(body.outputs)
    users = {atom: eq for eq in body.equations for atom in eq.operands}
    makers = {eq.results[0]: eq for eq in body.equations if eq.results}
    found = {}
    for k, (v, end) in enumerate(
        zip(body.inputs[p.constants :], body.outputs[: p.carries], strict=False)
    ):
        terms: list[Term] = []
        at: Atom = v
        while at != end and uses[at] == 1 and at in users:
            eq = users[at]
            added = addend(eq, at)
            if added is None:
                break
            terms.append(Term(eq, added))
            at = eq.results[0]
        if terms and at == end and uses[at] == 1 and _are_few(p, terms, makers, uses):
            found[k] = terms
    return found


def addend(eq: Equation, v: Atom) -> Atom | None:
    """Return what an equation adds to a value, as a whole or to a box; None if it does not."""
    if eq.primitive is add_p:
        return eq.operands[eq.operands[0] == v]
    return eq.operands[1] if eq.primitive is add_slice_p and eq.operands[0] == v else None


def _are_few(
    p: Scan, terms: Sequence[Term], makers: dict[Var, Equation], uses: Counter[Atom]
) -> bool:
    """Whether what is added in all iterations may be kept, or is a product, which is not."""
    for _, added in terms:
        maker = makers.get(added) if isinstance(added, Var) else None
        sizes = [added.type.size]
        if maker is not None and maker.operation.contracts and uses[added] == 1:
            sizes = [atom.type.size for atom in maker.operands]
        if isinstance(added, Literal) or max(sizes) > _WIDEST or max(sizes) * p.length > _MOST:
            return False
    return True


def part(program: Program, places: Sequence[int]) -> tuple[list[Var], list[Var]]:
    """Return which variables some equations need from elsewhere, and which they make."""
    made = [v for k in places for v in program.equations[k].results]
    inside = set(made)
    needed = dict.fromkeys(
        atom
        for k in places
        for atom in program.equations[k].operands
        if isinstance(atom, Var) and atom not in inside
    )
    return list(needed), made


_SHORTEST: Final = 4
"""Iterations from which it pays."""


def _sum_of_sums(emit: Emit, p: Axes, x: Tracer) -> Tracer | None:
    """Σ(x + y) = Σx + Σy, if those are sums of products, which are products of matrices."""
    terms, left = [], [x]
    while left:
        term = left.pop()
        if (found := made_by(term, add_p)) is not None:
            left += found[1]
        elif (head := maker(term)) is not None and head.contracts:
            terms.append(term)
        else:
            return None
    sums = [emit(reduce_sum_p, p, term) for term in terms]
    return reduce(lambda x, y: emit(add_p, NONE, x, y), sums)


_rewriter: Final = Rewriter(
    algebra.rules,
    rearranging.rules,
    numbers.products,
    {(reduce_sum_p, add_p): (_sum_of_sums,)},
)


@memoised
def distribute(program: Program) -> Program:
    """Return a program in which scans compute nothing but what needs a loop."""
    if not any(isinstance(eq.params, Scan) for eq in with_nested(program.equations)):
        return program
    used = {atom for eq in program.equations for atom in eq.operands}.union(program.outputs)

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        p = eq.params
        if isinstance(p, Scan) and not p.body.ends:
            return _distribute(p, xs, [v in used for v in eq.results])
        return _rewriter.emit(eq.primitive, map_nested(distribute, p), *xs)

    made = _walk(program, rule)
    return _walk(made, lambda eq, xs: _rewriter.emit(eq.primitive, eq.params, *xs))


def _walk(program: Program, rule: Rule) -> Program:
    with Builder("distribute", SHARED) as builder:
        xs = [builder.input(t) for t in program.input_types]
        return builder.program(walk(program, xs, rule))


def _distribute(p: Scan, xs: list[Tracer], used: Sequence[bool]) -> list[Tracer]:
    """Record a scan and what is taken out of it; return the results, anything where not used."""
    p, xs, places = _without_unused(p, xs, used)
    p = Scan(distribute(p.body), p.constants, p.carries, p.length, p.reverse)
    if (delayed := _carry_and_row(p)) is not None:
        made = dict(zip(places, _without_delay(p, xs, *delayed), strict=True))
        return [made[k] if k in made else xs[0] for k in range(len(used))]
    found = stages(p)
    results = scan(p, xs) if p.length < _SHORTEST else _Distribution(p, found, xs).results()
    made = dict(zip(places, results, strict=True))
    return [made[k] if k in made else (*xs, *results)[0] for k in range(len(used))]


def _without_unused(
    p: Scan, xs: list[Tracer], used: Sequence[bool]
) -> tuple[Scan, list[Tracer], list[int]]:
    """Leave out the results that nobody uses; return the places of the others, too."""
    body = p.body
    wanted = {k for k, flag in enumerate(used) if flag}
    while True:
        needed = {body.outputs[k] for k in wanted}
        needed.update(a for k in live_equations(body, needed) for a in body.equations[k].operands)
        more = {k for k in range(p.carries) if body.inputs[p.constants + k] in needed} | wanted
        if more == wanted:
            break
        wanted = more
    places = sorted(wanted)
    carries = [k for k in places if k < p.carries]
    end = p.constants + p.carries
    inputs = [k for k in range(p.constants) if body.inputs[k] in needed]
    constants = len(inputs)
    inputs += [p.constants + k for k in carries]
    inputs += [k for k in range(end, len(body.inputs)) if body.inputs[k] in needed]
    smaller = rearrange(body, inputs, places)
    q = Scan(smaller, constants, len(carries), p.length, p.reverse)
    return q, [xs[k] for k in inputs], places


def _carry_and_row(p: Scan) -> tuple[int, int] | None:
    """Return a carry and the row that it becomes, if there is such."""
    end = p.constants + p.carries
    rows = {v: k for k, v in enumerate(p.body.inputs) if k >= end}
    for k, atom in enumerate(p.body.outputs[: p.carries]):
        if atom in rows and p.length > 0:
            return k, rows[atom]  # type: ignore[index]
    return None


def _without_delay(p: Scan, xs: list[Tracer], carry: int, row: int) -> list[Tracer]:
    """Record a scan in which a carry is a row, since it is the row of the iteration before.

    Without it the likelihood of a series, given the entry before, takes 9 times as long.
    """
    stack, start, n = xs[row], xs[p.constants + carry], p.length
    first = reshape(start, (1, *start.shape))
    if p.reverse:
        moved = concatenate([slice_along(stack, 0, 1, n), first], 0)
        last = slice_along(stack, 0, 0, 1)
    else:
        moved = concatenate([first, slice_along(stack, 0, 0, n - 1)], 0)
        last = slice_along(stack, 0, n - 1, n)
    place = p.constants + carry
    inputs = [k for k in range(len(xs)) if k != place]
    kept = [k for k in range(len(p.body.outputs)) if k != carry]
    body = rearrange(p.body, [*inputs, place], kept)
    q = Scan(body, p.constants, p.carries - 1, n, p.reverse)
    ys = _distribute(q, [*(xs[k] for k in inputs), moved], [True] * len(kept))
    ys.insert(carry, reshape(last, start.shape))
    return ys


class _Distribution:
    """A scan in the making, with what comes before and after it."""

    def __init__(self, p: Scan, found: Stages, xs: Sequence[Tracer]) -> None:
        self._p, self._stages = p, found
        constants, carry, rows = p.split(xs)
        names = p.split(p.body.inputs)
        self._fixed: dict[Atom, Tracer] = dict(zip(names[0], constants, strict=True))
        self._stacked: dict[Atom, Tracer] = dict(zip(names[2], rows, strict=True))
        self._carried: dict[Atom, Tracer] = dict(zip(names[1], carry, strict=True))

    def results(self) -> list[Tracer]:
        """Record everything, and return the results of the scan."""
        p, found = self._p, self._stages
        needed = self._live_across_parts()
        self._compute(found.fixed, needed)
        self._batch(found.early, needed)
        ends = self._loop()
        self._batch(found.late, needed)
        for k, terms in found.sums.items():
            total = self._carried[p.body.inputs[p.constants + k]]
            for eq, atom in terms:
                added = _rewriter.emit(reduce_sum_p, Axes((0,)), self._stack(atom))[0]
                if eq.primitive is add_p and splat(total) == 0:
                    total = added
                else:
                    (total,) = _rewriter.emit(eq.primitive, eq.params, total, added)
            ends[k] = total
        ys = [self._stack(atom) for atom in p.body.outputs[p.carries :]]
        return [*(ends[k] for k in range(p.carries)), *ys]

    def _live_across_parts(self) -> set[Atom]:
        """Return the variables that are needed in another part than that which makes them."""
        body, found = self._p.body, self._stages
        needed: set[Atom] = set(body.outputs)
        needed.update(term.added for terms in found.sums.values() for term in terms)
        for places in (found.fixed, found.early, found.core, found.late):
            needed.update(part(body, places)[0])
        return needed

    def _compute(self, places: Sequence[int], wanted: set[Atom]) -> None:
        """Record equations that are the same in every iteration."""
        used, made = part(self._p.body, places)
        outputs = [v for v in made if v in wanted]
        program = cut(self._p.body, used, outputs)
        ys = inline(program, [self._fixed[v] for v in used])
        self._fixed.update(zip(outputs, ys, strict=True))

    def _batch(self, places: Sequence[int], wanted: set[Atom]) -> None:
        """Record equations for all iterations at once."""
        used, made = part(self._p.body, places)
        outputs = [v for v in made if v in wanted]
        if not outputs:
            return
        program = cut(self._p.body, used, outputs)
        flags = [v in self._stacked for v in used]
        xs = [
            self._stacked[v] if flag else self._fixed[v]
            for v, flag in zip(used, flags, strict=True)
        ]
        batched = batch_outputs(program, self._p.length, flags)
        ys = walk(
            batched, xs, lambda eq, operands: _rewriter.emit(eq.primitive, eq.params, *operands)
        )
        self._stacked.update(zip(outputs, ys, strict=True))

    def _loop(self) -> dict[int, Tracer]:
        """Record what is left of the loop; return the last carries."""
        p, found = self._p, self._stages
        body = p.body
        carries = [k for k in range(p.carries) if k not in found.sums]
        inputs = [body.inputs[p.constants + k] for k in carries]
        after = [body.outputs[k] for k in carries]
        used, made = part(body, found.core)
        used += [v for v in after if isinstance(v, Var) and v not in made]
        # what is needed of it, its results and the carries as they come in
        others = rows_needed_after(p, found)
        later = {v for k in found.late for v in body.equations[k].results}
        stacked = [v for v in (*inputs, *made) if v in others and v not in later]
        constants = [v for v in dict.fromkeys(used) if v in self._fixed]
        rows = [v for v in dict.fromkeys(used) if v in self._stacked]
        program = cut(body, [*constants, *inputs, *rows], [*after, *stacked])
        operands = [
            *(self._fixed[v] for v in constants),
            *(self._carried[v] for v in inputs),
            *(self._stacked[v] for v in rows),
        ]
        q = Scan(program, len(constants), len(inputs), p.length, p.reverse)
        every = [True] * len(program.outputs)
        made_ = scan(q, operands) if _carry_and_row(q) is None else _distribute(q, operands, every)
        self._stacked.update(zip(stacked, made_[len(inputs) :], strict=True))
        return dict(zip(carries, made_, strict=False))

    def _stack(self, atom: Atom) -> Tracer:
        """Return the rows of a variable, whether or not they differ."""
        if atom in self._stacked:
            return self._stacked[atom]
        x = self._fixed[atom] if isinstance(atom, Var) else constant(atom.value, atom.type)
        return broadcast(x, (self._p.length, *x.shape), tuple(range(1, x.ndim + 1)))
