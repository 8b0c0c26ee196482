"""Traces computations of a block to programs, which workers run without the original code."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.inputs import Operands, operand, type_of
from funcdiff.api.calls.tracing import Trace, copy_arrays
from funcdiff.api.jit import jit
from funcdiff.backend.checking import with_check
from funcdiff.backend.kernels import fastest
from funcdiff.core.late import computed
from funcdiff.core.origins import Origins, Place, Reader, reader
from funcdiff.core.policy import Policy
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.evaluate import copy_aliased, is_repeatable
from funcdiff.core.running.walk import inline
from funcdiff.core.types import ArrayType
from funcdiff.dask.data import Data, da
from funcdiff.errors import ConcreteValueError, InputError, InternalError, user_location

Types: TypeAlias = tuple[ArrayType, ...]
"""Of a block's arrays."""


@dataclass(frozen=True, eq=False)
class BlockProgram:
    """A program of the parameters, of a block and of what the user's function closes over."""

    program: Program  # without origins
    origins: Origins | None  # of the variables, for errors

    @computed
    def _execute(self) -> Callable[..., list[Any]]:
        # compiled at once: the last bits do not depend on how often it has run
        return with_check(self.program, fastest(self.program), exact=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockProgram, (self.program, self.origins)  # it is compiled there

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Return results that share no memory with anything.

        An error of NumPy's is noted to come from the user's line, wherever that is.
        """
        try:
            results = quiet(self._execute, *values)
        except InternalError:
            raise
        except Exception as error:
            place = copy_context().run(self._place_of_failure, values)
            if place is not None:
                error.add_note(f"funcdiff: which was recorded at {place}")
            raise
        return copy_aliased(results, values)

    def _place_of_failure(self, values: Sequence[Any]) -> Place | None:
        reader.set(Reader())
        located = replace(self.program, origins=self.origins)
        with Builder("a block", Policy(eager=True)) as again:
            pairs = zip(located.input_types, values, strict=True)
            inline(located, [again.input(t, x) for t, x in pairs])
            return again.values.first_failure(again)


@dataclass(frozen=True, eq=False)
class Given:
    """Arrays that a call is given, other than the data."""

    operands: list[Any]  # the parameters, leaf by leaf
    captures: dict[Types, list[Any]]  # of the user's function, by the types of a block's arrays

    @computed
    def _operands(self) -> list[Any]:
        return list(map(_align, self.operands))

    @computed
    def _captures(self) -> dict[Types, list[Any]]:
        return {types: list(map(_align, xs)) for types, xs in self.captures.items()}

    def beside(self, block: Sequence[Any], types: Types) -> list[Any]:
        """Return the inputs of a block's program: parameters, the block, what is closed over."""
        return [*self._operands, *block, *self._captures[types]]

    def __reduce__(self) -> tuple[Any, ...]:
        return Given, (self.operands, self.captures)

    @property
    def nbytes(self) -> int:
        """How large the arrays are."""
        return sum(x.nbytes for xs in (self.operands, *self.captures.values()) for x in xs)


@dataclass(frozen=True, eq=False)
class Code:
    """What is computed of every block: programs, which are the same in calls of one kind."""

    name: str  # of the computation, and the line of the call
    programs: dict[Types, BlockProgram]  # by the types of a block's arrays
    described: str  # the data, as Dask describes them

    def __call__(self, given: Given, block: Sequence[Any]) -> list[Any]:
        """Return the results of a block; raise `InputError` if it is not what Dask says."""
        xs = [_align(operand(x)) for x in block]
        types = tuple(map(type_of, xs))
        program = self.programs.get(types)
        if program is None:
            raise InputError(
                f"{self.name}: a block is {', '.join(map(str, types))}, but the data are said to "
                f"be {self.described}. Give the functions that load them the shapes and dtypes "
                "that they have: da.from_delayed(..., shape=, dtype=), x.map_blocks(..., dtype=)."
            )
        return program(given.beside(xs, types))


@dataclass(frozen=True, eq=False)
class Step:
    """What is computed, and of what: all that travels."""

    code: Code
    given: Given

    def __call__(self, block: Sequence[Any]) -> list[Any]:
        """Return the results of a block."""
        return self.code(self.given, block)


def _align(x: Any) -> Any:
    """Return an array in C order at an address that fits its dtype.

    What arrives by a network often is not, and NumPy then adds in another order.
    """
    return np.require(x, requirements=["C", "A"]) if isinstance(x, np.ndarray) else x


def step_of(
    name: str, f: Callable[..., Any], given: Sequence[Any], data: Data, counts: set[int]
) -> tuple[Step, Trace]:
    """Trace ``f(*given, *block)`` for each number of examples in `counts`.

    Return what is shipped, and the trace of the largest block, which says what the results are.
    Raises `InputError` if something is being traced, parameters are Dask arrays, or the function
    calls code that is not part of a program.
    """
    _check_parameters(name, given)
    blocks = {count: data.block(count) for count in sorted(counts)}
    programs: dict[Types, BlockProgram] = {}
    captures: dict[Types, list[Any]] = {}
    for block in blocks.values():
        program, trace = copy_context().run(_trace, name, f, (*given, *block))
        types = tuple(map(type_of, block))
        programs[types] = BlockProgram(replace(program, origins=None), program.origins)
        captures[types] = copy_arrays(trace.captures)
    code = Code(f"{name}, called at {user_location()}", programs, data.description())
    return Step(code, Given(copy_arrays(Operands(tuple(given)).xs), captures)), trace


def _trace(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Program, Trace]:
    """Trace a call without values, noting lines: what Python decides holds for every block."""
    reader.set(Reader())
    try:
        program, trace = jit(f, guards=False).trace_call(*args)
    except ConcreteValueError as error:
        error.add_note(
            f"funcdiff: {name} traces one program for all blocks, so nothing may be decided by the "
            "values of one"
        )
        raise
    if not is_repeatable(program.equations):
        raise InputError(
            f"{name} calls Python code that is not traced (fd.primitive, a solver), which does not "
            f"travel to workers, at {user_location()}. Write it with NumPy's functions."
        )
    return program, trace


def _check_parameters(name: str, given: Sequence[Any]) -> None:
    if current_builder() is not None:
        raise InputError(
            f"{name} was called while something is traced, at {user_location()}. Its result comes "
            "from other processes and cannot be differentiated again: fd.dask.hvp is the "
            "derivative of fd.dask.grad, and fd.dask.vmap takes what transforms return."
        )
    for leaf in pytree.flatten(tuple(given))[0]:
        if isinstance(leaf, da.Array):
            raise InputError(
                f"{name}: the parameters have a Dask array, at {user_location()}. They are NumPy's "
                "and go to every worker: write x.compute(), or give it with the data."
            )


def unique_name(what: str) -> str:
    """Return a name of tasks that no other ones have, by which dashboards show them."""
    return f"funcdiff-{what}-{uuid.uuid4().hex}"
