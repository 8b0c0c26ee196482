"""How an operation is computed: its function, its variants, and what is quicker than NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

Variant: TypeAlias = Callable[[Any], Callable[..., Any]]
"""``variant(p) -> function`` of the operand arrays, given the parameters of an operation."""


@dataclass(frozen=True)
class Implementation:
    """A function and its variants; what is not said of it costs speed, and no derivative asks."""

    function: Variant
    # The results share no memory with an operand.  NumPy's ufuncs need not say so.
    fresh: bool = False
    # The result looks at the memory of the first operand and moves nothing.
    view: bool = False
    # A variant that may overwrite its first operand; only where `fresh`.
    in_place: Variant | None = None
    # A variant with a last argument more, to which it writes its one result: a plain array of the
    # result's type, in order in memory, and apart from the operands.
    into: Variant | None = None
    # A variant that is quicker for few elements.
    of_few: Variant | None = None
    # A variant for parameters that hold programs: ``nested(p, runner) -> function``, where the
    # runner makes functions of them.
    nested: Callable[[Any, Any], Callable[..., Any]] | None = None

    def __call__(self, p: Any) -> Callable[..., Any]:
        """Return the function of the operand arrays, given the parameters."""
        return self.function(p)


# ---- repeating -----------------------------------------------------------------------------------


def spread(p: Any) -> Any:
    """Return the function that gives a view repeated along new axes, as `numpy.broadcast_to`."""
    shape, places = p.shape, range(len(p.shape))
    expand = tuple(slice(None) if a in p.axes else None for a in places)
    axes = [p.axes.index(a) if a in p.axes else -1 for a in places]

    def function(x: Any) -> Any:
        x = np.asarray(x)
        if not (x.size and x.flags.c_contiguous):
            return np.broadcast_to(x[expand], shape)
        strides = (*x.strides, 0)  # which takes a third of the time of `np.broadcast_to`
        y: Any = np.ndarray(shape, x.dtype, x, 0, [strides[a] for a in axes])
        y.setflags(False)
        return y

    return function


def spread_few(p: Any) -> Any:
    """Return the function that writes what `spread` gives, sooner done for few elements."""
    expand = tuple(slice(None) if a in p.axes else None for a in range(len(p.shape)))

    def function(x: Any) -> Any:
        y = np.empty(p.shape, x.dtype)
        y[...] = x[expand] if p.axes else x
        return y

    return function


# ---- choosing ------------------------------------------------------------------------------------

_BITS: Final = {
    np.dtype(kind): np.dtype(f"i{np.dtype(kind).itemsize}")
    for kind in (np.float16, np.float32, np.float64, np.int32, np.int64, np.bool_)
}
_FEW_CHOICES: Final = 2000
"""Elements up to which `np.where` is as fast."""


def choose(mask: Any, x: Any, y: Any) -> Any:
    """Take y ⊕ (x ⊕ y)·mask of the bits, without a branch.

    A mask in no order makes the processor guess wrong at every other element of `np.where`,
    which then takes several times as long.
    """
    is_large = type(mask) is np.ndarray and mask.size >= _FEW_CHOICES
    # elsewhere the result of `np.where` may lie in another order
    if is_large and x.dtype in _BITS and all(map(_is_plain, (mask, x, y))):
        return _choose_bits(mask, x, y, np.empty(mask.shape, x.dtype))
    return np.where(mask, x, y)


def choose_into(mask: Any, x: Any, y: Any, result: Any) -> Any:
    """Write to memory what `choose` returns."""
    if x.dtype in _BITS:
        return _choose_bits(mask, x, y, result)
    np.copyto(result, y)
    np.copyto(result, x, where=mask)
    return result


def _choose_bits(mask: Any, x: Any, y: Any, result: Any) -> Any:
    kind = _BITS[x.dtype]
    bits = result.view(kind)
    a, b = (z.view(kind) if any(z.strides) else z.flat[0].view(kind) for z in (x, y))
    if np.ndim(b) == 0 and b == 0:
        np.multiply(a, mask, out=bits)
    elif np.ndim(a) == 0 and a == 0:
        np.multiply(b, ~mask, out=bits)
    else:
        both_numbers = np.ndim(a) == np.ndim(b) == 0
        np.multiply(a ^ b if both_numbers else np.bitwise_xor(a, b, out=bits), mask, out=bits)
        np.bitwise_xor(bits, b, out=bits)
    return result


def _is_plain(x: Any) -> bool:
    """Whether an array lies in order in memory, or is one number repeated."""
    return x.flags.c_contiguous or not any(x.strides)


# ---- indexing ------------------------------------------------------------------------------------

_FEW_UPDATES: Final = 2048
"""Elements up to which there is nothing to gain."""

_BLOCK: Final = 1 << 15
"""Elements whose positions are computed at a time."""


def axes_first(x: Any, axes: tuple[int, ...]) -> Any:
    """View an array with the given axes in front."""
    return x.transpose((*axes, *(k for k in range(x.ndim) if k not in axes)))


def take_rows(x: Any, index: Any) -> Any:
    """Return the rows at some positions: of rows in order, `numpy.take` copies them as a whole."""
    if x.ndim > 1 and np.ndim(index) and x.flags.c_contiguous and index.dtype.kind == "i":
        return x.take(index, 0)
    y = x[index]
    return y if np.ndim(index) or not np.ndim(y) else y.copy()


def add_at(x: Any, axes: tuple[int, ...], indices: Sequence[Any], updates: Any) -> None:
    """Do what `numpy.add.at` does, which is five times as fast with one axis and one index."""
    target = axes_first(x, axes)
    lengths, strides = target.shape, [s // x.itemsize for s in target.strides]
    inside = (
        i.size and -n <= i.min() and i.max() < n for i, n in zip(indices, lengths, strict=False)
    )
    if updates.size < _FEW_UPDATES or x.ndim == 1 or not x.flags.c_contiguous or not all(inside):
        np.add.at(target, tuple(indices), updates)  # which raises if a position is not inside
        return
    rows, kept = np.zeros(indices[0].shape, np.intp), np.zeros((), np.intp)
    for i, n, stride in zip(indices, lengths, strides, strict=False):
        rows += stride * np.where(i < 0, i + np.intp(n), i).astype(np.intp)
    for n, stride in zip(lengths[len(axes) :], strides[len(axes) :], strict=True):
        kept = np.add.outer(kept, stride * np.arange(n))
    rows, values = rows.reshape(-1, 1), updates.reshape(rows.size, kept.size)
    block = max(1, _BLOCK // kept.size)
    for first in range(0, len(rows), block):
        part = slice(first, first + block)
        np.add.at(x.reshape(-1), (rows[part] + kept.reshape(-1)).ravel(), values[part].ravel())
