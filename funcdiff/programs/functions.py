"""Objective and constraints of a nonlinear program as compiled functions of vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.control.scanning import map as map_rows
from funcdiff.api.derivatives.gradient import grad, value_and_grad
from funcdiff.api.derivatives.hessian import hessian
from funcdiff.api.derivatives.jacobian import value_and_jacobian
from funcdiff.api.derivatives.queries import depends_on, sparsity
from funcdiff.api.derivatives.sparse_matrices import Entries
from funcdiff.api.jit import jit
from funcdiff.api.raveling import ravel_pytree
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.tracebacks import public
from funcdiff.errors import FuncdiffError, InputError, user_location

LARGE: Final = 100
"""Variables from which on matrices are sparse: smaller ones are factorized sooner dense."""
_FULL: Final = 0.5
"""The density from which on a Jacobian is cheaper as an array."""
_STEEP: Final = 100.0
"""The largest first derivative that is not scaled."""
_RUNS: Final = 64
"""Runs of rows that are looked at for constant derivatives; more take longer than they save."""


class At(NamedTuple):
    """What the solvers ask for at one point."""

    value: Any
    gradient: Any
    constraints: Any
    jacobian: Entries


@dataclass
class Functions:
    """Objective and m constraints as functions of a vector of n numbers, and their bounds.

    One program computes what a point has first, and the last point is kept. Where NumPy finds a
    matrix singular, everything is NaN: solvers then take a shorter step. `factors` scale the
    objective and the constraints.
    """

    f: Callable[..., Any]
    c: Callable[..., Any] | None
    containers: tuple[Callable[[Any], Any], Callable[[Any], Any]]  # of x and of c(x), of vectors
    args: tuple[Any, ...]
    start: Any
    bounds: tuple[Any, Any]
    cbounds: tuple[Any, Any]
    notes: list[str] = field(default_factory=list)
    factors: tuple[float, Any] | None = None
    _last: tuple[Any, At] | None = field(default=None, repr=False)
    _places: dict[str, Entries] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled, which cannot be pickled."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

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
        return self.f(self.containers[0](z), *args)

    def constraints(self, z: Any, *args: Any) -> Any:
        """Return the vector of constraints."""
        if self.c is None:
            return np.zeros(0)
        return ravel_pytree(self.c(self.containers[0](z), *args))[0]

    def lagrangian(self, z: Any, factor: Any, multipliers: Any, *args: Any) -> Any:
        """Return ``factor·f + multipliers·c``."""
        value = factor * self.objective(z, *args)
        return value + multipliers @ self.constraints(z, *args) if self.m else value

    @cached_property
    def plain(self) -> Callable[..., tuple[Any, Any]]:
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

    @public
    def at(self, z: Any) -> At:
        """Return value, gradient, constraints and Jacobian at a point."""
        last = self._last
        if last is None or not (last[0] == z).all():
            here = np.array(z, dtype=float)  # a copy: solvers write into their vectors
            self._last = last = here, self._at(here)
        return last[1]  # of this thread

    def _at(self, z: Any) -> At:
        found = self._compute(self._first, z)
        if found is None:
            value, gradient, constraints = np.nan, np.full(self.n, np.nan), np.full(self.m, np.nan)
            return At(value, gradient, constraints, self.places("Jacobian"))
        value, gradient, constraints, (data, (rows, columns)) = found
        if self.factors is not None:
            of, each = self.factors
            value, gradient, constraints = of * value, of * gradient, each * constraints
            data = each[rows] * data
        return At(value, gradient, constraints, Entries(data, rows, columns, (self.m, self.n)))

    @public
    def values(self, z: Any) -> tuple[Any, Any]:
        """Return objective and constraints, without derivatives."""
        found = self._compute(self.plain, np.array(z, dtype=float))
        value, constraints = found or (np.nan, np.full(self.m, np.nan))
        of, each = self.factors or (1.0, 1.0)
        return of * value, each * constraints

    @public
    def hessian(self, z: Any, factor: float, multipliers: Any) -> Entries:
        """Return the second derivatives of the Lagrangian, both triangles."""
        of, each = self.factors or (1.0, 1.0)
        weights = each * np.asarray(multipliers, dtype=float)
        found = self._compute(self._second, np.array(z, dtype=float), float(of * factor), weights)
        if found is None:
            return self.places("Hessian")
        data, (rows, columns) = found
        return Entries(data, rows, columns, (self.n, self.n))

    def with_factors(self) -> Functions:
        """Return the program with factors by which first derivatives at the start are at most 100.

        Only what is larger is scaled (A. Wächter and L. T. Biegler, On the implementation of an
        interior-point filter line-search algorithm, Mathematical Programming 106, 2006, 3.8).
        """
        here, steep = self.at(self.start), np.zeros(self.m)
        np.maximum.at(steep, here.jacobian.rows, np.abs(here.jacobian.data))
        of, each = (
            np.where(np.isfinite(s), _STEEP / np.maximum(s, _STEEP), 1.0)
            for s in (np.max(np.abs(here.gradient)), steep)
        )
        found = object.__new__(Functions)
        vars(found).update(vars(self))  # with what is compiled
        found.factors, found._last = (float(of), each), None
        found.cbounds = self.cbounds[0] * each, self.cbounds[1] * each
        return found

    def _compute(self, function: Callable[..., Any], *operands: Any) -> Any:
        """Return what a function of the program returns, or None where a matrix is singular."""
        try:
            return quiet(function, *operands, *self.args)
        except np.linalg.LinAlgError:
            return None

    def places(self, name: str) -> Entries:
        """Return NaN at the places at which the Jacobian or the Hessian may have entries.

        Where Python decides by values, small matrices have all places.
        """
        if name not in self._places:
            of, *operands = (
                (self.constraints,)
                if name == "Jacobian"
                else (grad(self.lagrangian), 1.0, np.ones(self.m))
            )
            pattern = sparsity(of)(self.start, *operands, *self.args)
            rows, columns, full = pattern.rows, pattern.cols, pattern.density > _FULL
            if not full and self.n < LARGE and self._branches(of, *operands):
                full = True
                self.notes.append(f"Python decides by values: the {name} has all places")
            if full:
                rows, columns = map(np.ravel, np.indices(pattern.shape))
            self._keep_places(name, rows, columns, pattern.shape)
        return self._places[name]

    def at_places(self, name: str, entries: Entries, places: Entries) -> Any:
        """Return entries at fixed places, row by row, with zeros where there are none."""
        if all(map(np.array_equal, places[1:3], entries[1:3])):
            return entries.data
        n, now = self.n, self.places(name)
        fixed, keys, known = (x.rows * n + x.columns for x in (places, entries, now))
        if len(np.setdiff1d(keys, fixed)):
            union = np.union1d(known, keys)
            if len(union) > len(known):
                self.notes.append(f"Python decides by values: the {name} got further places")
            self._keep_places(name, *np.divmod(union, n), entries.shape)
            raise InputError(
                f"nlp: the {name} has entries here where it has none at x0, at {user_location()}: "
                "a branch of Python's decides by values. Make the solver's problem again, which "
                "knows of these places, or write np.where, which has those of both."
            )
        found = np.zeros(len(fixed))
        found[np.searchsorted(fixed, keys)] = entries.data
        return found

    def _keep_places(self, name: str, rows: Any, columns: Any, shape: tuple[int, int]) -> None:
        self._places[name] = Entries(np.full(len(rows), np.nan), rows, columns, shape)

    def _branches(self, f: Callable[..., Any], *operands: Any) -> bool:
        """Whether Python looks at values in a function, so that its program is one of several."""
        try:  # the body of a loop is traced without values
            quiet(map_rows, lambda z: f(z, *operands, *self.args), self.start[None])
        except FuncdiffError:
            return True
        except np.linalg.LinAlgError:
            pass
        return False

    @cached_property
    def linear(self) -> Any:
        """For each constraint whether its derivative is certainly the same everywhere.

        Rows whose entries have no derivative are candidates, and the program of these rows tells
        whether entries depend on ``z`` otherwise, as those of ``np.abs``.  If Python looks at
        values, no row is certain.
        """
        linear, z = np.zeros(self.m, bool), self.start
        if not self.m or self._branches(self.constraints):
            return linear

        def entries(z: Any, start: int, end: int) -> Any:
            def part(z: Any) -> Any:
                return self.constraints(z, *self.args)[start:end]

            return _value_and_jacobian(part, z)[1]

        varying = sparsity(lambda z: entries(z, 0, self.m)[0])(z).rows
        linear[:] = True
        linear[self.places("Jacobian").rows[varying]] = False
        changes = np.flatnonzero(np.diff(linear, prepend=False, append=False))
        runs = changes.reshape(-1, 2).tolist()
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
    return bool(sparsity(f)(*args).density > _FULL)


def _entries(J: Any) -> Any:
    """Return all entries of an array as those of a sparse matrix."""
    rows, columns = np.indices(J.shape)
    return np.ravel(J), (rows.ravel(), columns.ravel())
