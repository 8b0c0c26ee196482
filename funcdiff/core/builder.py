"""The builder records what is done to tracers; a tracer is a handle on one atom.

Recording is hot: an equation costs a look-up, a tuple and a handle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, ClassVar, Final, TypeVar

import numpy as np

from funcdiff.core import effects, memory_errors
from funcdiff.core.primitive import Operation, Params, Primitive, operation
from funcdiff.core.program import Literal, Program, literal
from funcdiff.core.recording import (
    Entry,
    LocatedEntries,
    Recording,
    Ref,
    observer,
    program_of,
)
from funcdiff.core.snapshot import Snapshots
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, EscapedTracerError, InternalError, user_location

R = TypeVar("R")

_UNKNOWN: Final[Any] = object()
"""Stands for the value of what depends on an input without one."""

direct: Final[dict[Any, Any]] = {}
"""What the front end records straight away, by function and operand types."""

_current: Final[ContextVar[Builder | None]] = ContextVar("funcdiff_builder", default=None)
current_builder = _current.get


class Tracer:
    """A handle on an atom of a program being recorded.

    Attributes
    ----------
    builder
        The builder that records the program; None if the atom is a literal.
    atom
        Number of a variable of that builder, or a literal.
    type
        Shape and dtype.

    The handle may be pointed at another atom: that is how ``x += y`` changes what every name
    bound to `x` sees while the program stays pure.
    """

    __slots__ = ("__weakref__", "atom", "builder", "type", "views")
    weak: ClassVar[bool] = False
    """Whether this stands for a Python number, whose dtype gives way to that of an array."""
    views: Any
    """What the front end knows of the handles that share this one's memory, once it has any."""

    def __init__(self, builder: Builder | None, atom: Ref, type_: ArrayType) -> None:
        self.builder = builder
        self.atom = atom
        self.type = type_

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.type.shape)


class Builder:
    """Records equations into a program; a context manager that makes itself the innermost.

    Parameters
    ----------
    name
        What is traced, shown in messages.
    closed
        Whether tracers and arrays of an enclosing trace are errors: transforms are closed,
        a user's function captures them as further inputs.
    hoists
        Whether an equation that touches none of this builder's values goes to the enclosing
        builder.  This is the whole of partial evaluation.
    shares
        Whether an equation recorded before is found again instead of recorded anew.
    lifts
        Whether Python numbers, but for a few small ones, become inputs (see `lift`).
    eager
        Whether inputs have concrete values, so that ``if x > 0`` can be decided.
    located
        Whether the place in the user's code of every equation is noted.
    pending
        How many levels deep derivative rules of the user's are traced: two for every time that
        the program may still be differentiated, for a rule may be transposed, too.
    severed
        Whether no derivative goes through the program, so that concrete values may leave it.
    taps
        Where names given to values are noted; None if nobody asks for them, so that naming a
        value records nothing.

    Attributes
    ----------
    refused
        Kind and message of the first error that the traced function has met where it is another
        function for having been traced.  Catching it does not help: the trace must not be used.
    """

    array_handle: ClassVar[type[Tracer]] = Tracer
    """The class of the tracers of arrays: NumPy's front end puts its own in here and below."""
    scalar_handle: ClassVar[type[Tracer]] = Tracer
    """The class of the tracers of scalars, which are what NumPy computes without axes."""
    weak_handle: ClassVar[type[Tracer]] = Tracer
    """The class of the tracers of inputs that stand for Python numbers."""

    calls: effects.Calls | None = None
    """Calls of the user's code that were made in this outermost trace; None as long as none was."""

    def __init__(
        self,
        name: object,
        *,
        closed: bool = False,
        hoists: bool = False,
        shares: bool = False,
        lifts: bool = False,
        eager: bool = False,
        located: bool = False,
        pending: int = 0,
        severed: bool = False,
        taps: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        looking = None if closed or hoists else observer.get()  # only at the user's functions
        self.entries: list[Entry] = [] if looking is None else looking.entries()
        if located:
            self.entries = LocatedEntries()
        self.captures: list[Any] = []
        self.closed = closed
        self.hoists = hoists
        self.lifts = lifts
        self.eager = eager
        self.pending = pending
        self.severed = severed
        self.taps = taps
        self.parent: Builder | None = None
        self.shares = shares
        self._shared: dict[tuple[Any, ...], Any] | None = {} if shares else None
        self.direct: dict[Any, Any] = {} if shares else direct
        self.numbers: dict[tuple[Any, ArrayType], Ref] = {}
        self.refused: tuple[type[Exception], str] | None = None
        self.layouts: list[tuple[Ref, int, Any]] = []
        self.exports = False
        self._captured: dict[tuple[int, Ref], int] = {}
        self._outside: dict[int, Any] = {}
        self._inputs: dict[int, Any] = {}
        self._values: list[Any] = []
        self._snapshots = Snapshots()
        self._outer: list[Builder | None] = []

    def __enter__(self) -> Builder:
        self.parent = _current.get()
        self._outer.append(self.parent)  # a token would keep the whole context alive
        _current.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _current.set(self._outer.pop())
        self.layouts.clear()  # of handles that refer to this builder
        self._snapshots.release(exception[1])
        memory_errors.explain(exception[1], exports=self.exports)

    def __repr__(self) -> str:
        return f"the trace of {self.name}"

    # ---- recording -------------------------------------------------------------------------

    @staticmethod
    def handle(builder: Builder | None, atom: Ref, type_: ArrayType) -> Tracer:
        """Return a handle on an atom: without axes, that of a scalar."""
        kind = Builder.array_handle if type_.shape else Builder.scalar_handle
        return kind(builder, atom, type_)

    def input(self, type_: ArrayType, value: Any = None, *, weak: bool = False) -> Tracer:
        """Add an input; `value` is its concrete value, or a tracer of an enclosing builder.

        A `weak` one stands for a Python number; what its handle computes with Python numbers is
        weak again if the handle makes it so.
        """
        number = len(self.entries)
        self.entries.append((type_,))
        self._inputs[number] = value
        if weak:
            return self.weak_handle(self, number, type_)
        return (self.array_handle if type_.shape else self.scalar_handle)(self, number, type_)

    def record(self, op: Operation, operands: Sequence[Ref]) -> tuple[Tracer, ...]:
        """Append an equation and return its results."""
        entry = (op, *operands)
        types, shared = op.results, self._shared
        number = None if shared is None else shared.get(entry)
        if number is None:
            entries = self.entries
            number = len(entries)
            entries.append(entry)
            for _ in types[1:]:
                entries.append(())
            if shared is not None:
                shared[entry] = number
        if len(types) == 1:
            kind = self.array_handle if types[0].shape else self.scalar_handle
            return (kind(self, number, types[0]),)
        return tuple([self.handle(self, number + k, t) for k, t in enumerate(types)])

    def ref(self, x: Tracer) -> Ref:
        """Return the operand that stands for `x` here, capturing it if it comes from outside."""
        if x.builder is self or x.builder is None:
            return x.atom
        if self.closed or not self._encloses(x.builder):
            raise escaped(x)
        key = (id(x.builder), x.atom)
        number = self._captured.get(key)
        if number is None:
            # a handle of its own: the caller's may be pointed elsewhere later
            number = self._captured[key] = self._add_capture(
                self.handle(x.builder, x.atom, x.type), x.type
            )
        return number

    def capture(self, array: np.ndarray[Any, Any] | np.generic) -> Tracer:
        """Make a concrete array an input, with the value that it has now."""
        if self.closed or self.hoists:
            raise InternalError(f"a rule captured array data in {self}: this is a bug in funcdiff")
        number = self._snapshots.find(array)
        if number is None:
            type_ = ArrayType(array.shape, array.dtype)
            value = self._snapshots.take(array, len(self.entries))
            number = self._add_capture(value, type_)
        return self.handle(self, number, self.entries[number][0])

    def lend(self, array: np.ndarray[Any, Any]) -> None:
        """Note a read-only array that NumPy or the user gets for a traced one."""
        self.exports = True
        self._snapshots.lend(array)

    def lift(self, lit: Literal) -> Tracer:
        """Make a number that may differ from call to call an input of the literal's type.

        Otherwise an annealed step size would make every recording a new one.
        """
        return self.handle(self, self._add_capture(lit.array, lit.type), lit.type)

    def _add_capture(self, value: Any, type_: ArrayType) -> int:
        self.captures.append(value)
        atom = self.input(type_, value).atom
        assert isinstance(atom, int)
        self._outside[atom] = value
        return atom

    def origin(self, number: int) -> tuple[Operation, list[Ref]] | None:
        """Return the operation that makes a variable, and its operands; None of an input."""
        while not self.entries[number]:  # a further result: its equation is at the first
            number -= 1
        op, *refs = self.entries[number]
        return (op, refs) if isinstance(op, Operation) else None

    def captured(self, number: int) -> Any:
        """Return what was captured in an input: an array, or a tracer from outside; else None."""
        return self._outside.get(number)

    def given(self, number: int) -> Any:
        """Return the value of an input: an array, a tracer from outside, or None without one."""
        return self._inputs[number]

    def _encloses(self, outer: Builder | None) -> bool:
        builder: Builder | None = self
        while builder is not None and builder is not outer:
            builder = None if builder.closed else builder.parent
        return builder is not None

    # ---- concrete values -------------------------------------------------------------------

    def value(self, atom: Ref) -> Any:
        """Return the concrete value of an atom, evaluating what has been recorded so far.

        Raises
        ------
        ConcreteValueError
            If this trace has no values.
        """
        if isinstance(atom, Literal):
            return atom.array
        values = self._values
        for number in range(len(values), atom + 1):
            if number < len(values):  # a further result of the equation before
                continue
            op, *refs = self.entries[number]
            if isinstance(op, ArrayType):
                values.append(self._input_value(number))
                continue
            operands = list(map(self._known, refs))
            if any(x is _UNKNOWN for x in operands):
                values.extend(_UNKNOWN for _ in op.results)
                continue
            result = self._asked(op, operands) if op.calls_user else op.function(*operands)
            if len(op.results) == 1:
                values.append(result)
            else:
                values.extend(result)
        found = values[atom]
        if found is _UNKNOWN:
            raise ConcreteValueError(
                f"{self.name} was asked for a concrete value at {user_location()}, but it is "
                "traced without values (inside vmap, cond, scan or jit). Write np.where(c, a, b) "
                "or fd.cond(c, f, g, x) instead of if, fd.scan or fd.while_loop instead of while; "
                "under jit, name what decides in static_argnames, or leave jit out."
            )
        return found

    def _asked(self, op: Operation, operands: Sequence[Any]) -> Any:
        """Return a value of the user's code, which is not called again when the program runs."""
        with effects.asking(self):
            return op.function(*operands)

    def first_failure(self) -> str | None:
        """Evaluate what has been recorded; return the place of the first equation that raises."""
        assert isinstance(self.entries, LocatedEntries)
        for number, place in enumerate(self.entries.places):
            try:
                self.value(number)
            except Exception:
                return place
        return None

    def _known(self, atom: Ref) -> Any:
        return atom.array if isinstance(atom, Literal) else self._values[atom]

    def _input_value(self, number: int) -> Any:
        value = self._inputs[number]
        if isinstance(value, Tracer):
            if isinstance(value.atom, Literal):
                return value.atom.array
            assert value.builder is not None
            try:
                return value.builder.value(value.atom)
            except ConcreteValueError:
                return _UNKNOWN
        if value is None or not self.eager:
            return _UNKNOWN
        return value

    # ---- the end ---------------------------------------------------------------------------

    def recording(self, outputs: Iterable[Tracer]) -> Recording:
        """Return the entries and outputs as one hashable value."""
        refs = tuple(map(self.ref, outputs))  # first: an output from outside becomes an input
        return tuple(self.entries), refs

    def program(self, outputs: Iterable[Tracer]) -> Program:
        """Return the program that computes `outputs`, without what they do not need."""
        refs = tuple(map(self.ref, outputs))
        return program_of(tuple(self.entries), refs)


def isolated(function: Callable[[], R]) -> R:
    """Call a function in a context of its own: however that ends, no builder of it stays open.

    An interrupt may arrive between any two steps of Python, also while a builder is being opened
    or closed; Python leaves a context as one step.  Context variables that the user's code has
    set stay set, unless it is interrupted.
    """
    context = copy_context()
    interrupted = True
    try:
        result = context.run(function)
        interrupted = False
    except Exception:
        interrupted = False
        raise
    finally:
        if not interrupted:
            for variable, value in context.items():
                if variable is not _current and variable.get(None) is not value:
                    variable.set(value)
        del context  # which a traceback would keep alive
    return result


@contextmanager
def suspended() -> Iterator[None]:
    """Let no builder record: code that runs with concrete arrays is no part of a trace."""
    outer = _current.get()
    _current.set(None)
    try:
        yield
    finally:
        _current.set(outer)


def constant(value: Any, type_: ArrayType) -> Tracer:
    """Return a literal: the number `value` filled to a type."""
    return Builder.handle(None, literal(value, type_), type_)


def bind(primitive: Primitive[Any], params: Params, *operands: Tracer) -> tuple[Tracer, ...]:
    """Record an equation with the innermost builder (or, if it hoists, further out)."""
    builder = _current.get()
    if builder is None:
        raise escaped(*operands)
    op = operation(primitive, params, tuple([x.type for x in operands]))
    while builder.hoists and builder not in [x.builder for x in operands]:
        assert builder.parent is not None
        builder = builder.parent
    return builder.record(
        op, [x.atom if x.builder is builder else builder.ref(x) for x in operands]
    )


def escaped(*operands: Tracer) -> EscapedTracerError:
    """Return the error for tracers that are used outside the trace that made them."""
    made = next((repr(x.builder) for x in operands if x.builder is not None), "an earlier trace")
    error = EscapedTracerError(
        f"a traced array was used at {user_location()}, outside {made}, which made it and has "
        "ended (or runs in another thread). It was stored in a global, an object, a list or a "
        "closure, or returned by a generator. Return it from the traced function instead."
    )
    for x in operands:  # in another thread the error may be lost: then the trace is to fail
        if x.builder is not None:
            x.builder.refused = x.builder.refused or (EscapedTracerError, str(error))
    return error
