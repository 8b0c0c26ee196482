"""`jit`: a function traced once per kind of arguments, which then runs as NumPy code."""

from __future__ import annotations

import functools
import warnings
from collections import Counter
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
    cast,
    overload,
)

import numpy as np

from funcdiff.api.calls.arguments import check_function
from funcdiff.api.calls.inputs import Operands
from funcdiff.api.calls.tracing import Trace, copy_arrays, nested_policy, record
from funcdiff.api.calls.transformed import ByParts, FunctionName, display_name, explains_calls
from funcdiff.api.compiling.executables import (
    Guarded,
    Hits,
    Straight,
    fastest_with,
    fold,
    program_with_guards,
    shortcut,
)
from funcdiff.api.compiling.frozen import Watch, draws_of, warn_of_change, warn_of_draw
from funcdiff.api.compiling.kinds import Kind, Statics, layout_of, signature_of, signature_of_call
from funcdiff.api.control.bodies import forbid_changes
from funcdiff.api.rolling.rerolling import Rolling
from funcdiff.api.signatures.variables import Function
from funcdiff.backend.checking import with_check
from funcdiff.backend.kernels import kernel
from funcdiff.backend.native import machine
from funcdiff.backend.numbers.estimates import CALLS
from funcdiff.core.late import late_import
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import Builder, builders, current_builder
from funcdiff.core.recording.quiet import error_state, errors_are_heard
from funcdiff.core.running.decisions import Decisions
from funcdiff.core.tracebacks import public, shorten
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, InputError, RecompilationWarning, user_location
from funcdiff.passes.recorded import recorded


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

    def _repr_markdown_(self) -> str:
        """Return the source as a notebook shows it."""
        shown: str = late_import("funcdiff.reading.tables").Code(self.source)._repr_markdown_()
        return shown


class Traced(NamedTuple):
    """A program, and the trace that it is made of."""

    program: Program
    trace: Trace


class JitInfo(NamedTuple):
    """What a jitted function keeps.

    Attributes
    ----------
    kinds, leaves
        For how many kinds of arguments it was traced; how many programs it has, which are several
        for a kind if Python decides by values.
    hits, misses
        How many calls found their program; how many had a new outcome, by place in the user's code.
    eager
        How many kinds are run as without `jit`, since they had ever new outcomes.
    function
        The user's function, with its file and line.
    """

    kinds: int
    leaves: int
    hits: int
    misses: dict[str, int]
    eager: int
    function: str

    def _rows(self) -> list[tuple[str, int]]:
        """Return each count behind what it counts."""
        return [
            ("kinds of arguments that it was traced for", self.kinds),
            ("programs that it keeps: one for each kind and each outcome of an if", self.leaves),
            ("hits: calls that found their program", self.hits),
            *((f"misses: calls with a new outcome at {x}", n) for x, n in self.misses.items()),
            ("kinds that run as without jit, as their outcomes do not repeat", self.eager),
        ]

    def __str__(self) -> str:
        """Return the counts in words."""
        lines = [f"{count:8}  {text}" for text, count in self._rows()]
        return "\n".join([f"jit of {self.function}", *lines])

    def _repr_html_(self) -> str:
        """Return how a notebook shows it."""
        shown: str = late_import("funcdiff.reading.tables").records_html(
            f"jit of {self.function}", ("what", "count"), self._rows()
        )
        return shown


# ---- the function --------------------------------------------------------------------------------


P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
Kept = TypeVar("Kept", bound="Straight | Guarded")

Engine: TypeAlias = Literal["numpy", "llvm"]

_MANY: Final = 64
"""Programs of one function from which a warning names the cause."""


class JittedFunction(ByParts, Generic[P, R]):
    """A function with its compiled programs, for about so many `calls`; made by `jit`."""

    def __init__(
        self,
        f: Callable[P, R],
        static_argnums: int | Sequence[int],
        static_argnames: str | Sequence[str],
        engine: Engine | None,
        guards: bool,  # noqa: FBT001
        calls: float = CALLS,
    ) -> None:
        check_engine(engine)
        self._options = static_argnums, static_argnames, engine, guards, calls
        self._calls = calls if engine is None else np.inf if engine == "llvm" else 0
        self._take_after(f)
        self._function = f
        self._guards = guards
        self._statics = Statics(f, static_argnums, static_argnames)
        self._programs: dict[tuple[Any, ...], Straight | Guarded] = {}
        self._hits: list[Hits] = []
        self._watches: dict[tuple[Any, ...], Watch] = {}
        self._direct: dict[tuple[Any, ...] | None, Callable[..., Any]] = {}
        self._warned: set[str] = set()
        self._harmless: Any = None
        self._by_layout = False  # whether it has asked how an argument lies in memory

    def __repr__(self) -> str:
        return f"jit({display_name(self._function)})"

    def _parts(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        return JittedFunction, (self._function, *self._options), {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the compiled program for arguments of this kind, tracing the first time."""
        try:
            if error_state() is not self._harmless:
                if errors_are_heard():  # each of its operations may, which is no more one of them
                    return self._function(*args, **kwargs)
                self._harmless = error_state()
            if current_builder() is None:
                leaves: list[Any] = []
                signature = signature_of(args, leaves)
                if kwargs and signature is not None:
                    signature = signature_of_call(args, kwargs, leaves := [])
                direct = self._direct.get(signature)
                if direct is not None:
                    returned: R = direct(leaves, args, kwargs)
                    return returned
            return self._run_by_kind(args, kwargs)
        except BaseException as error:
            shorten(error)
            raise

    def _run_by_kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
        """Run the program for arguments of this kind; trace, and compile it, if there is none."""
        kind = self._statics.kind(args, kwargs)
        key = self._key(kind)
        found = self._programs.get(key)
        if found is not None:
            self._watches[key].look()
            if isinstance(found, Straight):
                found.hits.count += 1
        trace = self._try_to_record(args, kwargs, kind) if found is None else None
        if trace is not None and not trace.decisions:
            found = self._compile(trace, args, kwargs, kind)
        if isinstance(found, Straight):
            results = found([*kind.operands, *found.trace.captures])
            result: R = found.trace.rebuild(results)
            return result
        if current_builder() is not None:  # what decides is known there, if anywhere
            return self._function(*args, **kwargs)
        return cast("R", self._branching(args, kwargs, kind, trace))

    def _branching(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Kind, trace: Trace | None
    ) -> Any:
        """Run a function that decides by values; with a trace of this call, if there is one."""
        key, shortcuts = self._key(kind), self._direct
        found = self._programs.get(key)
        if not isinstance(found, Guarded):
            found = self._keep(key, self._new_guards())
        signature, _ = self._signature(args, kwargs)
        if signature is not None:

            def direct(leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
                return self._on_way(found, args, kwargs, leaves)

            shortcuts.setdefault(signature, self._watches[key].around(direct))
        if trace is not None and not found.look_for_loops(trace):
            return found.enter(trace, kind.operands)
        return self._on_way(found, args, kwargs, kind.operands)

    def _on_way(
        self, found: Guarded, args: tuple[Any, ...], kwargs: dict[str, Any], operands: Sequence[Any]
    ) -> Any:
        """Run a function on a way that is known, or trace it."""

        def trace(rolling: Callable[[Builder, Sequence[Any]], Decisions] | None) -> Trace:
            kind = self._statics.kind(args, kwargs)
            return self._record(args, kwargs, kind, decides=rolling or Decisions)

        return found(operands, trace, lambda: self._function(*args, **kwargs))

    def _signature(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...] | None, list[Any]]:
        """Return the signature of a call that may run directly, if it may, and its numbers."""
        leaves: list[Any] = []
        signature = signature_of_call(args, kwargs, leaves)
        plain = current_builder() is None and self._statics.is_plain(leaves)
        return signature if plain and not self._by_layout else None, leaves

    def _key(self, kind: Kind) -> tuple[Any, ...]:
        """Return what tells programs apart: from the first that depends on them, layouts, too."""
        return (*kind.key, *map(layout_of, kind.operands)) if self._by_layout else kind.key

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> JittedFunction[P, R]: ...
    @overload
    def __get__(
        self: JittedFunction[Concatenate[Any, Q], R], instance: object, owner: type | None = None
    ) -> Callable[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind to an instance, so that methods can be compiled; it is a static argument."""
        return self if instance is None else functools.partial(self, instance)

    @property
    def has_static_parameters(self) -> bool:
        """Whether values of parameters are part of the kind."""
        return bool(self._statics)

    @public
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Return the program for these arguments and the Python source of what runs.

        That takes what is computed once, of arrays that are closed over, as further arguments.
        """
        program, trace = self.trace_call(*args, **kwargs)
        folded = None if trace.decisions else fold(program, trace.captures)
        runs = program if folded is None else folded.program
        return Lowered(program, kernel(runs, calls=self._calls).source.text)

    def trace_call(self, *args: P.args, **kwargs: P.kwargs) -> Traced:
        """Return a trace of a call, and its program with a guard for all that decided."""
        kind = self._statics.kind(args, kwargs)
        trace = self._record(args, kwargs, kind, decides=Decisions if self._guards else None)
        program = program_with_guards(trace) if trace.decisions else recorded(trace.recording)
        return Traced(program, trace)

    def cache_info(self) -> JitInfo:
        """Return how many programs are kept, and where calls took new ways."""
        known = list(self._programs.values())
        guarded = [x for x in known if isinstance(x, Guarded)]
        misses: Counter[str] = sum((x.misses for x in guarded), Counter())
        return JitInfo(
            len(known),
            sum(x.leaves if isinstance(x, Guarded) else 1 for x in known),
            sum(x.count for x in self._hits) + sum(x.hits for x in guarded),
            dict(misses.most_common()),
            sum(x.is_eager for x in guarded),
            str(FunctionName(self._function)),
        )

    def clear_cache(self) -> None:
        """Forget all programs: after a change of what the function closes over."""
        self._programs.clear()
        self._direct.clear()

    # ---- tracing ---------------------------------------------------------------------------

    def _new_guards(self) -> Guarded:
        name = FunctionName(self._function)
        return Guarded(name, Rolling, calls=self._calls, by_layout=self._by_layout)

    def _try_to_record(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Kind
    ) -> Trace | None:
        """Trace the function; None where that needs values that only a trace outside may have."""
        if current_builder() is None:
            return self._record(args, kwargs, kind, decides=Decisions if self._guards else None)
        enclosing = list(builders())
        refused = [b.refused for b in enclosing]
        try:
            return self._record(args, kwargs, kind, decides=None)
        except ConcreteValueError:
            if not self._guards:
                raise
            for builder, before in zip(enclosing, refused, strict=True):
                builder.refused = before
            self._keep(self._key(kind), self._new_guards())
            return None

    def _record(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        kind: Kind,
        *,
        decides: Callable[[Builder, Sequence[Any]], Decisions] | None,
    ) -> Trace:
        whole = Operands(self._statics.dynamic(args, kwargs))

        def call(tracers: list[Tracer]) -> Any:
            given, named = self._statics.complete(whole.tree(tracers), args, kwargs)
            return self._function(*given, **named)

        with draws_of(self._function) as drawn:
            trace = record(
                self._function,
                kind.operands,
                forbid_changes(
                    call, f"jit: {FunctionName(self._function)}", lambda k: f"args{whole.paths[k]}"
                ),
                nested_policy(0, eager=False, lifts=False),
                types=whole.types,
                weak=whole.weak,
                decisions=decides,
                as_given=True,
            )
        if trace.by_layout and not self._by_layout:
            self._by_layout = True
            self._programs, self._direct = {}, {}
        if trace.calls is None and (by := drawn()) and "draw" not in self._warned:
            self._warned.add("draw")
            warn_of_draw(FunctionName(self._function), by)
        return trace

    def _say_changed(self, change: str) -> None:
        """Warn of a global number that has changed, once."""
        if "change" not in self._warned:
            self._warned.add("change")
            warn_of_change(FunctionName(self._function), change)

    def _compile(
        self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any], kind: Kind
    ) -> Straight:
        """Compile a trace that decided nothing, and keep that unless it ends with one outside."""
        program = recorded(trace.recording)
        hits = Hits(self._calls or np.inf)
        found = Straight(program, trace, hits)
        outside = current_builder()
        observed = outside is not None and outside.taps is not None
        if observed or any(isinstance(c, Tracer) for c in trace.captures):
            return found  # what it closes over, or notes its taps, is an outer trace, which ends
        self._hits.append(hits)
        # arrays that are closed over have, for good, the values they have now
        kept = copy_arrays(trace.captures)
        trace, first = trace._replace(captures=kept), len(program.inputs) - len(kept)
        key, shortcuts, fastest = self._key(kind), self._direct, fastest_with(program, first, kept)
        signature, leaves = self._signature(args, kwargs)
        converts = any(type(x) is float for x in leaves)

        def keep(execute: Callable[..., Any]) -> Straight:
            # which runs here first, before it may run directly
            found = Straight(program, trace, hits, with_check(program, execute, exact=False))
            self._keep(key, found)
            if signature is not None:
                again = functools.partial(ask, found, execute)
                direct = shortcut(found, execute, again, converts=converts)
                shortcuts[signature] = self._watches[key].around(direct)
            return found

        def ask(found: Straight, before: Callable[..., Any]) -> Straight:
            """Take machine code if as many calls as there were would make up for it."""
            self._calls, hits.asked = max(self._calls, hits.count), 2 * hits.count
            execute = fastest(self._calls)
            return found if execute is before else keep(execute)

        return keep(fastest(self._calls))

    def _keep(self, key: tuple[Any, ...], found: Kept) -> Kept:
        """Keep what was compiled for a kind of arguments, and warn if there are too many."""
        self._watches[key] = Watch(self._function, self._say_changed)
        self._programs[key] = found  # which other threads may take at once
        count = len(self._programs)
        if count >= _MANY and "kinds" not in self._warned:
            self._warned.add("kinds")
            warnings.warn(
                f"{FunctionName(self._function)} was traced for {count} kinds of arguments, at "
                f"{user_location()}: shapes, dtypes, strings and static arguments that change "
                "from call to call make a new program each. Pad the shapes, pass numbers as "
                "arrays rather than as static arguments, or leave jit out.",
                RecompilationWarning,
                stacklevel=4,
            )
        return found


def check_engine(engine: Engine | None) -> None:
    """Refuse an engine that is not known, or not installed."""
    if engine not in (None, "numpy", "llvm"):
        raise InputError(
            f"jit: engine={engine!r} is neither 'numpy' nor 'llvm', at {user_location()}."
        )
    if engine == "llvm":
        machine.require()


class Compiling(Function, Generic[Q]):
    """`jit`, which has the options `Q`; without a function it is a decorator."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, f: Callable[P, R], *options: Q.args, **named: Q.kwargs
    ) -> JittedFunction[P, R]: ...
    @overload
    def __call__(self, *options: Q.args, **named: Q.kwargs) -> Compiling[[]]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the compiled function, or what makes it."""


def compiling(function: Callable[Concatenate[Any, Q], Any]) -> Compiling[Q]:
    """Show a function to checkers as `Compiling`; it is the function that it was."""
    shown: Any = function
    return shown  # type: ignore[no-any-return]


@compiling
@explains_calls
def jit(
    f: Callable[P, R],
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    engine: Engine | None = None,
    guards: bool = True,
) -> JittedFunction[P, R]:
    """Compile a function: it is traced once per kind of arguments, then runs as NumPy code.

    Where Python decides by a boolean or an integer that is computed from the arguments, the code is
    guarded by the outcome.  A call with another outcome takes the way of an earlier one, if there
    was any, and is traced otherwise; so there is one program for each way.

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
    guards
        Whether Python may decide by values; if not, ``if x > 0`` is an error.
    engine
        What runs the program: ``"numpy"``, or ``"llvm"``, which makes machine code of it where
        that is quicker, or of its chains of elementwise operations, and needs the package llvmlite
        (``python -m pip install "funcdiff[llvm]"``).  By default, on Linux and with llvmlite
        installed, machine code runs programs with long loops, and NumPy all others.

    Returns
    -------
    JittedFunction
        A function like `f`.  Its method ``lower(*args)`` returns the program and the Python source,
        ``cache_info()`` what is kept, and ``clear_cache()`` forgets that.

    Raises
    ------
    ConcreteValueError
        By a call, if `f` asks for a floating-point value (``float(x)``) of an argument that is not
        static, for any value in a body that is traced without (inside `vmap`, `scan`, `cond`), or,
        without guards, for any.
    InputError
        If a static argument is not hashable, or the engine is unknown or not installed.

    Notes
    -----
    A random number that `f` draws is the same in each call, and so is a global number: a
    `FrozenValueWarning` says so, once, where the numbers are drawn by what `f` names or by a
    generator that it makes without a seed, or where a number that it names has changed.

    Floating-point warnings are off.  A function that goes more than 32 ways with one kind of
    arguments, or of which every tenth call goes a new one, is run as without `jit` from then on,
    which a `RecompilationWarning` says.  So is one that branches and calls code whose effects must
    happen once.  It composes with every transform in either order; inside
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
    return JittedFunction(f, static_argnums, static_argnames, engine, guards)
