"""`jit`: a function traced once per kind of arguments, which then runs as NumPy code."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    TypeVar,
    overload,
)

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import (
    FunctionName,
    check_function,
    ints_of,
    is_array_without_axes,
    is_numeric,
    names_of,
    operand,
    refuse_foreign,
    type_of,
)
from funcdiff.api.calls.operands import Operands
from funcdiff.api.calls.tracing import Trace, copy_arrays, nested_policy, rebuild, record, run
from funcdiff.api.calls.wrong_calls import explains_calls
from funcdiff.api.control.bodies import forbid_changes
from funcdiff.backend.checking import with_check
from funcdiff.backend.compiled import fastest
from funcdiff.backend.kernels.kernels import kernel, owns_results
from funcdiff.backend.native import compiling
from funcdiff.backend.numbers.unrolling import Unrolled
from funcdiff.core.builder import current_builder
from funcdiff.core.evaluate import copy_aliased, is_repeatable
from funcdiff.core.program import Program
from funcdiff.core.quiet import quiet
from funcdiff.core.recording import program_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, InternalError, user_location
from funcdiff.numpy.border.promotion import is_weak
from funcdiff.passes.simplify import simplify
from funcdiff.pytree.statics import static_key

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")

Engine: TypeAlias = Literal["numpy", "llvm"]

_MANY: Final = 64
"""Programs of one function from which a warning names the cause."""


class RecompilationWarning(UserWarning):
    """A jitted function was traced again and again for arguments of ever new kinds."""


class Lowered(NamedTuple):
    """What `jit` makes of a function for one kind of arguments.

    Attributes
    ----------
    program
        The program.
    source
        Its Python source.
    """

    program: Program
    source: str


class _Kind(NamedTuple):
    """A call taken apart: the key of its program, and the numbers that are its operands."""

    key: tuple[Any, ...]
    operands: list[Any]


class _Compiled(NamedTuple):
    """A program with the trace that it comes from, and what runs it if it is kept."""

    program: Program
    trace: Trace
    execute: Callable[..., list[Any]] | None = None

    def __call__(self, operands: Sequence[Any]) -> list[Any]:
        """Return results that share no memory with anything."""
        if self.execute is None or any(isinstance(x, Tracer) for x in operands):
            return run(self.program, operands, self.trace)
        try:
            results = quiet(self.execute, *operands)
        except InternalError:
            raise
        except Exception as error:
            self.refuse_to_repeat(error)
            return run(self.program, operands, self.trace)  # which raises again, and says where
        return copy_aliased(results, operands)

    def refuse_to_repeat(self, error: Exception) -> None:
        """Raise the error of a run that had effects, which must not happen again."""
        if not is_repeatable(self.program.equations):
            error.add_note(f"funcdiff: in a compiled program that was run at {user_location()}")
            raise error


class JittedFunction(Generic[P, R]):
    """A function with its compiled programs; made by `jit`."""

    def __init__(
        self,
        f: Callable[P, R],
        static_argnums: int | Sequence[int],
        static_argnames: str | Sequence[str],
        engine: Engine = "numpy",
    ) -> None:
        _check_engine(engine)
        self._native = engine == "llvm"
        functools.update_wrapper(self, f)
        self._function = f
        given, names = ints_of(static_argnums), names_of(static_argnames)
        if given is None or names is None:
            raise InputError(
                f"jit: static_argnums={static_argnums!r} must be an int or ints, and "
                f"static_argnames={static_argnames!r} a str or strs, at {user_location()}. Numbers "
                "of parameters go into the one, names into the other."
            )
        self._numbers, self._names = self._both(given, names)
        self._programs: dict[tuple[Any, ...], _Compiled] = {}
        self._direct: dict[tuple[Any, ...], Callable[[Sequence[Any]], Any]] = {}
        self._warned = False

    def __repr__(self) -> str:
        return f"<jitted {getattr(self._function, '__name__', 'function')}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> JittedFunction[P, R]:
        return self  # as functions do

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled program for arguments of this kind, tracing the first time."""
        if not kwargs and current_builder() is None:
            direct = self._direct.get(_signature(args))
            if direct is not None:
                returned: R = direct(args)
                return returned
        kind = self._kind(args, kwargs)
        found = self._programs.get(kind.key) or self._trace(args, kwargs, kind)
        trace = found.trace
        results = found([*kind.operands, *trace.captures])
        result: R = rebuild(trace.structure, trace.numeric, results, trace.others)
        return result

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> JittedFunction[P, R]: ...
    @overload
    def __get__(
        self: JittedFunction[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be compiled; it is a static argument."""
        return self if instance is None else functools.partial(self, instance)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Return the program for these arguments and its Python source."""
        kind = self._kind(args, kwargs)
        program = (self._programs.get(kind.key) or self._trace(args, kwargs, kind)).program
        return Lowered(program, kernel(program, native=self._native).source.text)

    def clear_cache(self) -> None:
        """Forget all programs: after a change of what the function closes over."""
        self._programs.clear()
        self._direct.clear()

    # ---- keys ------------------------------------------------------------------------------

    def _both(
        self, numbers: tuple[int, ...], names: tuple[str, ...]
    ) -> tuple[frozenset[int], frozenset[str]]:
        """Let a parameter that is static by name or number be static however it is given."""
        try:
            parameters = list(inspect.signature(self._function).parameters)
        except (TypeError, ValueError):  # a built-in without a signature
            return frozenset(numbers), frozenset(names)
        unknown = [n for n in names if n not in parameters]
        outside = [k for k in numbers if not -len(parameters) <= k < len(parameters)]
        variadic = any(
            p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            for p in inspect.signature(self._function).parameters.values()
        )
        if (unknown or outside) and not variadic:
            raise InputError(
                f"jit: {FunctionName(self._function)} has the parameters {', '.join(parameters)}, "
                f"but static ones were named {', '.join(map(str, [*unknown, *outside]))}, at "
                f"{user_location()}."
            )
        positions = {k % len(parameters) for k in numbers if parameters} if not outside else {
            k for k in numbers if k >= 0
        }  # fmt: skip
        positions |= {parameters.index(n) for n in names if n in parameters}
        return frozenset(positions), frozenset(names) | {
            parameters[k] for k in positions if k < len(parameters)
        }

    def _kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Kind:
        dynamic = tuple(None if k in self._numbers else x for k, x in enumerate(args))
        named = {k: x for k, x in kwargs.items() if k not in self._names}
        static = tuple(x for k, x in enumerate(args) if k in self._numbers)
        static += tuple((k, kwargs[k]) for k in sorted(self._names & kwargs.keys()))
        leaves, structure = pytree.flatten((dynamic, named))
        operands, statics = [], []
        types: list[tuple[ArrayType, bool, bool] | None] = []
        for leaf in leaves:
            if is_numeric(leaf):
                x = operand(leaf)
                operands.append(x)
                types.append((type_of(x), is_weak(leaf), is_array_without_axes(leaf)))
            else:
                refuse_foreign(leaf, "jit", self._function)
                statics.append(leaf)
                types.append(None)
        outside = current_builder()
        pending = outside.policy.pending if outside is not None else 0  # how deep rules are traced
        observed = outside is not None and outside.taps is not None
        try:
            fixed = (*map(static_key, statics), static_key(static))
        except TypeError as error:
            raise InputError(
                f"jit: a static argument of {FunctionName(self._function)} is not hashable "
                f"({error}), at {user_location()}. Give a tuple or a frozen object."
            ) from error
        return _Kind((structure, tuple(types), *fixed, pending, observed), operands)

    def _is_plain(self, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
        """Whether the signature is the whole key of a call."""
        plain = all(
            type(x) in (float, np.float64) or (type(x) is np.ndarray and x.dtype.isnative)
            for x in args
        )
        return plain and not kwargs and not self._numbers

    # ---- tracing ---------------------------------------------------------------------------

    def _trace(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], kind: _Kind
    ) -> _Compiled:  # fmt: skip
        dynamic = tuple(None if k in self._numbers else x for k, x in enumerate(args))
        named = {k: x for k, x in kwargs.items() if k not in self._names}
        whole = Operands((dynamic, named))

        def call(tracers: list[Tracer]) -> Any:
            positional, by_name = whole.tree(tracers)
            given = [
                args[k] if k in self._numbers else value for k, value in enumerate(positional)
            ]  # fmt: skip
            static = {k: kwargs[k] for k in self._names & kwargs.keys()}
            return self._function(*given, **by_name, **static)

        trace = record(
            self._function,
            kind.operands,
            forbid_changes(
                call, f"jit: {FunctionName(self._function)}", lambda k: f"args{whole.paths[k]}"
            ),
            nested_policy(0, eager=False, lifts=False),
            types=whole.types,
            weak=whole.weak,
        )
        program = simplify(program_of(*trace.recording))
        found = _Compiled(program, trace)
        outside = current_builder()
        observed = outside is not None and outside.taps is not None
        if observed or any(isinstance(c, Tracer) for c in trace.captures):
            return found  # what it closes over, or notes its taps, is an outer trace, which ends
        # arrays that are closed over have, for good, the values they have now
        kept = copy_arrays(trace.captures)
        trace, execute = trace._replace(captures=kept), fastest(program, native=self._native)
        # which runs here first, before it may run directly
        found = _Compiled(program, trace, with_check(program, execute, exact=False))
        self._programs[kind.key] = found
        if current_builder() is None and self._is_plain(args, kwargs):
            signature = _signature(args)
            self._direct[signature] = _direct(found, execute, converts=float in signature)
        count = len(self._programs)
        if count >= _MANY and not self._warned:
            self._warned = True
            warnings.warn(
                f"{FunctionName(self._function)} was traced for {count} kinds of arguments, at "
                f"{user_location()}: shapes, dtypes, strings and static arguments that change "
                "from call to call make a new program each. Pad the shapes, pass numbers as "
                "arrays rather than as static arguments, or leave jit out.",
                RecompilationWarning,
                stacklevel=3,
            )
        return found


def _signature(args: Sequence[Any]) -> tuple[Any, ...]:
    """Return what tells plain calls apart: shapes and dtypes of arrays, types of the rest."""
    return tuple([(x.shape, x.dtype) if type(x) is np.ndarray else type(x) for x in args])


def _direct(
    found: _Compiled, execute: Callable[..., list[Any]], *, converts: bool
) -> Callable[[Sequence[Any]], Any]:
    """Return what runs a compiled program on plain arguments, and does no more than it has to."""
    program, trace, _ = found
    captures = trace.captures
    is_array = trace.is_array
    owns = isinstance(execute, Unrolled) or owns_results(program)
    floats = execute if isinstance(execute, Unrolled) and not execute.warns else None

    def call(args: Sequence[Any]) -> Any:
        try:
            if floats is not None:  # which it takes, and nothing warns
                results = floats.quick(*args, *captures)
            elif owns:
                if converts:
                    args = [*map(operand, args)]
                results = quiet(execute, *args, *captures)
            else:
                results = found([*map(operand, args), *captures])
        except Exception as error:
            found.refuse_to_repeat(error)
            results = found([*map(operand, args), *captures])  # which raises again, and says where
        if is_array:
            return results[0]
        return rebuild(trace.structure, trace.numeric, results, trace.others)

    return call


def _check_engine(engine: Engine) -> None:
    if engine not in ("numpy", "llvm"):
        raise InputError(
            f"jit: engine={engine!r} is neither 'numpy' nor 'llvm', at {user_location()}."
        )
    if engine == "llvm":
        compiling.require()


@explains_calls
def jit(
    f: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    engine: Engine = "numpy",
) -> JittedFunction[P, R]:
    """Compile a function: it is traced once per kind of arguments, then runs as NumPy code.

    Parameters
    ----------
    f
        A pure function of arrays and containers: it is not called again for arguments of the same
        structure, shapes and dtypes, so side effects and changes of what it closes over are lost.
    static_argnums, static_argnames
        Parameters whose values are part of the kind: options that decide an ``if`` or a shape.
        They must be hashable.  Strings, None, bools and functions are static without being named.
        Values share a program if nothing tells them apart: 1, 1.0 and True do not, nor 0.0 and
        -0.0, in whatever container; nans do.  An object whose class has an ``__eq__`` of its own
        is believed, but for the types of attributes that are equal.
    engine
        What computes elementwise operations: ``"numpy"``, or ``"llvm"``, which makes one loop of
        machine code of each chain of them and needs the package llvmlite
        (``pip install funcdiff[llvm]``).

    Returns
    -------
    JittedFunction
        A function like `f`.  Its method ``lower(*args)`` returns the program and the Python source.

    Raises
    ------
    ConcreteValueError
        By a call, if `f` asks for a value (``if x > 0``) of an argument that is not static.
    InputError
        If a static argument is not hashable, or the engine is unknown or not installed.

    Notes
    -----
    Floating-point warnings are off.  It composes with every transform in either order; inside
    another trace it is part of that trace.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> step = fd.jit(fd.grad(lambda x: np.sum(np.tanh(x) ** 2)))
    >>> step(np.array([0.0, 1.0]))
    array([0.        , 0.63970001])
    """
    check_function(f, "jit")
    return JittedFunction(f, static_argnums, static_argnames, engine)
