"""Containers taken apart: the numbers in them as operands of programs, and all the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cache
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_numeric, operand, type_of
from funcdiff.core.late import computed
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.numpy.border.promotion import is_weak
from funcdiff.pytree.structure import same_value, slice_structure


def _is_array(x: Any) -> bool:
    """Whether a leaf is an operand as it is, as most arguments of most functions are."""
    kind = type(x)
    if kind is np.ndarray:
        return x.dtype.char in "fd" and x.dtype.isnative
    return issubclass(kind, Tracer)


@cache
def _structure_of(count: int) -> pytree.Structure:
    """Return the structure of a tuple of leaves."""
    return pytree.flatten((0,) * count)[1]


class Operands:
    """A container, of which the numbers and arrays are given other values.

    Strings, flags and functions in it stay in place; `is_operand` tells which leaves are operands,
    by default numbers and arrays of numbers.
    """

    def __init__(self, tree: Any, is_operand: Callable[[Any], bool] = is_numeric) -> None:
        if type(tree) is tuple and is_operand is is_numeric and all(map(_is_array, tree)):
            self.leaves, self.structure = list(tree), _structure_of(len(tree))
            self.flags = [True] * len(tree)
            self.numbers = self.xs = self.leaves
            return
        self.leaves, self.structure = pytree.flatten(tree)
        self.flags = [is_operand(leaf) for leaf in self.leaves]  # by leaf
        self.numbers = self.among(self.leaves)  # the operands as they came
        self.xs = [operand(leaf) for leaf in self.numbers]  # the operands as programs take them

    @computed
    def weak(self) -> list[bool]:
        """For each operand, whether it is a Python number."""
        return [is_weak(leaf) for leaf in self.numbers]

    @computed
    def types(self) -> list[ArrayType]:
        """Types of the operands."""
        return [type_of(x) for x in self.xs]

    @computed
    def paths(self) -> list[str]:
        """Where the operands are."""
        return self.among(pytree.paths(self.structure))

    def among(self, leaves: Sequence[Any]) -> list[Any]:
        """Return those of other leaves that stand where operands are."""
        return [leaf for leaf, flag in zip(leaves, self.flags, strict=True) if flag]

    def changes(self, leaves: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
        """Yield path, value and new value of what is no operand, where it is not as it was."""
        paths = pytree.paths(self.structure)
        for path, flag, before, leaf in zip(paths, self.flags, self.leaves, leaves, strict=True):
            if not flag and not same_leaf(before, leaf):
                yield path, before, leaf

    def of_row(self) -> Operands:
        """Return what has one row of every operand in its place, with the labels that are left."""
        found = copy(self)
        axes = [0 if flag else None for flag in self.flags]
        found.structure = slice_structure(self.structure, axes)
        return found

    def tree(self, values: Sequence[Any]) -> Any:
        """Return the container with these values of the operands."""
        if self.structure is _structure_of(len(self.leaves)):
            return tuple(values)
        rest = iter(values)
        pairs = zip(self.leaves, self.flags, strict=True)
        return pytree.unflatten(
            self.structure, [next(rest) if flag else leaf for leaf, flag in pairs]
        )


def on_operands(f: Callable[..., Any], invocation: Operands) -> Callable[[list[Tracer]], Any]:
    """Return `f` as a function of the operands among ``(args, kwargs)``."""

    def call(tracers: list[Tracer]) -> Any:
        args, kwargs = invocation.tree(tracers)
        return f(*args, **kwargs)

    return call


def same_leaf(a: Any, b: Any) -> bool:
    """Whether two leaves that are no arrays of numbers are the same."""
    try:
        return same_value(a, b)
    except TypeError:  # an array of strings, say
        return type(a) is type(b) and bool(np.array_equal(a, b))
