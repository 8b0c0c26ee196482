"""Equal numbers that decide in SciPy's code: ``if scale != 1: y = y / scale``.

Where such an equality holds, the way that is taken does not show how the result depends on the
number.  So the code is run again with the numbers taken for different.  If that gives the same
values, its derivatives are right, and are used.  If it raises, the numbers have to be equal.
Otherwise nobody knows the derivative by what was found to be equal, and it is nan instead of a zero
that would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.core.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import FuncdiffError
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_constant
from funcdiff.ops.structure.unknown import unknown
from funcdiff.scipy.conditions import forgiveness, is_known_to_hold


class _Watch(NamedTuple):
    """A call of SciPy's code whose equalities are looked at.

    Attributes
    ----------
    met
        For each equality that holds: the mask where it does, and the difference, which is 0 there.
    differ
        Whether all numbers are taken for different.
    """

    met: list[tuple[Any, Any]]
    differ: bool = False


_watched: Final[ContextVar[_Watch | None]] = ContextVar("watched", default=None)


def run_watched(call: Callable[[], Any]) -> Any:
    """Return what a call of SciPy's code returns, with derivatives where numbers are equal, too."""
    if _watched.get() is not None or current_builder() is None:
        return call()
    watch = _Watch([])
    with _as(watch):
        found = call()
    if not watch.met:
        return found
    forgive = forgiveness()
    try:
        with _as(_Watch([], differ=True)), np.errstate(all="ignore"):
            again = _real_where(found, call())
            if is_known_to_hold(lambda: _agree(found, again)):
                return again
    except FuncdiffError:
        forgive()
    except Exception:  # SciPy's own
        return found
    unknown: Any = sum(zero_without_slope(np.where(*pair, 0)) for pair in watch.met)
    leaves, structure = pytree.flatten(found)
    return pytree.unflatten(
        structure, [x + unknown.astype(x.dtype) if _is_inexact(x) else x for x in leaves]
    )


@contextmanager
def _as(watch: _Watch | None) -> Iterator[None]:
    token = _watched.set(watch)
    try:
        yield
    finally:
        _watched.reset(token)


def _real_where(found: Any, again: Any) -> Any:
    """Return real parts where the first results are real.

    Roots that come in conjugate pairs, an equality, have a polynomial that SciPy takes for real.
    """
    (ours, kind), (others, other_kind) = map(pytree.flatten, (found, again))
    if kind != other_kind:
        return again
    pairs = zip(ours, others, strict=True)
    return pytree.unflatten(
        kind,
        [
            y.real if _is_inexact(x) and _is_inexact(y) and x.dtype.kind == "f" else y
            for x, y in pairs
        ],
    )


def _agree(found: Any, again: Any) -> Any:
    """Record whether results have the same parts, with the same finite values to rounding."""
    (ours, kind), (others, other_kind) = map(pytree.flatten, (found, again))
    if kind != other_kind:
        return False
    holds: Any = True
    for x, y in zip(ours, others, strict=True):
        if not (_is_inexact(x) and _is_inexact(y)):
            same: Any = x is y or (type(x) is type(y) and np.array_equal(x, y))
        elif (x.shape, x.dtype) != (y.shape, y.dtype):
            same = False
        else:
            rounding = 64 * np.finfo(x.dtype).eps * np.max(np.abs(x), initial=0)
            same = np.all(np.abs(x - y) <= rounding)
        holds = np.logical_and(holds, same)
    return holds


def _is_inexact(x: Any) -> bool:
    return isinstance(x, Tracer | np.ndarray | np.generic) and x.dtype.kind in "fc"


def zero_without_slope(zeros: Any) -> Any:
    """Return 0, whose derivative by each of some numbers that are 0 is nan."""
    no_slope: Any = unknown(array(zeros))
    total = np.sum(no_slope)
    return total.real + total.imag if total.dtype.kind == "c" else total


# ---- what the changed code calls -----------------------------------------------------------------


def equal_of(a: Any, b: Any) -> Any:
    """Return ``a == b``; see the module."""
    same: Any = a == b
    watch, is_traced = _watched.get(), isinstance(same, Tracer)
    if watch is None or not is_traced or _is_without_derivative(a, b):
        return same
    if watch.differ:
        return np.zeros(same.shape, bool)
    if is_known_to_hold(lambda: np.any(same)):
        watch.met.append((same, array(a) - array(b)))
    return same


def negligible_of(x: Any, bound: float) -> Any:
    """Return ``abs(x) <= bound`` for so small a bound that `x` is compared with 0."""
    small = np.abs(x) <= bound
    asks = isinstance(x, Tracer) and _watched.get() is not None
    is_exact = asks and is_known_to_hold(lambda: np.any(np.equal(x, 0)))
    return np.logical_and(small, equal_of(x, 0)) if is_exact else small


def trimmed_of(filt: Any, trim: Any = "fb") -> Any:
    """Return ``np.trim_zeros(filt)``, or all of it if numbers are taken for different from 0."""
    watch = _watched.get()
    if watch is None or not isinstance(filt, Tracer):
        return np.trim_zeros(filt, trim)
    if watch.differ:
        return filt
    found: Any = filt
    for side in trim.lower():
        kept = np.trim_zeros(found, side)
        cut = found.shape[0] - kept.shape[0]
        equal_of(found[:cut] if side == "f" else found[kept.shape[0] :], 0)
        found = kept
    return found


def differ_of(a: Any, b: Any) -> Any:
    """Return ``a != b``; see the module."""
    different = a != b
    return np.logical_not(equal_of(a, b)) if isinstance(different, Tracer) else different


def less_of(a: Any, b: Any) -> Any:
    """Return ``a < b``, true of equal numbers that are taken for different."""
    return a <= b if _are_taken_for_different(a, b) else a < b


def greater_of(a: Any, b: Any) -> Any:
    """Return ``a > b``, true of equal numbers that are taken for different."""
    return a >= b if _are_taken_for_different(a, b) else a > b


def _are_taken_for_different(*numbers: Any) -> bool:
    watch = _watched.get()
    return watch is not None and watch.differ and any(isinstance(x, Tracer) for x in numbers)


def any_of(x: Any) -> Any:
    """Return ``np.any(x)``: of numbers, whether one of them is not zero."""
    return np.any(differ_of(x, 0) if _is_inexact(x) else x)


def is_known_to_fail(condition: Callable[[], Any]) -> bool:
    """Return whether a condition is known to hold for which SciPy raises or warns, and no more."""
    with _as(None):
        return is_known_to_hold(condition)


def _is_without_derivative(a: Any, b: Any) -> bool:
    return a is b or all(not isinstance(x, Tracer) or is_constant(x) for x in (a, b))
