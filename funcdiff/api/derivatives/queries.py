"""Static analysis of a traced function: dependence of results on inputs, sparsity, linearity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import funcdiff.passes as passes
from funcdiff import pytree
from funcdiff.api.calls.arguments import is_numeric
from funcdiff.api.calls.differentiated import check_outputs, trace_call, with_values
from funcdiff.api.calls.inputs import Operands, Selection, type_of
from funcdiff.api.calls.tracing import nested_policy, rebuild, record
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.sparse_jacobians import Given, jacobian_patterns
from funcdiff.api.derivatives.sparse_matrices import sparse_module
from funcdiff.api.signatures.variables import Argnames, Argnums, P
from funcdiff.core.late import computed
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.entries import Recording, program_of
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.dataflow import dependent
from funcdiff.core.running.evaluate import executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline_bodies, with_nested
from funcdiff.core.tracer import Tracer
from funcdiff.errors import NotDifferentiableError
from funcdiff.numpy.border.values import value_of
from funcdiff.ops.control.rematerialization import Checkpoint
from funcdiff.ops.user.custom_rules import Custom
from funcdiff.ops.user.linear_part import has_hidden
from funcdiff.passes.sparsity.assembly import Pattern
from funcdiff.passes.sparsity.coloring import column_colors
from funcdiff.transforms.jvp import Mask, jvp, spread
from funcdiff.transforms.linearize import linearize

# ---- dependence ------------------------------------------------------------------------------


@transform
def depends_on(
    f: Callable[P, Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    derivative: bool = False,
) -> Callable[P, Any]:
    """Return a function that tells which results of `f` depend on which arguments.

    The answer is read off the program, not off numbers: True says that there is a path from the
    argument to the result, as there is in ``x - x`` (which is NaN for infinite x), False is
    certain.  Branches that Python took (``if x > 0``) are part of the program; what decided them,
    and other values that Python code looked at, is not seen.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    argnums, argnames
        The arguments, as for `grad`; by default the first.
    derivative
        Whether to ask for a derivative that may differ from zero, instead.  `stop_gradient`,
        ``np.floor`` and comparisons pass values on, but no derivatives.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like its result with a bool for each leaf;
        a tuple of them if several arguments are chosen.

    Raises
    ------
    InputError
        When called, if there are no such arguments.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> f = lambda x, y: {"sum": x + y, "rounded": np.floor(x), "other": 3 * y}
    >>> fd.depends_on(f)(1.0, 2.0)
    {'sum': True, 'rounded': True, 'other': False}
    >>> fd.depends_on(f, derivative=True)(1.0, 2.0)
    {'sum': True, 'rounded': False, 'other': False}
    """
    selection = Selection(f, "depends_on", argnums, argnames)

    def dependence(*args: P.args, **kwargs: P.kwargs) -> Any:
        places = selection.places(args, kwargs)
        chosen = [args[k] if isinstance(k, int) else kwargs[k] for k in places]
        inputs = Operands(tuple(chosen))

        def call(tracers: list[Tracer]) -> Any:
            given, named = with_values(args, kwargs, places, inputs.tree(tracers))
            return f(*given, **named)

        trace = record(f, inputs.xs, call, nested_policy(int(derivative)), weak=inputs.weak)
        counts = [sum(map(is_numeric, pytree.flatten(x)[0])) for x in chosen]
        others = [False for _ in trace.others]
        found = []
        for k, count in enumerate(counts):
            before, after = sum(counts[:k]), sum(counts[k + 1 :]) + len(trace.captures)
            flags = (False,) * before + (True,) * count + (False,) * after
            answers = (_which_have_tangents if derivative else _which_depend)(
                trace.recording, flags
            )
            found.append(rebuild(trace.structure, trace.numeric, answers, others))
        return selection.of(tuple(found))

    return dependence


@memoised
def _which_depend(recording: Recording, flags: Mask) -> list[bool]:
    return dependent(passes.simplify.simplify(program_of(*recording)), flags)


@memoised
def _which_have_tangents(recording: Recording, flags: Mask) -> list[bool]:
    """Return for each output whether its tangent is more than a structural zero."""
    program = passes.simplify.simplify(program_of(*recording))
    pairs = zip(program.input_types, flags, strict=True)
    active = tuple(flag and t.differentiable for t, flag in pairs)
    if not any(active):
        return [False for _ in program.outputs]
    pushed, mask = jvp(program, active)
    linear = (False,) * len(active) + (True,) * sum(active)
    moved = dependent(passes.simplify.simplify_linear(pushed, linear), linear)
    return [bool(flag) for flag in spread(moved[len(mask) :], mask)]


# ---- linearity -------------------------------------------------------------------------------


@transform
def is_linear(
    f: Callable[P, Any], argnums: Argnums | None = None, *, argnames: Argnames | None = None
) -> Callable[P, bool]:
    """Return a function that tells whether `f` is linear: ``f(a·x + b·y) = a·f(x) + b·f(y)``.

    It is, if its derivative does not depend on the point and ``f(0) = 0``.  The first is read off
    the program, the second computed.  True is certain for the program that was traced, with its
    shapes and Python branches; False says that it could not be shown.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    argnums, argnames
        The arguments, as for `grad`; by default the first.  Of several it is asked whether `f` is
        linear in all of them together: a product is linear in each of its factors only.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a bool.  For complex numbers the factors a and b are
        real, so that ``np.conj`` and ``np.real`` count as linear.

    Raises
    ------
    InputError
        When called, if a leaf of a chosen argument is an integer or boolean array.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> x = np.ones(3)
    >>> [fd.is_linear(f)(x) for f in (np.cumsum, lambda x: x + 1.0, np.sin, np.abs)]
    [True, False, False, False]
    """
    selection = Selection(f, "is_linear", argnums, argnames)

    def linear(*args: P.args, **kwargs: P.kwargs) -> bool:
        inputs, trace = trace_call(f, selection, args, kwargs)
        program = affine(trace.recording, len(inputs.operands))
        if program is None:
            return False
        zeros = [np.zeros(type_of(x).shape, type_of(x).dtype) for x in inputs.operands]
        results = quiet(executable(program), *zeros, *(value_of(c) for c in trace.captures))
        return all(bool(np.all(y == 0)) for y in results)

    return linear


@memoised
def affine(recording: Recording, count: int) -> Program | None:
    """Return the program if its derivative in the first `count` inputs is the same everywhere."""
    program = passes.simplify.simplify(
        inline_bodies(passes.simplify.simplify(program_of(*recording)), _body)
    )
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    try:
        split = linearize(program, active)
        certain = not has_hidden(program, active, trusts_rules=False)
    except NotDifferentiableError:
        return None
    residuals = dependent(split.primal, active)[len(program.outputs) :]
    return program if certain and not any(residuals) else None


def _body(eq: Equation) -> Program | None:
    """Return the program of an equation that only says how to differentiate it."""
    return eq.params.body if isinstance(eq.params, Checkpoint | Custom) else None


def has_rules(program: Program) -> bool:
    """Whether a function with rules of its own is called, here or in a program within."""
    return any(isinstance(eq.params, Custom) for eq in with_nested(program.equations))


_WIDEST: Final = 64
"""Dots of a picture along the longer side."""
_SHARPEST: Final = 160
"""Squares of a picture in a notebook along the longer side."""
_DOTS: Final = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""The dots of a braille character, by row and column."""


class Sparsity:
    """Where a Jacobian may differ from zero, at any point.

    Attributes
    ----------
    pattern
        The places, row by row.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern

    @property
    def rows(self) -> np.ndarray[Any, Any]:
        """The numbers of the elements of the result, of shape ``(nnz,)``, row by row."""
        return self.pattern.rows.copy()

    @property
    def cols(self) -> np.ndarray[Any, Any]:
        """The numbers of the elements of the argument, of shape ``(nnz,)``, row by row."""
        return self.pattern.columns.copy()

    @property
    def shape(self) -> tuple[int, int]:
        """How many elements result and argument have."""
        return self.pattern.shape

    @property
    def nnz(self) -> int:
        """How many places there are."""
        return self.pattern.nnz

    @property
    def density(self) -> float:
        """Which part of all elements that is; 0.0 if there are none."""
        return self.nnz / max(self.shape[0] * self.shape[1], 1)

    @computed
    def colors(self) -> np.ndarray[Any, Any]:
        """A colour for each column, counted from 0: columns of one colour share no row."""
        if self.nnz == self.shape[0] * self.shape[1] > 0:
            return np.arange(self.shape[1])
        return column_colors(self.pattern)

    def toarray(self) -> np.ndarray[Any, Any]:
        """Return the pattern as an array of booleans."""
        found = np.zeros(self.shape, bool)
        found[self.pattern.rows, self.pattern.columns] = True
        return found

    def scipy(self, format: str = "csr") -> Any:  # noqa: A002
        """Return the pattern as a sparse array of ones, as ``jac_sparsity=`` of SciPy's takes it.

        Raises
        ------
        MissingDependencyError
            If SciPy is not installed.
        """
        places = (self.pattern.rows, self.pattern.columns)
        ones = np.ones(self.nnz, np.int8)
        return sparse_module().coo_array((ones, places), shape=self.shape).asformat(format)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sparsity) and self.pattern == other.pattern

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"<Sparsity {rows} x {columns}, {self.nnz} places, {self.density:.2%}>"

    def __str__(self) -> str:
        dots = self._squares(_WIDEST)
        height, width = (-(-n // k) for n, k in zip(dots.shape, (4, 2), strict=True))
        whole = np.zeros((4 * height, 2 * width), bool)
        whole[: dots.shape[0], : dots.shape[1]] = dots
        cells = whole.reshape(height, 4, width, 2).transpose(0, 2, 1, 3)
        codes = 0x2800 + (cells * _DOTS).sum((2, 3))
        return "\n".join([repr(self), *("".join(map(chr, line)) for line in codes)])

    def _squares(self, most: int) -> np.ndarray[Any, Any]:
        """Return the pattern as an array of booleans that is at most so long."""
        scale = max(1.0, max(self.shape) / most)
        shape = tuple(int(np.ceil(n / scale)) for n in self.shape)
        found = np.zeros(shape, bool)
        if self.density == 1:
            return ~found
        found[
            (self.pattern.rows / scale).astype(int), (self.pattern.columns / scale).astype(int)
        ] = 1
        return found

    def _repr_html_(self) -> str:
        squares = self._squares(_SHARPEST)
        height, width = squares.shape
        drawn = "".join(f"M{x} {y}h1v1h-1z" for y, x in zip(*np.nonzero(squares), strict=True))
        size = 320 / max(height, width, 1)
        return (
            f'<figure style="margin:0"><svg viewBox="0 0 {width} {height}" width="{width * size:g}"'
            f' height="{height * size:g}" style="border:1px solid currentColor" role="img" '
            f'aria-label="sparsity pattern"><path d="{drawn}" fill="currentColor"/></svg>'
            f"<figcaption>{self.shape[0]} × {self.shape[1]}, {self.nnz} places, "
            f"{self.density:.2%}</figcaption></figure>"
        )


@transform
def sparsity(
    f: Callable[P, Any], argnums: Argnums | None = None, *, argnames: Argnames | None = None
) -> Callable[P, Any]:
    """Return a function that finds where the Jacobian of `f` may differ from zero.

    The pattern is read off the program of the derivative, not off numbers, so it holds at every
    point where Python takes the same branches.  Masks and index arrays that do not depend on
    floating values make it smaller, and so do the zeros of a matrix that `f` closes over and
    multiplies by; the values of other arguments do not.  That of a Hessian is the pattern of
    ``grad(f)``.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    argnums, argnames
        The arguments, as for `grad`; by default the first.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a `Sparsity` (``rows``, ``cols``, ``shape``, ``colors``,
        ``density``, ``scipy()``, ``toarray()``; printing shows a picture), in containers as those
        that `jacobian` returns.

    Raises
    ------
    InputError, OutputError
        When called, as by `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> pattern = fd.sparsity(lambda x: np.diff(np.sin(x)))(np.zeros(8))
    >>> pattern
    <Sparsity 7 x 8, 14 places, 25.00%>
    >>> pattern.colors
    array([1, 0, 1, 0, 1, 0, 1, 0])
    >>> print(pattern)
    <Sparsity 7 x 8, 14 places, 25.00%>
    ⠙⢦⡀⠀
    ⠀⠀⠙⠦
    """
    selection = Selection(f, "sparsity", argnums, argnames)

    def pattern(*args: P.args, **kwargs: P.kwargs) -> Any:
        inputs, trace = trace_call(f, selection, args, kwargs)
        check_outputs(trace, selection)
        count, results = len(inputs.operands), sum(trace.numeric)
        given = Given([*inputs.operands, *trace.captures], count)
        patterns = jacobian_patterns(trace.recording, count, results, given).blocks
        found = list(map(Sparsity, patterns))
        rows = [
            selection.of(inputs.rebuild(found[k * count : (k + 1) * count])) for k in range(results)
        ]
        return trace.rebuild(rows)

    return pattern
