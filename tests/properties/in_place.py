"""Random programs that change arrays in place: views, copies, aliases and writes of every kind.

A program is a list of steps, each the name of an action and integers.  What the integers choose
(which array, which index, which order) depends on the shapes that there are at that moment only,
so the same program runs on arrays of NumPy's, on traced ones and on complex ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

Steps: TypeAlias = Sequence[tuple[str, tuple[int, ...]]]

ORDERS: Final = ("C", "F", "A", "K")
RAISED: Final = (ValueError, TypeError, IndexError)
_DIGITS: Final = 12
_LARGEST: Final = 1 << 12


class _Choices:
    """The integers of a step, taken one after the other, and a zero of the program's own."""

    def __init__(self, digits: Sequence[int], zero: Any = 0) -> None:
        self._digits = digits
        self._zero = zero
        self._place = 0

    def upto(self, n: int) -> int:
        self._place += 1
        return self._digits[(self._place - 1) % len(self._digits)] % max(n, 1)

    def of(self, options: Sequence[Any]) -> Any:
        return options[self.upto(len(options))]

    def slice(self, length: int) -> slice:
        step = self.of((None, 1, 2, -1, -2, 3))
        start, stop = (self.of((None, *range(-length, length + 1))) for _ in range(2))
        return slice(start, stop, step)

    def basic(self, shape: tuple[int, ...]) -> Any:
        """Return an index of slices, integers, some of them traced, an Ellipsis and None."""
        items: list[Any] = []
        for length in shape[: self.upto(len(shape) + 1)]:
            if length and self.upto(3) == 0:
                items.append(self.upto(length) - self.of((0, length)) + self.of((0, self._zero)))
            else:
                items.append(self.slice(length))
        if self.upto(3) == 0:
            items.insert(self.upto(len(items) + 1), Ellipsis)
        if self.upto(4) == 0:
            items.insert(self.upto(len(items) + 1), None)
        return items[0] if len(items) == 1 and self.upto(2) else tuple(items)

    def advanced(self, shape: tuple[int, ...]) -> Any:
        """Return an index with an array of positions or a mask."""
        axis = self.upto(len(shape))
        front = tuple(self.slice(n) for n in shape[:axis])
        length = shape[axis]
        if self.upto(2) or not length:
            mask = np.array([bool(self.upto(2)) for _ in range(length)], bool)
            return mask if not axis else (*front, mask)
        some = np.array([self.upto(length) - self.of((0, length)) for _ in range(self.upto(4))])
        if self.upto(3) == 0 and some.size:
            some = some[:, None]
        places: Any = some.astype(int) if self.upto(2) else some.astype(int).tolist()
        return places if not axis else (*front, places)


class _State:
    """The arrays that a program has names for, and plain ones that it gives back.

    Where it `exports`, nothing has a derivative, and plain arrays may be made of what is traced.
    """

    def __init__(self, arrays: list[Any], *, exports: bool) -> None:
        self.arrays = arrays
        self.exports = exports
        self.read: list[Any] = []

    def any(self, c: _Choices) -> Any:
        return c.of(self.arrays)

    def target(self, c: _Choices) -> Any:
        """Return an array that can be written to: the numbers of NumPy cannot."""
        y = c.of([y for y in self.arrays if np.ndim(y)] or [np.zeros(0)])
        if type(y) is np.ndarray and not y.flags.writeable:
            raise ValueError("read-only")  # which NumPy forgets where it writes nothing
        return y

    def value(self, c: _Choices, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return what can be written to a place of that shape: often what shares its memory."""
        kind = c.upto(4)
        if kind == 0:
            return c.of((2, 0.5, -1.0, 3))
        sources = [y for y in self.arrays if _fits(np.shape(y), shape, y.dtype, dtype)]
        if kind > 1 and sources:
            source = c.of(sources)
            return source if c.upto(3) else source * 0.5 + 1
        castable = [y for y in self.arrays if np.can_cast(y.dtype, dtype, "same_kind")]
        sources = [y for y in castable if np.size(y)]
        if not sources:
            return 1.5
        flat = np.ravel(c.of(sources))
        count = int(np.prod(shape, dtype=int))
        return np.reshape(flat[(np.arange(count) + c.upto(5)) % np.size(flat)], shape)


def _fits(shape: tuple[int, ...], target: tuple[int, ...], dtype: Any, to: Any) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target and np.can_cast(dtype, to, "same_kind")
    except ValueError:
        return False


Action: TypeAlias = Callable[[_State, _Choices], Any]
ACTIONS: Final[dict[str, Action]] = {}


def _action(f: Action) -> Action:
    ACTIONS[f.__name__.strip("_")] = f
    return f


# ---- views and copies, which get a name ---------------------------------------------------------


def _made(make: Callable[[Any, _Choices], Any]) -> Callable[[Any, _Choices], Any]:
    def action(s: _State, c: _Choices) -> None:
        s.arrays.append(make(s.any(c), c))

    ACTIONS[make.__name__.strip("_")] = action
    return make


@_made
def _index(y: Any, c: _Choices) -> Any:
    return y[c.basic(np.shape(y))]


@_made
def _fancy(y: Any, c: _Choices) -> Any:
    return y[c.advanced(y.shape)] if np.ndim(y) else y


@_made
def _turned(y: Any, c: _Choices) -> Any:
    if np.ndim(y) < 1:
        return np.transpose(y)
    axes = [c.upto(y.ndim) for _ in range(2)]
    order = tuple(np.argsort([c.upto(9) for _ in range(y.ndim)], kind="stable").tolist())
    kind = c.upto(6)
    if kind == 0:
        return y.T
    if kind == 1:
        return np.swapaxes(y, *axes)
    if kind == 2:
        return np.moveaxis(y, axes[0], axes[1])
    if kind == 3:
        return np.flip(y, axes[0])
    return y.transpose(order)


@_made
def _reshaped(y: Any, c: _Choices) -> Any:
    shape = list(np.shape(y))
    kind = c.upto(5)
    if kind == 0 or not shape:
        shape = [-1]
    elif kind == 1 and len(shape) > 1:
        k = c.upto(len(shape) - 1)
        shape[k : k + 2] = [shape[k] * shape[k + 1]]
    elif kind == 2:
        k = c.upto(len(shape))
        if shape[k] % 2 == 0 and shape[k]:
            shape[k : k + 1] = [2, shape[k] // 2]
    elif kind == 3:
        shape.insert(c.upto(len(shape) + 1), 1)
    else:
        shape = shape[::-1]
    if shape == [-1] and not np.size(y):
        shape = [0]
    return np.reshape(y, tuple(shape), order=c.of(ORDERS[:3]))


@_made
def _ravelled(y: Any, c: _Choices) -> Any:
    return np.ravel(y, c.of(ORDERS))


@_made
def _squeezed(y: Any, c: _Choices) -> Any:
    return np.squeeze(y) if c.upto(2) else np.expand_dims(y, c.upto(np.ndim(y) + 1))


@_made
def _parts(y: Any, c: _Choices) -> Any:
    return c.of((np.real, np.imag))(y)


@_made
def _read_only(y: Any, c: _Choices) -> Any:
    if not np.ndim(y):
        return y
    if np.ndim(y) > 1 and c.upto(2):
        return np.diagonal(y, c.upto(3) - 1)
    return np.broadcast_to(y, (2, *np.shape(y)))


@_made
def _copied(y: Any, c: _Choices) -> Any:
    kind = c.upto(8)
    order = c.of(ORDERS)
    if kind == 0:
        return y.copy(order)
    if kind == 1:
        return np.copy(y, order)
    if kind == 2:
        return y * 1.0
    if kind == 3:
        return y.astype(y.dtype, order, copy=bool(c.upto(2)))
    if kind == 4:
        return c.of((np.zeros_like, np.ones_like))(y, order=order)
    if kind == 5 and np.ndim(y):
        return np.array(y, order=order, like=y)
    if kind == 6:
        return y.flatten(c.of(ORDERS))
    return +y


@_made
def _same(y: Any, c: _Choices) -> Any:
    return y


@_made
def _rows(y: Any, c: _Choices) -> Any:
    rows = list(y) if np.ndim(y) else []
    return c.of(rows) if rows else y


@_made
def _pieces(y: Any, c: _Choices) -> Any:
    if not np.ndim(y):
        return y
    axis = c.upto(y.ndim)
    return c.of(np.split(y, [c.upto(y.shape[axis] + 1)], axis))


@_made
def _computed(y: Any, c: _Choices) -> Any:
    return c.of((lambda: y * y * 0.25, lambda: y + 1, lambda: np.concatenate([y, y]) * 0.5,
                 lambda: np.where(y > 1, y, 0.5), lambda: np.sin(y)))()  # fmt: skip


@_action
def _exported(s: _State, c: _Choices) -> None:
    """Plain arrays, and views and copies of them, which are as NumPy's whatever happens to y."""
    y = s.any(c)
    convert = c.of((np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.array,
                    lambda y: np.asarray(y, y.dtype), lambda y: np.array(y, copy=None),
                    lambda y: np.require(y, y.dtype, ["C"]), np.ma.getdata))  # fmt: skip
    further = c.of((_same, _index, _turned, lambda y, c: np.ravel(y, c.of("CF"))))
    if s.exports:
        s.read.append(further(convert(y), c))


# ---- changes ------------------------------------------------------------------------------------


@_action
def _set(s: _State, c: _Choices) -> None:
    y = s.target(c)
    index = c.basic(y.shape)
    y[index] = s.value(c, np.shape(y[index]), y.dtype)


@_action
def _set_advanced(s: _State, c: _Choices) -> None:
    y = s.target(c)
    index = c.advanced(y.shape)
    y[index] = s.value(c, np.shape(y[index]), y.dtype)


@_action
def _swap(s: _State, c: _Choices) -> None:
    y = s.target(c)
    order = np.argsort([c.upto(9) for _ in range(y.shape[0])], kind="stable")
    back = np.arange(y.shape[0])
    kind = c.upto(3)
    if kind == 0:
        y[back] = y[order]
    elif kind == 1 and y.shape[0] > 1:
        y[0], y[1] = y[1], y[0]
    else:
        y[:] = y[::-1]


@_action
def _overlap(s: _State, c: _Choices) -> None:
    y = s.target(c)
    if c.upto(2):
        y[1:] = y[:-1]
    else:
        y[:-1] += y[1:]


@_action
def _changed(s: _State, c: _Choices) -> None:
    """In-place operators: a number of NumPy's is bound anew."""
    k = c.upto(len(s.arrays))
    y = s.arrays[k]
    v = s.value(c, np.shape(y), y.dtype)
    kind = c.upto(4)
    if kind == 0:
        y += v
    elif kind == 1:
        y -= v
    elif kind == 2:
        y *= v
    else:
        y /= 2
    s.arrays[k] = y


@_action
def _squared(s: _State, c: _Choices) -> None:
    k = c.upto(len(s.arrays))
    y = s.arrays[k]
    if y.dtype.kind != "c":  # NumPy's loops for those round differently, by strides too
        y **= 2
    y *= 0.125
    s.arrays[k] = y


@_action
def _changed_there(s: _State, c: _Choices) -> None:
    y = s.target(c)
    index = c.basic(y.shape) if c.upto(2) else c.advanced(y.shape)
    y[index] += s.value(c, np.shape(y[index]), y.dtype)


@_action
def _flat(s: _State, c: _Choices) -> None:
    y = s.target(c)
    kind = c.upto(5)
    n = y.size
    if kind == 0:
        y.flat = s.value(c, (c.upto(4) + 1,), y.dtype)
    elif kind == 1:
        y.flat[c.slice(n)] = s.value(c, (c.upto(3) + 1,), y.dtype)
    elif kind == 2 and n:
        y.flat[c.upto(n)] = s.value(c, (), y.dtype)
    elif kind == 3 and n:
        y.flat[[c.upto(n) for _ in range(3)]] = s.value(c, (3,), y.dtype)
    else:
        y.flat[np.arange(n) % 2 == 0] = s.value(c, (2,), y.dtype)


@_action
def _written(s: _State, c: _Choices) -> None:
    """NumPy's functions that write."""
    y = s.target(c)
    kind = c.upto(8)
    n = y.size
    mask = (np.arange(n) % (2 + c.upto(2)) == 0).reshape(y.shape)
    if kind == 0 and n:
        np.put(y, [c.upto(n) for _ in range(3)], s.value(c, (2,), y.dtype))
    elif kind == 1:
        np.copyto(y, s.value(c, y.shape, y.dtype), where=mask)
    elif kind == 2:
        np.copyto(y, s.value(c, y.shape, y.dtype))
    elif kind == 3:
        y.fill(s.value(c, (), y.dtype))
    elif kind == 4:
        np.putmask(y, mask, s.value(c, (c.upto(5) + 1,), y.dtype))
    elif kind == 5 and y.ndim > 1:
        np.fill_diagonal(y, s.value(c, (2,), y.dtype), wrap=bool(c.upto(2)))
    elif kind == 6 and n:
        np.place(y, mask, s.value(c, (2,), y.dtype))
    elif n == 0:
        y[...] = 0
    else:
        axis = c.upto(y.ndim)
        places = np.full(tuple(1 if k == axis else m for k, m in enumerate(y.shape)), c.upto(1))
        np.put_along_axis(y, places, s.value(c, places.shape, y.dtype), axis)


@_action
def _sorted(s: _State, c: _Choices) -> None:
    y = s.target(c)
    y.sort(axis=c.upto(y.ndim))


@_action
def _out(s: _State, c: _Choices) -> None:
    y = s.target(c)
    v = s.value(c, y.shape, y.dtype)
    kind = c.upto(7)
    if kind == 0:
        np.add(y, v, out=y)
    elif kind == 1:
        np.multiply(v, 0.5, out=y)
    elif kind == 2:
        np.negative(y, out=y, where=(np.arange(y.size) % 2 == 0).reshape(y.shape))
    elif kind == 3:
        np.cumsum(y, axis=c.upto(y.ndim), out=y)
    elif kind == 4:
        np.add(v, y[..., ::-1], out=y)
    elif kind == 5 and y.shape[0]:
        np.sum(y, axis=0, out=y[0]) if y.ndim > 1 else np.sin(y, out=y)
    else:
        np.take(y, np.arange(y.shape[0])[::-1], axis=0, out=y, mode="clip")


@_action
def _at(s: _State, c: _Choices) -> None:
    y = s.target(c)
    index = c.advanced(y.shape)
    # no products: NumPy's loops for one of complex numbers, and for many, round differently
    c.of((np.add, np.subtract)).at(y, index, s.value(c, np.shape(y[index]), y.dtype))


@_action
def _set_part(s: _State, c: _Choices) -> None:
    y = s.target(c)
    v = s.value(c, y.shape, np.real(y).dtype)
    if c.upto(2):
        y.real = v
    else:
        y.imag = v


# ---- whole programs ------------------------------------------------------------------------------

STARTS: Final[dict[str, Callable[[Any], Any]]] = {
    "itself": lambda x: x,
    "product": lambda x: x * 1.0,
    "copy": lambda x: x.copy(),
    "columns": lambda x: np.copy(x, "F"),
    "turned": lambda x: np.copy(x.T),
    "view": lambda x: (x * 1.0).T,
    "buffer": lambda x: np.zeros_like(x) + 0.25,
    "empty": lambda x: np.ones_like(x.T),
    "constant": lambda x: (np.full_like(x.T, 2.0) * 0.5)[..., None],
}


def program(start: int, seeds: Sequence[int]) -> tuple[str, Steps]:
    """Return a program with a step for each seed."""
    names = list(ACTIONS)
    steps = []
    for seed in seeds:
        random = np.random.default_rng(seed)
        name = names[random.integers(len(names))]
        steps.append((name, tuple(random.integers(_LARGEST, size=_DIGITS).tolist())))
    return list(STARTS)[start % len(STARTS)], steps


def run(
    program: tuple[str, Steps], x: Any, expected: list[bool] | None = None, *, exports: bool = False
) -> Any:
    """Return the arrays that a program ends with, and which steps raised.

    Where it is `expected` of a step that it raises, it has to; else it may not.  Where it exports,
    nothing that is traced may have a derivative.
    """
    start, steps = program
    state = _State([STARTS[start](x), x], exports=exports)
    zero = np.sum(np.abs(x) < -1)
    raised = []
    for k, (name, digits) in enumerate(steps):
        try:
            ACTIONS[name](state, _Choices(digits, zero))
        except RAISED:
            if expected is not None and not expected[k]:
                raise
            raised.append(True)
        else:
            assert expected is None or not expected[k], f"NumPy refuses step {k}, {name}"
            raised.append(False)
    return state.arrays + state.read, raised
