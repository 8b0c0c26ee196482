"""Compiles programs to kernels: code with preallocated memory, fused loops and substitution.

A kernel is faster than a compiled program of `backend.code.source` where the last bits are free to
differ, as they are under `jit`: its memory is kept from call to call, numbers are worked on by
Python's operators, and large arrays are worked through block by block (see `blocks.schedule`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from textwrap import wrap
from types import FunctionType
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.backend.blocks.grouping import Loop, Step, group
from funcdiff.backend.blocks.running import Blocks
from funcdiff.backend.blocks.schedule import Limits, Region, schedule
from funcdiff.backend.code.columns import turn
from funcdiff.backend.code.constants import hoist_constants
from funcdiff.backend.code.expansion import expand
from funcdiff.backend.code.formulas import OPERATORS, is_ufunc, reduction_ufunc
from funcdiff.backend.code.fusion import fuse
from funcdiff.backend.code.memory import between_calls
from funcdiff.backend.code.pieces import PieceWriter, is_padding
from funcdiff.backend.code.products import is_product
from funcdiff.backend.code.source import Source, function
from funcdiff.backend.code.sparse import row_adder
from funcdiff.backend.code.triangles import solver
from funcdiff.backend.kernels.loops import of_one, scan, writable_outputs
from funcdiff.backend.kernels.preparation import prepare
from funcdiff.backend.native.compiling import compile_loop
from funcdiff.backend.native.expressions import formula, is_mostly_loops, is_worth_a_loop
from funcdiff.backend.numbers.loops import loop_of_numbers, while_of_numbers
from funcdiff.backend.numbers.scalars import Attempt
from funcdiff.backend.numbers.unrolling import Unrolled, unroll
from funcdiff.core.atoms import Literal, Var
from funcdiff.core.evaluate import is_repeatable
from funcdiff.core.memo import memoised
from funcdiff.core.program import Equation, Program
from funcdiff.core.running import as_run
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.scan import Scan, scan_p
from funcdiff.ops.control.sweeps import While
from funcdiff.ops.control.while_loop import while_p
from funcdiff.ops.families import several
from funcdiff.ops.products.contract import contract_p
from funcdiff.ops.structure.slicing import add_slice_p
from funcdiff.ops.structure.structural import concatenate_p

KEPT: Final = 1 << 28
"""Bytes of memory up to which a kernel keeps it from call to call."""

_MANY: Final = 2000
"""Elements from which on memory that is kept is quicker than memory that is new."""

_Places: TypeAlias = Mapping[str, tuple[int, Var]]
"""By the names of results, the slots of memory that they are in, and the results."""


class Kernel:
    """A program as a function of arrays; several calls may run at the same time.

    The `stored` outputs are written to memory that is given after the inputs; `limits` say what
    runs block by block, if anything does; `native` asks for machine code of elementwise chains.
    """

    def __init__(
        self,
        program: Program,
        limits: Limits | None,
        stored: Sequence[int] = (),
        *,
        native: bool = False,
    ) -> None:
        program = fuse(expand(as_run(program)))
        if limits is None or not any(isinstance(s, Region) for s in schedule(program, limits)):
            program = turn(program)
        program, constants = hoist_constants(program, _is_seen_by_user)
        writer = _KernelWriter(program, limits, stored, constants, native=native)
        self.source = writer.source()
        self._places = writer.places
        self._function: Any = self.source.function()
        self._keeps_memory = sum(_sizes(self._places).values()) <= KEPT
        self._idle: list[Callable[..., list[Any]]] = []

    def __call__(self, *arrays: Any) -> list[Any]:
        """Return the outputs; of those stored, what they were written to."""
        try:  # as `take` and `give_back` do, which are two calls more
            run = self._idle.pop()
        except IndexError:
            run = self.take()
        results = run(*arrays)
        if self._keeps_memory:
            self._idle.append(run)
        return results

    def take(self) -> Callable[..., list[Any]]:
        """Return a function that does the same in memory that nobody else writes to."""
        try:
            return self._idle.pop()
        except IndexError:  # the first call, or one while another is running
            names = self._function.__globals__ | _memory(self._places)
            return FunctionType(self._function.__code__, names)

    def give_back(self, run: Callable[..., list[Any]]) -> None:
        """Let others use the memory."""
        if self._keeps_memory:
            self._idle.append(run)


class _KernelWriter(PieceWriter):
    """Writes the code of a kernel, whose global names are its memory, too."""

    def __init__(
        self,
        program: Program,
        limits: Limits | None,
        stored: Sequence[int],
        constants: Sequence[Any],
        *,
        native: bool,
    ) -> None:
        steps: Sequence[Step] = schedule(program, limits) if limits else program.equations
        if native:
            steps = group(program, steps, lambda eq: formula(eq) is not None, is_worth_a_loop)
        ordered = Program(program.inputs, tuple(_flat(steps)), program.outputs)
        super().__init__(ordered)
        self._limits, self._steps, self._native = limits, steps, native
        # of an operand of a region, rows are taken
        regions = [step for step in steps if isinstance(step, Region)]
        for v in (v for region in regions for v in region.operands):
            self._views.pop(v.number, None)
        self._given = {
            atom.number: f"o{k}"
            for k, atom in enumerate(program.outputs[place] for place in stored)
            if isinstance(atom, Var) and atom.number >= len(program.inputs)
        }
        self._stored = len(stored)
        self._operands = program.inputs[: len(program.inputs) - len(constants)]
        held = program.inputs[len(self._operands) :]
        self._names.update(zip(map(self._name, held), constants, strict=True))
        self._slots, self._dying = between_calls(
            ordered, steps, self._is_written_in_place, _has_lasting_operands
        )
        self._variables = {v.number: v for step in steps for v in step.results}

    @property
    def places(self) -> _Places:
        """Where the results are that the kernel has memory for."""
        return {f"v{k}": (slot, self._variables[k]) for k, slot in self._slots.items()}

    def source(self) -> Source:
        program = self._program
        constants = [self._name(v) for v in program.inputs[len(self._operands) :]]
        comments = _comment("constants", constants)
        comments += _comment("memory kept from call to call", self.places)
        lines: list[str] = []
        for step, dying in zip(self._steps, self._dying, strict=True):
            made = self._statements(step)
            gone = (self._variables[k] for k in dying if k not in self._given)
            lines += [*made, *self._deletions(gone)]
        numbers = {eq.results[0] for eq in program.equations if _has_number_result(eq)}
        outputs = [
            f"{self._operand(atom)}{'' if atom.type.shape or atom in numbers else '[()]'}"
            for atom in program.outputs
        ]
        lines.append(f"return [{', '.join(outputs)}]")
        parameters = [*map(self._name, self._operands), *(f"o{k}" for k in range(self._stored))]
        return Source(comments + function("program", parameters, lines), self._names)

    # ---- steps -----------------------------------------------------------------------------

    def _is_written_in_place(self, step: Step) -> bool:
        if not isinstance(step, Equation) or _has_number_result(step) or is_product(step):
            return True
        return step.primitive is concatenate_p or is_padding(step) or _goes_into(step)

    def _statements(self, step: Step) -> list[str]:
        if isinstance(step, Equation):
            return self._equation(step)
        return self._region(step) if isinstance(step, Region) else self._loop(step)

    def _equation(self, eq: Equation) -> list[str]:
        v = eq.results[0]
        if v.number in self._views:
            return [self._view(eq)]
        names = ", ".join(self._own_name(r) for r in eq.results)
        placed = v.number in self._given or v.number in self._slots
        if placed and self._is_written_in_place(eq):
            if is_padding(eq):
                return [f"{self._name(v)}.fill(0)", self._put(eq, self._name(v))]
            return [self._write(eq, self._name(v))]
        if eq.primitive is add_slice_p and not placed:
            begun = self._to_add_to(eq)
            if begun:  # written out, because derivatives of indexing are full of it
                return [f"{names} = {begun}", self._put(eq, names)]
        return [f"{names} = {self._call(eq)}", *self._copies_to_given(eq.results)]

    def _to_add_to(self, eq: Equation) -> str | None:
        """Return an array that may be added to instead of the first operand."""
        x = eq.operands[0]
        if self._choices[eq.results[0].number].in_place:
            return self._operand(x)
        if not isinstance(x, Literal) or any(x.bits):
            return None
        return self._allocation("zeros", x.type)

    def _copies_to_given(self, results: Iterable[Var]) -> list[str]:
        """Return the statements that copy results to the memory that was given for them."""
        return [
            f"{self._name(v)}[...] = {self._own_name(v)}"
            for v in results
            if v.number in self._given
        ]

    def _call(self, eq: Equation) -> str:
        if _is_of_numbers(eq):
            operands = [self._operand(atom) for atom in eq.operands]
            return OPERATORS[eq.operation.function].format(*operands)
        if self._is_written_in_place(eq) and not is_padding(eq):
            return self._write(eq)
        return super()._call(eq)

    def _write(self, eq: Equation, place: str = "") -> str:
        """Return the call that writes the result of an equation to memory, if some is given."""
        if is_ufunc(eq):
            return self._elementwise(eq, place)
        if reduction_ufunc(eq) is not None:
            return self._sum_by_product(eq, place) or self._reduction(eq, place)
        if eq.primitive is concatenate_p:
            return self._concatenation(eq, place)
        if _goes_into(eq):
            return self._into(eq, place) if place else super()._call(eq)
        return self._product(eq, place)

    def _into(self, eq: Equation, place: str) -> str:
        into = eq.primitive.facts.into
        assert into is not None
        function = self._bind_numbered((eq.primitive, eq.params, "into"), "into_", into(eq.params))
        return f"{function}({', '.join([*map(self._operand, eq.operands), place])})"

    def _function(self, eq: Equation) -> str:
        if eq.primitive is scan_p:
            p = eq.params_as(Scan)
            value = of_one(self._scan(p), p.body)
        elif eq.primitive is while_p:
            value = self._while(eq.params_as(While))
        elif (adder := row_adder(eq, self._choices[eq.results[0].number])) is not None:
            return self._bind_numbered(adder, "add_rows_", adder)
        elif (triangular := solver(eq, self._triangles)) is not None:
            return self._bind_numbered(triangular, "triangular_", triangular)
        elif (nested := eq.primitive.facts.nested) is not None:
            value = nested(eq.params, partial(kernel, native=self._native))
        else:
            return super()._function(eq)
        return self._bind_numbered((eq.primitive, eq.params), f"{eq.primitive}_", value)

    def _while(self, p: While) -> Callable[..., Any]:
        def sure() -> Callable[..., Any]:
            nested = while_p.facts.nested
            assert nested is not None
            return nested(p, partial(kernel, native=self._native))

        quick = while_of_numbers(p)
        return sure() if quick is None else Attempt(several(quick), sure)

    def _scan(self, p: Scan) -> Callable[..., Any]:
        def sure() -> Callable[..., Any]:
            stored = writable_outputs(p).in_order
            return scan(p, Kernel(p.body, self._limits, stored, native=self._native))

        quick = loop_of_numbers(p)
        return sure() if quick is None else Attempt(quick, sure)

    def _region(self, region: Region) -> list[str]:
        stored = range(len(region.stored))
        rest = region.length % region.block
        blocks = Blocks(
            region,
            Kernel(region.body(region.block), None, stored, native=self._native),
            Kernel(region.body(rest), None, stored, native=self._native) if rest else None,
            alone=any(eq.primitive is contract_p for eq in region.equations),
        )
        name = self._bind_numbered(("blocks", region.results), "blocks_", blocks)
        lines = self._allocations(region.stored)
        groups = [
            "".join(f"{self._name(v)}, " for v in group)
            for group in (region.blocked, region.whole, region.stored)
        ]
        call = f"{name}(({groups[0]}), ({groups[1]}), ({groups[2]}))"
        combined = "".join(f"{self._own_name(v)}, " for v, _ in region.combined)
        delivered = self._copies_to_given(v for v, _ in region.combined)
        return [*lines, f"{combined}= {call}" if combined else call, *delivered]

    def _loop(self, loop: Loop) -> list[str]:
        made = compile_loop(loop)
        name = self._bind(made, f"loop_{len(self._names)}", made.function)
        self._bind_numbered(("code of", made), "code_", made)  # which has to live as long
        arrays = ", ".join(map(self._name, (*loop.operands, *loop.stored)))
        return [*self._allocations(loop.stored), f"{name}({arrays})"]

    def _allocations(self, stored: Iterable[Var]) -> list[str]:
        """Return the statements that allocate those results for which there is no memory yet."""
        ready = self._slots.keys() | self._given.keys()
        return [
            f"{self._name(v)} = {self._allocation('empty', v.type)}"
            for v in stored
            if v.number not in ready
        ]

    def _allocation(self, function: str, type_: ArrayType) -> str:
        """Return the allocation of an array."""
        return f"{self._numpy(function)}({type_.shape}, {self._dtype(type_.dtype)})"

    def _name(self, v: Var) -> str:
        return self._given.get(v.number) or self._own_name(v)

    def _own_name(self, v: Var) -> str:
        """Return the name of a variable before it is where it belongs."""
        return super()._name(v)


def _comment(what: str, names: Iterable[str]) -> str:
    """Return a comment that lists names, if there are any."""
    lines = wrap(", ".join(names), 98, initial_indent=f"# {what}: ", subsequent_indent="# ")
    return "".join(f"{line}\n" for line in lines)


def _flat(steps: Sequence[Step]) -> Iterator[Equation]:
    for step in steps:
        yield from (step,) if isinstance(step, Equation) else step.equations


def _is_of_numbers(eq: Equation) -> bool:
    """Whether Python's operators compute what the equation's ufunc does."""
    return eq.operation.function in OPERATORS and all(
        not a.type.shape and a.type.dtype.kind == "f" for a in eq.operands
    )


def _goes_into(eq: Equation) -> bool:
    """Whether a result is written to memory that is given, which is quick to come by if small."""
    return eq.primitive.facts.into is not None and eq.results[0].type.size >= _MANY


def _has_number_result(eq: Equation) -> bool:
    """Whether a result without axes is surely a number, and not an array."""
    return is_ufunc(eq) or reduction_ufunc(eq) is not None


def _sizes(places: _Places) -> dict[int, int]:
    """Return how many bytes each slot has."""
    return {slot: v.type.nbytes for slot, v in places.values()}


def _memory(places: _Places) -> dict[str, Any]:
    """Allocate slots, and return the arrays in them."""
    # in numbers of 16 bytes, so that every dtype is aligned
    slots = {k: np.empty(-(-size // 16), np.complex128) for k, size in _sizes(places).items()}
    made: dict[tuple[int, ArrayType], Any] = {}
    for slot, v in places.values():
        # one array for all results of a type: NumPy is quicker if operand and result are the same
        if (slot, v.type) not in made:
            taken = slots[slot].view(np.uint8)[: v.type.nbytes]
            made[slot, v.type] = taken.view(v.type.dtype).reshape(v.type.shape)
    return {name: made[slot, v.type] for name, (slot, v) in places.items()}


def _has_lasting_operands(step: Step) -> bool:
    """Whether a step may hold on to its operands after the call: user's code sees them."""
    return isinstance(step, Equation) and _is_seen_by_user(step)


def _is_seen_by_user(eq: Equation) -> bool:
    """Whether an equation hands arrays to the user's code, which may keep them."""
    return not is_repeatable((eq,))


@memoised
def kernel(program: Program, *, native: bool = False) -> Kernel | Unrolled:
    """Return the kernel of a program, memoised by value."""
    program = prepare(program)
    code = None if native and is_mostly_loops(program) else unroll(program)
    if code is None:
        return Kernel(program, Limits(), native=native)
    return Unrolled(code, lambda: Kernel(program, Limits(), native=native))
