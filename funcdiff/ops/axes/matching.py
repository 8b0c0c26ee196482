"""Matching the elements of an array with those of a rearrangement, in linear time.

Two orders of the same elements are matched by sorting both, which takes longer than to partition.
Hashing only asks which elements are equal: in each round, elements put their number down in a
table, at a place that depends on their value, the first one last; those that find there the
number of an equal one are done, and the others, about a fifth, try other places.  The places are
those of multiply-shift hashing (M. Dietzfelbinger et al., "A Reliable Randomized Algorithm for
the Closest-Pair Problem", Journal of Algorithms 25 (1997) 19-51), with multipliers of a fixed
sequence (D. E. Knuth, MMIX).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.core.types import INT

_DIGIT: Final = 16
"""Bits of the integers that NumPy sorts stably in linear time."""


def match(x: Any, y: Any) -> Any:
    """Return where the elements of the vector `x` are that its rearrangement `y` consists of.

    Equal elements keep their order: the zeros of either sign are equal, and so are all NaNs.
    """
    here, there = _first_equal(_keys(x), _keys(y))
    if np.array_equal(here, np.arange(x.size)):
        return there
    result = np.empty(x.size, INT)
    result[_ascending(there)] = _ascending(here)
    return result


def _keys(x: Any) -> Any:
    """Return rows of integers, of which all are equal for equal elements alone."""
    parts = np.stack((x.real, x.imag) if x.dtype.kind == "c" else (x,), dtype=float)
    parts += 0.0  # of the zeros only that without a sign is left
    parts[:, np.isnan(x)] = np.nan
    return parts.view(np.uint64)


def _first_equal(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the number of the first element of `x` equal to each of `x`, and to each of `y`."""
    results = np.empty(x.shape[1], INT), np.empty(y.shape[1], INT)
    left = [(np.arange(z.shape[1]), z) for z in (x, y)]
    factors = _multipliers()
    while left[0][0].size:
        (numbers, keys), bits = left[0], left[0][0].size.bit_length() + 1
        chosen = [next(factors) for _ in keys]
        table = np.empty(1 << bits, np.int32 if bits < 32 else INT)
        places = _places(keys, chosen, bits)
        table[places[::-1]] = np.arange(numbers.size)[::-1]  # what is written last stays
        for k, result in enumerate(results):
            own, wanted = left[k]
            found = table.take(places if k == 0 else _places(wanted, chosen, bits))
            equal = np.all(keys.take(found, axis=1) == wanted, axis=0)
            done, rest = np.flatnonzero(equal), np.flatnonzero(~equal)
            result[own.take(done)] = numbers.take(found.take(done))
            left[k] = own.take(rest), wanted.take(rest, axis=1)
    return results


def _multipliers() -> Iterator[int]:
    """Yield odd numbers of 64 bits."""
    factor = 0x9E3779B97F4A7C15
    while True:
        yield factor
        factor = (factor * 0x5851F42D4C957F2D + 2) % 2**64


def _places(keys: Any, factors: Sequence[int], bits: int) -> Any:
    """Return the places of elements in a table of 2^bits."""
    total = np.zeros(keys.shape[1], np.uint64)
    for row, factor in zip(keys, factors, strict=True):
        total += row * np.uint64(factor)
    total >>= np.uint64(64 - bits)
    return total.view(INT)


def _ascending(numbers: Any) -> Any:
    """Return the stable permutation that sorts numbers of elements, digit by digit."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    for shift in range(_DIGIT, numbers.size.bit_length(), _DIGIT):
        digits = (numbers.take(order) >> shift).astype(np.uint16)
        order = order.take(np.argsort(digits, kind="stable"))
    return order
