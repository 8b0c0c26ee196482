"""Calls: the differentiated arguments taken apart, and the function traced on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import (
    Argnums,
    FunctionName,
    differentiable,
    is_numeric,
    normalized_argnums,
)
from funcdiff.api.tracing import Trace, record
from funcdiff.core.builder import Tracer
from funcdiff.errors import InputError, user_location


class Inputs(NamedTuple):
    """The differentiated arguments of a call, taken apart.

    Attributes
    ----------
    operands
        Values of the floating and complex leaves.
    structures
        One per differentiated argument.
    numeric
        For each leaf of all of them, whether it is differentiated.
    others
        The leaves that are not.
    """

    operands: list[Any]
    structures: tuple[pytree.Structure, ...]
    numeric: tuple[bool, ...]
    others: list[Any]

    def rebuild(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Put one value per operand back into containers like the arguments."""
        numbers, rest = iter(values), iter(self.others)
        leaves = iter([next(numbers) if flag else next(rest) for flag in self.numeric])
        return tuple(
            pytree.unflatten(s, [next(leaves) for _ in range(s.leaf_count)])
            for s in self.structures
        )


def inputs_of(arguments: Sequence[Any], names: Callable[[int], str]) -> Inputs:
    """Take differentiated arguments apart; integer leaves are errors, strings pass through."""
    if len(arguments) == 1 and type(arguments[0]) is np.ndarray:  # the most common call
        operand = differentiable(arguments[0], pytree.LEAF, 0, names(0))
        return Inputs([operand], (pytree.LEAF,), (True,), [])
    operands: list[Any] = []
    structures, numeric, others = [], [], []
    for position, argument in enumerate(arguments):
        leaves, structure = pytree.flatten(argument)
        structures.append(structure)
        for k, leaf in enumerate(leaves):
            flag = is_numeric(leaf)
            numeric.append(flag)
            if flag:
                operands.append(differentiable(leaf, structure, k, names(position)))
            else:
                _refuse_unknown_container(leaf, structure, k, names(position))
                others.append(leaf)
    return Inputs(operands, tuple(structures), tuple(numeric), others)


def call_traced(
    f: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    has_aux: bool,
) -> tuple[Inputs, Trace]:
    """Trace a call of `f`, differentiated in some positional arguments."""
    positions = normalized_argnums(argnums, len(args), FunctionName(f))
    inputs = inputs_of([args[k] for k in positions], lambda k: f"argument {positions[k]}")

    def call(tracers: list[Tracer]) -> Any:
        changed = list(args)
        for k, value in zip(positions, inputs.rebuild(tracers), strict=True):
            changed[k] = value
        return f(*changed, **kwargs)

    return inputs, record(f, inputs.operands, call, has_aux=has_aux)


def _refuse_unknown_container(
    leaf: Any, structure: pytree.Structure, k: int, argument: str
) -> None:
    """Refuse what would pass through undifferentiated although it may hold arrays."""
    if isinstance(leaf, dict | list | tuple | set | frozenset):
        raise InputError(
            f"{argument}{pytree.paths(structure)[k]} is a {type(leaf).__name__}, a container that "
            f"is not known by that type, at {user_location()}. Register it with "
            "fd.pytree.register, or convert it to a plain dict, list or tuple."
        )


def like_inputs(values: Sequence[Any], inputs: Inputs) -> list[Any]:
    """Return 0-d derivatives by 0-d arrays as 0-d arrays, as they came."""
    return [
        np.asarray(v) if type(x) is np.ndarray and not x.shape and not isinstance(v, Tracer) else v
        for v, x in zip(values, inputs.operands, strict=True)
    ]
