"""Objective and constraints of a nonlinear program as compiled functions of vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.control.scanning import map as map_rows
from funcdiff.api.derivatives.gradient import grad, value_and_grad
from funcdiff.api.derivatives.hessian import hessian
from funcdiff.api.derivatives.jacobian import value_and_jacobian
from funcdiff.api.derivatives.queries import depends_on, sparsity
from funcdiff.api.jit import jit
from funcdiff.api.vectors import ravel_pytree
from funcdiff.core.late import scipy_function
from funcdiff.core.quiet import quiet
from funcdiff.errors import FuncdiffError, InputError, user_location

_RUNS: Final = 64
"""Runs of rows that are looked at for constant derivatives; more take longer than they save."""


class Entries(NamedTuple):
    """A sparse matrix: its entries, row by row, with their places."""

    data: Any
    rows: Any
    columns: Any
    shape: tuple[int, int]

    def dense(self) -> Any:
        """Return the matrix as an array."""
        found = np.zeros(self.shape)
        found[self.rows, self.columns] = self.data
        return found

    def sparse(self) -> Any:
        """Return the matrix as one of SciPy's."""
        places = (self.data, (self.rows, self.columns))
        return scipy_function("csr_array", "scipy.sparse")(places, shape=self.shape)

    def lower(self) -> Entries:
        """Return the entries of the lower triangle."""
        chosen = self.rows >= self.columns
        return Entries(self.data[chosen], self.rows[chosen], self.columns[chosen], self.shape)


class At(NamedTuple):
    """What the solvers ask for at one point."""

    value: Any
    gradient: Any
    constraints: Any
    jacobian: Entries


@dataclass
class Functions:
    """Objective and m constraints as functions of a vector of n numbers, and their bounds.

    Value, gradient, constraints and Jacobian come from one program, and are kept for the last
    point. Where NumPy finds a matrix singular, everything is NaN: solvers then take a shorter step.
    """

    f: Callable[..., Any]
    c: Callable[..., Any] | None
    unravel: Callable[[Any], Any]
    args: tuple[Any, ...]
    start: Any
    bounds: tuple[Any, Any]
    cbounds: tuple[Any, Any]
    _last: tuple[Any, At] | None = field(default=None, repr=False)
    _curved: Entries | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.start)

    @property
    def m(self) -> int:
        """The number of constraints."""
        return len(self.cbounds[0])

    def objective(self, z: Any, *args: Any) -> Any:
        """Return the objective."""
        return self.f(self.unravel(z), *args)

    def constraints(self, z: Any, *args: Any) -> Any:
        """Return the vector of constraints."""
        return np.zeros(0) if self.c is None else ravel_pytree(self.c(self.unravel(z), *args))[0]

    def lagrangian(self, z: Any, factor: Any, multipliers: Any, *args: Any) -> Any:
        """Return ``factor·f + multipliers·c``."""
        value = factor * self.objective(z, *args)
        return value + multipliers @ self.constraints(z, *args) if self.m else value

    @cached_property
    def values(self) -> Callable[..., tuple[Any, Any]]:
        """Return the compiled function from ``z`` to objective and constraints."""
        return jit(lambda z, *args: (self.objective(z, *args), self.constraints(z, *args)))

    @cached_property
    def _first(self) -> Callable[..., Any]:
        def first(z: Any, *args: Any) -> Any:
            value, gradient = value_and_grad(self.objective)(z, *args)
            if not self.m:
                return value, gradient, np.zeros(0), (np.zeros(0), (np.zeros(0, int),) * 2)
            return value, gradient, *_value_and_jacobian(self.constraints, z, *args)

        return jit(first)

    @cached_property
    def _second(self) -> Callable[..., Any]:
        def second(z: Any, *args: Any) -> Any:
            if _is_full(grad(self.lagrangian), z, *args):
                return _entries(hessian(self.lagrangian)(z, *args))
            return hessian(self.lagrangian, sparse=True, format="coo")(z, *args)

        return jit(second)

    def at(self, z: Any) -> At:
        """Return value, gradient, constraints and Jacobian at a point."""
        last = self._last
        if last is None or not (last[0] == z).all():
            here = np.array(z, dtype=float)  # a copy: solvers write into their vectors
            self._last = last = here, self._at(here)
        return last[1]  # of this thread

    def _at(self, z: Any) -> At:
        try:
            value, gradient, constraints, (data, (rows, columns)) = quiet(
                self._first, z, *self.args
            )
        except np.linalg.LinAlgError:
            if self._last is None:
                raise
            return At(*(_nan_like(part) for part in self._last[1]))
        entries = Entries(data, rows, columns, (self.m, self.n))
        return At(value, gradient, constraints, entries)

    def hessian(self, z: Any, factor: float, multipliers: Any) -> Entries:
        """Return the second derivatives of the Lagrangian, both triangles."""
        z, weights = np.array(z, dtype=float), np.asarray(multipliers, dtype=float)
        try:
            data, (rows, columns) = quiet(self._second, z, float(factor), weights, *self.args)
        except np.linalg.LinAlgError:
            if self._curved is None:
                raise
            return self._curved._replace(data=_nan_like(self._curved.data))
        self._curved = Entries(data, rows, columns, (self.n, self.n))
        return self._curved

    @cached_property
    def linear(self) -> Any:
        """For each constraint whether its derivative is certainly the same everywhere.

        Rows whose entries have no derivative are candidates; that their entries do not depend on
        ``z`` otherwise either, as those of ``np.abs`` do, is read off the program of these rows.
        Where Python looks at values, the program is that of the start only, and no row is certain.
        """
        linear, z = np.zeros(self.m, bool), self.start
        if not self.m:
            return linear
        try:  # the body of a loop is traced without values
            map_rows(lambda z: self.constraints(z, *self.args), z[None])
        except FuncdiffError:
            return linear

        def entries(z: Any, start: int, end: int) -> Any:
            def part(z: Any) -> Any:
                return self.constraints(z, *self.args)[start:end]

            return _value_and_jacobian(part, z)[1]

        varying = sparsity(lambda z: entries(z, 0, self.m)[0])(z).rows
        linear[:] = True
        linear[entries(z, 0, self.m)[1][0][varying]] = False
        steps = np.diff(np.concatenate([[0], linear, [0]]))
        starts, ends = np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist()
        runs = list(zip(starts, ends, strict=True))
        linear[:] = False
        if runs and len(runs) <= _RUNS:
            moved = depends_on(lambda z: [entries(z, *run)[0] for run in runs])(z)
            for (start, end), depends in zip(runs, moved, strict=True):
                linear[start:end] = not depends
        return linear


def _value_and_jacobian(c: Callable[..., Any], z: Any, *args: Any) -> Any:
    """Return the value and the entries of the Jacobian, with their places."""
    if _is_full(c, z, *args):
        value, J = value_and_jacobian(c)(z, *args)
        return value, _entries(J)
    return value_and_jacobian(c, sparse=True, format="coo")(z, *args)


def _is_full(f: Callable[..., Any], *args: Any) -> bool:
    """Whether a Jacobian is cheaper as an array than by its entries."""
    return bool(sparsity(f)(*args).density > 0.5)


def _entries(J: Any) -> Any:
    """Return all entries of an array as those of a sparse matrix."""
    rows, columns = np.indices(J.shape)
    return np.ravel(J), (rows.ravel(), columns.ravel())


def _nan_like(part: Any) -> Any:
    """Return NaN in place of numbers."""
    if isinstance(part, Entries):
        return part._replace(data=_nan_like(part.data))
    return np.full(np.shape(part), np.nan)[()]


def within(entries: Entries, places: Sequence[Any], what: str) -> Any:
    """Return the entries at fixed places, row by row, with zeros where there are none."""
    rows, columns = places
    own = entries.rows, entries.columns
    if len(rows) == len(own[0]) and (rows == own[0]).all() and (columns == own[1]).all():
        return entries.data
    wide = entries.shape[1]
    fixed, keys = rows * wide + columns, entries.rows * wide + entries.columns
    k = np.minimum(np.searchsorted(fixed, keys), max(len(fixed) - 1, 0))
    if len(keys) and not (len(fixed) and np.all(fixed[k] == keys)):
        raise InputError(
            f"nlp: the {what} has entries here where it has none at x0, at {user_location()}: a "
            "branch of Python's decides by values. Write np.where, which has the places of both."
        )
    found = np.zeros(len(fixed))
    found[k] = entries.data
    return found
