"""Traces objectives and constraints to programs, which solvers call on concrete arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from inspect import unwrap
from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import forgiveness
from funcdiff.api.calls.tracing import nested_policy, record, run
from funcdiff.api.derivatives.derivative import elementwise_grad
from funcdiff.api.derivatives.gradient import grad
from funcdiff.api.derivatives.hessian import hessian, hvp
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.api.inspection import stop_gradient
from funcdiff.core.late import computed
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.recording.entries import program_of
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.evaluate import copy_aliased, executable
from funcdiff.core.running.memo import memoised
from funcdiff.core.scope import without_recording
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.covered import holds_traced
from funcdiff.scipy.ways import closures


class Closed:
    """A function that returns one array, as a program, and what it closes over.

    Attributes
    ----------
    program
        ``(*xs, *captures) -> y``.
    captures
        Arrays, or tracers of the trace around it.
    """

    def __init__(self, program: Program, captures: Sequence[Any]) -> None:
        self.program = program
        self.captures = tuple(captures)

    def __call__(self, *xs: Any) -> Any:
        """Return the array: traced if an operand is."""
        types = self.program.input_types[: len(xs)]
        operands = [*map(_operand, xs, types), *self.captures]
        if any(isinstance(x, Tracer) for x in operands):
            return run(self.program, operands)[0]
        return copy_aliased(quiet(self._execute, *operands), operands)[0]

    @computed
    def _execute(self) -> Any:
        """What runs the program, found once: solvers call it often."""
        return executable(self.program)

    def _derive(self, transform: str) -> Closed:
        program, constants = _derivative(self.program, transform)
        return Closed(program, (*self.captures, *constants))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the result."""
        return self.program.output_types[0].shape

    @property
    def gradient(self) -> Closed:
        """The gradient of a scalar function by its first argument."""
        return self._derive("gradient")

    @property
    def jacobian(self) -> Closed:
        """The Jacobian by the first argument."""
        return self._derive("jacobian")

    @property
    def hessian(self) -> Closed:
        """The Hessian of a scalar function by its first argument."""
        return self._derive("hessian")

    @property
    def slope(self) -> Closed:
        """The derivative of a function of elements, one by one."""
        return self._derive("slope")

    @property
    def hessian_product(self) -> Closed:
        """The product of the Hessian with a second argument."""
        return self._derive("hessian_product")

    @property
    def curvature(self) -> Closed:
        """The Hessian of the product of a vector of functions with a second argument."""
        return self._derive("curvature")


def _operand(x: Any, type_: ArrayType) -> Any:
    return x if isinstance(x, Tracer) else np.asarray(x, type_.dtype)[()]


def close(
    f: Callable[..., Any],
    *shapes: tuple[int, ...],
    dtype: Any = FLOAT,
    explore: Callable[..., Any] | None = None,
) -> Closed:
    """Trace a function of arrays of these shapes, without values.

    Its result is joined to one array, if it is a list, and made floating.  If it decides by values,
    ``explore(f)`` calls it as the solver will, so that its ways are known: see `closures`.
    """
    types = [ArrayType(shape, np.dtype(dtype)) for shape in shapes]
    starts = [np.zeros(shape, dtype)[()] for shape in shapes]

    def call(tracers: list[Tracer]) -> Any:
        y = array(f(*tracers))
        return y if y.dtype.kind == "c" else y.astype(dtype)

    policy, forgive = nested_policy(0, eager=False, lifts=False), forgiveness()
    try:
        trace = record(unwrap(f), starts, call, policy, types=types)
    except ConcreteValueError:
        if explore is None:
            raise
        forgive()
        (found,) = closures([wraps(f)(lambda *xs: call([*xs]))], types, explore)
        chosen = partial(run, found.program)
        return close(lambda *xs: chosen([*found.captures, *xs])[0], *shapes, dtype=dtype)
    return Closed(program_of(*trace.recording), trace.captures)


_SPREADING: Final = (
    "newton", "fixed_point", "least_squares", "constraints", "fmin_bfgs", "fmin_cg", "fmin_ncg",
    "fmin_l_bfgs_b", "fminbound", "differential_evolution", "dual_annealing", "shgo", "direct",
)  # fmt: skip
"""What takes further arguments in any iterable; others take what is no tuple for one argument."""


def further(name: str, args: Any) -> tuple[Any, ...]:
    """Return the further arguments of a function, given as SciPy's `name` takes them."""
    if isinstance(args, tuple) or name not in _SPREADING:
        return args if isinstance(args, tuple) else (args,)
    try:
        return tuple(args)
    except TypeError:
        raise TypeError(
            f"{name} takes the further arguments of a function as a tuple, args=(a, b), and got "
            f"{type(args).__name__}, at {user_location()}."
        ) from None


def curry(
    f: Callable[..., Any],
    args: Any,
    keywords: Mapping[str, Any] | None = None,
    *,
    pair: bool = False,
    name: str = "",
) -> Callable[[Any], Any]:
    """Return a function of its first argument alone, the others being given.

    `f`: the user's function.
    `args`: as SciPy's function `name` takes them; by default a tuple, or one argument.
    `keywords`: by name.
    `pair`: whether it returns its derivatives, too, which are left out.
    """
    given, named = further(name, args), keywords or {}

    @wraps(f)
    def of_first(x: Any) -> Any:
        y = f(x, *given, **named)
        return y[0] if pair else y

    return of_first


def scalar(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that returns one number in an array return the number."""

    @wraps(f)
    def objective(*xs: Any) -> Any:
        y = array(f(*xs))
        if y.size != 1:
            raise ValueError("The user-provided objective function must return a scalar value.")
        return y.reshape(())

    return objective


def vector(f: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function return a vector where it returns a number or a list."""

    @wraps(f)
    def values(x: Any) -> Any:
        return np.atleast_1d(array(f(x)))

    return values


_TRANSFORMS: Final[dict[str, Callable[..., Any]]] = {
    "gradient": grad,
    "jacobian": jacobian,
    "hessian": hessian,
    "slope": elementwise_grad,
    "hessian_product": lambda f: lambda x, v: hvp(f, (x,), (v,)),
    "curvature": lambda f: lambda x, v: hessian(lambda x: v @ f(x))(x),
}


@memoised
def _derivative(program: Program, transform: str) -> tuple[Program, tuple[Any, ...]]:
    """Return ``(x, *captures, *constants) -> D f(x)`` for a program of f, and these constants.

    A vector comes behind x.
    """
    first = program.input_types[:1]
    vectors = {"hessian_product": first, "curvature": program.output_types}
    given = (*first, *vectors.get(transform, ()))
    types = (*given, *program.input_types[1:])

    def call(tracers: list[Tracer]) -> Any:
        captures = tracers[len(given) :]
        derivative = _TRANSFORMS[transform](lambda x: run(program, [x, *captures])[0])
        return derivative(*tracers[: len(given)])

    starts = [np.zeros(t.shape, t.dtype)[()] for t in types]
    with without_recording():
        policy = nested_policy(0, eager=False, lifts=False)
        trace = record(call, starts, call, policy, types=types)
    return program_of(*trace.recording), tuple(trace.captures)


def depends(f: Callable[..., Any], *xs: Any) -> bool:
    """Return whether a function contains what is traced, or an argument is: it is called."""
    return current_builder() is not None and (holds_traced(xs) or holds_traced(f(*xs)))


def value_or_zeros(x: Any) -> Any:
    """Return a constant's value, or zeros where it has none."""
    try:
        return np.asarray(value_of(stop_gradient(x)))
    except ConcreteValueError:
        return np.zeros(np.shape(x), x.dtype)
