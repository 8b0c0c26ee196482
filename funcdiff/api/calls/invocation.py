"""A whole call taken apart: every number among its arguments, and all the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_numeric, operand
from funcdiff.numpy.border.promotion import is_weak


class Invocation:
    """The arguments of a call, positional and named.

    Attributes
    ----------
    operands
        The numeric leaves, integers too.
    weak
        For each of them, whether it is a Python number.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._leaves, self._structure = pytree.flatten((args, kwargs))
        self._places = [k for k, leaf in enumerate(self._leaves) if is_numeric(leaf)]
        self.operands = [operand(self._leaves[k]) for k in self._places]
        self.weak = [is_weak(self._leaves[k]) for k in self._places]

    def arguments(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with these values in place of the operands."""
        changed = list(self._leaves)
        for k, value in zip(self._places, values, strict=True):
            changed[k] = value
        args, kwargs = pytree.unflatten(self._structure, changed)
        return args, kwargs

    def path(self, k: int) -> str:
        """Return how messages call an operand."""
        return f"(args, kwargs){pytree.paths(self._structure)[self._places[k]]}"
