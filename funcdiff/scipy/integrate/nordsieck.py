"""Reconstructs the steps of LSODA from its Nordsieck arrays: matrices and tables.

LSODA keeps hʲ·y⁽ʲ⁾/j! in row j.  A step of order q scales the rows to its length, moves the
polynomial on by one step and adds lⱼ·e, where h·f(t', y') = y₁ + e; an order that is raised next
takes its new row from e, which is kept behind the others.

References
----------
A. C. Hindmarsh, "ODEPACK, a systematized collection of ODE solvers", in "Scientific Computing",
North-Holland 1983; L. Petzold, SIAM J. Sci. Stat. Comput. 4 (1983), on changes of the method.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb
from typing import Any, Final, NamedTuple

import numpy as np

HIGHEST: Final = 12

ORDERS: Final = (6, 8, 10)
"""Orders up to which fewer rows are kept."""


class History(NamedTuple):
    """What LSODA knows after a step.

    Attributes
    ----------
    is_stiff
        Whether it took the step by its method for stiff equations.
    order
        That of the step.
    scale
        The length for which the rows are.
    rows
        The array of Nordsieck, of all orders.
    """

    is_stiff: bool
    order: int
    scale: float
    rows: Any


def history(solver: Any) -> History:
    """Return what SciPy's LSODA knows after a step that is not of length 0."""
    integrator = solver._lsoda_solver._integrator
    real, whole = integrator.rwork, integrator.iwork
    rows = real[20 : 20 + (HIGHEST + 1) * solver.n].reshape(HIGHEST + 1, solver.n).copy()
    return History(bool(whole[18] == 2), int(whole[13]), real[11], rows)


@cache
def _coefficients(is_stiff: bool, order: int) -> Any:
    """Return l, of the formula of Adams and Moulton or of backward differentiation."""
    last = order if is_stiff else order - 1
    p = np.array([1.0])
    for k in range(1, last + 1):  # (x + 1)···(x + last)
        p = np.append(k * p, 0.0) + np.append(0.0, p)
    if is_stiff:
        return p / p[1]
    powers = np.arange(1, order + 1)
    return np.append(np.sum(-((-1.0) ** powers) * p / powers), p / powers) / p[0]


def _raise_order(is_stiff: bool, order: int) -> float:
    """Return the new row of an order raised from this one, divided by e."""
    return float(_coefficients(is_stiff, order)[order] / (order + 1))


@cache
def _shifts(count: int) -> Any:
    """Return the matrices that move polynomials of each order on by one step."""
    found = np.zeros((count, count, count))
    for order in range(count - 1):
        for j in range(order + 1):
            found[order, : j + 1, j] = [comb(j, i) for i in range(j + 1)]
    return found


@cache
def _weights(count: int) -> Any:
    """Return l of each method and order, and 1 for e itself."""
    found = np.zeros((2, count - 1, count))
    for is_stiff in (False, True):
        for order in range(1, count - 1):
            found[int(is_stiff), order, : order + 1] = _coefficients(is_stiff, order)
    found[:, :, -1] = 1
    return found


def change(kind: tuple[bool, int, int], ratio: Any, count: int) -> Any:
    """Return the matrix that predicts from the rows of the step before.

    `kind`: whether that was a step for stiff equations, its order, and the order now.
    `ratio`: of the length of this step to that.
    `count`: how many rows there are.
    """
    is_stiff, before, order = kind
    rise = np.eye(count)
    if order > before:
        rise[order, order] = 0
        rise[order, -1] = _raise_order(is_stiff, before)
    return (_shifts(count)[order] * ratio ** np.arange(count)) @ rise


def matrices(steps: Sequence[History], ratios: Any, count: int) -> tuple[Any, ...]:
    """Return the matrices of steps, as `steps.Multistep` takes them."""
    orders, stiff = np.array([(s.order, s.is_stiff) for s in steps]).T
    changes = _shifts(count)[orders] * (ratios[:, None] ** np.arange(count))[:, None]
    for k in (np.flatnonzero(np.diff(orders) > 0) + 1).tolist():
        order, before = orders[k], steps[k - 1]
        changes[k, :, -1] = changes[k, :, order] * _raise_order(before.is_stiff, before.order)
        changes[k, :, order] = 0
    ls = _weights(count)[stiff, orders]
    inverse = ls[:, 0]
    within = np.arange(count) <= orders[:, None]
    predict, gamma = np.zeros_like(ls), np.zeros_like(ls)
    predict[:, 0] = gamma[:, 1] = 1
    keep = np.eye(count) * within[:, None, :]
    return changes, predict, gamma, keep, ls / inverse[:, None], inverse, within.astype(float)


def tables(
    first: Any, steps: Sequence[History], states: Any, lengths: Any, found: Sequence[Any]
) -> Any:
    """Return what is near the rows after all steps.

    `first`: the rows before the first step.
    `steps`, `states`, `lengths`: what LSODA knew after each, the states there, and how long they
      were.
    `found`: what `matrices` returned.
    """
    *_, add, _, within = found
    count = len(first)
    height = min(count - 1, HIGHEST + 1)
    rows = np.zeros((len(steps), *first.shape))
    rows[0] = first
    rows[1:, :height] = np.reshape([s.rows[:height] for s in steps[:-1]], rows[1:, :height].shape)
    scales = np.array([s.scale for s in steps[:-1]])
    factors = np.append(1.0, lengths[1:] / scales)[:, None] ** np.arange(count)
    rows = np.where(within[:, :, None] > 0, rows * factors[:, :, None], 0.0)
    predicted = _shifts(count)[[s.order for s in steps]] @ rows
    missed = states - predicted[:, 0]
    return predicted + add[:, :, None] * missed[:, None]
