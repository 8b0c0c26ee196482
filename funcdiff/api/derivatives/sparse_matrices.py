"""Builds sparse matrices from patterns and entries, and reads the options for them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.calls.inputs import Inputs
from funcdiff.api.calls.tracing import Trace, run
from funcdiff.api.derivatives.programs import jvp_program
from funcdiff.api.derivatives.sparse_jacobians import (
    Given,
    Patterns,
    Plan,
    jacobian_patterns,
    mixing_place,
    plan_by_entries,
    product_plan,
)
from funcdiff.api.signatures.variables import Mode
from funcdiff.core.late import late_import, require
from funcdiff.core.origins import Place
from funcdiff.core.recording.entries import Recording
from funcdiff.core.running.memo import memoised
from funcdiff.core.tracer import Tracer
from funcdiff.errors import (
    InputError,
    SparsityWarning,
    user_frame,
    user_location,
)
from funcdiff.passes.sparsity.assembly import Pattern, pattern_of_keys

FORMATS: Final = ("csr", "csc", "coo")
_SMALL: Final = 10_000
"""Elements up to which a matrix without zeros is not worth a warning."""


class Entries(NamedTuple):
    """A sparse matrix by its entries, row by row, and their places; it needs no SciPy."""

    data: Any
    pattern: Pattern

    @classmethod
    def of_nan(cls, pattern: Pattern) -> Entries:
        """Return a matrix of NaN."""
        return cls(np.full(pattern.nnz, np.nan), pattern)

    def dense(self) -> Any:
        """Return the matrix as an array."""
        found = np.zeros(prod(self.pattern.shape), self.data.dtype)
        found[self.pattern.keys] = self.data
        return found.reshape(self.pattern.shape)

    def sparse(self) -> Any:
        """Return the matrix as an array of SciPy's."""
        return matrix(self.pattern, self.data.copy(), "csr")


class Sparse(NamedTuple):
    """How sparse matrices are asked for."""

    format: str  # ``"csr"``, ``"csc"``, or ``"coo"``, which is plain arrays
    pattern: Any  # given by the caller, or None
    mode: Mode  # columns or rows, where entries are not followed one by one
    is_symmetric: bool = False  # a Hessian


def sparse_option(
    sparse: bool,  # noqa: FBT001
    format_: str | None,
    sparsity: Any,
    mode: Mode,
    *,
    chunk_size: int | None,
    symmetric: bool = False,
) -> Sparse | None:
    """Return what is asked for, None for dense arrays; refuse options that do not go together."""
    if not sparse:
        given = {"format": format_, "sparsity": sparsity}
        name = next((name for name, value in given.items() if value is not None), None)
        if name is not None:
            raise InputError(
                f"{name}= was given without sparse=True, at {user_location()}. Dense arrays have "
                "no format and no pattern: pass sparse=True."
            )
        return None
    if format_ not in (None, *FORMATS):
        raise InputError(
            f"format={format_!r} is not known, at {user_location()}. It is 'csr', 'csc', or 'coo' "
            "for plain arrays (data, (rows, columns))."
        )
    if chunk_size is not None:
        raise InputError(
            f"chunk_size={chunk_size!r} was given with sparse=True, at {user_location()}: a sparse "
            "Jacobian computes its entries only, and takes no chunk_size. Leave it out."
        )
    if format_ != "coo":
        sparse_module()
    return Sparse(format_ or "csr", sparsity, mode, symmetric)


def sparse_module() -> Any:
    """Return `scipy.sparse`; raises MissingDependencyError without SciPy."""
    return require("scipy.sparse", "sparse=True needs SciPy", "funcdiff[scipy]", "Or format='coo'.")


def sparse_blocks(sparse: Sparse, inputs: Inputs, trace: Trace, *, wants_value: bool) -> list[Any]:
    """Return the blocks of a Jacobian as sparse matrices, the results if wanted, and the others."""
    count, results = len(inputs.operands), sum(trace.numeric)
    operands = [*inputs.operands, *trace.captures]
    given = Given(operands, count)
    pattern = None
    if sparse.pattern is not None:
        if count != 1 or results != 1:
            raise InputError(
                f"sparsity= is the pattern of one matrix, and there are {results} x {count} "
                f"blocks, at {user_location()}. Put arguments and results into one array each "
                "(fd.ravel_pytree), or leave it out: patterns are found."
            )
        own = jacobian_patterns(trace.recording, count, results, given)
        pattern = _check_pattern(as_pattern(sparse.pattern), own)
    of = (trace.recording, count, results, given)
    by_columns = sparse.format == "csc"
    plan = plan_by_entries(*of, by_columns=by_columns, pattern=pattern)
    if plan is not None:
        patterns = plan.patterns
    else:
        patterns = jacobian_patterns(*of).blocks if pattern is None else [pattern]
    shapes = [place.shape for place in patterns if place.is_half_full]
    if any(height * width > _SMALL for height, width in shapes):
        _warn(max(shapes, key=prod), trace, _Mixing(trace, count, results, given))
    if plan is None:
        plan = product_plan(
            *of, by_columns=by_columns, pattern=pattern, mode=sparse.mode,
            symmetric=sparse.is_symmetric,
        )  # fmt: skip
    values = run(plan.program, [*operands, *plan.constants], trace)
    blocks = [
        matrix(pattern, data, sparse.format)
        for pattern, data in zip(plan.patterns, values, strict=False)
    ]
    if pattern is not None and not _follows(values[0], plan, trace, operands, sparse.format):
        raise InputError(
            f"the pattern lacks places in which the Jacobian is not zero, at {user_location()}: "
            "products with the matrix are not those of fd.jvp. Leave out sparsity=."
        )
    rest = values[len(blocks) :]
    return [*blocks, *(rest if wants_value else rest[results:])]


class _Mixing:
    """The question of which line makes a Jacobian full, compared by program and caller."""

    def __init__(self, trace: Trace, count: int, results: int, given: Given) -> None:
        self._trace: Trace | None = trace
        self._of = (count, results, given)
        self._key = (count, results, given, user_location())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Mixing) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def answer(self) -> Place | None:
        """Trace the function again, and return the line; it can be asked for once."""
        trace, self._trace = self._trace, None
        assert trace is not None
        return trace.locate(lambda _, recording: mixing_place(recording, *self._of))


@memoised
def _mixing_line(recording: Recording, mixing: _Mixing) -> str:  # noqa: ARG001
    place = mixing.answer()
    return "" if place is None else f" from {place} on"


def _warn(shape: tuple[int, int], trace: Trace, mixing: _Mixing) -> None:
    frame = user_frame()
    message = (
        f"the Jacobian asked for at {user_location()} has {shape[0]} x {shape[1]} elements, and "
        "more than half of them may differ from zero: nearly everything depends on everything"
        f"{_mixing_line(trace.recording, mixing)}, as after a cumulative sum, a solution of "
        "equations or a Fourier transform. Leave out sparse=True, or use products (fd.jvp, fd.vjp, "
        "fd.linearize) instead."
    )
    if frame is None:
        warnings.warn(message, SparsityWarning, stacklevel=2)
        return
    seen = frame.f_globals.setdefault("__warningregistry__", {})
    code, line = frame.f_code, frame.f_lineno
    warnings.warn_explicit(message, SparsityWarning, code.co_filename, line, registry=seen)


def matrix(pattern: Pattern, data: Any, format_: str) -> Any:
    """Return a sparse matrix of a pattern in the order of a format."""
    if format_ == "coo":
        return data, (pattern.rows.copy(), pattern.columns.copy())
    kind = getattr(sparse_module(), f"{format_}_array")
    shape = pattern.shape[::-1] if format_ == "csc" else pattern.shape
    if type(data) is np.ndarray:
        return kind((data, pattern.columns.copy(), pattern.pointers.copy()), shape=shape)
    made = late_import("funcdiff.scipy.sparse.traced_arrays").sparse_array
    numbers = np.arange(1, len(pattern.rows) + 1)
    return made(kind((numbers, pattern.columns, pattern.pointers.copy()), shape=shape), data)


def _check_pattern(given: Pattern, found: Patterns) -> Pattern:
    """Return the pattern that the caller gave, if it can be that of the Jacobian.

    Where not every element could be followed, the caller may know better.
    """
    (own,) = found.blocks
    if given.shape != own.shape:
        raise InputError(
            f"the pattern has the shape {given.shape} and the Jacobian {own.shape}, at "
            f"{user_location()}: rows are elements of the result, columns of the argument."
        )
    missing = own.first_beyond(given) if found.certain else None
    if missing is not None:
        row, column = missing
        raise InputError(
            f"the pattern has no place for row {row}, column {column}, at {user_location()}: "
            "that result depends on that argument by a path through the program. Add the place, "
            "or leave out sparsity=: patterns are found."
        )
    return given


def _follows(data: Any, plan: Plan, trace: Trace, operands: Sequence[Any], format_: str) -> bool:
    """Whether the matrix of a given pattern multiplies one vector as the derivative does.

    It always does if the entries were followed one by one; what is traced is not asked.
    """
    if not plan.colors or any(isinstance(x, Tracer) for x in operands):
        return True
    x = np.asarray(operands[0])
    t = np.cos(np.arange(1, x.size + 1)).astype(x.dtype)
    program = jvp_program(trace.recording, 1, 1)
    exact = np.ravel(run(program, [*operands, t.reshape(x.shape)], trace)[len(trace.recording[1])])
    rows, columns = plan.patterns[0].rows, plan.patterns[0].columns
    if format_ == "csc":
        rows, columns = columns, rows
    found, scale = np.zeros_like(exact), np.zeros(exact.shape)
    np.add.at(found, rows, data * t[columns])
    np.add.at(scale, rows, np.abs(data))
    small = 1e3 * np.finfo(exact.dtype).eps * (scale + np.abs(exact).max(initial=0.0))
    return bool(np.all((np.abs(found - exact) <= small) | ~np.isfinite(exact)))


def as_pattern(given: Any) -> Pattern:
    """Return the pattern of a matrix: sparse, of booleans, or what `sparsity` returns."""
    if isinstance(getattr(given, "pattern", None), Pattern):
        found: Pattern = given.pattern
        return found
    if hasattr(given, "tocoo"):
        given = given.tocoo()
        rows, columns, shape = given.row, given.col, given.shape
    else:
        array = np.asarray(given)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise InputError(
                f"sparsity= is no matrix: {type(given).__name__}, at {user_location()}. Give a "
                "sparse matrix, an array of booleans, or what fd.sparsity returns."
            )
        (rows, columns), shape = np.nonzero(array), array.shape
    height, width = int(shape[0]), int(shape[1])
    keys = np.asarray(rows, int) * max(width, 1) + np.asarray(columns, int)
    return pattern_of_keys(keys, (height, width))
