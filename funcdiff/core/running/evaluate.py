"""Interprets a program with NumPy, equation by equation: the reference for every backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import copy_context
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.atoms import Atom, Literal, Var
from funcdiff.core.late import late
from funcdiff.core.policy import CLOSED
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, bind
from funcdiff.core.recording.quiet import errors_are_heard
from funcdiff.core.running.dataflow import functions, last_uses
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import map_nested, walk, with_nested
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import DTYPE_NAMES
from funcdiff.errors import InputError, InternalError, user_location, went_through_users_code

# ---- How often a program runs as it is, until it is worth making it quicker ----------------------
#
# To derive an equation and to compile it take some 60 µs, and save one or two of each run on small
# arrays.  Programs that come back a few times, as where derivatives are held against differences,
# are many, so the work waits for some runs: a loop of a hundred calls loses little by that.  The
# larger the arrays, the more is saved.


_ELEMENTS: Final = 256
_EQUATIONS_A_RUN: Final = 64
_MOST: Final = 32
_RAISED_BY: Final = "funcdiff: raised by the equation"
"""How the note on the equation that fails begins: of nested programs, the innermost one's."""


class Patience:
    """How many runs are waited for at the least: one in tests, which go through all ways so."""

    least = 8


patience: Final = Patience()


def runs_before(sizes: Sequence[int], equations: int = 0) -> int:
    """Return how many runs to wait for, of operations on arrays of so many elements.

    8 on numbers, up to 32 of long programs; half of them on arrays of 256 elements.
    """
    elements = sum(sizes) / max(len(sizes), 1)
    runs = min(max(equations // _EQUATIONS_A_RUN, patience.least), _MOST)
    return min(runs, int(_MOST / (1 + elements / _ELEMENTS)))


# ---- The interpreter -----------------------------------------------------------------------------


def as_run(program: Program) -> Program:
    r"""Return a program that computes the same bits without operations that only hand values on.

    >>> import funcdiff as fd
    >>> program = fd.parse(
    ...     "program(%0: f64[]) {\n  %1: f64[] = sqrt %0\n  %2: f64[] = square %1\n"
    ...     "  %3: f64[] = known %2, %0\n  return %3\n}"
    ... )
    >>> print(as_run(program))
    program(%0: f64[]) {
      %1: f64[] = sqrt %0
      %2: f64[] = square %1
      return %2
    }
    """
    if not any(eq.primitive.facts.hands_on for eq in with_nested(program.equations)):
        return program

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        if eq.primitive.facts.hands_on:
            return xs[: len(eq.results)]
        return bind(eq.primitive, map_nested(as_run, eq.params), *xs)

    with Builder("as_run", CLOSED) as builder:
        return builder.program(walk(program, [builder.input(t) for t in program.input_types], rule))


Runner: TypeAlias = Callable[[Program], Callable[..., list[Any]]]
"""What makes a function of a program, as `executable` does."""

Watcher: TypeAlias = Callable[[int, Callable[..., Any], list[Any]], Any]
"""Calls the function of an equation, the one at a place, on operands."""

Step: TypeAlias = tuple[Callable[..., Any], Any, Any, Any]


class Promotion:
    """What becomes of a program that comes back."""

    compiler = staticmethod(late("funcdiff.backend.code.source", "compile_source"))
    after = 4
    """Runs in the interpreter before a program is compiled, at the least: see `runs_before`."""


promotion: Final = Promotion()


class Executable:
    """A program prepared for the interpreter, which is promoted to compiled code if it comes back.

    Variables live in slots; a slot is used again once its value is dead, which is also what
    frees the value.
    """

    def __init__(self, program: Program) -> None:
        self.program = as_run(program)
        sizes = [y.type.size for eq in self.program.equations for y in eq.results]
        self._runs_left = max(promotion.after, runs_before(sizes))
        self._compiled: Callable[..., list[Any]] | None = None
        self._steps: list[Step] = []
        self._template: list[Any] = []
        self._prepare()

    def __call__(self, *arrays: Any) -> list[Any]:
        """Return the outputs for concrete inputs, in order."""
        compiled = self._compiled
        if compiled is not None and not errors_are_heard():  # at those of its own
            try:
                return compiled(*arrays)
            except InternalError:
                raise
            except Exception as error:  # a signal handler's, which must not be lost, or its own
                if went_through_users_code(error) or not is_repeatable(self.program.equations):
                    raise
            return self.interpret(*arrays)  # which raises again, and says where
        self._runs_left -= 1
        if self._runs_left < 0:
            self.promote()
        return self.interpret(*arrays)

    def promote(self) -> None:
        """Compile the program, if the compiler takes it."""
        self._runs_left = promotion.after
        self._compiled = promotion.compiler(self.program)

    def interpret(self, *arrays: Any) -> list[Any]:
        """Return the outputs for concrete inputs, by walking the program."""
        if len(arrays) != len(self.program.inputs):
            raise InternalError(
                f"{len(arrays)} arrays were given to a program of {len(self.program.inputs)} "
                f"inputs: this is a bug in funcdiff\n{self.program}"
            )
        env = self._template.copy()
        env[: len(arrays)] = arrays
        try:
            for function, a, b, result in self._steps:
                if b is None:
                    env[result] = function(env[a])
                elif type(a) is int:
                    env[result] = function(env[a], env[b])
                elif type(result) is int:
                    env[result] = function(*[env[k] for k in a])
                else:
                    values = function(*[env[k] for k in a])
                    for k, value in zip(result, values, strict=True):
                        env[k] = value
        except Exception as error:
            step = next(k for k, s in enumerate(self._steps) if s[0] is function and s[3] is result)
            if not any(note.startswith(_RAISED_BY) for note in getattr(error, "__notes__", ())):
                error.add_note(f"{_RAISED_BY} {self.program.equations[step]}")
            raise
        return [env[k] for k in self._outputs]

    def watch(self, arrays: Sequence[Any], run: Watcher) -> list[Any]:
        """Return the outputs, with `run` in the place of the call of each equation."""
        env = self._template.copy()
        env[: len(arrays)] = arrays
        for k, (function, a, b, result) in enumerate(self._steps):
            places = [a] if b is None else [a, b] if type(a) is int else a
            made = run(k, function, [env[place] for place in places])
            if type(result) is int:
                env[result] = made
            else:
                for place, value in zip(result, made, strict=True):
                    env[place] = value
        return [env[k] for k in self._outputs]

    def _prepare(self) -> None:
        program = self.program
        last = last_uses(program)
        slots: list[int] = list(range(len(program.inputs)))
        template: list[Any] = [None] * len(slots)
        literals: dict[Literal, int] = {}
        free: list[int] = []

        def slot(atom: Atom) -> int:
            if isinstance(atom, Var):
                return slots[atom.number]
            if atom not in literals:
                literals[atom] = len(template)
                template.append(atom.array)
            return literals[atom]

        def new() -> int:
            if free:
                return free.pop()
            template.append(None)
            return len(template) - 1

        dying: list[list[int]] = [[] for _ in range(len(program.equations) + 1)]
        for number, index in enumerate(last):
            dying[index].append(number)
        pairs = zip(program.equations, functions(program, last), strict=True)
        for index, (eq, function) in enumerate(pairs):
            operands = [slot(atom) for atom in eq.operands]
            first = len(slots)
            free += [slots[k] for k in dying[index] if k < first]
            results = [new() for _ in eq.results]
            slots += results
            free += [slots[k] for k in dying[index] if k >= first]
            self._steps.append(_step(function, operands, results))
        self._outputs = [slot(atom) for atom in program.outputs]
        self._template = template


def _step(function: Callable[..., Any], operands: list[int], results: list[int]) -> Step:
    if len(results) != 1:
        return function, operands, 0, results
    if len(operands) == 1:
        return function, operands[0], None, results[0]
    if len(operands) == 2:
        return function, operands[0], operands[1], results[0]
    return function, operands, 0, results[0]


def is_repeatable(operations: Iterable[Any]) -> bool:
    """Whether equations or operations may be run again, to find out which of them fails.

    Effects of the user's code, which writes a file, say, must happen once.
    """
    return not any(x.primitive.facts.calls_user for x in with_nested(operations))


def has_effects(operations: Iterable[Any]) -> bool:
    """Whether equations or operations call code of which it is not known that it has no effects."""
    return any(
        x.primitive.facts.calls_user and x.params.has_effects for x in with_nested(operations)
    )


@memoised
def executable(program: Program) -> Executable:
    """Return the prepared program, memoised by value."""
    return Executable(program)


@public
def evaluate(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """Run a program on concrete arrays.

    Parameters
    ----------
    program
        The program, which `trace` or `parse` returned.
    arrays
        One NumPy array or number per input, of exactly its shape and dtype.

    Returns
    -------
    list
        One array per output, a number for one without axes; none shares memory with anything.

    Raises
    ------
    InputError
        If the arrays do not fit the inputs of the program.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> program = fd.trace(np.sin)(0.0)
    >>> fd.evaluate(program, [np.pi / 2])
    [np.float64(1.0)]
    """
    known = (np.ndarray, np.generic)  # by `type`, as a traced array says that it is one
    values = [x if issubclass(type(x), known) else np.asarray(x)[()] for x in arrays]
    types = [f"{v.type}" for v in program.inputs]
    given = [f"{DTYPE_NAMES.get(x.dtype, x.dtype)}[{','.join(map(str, x.shape))}]" for x in values]
    if types != given:
        raise InputError(
            f"the program takes ({', '.join(types)}), but ({', '.join(given)}) was given, at "
            f"{user_location()}. Convert the arrays with .astype, or trace the function again."
        )
    return copy_aliased(copy_context().run(executable(program), *values), values)


def copy_aliased(results: list[Any], operands: Sequence[Any]) -> list[Any]:
    """Copy results that are, or look into, memory of somebody else, or of each other."""
    foreign = set(map(id, operands))
    for k, x in enumerate(results):
        if not isinstance(x, np.ndarray):
            continue
        if x.ndim == 0:
            results[k] = x[()]
            continue
        if x.base is not None or id(x) in foreign or not x.flags.writeable:
            results[k] = x = x.copy()
        foreign.add(id(x))
    return results
