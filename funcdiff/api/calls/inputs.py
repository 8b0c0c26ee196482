"""The differentiated arguments of a call, taken apart and put together again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import (
    differentiable_operand,
    is_array_without_axes,
    is_numeric,
    operand,
)
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.border.promotion import is_weak
from funcdiff.numpy.memory import views
from funcdiff.pytree.hidden import fault_of


class Inputs(NamedTuple):
    """The differentiated arguments of a call, taken apart."""

    operands: list[Any]  # values of the floating and complex leaves
    structures: tuple[pytree.Structure, ...]  # one per differentiated argument
    numeric: tuple[bool, ...]  # for each leaf of all arguments: whether it is differentiated
    others: list[Any]  # leaves that are not
    weak: tuple[bool, ...]  # for each operand: whether it came as a Python number

    def rebuild(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Put one value per operand back into containers like the arguments."""
        if self.numeric == (True,) and self.structures == (pytree.LEAF,):  # the most common call
            return (values[0],)
        numbers, rest = iter(values), iter(self.others)
        leaves = iter([next(numbers) if flag else next(rest) for flag in self.numeric])
        return tuple(
            pytree.unflatten(s, [next(leaves) for _ in range(s.leaf_count)])
            for s in self.structures
        )


def inputs_of(arguments: Sequence[Any], names: Callable[[int], object]) -> Inputs:
    """Take differentiated arguments apart; integer leaves are errors, strings pass through.

    ``names(k)`` is what messages call an argument, shown only if there is one.
    """
    if len(arguments) == 1 and type(arguments[0]) is np.ndarray:  # the most common call
        x = operand(arguments[0])
        if x.dtype.kind not in "fc":
            x = differentiable_operand(x, pytree.LEAF, 0, names(0))  # which raises
        return Inputs([x], (pytree.LEAF,), (True,), [], (False,))
    operands: list[Any] = []
    weak: list[bool] = []
    structures, numeric, others = [], [], []
    for position, argument in enumerate(arguments):
        leaves, structure = pytree.flatten(argument)
        structures.append(structure)
        for k, leaf in enumerate(leaves):
            flag = is_numeric(leaf)
            numeric.append(flag)
            if flag:
                operands.append(differentiable_operand(leaf, structure, k, names(position)))
                weak.append(is_weak(leaf))
            else:
                _refuse_hidden_numbers(leaf, structure, k, names(position))
                others.append(leaf)
    if not operands:
        _refuse_settings(arguments, structures, names)
    return Inputs(operands, tuple(structures), tuple(numeric), others, tuple(weak))


def _refuse_settings(
    arguments: Sequence[Any],
    structures: Sequence[pytree.Structure],
    names: Callable[[int], object],
) -> None:
    """Refuse to differentiate by what is no container of numbers: None, text, flags, functions."""
    for k, (argument, structure) in enumerate(zip(arguments, structures, strict=True)):
        if argument is None or structure is pytree.LEAF:
            shown = shorten(repr(argument), 40, placeholder=" ...")
            raise InputError(
                f"{names(k)} is {shown}, by which nothing can be differentiated, at "
                f"{user_location()}. Give a float or an array of floats in its place, or choose "
                "another argument with argnums=."
            )


def _refuse_hidden_numbers(
    leaf: Any, structure: pytree.Structure, k: int, argument: object
) -> None:
    """Refuse what would pass through undifferentiated although it may hold arrays."""
    fault = fault_of(leaf, alone=structure is pytree.LEAF)
    if fault is not None:
        raise InputError(
            f"{argument}{pytree.paths(structure)[k]} {fault.problem}, at {user_location()}. "
            f"{fault.cure}"
        )


def like_inputs(values: Sequence[Any], inputs: Inputs) -> list[Any]:
    """Return 0-d derivatives by 0-d arrays as 0-d arrays, as they came."""
    return [
        (views.as_array(v) if isinstance(v, Tracer) else np.asarray(v))
        if not x.shape and is_array_without_axes(x)
        else v
        for v, x in zip(values, inputs.operands, strict=True)
    ]
