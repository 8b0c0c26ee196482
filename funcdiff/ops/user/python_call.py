"""Calls of Python code: the registry of code by name, and the primitives that call it, as `opaque`.

Parameters of equations hold names, never code.  Names are not given twice, so equal programs
compute the same.  `python_call` makes a primitive of what is said for one example: how it is
called, and programs for its derivative.  A batch is a loop over the examples.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import compress, count
from typing import Any, Final, Generic, NamedTuple, NoReturn, TypeAlias, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from funcdiff.core.primitive import Facts, Params, Primitive, Pushed, Tangents, Tracers, Types
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import bind
from funcdiff.core.recording.concrete import call_once
from funcdiff.core.running.walk import inline
from funcdiff.core.scope import without_recording
from funcdiff.core.types import ArrayType, native
from funcdiff.errors import NotDifferentiableError, OutputError, ProgramError
from funcdiff.ops.families import several
from funcdiff.ops.user.custom_rules import without_rule
from funcdiff.space import align
from funcdiff.transforms.jvp import Mask, present, spread
from funcdiff.transforms.vmap import batch_outputs

P = TypeVar("P", bound=Params)
T = TypeVar("T")

_NUMBERED: Final = re.compile(r"\.\d+\Z")


# ---- code by name --------------------------------------------------------------------------------


class Name(str, Generic[T]):
    """The name of some code, with the code itself; pickled and copied without it."""

    __slots__ = ("__weakref__", "code")
    code: T

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class Entered(Generic[T]):
    """The code that is in use, by name; messages say what it is, and what to do where it is not."""

    def __init__(self, what: str, cure: str) -> None:
        self._what: Final = what
        self._cure: Final = cure
        self._living: Final[WeakValueDictionary[str, Name[T]]] = WeakValueDictionary()
        self._given: Final[dict[str, Iterator[int]]] = {}

    def __len__(self) -> int:
        return len(self._living)

    def enter(self, name: str, code: T) -> Name[T]:
        """Enter code; return its name, numbered if it was given before."""
        if _NUMBERED.search(name):  # a function may be named like the second one of another name
            name += "."
        number = next(self._given.setdefault(name, count(1)))
        unique: Name[T] = Name(name if number == 1 else f"{name}.{number}")
        unique.code = code
        self._living[str(unique)] = unique  # a copy: the key must not keep the value
        return unique

    def __getitem__(self, name: str) -> T:
        found = self._living.get(name)
        if found is None:
            raise ProgramError(
                f"a program needs {self._what} {name!r}, which is not known in this process, or "
                f"not any more. {self._cure}"
            )
        return found.code


# ---- batches -------------------------------------------------------------------------------------

Batch: TypeAlias = tuple[int, tuple[bool, ...]]
Batches: TypeAlias = tuple[Batch, ...]
"""One pair per batch axis, the outermost first: its length, and which operands have it."""


def add_batch_axes(types: Types, batches: Batches) -> Types:
    """Return the types of the results for all examples, given those of one."""
    sizes = tuple(size for size, _ in batches)
    return tuple(t.with_shape((*sizes, *t.shape)) for t in types)


def types_of_one(types: Sequence[ArrayType], batches: Batches) -> Types:
    """Return the types of the operands of one example, given those of all."""
    found = []
    for k, t in enumerate(types):
        sizes = tuple(size for size, flags in batches if flags[k])
        if t.shape[: len(sizes)] != sizes:
            raise TypeError(f"operand {k} of {t} has no batch axes of {sizes} in front")
        found.append(t.with_shape(t.shape[len(sizes) :]))
    return tuple(found)


def map_batches(
    function: Callable[[Sequence[Any]], Sequence[Any]],
    types: Types,
    batches: Batches,
    operands: Sequence[Any],
) -> Sequence[Any]:
    """Call a function of the operands of one example for all, and stack its results.

    `types` are those of the results of one example.
    """
    if not batches:
        return function(operands)
    (size, flags), *rest = batches
    inner = tuple(rest)
    rows = [
        map_batches(
            function,
            types,
            inner,
            [x[k] if flag else x for x, flag in zip(operands, flags, strict=True)],
        )
        for k in range(size)
    ]
    if rows:
        return [np.stack(column) for column in zip(*rows, strict=True)]
    return [np.empty((0, *t.shape), t.dtype) for t in add_batch_axes(types, inner)]


def by_example(run: Callable[[Any, Sequence[Any]], Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """Return a function of all operands that calls one of those of one example."""
    return lambda p, xs: map_batches(partial(run, p), p.results, p.batches, xs)


def check_results(
    results: Sequence[Any], types: Types, said: Callable[[str, str], str]
) -> list[Any]:
    """Return results, which must have these types; `said` words the error of both."""
    kept = [native(np.asarray(y)) for y in results]
    found = tuple(ArrayType(y.shape, y.dtype) for y in kept)
    if found != types:
        raise OutputError(said(", ".join(map(str, found)), ", ".join(map(str, types))))
    return [y[()] for y in kept]


# ---- primitives ----------------------------------------------------------------------------------

Rule: TypeAlias = Callable[[Any, Mask, Types], tuple[Program, Mask] | None]
"""``rule(p, active, types)`` for one example: ``(*operands, *results, *tangents) -> tangents`` for
those of the active operands, and which results have one; None if none has."""
Turned: TypeAlias = Callable[[Any, Mask, Mask, Types], Program]
"""``turned(p, linear, arrived, types)`` for one example: ``(*other operands, *cotangents) ->
cotangents of the linear operands``, for those of the results that arrived."""


def python_call(
    name: str,
    params: type[P],
    run: Callable[[P, Sequence[Any]], Sequence[Any]],
    tangents: Rule,
    cotangents: Turned | None = None,
    *,
    takes: Callable[[P], Types | None] = lambda _p: None,
    wide: Callable[[P], slice] = lambda _p: slice(0),
    facts: Facts = Facts(calls_user=True),  # noqa: B008
) -> Primitive[P]:
    """Declare a primitive that calls Python code, whose parameters have `results` and `batches`.

    `run` is called with the operands of all examples, `takes` gives the types of one if they are
    known, and `wide` the operands that have every batch axis.
    """

    def abstract(p: Any, *types: ArrayType) -> Types:
        one, wanted = types_of_one(types, p.batches), takes(p)
        if wanted is not None and one != wanted:
            raise TypeError(f"{name} takes {wanted}, got {one}")
        return add_batch_axes(p.results, p.batches)

    def batch(p: Any, size: int, xs: Tracers, batched: Sequence[bool]) -> Tracers:
        operands, flags, place = list(xs), list(batched), wide(p)
        operands[place] = align(size, operands[place], flags[place])
        flags[place] = [True for _ in operands[place]]
        wider = replace(p, batches=((size, tuple(flags)), *p.batches))
        return bind(primitive, wider, *operands)

    def jvp(p: Any, xs: Tracers, ts: Tangents) -> Pushed:
        ys = bind(primitive, p, *xs)
        active = tuple(t is not None for t in ts)
        one = types_of_one([x.type for x in xs], p.batches)
        found = tangents(replace(p, batches=()), active, one)
        if found is None:
            return ys, [None for _ in ys]
        rule, moves = found
        for size, flags in reversed(p.batches):
            every = [*flags, *(True for _ in ys), *compress(flags, active)]
            rule = batch_outputs(rule, size, every)
        return ys, spread(inline(rule, [*xs, *ys, *present(ts)]), moves)

    def transpose(p: Any, types: Types, cts: Tangents, xs: Tangents) -> Tangents:
        assert cotangents is not None
        linear, arrived = tuple(x is None for x in xs), tuple(ct is not None for ct in cts)
        one = types_of_one(types, p.batches)
        rule = cotangents(replace(p, batches=()), linear, arrived, one)
        for size, flags in reversed(p.batches):
            given = [flag for flag, moves in zip(flags, linear, strict=True) if not moves]
            rule = batch_outputs(rule, size, [*given, *(True for ct in arrived if ct)])
        return spread(inline(rule, [*present(xs), *present(cts)]), linear)

    primitive = Primitive(
        name, params, abstract, lambda p: several(lambda *xs: run(p, xs)), jvp,
        transpose if cotangents is not None else None, batch, facts=facts,
    )  # fmt: skip
    return primitive


# ---- callbacks: `opaque`, of a function that cannot be traced ------------------------------------


Run: TypeAlias = Callable[..., Sequence[Any]]
"""Of arrays, to the leaves of the result."""


class Function(NamedTuple):
    """A function of arrays, and the same for operands that all have a batch axis in front."""

    run: Run
    batch: Callable[..., Sequence[Any]] | None
    has_effects: bool = True


entered: Final[Entered[Function]] = Entered(
    "the opaque function",
    "Import the module that declares it with fd.primitive, and trace the program there.",
)
"""Opaque functions by name."""


class Opaque(Params):
    """An opaque function and the types of its results."""

    name: str  # under which it was entered
    results: tuple[ArrayType, ...]  # of one example
    batches: Batches  # batch axes of the operands

    @property
    def has_effects(self) -> bool:
        """Whether the function may do more than return its results."""
        return entered[self.name].has_effects


def _call(p: Opaque, function: Function, xs: Sequence[Any]) -> Sequence[Any]:
    """Call the function once per example, or for all of the innermost batch axis at once."""
    batch = function.batch
    if batch is None or not p.batches:
        return by_example(lambda p, xs: _run(p, function.run, xs, p.results))(p, xs)
    *outer, innermost = p.batches
    size, flags = innermost
    types = add_batch_axes(p.results, (innermost,))

    def together(xs: Sequence[Any]) -> list[Any]:
        wide = [
            x if flag else np.broadcast_to(x, (size, *np.shape(x)))
            for x, flag in zip(xs, flags, strict=True)
        ]
        return _run(p, partial(batch, size), wide, types)

    return map_batches(together, types, tuple(outer), xs)


def _run(p: Opaque, function: Run, xs: Sequence[Any], types: Types) -> list[Any]:
    """Return copies of the results: the function may keep or return memory of somebody else."""
    with without_recording():
        results = list(map(np.array, function(*map(private_copy, xs))))
    return check_results(
        results, types,
        lambda found, wanted: f"{_display_name(p)} returned {found} where it had returned, or "
        f"declared, {wanted} for arguments of these types. An opaque function must return the same "
        "shapes and dtypes for the same shapes and dtypes.",
    )  # fmt: skip


def private_copy(x: Any) -> Any:
    """Return a copy, which the function may keep or change: what it was made of is used again."""
    return x.copy() if issubclass(type(x), np.ndarray) else x


def _display_name(p: Opaque) -> str:
    """Return the name that the user gave the function, without the number that `enter` adds."""
    return p.name.partition(".")[0]


def _no_rule(p: Opaque, _active: Mask, _types: Types) -> NoReturn:
    raise NotDifferentiableError(without_rule(_display_name(p)))


opaque_p: Final = python_call(
    "opaque",
    Opaque,
    lambda p, xs: call_once(p, xs, lambda: _call(p, entered[p.name], xs)),
    _no_rule,
    wide=lambda p: slice(None if not p.batches and entered[p.name].batch is not None else 0),
)


def opaque(p: Opaque, xs: Tracers) -> Tracers:
    """Call the opaque function."""
    return bind(opaque_p, p, *xs)
