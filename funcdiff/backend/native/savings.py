"""Estimates of what machine code for a program saves, and of how long it runs."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Final, NamedTuple

from funcdiff.backend.numbers.estimates import UNKNOWN, estimate_time
from funcdiff.core.program import Equation, Program
from funcdiff.core.running.walk import nested
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While
from funcdiff.ops.products.contract import Contraction

_MASKED: Final = 20
"""How much longer a product takes that a mask takes part in."""


class Cost(NamedTuple):
    """What a program does, by kinds of work that take different time in different hands."""

    calls: float = 0.0  # that NumPy's functions would be, of what is machine code
    steps: float = 0.0  # that stay calls of NumPy's functions
    elements: float = 0.0  # of results
    products: float = 0.0  # of two elements each, in sums

    @property
    def saving(self) -> float:
        """Nanoseconds by which machine code is expected to be quicker than NumPy.

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


def cost(program: Program, is_step: Callable[[Equation], bool]) -> Cost:
    """Return what a program does, iterations of loops counted as often as they run.

    `is_step` says which equations NumPy computes.
    """
    total = Cost()
    for eq in program.equations:
        p, elements = eq.params, float(sum(v.type.size for v in eq.results))
        if inner := [cost(body, is_step) for body in nested(p)]:
            times = p.length if isinstance(p, Scan) else UNKNOWN if isinstance(p, While) else 1
            parts = [*(Cost(*[times * n for n in part]) for part in inner), Cost(calls=1)]
        elif is_step(eq):
            parts = [Cost(steps=1, elements=2 * elements)]
        else:
            parts = [Cost(calls=1, elements=elements, products=_products(eq))]
        total = Cost(*map(sum, zip(total, *parts, strict=True)))
    return total


CALLS: Final = 300
"""How often a function is taken to be called that nobody said more of."""

_STARTED, _WRITTEN = 6e7, 2.5e5
"""Nanoseconds that LLVM takes to start, and for each equation."""


def pays(program: Program, is_step: Callable[[Equation], bool], calls: float) -> bool:
    """Whether so many calls as machine code make up for its compilation."""
    work = cost(program, is_step)
    saved = min(work.saving, estimate_time(program) - work.time)
    return saved * calls > _STARTED + _WRITTEN * _count(program)


def _count(program: Program) -> int:
    inner = [body for eq in program.equations for body in nested(eq.params)]
    return len(program.equations) + sum(map(_count, inner))


def _products(eq: Equation) -> float:
    p = eq.params
    if not isinstance(p, Contraction):
        return 0.0
    x, y, *masks = eq.operands
    lengths = dict(zip(p.left + p.right, x.type.shape + y.type.shape, strict=False))
    return prod(lengths.values()) * (_MASKED if masks else 1)
