"""Follows the inputs of a linear program to its results, element by element.

With coefficients, this computes a sparse Jacobian outright: no vectors are pushed, no colours are
needed, and it takes about as many operations as there are entries.  Operations of which it is not
known what they do to single elements (solving, loops) have patterns only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from math import prod
from typing import Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.policy import SHARED
from funcdiff.core.program import Equation, Program, atoms_in_use
from funcdiff.core.recording.builder import Builder, constant
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.walk import copy_equation, rearrange
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import BOOL, ArrayType
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.rematerialization import Checkpoint
from funcdiff.ops.control.sweeps import Scan
from funcdiff.ops.structure.structural import convert
from funcdiff.passes.sparsity.assembly import add_up
from funcdiff.passes.sparsity.junctions import MOST_PAIRS, DensePatternError, Junctions
from funcdiff.passes.sparsity.known import Array, Known
from funcdiff.passes.sparsity.links import (
    Blocks,
    Links,
    Moves,
    Shared,
    Sums,
    axes_in_common,
    is_contraction,
    links,
    product_count,
    products,
)
from funcdiff.passes.sparsity.parts import (
    Data,
    Entries,
    Part,
    Term,
    add_parts,
    count_links,
    emit,
    link,
    merge,
    move,
    places,
    repetition,
    take,
)
from funcdiff.passes.supports.propagation import Maybe, Supports, from_mask, rule_of
from funcdiff.space import add_p, zeros
from funcdiff.transforms.vmap import batch_outputs

# ---- Element dependence of operations without links, by probing their support rules --------------
#
# Unit vectors go through a small program of booleans.  Along an axis of examples that do not meet
# each other, as solutions of many systems, all examples are asked at once; labels of axes tell.

MOST_PROBED: Final = 1 << 22
"""Elements of results that are looked at, at most, to ask a rule of supports."""

Reach = Callable[[Array], Array]
"""Of stacked masks of an operand, where the result may differ from zero then."""


def ask_support(eq: Equation, place: int, result: int, linear: Sequence[bool]) -> Sums | Blocks:
    """Return what the support of an operation tells, or that all may depend on all."""
    x, y = eq.operands[place].type, eq.results[result].type
    reach = _reach(eq, place, result, linear)
    batch = axes_in_common(eq, place, result)
    inside = x.size // max(batch.size, 1)
    too_many = inside * y.size > MOST_PROBED
    if reach is None or too_many:
        return batch.blocks(x.shape, y.shape)
    if inside > 2 and np.all(reach(_units(x.shape, batch, [0, inside - 1]))):
        return batch.blocks(x.shape, y.shape)  # two elements of an example reach all of its results
    return _within(x.shape, y.shape, batch, reach)


def _reach(eq: Equation, place: int, result: int, linear: Sequence[bool]) -> Reach | None:
    """Return where a result may differ from zero by where an operand does; None if anywhere.

    It is not said of operations whose support depends on values that are not known.
    """
    rule = rule_of(eq.primitive)
    if rule is None:
        return None
    types = [atom.type for atom in eq.operands]
    box, supports = types[place].with_dtype(BOOL), Supports()
    with Builder("support", SHARED) as builder:
        start = builder.input(box)
        xs = [builder.input(t) for t in types]
        given: list[Maybe] = [not flag for flag in linear]
        given[place] = from_mask(start)
        found = rule(eq.params, tuple([v.type for v in eq.results]), xs, given)[result]
        shape = eq.results[result].type.shape
        if isinstance(found, bool):
            return None if found else lambda masks: np.zeros((len(masks), *shape), bool)
        program = builder.program([supports.record(found)])
    if not atoms_in_use(program).isdisjoint(program.inputs[1:]):
        return None
    alone = rearrange(program, [0], [0])

    def reach(masks: Array) -> Array:
        if not masks.size:
            return np.zeros((len(masks), *shape), bool)
        return np.asarray(executable(batch_outputs(alone, len(masks), [True]))(masks)[0])

    return reach


def _units(x: tuple[int, ...], batch: Shared, numbers: Sequence[int]) -> Array:
    """Return masks of one element of every example each, by their numbers in the example."""
    shape = [1 if axis in batch.operands else n for axis, n in enumerate(x)]
    units = np.equal.outer(np.array(numbers, int), np.arange(prod(shape)))
    return np.broadcast_to(units.reshape(len(numbers), *shape), (len(numbers), *x))


def _within(x: tuple[int, ...], y: tuple[int, ...], batch: Shared, reach: Reach) -> Sums:
    """Ask one element of every example at once, for each."""
    inside = prod(x) // max(batch.size, 1)
    which, rows = np.nonzero(reach(_units(x, batch, range(inside))).reshape(inside, prod(y)))
    numbers = np.arange(prod(x)).reshape(x)
    numbers = np.moveaxis(numbers, batch.operands, range(len(batch.operands)))
    table = numbers.reshape(batch.size, inside)
    return Sums(rows, table[batch.of(y, batch.results)[rows], which])


Parts: TypeAlias = list[Part]


# ---- Follows inputs to results -------------------------------------------------------------------

_CROWDED: Final = 64
"""Inputs on which an element depends from which on they are joined, if there are only patterns."""
_OFTEN: Final = 2
"""Ways in which an element depends on an input, on average, from which on they are added up."""
_FEW: Final = 1 << 12
"""Pairs that are always followed one by one."""


class UnknownImageError(Exception):
    """Single elements cannot be followed through an operation with their coefficients."""


def unit_parts(types: Sequence[ArrayType], *, with_data: bool) -> list[Parts]:
    """Return the inputs of a program as multiples of themselves."""
    starts = np.cumsum([0, *(t.size for t in types)]).tolist()
    return [
        [Term(start + np.arange(t.size).reshape(t.shape), constant(1, t) if with_data else None)]
        for start, t in zip(starts[:-1], types, strict=True)
    ]


class Images:
    """What the variables of a linear program are made of."""

    def __init__(self, junctions: Junctions | None, most: int = MOST_PAIRS) -> None:
        self.junctions = junctions  # of sets of inputs; None if coefficients are recorded
        self.with_data = junctions is None
        self._most = most
        self.parts: dict[Atom, Parts] = {}  # of variables that depend on the linear inputs
        self.others: dict[Atom, Tracer] = {}  # as recorded; empty if only patterns are asked for
        self.known = Known()  # of these
        self.certain = True  # every element was followed, none only by what may be at most

    def of(self, atom: Atom) -> Parts:
        """Return what an atom is made of."""
        return self.parts.get(atom, [])

    def run(self, program: Program) -> list[Parts]:
        """Follow the equations of a program whose inputs are there; return the outputs."""
        for eq in program.equations:
            if any(atom in self.parts for atom in eq.operands):
                for variable, parts in zip(eq.results, self._results(eq), strict=True):
                    self.parts[variable] = self._join(parts, variable.type)
            else:
                self.copy(eq)
        return [self.of(atom) for atom in program.outputs]

    def copy(self, eq: Equation) -> None:
        """Record an equation that does not depend on the linear inputs."""
        self.known.follow(eq)
        if self.with_data:
            xs = [self.tracer(atom) for atom in eq.operands]
            self.others.update(zip(eq.results, copy_equation(eq, xs), strict=True))

    def tracer(self, atom: Atom) -> Tracer:
        """Return what is recorded of an atom that does not depend on the linear inputs."""
        if isinstance(atom, Literal):
            return Builder.handle(None, atom, atom.type)
        return self.others[atom]

    def _join(self, parts: Parts, t: ArrayType) -> Parts:
        """Return parts with what many inputs make joined, if only patterns are asked for.

        Otherwise coefficients are added up where elements depend on inputs in several ways: the
        number of ways would grow with every sum.
        """
        total = sum(part.columns.size for part in parts)
        self._check_count(total)
        if self.junctions is None:
            return [add_up(parts)] if repetition(parts, t.size) >= _OFTEN else parts
        if total <= _CROWDED * (t.size + 1):
            return parts
        part = merge(parts)
        crowded = np.bincount(part.rows, minlength=t.size)[part.rows] > _CROWDED
        rows, columns = part.rows[crowded], part.columns[crowded]
        numbers = self.junctions.join(rows, columns, t.size)
        rest = Entries(part.rows[~crowded], part.columns[~crowded], None)
        return [Term(numbers.reshape(t.shape), None), rest]

    def _check_count(self, pairs: int) -> None:
        if pairs > self._most:
            raise UnknownImageError if self.with_data else DensePatternError

    def _results(self, eq: Equation) -> list[Parts]:
        if isinstance(eq.params, Checkpoint):
            return self._run_inside(self._inside(eq.params.body, eq.operands), eq.params.body)
        if len(eq.results) == 1 and not eq.params.equation_count:
            return [self._result(eq)]
        if self.with_data:
            raise UnknownImageError
        if isinstance(eq.params, Cond):
            inner = [(self._inside(b, eq.operands[1:]), b) for b in eq.params.branches]
            branches = [self._run_inside(images, b) for images, b in inner]
            return [add_parts(list(chain(*found))) for found in zip(*branches, strict=True)]
        if isinstance(eq.params, Scan):
            return self._follow_scan(eq, eq.params)
        return [self._by_support(eq, k) for k in range(len(eq.results))]

    # ---- one result ------------------------------------------------------------------------

    def _result(self, eq: Equation) -> Parts:
        facts, count = eq.primitive.facts, len(eq.operands)
        places = [k for k, atom in enumerate(eq.operands) if atom in self.parts]
        linear = [k in places for k in range(count)]
        if facts.linear is not None:
            inside = range(count)[facts.linear]
            linear = [k in inside for k in range(count)]
        if facts.elements == "scaled" and not self.with_data:
            return self.of(eq.operands[0])
        if eq.primitive.pointwise and (facts.elements not in ("summed", "added") or all(linear)):
            return add_parts([part for k in places for part in self._pointwise(eq, k, linear)])
        known = [
            None if flag else self.known.value(atom)
            for atom, flag in zip(eq.operands, linear, strict=True)
        ]
        if eq.primitive.pointwise and any(
            v is None and not f for v, f in zip(known, linear, strict=True)
        ):
            return add_parts([part for k in places for part in self._pointwise(eq, k, linear)])
        found: Parts = []
        for k in places:
            if facts.elements == "added" and k == 0:
                found += self.of(eq.operands[0])
                continue
            is_product = is_contraction(eq) and sum(linear[:2]) == 1
            way = self._product(eq, k) if is_product else links(eq, k, linear, known)
            if way is None:
                return self._by_support(eq, 0)
            found += self._link(eq, k, linear, way)
        return add_parts(found)

    def _product(self, eq: Equation, place: int) -> Links:
        """Return the links of a factor of a product, but for zeros of the other factor."""
        if self.with_data and not eq.operation.contracts:
            raise UnknownImageError
        nonzero = self.known.where_nonzero(eq.operands[1 - place])
        if not self.with_data and (nonzero is None or nonzero.all()):
            shapes = eq.operands[place].type.shape, eq.results[0].type.shape
            return axes_in_common(eq, place).blocks(*shapes)
        self._check_count(product_count(eq, place, nonzero))
        return products(eq, place, nonzero)

    def _link(
        self, eq: Equation, place: int, linear: Sequence[bool], way: Links, result: int = 0
    ) -> Parts:
        parts, factor = self.of(eq.operands[place]), None
        if isinstance(way, Blocks):
            pairs = way.pair_count
            if pairs > max(_FEW, 8 * (way.rows.size + way.sources.size)):
                assert self.junctions is not None
                rows, columns = places(parts)
                count = 1 + int(max(way.rows.max(initial=-1), way.sources.max(initial=-1)))
                numbers = self.junctions.join(way.sources[rows], columns, count)
                shape = eq.results[result].type.shape
                return [Term(numbers[way.rows].reshape(shape), None)]
            way = way.pairs()
        if isinstance(way, Sums) and way.factors is not None and self.with_data:
            factor = self.tracer(eq.operands[way.other])
        dtype = eq.results[result].type.dtype

        def apply(data: Tracer) -> Tracer:  # the equation, to this operand alone
            operands = [
                data if k == place else zeros(atom.type) if flag else self.tracer(atom)
                for k, (atom, flag) in enumerate(zip(eq.operands, linear, strict=True))
            ]
            return emit(eq.primitive, eq.params, *operands)

        found = [self._image(part, way, apply, factor) for part in parts]
        return [p if p.data is None else replace(p, data=convert(p.data, dtype)) for p in found]

    def _image(
        self, part: Part, way: Moves | Sums, apply: Callable[[Tracer], Tracer], factor: Data
    ) -> Part:
        """Return what a part becomes by links of its elements."""
        if isinstance(way, Moves):
            if isinstance(part, Entries):
                self._check_count(count_links(part, way.sources[way.sources >= 0]))
            return move(part, way, apply)
        self._check_count(count_links(part, way.sources))
        return link(part, way, factor)

    def _pointwise(self, eq: Equation, place: int, linear: Sequence[bool]) -> Parts:
        parts = self.of(eq.operands[place])
        if not self.with_data or eq.primitive is add_p:
            return parts

        def operand(k: int, atom: Atom, part: Part) -> Tracer:
            data = part.data
            assert data is not None
            if k == place:
                return data
            if linear[k]:
                return zeros(atom.type.with_shape(data.shape))
            if isinstance(part, Term):
                return self.tracer(atom)
            found = take(self.tracer(atom), part.rows)
            assert found is not None
            return found

        def apply_to(part: Part) -> Part:
            operands = [operand(k, atom, part) for k, atom in enumerate(eq.operands)]
            data = emit(eq.primitive, eq.params, *operands)
            return replace(part, data=data)

        return [apply_to(part) for part in parts]

    def _by_support(self, eq: Equation, result: int) -> Parts:
        """Return the pattern of a result by what its support tells."""
        if self.with_data:
            raise UnknownImageError
        self.certain = False
        linear = [atom in self.parts for atom in eq.operands]
        found: Parts = []
        for k, flag in enumerate(linear):
            if flag:
                way = ask_support(eq, k, result, linear)
                found += self._link(eq, k, linear, way, result)
        return add_parts(found)

    # ---- programs in equations -------------------------------------------------------------

    def _inside(self, program: Program, operands: Sequence[Atom]) -> Images:
        """Return the images of a program that an equation holds, with its first inputs."""
        inner = Images(self.junctions, self._most)
        for variable, atom in zip(program.inputs, operands, strict=False):
            inner.enter(variable, self, atom)
        return inner

    def _run_inside(self, inner: Images, body: Program) -> list[Parts]:
        found = inner.run(body)
        self.certain = self.certain and inner.certain
        return found

    def enter(self, variable: Var, outer: Images, atom: Atom) -> None:
        """Let an input be what an atom is outside."""
        if atom in outer.parts:
            self.parts[variable] = outer.parts[atom]
            return
        if self.with_data:
            self.others[variable] = outer.tracer(atom)
        value, nonzero = outer.known.value(atom), outer.known.where_nonzero(atom)
        if value is not None:
            self.known.values[variable] = value
        elif nonzero is not None:
            self.known.nonzero[variable] = nonzero

    def _follow_scan(self, eq: Equation, p: Scan) -> list[Parts]:
        """Return the patterns of a loop, step by step."""
        constants, carry, rows = p.split(eq.operands)
        state = [self.of(atom) for atom in carry]
        stacked: list[Parts] = [[] for _ in eq.results[p.carries :]]
        for k in range(p.length)[:: -1 if p.reverse else 1]:
            inner = self._inside_step(p, constants, rows, k)
            for variable, parts in zip(p.body.inputs[p.constants :], state, strict=False):
                if parts:
                    inner.parts[variable] = parts
            results = self._run_inside(inner, p.body)
            state = list(map(_merge, results[: p.carries]))
            types = p.body.output_types[p.carries :]
            for found, parts, t in zip(stacked, results[p.carries :], types, strict=True):
                row = np.arange(t.size)
                found += [link(part, Sums(k * t.size + row, row), None) for part in parts]
        return [*state, *map(_merge, stacked)]

    def _inside_step(
        self, p: Scan, constants: Sequence[Atom], rows: Sequence[Atom], k: int
    ) -> Images:
        """Return the images of one step of a loop, with its constants and rows."""
        inner = self._inside(p.body, constants)
        for variable, atom in zip(p.body.inputs[p.constants + p.carries :], rows, strict=True):
            value = self.known.value(atom)
            if atom in self.parts:
                row = np.arange(variable.type.size)
                links = Sums(row, k * len(row) + row)
                inner.parts[variable] = [link(part, links, None) for part in self.parts[atom]]
            elif value is not None:
                inner.known.values[variable] = np.asarray(value[k])
        return inner


def _merge(parts: Parts) -> Parts:
    return [merge(parts)] if parts else []
