"""Which arrays share memory: views and copies, as NumPy makes them.

A view remembers its base and how it was made.  Whether NumPy would have given a view or a copy,
and of which elements, is asked of NumPy itself, by making the same view of an array without
content.  Where the elements are chosen by traced numbers, the view itself says how it is written
into its base.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias
from weakref import ref

import numpy as np

from funcdiff.core.recording.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.calling import note_layout
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.memory.layouts import Layouts, NDArray, layout_like, with_gaps

Make: TypeAlias = Callable[[Any], Any]
Write: TypeAlias = Callable[[Tracer, Tracer], Tracer]
Models: TypeAlias = tuple[NDArray, ...]
"""Arrays without content, laid out in memory as a handle's array may be: one, or in C and F.

Another layout is one of several axes in another order, and such an array shares memory with what
is made of it only where both of these do.  An argument has one with gaps: what is a view of that is
a view whatever the layout, and for all else it is asked for.
"""


class Given(NamedTuple):
    """What decides how an argument lies in memory: the trace, and the number of the operand."""

    builder: Builder
    number: int

    def layout(self, type_: ArrayType) -> NDArray | None:
        """Return an array laid out as what the caller gave, None if that is not known.

        From now on the trace holds for this layout only.
        """
        if self.builder.given is None:  # the trace has ended
            return None
        self.builder.decides_by_layout = True
        x = self.builder.given[self.number]
        known = layout(x, settle=True) if isinstance(x, Tracer) else x
        if known is None or not known.size:  # of an empty batch
            return None
        of_one = known if known.ndim == len(type_.shape) else known[0]
        like = layout_like(of_one, type_.dtype)
        return with_gaps(type_) if like is None else like  # where elements overlap, it is a copy


class Memory:
    """What a handle knows about the handles that may share its memory."""

    __slots__ = (
        "base", "exports", "given", "index", "is_asked", "make", "models", "order", "origin",
        "views", "write",
    )  # fmt: skip

    def __init__(
        self,
        base: Tracer | None = None,
        make: Make | None = None,
        index: Any = None,
        write: Write | None = None,
    ) -> None:
        # Of a view, which is ``make(base)``, and ``base[index]`` if made by indexing.
        self.base = base
        self.make = make
        self.index = index
        # ``write(base, value)`` is the base with another value of the view; None if its elements
        # can be asked of NumPy.  If they cannot, NumPy's view of a model has them elsewhere.
        self.write = write
        self.views: list[ref[Tracer]] = []  # those that have this handle as their base
        # The layout in memory, as `numpy.empty_like` takes it: "C" or "F", or else that of
        # `origin`, which is the array that this one was made like, or this one before its first
        # change.
        self.order: str | None = None
        self.origin: Tracer | None = None
        self.models: Models = ()  # see `Models`; of an array that is no view
        self.given: Given | None = None  # of an argument whose layout nobody has asked for
        self.is_asked = False  # whether its layout is being found
        # For each plain array that NumPy or others got for this one, what returns its holder, None
        # if it is not in use any more.
        self.exports: list[Callable[[], Any]] = []

    def of_any(self) -> Memory | None:
        """Return a record of the same view of no array; None if it is one of this array only."""
        of_this = self.write is not None or self.order is not None or self.models or self.given
        return None if of_this or self.make is None else Memory(make=self.make, index=self.index)

    def enter(self, base: Tracer, result: Tracer) -> None:
        """Note that `result` is this view of `base`."""
        memory(base).views.append(ref(result))
        result.views = Memory(base, self.make, self.index, self.write)


class Place(NamedTuple):
    """The array whose memory a handle looks into, and what the handle's own array looks like.

    It is no view, or one at traced positions, which writes into its base itself.
    """

    root: Tracer
    models: Models


def memory(x: Tracer) -> Memory:
    """Return the memory record of a handle, making one if it has none."""
    if x.views is None:
        x.views = Memory()
    found: Memory = x.views
    return found


def view(
    base: Tracer, result: Tracer, make: Make, index: Any = None, write: Write | None = None
) -> Tracer:
    """Note that `result` is ``make(base)``, which NumPy may have made a view of `base`."""
    if result is base:
        result = fresh(base)
    if not result.type.shape:
        if not _is_array(base, make):
            return result
        result = as_array(result)
    if base.type.shape or isinstance(base, np.ndarray):
        Memory(None, make, index, write).enter(base, result)
    return result


def _is_array(base: Tracer, make: Make) -> bool:
    """Whether NumPy's result without axes is an array (``x[0, ...]``) and not a scalar."""
    array = np.empty(base.shape, base.dtype)
    return isinstance(make(array if isinstance(base, np.ndarray) else array[()]), np.ndarray)


def is_view(x: Tracer) -> bool:
    """Return whether a handle may look into the memory of another."""
    record = getattr(x, "views", None)
    return record is not None and record.base is not None


def fresh(x: Tracer) -> Tracer:
    """Return another handle on the same value, for what NumPy would copy."""
    return Builder.handle(x.builder, x.atom, x.type)


def as_array(x: Tracer) -> Tracer:
    """Return a handle on the same value that, without axes, too, stands for an array."""
    return Builder.array_handle(x.builder, x.atom, x.type)


def note_argument(x: Tracer, builder: Builder, number: int) -> None:
    """Note that an argument lies in memory as the operand of that number, which the caller gave."""
    if x.type.size > 1 and isinstance(x, np.ndarray):
        memory(x).given = Given(builder, number)
        note_layout(x, memory(x))


def fresh_like(x: Tracer) -> Tracer:
    """Return another handle on the same value, for the copy that a ufunc makes of an array."""
    y = fresh(x)
    note_layout_like(y, x, "K")
    return y


def copy_in_order(x: Tracer, order: str) -> Tracer:
    """Return another handle on the same value, laid out in memory in the given order."""
    y = as_array(x) if isinstance(x, np.ndarray) else fresh(x)
    note_layout_like(y, x, order)
    return y


def note_layout_like(y: Tracer, x: Tracer, order: str) -> None:
    """Note that a new array lies in memory as ``np.empty_like(x, order=order)`` does."""
    if y.ndim < 2:
        return
    record = memory(y)
    record.order = order
    if order not in ("C", "F"):
        record.origin = _shadow(x)
    note_layout(y, record)


def _shadow(x: Tracer) -> Tracer:
    """Return a handle that knows what `x` knows of its layout now, and that nobody waits for."""
    y = fresh(x)
    record = getattr(x, "views", None)
    if record is not None:
        known = y.views = Memory(record.base, record.make, write=record.write)
        known.order, known.origin = record.order, record.origin
        known.models, known.given = record.models, record.given
    return y


def make_in_order(x: Tracer, make: Make, order: str) -> Tracer:
    """Return what `make` makes of an array: itself, or a copy if it lies in another order."""
    model = layout(x)
    if model is None:
        return view(x, x, make)
    return x if np.may_share_memory(make(model), model) else copy_in_order(x, order)


def layout(x: Tracer, *, settle: bool = False) -> NDArray | None:
    """Return an array without content laid out as NumPy's would be, None if that is not known.

    It is known of copies in a given order, of arrays of one axis, and of the views of both.  To
    `settle` it for others, their values are looked at, if there are any, and arguments of the
    caller's.
    """
    try:
        root, models = locate(x)
        if settle and not _is_known(root):
            find_layout(root)
            models = locate(x).models
    except UnsupportedNumPyError:  # whether it is a view depends on what is not known
        return None
    return models[0] if _is_known(root) else None


def _is_known(root: Tracer) -> bool:
    """Whether the layout of an array, which is no view, is that of its only model."""
    return len(models_of(root)) == 1 and memory(root).given is None


# ---- whose memory, and where in it ---------------------------------------------------------------


def models_of(root: Tracer) -> Models:
    """Return arrays laid out as that of `root`, which is no view, may be."""
    record = memory(root)
    if record.given is not None and not record.models:
        record.models = (with_gaps(root.type),)
    if not record.models:
        orders = record.order if record.order in ("C", "F") else "CF"
        record.models = tuple(
            np.empty(root.shape, root.dtype, order)  # type: ignore[call-overload]
            for order in ("C" if root.ndim < 2 else orders)
        )
    return record.models


def locate(x: Tracer) -> Place:
    """Return whose memory an array looks into, and arrays without content like that part of it.

    Raises `UnsupportedNumPyError` if that depends on a layout that is not known.
    """
    record = memory(x)
    if record.base is None:
        return Place(x, models_of(x))
    assert record.make is not None
    root, models = locate(record.base)
    if record.write is not None and memory(root).given is not None:
        find_layout(root)
        root, models = locate(record.base)
    made, shares = make_models(record.base, record.make, models, root)
    if not shares or record.write is not None:  # NumPy copied, or it is not known what it shares
        record.models = made
        return Place(x, made)
    return Place(root, made)


def make_models(base: Tracer, make: Make, models: Models, root: Tracer) -> tuple[Models, bool]:
    """Make a view of the models of `base`; return whether it looks into their memory."""
    made = [np.asarray(make(model)) for model in models]
    shares = [np.may_share_memory(*pair) for pair in zip(made, models, strict=True)]
    if all(shares):
        return tuple(made), True
    if not any(shares) and memory(root).given is None:
        return tuple(made), False
    find_layout(root)
    return make_models(base, make, locate(base).models, root)


def find_layout(root: Tracer) -> None:
    """Find the layout of an array, which is no view; refuse if it is not known."""
    record = memory(root)
    if record.base is not None:  # a copy that NumPy makes where others are views
        find_layout(locate(record.base).root)
        locate(root)
        return
    if record.given is not None:
        given, record.given = record.given, None
        known = given.layout(root.type)
        record.models = () if known is None else (known,)
        if known is not None:
            return
    own = record.order is None and record.origin is None
    model = _layouts.of_value(root) if own else _model_of(record, root.type)
    if model is None:
        raise UnsupportedNumPyError(
            f"an array was changed in place, or its memory was asked for, at {user_location()}, of "
            "which another is a view or a copy, by its layout in memory, which is not known here. "
            "Write through y.flat[...] or y[i, j], take a copy, v = y.ravel().copy(), or write "
            "y = y * 2 instead of y *= 2."
        )
    record.models = (model,)


def _model_of(record: Memory, type_: ArrayType) -> NDArray | None:
    """Return an array laid out as a record has it, None if that is not known."""
    if record.given is not None:
        return record.given.layout(type_)
    if len(record.models) == 1:
        return record.models[0]
    order: Any = record.order or "K"
    if record.origin is None:
        return np.empty(type_.shape, type_.dtype, order) if record.order else None
    if record.is_asked:
        return None
    record.is_asked = True
    try:
        like = layout(record.origin, settle=True)
    finally:
        record.is_asked = False
    return None if like is None else np.empty_like(like, type_.dtype, order, shape=type_.shape)


_layouts: Final = Layouts(partial(layout, settle=True), _model_of)


# ---- What NumPy says of the memory of an array, as far as it is known of a traced one ------------


class Flags:
    """What NumPy says of the memory of the array that a traced one stands for."""

    __slots__ = ("_array",)

    def __init__(self, x: Tracer) -> None:
        object.__setattr__(self, "_array", x)

    def __getattr__(self, name: str) -> Any:
        return _flag(self._array, attrgetter(name))

    def __getitem__(self, name: str) -> Any:
        return _flag(self._array, itemgetter(name))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise UnsupportedNumPyError(
            f"x.flags.{name} = {value!r} was met at {user_location()}, where x is a traced array. "
            "Leave it out: nothing but the function itself can write to a traced array."
        )

    __setitem__ = __setattr__

    def __repr__(self) -> str:
        text: str = _flag(self._array, repr)
        return text


def _flag(x: Tracer, question: Callable[[Any], Any]) -> Any:
    """Return the answer for the layout of an array; where that is not known, for C order.

    SciPy asks whether an array is contiguous to copy it if not, under jit, too.
    """
    if not isinstance(x, np.ndarray):
        return question(x.dtype.type().flags)
    model = layout(x, settle=True)
    return question((np.empty(x.shape, x.dtype) if model is None else model).flags)


# ---- Whether arrays share memory, as far as that is known of traced ones -------------------------


Question: TypeAlias = Callable[[NDArray, NDArray], bool]


_KNOWN: Final = (Tracer, np.ndarray, np.generic, int, float, complex, list, tuple)
"""What is traced, and what has memory of its own."""


def _answers(function: Question) -> None:
    @implements(function)
    @wraps(function)
    def ours(a: Any, b: Any, /, max_work: Any = None) -> bool:
        for x in (a, b):
            if not isinstance(x, _KNOWN):
                raise UnsupportedNumPyError(
                    f"np.{function.__name__} of a traced array and of an object, "
                    f"{type(x).__name__}, at {user_location()}: whether that looks at the traced "
                    "array is not known. Give it the array itself."
                )
        is_array = [isinstance(x, Tracer) and isinstance(x, np.ndarray) for x in (a, b)]
        return all(is_array) and _share(function, a, b)


_answers(np.may_share_memory)
_answers(np.shares_memory)


def _share(question: Question, x: Tracer, y: Tracer) -> bool:
    if _owner(x) is not _owner(y):
        return False
    root = locate(x).root
    if root is not locate(y).root:
        if question is np.may_share_memory:
            return True
        raise UnsupportedNumPyError(
            f"np.shares_memory of views whose places are traced, at {user_location()}: whether "
            "they overlap is not known. Use np.may_share_memory."
        )
    pairs = zip(locate(x).models, locate(y).models, strict=True)
    answers = {bool(question(*pair)) for pair in pairs}
    if len(answers) > 1:
        find_layout(root)
        return _share(question, x, y)
    return answers.pop()


def _owner(x: Tracer) -> Tracer:
    """Return the array whose memory `x` looks into, at traced places or others."""
    root = locate(x).root
    record = memory(root)
    return root if record.write is None or record.base is None else _owner(record.base)
