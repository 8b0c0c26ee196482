"""Dispatches NumPy functions that meet traced arrays to their implementations here."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.builder import Builder, current_builder
from funcdiff.core.recording.quiet import error_state
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import DTYPE_NAMES, ArrayType
from funcdiff.numpy.border.deferring import arguments_without_labels, holders
from funcdiff.numpy.border.dispatch import by_types, implementation, numpy_name, refusal_error
from funcdiff.numpy.border.promotion import SPECIAL_NUMBERS, remember, scalar
from funcdiff.numpy.messages.mistakes import explain
from funcdiff.ops.user.failing import fails_p

# ---- Recipes of NumPy calls: records the same equations again for operands of the same types -----
#
# What most functions record is decided by the types of their arrays and by their other arguments.
# The entries of a first call are kept as a *recipe*, by which later ones are recorded.


_NUMBERS: Final = frozenset({int, float, complex})
_DECIDING: Final = frozenset({bool, int, str, type, type(None), type(np._NoValue)})
"""Types of arguments that are part of the key as they are."""


Step: TypeAlias = tuple[Operation, Callable[[Sequence[Ref]], Iterable[Ref]]]


_BY_LAYOUT: Final = frozenset("aAkK")
"""Orders of elements that layouts in memory decide."""


class Recipe(NamedTuple):
    """What a call has recorded."""

    # Types to which Python numbers among the operands are filled; None for arrays.
    fills: tuple[ArrayType | None, ...]
    literals: tuple[Literal, ...]
    # Operations, each with what picks its operands from all that is known: operands of the call,
    # literals, results so far.
    steps: tuple[Step, ...]
    result: int  # index of the returned one among these
    handle: Any  # class of the returned tracer
    type: ArrayType
    view: Any  # the result as a view of the first argument; None if it is none
    may_raise: bool  # whether any of the operations may


class Call:
    """A call of a function on traced arrays, in the innermost trace.

    The first `operands` arguments are arrays of which only the types decide, or lists of such; with
    `numbers`, Python numbers, too: a ufunc fills them to the type of the array.
    """

    __slots__ = ("_args", "_builder", "_from_outside", "_numbers", "_refs", "_start", "key")

    def __init__(
        self,
        function: Any,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        operands: float,
        numbers: bool = False,
    ) -> None:
        # What decides which entries are recorded; None if that is not known.
        self.key: tuple[Any, ...] | None = None
        builder = current_builder()
        if builder is None:
            return
        self._builder = builder
        self._args = args
        self._start = len(builder.entries)
        self._numbers = numbers
        self._from_outside: list[tuple[int, Any]] = []
        self._refs: list[Any] = []
        key: list[Any] = [function]
        for k, x in enumerate(args):
            if not self._describe(x, key, k >= operands):
                return
        for name, x in kwargs.items():
            key.append(name)
            if not self._describe(x, key, True):
                return
        refs = self._refs
        if len(refs) > 1 and len(set(refs)) < len(refs):
            key.append(tuple(map(refs.index, refs)))
        self.key = tuple(key)

    def _describe(self, x: Any, key: list[Any], decides: bool) -> bool:
        """Add to the key what is known of an argument; return whether that is all that decides."""
        kind = type(x)
        key.append(kind)
        if kind is Builder.array_handle or kind is Builder.scalar_handle:
            key.append(x.type)
            if x.builder is self._builder:
                self._refs.append(x.atom)
            else:
                self._take(x, (id(x.builder), x.atom))
            return not decides and x.builder is not None  # what is done to literals is computed
        if self._numbers and kind in _NUMBERS:
            self._take(x, (len(self._refs),))
            return True
        if kind in _DECIDING:
            key.append(x)
            return x not in _BY_LAYOUT
        if kind is tuple or kind is list:
            if self._numbers:  # a ufunc makes arrays of their numbers
                return False
            key.append(len(x))
            return all(self._describe(y, key, decides) for y in x)
        if kind is float:
            key.append(x or str(x))  # a zero has a sign
            return x in SPECIAL_NUMBERS
        if isinstance(x, np.dtype):
            key.append(x)
            return True
        is_array = kind is np.ndarray or issubclass(kind, np.generic)
        if decides or not is_array or x.dtype not in DTYPE_NAMES:
            return False
        key.append(ArrayType(x.shape, x.dtype))
        self._take(x, -id(x))
        return True

    def _take(self, x: Any, name: Any) -> None:
        """Note an operand that is no value of this trace; the same one has the same name."""
        self._from_outside.append((len(self._refs), x))
        self._refs.append(name)

    def find_recipe(self) -> Recipe | None:
        """Return what is known to be recorded by such a call."""
        if self.key is None:
            return None
        found: Recipe | None = self._builder.direct.get(self.key)
        return found

    def record(self, recipe: Recipe) -> Any:
        """Record that; return the result."""
        builder, known = self._builder, self._refs
        fills, literals, steps, result, handle, type_, view, may_raise = recipe
        for k, x in self._from_outside:
            fill = fills[k]
            known[k] = builder.put(x) if fill is None else scalar(x, fill).atom
        known += literals
        entries = builder.entries
        may_raise = may_raise or builder.state is not error_state()
        may_raise = may_raise or builder.filters is not warnings.filters
        for op, operands_of in steps:
            if may_raise:
                known.append(builder.record(op, list(operands_of(known)))[0].atom)
                continue
            known.append(len(entries))
            entries.append((op, *operands_of(known)))
        y = handle(builder, known[result], type_)
        if view is not None:
            view.enter(self._args[0], y)
        return y

    def remember(self, result: Any) -> None:
        """Keep what the call has recorded, for others of its kind."""
        if self.key is None or self._builder.policy.shares:
            return
        recipe = self._recipe(result)
        if recipe is not None:
            remember(self.key, recipe)

    def _recipe(self, result: Any) -> Recipe | None:
        """Return how the operands became a result, None if anything else is in it."""
        builder, kind = self._builder, type(result)
        is_plain = kind is Builder.array_handle or kind is Builder.scalar_handle
        made = builder.entries[self._start :]
        if not (made and is_plain) or result.builder is not builder:
            return None
        record = result.views
        view = None if record is None else record.of_any()
        if record is not None and (view is None or record.base is not self._args[0]):
            return None
        refs = [*self._refs]
        fills: list[ArrayType | None] = [None] * len(refs)
        for k, x in self._from_outside:
            if type(x) in _NUMBERS:  # of a ufunc, whose operation is the last
                refs[k], fills[k] = made[-1][1 + k], made[-1][0].operands[k]
            else:
                refs[k] = builder.find(x)
        places: dict[Ref | None, int] = {}
        for k, ref in enumerate(refs):
            places.setdefault(ref, k)
        if None in places or len(places) < len(set(self._refs)):
            return None
        literals = [r for entry in made for r in entry[1:] if isinstance(r, Literal)]
        literals = [r for r in dict.fromkeys(literals) if r not in places]
        places |= {r: k for k, r in enumerate(literals, len(refs))}
        steps: list[Step] = []
        for number, (op, *operands) in enumerate(made, self._start):
            if number in places:  # it was captured
                continue
            if not isinstance(op, Operation) or len(op.results) > 1 or op.primitive is fails_p:
                return None
            if not places.keys() >= {*operands}:
                return None
            places[number] = len(refs) + len(literals) + len(steps)
            steps.append((op, _picker([places[r] for r in operands])))
        if result.atom not in places:
            return None
        found = places[result.atom]
        may_raise = any(op.may_raise for op, _ in steps)
        return Recipe(
            tuple(fills), tuple(literals), tuple(steps), found, kind, result.type, view, may_raise
        )


def _picker(places: list[int]) -> Callable[[Sequence[Ref]], Iterable[Ref]]:
    """Return what picks several items of a sequence, as a sequence."""
    if len(places) < 2:
        return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))
    return itemgetter(*places)


# ---- Which call has made a value: NumPy's own function says how that lies in memory --------------


class Called(NamedTuple):
    """A call of a NumPy function: what a note of one is read as, a plain tuple while it waits."""

    function: Callable[..., Any]
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    item: int | None  # which of its results it is, if there are several
    is_given: bool  # whether an argument has the same value, which the result may be a copy of


_NESTED: Final = frozenset((list, tuple, dict))


def note_layout(x: Tracer, note: Any) -> None:
    """Note the record of a handle, which says how NumPy's array lies in memory from now on."""
    builder = x.builder or current_builder()  # a literal is of no builder
    if builder is not None:
        builder.layouts.setdefault(x.atom, []).append((len(builder.entries), note))


def note_call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
) -> None:
    """Note the call that made an array, or several: a matrix or more, others lie in one way."""
    if isinstance(result, Tracer):
        if len(result.type.shape) > 1:
            _note_call(function, args, kwargs, result, None)
    elif isinstance(result, tuple | list):
        for item, y in enumerate(result):
            if isinstance(y, Tracer) and len(y.type.shape) > 1:
                _note_call(function, args, kwargs, y, item)


def _note_call(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], y: Tracer, item: int | None
) -> None:
    atom, builder = y.atom, y.builder or current_builder()
    nested = kwargs or not _NESTED.isdisjoint(map(type, args))
    given = tracers_in((args, kwargs)) if nested else args
    is_given = any(
        isinstance(x, Tracer) and x.atom == atom and x.builder is y.builder for x in given
    )
    if builder is not None:
        note = len(builder.entries), (function, args, kwargs, item, is_given)
        builder.layouts.setdefault(atom, []).append(note)


def tracers_in(given: Any) -> Iterator[Tracer]:
    """Yield the traced arrays in arguments, in lists and dicts, too."""
    for x in given.values() if isinstance(given, Mapping) else given:
        if isinstance(x, Tracer):
            yield x
        elif isinstance(x, tuple | list | Mapping):
            yield from tracers_in(x)


# ---- Functions that return arrays even without axes, where others return NumPy scalars -----------
#
# A ufunc, a reduction or an index makes a scalar of what has no axes. Views have an array's type if
# NumPy's have it (see `funcdiff.numpy.memory.views.view`).


OF_ARRAYS: Final[frozenset[Callable[..., Any]]] = frozenset(
    {
        np.apply_along_axis, np.array, np.asanyarray, np.asarray, np.block, np.broadcast_arrays,
        np.broadcast_to, np.copy, np.cov, np.empty, np.empty_like, np.full, np.full_like, np.i0,
        np.ones, np.ones_like, np.piecewise, np.real_if_close, np.roll, np.select, np.tensordot,
        np.where, np.zeros, np.zeros_like,
    }
)  # fmt: skip

_ASTYPE: Final = getattr(np, "astype", None)  # of NumPy 2.1, which returns what it is given


def without_axes(function: Callable[..., Any], result: Any) -> Any:
    """Return a result of a function as what NumPy's is, an array or, without axes, a scalar."""
    if function in OF_ARRAYS:
        return arrays(result)
    if function is _ASTYPE:
        return result
    if type(result) is Builder.array_handle and not result.type.shape:
        is_view = result.views is not None
        return result if is_view else Builder.handle(result.builder, result.atom, result.type)
    return result


def arrays(result: Any) -> Any:
    """Return a result, or several in a tuple, as arrays."""
    if isinstance(result, Tracer):
        if result.type.shape or isinstance(result, np.ndarray):
            return result
        return Builder.array_handle(result.builder, result.atom, result.type)
    return tuple(map(arrays, result)) if isinstance(result, tuple) else result


def call(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call our version of a NumPy function; raise `UnsupportedNumPyError` if there is none."""
    ours = implementation(function)
    if ours is None:
        raise refusal_error(numpy_name(function))
    operands = by_types.get(function)
    if operands is None:
        result = _call(ours, function, args, kwargs)
    else:
        this = Call(function, args, kwargs, operands=operands)
        recipe = this.find_recipe()
        if recipe is not None:
            result = this.record(recipe)
        else:
            result = _call(ours, function, args, kwargs)
            this.remember(result)
    note_call(function, args, kwargs, result)
    return result


def _call(
    ours: Callable[..., Any], function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return what a function of ours does in the place of one of NumPy's."""
    if holders:
        args, kwargs = arguments_without_labels(args, kwargs)
    try:
        result = ours(*args, **kwargs)
        if _returns_out(ours, function, result, args, kwargs):
            return result
        return without_axes(function, result)
    except Exception as error:
        text = str(error) if isinstance(error, TypeError) else ""
        if "unexpected keyword argument" in text and ours.__name__ in text:
            keyword = text.rsplit("'", 2)[-2]
            known = ", ".join(inspect.signature(ours).parameters)
            raise refusal_error(
                f"{numpy_name(function)}({keyword}=)",
                f"Leave {keyword} out; the parameters for traced arrays are {known}.",
            ) from error
        explain(error, numpy_name(function), args, kwargs)
        raise


def _returns_out(
    ours: Any, function: Any, result: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether a result is the array given as ``out=``, which NumPy, too, returns as it is.

    `numpy.dot` makes a scalar of it, and so do the methods of scalars.
    """
    if "out" in kwargs:
        found = kwargs["out"]
    elif len(args) > 1 and any(result is x for x in args[1:]):
        found = inspect.signature(ours).bind(*args, **kwargs).arguments.get("out")
    else:
        return False
    if result is not found or function is np.dot:
        return False
    given = args[0] if args else None
    by_method = isinstance(given, np.generic) and hasattr(np.generic, function.__name__)
    return not by_method
