"""Primitives: an operation's type rule, implementation, derivative and batching rules."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from itertools import chain
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, dataclass_transform
from weakref import WeakValueDictionary

import numpy as np

from funcdiff.core.access import Access, Rule, pointwise
from funcdiff.core.implementation import Implementation
from funcdiff.core.late import import_all, making
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import ProgramError

P = TypeVar("P", bound="Params")
Q = TypeVar("Q", bound="Params")

Types: TypeAlias = tuple[ArrayType, ...]
Tracers: TypeAlias = Sequence[Tracer]
Tangents: TypeAlias = "Sequence[Tracer | None]"
"""Tangents or cotangents, None for a structural zero; or operands, None where they are linear."""
Pushed: TypeAlias = tuple[Tracers, Tangents]
"""The results of an operation, and their tangents."""

primitives: Final[dict[str, Primitive[Any]]] = {}
"""The primitive table: every primitive by name whose module has been imported; see `registered`."""


@dataclass_transform(frozen_default=True)
@dataclass(frozen=True, init=False)
class Params:
    """Static parameters of an equation: hashable, printable and parseable values only.

    A class of them is a frozen dataclass of the fields that it declares.  It becomes one when its
    first instance is made, for of many classes a session sees none; `fields_of` asks before that.
    """

    __slots__ = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if Params not in cls.__bases__:  # it would find the `__init__` of the class it extends
            _make_dataclass(cls)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kind: Any = type(self)
        if kind is not Params:
            _make_dataclass(kind)
            kind.__init__(self, *args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple([getattr(self, field.name) for field in fields(self)])

    @property
    def has_effects(self) -> bool:
        """Whether code that they name, if they name any, may do more than return its results."""
        return True

    @property
    def equation_count(self) -> int:
        """How many equations the programs among them have."""
        return self.total("equation_count")

    def total(self, attribute: str) -> int:
        """Add up an attribute of the programs among them."""
        kind: Any = type(self)
        return sum([_total(getattr(self, name), attribute) for name in names_of_programs(kind)])

    def with_rows(self: Q, count: int) -> Q:  # noqa: ARG002
        """Return the same for operands and results with so many rows, of which each is alone.

        What parameters say of the shape, a class changes here.
        """
        return self

    def with_batch_axis(self: Q, size: int) -> Q:  # noqa: ARG002
        """Return the same for operands that all have a further axis in front, of that length.

        A field named `axis` or `axes` counts axes; what others say of the shape, a class adds here.
        """
        if hasattr(self, "axes"):
            return replace(self, axes=shifted(self.axes))  # type: ignore[call-arg]
        if hasattr(self, "axis"):
            return replace(self, axis=self.axis + 1)  # type: ignore[call-arg]
        return self


def _make_dataclass(kind: type[Params]) -> None:
    """Make a class of parameters a dataclass, unless it is one."""
    with making:
        if "__dataclass_fields__" not in vars(kind):
            for base in kind.__mro__[-2:0:-1]:
                if issubclass(base, Params):
                    _make_dataclass(base)
            dataclass(frozen=True)(kind)  # it has `__init__` before `__eq__`: until that is there,
            # instances that other threads make are equal to themselves only, which costs speed


def fields_of(kind: type[Params]) -> tuple[Field[Any], ...]:
    """Return the fields of a class of parameters."""
    _make_dataclass(kind)
    return fields(kind)


@cache
def names_of_programs(kind: type[Params]) -> tuple[str, ...]:
    """Return which fields of parameters are declared to hold programs, or anything."""
    return tuple(f.name for f in fields_of(kind) if re.search("Program|Any|object", str(f.type)))


def shifted(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return axes as they are counted with one more in front."""
    return tuple(axis + 1 for axis in axes)


def _total(value: Any, attribute: str) -> int:
    if type(value) is tuple:
        return sum([_total(x, attribute) for x in value])
    count: int = getattr(value, attribute, 0)
    return count


NONE: Final = Params()


Elements: TypeAlias = Literal["moved", "summed", "added", "scaled", "multiplied"]
"""What the elements of a result are, where that is known:

- moved: each is one of the only operand; of a number repeated, all are that number;
- summed: each is a sum of elements of the operands in which the operation is linear; of booleans,
  it says whether any of them is true;
- added: summed, and to those of the first operand is added something that only the others tell;
- scaled: each is a multiple of that at its place in the operand of the result's number;
- multiplied: the operation is linear in each operand alone; all are zero if one of these is.
"""


class Facts(NamedTuple):
    """What the structure of an operation tells those who analyse programs, beside its labels.

    Every default is right for any operation: a fact that is not stated costs speed, or a zero that
    is not seen, and never a wrong result.
    """

    elements: Elements | None = None
    # The operands in which the operation is linear together: the result is zero if they are.
    linear: slice | None = None
    # ``pairs(p, types, values) -> (results, {k: elements, m: elements})``: the result adds up
    # products of elements of operands k and m; the numbers of those that meet, and where they go.
    # Of the values those of integers are given.
    pairs: Callable[..., tuple[Any, dict[int, Any]]] | None = None
    # It gives eigenvalues or singular values, or functions of them.
    spectral: bool = False
    # The results are the first operands; the others say what their derivatives are.
    hands_on: bool = False
    # ``model(p)``: parameters for other places, the same for all that fit the same types.  The
    # rules hand parameters on as they are, so that derivatives differ in nothing else.
    model: Callable[[Any], Any] | None = None
    # It may end the program, and so is never dead.
    ends: bool = False
    # Whether it raises an exception may depend on the values of its operands.
    raises: bool = False
    # It calls the user's code when it is run, whose effects must happen once, and may raise.
    calls_user: bool = False
    # ``flow(p, flags)``: which results depend on the marked operands; by default all.
    flow: Callable[[Any, Sequence[bool]], Sequence[bool]] | None = None


_UNKNOWN: Final = Facts()


@dataclass(frozen=True, eq=False)
class Primitive(Generic[P]):
    """One operation and all its rules."""

    # The word that names the operation in the text of a program.
    name: str
    # The dataclass of its parameters; `Params` itself if there are none.
    params: type[P]
    # ``abstract(p, *types) -> types``: the result types; raises TypeError or ValueError if the
    # operand types do not fit.
    abstract: Callable[..., Types]
    # ``impl(p) -> function``: the NumPy function of the operand arrays.  It returns one array, or
    # a tuple if there are several results, and never writes to its operands.  With variants for
    # speed, an `Implementation`, which is kept in `implementation`.
    impl: Callable[[P], Callable[..., Any]]
    # ``jvp(p, xs, ts) -> (ys, tangents)``: emit the results and their tangents.  None among the
    # tangents is a structural zero; the rule is never called with all None.
    jvp: Callable[[P, Tracers, Tangents], Pushed] | None = None
    # ``transpose(p, types, cts, xs) -> cts``: for an equation that is linear in the operands whose
    # `xs` are None: one cotangent per operand, None for those that have none.  Of several results
    # those without a cotangent have None, but never all.
    transpose: Callable[[P, Types, Tangents, Tangents], Tangents] | None = None
    # ``batch(p, size, xs, batched) -> ys``: emit the equation for operands of which those marked
    # carry a batch axis of length `size` in front; every result carries it.  By default all
    # operands get that axis, and `Params.with_batch_axis` gives the parameters.
    batch: Callable[[P, int, Tracers, Sequence[bool]], Tracers] | None = None
    # As `jvp`, but the results do not depend on the tangents: for operations whose `jvp` fuses
    # both (cond, scan), this one keeps them in equations of their own.
    linearize: Callable[[P, Tracers, Tangents], Pushed] | None = None
    # What else its structure tells analyses of programs.
    facts: Facts = _UNKNOWN
    # ``access(p, types) -> labels``: which axis of which operand is which axis of a result.  By
    # default all are mixed.
    access: Rule | None = None
    implementation: Implementation = field(init=False)

    @property
    def pointwise(self) -> bool:
        """Whether an element of the result follows from those at its place in the operands."""
        return self.access is pointwise

    def __post_init__(self) -> None:
        if self.name in primitives:
            raise ValueError(f"there is a primitive named {self.name!r} already")
        stated = isinstance(self.impl, Implementation)
        found = self.impl if stated else Implementation(self.impl)
        object.__setattr__(self, "implementation", found)
        primitives[self.name] = self

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Callable[[str], Primitive[Any]], tuple[str]]:
        return registered, (self.name,)


_HOMES: Final = ("funcdiff.ops", "funcdiff.scipy.primitives")
"""Packages that declare primitives: imported when a name is not known yet."""


def is_registered(name: str) -> bool:
    """Return whether there is a primitive of that name, in a module not yet imported or in one."""
    for package in _HOMES:
        if name not in primitives:
            import_all(package)
    return name in primitives


def registered(name: str) -> Primitive[Any]:
    """Return the primitive of a name; raises ProgramError if there is none."""
    if not is_registered(name):
        raise ProgramError(
            f"a program with the primitive {name!r} was unpickled, which is not registered here. "
            "Import the module that declares it first."
        )
    return primitives[name]


_NUMBERS: Final = frozenset(ArrayType((), np.dtype(kind)) for kind in ("f4", "f8"))
_OF_NUMBERS: Final[dict[Any, Callable[..., Any]]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
    np.divide: operator.truediv, np.negative: operator.neg, np.absolute: abs,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.equal: operator.eq, np.not_equal: operator.ne,
    np.power: operator.pow,
}  # fmt: skip
"""The operators that compute the same of NumPy's scalars, in a tenth of the time."""

_FEW: Final = 64
"""So many elements are copied sooner than a view of them is made."""


def _without_labels(results: Types) -> Rule:
    """Return the rule of an operation that says nothing of its axes."""

    def without_labels(types: Types) -> tuple[tuple[None, ...], ...]:
        return tuple([(None,) * t.ndim for t in types])

    return lambda _p, operands: Access(without_labels(results), without_labels(operands))


_size_of: Final = operator.attrgetter("size")


class Operation:
    """A primitive applied to parameters and operand types: an equation without its variables.

    Interned by `operation`, so that a recording is compared and hashed by identity.  `run` computes
    what `function` does sooner where there are few elements, but in another layout.  The front end
    sets `handle`, the class of the tracer of the result, where it records the operation directly;
    the backend keeps derivatives in `steps`.
    """

    handle: Callable[..., Any]
    steps: Any

    __slots__ = (
        "__weakref__", "_access", "calls_user", "ends", "equation_count", "function", "handle",
        "may_raise", "operands", "params", "primitive", "result", "result_count", "results", "run",
        "size", "steps",
    )  # fmt: skip

    def __init__(self, primitive: Primitive[Any], params: Params, operands: Types) -> None:
        self.primitive = primitive
        self.params = params
        self.operands = operands
        self.results = primitive.abstract(params, *operands)
        self.result = self.results[0] if self.results else None
        self.function = self.run = primitive.impl(params)
        kind: Any = type(params)
        self.equation_count = 1 + (params.equation_count if names_of_programs(kind) else 0)
        # or may call it, in a program among the parameters
        self.calls_user = primitive.facts.calls_user or self.equation_count > 1
        self.ends = primitive.facts.ends or (self.equation_count > 1 and params.total("ends") > 0)
        self.may_raise = primitive.facts.raises or self.calls_user
        self.result_count = len(self.results)
        self.size = sum(map(_size_of, self.results))
        if self.function in _OF_NUMBERS and _NUMBERS.issuperset(operands):
            self.run = _OF_NUMBERS[self.function]
            if self.run is operator.pow:  # C's pow, whose last bits loops over arrays do not have
                self.function = self.run
        elif primitive.implementation.of_few is not None and self.size <= _FEW:
            self.run = primitive.implementation.of_few(params)
        self.steps = None
        self._access: Access | None = None

    @property
    def access(self) -> Access:
        """The labels of the axes of results and operands."""
        found = self._access
        if found is None:
            rule = self.primitive.access or _without_labels(self.results)
            found = self._access = rule(self.params, self.operands)
        return found

    @property
    def contracts(self) -> bool:
        """Whether it adds up products of elements of its operands along labels, nothing else."""
        access, kind = self.access, self.primitive.facts.elements
        labels = chain(*access.operands)
        return kind == "multiplied" and access.combine is np.add and None not in labels


_EQUATIONS_KEPT: Final = 1 << 17


class _Operations:
    """The interned operations: those of late, and all that some program or recording still has."""

    def __init__(self) -> None:
        # By primitive, parameters and operand types: every operation that something refers to.
        self.alive: WeakValueDictionary[tuple[Primitive[Any], Params, Types], Operation]
        self.alive = WeakValueDictionary()
        self.clear()

    def clear(self) -> None:
        """Forget every operation that nothing refers to."""
        self.recent: dict[tuple[Primitive[Any], Params, Types], Operation] = {}
        self.weight = 0  # how many are recent, with the equations of the programs that they hold

    def add(self, key: tuple[Primitive[Any], Params, Types]) -> Operation:
        """Return an operation that is not among the recent ones, which it then is."""
        found = self.alive.get(key) or Operation(*key)
        if self.weight >= _EQUATIONS_KEPT:
            self.clear()
        self.weight += found.equation_count
        # of what two threads make at once, one stays
        found = self.alive[key] = self.recent.setdefault(key, found)
        return found


_operations: Final = _Operations()


def operation(primitive: Primitive[P], params: P, operands: Types) -> Operation:
    """Return the operation, applying the type rule only the first time.

    Forgetting one that nothing refers to is harmless: no recording that is kept has it.
    """
    key = (primitive, params, operands)
    return _operations.recent.get(key) or _operations.add(key)


def forget_operations() -> None:
    """Forget the operations that nothing refers to, and what is kept with the others."""
    _operations.clear()
    for ref in _operations.alive.valuerefs():  # at once: other threads may add some
        if (op := ref()) is not None:
            op.steps = op._access = None
