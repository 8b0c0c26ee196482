"""Steps of SciPy's methods for initial values, as functions of traced arrays.

A step goes from (t, y) to (t + h, y'), with coefficients of the polynomial between them.  Explicit
methods are computed as they stand; the equations of implicit ones are solved elsewhere, and here
their solutions are given, from which the implicit function theorem makes the derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.scipy.covered import load
from funcdiff.scipy.integrate import nordsieck
from funcdiff.scipy.places import Private

Rate: TypeAlias = Callable[[Any, Any], Any]
"""``f(t, y)``, the derivative dy/dt."""

Solve: TypeAlias = Callable[[Callable[[Any], Any], Any], Any]
"""``solve(equation, solution)``: the solution as a function of what the equation contains."""


_DIFFERENCES: Final = 8


class Row(NamedTuple):
    """What is given for a step.

    Attributes
    ----------
    t, h
        Where it begins, and how long it is.
    solution
        Of the equations of an implicit method, else empty.
    matrices
        What changes with the order of the method, else empty.
    """

    t: Any
    h: Any
    solution: Any
    matrices: tuple[Any, ...]


class Result(NamedTuple):
    """What a step returns: what the next one begins with, y' and the coefficients between."""

    carry: Any
    y: Any
    between: Any


class RungeKutta:
    """Explicit methods, RK23, RK45 and DOP853, with the coefficients of SciPy's classes.

    References
    ----------
    E. Hairer, S. P. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", Springer 1993.
    """

    def __init__(self, name: str) -> None:
        self._table = getattr(load("scipy.integrate"), name)

    def start(self, f: Rate, t: Any, y: Any, _h: Any) -> Any:
        """Return what the first step begins with."""
        return y, f(t, y)

    def step(self, f: Rate, carry: Any, row: Row, _solve: Solve) -> Result:
        """Take a step."""
        table, t, h = self._table, row.t, row.h
        y, slope = carry
        stages = [slope]
        for a, c in zip(table.A[1:], table.C[1:], strict=True):
            stages.append(f(t + c * h, y + h * _combine(a, stages)))
        after = y + h * _combine(table.B, stages)
        stages.append(f(t + h, after))
        return Result((after, stages[-1]), after, self._between(f, t, h, y, stages, after))

    def _between(self, f: Rate, t: Any, h: Any, y: Any, stages: list[Any], after: Any) -> Any:
        table = self._table
        if not hasattr(table, "A_EXTRA"):
            return table.P.T @ np.stack(stages)
        slopes = stages[0], stages[-1]
        stages = [*stages]
        for a, c in zip(table.A_EXTRA, table.C_EXTRA, strict=True):
            stages.append(f(t + c * h, y + h * _combine(a, stages)))
        rise = after - y
        first = [rise, h * slopes[0] - rise, 2 * rise - h * (slopes[0] + slopes[1])]
        return np.concatenate([np.stack(first), h * (table.D @ np.stack(stages))])

    def at(self, s: Any, h: Any, y: Any, between: Any) -> Any:
        """Return the solution at t + s, for arrays of steps: s and h have an axis at the end."""
        if not hasattr(self._table, "A_EXTRA"):
            x = s / np.where(h == 0, 1.0, h)
            return y + s * _horner(x, [between[:, k] for k in range(between.shape[1])])
        x, rise = s / np.where(h == 0, 1.0, h), 0.0
        for k, part in enumerate(reversed([between[:, k] for k in range(between.shape[1])])):
            rise = (rise + part) * (1 - x if k % 2 else x)
        return y + rise


def _combine(weights: Any, stages: list[Any]) -> Any:
    """Return Σ w·k of stages."""
    weights = weights[: len(stages)]
    used = np.flatnonzero(weights)
    if len(used) == 1:
        return weights[used[0]] * stages[used[0]]
    return weights[used] @ np.stack([stages[k] for k in used])


def _horner(x: Any, coefficients: list[Any]) -> Any:
    """Return c₀ + c₁·x + c₂·x² + ..."""
    total = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = c + x * total
    return total


class Radau:
    """The method of Radau IIA of order 5: Zᵢ = h Σ aᵢⱼ f(t + cⱼh, y + Zⱼ), y' = y + Z₃.

    References
    ----------
    E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", Springer 1996, IV.8.
    """

    def __init__(self) -> None:
        self._radau: Any = Private("scipy.integrate._ivp.radau")
        nodes = self._radau.C
        powers = np.arange(1, 4)
        # the rule integrates 1, c and c² exactly between 0 and each node
        self._weights = (nodes[:, None] ** powers / powers) @ np.linalg.inv(
            nodes[:, None] ** (powers - 1)
        )

    def types(self, size: int) -> list[ArrayType]:
        """Return the types of a carry and of a solution."""
        return [ArrayType((size,), FLOAT), ArrayType((3, size), FLOAT)]

    def start(self, _f: Rate, _t: Any, y: Any, _h: Any) -> Any:
        """Return what the first step begins with."""
        return y

    def residual(self, f: Rate, y: Any, row: Row) -> Callable[[Any], Any]:
        """Return the equation for the stages."""

        def equation(z: Any) -> Any:
            slopes = [f(row.t + c * row.h, y + z[k]) for k, c in enumerate(self._radau.C)]
            return z - row.h * (self._weights @ np.stack(slopes))

        return equation

    def step(self, f: Rate, carry: Any, row: Row, solve: Solve) -> Result:
        """Take a step."""
        z = solve(self.residual(f, carry, row), row.solution)
        after = carry + z[2]
        return Result(after, after, self._radau.P.T @ z)

    def at(self, s: Any, h: Any, y: Any, between: Any) -> Any:
        """Return the solution at t + s."""
        x = s / np.where(h == 0, 1.0, h)
        return y + x * _horner(x, [between[:, k] for k in range(between.shape[1])])


class Multistep:
    """Linear multistep methods of variable order, on the rows of a table that is a polynomial.

    A step of order k from a table D predicts y₀ = Σ pⱼ·Dⱼ and solves, for d = y' - y₀,
    h·f(t', y') = αₖ·d + Σ γⱼ·Dⱼ.  Everything else is linear in D and d: the matrices of a row are
    the change of the step length, the predictor, γ, and the update of D; numbers are 1/αₖ and
    which rows the polynomial behind the step has.

    `count`: how many rows there are.
    `has_differences`: whether they are backward differences, as of SciPy's BDF, or scaled
      derivatives.

    References
    ----------
    L. F. Shampine, M. W. Reichelt, "The MATLAB ODE Suite", SIAM J. Sci. Comput. 18 (1997).
    """

    def __init__(self, count: int, *, has_differences: bool) -> None:
        self.count, self._has_differences = count, has_differences

    def types(self, size: int) -> list[ArrayType]:
        """Return the types of a carry and of a solution."""
        return [ArrayType((self.count, size), FLOAT), ArrayType((size,), FLOAT)]

    def start(self, f: Rate, t: Any, y: Any, h: Any) -> Any:
        """Return the table before the first step."""
        rest = [0.0 * y] * (self.count - 2)
        return np.stack([y, h * f(t, y), *rest])

    def residual(self, f: Rate, carry: Any, row: Row) -> Callable[[Any], Any]:
        """Return the equation for d."""
        change, predict, gamma, _, _, inverse, _ = row.matrices
        differences = change @ carry
        y, psi = predict @ differences, (gamma @ differences) * inverse
        return lambda d: d + psi - row.h * inverse * f(row.t + row.h, y + d)

    def step(self, f: Rate, carry: Any, row: Row, solve: Solve) -> Result:
        """Take a step."""
        change, predict, _, keep, add, _, order = row.matrices
        d = solve(self.residual(f, carry, row), row.solution)
        differences = change @ carry
        after = keep @ differences + add[:, None] * d
        return Result(after, predict @ differences + d, order[:, None] * after)

    def at(self, s: Any, h: Any, _y: Any, between: Any) -> Any:
        """Return the solution at t + s, by the polynomial from the end of the step."""
        x, product, total = s / np.where(h == 0, 1.0, h) - 1, 1.0, between[:, 0]
        for k in range(1, between.shape[1]):
            product = product * ((x + k - 1) / k if self._has_differences else x)
            total = total + product * between[:, k]
        return total


def bdf_matrices(before: Any, after: Any, ratios: Any) -> tuple[Any, ...]:
    """Return the matrices of the steps of BDF.

    `before`, `after`: the orders with which steps are taken, and those of the polynomials behind
      them.
    `ratios`: of the lengths of steps to those of the steps before.
    """
    n, count = _DIFFERENCES, len(before)
    kappa = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
    gammas = np.hstack((0, np.cumsum(1 / np.arange(1, 6))))
    alphas = (1 - kappa) * gammas
    before, rows = np.asarray(before), np.arange(n)
    change = np.empty((count, n, n))
    for k in np.unique(before):
        change[before == k] = bdf_change(k, ratios[before == k])
    within = rows <= before[:, None]
    predict = within.astype(float)
    gamma = np.append(gammas, np.zeros(n - len(gammas))) * within
    updates = {k: _bdf_update(k) for k in np.unique(before)}
    keep, add = (np.stack([updates[k][part] for k in before]) for part in range(2))
    order = rows <= np.asarray(after)[:, None]
    return change, predict, gamma, keep, add, 1 / alphas[before], order.astype(float)


def _bdf_update(order: int) -> tuple[Any, Any]:
    """Return the matrix and the vector that make differences after a step of those before, and d.

    D[k+2] = d - D[k+1], D[k+1] = d, and then D[j] += D[j+1] downwards.
    """
    keep, add = np.eye(_DIFFERENCES), np.zeros(_DIFFERENCES)
    keep[order + 2] = 0
    keep[order + 2, order + 1] = -1
    keep[order + 1] = 0
    add[order + 1 : order + 3] = 1
    for j in reversed(range(order + 1)):
        keep[j] += keep[j + 1]
        add[j] += add[j + 1]
    return keep, add


def bdf_tables(first: Any, states: Sequence[Any], matrices: Sequence[Any]) -> Any:
    """Return the differences behind all steps, of the states there.

    `first`: differences before the first step.
    `states`: the states.
    `matrices`: what `bdf_matrices` returned.
    """
    change, predict, _, keep, add, *_ = matrices
    found, carry = [], first
    for k, state in enumerate(states):
        carry = change[k] @ carry
        carry = keep[k] @ carry + add[k][:, None] * (state - predict[k] @ carry)
        found.append(carry)
    return np.stack(found)


def bdf_change(order: int, ratio: Any) -> Any:
    """Return the matrix that makes differences of an order those for steps of other length.

    Its factors are R(r), with Rᵢⱼ = Π (m - 1 - r·j)/m over m from 1 to i, and R(1).  There may be
    an array of ratios.
    """
    i, j = np.arange(1, order + 1)[:, None], np.arange(1, order + 1)
    first = np.zeros((order + 1, order + 1))
    first[0] = 1
    below = np.eye(order + 1)[:, 1:]

    def factor(r: Any) -> Any:
        return first + below @ np.cumprod((i - 1 - r * j) / i, axis=-2) @ below.T

    used = np.eye(_DIFFERENCES)[:, : order + 1]
    rest = np.diag((np.arange(_DIFFERENCES) > order).astype(float))
    changed = factor(ratio[..., None, None]) @ factor(1.0)
    return rest + used @ np.swapaxes(changed, -1, -2) @ used.T


class Method(NamedTuple):
    """A method: how it is made, and how many coefficients its polynomials have."""

    make: Callable[[], Any]
    terms: int

    def __call__(self) -> Any:
        """Make the method."""
        return self.make()


METHODS = {
    "RK23": Method(lambda: RungeKutta("RK23"), 3),
    "RK45": Method(lambda: RungeKutta("RK45"), 4),
    "DOP853": Method(lambda: RungeKutta("DOP853"), 7),
    "Radau": Method(Radau, 3),
    "BDF": Method(lambda: Multistep(_DIFFERENCES, has_differences=True), _DIFFERENCES),
    **{
        "LSODA" + f" of order {n}" * (n < nordsieck.HIGHEST): Method(
            partial(Multistep, n + 2, has_differences=False), n + 2
        )
        for n in (*nordsieck.ORDERS, nordsieck.HIGHEST)
    },
}
"""By name."""
