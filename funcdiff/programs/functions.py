"""Objective and constraints of a nonlinear program as compiled functions of vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff.api.control.scanning import map as map_rows
from funcdiff.api.derivatives.gradient import grad, value_and_grad
from funcdiff.api.derivatives.hessian import hessian
from funcdiff.api.derivatives.jacobian import value_and_jacobian
from funcdiff.api.derivatives.queries import Sparsity, depends_on, sparsity
from funcdiff.api.derivatives.sparse_matrices import Entries
from funcdiff.api.jit import Engine, jit
from funcdiff.core.late import computed
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.tracebacks import public
from funcdiff.errors import FuncdiffError, InputError, user_location
from funcdiff.passes.sparsity.assembly import FullPattern, Pattern, pattern_of_keys

LARGE: Final = 100
"""Variables from which on matrices are sparse: smaller ones are factorized sooner dense."""
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
    objective and the constraints. Equal patterns are one object, which is quick to compare.
    """

    f: Callable[..., Any]
    c: Callable[..., Any] | None
    containers: tuple[Any, Any]  # of x and of c(x): what makes them of vectors, and back
    args: tuple[Any, ...]
    start: Any
    bounds: tuple[Any, Any]
    cbounds: tuple[Any, Any]
    engine: Engine | None = None
    notes: list[str] = field(default_factory=list)
    factors: tuple[float, Any] | None = None
    _last: tuple[bytes, At] | None = field(default=None, repr=False)
    _places: dict[str, Pattern] = field(default_factory=dict, repr=False)
    _patterns: dict[Pattern, Pattern] = field(default_factory=dict, repr=False)

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
        """Return the objective; a constant may be an integer."""
        value = self.f(self.containers[0](z), *args)
        return float(value) if isinstance(value, int) else value

    def constraints(self, z: Any, *args: Any) -> Any:
        """Return the vector of constraints."""
        if self.c is None:
            return np.zeros(0)
        values = self.c(self.containers[0](z), *args)
        return self.containers[1].ravel(values, "nlp: c(x)", "that of x0")

    def lagrangian(self, z: Any, factor: Any, multipliers: Any, *args: Any) -> Any:
        """Return ``factor·f + multipliers·c``."""
        value = factor * self.objective(z, *args)
        return value + multipliers @ self.constraints(z, *args) if self.m else value

    @computed
    def plain(self) -> Callable[..., tuple[Any, Any]]:
        """Return the compiled function from ``z`` to objective and constraints."""
        both = self.objective, self.constraints
        return jit(lambda *at: tuple([f(*at) for f in both]), engine=self.engine)

    @computed
    def _first(self) -> Callable[..., Any]:
        def first(z: Any, *args: Any) -> Any:
            value, gradient = value_and_grad(self.objective)(z, *args)
            if not self.m:
                return value, gradient, np.zeros(0), np.zeros(0), self._is(FullPattern(0, self.n))
            values, data, pattern = _value_and_jacobian(self.constraints, z, *args)
            return value, gradient, values, data, self._is(pattern)

        return jit(first, engine=self.engine)

    @computed
    def _second(self) -> Callable[..., Any]:
        def second(z: Any, *args: Any) -> Any:
            pattern = sparsity(grad(self.lagrangian))(z, *args).pattern
            if pattern.is_half_full:  # then an array is cheaper
                full = np.ravel(hessian(self.lagrangian)(z, *args))
                return full, self._is(FullPattern(self.n, self.n))
            data, (rows, columns) = hessian(self.lagrangian, sparse=True, format="coo")(z, *args)
            return data, self._is(Pattern(rows, columns, pattern.shape))

        return jit(second, engine=self.engine)

    def _is(self, pattern: Pattern) -> Sparsity:
        """Return the pattern that stands for all equal ones, as `jit` passes it through."""
        return Sparsity(self._patterns.setdefault(pattern, pattern))

    @public
    def at(self, z: Any) -> At:
        """Return value, gradient, constraints and Jacobian at a point."""
        z, last = np.asarray(z, dtype=float), self._last
        point = z.tobytes()  # solvers write into their vectors
        if last is None or last[0] != point:
            self._last = last = point, self._at(z)
        return last[1]  # of this thread

    def _at(self, z: Any) -> At:
        found = self._compute(self._first, z)
        if found is None:
            value, gradient, constraints = np.nan, np.full(self.n, np.nan), np.full(self.m, np.nan)
            return At(value, gradient, constraints, Entries.of_nan(self.places("Jacobian")))
        value, gradient, constraints, data, places = found
        if self.factors is not None:
            of, each = self.factors
            value, gradient, constraints = of * value, of * gradient, each * constraints
            data = each[places.pattern.rows] * data
        return At(value, gradient, constraints, Entries(data, places.pattern))

    @public
    def values(self, z: Any) -> tuple[Any, Any]:
        """Return objective and constraints, without derivatives."""
        found = self._compute(self.plain, np.asarray(z, dtype=float))
        value, constraints = found or (np.nan, np.full(self.m, np.nan))
        of, each = self.factors or (1.0, 1.0)
        return of * value, each * constraints

    @public
    def hessian(self, z: Any, factor: float, multipliers: Any) -> Entries:
        """Return the second derivatives of the Lagrangian, both triangles."""
        of, each = self.factors or (1.0, 1.0)
        weights = each * np.asarray(multipliers, dtype=float)
        if weights.shape != (self.m,):
            raise InputError(
                f"nlp: multipliers have shape {weights.shape}, not ({self.m},), at "
                f"{user_location()}. Give one for each constraint."
            )
        z = np.asarray(z, dtype=float)
        found = self._compute(self._second, z, float(of * factor), weights)
        if found is None:
            return Entries.of_nan(self.places("Hessian"))
        data, places = found
        return Entries(data, places.pattern)

    def with_factors(self) -> Functions:
        """Return the program with factors by which first derivatives at the start are at most 100.

        Only what is larger is scaled (A. Wächter and L. T. Biegler, On the implementation of an
        interior-point filter line-search algorithm, Mathematical Programming 106, 2006, 3.8).
        """
        here, steep = self.at(self.start), np.zeros(self.m)
        np.maximum.at(steep, here.jacobian.pattern.rows, np.abs(here.jacobian.data))
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

    def places(self, name: str) -> Pattern:
        """Return the places at which the Jacobian or the Hessian may have entries.

        Where Python decides by values, small matrices have all places.
        """
        if name not in self._places:
            of, *operands = (
                (self.constraints,)
                if name == "Jacobian"
                else (grad(self.lagrangian), 1.0, np.ones(self.m))
            )
            pattern = sparsity(of)(self.start, *operands, *self.args).pattern
            full = pattern.is_half_full
            if not full and self.n < LARGE and self._branches(of, *operands):
                full = True
                self.notes.append(f"Python decides by values: the {name} has all places")
            self._places[name] = self._is(FullPattern(*pattern.shape) if full else pattern).pattern
        return self._places[name]

    def at_places(self, name: str, entries: Entries, fixed: Pattern) -> Any:
        """Return entries at fixed places, row by row, with zeros where there are none."""
        if entries.pattern == fixed:
            return entries.data
        keys, known = entries.pattern.keys, self.places(name).keys
        if entries.pattern.first_beyond(fixed) is not None:
            union = np.union1d(known, keys)
            if len(union) > len(known):
                self.notes.append(f"Python decides by values: the {name} got further places")
            self._places[name] = self._is(pattern_of_keys(union, fixed.shape, ordered=True)).pattern
            raise InputError(
                f"nlp: the {name} has entries here where it has none at x0, at {user_location()}: "
                "a branch of Python's decides by values. Make the solver's problem again, which "
                "knows of these places, or write np.where, which has those of both."
            )
        found = np.zeros(fixed.nnz)
        found[np.searchsorted(fixed.keys, keys)] = entries.data
        return found

    def _branches(self, f: Callable[..., Any], *operands: Any) -> bool:
        """Whether Python looks at values in a function, so that its program is one of several."""
        try:  # the body of a loop is traced without values
            quiet(map_rows, lambda z: f(z, *operands, *self.args), self.start[None])
        except FuncdiffError:
            return True
        except np.linalg.LinAlgError:
            pass
        return False

    @computed
    def linear(self) -> Any:
        """For each constraint whether its derivative is certainly the same everywhere.

        Rows whose entries have no derivative are candidates, and the program of these rows tells
        whether entries depend on ``z`` otherwise, as those of ``np.abs``.  If Python looks at
        values, no row is certain.
        """
        linear, candidates = np.zeros(self.m, bool), np.ones(self.m, bool)
        if not self.m or self._branches(self.constraints):
            return linear

        def entries(z: Any, start: int, end: int) -> Any:
            return _value_and_jacobian(lambda z: self.constraints(z, *self.args)[start:end], z)[1]

        z, pattern = self.start, self.places("Jacobian")
        candidates[pattern.rows[sparsity(lambda z: entries(z, 0, self.m))(z).rows]] = False
        changes = np.flatnonzero(np.diff(candidates, prepend=False, append=False))
        runs = changes.reshape(-1, 2).tolist()
        if runs and len(runs) <= _RUNS:
            moved = depends_on(lambda z: [entries(z, *run) for run in runs])(z)
            for (start, end), depends in zip(runs, moved, strict=True):
                linear[start:end] = not depends
        return linear


def _value_and_jacobian(c: Callable[..., Any], z: Any, *args: Any) -> tuple[Any, Any, Pattern]:
    """Return the value and the entries of the Jacobian, with their places."""
    pattern = sparsity(c)(z, *args).pattern
    if pattern.is_half_full:  # then an array is cheaper
        value, J = value_and_jacobian(c)(z, *args)
        return value, np.ravel(J), FullPattern(*J.shape)
    value, (data, (rows, columns)) = value_and_jacobian(c, sparse=True, format="coo")(z, *args)
    return value, data, Pattern(rows, columns, pattern.shape)
