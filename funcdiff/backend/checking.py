"""Compares compiled programs and tapes with the interpreter, on request.

``FUNCDIFF_CHECK=1`` in the environment asks for it, as tests do.  The first results of
compiled code, and all of a tape, must have the types that the program states, and the interpreter's
values: its bits, or, of kernels and tapes, which add up in another order, these up to rounding.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import Executable, is_repeatable
from funcdiff.core.types import ArrayType
from funcdiff.errors import InternalError

Run: TypeAlias = Callable[..., list[Any]]


def is_asked_for() -> bool:
    """Whether results are to be compared."""
    return os.environ.get("FUNCDIFF_CHECK") == "1"


def with_check(program: Program, run: Run, *, exact: bool) -> Run:
    """Return compiled code that, where tests ask for it, compares its first results.

    `exact` says whether it is to compute the same bits.
    """
    if not is_asked_for() or not is_repeatable(program.equations):
        return run  # effects of the user's code must happen once
    return _Checked(program, run, exact=exact)


class _Checked:
    """Compiled code, the first execution of which is compared."""

    def __init__(self, program: Program, run: Run, *, exact: bool) -> None:
        self._program, self._run, self._exact = program, run, exact
        self._pending = True

    def __call__(self, *arrays: Any) -> list[Any]:
        """Return the results; raise InternalError if they are not the interpreter's."""
        results = self._run(*arrays)
        if self._pending:
            self._pending = False
            compare(self._program, results, arrays, exact=self._exact)
        return results


def compare(
    program: Program, results: Sequence[Any], arrays: Sequence[Any], *, exact: bool
) -> None:
    """Raise InternalError if results for some inputs are not those of the interpreter."""
    with np.errstate(all="ignore"):
        expected = Executable(program).interpret(*arrays)
        rounds = not exact or _multiplies_complex_numbers(program)
        tolerance = _tolerance(program, [*arrays, *expected]) if rounds else 0.0
        for k, (type_, y, z) in enumerate(
            zip(program.output_types, results, expected, strict=True)
        ):
            found = _difference(type_, np.asarray(y), np.asarray(z), tolerance)
            if found is not None:
                raise InternalError(
                    f"compiled code and the interpreter disagree in result {k}, {type_}: {found}. "
                    f"This is a bug in funcdiff\n{program}"
                )


def _multiplies_complex_numbers(program: Program) -> bool:
    """Whether a product is of single complex numbers.

    The last bits of NumPy's then depend on strides: of shape (1, 1) it may take another loop for
    strides of (0, 16) than for (16, 16).
    """
    return any(
        y.type.dtype.kind == "c" and y.type.size == 1
        for eq in program.equations
        for y in eq.results
    )


def compare_results(program: Program, results: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raise InternalError if results of rules run on values are not those of rules traced.

    The program is what was differentiated, or its derivative.
    """
    with np.errstate(all="ignore"):
        tolerance = _tolerance(program, expected)
        for k, (y, z) in enumerate(zip(results, map(np.asarray, expected), strict=True)):
            found = _difference(ArrayType(z.shape, z.dtype), np.asarray(y), z, tolerance)
            if found is not None:
                raise InternalError(
                    f"rules that ran on values and traced rules disagree in result {k}: {found}. "
                    f"This is a bug in funcdiff, or a rule is no function of its arguments alone"
                    f"\n{program}"
                )


def _difference(type_: ArrayType, y: Any, z: Any, tolerance: float) -> str | None:
    """Return in what a result, or the interpreter's, is not what it has to be."""
    for who, x in (("compiled code", y), ("the interpreter", z)):
        if (x.shape, x.dtype) != (type_.shape, type_.dtype):
            return f"that of {who} is an array of shape {x.shape} and dtype {x.dtype}"
    same = (y == z) | ((y != y) & (z != z))
    if tolerance and type_.differentiable:
        same |= np.abs(y - z) <= tolerance
    elif type_.differentiable:
        signs = np.signbit(y.real) == np.signbit(z.real)
        signs &= np.signbit(y.imag) == np.signbit(z.imag)
        same &= signs | (y != y)
    if np.all(same):
        return None
    place = tuple(map(int, np.argwhere(~same)[0]))
    return f"{y[place]} instead of {z[place]} at {place}"


def _tolerance(program: Program, values: Iterable[Any]) -> float:
    """Return how far a result may be off that was added up in another order."""
    made = [v.type for eq in program.equations for v in eq.results]
    types = [*(v.type for v in program.inputs), *made]
    eps = max((float(np.finfo(t.dtype).eps) for t in types if t.differentiable), default=0.0)
    sizes = [np.abs(x[np.isfinite(x)]) for x in map(np.asarray, values) if x.dtype.kind in "fc"]
    largest = max((float(np.max(x, initial=0.0)) for x in sizes), default=0.0)
    return math.pow(eps, 0.75) * max(1.0, largest)
