"""Holds the labels of an operation's axes against what it computes.

If results at each place along a label follow from operands at that place, and everywhere in the
same way, then operands that are everywhere what they are at one place give results that are
everywhere what they were there; and only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcdiff.core.access import Cut, Label, Labels, numbers
from funcdiff.core.program import Equation
from funcdiff.testing.differences import disagreement, rounding


def check_labels(eq: Equation, operands: Sequence[Any], values: Sequence[Any]) -> None:
    """Assert what the labels of an equation say, at some operands and their results."""
    access, op = eq.operation.access, eq.operation
    if access.reduces is not None:
        axes = tuple(k for k, x in enumerate(access.operands[0]) if x not in access.results[0])
        expected = access.reduces.reduce(operands[0], axis=axes, dtype=op.results[0].dtype)
        _require(eq, "that is reduced", [expected], values)
    for label, length in access.lengths(op.operands, op.results).items():
        if not any(label in numbers(y) for y in access.results):
            _check_combination(eq, label, length, operands, values)
            continue
        for places in _copies(label, length, access.operands + access.results, eq):
            expected = _all_taken(values, access.results, label, places)
            with np.errstate(all="ignore"):
                found = op.function(*_all_taken(operands, access.operands, label, places))
            _require(eq, label, [found] if op.result_count == 1 else found, expected)


def _check_combination(
    eq: Equation, label: int, length: int, operands: Sequence[Any], values: Sequence[Any]
) -> None:
    """Assert that results of two parts of the operands can be put together."""
    access = eq.operation.access
    if access.combine is not None and length > 1:
        halves = np.split(np.arange(length), [length // 2])
        parts = [_all_taken(operands, access.operands, label, half) for half in halves]
        found = [eq.operation.function(*xs) for xs in parts]
        _require(eq, label, [access.combine(*found)], values)


def _copies(label: int, length: int, sides: Sequence[Labels], eq: Equation) -> Iterator[Any]:
    """Yield which place is copied to each: one for all that are in the same arrays."""
    inside = np.zeros(length, int)
    for k, (labels, atom) in enumerate(zip(sides, (*eq.operands, *eq.results), strict=True)):
        for axis, n in zip(labels, atom.type.shape, strict=True):
            if isinstance(axis, Cut) and axis.label == label:
                inside[axis.start + axis.step * np.arange(n)] += 1 << k
    for order in (1, -1):
        _, first, number = np.unique(inside[::order], return_index=True, return_inverse=True)
        places = np.arange(length)[::order][first[number]][::order]
        if np.any(places != np.arange(length)):
            yield places


def _all_taken(
    arrays: Sequence[Any], sides: Sequence[Labels], label: int, places: Any
) -> list[Any]:
    """Return arrays of what is at some places along a label."""
    found = []
    for x, labels in zip(arrays, sides, strict=True):
        taken = np.asarray(x)
        for k, axis in enumerate(labels):
            chosen = _numbers(axis, label, places, taken.shape[k])
            taken = taken if chosen is None else taken.take(chosen, k)
        found.append(taken[()])
    return found


def _numbers(axis: Label, label: int, places: Any, length: int) -> Any:
    """Return which elements of an axis are those at some places along a label."""
    if axis == label and type(axis) is int:
        return places
    if not isinstance(axis, Cut) or axis.label != label:
        return None
    return (places[axis.start + axis.step * np.arange(length)] - axis.start) // axis.step


def _require(eq: Equation, label: int | str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    for x, y in zip(found, expected, strict=True):
        wrong = disagreement(x, y, rounding([x, y]))
        if wrong:
            raise AssertionError(f"label {label} of {eq.operation.access} in {eq}: {wrong}")
