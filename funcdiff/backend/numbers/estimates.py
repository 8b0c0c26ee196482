"""Estimates how long programs run on arrays, unrolled to Python floats, and as machine code.

The figures are times in nanoseconds that were measured with NumPy 2 on one machine.  They need not
be right but in their proportions: what a NumPy call costs, and what Python's arithmetic does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, NamedTuple

from funcdiff.backend.code.formulas import reduction_ufunc
from funcdiff.backend.numbers.scalars import expression, is_number, makes_index
from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.walk import nested
from funcdiff.core.types import INT, ArrayType
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.guard import Guard
from funcdiff.ops.control.sweeps import Scan, While
from funcdiff.ops.products.contract import Contraction
from funcdiff.ops.structure.slicing import Slice
from funcdiff.ops.structure.structural import concatenate_p

_CALL: Final = 450.0
"""A NumPy function, called with small arrays."""
_VIEW: Final = 150.0
"""An index, a transpose, another shape."""
_NUMBER: Final = 90.0
"""An operator of Python, of NumPy's numbers."""
_OPERATOR: Final = 25.0
"""An operator of Python, of floats."""
_FUNCTION: Final = 55.0
"""A function of `math`."""
_UFUNC: Final = 700.0
"""A NumPy function of a float, made a float again."""
_WRITTEN: Final = 7.0
"""A statement of floats, which takes 7 µs to write and compile, if a thousand calls make up for it.
"""
_TAKEN: Final = 150.0
"""The statement that takes a list of elements apart."""
_MADE: Final = 300.0
"""The call that makes an array of elements."""
_LOOP: Final = 5000.0
"""A loop, without its iterations."""
_MOVED: Final = 25.0
"""A float of an array that a loop reads or writes."""
_MOST: Final = 256
"""Terms up to which a sum is written out."""


def is_rearranging(eq: Equation) -> bool:
    """Whether an equation is nothing but names if arrays are taken apart."""
    moves = eq.primitive.facts.elements == "moved" or eq.primitive is concatenate_p
    return moves or isinstance(eq.params, Slice)


def is_worth_unrolling(program: Program, *, flat: bool = False) -> bool:
    """Whether a program is quicker as one of floats; `flat`: if it takes and returns them so."""
    accepted = is_handed_on if flat else _is_number
    if not all(map(accepted, (*program.inputs, *program.outputs))):
        return False
    if not flat and any(isinstance(eq.params, Cond) for eq in program.equations):
        return False
    unrolled, called = 0.0, 0.0
    for eq in program.equations:
        times = _times(eq)
        if times is None:
            return False
        unrolled, called = unrolled + times[0], called + times[1]
    if not any(v.type.shape for eq in program.equations for v in eq.results):
        return not any(v.type.shape for v in program.inputs) or unrolled < called
    moved = _OPERATOR * sum(a.type.size for a in (*program.inputs, *program.outputs))
    if not flat:
        moved += _TAKEN * sum(bool(v.type.shape) for v in program.inputs)
        moved += _MADE * sum(bool(atom.type.shape) for atom in program.outputs)
    statements = (
        0
        if flat
        else sum(
            eq.operands[1].type.size
            if eq.primitive.facts.elements == "added"
            else 0
            if is_rearranging(eq)
            else eq.results[0].type.size
            for eq in program.equations
        )
    )
    return 1.25 * (unrolled + moved) + _WRITTEN * statements < called


def _is_number(atom: Atom) -> bool:
    return is_number(atom.type.dtype)


def is_handed_on(atom: Atom) -> bool:
    """Whether Python code may take a value, and return it: an integer chooses a branch."""
    return _is_number(atom) or atom.type == ArrayType((), INT)


UNKNOWN: Final = 30
"""Iterations that a loop of unknown length is taken to have."""


def estimate_time(program: Program) -> float:
    """Return the time of a program that is compiled, its loops included."""
    loops = sum(
        _time_of_while(eq.params) for eq in program.equations if isinstance(eq.params, While)
    )
    if is_worth_unrolling(program):
        return loops + sum(times[0] for eq in program.equations if (times := _times(eq)))
    return loops + sum(map(_time_of_call, program.equations))


def _time_of_while(p: While) -> float:
    return _LOOP + UNKNOWN * sum(map(estimate_time, (p.test, *p.sweeps)))


def _time_of_call(eq: Equation) -> float:
    if not isinstance(eq.params, Scan):
        times = _times(eq)
        size = max((v.type.size for v in eq.results), default=0)
        joined = _VIEW / 2 * len(eq.operands) if eq.primitive is concatenate_p else 0
        return joined + (times[1] if times else _CALL + size)
    p, body = eq.params, eq.params.body
    if is_worth_unrolling(body, flat=True):
        moved = (*body.inputs[p.constants + p.carries :], *body.outputs[p.carries :])
        numbers = sum(atom.type.size for atom in moved)
        inner = sum(times[0] for eq in body.equations if (times := _times(eq)))
        return _LOOP + p.length * (inner + _MOVED * numbers + _OPERATOR)
    moved_rows = len(body.inputs) + len(body.outputs) - p.constants - p.carries
    return _LOOP + p.length * (_CALL + _VIEW * moved_rows + estimate_time(body))


def _times(eq: Equation) -> tuple[float, float] | None:
    """Return the times of an equation of floats and of NumPy's arrays; None if there are none."""
    type_ = eq.results[0].type
    if makes_index(eq):
        return 0.0, _NUMBER
    if isinstance(eq.params, Cond):
        return _times_of_choice(eq, eq.params.branches)
    if not all(map(_is_number, (*eq.operands, *eq.results))):
        return None
    if isinstance(eq.params, Guard):
        return _OPERATOR, _NUMBER
    if is_rearranging(eq):
        adds = eq.primitive.facts.elements == "added"
        called = _VIEW if eq.primitive.implementation.view else 1.5 * _CALL
        if adds and isinstance(eq.operands[0], Literal):
            called = 2 * _CALL  # an array of zeros is made, and written to
        return _OPERATOR if adds else 0.0, called
    if reduction_ufunc(eq) is not None or eq.operation.contracts:
        op, factors = eq.operation, len(eq.operands)
        terms = prod(op.access.lengths(op.operands, op.results).values())
        few = terms <= _MOST * max(type_.size, 1)
        return (factors * _OPERATOR * terms, (4 - factors) * _CALL + terms) if few else None
    found = expression(eq)
    if found is None:
        return None
    python = _FUNCTION if "math." in found.template else _OPERATOR
    each = python if found.called is None else _UFUNC
    of_numbers = not type_.shape and each == _OPERATOR
    return each * type_.size, _NUMBER if of_numbers else _CALL + type_.size


def _times_of_choice(eq: Equation, branches: Sequence[Program]) -> tuple[float, float] | None:
    """Return the times of the longer of two branches, if both are of numbers."""
    if len(branches) != 2 or not all(map(is_handed_on, (*eq.operands, *eq.results))):
        return None
    times = [[_times(inner) for inner in branch.equations] for branch in branches]
    known = [[pair for pair in pairs if pair is not None] for pairs in times]
    if known != times:
        return None
    python, called = (max(sum(pair[k] for pair in pairs) for pairs in known) for k in (0, 1))
    return python + _OPERATOR, called + _CALL


# ---- machine code --------------------------------------------------------------------------------

_MASKED: Final = 20
"""How much longer a product takes that a mask takes part in."""


class Machine(NamedTuple):
    """What the time of a program depends on, beside what it does."""

    is_step: Callable[[Equation], bool]  # whether NumPy computes an equation among machine code
    is_function: Callable[[Equation], bool]  # whether it is a chain of instructions there
    is_started: bool  # whether LLVM is


class Cost(NamedTuple):
    """What a program does, by kinds of work that take different time in different hands."""

    calls: float = 0.0  # that NumPy's functions would be, of what is machine code
    steps: float = 0.0  # that stay calls of NumPy's functions
    elements: float = 0.0  # of results
    products: float = 0.0  # of two elements each, in sums
    functions: float = 0.0  # of doubles: results such as exponentials

    @property
    def saving(self) -> float:
        """Nanoseconds by which one function of machine code is expected to be quicker than NumPy.

        A call of NumPy takes 500 whatever it does.  Loops of NumPy's and those of `loops` take
        0.1 less for an element of large arrays, as they go through these in blocks and threads;
        the libraries behind it take 0.05 less for a product.  A step copies its operands.
        """
        gained = 500 * self.calls - 300 * self.steps
        return gained - 0.1 * self.elements - 0.05 * self.products

    @property
    def time(self) -> float:
        """Nanoseconds that machine code is expected to take."""
        called = 5 * self.calls + 3000 * self.steps
        return called + 0.5 * self.elements + 0.15 * self.products


def cost(
    program: Program,
    is_step: Callable[[Equation], bool],
    is_function: Callable[[Equation], bool] = lambda _eq: False,
) -> Cost:
    """Return what a program does, iterations of loops counted as often as they run.

    `is_step` says which equations NumPy computes, and `is_function` which are functions.
    """
    total = Cost()
    for eq in program.equations:
        p, elements = eq.params, float(sum(v.type.size for v in eq.results))
        if inner := [cost(body, is_step, is_function) for body in nested(p)]:
            times = p.length if isinstance(p, Scan) else UNKNOWN if isinstance(p, While) else 1
            parts = [*(Cost(*[times * n for n in part]) for part in inner), Cost(calls=1)]
        elif is_step(eq):
            parts = [Cost(steps=1, elements=2 * elements)]
        else:
            counts = is_function(eq) and eq.results[0].type.dtype.itemsize == 8
            functions = elements if counts else 0.0
            parts = [Cost(1, 0, elements, _products(eq), functions)]
        total = Cost(*map(sum, zip(total, *parts, strict=True)))
    return total


CALLS: Final = 300
"""How often a function is taken to be called that nobody said more of."""

_FUNCTION_OF_DOUBLE: Final = 3
"""Nanoseconds more that NumPy takes with vectors of 256 bits: 1 for a logarithm to 8 for a power.
"""

_IN_LOOPS: Final = 0.1
"""Nanoseconds that loops of machine code save for an element: of 200,000 to 20,000,000 elements it
was -0.2 to 0.8, a quarter less than 0.05, and the median 0.2."""

_STARTED, _COMPILED = 6e7, 2.5e5
"""Nanoseconds that LLVM takes to start, and for each equation."""


def pays(program: Program, calls: float, machine: Machine) -> bool:
    """Whether so many calls as machine code make up for its compilation."""
    work = cost(program, machine.is_step, machine.is_function)
    whole = min(work.saving, estimate_time(program) - work.time)
    # one function, or else loops of machine code alone
    saved = max(whole, _IN_LOOPS * work.elements) + _FUNCTION_OF_DOUBLE * work.functions
    start = 0 if machine.is_started else _STARTED
    return saved * calls > start + _COMPILED * program.equation_count


def _products(eq: Equation) -> float:
    p = eq.params
    if not isinstance(p, Contraction):
        return 0.0
    x, y, *masks = eq.operands
    lengths = dict(zip(p.left + p.right, x.type.shape + y.type.shape, strict=False))
    return prod(lengths.values()) * (_MASKED if masks else 1)
