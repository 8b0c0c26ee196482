"""Machine code for the equations of a program, one after the other.

A method named after a primitive writes what it does; elementwise equations are formulas, which the
only equation that needs them computes in its own loop.  All others are steps that NumPy computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from funcdiff.backend.code.scipy_routines import solver, triangles
from funcdiff.backend.native.formulas import compare_integers, formula, is_function
from funcdiff.backend.native.llvm import Vector, where
from funcdiff.backend.native.machine_arrays import (
    Function,
    Index,
    Number,
    Place,
    Pointwise,
    UncoveredError,
    Value,
    View,
    kind_of,
    store,
    strides_of,
)
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.evaluate import is_repeatable
from funcdiff.ops.axes.indexing import Indexed
from funcdiff.ops.structure.slicing import Slice
from funcdiff.ops.structure.structural import Axis, Iota

_DEEPEST: Final = 64
"""Formulas within each other, at most: then the elements are stored."""

_LONGEST: Final = 12_000
"""Instructions up to which a program is written: LLVM takes a second for them, and for twice as
many more than twice as long."""

WRITES: Final = frozenset(("add_slice", "replace_slice", "scatter_add", "scatter"))
"""Primitives that change some elements of their first operand."""


class Block:
    """The equations of a program, written into a function.

    `uses` counts the equations that need a variable, the program's results among them; `targets`
    say where results go, if anywhere; `owned` are those in memory that nothing else has part in.
    `triangles` says which variables are triangular matrices.
    """

    def __init__(
        self, code: Function, program: Program, inputs: Sequence[Value], owned: set[Var]
    ) -> None:
        self.code, self.program = code, program
        self.triangles = triangles(program)
        self.values: dict[Atom, Value] = dict(zip(program.inputs, inputs, strict=True))
        self.uses = Counter[Atom](program.outputs)
        for eq in program.equations:
            self.uses.update(set(eq.operands))
        self.targets: dict[Atom, View] = {}
        self.owned = {v for v in owned if self.uses[v] == 1}

    def write(self, targets: Sequence[View | None]) -> list[Value]:
        """Write all equations; return the outputs, in their targets where these are given."""
        made = {v: eq for eq in self.program.equations for v in eq.results}
        for atom, target in zip(self.program.outputs, targets, strict=True):
            place: Atom | None = atom
            while target is not None and isinstance(place, Var) and place in made:
                self.targets.setdefault(place, target)
                place = self._target(made[place])
        for eq in self.program.equations:
            self._equation(eq)
        results = [self.value(atom) for atom in self.program.outputs]
        for k, target in enumerate(targets):
            if target is not None and results[k] is not target:
                store(self.code, results[k], target)
                results[k] = target
        return results

    def _target(self, eq: Equation) -> Atom | None:
        """Return what an equation writes into, if nothing else needs that."""
        if eq.primitive.name not in WRITES:
            return None
        x = eq.operands[0]
        return x if self.uses[x] == eq.operands.count(x) == 1 else None

    def _equation(self, eq: Equation) -> None:
        if len(self.code.lines) > _LONGEST:
            raise UncoveredError(eq)
        function = formula(eq)
        if function is not None:
            self._pointwise(eq, function)
            return
        method = getattr(self, eq.primitive.name, None)
        made = self._step(eq) if method is None else method(eq)
        results = made if isinstance(made, list) else [made]
        self.values.update(zip(eq.results, results, strict=True))

    def _step(self, eq: Equation) -> list[Value]:
        """Write a call of NumPy."""
        if not is_repeatable((eq,)):
            raise UncoveredError(eq)
        places = []
        for atom in eq.operands:
            kind_of(atom.type)
            memory, place = self.code.memory_for_caller(atom.type)
            store(self.code, self.value(atom), memory)
            places.append(place)
        for v in eq.results:
            kind_of(v.type)
        made = [self.code.memory_for_caller(v.type) for v in eq.results]
        function = solver(eq, self.triangles) or eq.operation.function
        self.code.step(eq.operation, function, places, [place for _, place in made])
        return [x if x.type.shape else Number(x.at((), 1), x.type) for x, _ in made]

    # ---- values ----------------------------------------------------------------------------

    def value(self, atom: Atom) -> Value:
        """Return an operand."""
        if isinstance(atom, Literal):
            kind = kind_of(atom.type)
            number = Vector(self.code, "", kind, 1).like(atom.value.item())
            return Number(number, atom.type)
        return self.values[atom]

    def number(self, atom: Atom) -> Vector:
        """Return an operand without axes."""
        return self.value(atom).at((), 1)

    def view(self, atom: Atom) -> View:
        """Return an operand in memory."""
        x = self.value(atom)
        if not isinstance(x, View):
            place = self.memory(atom)
            store(self.code, x, place)
            self.values[atom] = x = place
        return x

    def memory(self, atom: Atom) -> View:
        """Return memory for a result: its target, if it has one."""
        kind_of(atom.type)
        target = self.targets.get(atom)
        if isinstance(atom, Var):
            self.owned.update({atom} if self.uses[atom] == 1 else ())
        return self.code.memory(atom.type) if target is None else target

    def _pointwise(self, eq: Equation, function: Any) -> None:
        (v,) = eq.results
        kind_of(v.type)
        if is_function(eq):
            function = partial(self.code.part, eq.primitive.name, function)
        operands = tuple(map(self.value, eq.operands))
        self.code.known = {}
        self.values[v] = self._formula_or_memory(
            v, Pointwise(self.code, v.type, function, operands)
        )

    def _formula_or_memory(self, v: Var, made: Pointwise) -> Value:
        """Return a formula, or where its elements are if more than one equation needs them."""
        if not v.type.shape:
            return Number(made.at((), 1), v.type)
        if self.uses[v] == 1 and v not in self.targets and made.depth < _DEEPEST:
            return made
        place = self.memory(v)
        store(self.code, made, place)
        return place

    # ---- other arrangements of elements ------------------------------------------------------

    def _rearrange(self, eq: Equation, function: Callable[[View], View]) -> Value:
        (x,), type_ = eq.operands, eq.results[0].type
        found = self.value(x)
        if isinstance(found, Number):
            return Number(found.number, type_)
        if not isinstance(found, View) and not type_.size:
            return self.memory(eq.results[0])
        return function(self.view(x))

    def broadcast(self, eq: Equation) -> Value:
        """Repeat elements: with strides of 0."""
        shape, axes = eq.params.shape, eq.params.axes  # type: ignore[attr-defined]

        def repeat(x: View) -> View:
            strides = [0] * len(shape)
            for axis, stride in zip(axes, x.strides, strict=True):
                strides[axis] = stride
            return x.view(shape, tuple(strides))

        return self._rearrange(eq, repeat)

    def reshape(self, eq: Equation) -> Value:
        """Arrange the elements in another shape."""
        return self._rearrange(eq, lambda x: self._reshape(x, eq.results[0].type.shape))

    def _reshape(self, x: View, shape: tuple[int, ...]) -> View:
        if x.is_whole:
            return x.view(shape, strides_of(shape))
        moving = [(n, k) for n, k in zip(x.type.shape, x.strides, strict=True) if n != 1]
        if [n for n, _ in moving] == [n for n in shape if n != 1]:
            rest = iter(moving)
            return x.view(shape, tuple([1 if n == 1 else next(rest)[1] for n in shape]))
        copied = self.code.memory(x.type)
        store(self.code, x, copied)
        return copied.view(shape, strides_of(shape))

    def permute(self, eq: Equation) -> Value:
        """Exchange axes."""
        axes = eq.params.axes  # type: ignore[attr-defined]
        shape = eq.results[0].type.shape
        return self._rearrange(eq, lambda x: x.view(shape, tuple([x.strides[k] for k in axes])))

    def reverse(self, eq: Equation) -> Value:
        """Turn axes around: with negative strides."""
        axes = eq.params.axes  # type: ignore[attr-defined]

        def turn_around(x: View) -> View:
            first = sum((x.type.shape[k] - 1) * x.strides[k] for k in axes)
            strides = [-n if k in axes else n for k, n in enumerate(x.strides)]
            return x.view(x.type.shape, tuple(strides), first)

        return self._rearrange(eq, turn_around)

    def slice(self, eq: Equation) -> Value:
        """Take a box of elements."""
        return self._rearrange(eq, lambda x: _box(x, eq.params_as(Slice)))

    def stop_gradient(self, eq: Equation) -> Value:
        """Hand the operand on."""
        return self._rearrange(eq, lambda x: x)

    def iota(self, eq: Equation) -> Value:
        """Count along an axis."""
        code, place, axis = self.code, self.memory(eq.results[0]), eq.params_as(Iota).axis
        code.nest(place.type.shape, lambda at: place.put(at, Vector(code, str(at[axis]), "i64", 1)))
        return place

    def concatenate(self, eq: Equation) -> Value:
        """Write arrays one behind the other."""
        axis, place, first = eq.params_as(Axis).axis, self.memory(eq.results[0]), 0
        for atom in eq.operands:
            part = place.view(atom.type.shape, place.strides, first * place.strides[axis])
            store(self.code, self.value(atom), part)
            first += atom.type.shape[axis]
        return place

    # ---- writing into arrays -----------------------------------------------------------------

    def _writable(self, eq: Equation) -> View:
        """Return the first operand where it may be changed: a copy, if anybody else needs it."""
        x, (v,) = eq.operands[0], eq.results
        found, target = self.value(x), self.targets.get(v)
        mine = x in self.owned and eq.operands.count(x) == 1
        if isinstance(found, View) and mine and target is None:
            place = found
        else:
            place = self.memory(v)
            if found is not place:
                store(self.code, found, place)
        if self.uses[v] == 1:
            self.owned.add(v)
        return place

    def add_slice(self, eq: Equation) -> Value:
        """Add to a box of elements."""
        u, p = self.value(eq.operands[1]), eq.params_as(Slice)
        place = self._writable(eq)
        if not isinstance(eq.operands[0], Literal) or any(eq.operands[0].bits):
            box, self.code.known = _box(place, p), {}
            self.code.pieces(box.type.shape, partial(_add, box, u), twice=False)
        else:
            store(self.code, u, _box(place, p))
        return place

    def replace_slice(self, eq: Equation) -> Value:
        """Write over a box of elements."""
        place = self._writable(eq)
        store(self.code, self.value(eq.operands[1]), _box(place, eq.params_as(Slice)))
        return place

    def gather(self, eq: Equation) -> Value:
        """Read at positions."""
        x, *indices = eq.operands
        source, positions = self.view(x), [self.view(i) for i in indices]
        place = self.memory(eq.results[0])
        self._at_positions(eq.params_as(Indexed), source, positions, place, _copy)
        return place

    def scatter_add(self, eq: Equation) -> Value:
        """Add at positions, one after the other."""
        return self._scatter_rows(eq, _add)

    def scatter(self, eq: Equation) -> Value:
        """Write at positions, so that the last one wins."""
        return self._scatter_rows(eq, lambda there, u, at, width: _copy(u, there, at, width))

    def _scatter_rows(self, eq: Equation, move: Any) -> Value:
        _, u, *indices = eq.operands
        given, positions = self.view(u), [self.view(i) for i in indices]
        place = self._writable(eq)
        self._at_positions(eq.params_as(Indexed), place, positions, given, move)
        return place

    def _at_positions(
        self, p: Indexed, x: View, positions: Sequence[View], rows: View, move: Any
    ) -> None:
        """Move rows, or elements, from or to positions along axes of an array."""
        code, rest = self.code, [k for k in range(x.type.ndim) if k not in p.axes]
        shape = tuple(x.type.shape[k] for k in rest)
        strides = tuple(x.strides[k] for k in rest)

        def once(place: Place) -> None:
            offset: Index = 0
            for axis, position in zip(p.axes, positions, strict=True):
                i = self._within(position.at(place, 1), x.type.shape[axis])
                offset = code.plus(offset, code.times(i, x.strides[axis]))
            there, row = x.view(shape, strides, offset), rows
            for at in place:
                row = row.row(at)

            code.pieces(shape, partial(move, there, row), twice=False)

        code.nest(positions[0].type.shape, once)

    def _within(self, i: Vector, length: int) -> str:
        """Return a position from the front; one that is out of bounds ends the function."""
        if i.kind != "i64":
            raise UncoveredError(i.kind)
        place = where(compare_integers("slt", i, i.like(0)), i + length, i)
        self.require(compare_integers("ult", place, i.like(length)))
        return place.text

    def require(self, flag: Vector) -> None:
        """End the function, for NumPy to compute everything, unless a flag is set."""
        code, label = self.code, self.code.name()[1:]
        code.do(f"br i1 {flag.text}, label %{label}, label %fail")
        code.block(label)


def _copy(there: View, row: View, place: Place, width: int) -> None:
    row.put(place, there.at(place, width))


def _add(there: View, u: Value, place: Place, width: int) -> None:
    there.put(place, there.at(place, width) + u.at(place, width))


def _box(x: View, p: Slice) -> View:
    first = sum(start * stride for start, stride in zip(p.starts, x.strides, strict=True))
    strides = tuple([n * step for n, step in zip(x.strides, p.steps, strict=True)])
    return x.view(p.lengths, strides, first)
