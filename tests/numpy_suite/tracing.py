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


def _of_arrays(function: Any, given: Any) -> tuple[list[Any], Callable[..., Any], list[Any]]:
    """Return the arrays of a call, the call as a function of them, and where it leaves the rest."""
    arrays: dict[int, Any] = {}
    mapped(each_once(lambda x: arrays.setdefault(id(x), x)), given)
    rest: list[Any] = []

    def call(*xs: Any) -> list[Any]:
        traced = dict(zip(arrays, xs, strict=True))
        args, kwargs = mapped(each_once(lambda x: traced[id(x)]), given)
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


WAYS: Final[dict[str, Callable[[Any, Any], Call]]] = {
    "eagerly": eagerly, "with scalars": eagerly, "compiled": compiled, "batched": batched,
}  # fmt: skip
