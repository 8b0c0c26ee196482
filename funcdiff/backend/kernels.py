"""Compiles programs to kernels: code with preallocated memory, fused loops and substitution.

A kernel is faster than a compiled program of `backend.code.source` where the last bits are free to
differ, as they are under `jit`: its memory is kept from call to call, numbers are worked on by
Python's operators, and large arrays are worked through block by block (see `blocks.schedule`).
Before, repeated equations are rolled into loops where that is quicker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from textwrap import wrap
from types import FunctionType
from typing import Any, Final, TypeAlias, cast

import numpy as np

from funcdiff.backend.blocks.running import Blocks
from funcdiff.backend.blocks.schedule import Grouped as Step
from funcdiff.backend.blocks.schedule import Limits, Loop, Region, group, schedule
from funcdiff.backend.code.columns import turn
from funcdiff.backend.code.formulas import (
    OPERATORS,
    index,
    is_ufunc,
    reduction_ufunc,
    with_new_axes,
)
from funcdiff.backend.code.lower import hoist_constants, lower
from funcdiff.backend.code.memory import between_calls
from funcdiff.backend.code.scipy_routines import row_adder, solver, triangles
from funcdiff.backend.code.source import (
    LONGEST,
    Calls,
    Quick,
    Source,
    function,
    is_product,
    sum_by_product,
    write_masked_product,
    write_product,
)
from funcdiff.backend.native.flow import is_step
from funcdiff.backend.native.formulas import is_function
from funcdiff.backend.native.machine import WEIGHT, is_started, may_be_chosen
from funcdiff.backend.native.routine import Routine, routine
from funcdiff.backend.native.ufunc_loops import (
    compile_loop,
    formula,
    is_mostly_loops,
    is_worth_a_loop,
)
from funcdiff.backend.numbers.estimates import Machine, estimate_time, is_worth_unrolling, pays
from funcdiff.backend.numbers.scalars import Attempt
from funcdiff.backend.numbers.unrolling import Unrolled, loop_of_numbers, unroll, while_of_numbers
from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.primitive import Params
from funcdiff.core.program import Equation, Program, program_of_operation
from funcdiff.core.running.dataflow import is_fresh
from funcdiff.core.running.evaluate import as_run, executable, is_repeatable
from funcdiff.core.running.memo import memoised
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.ops.families import several
from funcdiff.ops.products.masked import masked_contract_p
from funcdiff.ops.structure.slicing import Slice, add_slice_p
from funcdiff.ops.structure.structural import Axis, concatenate_p
from funcdiff.passes.loops.distribution import distribute
from funcdiff.passes.loops.rerolling import roll
from funcdiff.space import broadcast_p

# ---- scans, whose iterations a kernel runs -------------------------------------------------------


def writable_rows(p: Scan) -> list[int]:
    """Return which stacked outputs a kernel writes row by row: arrays that the body computes."""
    outputs = p.body.outputs
    seen = {*p.body.inputs, *(atom for atom in outputs if isinstance(atom, Literal))}
    found = []
    for k in range(p.carries, len(outputs)):
        if outputs[k].type.shape and outputs[k] not in seen:
            found.append(k)
            seen.add(outputs[k])
    return found


def scan(p: Scan, body: Kernel) -> Callable[..., Any]:
    """Return the implementation of a scan.

    Parameters
    ----------
    p
        Its parameters.
    body
        Its kernel, which takes memory for the `writable_rows`, behind the operands.
    """
    order = range(p.length - 1, -1, -1) if p.reverse else range(p.length)
    types, written = p.body.output_types, writable_rows(p)
    others = [k for k in range(p.carries, len(types)) if k not in written]

    def function(*operands: Any) -> Any:
        constants, carry, xs = p.split(operands)
        ys = {
            k: np.empty((p.length, *types[k].shape), types[k].dtype)
            for k in range(p.carries, len(types))
        }
        walked = [*xs, *(ys[k] for k in written)]
        rows = zip(*[x[::-1] if p.reverse else x for x in walked], strict=True)
        run = body.take()
        for k, row in zip(order, rows if walked else repeat(()), strict=False):
            results = run(*constants, *carry, *row)
            carry = results[: p.carries]
            for place in others:
                ys[place][k] = results[place]
        body.give_back(run)
        return (*carry, *ys.values())

    return function


# ---- kernels -------------------------------------------------------------------------------------

KEPT: Final = 1 << 28
"""Bytes of memory up to which a kernel keeps it from call to call."""

_MANY: Final = 2000
"""Elements from which on memory that is kept is quicker than memory that is new."""

_WRITTEN_OUT: Final = 4096
"""Elements of a broadcast up to which it is written out, sooner than NumPy makes a view."""

_MOST_LOOPS: Final = 64
"""Loops of machine code in a program, each of which takes 10 ms to compile and 1 MB of memory."""

_BOXES: Final = 16
"""Boxes of an array up to which it is looked which are still empty."""

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
        program = lower(as_run(program))
        if limits is None or not any(isinstance(s, Region) for s in schedule(program, limits)):
            program = turn(program)
        program, constants = hoist_constants(program)
        writer = _Writer(program, limits, stored, constants, native=native)
        self.source = writer.source()
        self._places = writer.places
        self.kept_weight = WEIGHT * writer.native_loops
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


class _Writer:
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
            looped = group(program, steps, lambda eq: formula(eq) is not None, is_worth_a_loop)
            steps = looped if sum(isinstance(s, Loop) for s in looped) <= _MOST_LOOPS else steps
        members = [(s,) if isinstance(s, Equation) else s.equations for s in steps]
        ordered = Program(program.inputs, tuple(chain(*members)), program.outputs)
        self._program, self._limits, self._steps, self._native = ordered, limits, steps, native
        self._calls = calls = Calls(ordered, self._quicker)
        self._triangles = triangles(ordered)
        self._boxes: dict[int, tuple[Slice, ...]] = {}  # by variable: what was added to zeros
        # of an operand of a region, rows are taken
        regions = [step for step in steps if isinstance(step, Region)]
        for v in (v for region in regions for v in region.operands):
            calls.views.pop(v.number, None)
        self._given, self._copies = calls.renamed, list[str]()
        for k, atom in enumerate(program.outputs[place] for place in stored):
            if isinstance(atom, Var) and atom.number >= len(program.inputs):
                first = self._given.setdefault(atom.number, f"o{k}")
                if first != f"o{k}":  # two results have become one
                    self._copies.append(f"o{k}[...] = {first}")
        inputs = [calls.name(v) for v in program.inputs]
        count = len(inputs) - len(constants)
        self._parameters = [*inputs[:count], *(f"o{k}" for k in range(len(stored)))]
        self._constants = inputs[count:]
        calls.names.update(zip(self._constants, constants, strict=True))
        self._slots, self._dying = between_calls(
            ordered,
            steps,
            self._takes_memory,
            # what hands arrays to the user's code, which may keep them
            lambda step: isinstance(step, Equation) and not is_repeatable((step,)),
        )
        self._variables = {v.number: v for step in steps for v in step.results}

    @property
    def places(self) -> _Places:
        """Where the results are that the kernel has memory for."""
        return {f"v{k}": (slot, self._variables[k]) for k, slot in self._slots.items()}

    @property
    def native_loops(self) -> int:
        """How many steps are machine code."""
        return sum(isinstance(step, Loop) for step in self._steps)

    def source(self) -> Source:
        program, calls = self._program, self._calls
        comments = _comment("constants", self._constants)
        comments += _comment("memory kept from call to call", self.places)
        lines: list[str] = []
        for step, dying in zip(self._steps, self._dying, strict=True):
            made = self._statements(step)
            gone = (self._variables[k] for k in dying if k not in self._given)
            lines += [*made, *calls.deletions(gone)]
        numbers = {eq.results[0] for eq in program.equations if _has_number_result(eq)}
        outputs = [
            f"{calls.operand(atom)}{'' if atom.type.shape or atom in numbers else '[()]'}"
            for atom in program.outputs
        ]
        lines += [*self._copies, f"return [{', '.join(outputs)}]"]
        return Source(comments + function("program", self._parameters, lines), calls.names)

    # ---- steps -----------------------------------------------------------------------------

    def _statements(self, step: Step) -> list[str]:
        if isinstance(step, Equation):
            return self._equation(step)
        return self._region(step) if isinstance(step, Region) else self._loop(step)

    def _equation(self, eq: Equation) -> list[str]:
        calls, v = self._calls, eq.results[0]
        if v.number in calls.views:
            return [calls.view(eq)]
        names = ", ".join(map(calls.own_name, eq.results))
        placed = v.number in self._given or v.number in self._slots
        if self._is_written_out(eq):
            made = [] if placed else [f"{calls.name(v)} = {self._allocation('empty', v.type)}"]
            x = calls.operand(eq.operands[0])
            spread = with_new_axes(eq, x, v.type.ndim) if eq.operands[0].type.shape else x
            return [*made, f"{calls.name(v)}[...] = {spread}"]
        if placed and self._takes_memory(eq):
            return [self._write(eq, calls.name(v))]
        if eq.primitive is add_slice_p and not placed:
            begun = self._to_add_to(eq)
            if begun:  # written out, because derivatives of indexing are full of it
                return [f"{names} = {begun}", self._put(eq, names)]
        return [f"{names} = {self._call(eq)}", *self._copies_to_given(eq.results)]

    def _takes_memory(self, step: Step) -> bool:
        """Whether a step writes to memory that is given."""
        if not isinstance(step, Equation) or _is_written(step) or _goes_into(step):
            return True
        return step.primitive is concatenate_p or self._is_written_out(step)

    def _is_written_out(self, eq: Equation) -> bool:
        """Whether a broadcast is no view, of which `np.broadcast_to` takes ten times as long."""
        v = eq.results[0]
        few = eq.primitive.implementation.of_few
        is_small = few is not None and v.type.size <= _WRITTEN_OUT
        return is_small and v.number not in self._calls.views

    def _to_add_to(self, eq: Equation) -> str | None:
        """Return an array that may be added to instead of the first operand."""
        x = eq.operands[0]
        if self._calls.choices[eq.results[0].number].in_place:
            return self._calls.operand(x)
        if not isinstance(x, Literal) or any(x.bits):
            return None
        return self._allocation("zeros", x.type)

    def _put(self, eq: Equation, name: str) -> str:
        """Return the statement that adds something to a box, or puts it where nothing is."""
        (x, u), box = eq.operands, eq.params_as(Slice)
        boxes = () if isinstance(x, Literal) else self._boxes.get(x.number)
        is_empty = False
        if boxes is not None and len(boxes) < _BOXES:
            self._boxes[eq.results[0].number] = (*boxes, box)
            is_empty = all(map(box.is_apart_from, boxes))
        place = index(x.type.shape, box.index)
        return f"{name}[{place}] {'=' if is_empty else '+='} {self._calls.operand(u)}"

    def _copies_to_given(self, results: Iterable[Var]) -> list[str]:
        """Return the statements that copy results to the memory that was given for them."""
        return [
            f"{self._calls.name(v)}[...] = {self._calls.own_name(v)}"
            for v in results
            if v.number in self._given
        ]

    def _call(self, eq: Equation) -> str:
        """Return the call that computes the results of an equation in new memory."""
        if eq.primitive is masked_contract_p:
            return write_masked_product(self._calls, eq)
        if _is_of_numbers(eq):
            return OPERATORS[eq.operation.function].format(*map(self._calls.operand, eq.operands))
        return self._write(eq) if _is_written(eq) else self._calls.call(eq)

    def _write(self, eq: Equation, place: str = "") -> str:
        """Return the call that writes the result of an equation to memory, if some is given."""
        calls = self._calls
        if is_ufunc(eq):
            return calls.elementwise(eq, place)
        if reduction_ufunc(eq) is not None:
            return sum_by_product(calls, eq, place) or calls.reduction(eq, place)
        xs = [calls.operand(atom) for atom in eq.operands]
        if eq.primitive is concatenate_p:
            joined = "".join(f"{x}, " for x in xs)
            return f"{calls.numpy('concatenate')}(({joined}), {eq.params_as(Axis).axis}, {place})"
        if not _goes_into(eq):
            return write_product(calls, eq, place)
        into = eq.primitive.implementation.into
        assert into is not None
        function = calls.bind_numbered((eq.primitive, eq.params, "into"), "into_", into(eq.params))
        return f"{function}({', '.join([*xs, place])})"

    def _quicker(self, eq: Equation) -> Quick | None:
        """Return what is quicker than the interpreter's function of an equation, if anything is."""
        if (nested := eq.primitive.implementation.nested) is not None:
            key = eq.primitive, eq.params
            made = self._routine(eq) or self._with_kernels(eq.params, nested)
            return Quick(key, f"{eq.primitive}_", made)
        if (adder := row_adder(eq, self._calls.choices[eq.results[0].number])) is not None:
            return Quick(adder, "add_rows_", adder)
        triangular = solver(eq, self._triangles)
        return None if triangular is None else Quick(triangular, "triangular_", triangular)

    def _routine(self, eq: Equation) -> Callable[..., Any] | None:
        """Return the machine code of an equation that holds programs, if it has some."""
        if not self._native:
            return None
        alone = program_of_operation(eq.operation)
        made = routine(alone, lambda: Kernel(alone, Limits()))
        return None if made is None else several(made)

    def _with_kernels(self, p: Params, nested: Callable[..., Any]) -> Callable[..., Any]:
        """Return what runs the programs that parameters hold: by kernels, or loops as floats."""

        def sure() -> Callable[..., Any]:
            if not isinstance(p, Scan):
                calls = np.inf if self._native else 0
                return cast("Callable[..., Any]", nested(p, partial(kernel, calls=calls)))
            stored = writable_rows(p)
            return several(scan(p, Kernel(p.body, self._limits, stored, native=self._native)))

        quick = while_of_numbers(p) if isinstance(p, While) else None
        if isinstance(p, Scan):
            quick = loop_of_numbers(p)
        return sure() if quick is None else Attempt(several(quick), sure)

    def _region(self, region: Region) -> list[str]:
        stored = range(len(region.stored))
        rest = region.length % region.block
        blocks = Blocks(
            region,
            Kernel(region.body(region.block), None, stored, native=self._native),
            Kernel(region.body(rest), None, stored, native=self._native) if rest else None,
            alone=any(eq.operation.contracts for eq in region.equations),
        )
        name = self._calls.bind_numbered(("blocks", region.results), "blocks_", blocks)
        lines = self._allocations(region.stored)
        groups = [
            "".join(f"{self._calls.name(v)}, " for v in group)
            for group in (region.blocked, region.whole, region.stored)
        ]
        call = f"{name}(({groups[0]}), ({groups[1]}), ({groups[2]}))"
        combined = "".join(f"{self._calls.own_name(v)}, " for v, _ in region.combined)
        delivered = self._copies_to_given(v for v, _ in region.combined)
        return [*lines, f"{combined}= {call}" if combined else call, *delivered]

    def _loop(self, loop: Loop) -> list[str]:
        made, calls = compile_loop(loop), self._calls
        name = calls.bind(made, f"loop_{len(calls.names)}", made.function)
        calls.bind_numbered(("code of", made), "code_", made)  # which has to live as long
        arrays = ", ".join(map(calls.name, (*loop.operands, *loop.stored)))
        return [*self._allocations(loop.stored), f"{name}({arrays})"]

    def _allocations(self, stored: Iterable[Var]) -> list[str]:
        """Return the statements that allocate those results for which there is no memory yet."""
        new = [v for v in stored if v.number not in self._slots.keys() | self._given.keys()]
        return [f"{self._calls.name(v)} = {self._allocation('empty', v.type)}" for v in new]

    def _allocation(self, function: str, type_: ArrayType) -> str:
        """Return the allocation of an array."""
        calls = self._calls
        return f"{calls.numpy(function)}({type_.shape}, {calls.dtype(type_.dtype)})"


def _comment(what: str, names: Iterable[str]) -> str:
    """Return a comment that lists names, if there are any."""
    lines = wrap(", ".join(names), 98, initial_indent=f"# {what}: ", subsequent_indent="# ")
    return "".join(f"{line}\n" for line in lines)


def _is_of_numbers(eq: Equation) -> bool:
    """Whether Python's operators compute what the equation's ufunc does."""
    return eq.operation.function in OPERATORS and all(
        not a.type.shape and a.type.dtype.kind == "f" for a in eq.operands
    )


def _is_written(eq: Equation) -> bool:
    """Whether there is a call that is written to memory, or else makes some."""
    return _has_number_result(eq) or is_product(eq)


def _goes_into(eq: Equation) -> bool:
    """Whether a result is written to memory that is given, which is quick to come by if small."""
    return eq.primitive.implementation.into is not None and eq.results[0].type.size >= _MANY


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


def kernel(program: Program, *, calls: float = 0) -> Kernel | Unrolled | Routine:
    """Return the kernel of a program, memoised by value.

    It is machine code if that pays for so many calls, as it is taken to do for infinitely many.
    """
    if 0 < calls < np.inf:
        machine = Machine(is_step, is_function, is_started())
        calls = pays(prepare(program), calls, machine) and may_be_chosen()
    return _kernel(program, native=calls > 0)


@memoised
def _kernel(program: Program, *, native: bool) -> Kernel | Unrolled | Routine:
    """Return the kernel, `native` as machine code."""
    program = prepare(program)
    if native:
        made = routine(lower(program), lambda: Kernel(program, Limits(), native=native))
        if made is not None:
            return made
    code = None if native and is_mostly_loops(program) else unroll(program)
    if code is None:
        return Kernel(program, Limits(), native=native)
    return Unrolled(code, lambda: Kernel(program, Limits(), native=native))


def fastest(program: Program, *, calls: float = 0) -> Callable[..., list[Any]]:
    """Return the kernel of a program for so many `calls`, or the interpreter if it is worth none.

    ``FUNCDIFF_INTERPRET=1`` in the environment keeps everything in the interpreter.
    """
    if os.environ.get("FUNCDIFF_INTERPRET") == "1":
        return executable(program)
    ready = prepare(program)
    if len(ready.equations) > LONGEST and not is_worth_unrolling(ready):
        return executable(program)
    return kernel(program, calls=calls)


# ---- what is compiled ----------------------------------------------------------------------------


@memoised
def prepare(program: Program) -> Program:
    """Return the program that is compiled: with loops where that is quicker."""
    program = as_run(program)
    looped = distribute(roll(program))
    many = len(program.equations) > LONGEST
    if not many and estimate_time(looped) > estimate_time(program):
        return distribute(program)
    return looped


def owns_results(program: Program) -> bool:
    """Whether every result of the kernel is a number, or an array in nobody else's memory.

    So it is if the program is interpreted, too.
    """
    ready = prepare(program)
    return all(_owns_results(p) for p in {program, ready, lower(ready)})


def _owns_results(program: Program) -> bool:
    owners: dict[Atom, Var] = {}
    for eq in program.equations:
        if is_fresh(eq):
            owners.update((v, v) for v in eq.results)
        elif (
            eq.primitive.implementation.view
            and eq.primitive.facts.elements == "moved"
            and eq.primitive is not broadcast_p
        ):
            owner = owners.get(eq.operands[0])
            most = 2 * eq.results[0].type.size > eq.operands[0].type.size  # of them, each once
            if owner is not None and most:
                owners[eq.results[0]] = owner
    found = [owners.get(atom) for atom in program.outputs]
    return None not in found and len(set(found)) == len(found)
