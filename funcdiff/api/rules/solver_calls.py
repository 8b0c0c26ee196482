"""Calls custom solvers with concrete arrays, with and without a trace.

Unknowns are containers of floating arrays; what functions and solvers return must be like them.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Hashable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import describe, is_numeric
from funcdiff.api.calls.inputs import operand, type_of
from funcdiff.api.calls.repeated import ABSENT, content
from funcdiff.api.calls.tracing import Trace, nested_policy, record, run
from funcdiff.api.calls.transformed import FunctionName, name_of
from funcdiff.core.program import Program
from funcdiff.core.recording.concrete import calls_of, key_of
from funcdiff.core.running.evaluate import copy_aliased, executable
from funcdiff.core.running.walk import close_over
from funcdiff.core.scope import without_recording
from funcdiff.core.tracer import Tracer, any_traced
from funcdiff.core.types import ArrayType, native
from funcdiff.errors import (
    ConcreteValueError,
    ConvergenceError,
    InputError,
    OutputError,
    user_location,
)
from funcdiff.numpy.border.promotion import innermost
from funcdiff.numpy.border.values import value_of
from funcdiff.numpy.memory import views
from funcdiff.ops.structure.structural import convert
from funcdiff.ops.user.python_call import Name
from funcdiff.ops.user.solved_equations import Run, entered
from funcdiff.passes.simplify import simplify
from funcdiff.pytree.statics import static_key

# ---- unknowns ------------------------------------------------------------------------------------


class Unknowns(NamedTuple):
    """A container taken apart."""

    leaves: list[Any]
    types: tuple[ArrayType, ...]
    structure: pytree.Structure


def unknowns(tree: Any, what: str) -> Unknowns:
    """Take a container of floating or complex numbers apart; `InputError` names any other leaf."""
    leaves, structure = pytree.flatten(tree)
    for leaf, path in zip(leaves, pytree.paths(structure), strict=True):
        if not is_numeric(leaf) or operand(leaf).dtype.kind not in "fc":
            shown = f"an array of dtype {leaf.dtype}" if hasattr(leaf, "dtype") else repr(leaf)
            raise InputError(
                f"{what}{path} is {shown}, at {user_location()}: equations are solved for floating "
                "or complex numbers. Make it a float, or keep it out of the container."
            )
    if not leaves:
        raise InputError(f"{what} holds no numbers to solve for, at {user_location()}.")
    xs = [operand(leaf) for leaf in leaves]
    return Unknowns(xs, tuple(map(type_of, xs)), structure)


def fit_leaves(
    value: Any, structure: pytree.Structure, types: Sequence[ArrayType], what: str
) -> list[Any]:
    """Return the leaves of a value that must be like the unknowns, in their types.

    Raises `OutputError`, with the leaf's path, if the structure, a shape or a kind of number
    differs.
    """
    leaves, found = pytree.flatten(value)
    if found != structure:
        raise OutputError(
            f"{what} is {found}, expected {structure} like the unknowns, at {user_location()}. "
            "SciPy's solvers return more than the solution: pick it out of the result."
        )
    paths = pytree.paths(structure)
    return [
        _leaf(x, t, what + path) for x, t, path in zip(leaves, types, paths, strict=True)
    ]  # fmt: skip


def _leaf(leaf: Any, type_: ArrayType, what: str) -> Any:
    x: Any = leaf if isinstance(leaf, Tracer) else np.asarray(leaf)
    if x.shape != type_.shape:
        raise OutputError(
            f"{what} has shape {x.shape}, expected {type_.shape} like the unknown, at "
            f"{user_location()}. Reshape it."
        )
    if not np.can_cast(x.dtype, type_.dtype, "same_kind"):
        raise OutputError(
            f"{what} has dtype {x.dtype}, expected {type_.dtype} like the unknown, at "
            f"{user_location()}. Convert it, or start from an unknown of that dtype."
        )
    return convert(x, type_.dtype) if isinstance(x, Tracer) else np.array(x, type_.dtype)[()]


def trace_equation(f: Callable[..., Any], x: Unknowns, name: str) -> tuple[Program, list[Any]]:
    """Trace a function of the unknowns: return ``(*captures, *x) -> y`` and the captures' values.

    Raises `OutputError`, with the leaf's path, if the result is not like the unknowns.
    """

    def call(tracers: list[Tracer]) -> Any:
        return f(pytree.unflatten(x.structure, tracers))

    trace = record(
        f, x.leaves, call, nested_policy(0, eager=False, lifts=False), types=x.types
    )  # fmt: skip
    _check_result(trace, f, x, name)
    program = close_over(trace.recording, len(trace.captures))
    return simplify(program), trace.captures  # which is what runs, too


def _check_result(trace: Trace, f: Callable[..., Any], x: Unknowns, name: str) -> None:
    if trace.structure != x.structure or not all(trace.numeric):
        raise OutputError(
            f"{FunctionName(f)} returned {trace.structure} to {name}, but its argument is "
            f"{x.structure}, at {user_location()}. There must be one equation for each unknown."
        )
    for path, y, t in zip(pytree.paths(x.structure), trace.outputs, x.types, strict=True):
        if y.type is not t:
            raise OutputError(
                f"the result{path} of {FunctionName(f)} is {y.type}, but the unknown{path} of "
                f"{name} is {t}, at {user_location()}. There must be one equation for each "
                "unknown: convert or reshape one of the two."
            )


# ---- solvers -------------------------------------------------------------------------------------


Equation: TypeAlias = Literal["root", "fixed point", "linear", ""]
"""What a solver solves, by which its result is checked; empty if that is not to be checked."""


class Calls:
    """A solver as programs call it: a function of lists of arrays."""

    def __init__(
        self,
        solve: Callable[..., Any],
        structure: pytree.Structure,
        has_aux: bool,  # noqa: FBT001
        equation: Equation,
    ) -> None:
        self._solve = solve
        self.structure = structure
        self.has_aux = has_aux
        self._equation = equation

    @property
    def has_effects(self) -> bool:
        """Whether the solver may do more than return its results."""
        return getattr(self._solve, "has_effects", True)

    def __call__(
        self, name: str, program: Program, given: Sequence[Any], values: Sequence[Any]
    ) -> list[Any]:
        """Solve the equation that a program is of; return the leaves of what comes out."""
        found, aux = self.run_solver(name, program, given, values)
        return [*found, *(_numbers(aux, name)[0] if self.has_aux else ())]

    def run_solver(
        self, name: str, program: Program, given: Sequence[Any], values: Sequence[Any]
    ) -> tuple[list[Any], Any]:
        """Return the leaves of the solution, and what comes beside it."""
        types = program.input_types[len(given) :]

        def function(x: Any) -> Any:
            leaves = fit_leaves(x, self.structure, types, f"the argument of the function of {name}")
            return pytree.unflatten(self.structure, evaluate_or_record(program, [*given, *leaves]))

        start = [np.array(x)[()] for x in values]
        return solution(
            self._solve, function, Unknowns(start, types, self.structure), name,
            has_aux=self.has_aux, equation=self._equation,
        )  # fmt: skip


def evaluate_or_record(program: Program, operands: Sequence[Any]) -> list[Any]:
    """Evaluate a program or, if an operand is traced, record it: solvers may differentiate."""
    if any_traced(operands):
        return run(program, operands)
    return copy_aliased(executable(program)(*operands), operands)


def solution(
    solve: Callable[..., Any],
    function: Callable[[Any], Any],
    start: Unknowns,
    name: str,
    *,
    has_aux: bool,
    equation: Equation,
) -> tuple[list[Any], Any]:
    """Call a solver; return the leaves of the solution and what comes beside it.

    Raises `ConvergenceError` if it solves the equation by no means.
    """
    with without_recording():
        result = solve(function, pytree.unflatten(start.structure, start.leaves))
    aux = None
    if has_aux:
        if not isinstance(result, tuple) or len(result) != 2:
            raise OutputError(
                f"has_aux=True of {name} needs a solver that returns a pair (solution, aux), but "
                f"it returned {describe(result)}, at {user_location()}."
            )
        result, aux = result
    found = fit_leaves(result, start.structure, start.types, f"the solution of {name}")
    if equation:
        with without_recording(), np.errstate(all="ignore"):
            _require_solution(equation, function, start, found, name)
    return found, aux


_LOOSE: Final = 1e-3
"""A solution is one if that part of it makes up for the residual: solvers stop where they like."""


def _require_solution(
    equation: Equation, function: Callable[[Any], Any], start: Unknowns, found: list[Any], name: str
) -> None:
    """Refuse what is no solution of f(x) = 0, f(x) = x, or of the linear f(x) = `start`."""

    def values(xs: Sequence[Any]) -> list[Any]:
        y = function(pytree.unflatten(start.structure, [np.array(x)[()] for x in xs]))
        return fit_leaves(y, start.structure, start.types, f"the result of the function of {name}")

    at = values(found)
    wanted = {"root": [0 for _ in at], "fixed point": found, "linear": start.leaves}[equation]
    residual = largest([y - z for y, z in zip(at, wanted, strict=True)])
    eps = max(float(np.finfo(t.dtype).eps) for t in start.types)
    terms = max(largest(at), largest(wanted))
    negligible = 0.0 if equation == "linear" else eps**0.5
    if not residual > max(negligible, eps * terms):  # nan is told by what it is
        return
    if equation == "root":  # whose terms are not known, but how much of x makes up for it
        steps = [_LOOSE * np.maximum(1, np.abs(x)) * _signs(x.shape) for x in found]
        moved = values([(x + h).astype(x.dtype) for x, h in zip(found, steps, strict=True)])
        terms = largest([y - z for y, z in zip(moved, at, strict=True)]) / _LOOSE
    if residual > _LOOSE * terms:
        raise ConvergenceError(
            f"the solver of {name} returned no solution, at {user_location()}: the residual is "
            f"{residual:.3g}, where the terms of the equation are {terms:.3g}. The derivative "
            "would be that of another equation: iterate longer, start closer, or look at what the "
            "solver says of its success."
        )


def _signs(shape: tuple[int, ...]) -> Any:
    """Return numbers about 1 of both signs, which hardly anything cancels."""
    k = np.arange(1, int(np.prod(shape)) + 1)
    return ((-1.0) ** k * (0.75 + k * 0.618 % 0.5)).reshape(shape)


def largest(arrays: Sequence[Any]) -> float:
    """Return the absolute value of the largest element."""
    return max(float(np.max(np.abs(x), initial=0.0)) for x in arrays)


def _numbers(aux: Any, name: str) -> tuple[list[Any], pytree.Structure]:
    leaves, structure = pytree.flatten(aux)
    arrays = [native(np.array(leaf)) for leaf in leaves]  # the solver may keep its own
    for leaf, y, path in zip(leaves, arrays, pytree.paths(structure), strict=True):
        if y.dtype.kind not in "biufc":
            raise OutputError(
                f"what the solver of {name} returned beside the solution holds {leaf!r} at "
                f"aux{path}, at {user_location()}: in a traced function it must consist of "
                "numbers and arrays. Leave out the rest."
            )
    return [y[()] for y in arrays], structure


def solve_directly(
    solve: Callable[..., Any], f: Callable[..., Any], x: Unknowns, name: str, *,
    has_aux: bool, equation: Equation,
) -> Any:  # fmt: skip
    """Call a solver where nothing is traced."""
    start = x._replace(leaves=[np.array(leaf)[()] for leaf in x.leaves])
    leaves, aux = solution(solve, f, start, name, has_aux=has_aux, equation=equation)
    value = pytree.unflatten(x.structure, leaves)
    return (value, aux) if has_aux else value


def auxiliary(
    solver: Name[Run], name: str, program: Program, operands: Sequence[Any]
) -> tuple[tuple[ArrayType, ...], pytree.Structure | None]:
    """Return types and structure of what a solver returns beside the solution, by solving.

    The equation, which calls the solver by its name, will have these results.
    """
    calls = solver.code
    assert isinstance(calls, Calls)
    if not calls.has_aux:
        return (), None
    try:
        values = [value_of(x) for x in operands]
    except ConcreteValueError as error:
        raise ConcreteValueError(
            f"what the solver of {name} returns beside the solution is not known at "
            f"{user_location()}, where the arguments have no values (inside vmap, cond, scan or "
            "trace). Leave out has_aux=True there."
        ) from error
    first = len(program.inputs) - calls.structure.leaf_count
    found, aux = calls.run_solver(name, program, values[:first], values[first:])
    leaves, structure = _numbers(aux, name)
    calls_of(innermost()).note(key_of((solver, program), values), [*found, *leaves], None)
    return tuple(ArrayType(y.shape, y.dtype) for y in leaves), structure


def rebuild_solution(ys: Sequence[Tracer], x: Unknowns, aux: pytree.Structure | None) -> Any:
    """Put the solution, and what comes beside it, back into their containers."""
    results = [views.fresh(y) for y in ys]
    value = pytree.unflatten(x.structure, results[: len(x.types)])
    return value if aux is None else (value, pytree.unflatten(aux, results[len(x.types) :]))


# ---- names: the same solver has the same name in every call --------------------------------------
#
# A program calls its solver by name, so only what is called by the same name again is found in the
# caches.  A lambda is made anew by every call: functions are told apart by their code and by the
# values that they close over.


_entered: Final[WeakValueDictionary[Hashable, Name[Run]]] = WeakValueDictionary()
"""The solvers that are in use, by what tells them apart."""


def name_solver(
    solve: Callable[..., Any], structure: pytree.Structure, what: str, *,
    has_aux: bool, equation: Equation,
) -> Name[Run]:  # fmt: skip
    """Return the name of a solver for unknowns of a structure, entering it if it is new.

    Raises `InputError`, which speaks of `what`, if it closes over a traced array.
    """
    key, frozen = _freeze(solve, what, ()) or (object(), solve)
    whole = (key, structure, has_aux, equation)
    found = _entered.get(whole)
    if found is None:
        found = entered.enter(name_of(solve), Calls(frozen, structure, has_aux, equation))
        _entered[whole] = found
    return found


def _freeze(value: Any, what: str, above: tuple[int, ...]) -> tuple[Hashable, Any] | None:
    """Return what tells a value apart, and the value as it is now; None if nothing does.

    Functions are copied with their cells: what they close over may be bound anew later.  One of
    which a part is not told apart is equal to nothing but itself.
    """
    _refuse_traced(value, what)
    head: Any = type(value)
    if isinstance(value, FunctionType) and id(value) not in above and not _rebinds(value.__code__):
        head = value.__code__, id(value.__globals__)
        cells = [content(cell) for cell in value.__closure__ or ()]
        parts = [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        above = (*above, id(value))
    elif type(value) is functools.partial:
        parts = [value.func, *value.args, *value.keywords.values()]
        head = head, tuple(value.keywords)
    else:
        try:
            return static_key(value), value
        except TypeError:
            return None
    pairs = [_freeze(part, what, above) for part in parts]
    found = [pair for pair in pairs if pair is not None]
    if len(found) < len(parts) or any(part is ABSENT for part in parts):  # or a cell is empty
        return ("object", value), value
    kept = [part for _, part in found]
    key = head, tuple(k for k, _ in found)
    if type(value) is functools.partial:
        named = dict(zip(value.keywords, kept[1 + len(value.args) :], strict=True))
        return key, functools.partial(kept[0], *kept[1 : 1 + len(value.args)], **named)
    if not value.__closure__:
        return key, value
    closure = tuple(map(CellType, kept[: len(value.__closure__)]))
    copy = FunctionType(head[0], value.__globals__, value.__name__, value.__defaults__, closure)
    copy.__kwdefaults__ = value.__kwdefaults__
    return key, copy


@functools.lru_cache(maxsize=256)
def _rebinds(code: CodeType) -> bool:
    """Whether code binds anew what it closes over (``nonlocal``): of a copy, that would be lost."""
    own = any(
        step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars
        for step in dis.get_instructions(code)
    )
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return own or any(
        _rebinds(part) and not set(part.co_freevars) <= set(code.co_cellvars) for part in inner
    )


def _refuse_traced(value: Any, what: str) -> None:
    leaves = pytree.flatten(value)[0] if type(value) in (list, tuple, dict) else [value]
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            raise InputError(
                f"{what} closes over a traced array of type {leaf.type}, at {user_location()}, but "
                "it runs with concrete arrays, later. Let it use the function that it is given, "
                "whose arrays are concrete; if it needs the value of a constant, take "
                "np.array(fd.stop_gradient(x)) outside."
            )
