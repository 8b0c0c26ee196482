"""`nlp`: a constrained minimisation over containers, for solvers of nonlinear programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any, Final, Generic

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_function, ints_of, is_int, lists_are_containers
from funcdiff.api.coordinates import Coordinates, bound_vectors, check_dtypes, refuse_traced
from funcdiff.api.derivatives.queries import sparsity
from funcdiff.api.jit import Engine, check_engine
from funcdiff.api.raveling import ravel_pytree
from funcdiff.api.signatures.variables import X
from funcdiff.core.late import late_import, scipy_function
from funcdiff.core.tracebacks import public
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.programs.functions import LARGE, Functions
from funcdiff.programs.sensitivity import derivatives
from funcdiff.programs.solutions import Solution, finish, violation
from funcdiff.programs.solvers import Callbacks, default_options, minimize_arguments

_REAL: Final = ": solvers vary and bound real floating numbers. Make it a float, or leave it out."


@public
def nlp(
    f: Callable[..., Any],
    c: Callable[..., Any] | None,
    x0: X,
    bounds: Any = None,
    cbounds: Any = None,
    args: Sequence[Any] = (),
    *,
    engine: Engine | None = None,
) -> NonlinearProgram[X]:
    """Return the program: minimise ``f(x, *args)`` with `x` and ``c(x, *args)`` between bounds.

    Solvers see vectors of float64, in which the leaves of `x` and of what `c` returns stand one
    after the other. All derivatives are exact, compiled, and sparse.

    Parameters
    ----------
    f
        Function that returns a real scalar.
    c
        Function that returns a container of real arrays, or None for no constraints.
    x0
        Container of floating numbers and arrays within `bounds`: where solvers start.
    bounds
        Pair ``(low, high)`` for `x`. Each is None, a number for all elements, or a container like
        `x0` with None, a number, or an array of the leaf's shape for each leaf. None is no bound.
    cbounds
        Pair ``(low, high)`` for ``c(x)``, in the same forms; needed if there is a `c`. Equal ones
        make equations: ``(0, 0)`` is ``c(x) = 0``, and ``(0, None)`` is ``c(x) >= 0``.
    args
        Further arguments of `f` and `c`: arrays and containers, as `jit` takes them.
    engine
        As for `jit`. ``"llvm"`` takes a fraction of a second to compile, and is several times as
        fast then: for programs that are solved again and again, or take thousands of iterations.

    Returns
    -------
    NonlinearProgram
        With ``solve()``, ``scipy(method)``, ``problem()`` and ``sensitivity(solution)``.

    Raises
    ------
    InputError
        If `x0` is not real and floating, or not within bounds; if bounds do not fit or cross; if
        there is `c` without `cbounds`, or the other way round; if the engine is not installed.
    OutputError
        If `f` does not return a real scalar, or `c` no real numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> f, c = lambda x: np.sum((x - 2.0) ** 2), lambda x: np.sum(x)
    >>> program = fd.nlp(f, c, np.zeros(2), cbounds=(None, 1.0))
    >>> program.solve().x.round(6)
    array([0.5, 0.5])
    """
    check_function(f, "nlp", "f")
    if c is not None:
        check_function(c, "nlp", "c")
    if (c is None) != (cbounds is None):
        raise InputError(
            f"nlp: cbounds is {cbounds!r} and c is {'None' if c is None else 'given'}, at "
            f"{user_location()}. Give both: cbounds=(0, 0) is c(x) = 0, (0, None) is c(x) >= 0."
        )
    if not isinstance(args, list | tuple):
        raise InputError(
            f"nlp: args is {args!r}, not a tuple, at {user_location()}. Write args=(value,), with "
            "the comma."
        )
    check_engine(engine)
    within = "pass what varies in args=, and differentiate the solution by program.sensitivity."
    refuse_traced((x0, args, bounds, cbounds), "fd.nlp", within)
    check_dtypes(x0, "nlp: x0", _REAL, InputError)
    z0, unravel = ravel_pytree(x0)
    if not len(z0):
        raise InputError(f"nlp: x0 has no numbers, at {user_location()}. Give what to vary.")
    low, high = bound_vectors(_pair(bounds, "bounds"), x0, "nlp: bounds")
    cure = "Start within bounds: np.clip(x0, low, high)."
    Coordinates.of(x0).check_within(z0, low, high, ("nlp: x", " of x0", cure))
    z0, args = z0.astype(float), tuple(args)
    with lists_are_containers(x0, "x0"):
        value: Any = _first_value(f, unravel, z0, args)
        found = None if c is None else _first_value(c, unravel, z0, args)
    refuse_traced((value, found), "fd.nlp", f"f or c closes over a traced number; {within}")
    value = float(value) if isinstance(value, int) else value  # where any solution will do
    if np.shape(value) != () or np.asarray(value).dtype.kind != "f":
        raise OutputError(
            f"nlp: f returned an array of shape {np.shape(value)} and dtype "
            f"{np.asarray(value).dtype}, at {user_location()}. Return a real scalar: np.sum(terms)."
        )
    limits = np.zeros(0), np.zeros(0)
    if c is not None:
        check_dtypes(found, "nlp: c(x0)", _REAL, OutputError)
        limits = bound_vectors(_pair(cbounds, "cbounds"), found, "nlp: cbounds", "c")
        if not len(limits[0]):
            raise OutputError(
                f"nlp: c returned {found!r}, without numbers, at {user_location()}. Return what "
                "cbounds are for, or give c=None."
            )
    back = ravel_pytree(found)[1]
    functions = Functions(f, c, (unravel, back), args, z0, (low, high), limits, engine)
    return NonlinearProgram(functions)


def _pair(bounds: Any, name: str) -> tuple[Any, Any]:
    """Return lower and upper bounds; SciPy's pairs for each element are told how they become so."""
    if bounds is None:
        return None, None
    pairs = isinstance(bounds, list) and all(isinstance(x, tuple) for x in bounds)
    if pairs or not isinstance(bounds, tuple | list) or len(bounds) != 2:
        cure = " Of a pair for each element make it by tuple(np.transpose(pairs))." if pairs else ""
        raise InputError(
            f"nlp: {name} is {bounds!r}, at {user_location()}. Give a pair (low, high) of numbers, "
            f"of containers, or of None where there is no bound.{cure}"
        )
    return bounds[0], bounds[1]


def _first_value(f: Callable[..., Any], unravel: Any, z: Any, args: tuple[Any, ...]) -> Any:
    """Return what a function returns at the start, as NaN where a matrix is singular there."""
    try:
        with np.errstate(all="ignore"):
            return f(unravel(z), *args)
    except np.linalg.LinAlgError:
        found: list[Any] = []

    def blank(z: Any) -> Any:
        value = f(unravel(z), *args)
        found.append(pytree.map(lambda x: np.full(np.shape(x), np.nan), value))
        return ravel_pytree(value)[0]

    sparsity(blank)(z)  # it has no need of values
    return found[0]


@public
@dataclass(frozen=True, eq=False)
class NonlinearProgram(Generic[X]):
    """Minimise ``f(x)`` subject to bounds of x and of ``c(x)``; `nlp` makes it.

    Attributes
    ----------
    functions
        What solvers see: objective, constraints and derivatives of the vector, and bounds.
    """

    functions: Functions

    def __repr__(self) -> str:
        return (
            f"<NonlinearProgram of {len(self.start)} variables, {len(self.cbounds[0])} constraints>"
        )

    @property
    def start(self) -> Any:
        """Vector ``(n,)`` of `x0`."""
        return self.functions.start.copy()

    @property
    def bounds(self) -> tuple[Any, Any]:
        """Lower and upper bounds of the vector, infinite where there are none: arrays ``(n,)``."""
        return self.functions.bounds

    @property
    def cbounds(self) -> tuple[Any, Any]:
        """Lower and upper bounds of the constraints: two arrays ``(m,)``."""
        return self.functions.cbounds

    @property
    def linear(self) -> Any:
        """Flags ``(m,)`` of the constraints that are certainly linear, or linear plus constant."""
        return self.functions.linear

    @property
    def notes(self) -> list[str]:
        """What was noticed of the structure: matrices of which branches of Python's decide it."""
        return list(self.functions.notes)

    def vector(self, x: X) -> Any:
        """Return the vector ``(n,)`` of a container, which is like `x0`."""
        return self.functions.containers[0].ravel(x, "nlp: x", "x0").astype(float)

    def container(self, z: Any) -> X:
        """Return the container that a vector ``(n,)`` stands for."""
        x: X = self.functions.containers[0](np.asarray(z, dtype=float))
        return x

    def scipy(self, method: str = "trust-constr") -> dict[str, Any]:
        """Return keyword arguments: ``scipy.optimize.minimize(**program.scipy("SLSQP"))``.

        Parameters
        ----------
        method
            "trust-constr" takes first and second derivatives, and linear constraints as such;
            "SLSQP" takes first ones, and dense matrices; "COBYQA" takes none.

        Raises
        ------
        InputError
            If the method is another.
        MissingDependencyError
            If SciPy is not installed.
        """
        return minimize_arguments(self.functions, method)

    def problem(self) -> Callbacks:
        """Return the callbacks for Ipopt.

        ``cyipopt.Problem(n, m, problem_obj=program.problem(), lb=low, ub=high, cl=clow, cu=chigh)``
        with the bounds of `bounds` and `cbounds`; ``solve(program.start)`` of it returns the vector
        of the solution, and `solution` takes what belongs to it.

        Raises
        ------
        InputError
            By `jacobian` and `hessian` of 100 variables or more, if they have entries at places
            where there were none at the start, as where Python's ``if`` decides by values; the next
            ``problem()`` has these too.
        """
        return Callbacks(self.functions)

    def pyomo(self, *, objective: bool = True) -> Any:
        """Return an ``ExternalGreyBoxModel`` for a block in a model of Pyomo's.

        ``block.set_external_model(program.pyomo())`` of an ``ExternalGreyBoxBlock`` makes the
        variables ``block.inputs["x['a'][0]"]`` and ``block.outputs["c['b']"]``, with bounds and
        values at the start. Pyomo's solver "cyipopt" gets all derivatives.

        Parameters
        ----------
        objective
            Whether `f` is the objective of the model, which must have no other one then.

        Raises
        ------
        MissingDependencyError
            If Pyomo is not installed.
        """
        return late_import("funcdiff.interop.pyomo").GreyBox(self.functions, objective=objective)

    def solve(
        self,
        method: str | None = None,
        *,
        scaling: bool = False,
        progress: bool = False,
        callback: Callable[[X], None] | None = None,
        **options: Any,
    ) -> Solution[X]:
        """Return what a solver of SciPy's finds from `x0`.

        Parameters
        ----------
        method
            As for `scipy`; by default "SLSQP" for fewer than 100 variables, and "trust-constr".
        scaling
            Whether the objective and each constraint get factors by which their first derivatives
            at the start are at most 100, as with Ipopt. The solver's options then hold for these.
        progress
            Whether each iteration writes a line to stderr.
        callback
            Function that is called with the container after each iteration.
        **options
            The method's options, as ``maxiter=`` and ``disp=True``.

        Returns
        -------
        Solution
            With `success` false where the solver gave up: nothing is raised then.

        Raises
        ------
        InputError
            If the method is not known.
        MissingDependencyError
            If SciPy is not installed.
        """
        method = method or ("SLSQP" if self.functions.n < LARGE else "trust-constr")
        functions = self.functions.with_factors() if scaling else self.functions
        arguments = minimize_arguments(functions, method)
        numbers = count(1)

        def after(z: Any, *_: Any) -> None:
            if callback is not None:
                callback(self.container(z))
            if progress:
                value, values = self.functions.values(z)
                left = violation(values, self.cbounds)
                said = f"f = {value:.6g}, constraints left by {left:.1e}"
                sys.stderr.write(f"nlp: iteration {next(numbers)}, {said}\n")

        if callback is not None or progress:
            arguments["callback"] = after
        options = default_options(functions, method) | options
        with np.errstate(all="ignore"):
            try:
                raw = scipy_function("minimize", "scipy.optimize")(**arguments, options=options)
            except ValueError as error:  # "trust-constr" where nothing is defined at the start
                if np.isfinite(arguments["fun"](arguments["x0"])):
                    raise
                raw = SimpleNamespace(x=arguments["x0"], message=f"undefined at x0: {error}")
        return finish(self.functions, np.array(raw.x, dtype=float), raw, functions)

    def sensitivity(
        self, solution: Solution[X], argnums: int | Sequence[int] = 0
    ) -> Callable[..., Any]:
        """Return the function that differentiates a solution with respect to `args`.

        What is active stays active: the derivatives are those of the equations that a solution
        satisfies then. Their matrix is sparse if 100 variables or more are free.

        Parameters
        ----------
        solution
            What `solve` returned.
        argnums
            The argument, counted without `x`, or several.

        Returns
        -------
        callable
            Of `args`, by default those of the program, returning what
            ``jacobian(x, argnums)(*args)`` is: a container like `x`, of containers like the
            argument, of arrays ``(*x.shape, *arg.shape)``; a tuple of those for several.

        Raises
        ------
        InputError
            If there is no such argument, or it is not floating.
        ConvergenceError
            When called, if the vector is no solution for these arguments, or no minimum, or where
            the optimality conditions are singular.

        Warns
        -----
        SolutionWarning
            If the multiplier of an active constraint is near 0.

        Examples
        --------
        >>> import numpy as np
        >>> import funcdiff as fd
        >>> f, c = lambda x, a: np.sum((x - a) ** 2), lambda x, a: np.sum(x)
        >>> program = fd.nlp(f, c, np.zeros(2), cbounds=(None, 1.0), args=(np.array([2.0, 3.0]),))
        >>> program.sensitivity(program.solve())().round(6)
        array([[ 0.5, -0.5],
               [-0.5,  0.5]])
        """
        n, size = self.functions.n, len(solution.vector)
        if n != size:
            raise InputError(
                f"nlp.sensitivity: this program has {n} variables, the solution {size}, at "
                f"{user_location()}. Give what solve() of this program returned."
            )
        chosen, most = ints_of(argnums), len(self.functions.args)
        if chosen is None or not all(-most <= k < most for k in chosen):
            raise InputError(
                f"nlp.sensitivity: argnums={argnums!r} for a program with {most} arguments, at "
                f"{user_location()}. Count them from 0, without x."
            )

        @public
        def at(*args: Any) -> Any:
            found = derivatives(self.functions, solution, chosen, args or self.functions.args)
            return found[0] if is_int(argnums) else tuple(found)

        return at

    def solution(self, z: Any, raw: Any = None) -> Solution[X]:
        """Return what belongs to the vector ``(n,)`` that a solver found.

        `raw` is the solver's result, with ``success``, ``status`` and ``message``.
        """
        return finish(self.functions, np.array(z, dtype=float), raw, self.functions)
