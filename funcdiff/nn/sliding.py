"""Geometry of sliding kernels and windows: layouts, strides, dilations and padding."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcdiff.errors import user_location

Layout: TypeAlias = Literal["channels_first", "channels_last"]
Counts: TypeAlias = int | Sequence[int]
Padding: TypeAlias = Literal["valid", "same"] | int | Sequence[int] | Sequence[tuple[int, int]]


class Sliding(NamedTuple):
    """How a kernel slides along the axes of space."""

    strides: tuple[int, ...]  # from place to place
    dilations: tuple[int, ...]  # from tap to tap
    pads: tuple[tuple[int, int], ...]  # zeros in front and behind
    lengths: tuple[int, ...]  # numbers of places


def sliding(
    name: str,
    space: Sequence[int],
    taps: Sequence[int],
    *,
    stride: Counts,
    dilation: Counts,
    padding: Padding,
) -> Sliding:
    """Return how a kernel of so many taps slides over arrays of such a space.

    Raises `ValueError` if one of the three is no such number or sequence, or nothing fits.
    """
    strides = counts(name, "stride", stride, len(space))
    dilations = counts(name, "dilation", dilation, len(space))
    reach = [d * (t - 1) + 1 for d, t in zip(dilations, taps, strict=True)]
    if isinstance(padding, str) and padding == "same":
        pads = tuple(map(_same, space, reach, strides))
    else:
        pads = _pads(name, padding, len(space))
    room = [n + sum(pair) for n, pair in zip(space, pads, strict=True)]
    if any(n < r for n, r in zip(room, reach, strict=True) if not padding == "same"):
        raise ValueError(
            f"{name}: a kernel that reaches over {tuple(reach)} places does not fit into x of "
            f"{tuple(space)} places with padding={padding!r}, which makes {tuple(room)}, at "
            f"{user_location()}. Pass a larger padding or padding='same'."
        )
    lengths = [(n - r) // s + 1 for n, r, s in zip(room, reach, strides, strict=True)]
    return Sliding(strides, dilations, pads, tuple(max(0, n) for n in lengths))


def _same(length: int, reach: int, stride: int) -> tuple[int, int]:
    """Return the zeros that make ⌈length/stride⌉ places, of an odd number one more behind."""
    total = max(0, (-(-length // stride) - 1) * stride + reach - length)
    return total // 2, total - total // 2


def counts(name: str, parameter: str, value: Any, axes: int) -> tuple[int, ...]:
    """Return one positive integer for each axis.

    Raises `ValueError` if `value` is neither an integer nor a sequence of so many.
    """
    found = _integers(value)
    if found is not None and len(found) == 1 and not isinstance(value, Sequence):
        found = found * axes
    if found is None or len(found) != axes or min(found) < 1:
        raise ValueError(
            f"{name}: {parameter} must be a positive integer or {axes} of them, one for each axis "
            f"of space, not {value!r}, at {user_location()}"
        )
    return found


def _integers(value: Any) -> tuple[int, ...] | None:
    """Return an integer or a sequence of integers as a tuple, None if it is something else."""
    try:
        return tuple(map(index, value if isinstance(value, Sequence | np.ndarray) else (value,)))
    except TypeError:
        return None


def _pads(name: str, padding: Any, axes: int) -> tuple[tuple[int, int], ...]:
    if isinstance(padding, str) and padding == "valid":
        return ((0, 0),) * axes
    each = padding if isinstance(padding, Sequence | np.ndarray) else (padding,) * axes
    pairs = [_integers(width) for width in each] if not isinstance(padding, str) else [None]
    known = [pair * 2 if len(pair) == 1 else pair for pair in pairs if pair is not None]
    fit = all(len(pair) == 2 and min(pair) >= 0 for pair in known)
    if len(known) != len(pairs) or len(known) != axes or not fit:
        raise ValueError(
            f"{name}: padding must be 'valid', 'same', an integer that is not negative, or {axes} "
            f"of these or of pairs (before, behind), one for each axis of space, not {padding!r}, "
            f"at {user_location()}"
        )
    return tuple((pair[0], pair[1]) for pair in known)


def check_layout(name: str, layout: Any) -> None:
    """Raise ValueError if there is no such layout."""
    if layout not in ("channels_first", "channels_last"):
        raise ValueError(
            f"{name}: layout must be 'channels_first' or 'channels_last', not {layout!r}, at "
            f"{user_location()}"
        )
