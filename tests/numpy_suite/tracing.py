"""Ways to do a call once more with traced arrays: eagerly, compiled, in a batch, differentiated."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

import funcdiff as fd
from funcdiff.core.policy import Policy
from funcdiff.core.recording.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.numpy.border.values import concrete_value
from funcdiff.numpy.memory.views import as_array

WAY: Final = os.environ.get("NUMPY_SUITE_WAY", "eagerly")
"""How calls are done once more: see `WAYS`."""
TRACED: Final = (np.ndarray,) if WAY == "eagerly" else (np.ndarray, np.generic)
"""What is traced of their arguments: in all ways but the plainest, scalars, too."""
KINDS: Final = os.environ.get("NUMPY_SUITE_KINDS", "biufc")
"""Kinds of dtypes that are traced."""

Call = tuple[Any, Any]
"""What a call gives, and what its arguments hold then."""


class _Slot(NamedTuple):
    """The place of a traced value among the results."""

    place: int


def is_traced(x: Any) -> bool:
    """Whether an argument is traced."""
    suits = type(x) is np.ndarray or (isinstance(x, TRACED) and isinstance(x, np.generic))
    return suits and x.dtype.kind in KINDS


def leaves_of(value: Any) -> list[Any]:
    """Return what nested lists, tuples and dicts hold."""
    if type(value) in (list, tuple):
        return [leaf for x in value for leaf in leaves_of(x)]
    if type(value) is dict:
        return leaves_of(list(value.values()))
    return [value]


def mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Return nested lists, tuples and dicts with every leaf changed."""
    if type(value) in (list, tuple):
        return type(value)(mapped(change, x) for x in value)
    if type(value) is dict:
        return {key: mapped(change, x) for key, x in value.items()}
    return change(value)


def each_once(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that changes what is traced, the same one always to the same one."""
    made: dict[int, Any] = {}

    def changed(x: Any) -> Any:
        if not is_traced(x):
            return x
        if id(x) not in made:
            made[id(x)] = change(x)
        return made[id(x)]

    return changed


def listed(result: Any) -> Any:
    """Return a result with lists in place of tuples of any class."""
    return [listed(x) for x in result] if isinstance(result, list | tuple) else result


def eagerly(function: Any, given: Any) -> Call:
    """Do a call while its arrays are traced, with values."""
    with Builder("a test of NumPy's", Policy(eager=True)) as builder:

        def entered(x: Any) -> Tracer:
            made = builder.input(ArrayType(x.shape, x.dtype), x)
            return as_array(made) if isinstance(x, np.ndarray) else made

        args, kwargs = mapped(each_once(entered), given)
        result = function(*args, **kwargs)
        return mapped(_value, listed(result)), mapped(_value, [args, kwargs])


def _value(x: Any) -> Any:
    return concrete_value(x) if isinstance(x, Tracer) else x


def _of_arrays(
    function: Any, given: Any, wanted: Callable[[Any], bool] = lambda _x: True
) -> tuple[list[Any], Callable[..., Any], list[Any]]:
    """Return the arrays of a call, the call as a function of them, and where it leaves the rest."""
    arrays: dict[int, Any] = {}
    mapped(each_once(lambda x: arrays.setdefault(id(x), x) if wanted(x) else x), given)
    rest: list[Any] = []

    def call(*xs: Any) -> list[Any]:
        traced = dict(zip(arrays, xs, strict=True))
        args, kwargs = mapped(each_once(lambda x: traced.get(id(x), x.copy())), given)
        results: list[Any] = []

        def taken(x: Any) -> Any:
            if not isinstance(x, Tracer):
                return x
            results.append(x)
            return _Slot(len(results) - 1)

        rest[:] = [mapped(taken, [listed(function(*args, **kwargs)), [args, kwargs]])]
        return results

    return list(arrays.values()), call, rest


def _filled(rest: list[Any], results: Any) -> Call:
    def filled(x: Any) -> Any:
        return results[x.place] if isinstance(x, _Slot) else x

    result, left = mapped(filled, rest[0])
    return result, left


def compiled(function: Any, given: Any) -> Call:
    """Do a call under `jit`, until it is compiled."""
    arrays, call, rest = _of_arrays(function, given)
    jitted = fd.jit(call)
    for _ in range(3):
        results = jitted(*arrays)
    return _filled(rest, results)


def batched(function: Any, given: Any) -> Call:
    """Do a call for two equal examples at once."""
    arrays, call, rest = _of_arrays(function, given)
    results = fd.vmap(call)(*[np.stack([x, x]) for x in arrays])
    return _filled(rest, [np.asarray(y)[1] for y in results])


class DerivativeError(AssertionError):
    """A derivative of a call is not what its values say, or differs between the modes."""


def differentiated(function: Any, given: Any) -> Call:
    """Do a call in `jvp`, and compare the tangents with differences and with `vjp`.

    Only floats of 64 bits move: the other arrays are what they are.
    """
    moving, call, rest = _of_arrays(function, given, lambda x: x.dtype in (float, complex))
    if not moving or not all(np.isfinite(x).all() for x in moving):
        return eagerly(function, given)
    random = np.random.default_rng(sum(x.size for x in moving))
    ts = [_direction(random, x) for x in moving]
    values, tangents = fd.jvp(call, tuple(moving), tuple(ts))
    done = _filled(rest, values)
    slots = [x for x in leaves_of(rest[0]) if isinstance(x, _Slot)]
    pairs = [(k, x.place) for k, x in enumerate(leaves_of(rest[0])) if isinstance(x, _Slot)]
    shown = [tangents[place] for _, place in pairs]
    if slots:
        _compare_with_differences(function, given, moving, ts, [k for k, _ in pairs], shown)
    _compare_with_pullback(call, moving, ts, random)
    return done


def _direction(random: np.random.Generator, x: Any) -> Any:
    t = random.normal(size=x.shape)
    t = t + 1j * random.normal(size=x.shape) if x.dtype.kind == "c" else t
    return t if isinstance(x, np.ndarray) else x.dtype.type(t)


def _compare_with_differences(
    function: Any, given: Any, moving: list[Any], ts: list[Any], places: list[int], found: list[Any]
) -> None:
    """Compare tangents with differences, where those say that there is a derivative.

    That is, where they agree on both sides and are additive: at ties they may do one of both.
    """
    random, h = np.random.default_rng(7), 1e-5
    others = [_direction(random, x) for x in moving]
    both = [t + other for t, other in zip(ts, others, strict=True)]

    def at(step: float, ts: list[Any]) -> list[Any]:
        moved = {id(x): x + step * t for x, t in zip(moving, ts, strict=True)}
        args, kwargs = mapped(each_once(lambda x: moved.get(id(x), x.copy())), given)
        leaves = leaves_of([listed(function(*args, **kwargs)), [args, kwargs]])
        return [np.asarray(leaves[k]) for k in places]

    ways = [(0.0, ts), (h, ts), (-h, ts), (h / 4, ts), (h, others), (h, both)]
    try:
        points = [at(*way) for way in ways]
    except Exception:  # next to the point it is not defined
        return
    for place, t in enumerate(found):
        y, *moved = [values[place] for values in points]
        if {x.shape for x in moved} != {y.shape} or y.dtype not in (float, complex):
            continue
        with np.errstate(all="ignore"):
            ahead, back, short, other, sum_ = [
                (x - y) / step for x, step in zip(moved, (h, -h, h / 4, h, h), strict=True)
            ]
            scale = 1 + np.max(np.abs(ahead), initial=0, where=np.isfinite(ahead))
            scale += np.max(np.abs(y), initial=0, where=np.isfinite(y))
            smooth = np.abs(ahead - back) < 1e-3 * scale
            smooth &= np.abs(ahead - short) < 1e-3 * scale
            smooth &= np.abs(ahead + other - sum_) < 1e-3 * scale
            wrong = smooth & ~(np.abs((ahead + back) / 2 - np.asarray(t)) < 1e-4 * scale)
        if wrong.any():
            raise DerivativeError(
                f"{np.asarray(t)[wrong][:3]} for {((ahead + back) / 2)[wrong][:3]} of {place}"
            )


def _compare_with_pullback(call: Any, moving: list[Any], ts: list[Any], random: Any) -> None:
    def differentiable(*xs: Any) -> list[Any]:
        return [y for y in call(*xs) if y.dtype.kind in "fc"]

    values, pull = fd.vjp(differentiable, *moving)
    if not values:
        return
    _, tangents = fd.jvp(differentiable, tuple(moving), tuple(ts))
    cts = [np.asarray(_direction(random, np.asarray(y))).astype(y.dtype)[()] for y in values]
    if not all(np.isfinite(t).all() for t in tangents):
        return
    pulled = pull(cts)
    ahead = sum(np.sum((np.conj(c) * t).real) for c, t in zip(cts, tangents, strict=True))
    back = sum(np.sum((np.conj(c) * t).real) for c, t in zip(pulled, ts, strict=True))
    scale = sum(np.sum(np.abs(c * t)) for c, t in zip(cts, tangents, strict=True))
    if not abs(ahead - back) <= 1e-6 * (1 + scale):
        raise DerivativeError(f"forward mode gives {ahead}, reverse mode {back}")


WAYS: Final[dict[str, Callable[[Any, Any], Call]]] = {
    "eagerly": eagerly, "with scalars": eagerly, "compiled": compiled, "batched": batched,
    "differentiated": differentiated,
}  # fmt: skip
