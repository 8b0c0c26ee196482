"""Equality tests of traced numbers in SciPy's code: ``if scale != 1: y = y / scale``.

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
from funcdiff.adapting.conditions import forgiveness, is_known_to_hold
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import FuncdiffError
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_constant
from funcdiff.ops.structure.slicing import unknown
from funcdiff.scipy.covered import Holder


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


def run_watched(call: Callable[[], Any], owner: Any = None) -> Any:
    """Return what a call of SciPy's code returns, with derivatives where numbers are equal, too.

    What a method leaves in the attributes of its `owner` is looked at, too.
    """
    if _watched.get() is not None or current_builder() is None:
        return call()
    before, watch = attributes(owner), _Watch([])
    with _as(watch):
        found = call(), attributes(owner)
    if not watch.met:
        return found[0]
    forgive = forgiveness()
    try:
        set_attributes(owner, before)
        with _as(_Watch([], differ=True)), np.errstate(all="ignore"):
            again = _real_where(found, (call(), attributes(owner)))
            if is_known_to_hold(lambda: _agree(found, again)):
                return _with_attributes(again, owner)
    except FuncdiffError:
        forgive()
    except Exception:  # SciPy's own
        return _with_attributes(found, owner)
    unknown: Any = sum(zero_without_slope(np.where(*pair, 0)) for pair in watch.met)
    leaves, _, rebuild = _flat(found)
    shown = [x + unknown.astype(array(x).dtype) if _is_inexact(x) else x for x in leaves]
    return _with_attributes(rebuild(shown), owner)


def _flat(value: Any, *around: Any) -> tuple[list[Any], Any, Callable[[list[Any]], Any]]:
    """Return leaves of a result and of objects of SciPy's in it, its kind, and what rebuilds it.

    An object stays the same, with other attributes; one that is met within itself is a leaf.
    """
    found, structure = pytree.flatten(value)
    parts = [
        _flat(attributes(x), x, *around)
        if isinstance(x, Holder) and all(x is not y for y in around)
        else ([x], None, None)
        for x in found
    ]

    def rebuild(leaves: list[Any]) -> Any:
        rest, rebuilt = iter(leaves), []
        for x, (own, _, again) in zip(found, parts, strict=True):
            new = [next(rest) for _ in own]
            if again is None:
                (x,) = new
            else:
                set_attributes(x, again(new))
            rebuilt.append(x)
        return pytree.unflatten(structure, rebuilt)

    kinds = (
        structure,
        *((type(x), kind) if kind else None for x, (_, kind, _) in zip(found, parts, strict=True)),
    )
    return [leaf for own, _, _ in parts for leaf in own], kinds, rebuild


def attributes(owner: Any) -> dict[str, Any]:
    """Return the attributes of an object, with and without slots, by name."""
    slots = {n for kind in type(owner).__mro__ for n in getattr(kind, "__slots__", ())}
    return {n: getattr(owner, n) for n in slots if hasattr(owner, n)} | getattr(
        owner, "__dict__", {}
    )


def set_attributes(owner: Any, values: dict[str, Any]) -> None:
    """Give an object these attributes in place of its own."""
    for name in attributes(owner):
        delattr(owner, name)
    for name, value in values.items():
        setattr(owner, name, value)


def _with_attributes(found: tuple[Any, dict[str, Any]], owner: Any) -> Any:
    """Return a result, with the attributes of the owner as they were with it."""
    set_attributes(owner, found[1])
    return found[0]


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
    (ours, kind, _), (others, other_kind, rebuild) = map(_flat, (found, again))
    if kind != other_kind:
        return again
    return rebuild(
        [
            y.real if _is_inexact(x) and _is_inexact(y) and array(x).dtype.kind == "f" else y
            for x, y in zip(ours, others, strict=True)
        ]
    )


def _agree(found: Any, again: Any) -> Any:
    """Record whether results have the same parts, with the same finite values to rounding."""
    (ours, kind, _), (others, other_kind, _) = map(_flat, (found, again))
    if kind != other_kind:
        return False
    holds: Any = True
    for x, y in zip(ours, others, strict=True):
        if not isinstance(x, Tracer) and not isinstance(y, Tracer):
            same: Any = x is y or (type(x) is type(y) and _are_equal(x, y))
        elif not (_is_inexact(x) and _is_inexact(y)) or np.shape(x) != np.shape(y):
            same = False
        else:
            first, second = array(x), array(y)
            rounding = 64 * np.finfo(first.dtype).eps * np.max(np.abs(first), initial=0)
            same = (first.dtype == second.dtype or isinstance(x, float | complex)) and np.all(
                np.abs(first - second) <= rounding
            )
        holds = np.logical_and(holds, same)
    return holds


def _are_equal(x: Any, y: Any) -> bool:
    return bool(np.array_equal(x, y, equal_nan=_is_inexact(x)))


def _is_inexact(x: Any) -> bool:
    if type(x) in (float, complex):
        return True
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


def trim_zeros_of(filt: Any, trim: Any = "fb") -> Any:
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
