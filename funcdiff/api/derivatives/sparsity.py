"""`sparsity`: the structure of a Jacobian, from dependence of results on arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.differentiated import check_outputs, trace_call
from funcdiff.api.calls.naming import name_after
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import rebuild
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.given import Given
from funcdiff.api.derivatives.matrices import sparse_module
from funcdiff.api.derivatives.sparse import jacobian_patterns
from funcdiff.api.signatures.variables import Argnames, Argnums, P
from funcdiff.passes.sparsity.assembly import Pattern
from funcdiff.passes.sparsity.coloring import column_colors

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

    @cached_property
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
    f: Callable[P, Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
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

    @name_after(f, "sparsity", **selection.given)
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
        return rebuild(trace.structure, trace.numeric, rows, trace.others)

    return pattern
