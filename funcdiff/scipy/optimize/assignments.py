"""Discrete solutions, which are constants: assignments, and the blocks of isotonic regression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcdiff.core.types import FLOAT, INT
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import covers
from funcdiff.scipy.optimize.closed import Closed
from funcdiff.scipy.optimize.opaque_solvers import call_solver, scipys


@covers("scipy.optimize", note="the indices have no derivative; `cost[rows, columns]` has")
def linear_sum_assignment(cost_matrix: Any, maximize: bool = False) -> tuple[Any, Any]:
    """Assign rows to columns at the least cost, as SciPy does; the indices are constants.

    The optimal cost ``cost_matrix[rows, columns].sum()`` has the derivative 1 at the chosen
    elements.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import linear_sum_assignment
    >>> print(fd.grad(lambda c: c[linear_sum_assignment(c)].sum())(np.array([[4.0, 1], [2, 0]])))
    [[0. 1.]
     [1. 0.]]
    """
    cost = array(cost_matrix)
    shape = (min(cost.shape),) if cost.ndim == 2 else (0,)
    rows, columns = call_solver(
        _assign, [], [cost], {"maximize": maximize}, [(shape, INT), (shape, INT)]
    )
    return rows, columns


def _assign(
    _functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> Any:
    return scipys("linear_sum_assignment")(arrays[0], **settings)


@covers("scipy.optimize", note="col_ind has no derivative")
def quadratic_assignment(
    A: Any, B: Any, method: str = "faq", options: Mapping[str, Any] | None = None, **seeded: Any
) -> Any:
    """Match the nodes of two graphs, as SciPy does; the permutation is a constant.

    ``fun = Σ A[i, j] B[p(i), p(j)]`` has derivatives by A and B.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import quadratic_assignment
    >>> a = np.array([[0.0, 2.0], [2.0, 0.0]])
    >>> options = {"rng": np.random.default_rng(0)}
    >>> cost = lambda a: quadratic_assignment(a, np.ones((2, 2)), options=options).fun
    >>> print(fd.grad(cost)(a))
    [[1. 1.]
     [1. 1.]]
    """
    a, b = array(A).astype(FLOAT), array(B).astype(FLOAT)
    shape = (a.shape[0],)
    settings = {"method": method, "options": options, **seeded}
    columns, count = call_solver(_match, [], [a, b], settings, [(shape, INT), ((), INT)])
    fun = np.sum(a * b[columns[:, None], columns])
    return scipys("OptimizeResult")(col_ind=columns, fun=fun, nit=count)


def _match(
    _functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    found = scipys("quadratic_assignment")(*arrays, **settings)
    return found.col_ind, found.nit


@covers(
    "scipy.optimize", note="the result has x; weights and blocks, whose sizes depend on values, "
    "are left out"
)  # fmt: skip
def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """Fit a monotonic sequence, as SciPy does, and differentiate it by the data and weights.

    In each block of equal values x is the weighted mean of y; the blocks are constants.

    References
    ----------
    M. J. Best, N. Chakravarti, "Active set algorithms for isotonic regression", Mathematical
    Programming 47 (1990).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> from funcdiff.scipy.optimize import isotonic_regression
    >>> print(fd.grad(lambda y: isotonic_regression(y).x[0])(np.array([2.0, 1.0, 4.0])))
    [0.5 0.5 0. ]
    """
    y = array(y).astype(FLOAT)
    w = np.ones(y.shape) if weights is None else array(weights).astype(FLOAT)
    first, last = call_solver(
        _blocks, [], [y, w], {"increasing": increasing}, [(y.shape, INT), (y.shape, INT)]
    )

    def total(values: Any) -> Any:
        sums = np.concatenate([np.zeros(1), np.cumsum(values)])
        return sums[last] - sums[first]

    return scipys("OptimizeResult")(x=total(w * y) / total(w))


def _blocks(
    _functions: Sequence[Closed], arrays: Sequence[Any], settings: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return where the block of each element begins and ends."""
    y, w = arrays
    ends = scipys("isotonic_regression")(y, weights=w, **settings).blocks
    sizes = np.diff(ends)
    return np.repeat(ends[:-1], sizes), np.repeat(ends[1:], sizes)
