"""Where in memory elements of arrays and views are, worked out from address and strides."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from math import inf, isqrt
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.core.access import pointwise
from funcdiff.core.atoms import Literal, Ref
from funcdiff.core.primitive import Operation
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import Recorder, Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.numpy.border.calling import Called, tracers_in
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.axes.indexing import gather, scatter, scatter_add_p, scatter_p
from funcdiff.ops.elementwise.complex import imag, join, real
from funcdiff.ops.structure.slicing import Slice, replace_slice, replace_slice_p, take_slice
from funcdiff.ops.structure.structural import (
    inverse,
    permute,
    reshape,
    reshape_p,
    reverse,
    select_p,
)
from funcdiff.space import broadcast_p, kept_axes

# ---- Where in an array the elements of a view of it are, worked out from address and strides -----
#
# Both are arrays that nobody ever fills: memory that is not touched costs nothing, and NumPy itself
# says what a view of a view is.


NDArray: TypeAlias = np.ndarray[Any, Any]


class Box(NamedTuple):
    """A view that is a slice with its axes reversed, permuted, dropped or inserted.

    Attributes
    ----------
    cut
        The slice.
    reversed_axes
        Axes of the slice along which the view runs backwards.
    axes
        For each axis of the view that is longer than 1, the axis of the slice.
    shape
        Shape of the view.
    """

    cut: Slice
    reversed_axes: tuple[int, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]

    def get(self, x: Tracer) -> Tracer:
        """Return the elements of the view."""
        part = reverse(take_slice(x, self.cut), self.reversed_axes)
        return reshape(permute(part, self._order), self.shape)

    def replace(self, x: Tracer, v: Tracer) -> Tracer:
        """Return the array with `v` in place of the elements of the view."""
        lengths = self.cut.lengths
        part = reshape(v, tuple(lengths[axis] for axis in self._order))
        part = reverse(permute(part, inverse(self._order)), self.reversed_axes)
        return replace_slice(x, part, self.cut)

    @property
    def _order(self) -> tuple[int, ...]:
        return (*self.axes, *kept_axes(len(self.cut.starts), self.axes))


class Flat(NamedTuple):
    """A view that is a box of the flattened array, in C order."""

    box: Box

    def get(self, x: Tracer) -> Tracer:
        """Return the elements of the view."""
        return self.box.get(reshape(x, (x.type.size,)))

    def replace(self, x: Tracer, v: Tracer) -> Tracer:
        """Return the array with `v` in place of the elements of the view."""
        return reshape(self.box.replace(reshape(x, (x.type.size,)), v), x.shape)


class Scattered(NamedTuple):
    """Any other view: the index of each of its elements along each axis of the array."""

    places: tuple[NDArray, ...]

    def get(self, x: Tracer) -> Tracer:
        """Return the elements of the view."""
        return gather(x, list(map(array, self.places)), tuple(range(x.ndim)))

    def replace(self, x: Tracer, v: Tracer) -> Tracer:
        """Return the array with `v` in place of the elements of the view."""
        return scatter(x, v, list(map(array, self.places)), tuple(range(x.ndim)), distinct=True)


def replace_elements(x: Tracer, whole: NDArray, view: NDArray, v: Tracer) -> Tracer:
    """Return `x` with `v` in place of the elements of a view.

    `whole` and `view` are arrays laid out like `x` and the view, which may be one of its real or
    imaginary part; `v` has the shape and dtype of the view.
    """
    if view.size == 0:
        return x
    backwards = tuple(axis for axis, stride in enumerate(whole.strides) if stride < 0)
    if backwards:
        turned = replace_elements(reverse(x, backwards), np.flip(whole, backwards), view, v)
        return reverse(turned, backwards)
    offset = _address(view) - _address(whole)
    region = _region(whole, view, offset - offset % whole.itemsize)
    if view.itemsize == whole.itemsize:
        return region.replace(x, v)
    before = region.get(x)
    is_imaginary = offset % whole.itemsize > 0
    pair = (real(before), v) if is_imaginary else (v, imag(before))
    return region.replace(x, join(*pair))


def _address(a: NDArray) -> int:
    address: int = a.__array_interface__["data"][0]
    return address


def _region(whole: NDArray, view: NDArray, offset: int) -> Box | Flat | Scattered:
    box = _box(whole.shape, whole.strides, view, offset)
    if box is not None:
        return box
    if whole.flags.c_contiguous:
        box = _box((whole.size,), (whole.itemsize,), view, offset)
        if box is not None:
            return Flat(box)
    positions = np.full(view.shape, offset // whole.itemsize)
    for axis, (n, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
        along = tuple(n if k == axis else 1 for k in range(view.ndim))
        positions = positions + np.arange(n).reshape(along) * (stride // whole.itemsize)
    steps = [stride // whole.itemsize for stride in whole.strides]
    places = [np.zeros_like(positions) for _ in steps]
    for axis in sorted(range(whole.ndim), key=lambda axis: -steps[axis]):
        if whole.shape[axis] > 1:
            places[axis], positions = np.divmod(positions, steps[axis])
    return Scattered(tuple(places))


def _box(
    shape: tuple[int, ...], strides: tuple[int, ...], view: NDArray, offset: int
) -> Box | None:
    """Return the view as a box of an array of a given shape without gaps, None if it is none."""
    ends = [(n - 1) * stride for n, stride in zip(view.shape, view.strides, strict=True)]
    offset += sum(min(end, 0) for end in ends)
    long_axes = [axis for axis, n in enumerate(shape) if n > 1]
    long_axes.sort(key=lambda axis: -strides[axis])
    starts = [0] * len(shape)
    for axis in long_axes:
        starts[axis], offset = divmod(offset, strides[axis])
    stops, steps = [start + 1 for start in starts], [1] * len(shape)
    axes: list[int] = []
    backwards = []
    for n, stride in zip(view.shape, view.strides, strict=True):
        if n == 1:
            continue
        fitting = [k for k in long_axes if not stride % strides[k] and k not in axes]
        if not fitting or stride == 0:
            return None
        axis = fitting[0]
        steps[axis] = abs(stride) // strides[axis]
        stops[axis] += (n - 1) * steps[axis]
        if stops[axis] > shape[axis]:
            return None
        axes.append(axis)
        if stride < 0:
            backwards.append(axis)
    cut = Slice(tuple(starts), tuple(stops), tuple(steps))
    return Box(cut, tuple(sorted(backwards)), tuple(axes), view.shape)


def layout_like(a: NDArray, dtype: Any) -> NDArray | None:
    """Return an array without content, with the gaps and reversed axes of another.

    A gap is rounded up to whole elements.  None if elements of the other overlap.
    """
    if a.size < 2:
        return np.empty(a.shape, dtype)
    steps = [
        -(-abs(stride) // a.itemsize) if n > 1 else 0
        for stride, n in zip(a.strides, a.shape, strict=True)
    ]
    end = 1  # how far elements reach along the axes so far
    for step, n in sorted(zip(steps, a.shape, strict=True)):
        if n > 1 and step < end:
            return None
        end += (n - 1) * step
    size = np.dtype(dtype).itemsize
    strides = [
        -step * size if stride < 0 else step * size
        for step, stride in zip(steps, a.strides, strict=True)
    ]
    first = sum((n - 1) * -min(s, 0) for s, n in zip(strides, a.shape, strict=True))
    return np.ndarray(a.shape, dtype, np.empty(end, dtype).data, first, strides)


def with_gaps(type_: ArrayType) -> NDArray:
    """Return an array without content whose views are views whatever the layout.

    The strides of two axes have a prime number above the length as their ratio: however slices are
    taken of it, no two axes can be made one, and no axis is contiguous.
    """
    spread = np.empty([*map(_prime_above, type_.shape), 2], type_.dtype)[..., 0]
    whole: NDArray = spread[tuple(map(slice, type_.shape))]
    return whole


def _prime_above(n: int) -> int:
    return next(p for p in count(n + 1) if all(p % d for d in range(2, isqrt(p) + 1)))


# ---- how the results of functions lie in memory --------------------------------------------------
#
# NumPy's own function says it, called with arrays that lie as its operands do.


_WRITES: Final = (replace_slice_p, scatter_p, scatter_add_p, select_p)
"""Operations as which writes in place are recorded."""


class Layouts(NamedTuple):
    """Finds how values lie in memory; None wherever that is not known."""

    of_handle: Callable[[Tracer], NDArray | None]
    of_record: Callable[[Any, ArrayType], NDArray | None]  # of which a handle's record was noted

    def of_value(self, x: Tracer) -> NDArray | None:
        """Return an array laid out as the result that a handle was made for."""
        builder = x.builder or current_builder()
        if x.ndim < 2 or x.type.size < 2 or builder is None:
            return np.empty(x.shape, x.dtype)
        pending, open_ = [(builder, x.atom)], set[tuple[Recorder, Ref]]()
        while pending:  # what others are made of comes first: chains of calls are long
            value = pending[-1]
            if value in open_ or _key(*value) in value[0].models:
                self._made(*pending.pop())
                continue
            open_.add(value)
            pending += [x for x in _sources(*value) if x not in open_]
        return _of_shape(self._made(builder, x.atom), x.shape)

    def _made(self, builder: Recorder, atom: Ref) -> NDArray | None:
        """Return the layout of what is made first: a copy that is the same value may differ."""
        key = _key(builder, atom)
        if key not in builder.models:
            builder.models[key] = None  # as long as it is looked for
            builder.models[key] = self._find(builder, atom)
        made: NDArray | None = builder.models[key]
        return made

    def _find(self, builder: Recorder, atom: Ref) -> NDArray | None:
        calls = [note for note in _calls(builder, atom) if not note.is_given]
        if calls:
            return self._of_call(calls[-1])  # which the others were made in
        if isinstance(atom, Literal):
            return np.empty(atom.type.shape, atom.type.dtype)
        origin = builder.origin(atom)
        if origin is not None:
            return self._of_operation(builder, atom, *origin)
        value = builder.capture_of(atom)
        if isinstance(value, Tracer):
            return self._of_operand(value.builder or builder, value.atom, value.type)
        if value is not None:
            return _like_constant(np.asarray(value))
        _, note = builder.layouts.get(atom, [(0, ())])[0]
        type_: ArrayType = builder.entries[atom][0]
        return self.of_record(note, type_) if _is_of_argument(note, atom) else None

    def _of_operand(
        self, builder: Recorder, atom: Ref, type_: ArrayType, time: float = inf
    ) -> NDArray | None:
        """Return the layout of a value as an operand, which any copy of it may be."""
        if len(type_.shape) < 2 or type_.size < 2:
            return np.empty(type_.shape, type_.dtype)
        is_written = not _calls(builder, atom) and _is_written(builder, atom)
        models = [] if is_written else [self._made(builder, atom)]
        for noted, note in builder.layouts.get(atom, ()):
            call = Called(*note) if type(note) is tuple else None
            if noted <= time and (call is None or call.is_given):
                models.append(self._of_call(call) if call else self.of_record(note, type_))
        return _of_shape(_common(models), type_.shape)

    def _of_call(self, call: Called) -> NDArray | None:
        """Return how NumPy lays out the result of a call; None if it depends on numbers, too."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                args, kwargs = self._with_models((call.args, dict(call.kwargs)))
                result = call.function(*args, **kwargs)
            made = np.asarray(result if call.item is None else result[call.item])
        except Exception:  # whatever it says to numbers that are none of the user's
            return None
        return made

    def _with_models(self, given: Any) -> Any:
        """Return arguments with plain arrays in the place of traced ones."""
        if isinstance(given, Tracer):
            model = self.of_handle(given)
            if model is None:
                raise UnsupportedNumPyError("a layout that is not known")
            if model.flags.writeable:  # it has an inverse
                model[...] = np.eye(*model.shape[-2:]) if model.ndim > 1 else 0
            return model if isinstance(given, np.ndarray) else model[()]
        if type(given) in (tuple, list):
            return type(given)(map(self._with_models, given))
        if type(given) is dict:
            return {name: self._with_models(x) for name, x in given.items()}
        if isinstance(given, np.ndarray):  # the user's own, of which a result may be a view
            seen = given.view()
            seen.flags.writeable = False
            return seen
        if callable(given) and not isinstance(given, type | np.ufunc):
            raise UnsupportedNumPyError("a function of the user's, which is not called again")
        return given

    def _of_operation(
        self, builder: Recorder, atom: int, op: Operation, refs: Sequence[Ref]
    ) -> NDArray | None:
        """Return how a ufunc lays out its result, and what fits operands to it; None of others."""
        (result, *others), access = op.results, op.primitive.access
        is_ufunc = access is pointwise and not others
        if not (is_ufunc or op.primitive in (broadcast_p, reshape_p)):
            return None
        models: list[NDArray] = []
        for ref, type_ in zip(refs, op.operands, strict=True):
            is_number = isinstance(ref, Literal) and ref not in builder.layouts
            model = np.empty(()) if is_number else self._of_operand(builder, ref, type_, atom)
            if model is None:
                return None
            models.append(model)
        if is_ufunc:  # a literal that is somewhere an array of a layout may be a number here
            numbers = [
                np.empty(()) if isinstance(ref, Literal) else model
                for ref, model in zip(refs, models, strict=True)
            ]
            return _common([_of_ufunc(numbers, result), _of_ufunc(models, result)])
        axes = getattr(op.params, "axes", range(len(result.shape)))
        lengths = [n if k in axes else 1 for k, n in enumerate(result.shape)]
        return np.broadcast_to(models[0].reshape(lengths), result.shape)


def _like_constant(a: NDArray) -> NDArray | None:
    """Return an array without content laid out as a captured one, or as a number filled to it."""
    if any(a.strides):
        return layout_like(a, a.dtype)
    return np.ndarray(a.shape, a.dtype, np.empty(1, a.dtype).data, 0, a.strides)


def _key(builder: Recorder, atom: Ref) -> tuple[Ref, int]:
    """Return what tells layouts of values that are one variable apart: what was noted so far."""
    return atom, len(builder.layouts.get(atom, ()))


def _calls(builder: Recorder, atom: Ref) -> list[Called]:
    return [Called(*note) for _, note in builder.layouts.get(atom, ()) if type(note) is tuple]


def _is_of_argument(note: Any, atom: Ref) -> bool:
    """Whether a note is the record of the handle that an argument came with."""
    if type(note) is tuple or note.order is not None:
        return False
    return note.origin is None or note.origin.atom == atom


def _is_written(builder: Recorder, atom: Ref) -> bool:
    """Whether a variable is an array after a write, of whose layout there is a note."""
    origin = None if isinstance(atom, Literal) else builder.origin(atom)
    return origin is not None and origin[0].primitive in _WRITES and atom in builder.layouts


def _with_bases(x: Tracer) -> Iterator[Tracer]:
    """Yield an array and those that it is a view of or made like."""
    record = getattr(x, "views", None)
    yield x
    for other in () if record is None else (record.base, record.origin):
        if other is not None:
            yield from _with_bases(other)


def _sources(builder: Recorder, atom: Ref) -> list[tuple[Recorder, Ref]]:
    """Return what a variable is computed from, or stands for, with the builder of each."""
    found = [
        (x.builder or builder, x.atom)
        for call in _calls(builder, atom)
        for given in tracers_in((call.args, call.kwargs))
        for x in _with_bases(given)
    ]
    if found or isinstance(atom, Literal):
        return found
    origin, x = builder.origin(atom), builder.capture_of(atom)
    if origin is not None:
        return [(builder, ref) for ref in origin[1] if not isinstance(ref, Literal)]
    return [(x.builder or builder, x.atom)] if isinstance(x, Tracer) else []


def _of_ufunc(models: Sequence[NDArray], type_: ArrayType) -> NDArray:
    """Return an array laid out as ufuncs lay out their results of such operands."""
    if all(model.flags.c_contiguous for model in models):
        return np.empty(type_.shape, type_.dtype)
    flags: Any = [["readonly"] for _ in models] + [["writeonly", "allocate"]]
    dtypes: Any = [*(None for _ in models), type_.dtype]
    made: NDArray = np.nditer([*models, None], ["zerosize_ok"], flags, dtypes).operands[-1]
    return made


def _common(models: Iterable[NDArray | None]) -> NDArray | None:
    """Return the layout that all have, None if there is none or one is not known."""
    first, *others = [*models] or [None]
    if first is None or any(x is None or _differ(first, x) for x in others):
        return None
    return first


def _differ(a: NDArray, b: NDArray) -> bool:
    """Whether arrays lie in other orders; gaps and directions are lost in what is made of them."""
    if a.shape != b.shape:
        return True
    strides = [np.empty_like(x, bool, subok=False).strides for x in (a, b)]
    return a.size > 0 and any(n > 1 and x != y for n, x, y in zip(a.shape, *strides, strict=True))


def _of_shape(model: NDArray | None, shape: tuple[int, ...]) -> NDArray | None:
    return model if model is not None and model.shape == shape else None
