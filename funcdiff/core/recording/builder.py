"""Records the operations on tracers as the entries of a program.

Recording is hot: an equation costs a look-up, a tuple and a handle.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from threading import get_ident
from typing import Any, ClassVar, Final

import numpy as np

from funcdiff.core.atoms import Entry, Literal, Ref, literal
from funcdiff.core.late import late_import
from funcdiff.core.origins import LocatedEntries, Origins, reader
from funcdiff.core.policy import OPEN, Policy
from funcdiff.core.primitive import Operation, P, Primitive, operation
from funcdiff.core.program import Program
from funcdiff.core.recording import snapshot
from funcdiff.core.recording.concrete import Calls, Values
from funcdiff.core.recording.entries import Derivation, Recording, first_result, program_of
from funcdiff.core.recording.quiet import error_state, errors_are_heard, without_warnings
from funcdiff.core.recording.snapshot import Lent, Snapshots
from funcdiff.core.scope import current, innermost
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import EscapedTracerError, InternalError, user_location

current_builder: Final[Callable[[], Builder | None]] = current

direct: Final[dict[Any, Any]] = {}
"""What the front end records straight away, by function and operand types."""


class Builder:
    """Records equations into a program; a context manager that makes itself the innermost.

    `name` is what messages call the trace; `taps` is where named values are noted, None if nobody
    asks for them.
    """

    array_handle: ClassVar[type[Tracer]] = Tracer
    """The class of the tracers of arrays: NumPy's front end puts its own in here and below."""
    scalar_handle: ClassVar[type[Tracer]] = Tracer
    """The class of the tracers of scalars, which are what NumPy computes without axes."""
    weak_handle: ClassVar[type[Tracer]] = Tracer
    """The class of the tracers of inputs that stand for Python numbers."""

    attempt: ClassVar[Any] = staticmethod(lambda _builder, number: number)
    """What is done with an equation that may raise; returns the number of its first result."""

    state: Any = None
    """The error state in which equations may be recorded directly: one that does not raise.

    It is None since the beginning of a trace in another one."""
    filters: Any = None
    """Python's filters of warnings as the outermost trace found them."""
    shows_warnings: Any = None
    """The function to which those go that they let through."""

    may_raise: bool = False
    """Whether an equation was recorded that may raise."""
    decisions: Any = None
    """The `Decisions` of a trace that decides by its values; None of any other."""
    calls: Calls | None = None
    """Calls of the user's code that were made in this outermost trace; None as long as none was."""

    rule_calls: Any = None
    """Calls of functions with rules that were made on values, if any: they live as long as this."""
    thread: int = 0
    """The thread in which this was opened, and which alone may record."""
    given: Sequence[Any] | None = None
    """What the caller gave for the arguments, as long as the function runs."""
    decides_by_layout: bool = False
    """Whether something was decided by how an argument lies in memory."""
    evaluated: int = 0
    """How many of the first variables had to be evaluated for the arguments of these calls."""

    def __init__(
        self, name: object, policy: Policy = OPEN, *, taps: dict[str, Any] | None = None
    ) -> None:
        if self.array_handle is Tracer:
            late_import("funcdiff.numpy")
        self.name = name
        self.policy = policy
        self.records_user = not (policy.closed or policy.hoists)
        self.entries: list[Entry] = []
        looking = reader.get()
        if looking is not None:
            self.entries = LocatedEntries(looking, of_user=self.records_user)
        self.captures: list[Any] = []
        self.taps = taps
        self.parent: Builder | None = None
        self._shared: dict[tuple[Any, ...], Any] | None = {} if policy.shares else None
        self.direct: dict[Any, Any] = {} if policy.shares else direct
        self.numbers: dict[tuple[Any, ArrayType], Ref] = {}
        # Kind and message of the first error that the traced function has met where it is another
        # function for having been traced.  Catching it does not help: the trace must not be used.
        self.refused: tuple[type[Exception], str] | None = None
        self.layouts: dict[Ref, list[tuple[int, Any]]] = {}
        self.models: dict[tuple[Ref, int], Any] = {}
        self.exports = False
        self.derivations: list[Derivation] = []
        self._captured: dict[tuple[Any, Ref], Ref] = {}
        self._outside: dict[int, Any] = {}
        self.values = Values(name, self.entries)
        self._taken: Snapshots | None = None
        self._outer: list[Builder | None] = []

    def __enter__(self) -> Builder:
        self.parent = outside = current()
        self.thread = get_ident()
        if outside is None:
            self.filters = warnings.filters
            self.shows_warnings = getattr(warnings, "_showwarnmsg_impl", None)
        else:
            self.filters, self.shows_warnings = outside.filters, outside.shows_warnings
        self._outer.append(self.parent)  # a token would keep the whole context alive
        innermost.set(self)
        self.state = None if self.records_user and errors_are_heard() else error_state()
        return self

    def __exit__(self, *exception: object) -> None:
        innermost.set(self._outer.pop())
        self.layouts.clear()  # of handles that refer to this builder
        self.models.clear()
        if self._taken is not None:
            self._taken.release(exception[1])
        if exception[1] is not None:
            snapshot.explain(exception[1], exports=self.exports)

    def __repr__(self) -> str:
        return f"the trace of {self.name}"

    # ---- recording -------------------------------------------------------------------------

    @staticmethod
    def handle(builder: Recorder | None, atom: Ref, type_: ArrayType) -> Tracer:
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
        self.values.inputs[number] = value
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
            if (
                op.may_raise
                or error_state() is not self.state
                or warnings.filters is not self.filters
            ):
                self.may_raise = self.may_raise or op.may_raise
                number = self.attempt(self, number)
        if len(types) == 1:
            kind = self.array_handle if types[0].shape else self.scalar_handle
            return (kind(self, number, types[0]),)
        return tuple([self.handle(self, number + k, t) for k, t in enumerate(types)])

    def know(self, op: Operation, operands: Sequence[Ref]) -> Tracer:
        """Add inputs for the results of an equation, which are these whenever it is recorded.

        The builder shares equations that are equal.  Returns the first one.
        """
        assert self._shared is not None
        x, *_ = [self.input(t) for t in op.results]
        self._shared[(op, *operands)] = x.atom
        return x

    def ref(self, x: Tracer) -> Ref:
        """Return the operand that stands for `x` here, capturing it if it comes from outside."""
        if x.builder is self or x.builder is None:
            return x.atom
        key = (x.builder, x.atom)
        number = self._captured.get(key)
        if number is None:
            if self.policy.closed:
                raise escape_error(x)
            if self._is_enclosing(x.builder):
                # a handle of its own: the caller's may be pointed elsewhere later
                number = self.capture_private(self.handle(x.builder, x.atom, x.type), x.type)
            else:
                number = self.capture(constant_left(x)).atom
            self._captured[key] = number
        return number

    def put(self, x: Tracer | np.ndarray[Any, Any] | np.generic) -> Ref:
        """Return the operand that stands for a tracer or an array here."""
        return self.ref(x) if isinstance(x, Tracer) else self.capture(x).atom

    def find(self, x: Tracer | np.ndarray[Any, Any] | np.generic) -> Ref | None:
        """Return the operand that stands for `x` here, None if it has not been put here."""
        if not isinstance(x, Tracer):
            return self._snapshots.number(x)
        return x.atom if x.builder is self else self._captured.get((x.builder, x.atom))

    def capture(self, array: np.ndarray[Any, Any] | np.generic) -> Tracer:
        """Make a concrete array an input, with the value that it has now."""
        if self.policy.closed or self.policy.hoists:
            raise InternalError(f"a rule captured array data in {self}: this is a bug in funcdiff")
        number = self._snapshots.find(array)
        if number is None:
            type_ = ArrayType(array.shape, array.dtype)
            value = self._snapshots.take(array, len(self.entries))
            number = self.capture_private(value, type_)
        return self.handle(self, number, self.entries[number][0])

    def lend(self, lent: Lent) -> None:
        """Note a read-only array that NumPy or the user gets for a traced one."""
        self.exports = True
        self._snapshots.lend(lent)

    @property
    def _snapshots(self) -> Snapshots:
        """The arrays that were captured or lent; most traces have none."""
        if self._taken is None:
            self._taken = Snapshots()
        return self._taken

    def lift(self, lit: Literal) -> Tracer:
        """Make a number that may differ from call to call an input of the literal's type.

        Otherwise an annealed step size would make every recording a new one.
        """
        return self.handle(self, self.capture_private(lit.array, lit.type), lit.type)

    def take_input(self, other: Builder, number: int) -> Ref:
        """Add an input like one of another builder, with what was captured in it."""
        own = len(self.entries)
        self.entries.append(other.entries[number])
        self.values.inputs[own] = value = other.values.inputs[number]
        if number in other._outside:
            self.captures.append(value)
            self._outside[own] = value
            if isinstance(value, Tracer):
                self._captured[value.builder, value.atom] = own
        return own

    def capture_private(self, value: Any, type_: ArrayType) -> int:
        """Make an array or a number of a type an input, which nobody else will change."""
        number = len(self.entries)
        self.entries.append((type_,))
        self.captures.append(value)
        self.values.inputs[number] = self._outside[number] = value
        return number

    def origin(self, number: int) -> tuple[Operation, list[Ref]] | None:
        """Return the operation that makes a variable, and its operands; None of an input."""
        op, *refs = self.entries[first_result(self.entries, number)]
        return (op, refs) if isinstance(op, Operation) else None

    def capture_of(self, number: int) -> Any:
        """Return what was captured in an input: an array, or a tracer from outside; else None."""
        return self._outside.get(number)

    def input_value(self, number: int) -> Any:
        """Return the value of an input: an array, a tracer from outside, or None without one."""
        return self.values.inputs[number]

    def _is_enclosing(self, outer: Recorder | None) -> bool:
        builder: Builder | None = self
        while builder is not None and builder is not outer:
            builder = None if builder.policy.closed else builder.parent
        return builder is not None

    def value(self, atom: Ref) -> Any:
        """Return the concrete value of an atom, evaluating what has been recorded so far.

        Raises `ConcreteValueError` if this trace has no values.
        """
        if not self._outer and self._taken is not None:
            self._taken.check()
        if errors_are_heard():  # of each operation, when it was recorded
            return without_warnings(self.values.of, (atom, self))
        return self.values.of(atom, self)

    def constant(self, atom: Ref) -> Any:
        """Return the value of what depends on no argument, once nobody traces here; else None."""
        if self._outer:
            return None
        if self._taken is not None:
            self._taken.check()
        return self.values.constant(atom, self)

    # ---- the end ---------------------------------------------------------------------------

    def recording(self, outputs: Iterable[Tracer]) -> Recording:
        """Return the entries and outputs as one hashable value."""
        refs = tuple(map(self.ref, outputs))  # first: an output from outside becomes an input
        return tuple(self.entries), refs, self._origins(), tuple(self.derivations)

    def program(self, outputs: Iterable[Tracer]) -> Program:
        """Return the program that computes `outputs`, without what they do not need."""
        refs = tuple(map(self.ref, outputs))
        return program_of(tuple(self.entries), refs, self._origins(), self.derivations)

    def _origins(self) -> Origins | None:
        entries = self.entries
        return entries.name_origins(self._outside) if isinstance(entries, LocatedEntries) else None


def builders() -> Iterator[Builder]:
    """Yield the builders that are open, the innermost first."""
    builder = current()
    while builder is not None:
        yield builder
        builder = builder.parent


def constant(value: Any, type_: ArrayType) -> Tracer:
    """Return a literal: the number `value` filled to a type."""
    return Builder.handle(None, literal(value, type_), type_)


_type_of: Final = attrgetter("type")
_builder_of: Final = attrgetter("builder")


def bind(primitive: Primitive[P], params: P, *operands: Tracer) -> tuple[Tracer, ...]:
    """Record an equation with the innermost builder (or, if it hoists, further out)."""
    builder = current_builder() or aside()
    op = operation(primitive, params, tuple(map(_type_of, operands)))
    while builder.policy.hoists and builder not in map(_builder_of, operands):
        assert builder.parent is not None
        builder = builder.parent
    return builder.record(
        op, [x.atom if x.builder is builder else builder.ref(x) for x in operands]
    )


def result_type(primitive: Primitive[P], params: P, *operands: Tracer) -> ArrayType:
    """Return the type of the one result of an operation that need not be recorded.

    What takes a short cut asks for it, so that a call that does not fit raises there, too.
    """
    return operation(primitive, params, tuple([x.type for x in operands])).results[0]


def aside() -> Builder:
    """Return a trace of its own for an operation where nobody records: on constants it can be."""
    return Builder("constants of traces that have ended")


def constant_left(x: Tracer) -> Any:
    """Return the value of an array of a trace that has ended, if it depends on no argument.

    Raises `EscapedTracerError` otherwise.
    """
    if isinstance(x.atom, Literal):
        return x.atom.array
    value = None if x.builder is None else x.builder.constant(x.atom)
    if value is None:
        raise escape_error(x)
    return value


def escape_error(*operands: Tracer) -> EscapedTracerError:
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
