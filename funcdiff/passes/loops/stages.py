"""Loop distribution, the analysis: which equations of a scan's body need the loop.

An equation is *fixed* if it is the same in every iteration, *early* if it needs no carry, *late* if
no carry needs it.  What is early or late is computed for all iterations at once, before or after
the loop; only the *core* is left in it.  A carry to which every iteration adds something, and at
which nothing else looks, is a sum over the rows of what is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Final, NamedTuple

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.program import Equation, Program
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.structure.slicing import add_slice_p, slice_p
from funcdiff.space import add_p

_WIDEST: Final = 1 << 13
"""Elements up to which the results of an iteration are worth putting together with the others."""
_MOST: Final = 1 << 23
"""Elements of all iterations together, at most."""


class Term(NamedTuple):
    """What an iteration adds to a carry: `equation` adds `added`, to all of it or to a box."""

    equation: Equation
    added: Atom


class Stages(NamedTuple):
    """Where the equations of a body belong, by their places.

    Attributes
    ----------
    fixed, early, core, late
        Places of equations.
    sums
        For carries that only are added to, what is added.
    """

    fixed: list[int]
    early: list[int]
    core: list[int]
    late: list[int]
    sums: dict[int, list[Term]]


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
    result = Stages(**places, sums=sums)
    return result._replace(late=sorted([*result.late, *_slices_of_stacks(p, result)]))


def _mark_late(p: Scan, kinds: list[str], sums: dict[int, list[Term]]) -> None:
    """Mark those in the core that no carry needs."""
    equations = p.body.equations
    needed = {atom for k, atom in enumerate(p.body.outputs[: p.carries]) if k not in sums}
    products = {term.added for terms in sums.values() for term in terms}
    for k in range(len(equations) - 1, -1, -1):
        eq = equations[k]
        if kinds[k] != "core":
            continue
        late = is_batchable(eq, p.length) or _is_summed_product(eq, products)
        if late and needed.isdisjoint(eq.results):
            kinds[k] = "late"
        else:
            needed.update(eq.operands)


def needed_after(p: Scan, found: Stages) -> set[Atom]:
    """Return what of the loop is needed after it, row by row."""
    needed = {*p.body.outputs[p.carries :], *part(p.body, found.late)[0]}
    needed.update(term.added for terms in found.sums.values() for term in terms)
    return needed


def _slices_of_stacks(p: Scan, found: Stages) -> list[int]:
    """Return slices in the core that are better taken of all rows of an array, after the loop."""
    needed = needed_after(p, found)
    slices: dict[Atom, list[int]] = {}
    for k in found.core:
        eq = p.body.equations[k]
        made = eq.operands[0] not in p.body.inputs if eq.operands else False
        if eq.primitive is slice_p and eq.results[0] in needed and made:
            slices.setdefault(eq.operands[0], []).append(k)
    return [
        k
        for whole, places in slices.items()
        if whole in needed
        or 2 * sum(p.body.equations[k].results[0].type.size for k in places) >= whole.type.size
        for k in places
    ]


def _is_summed_product(eq: Equation, added: set[Atom]) -> bool:
    return eq.operation.contracts and eq.results[0] in added


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
            if eq.primitive is add_p:
                (added,) = [x for x in eq.operands if x != at]
            elif eq.primitive is add_slice_p and eq.operands[0] == at:
                added = eq.operands[1]
            else:
                break
            terms.append(Term(eq, added))
            at = eq.results[0]
        if terms and at == end and uses[at] == 1 and _are_few(p, terms, makers, uses):
            found[k] = terms
    return found


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
