"""Tracers: handles on the variables of a program that is being recorded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

import numpy as np

from funcdiff.core.atoms import Entry, Ref
from funcdiff.core.policy import Policy
from funcdiff.core.types import ArrayType


class Recorder(Protocol):
    """What tracers know of the builder that records what is done to them."""

    name: object
    policy: Policy
    entries: list[Entry]
    captures: list[Any]
    refused: tuple[type[Exception], str] | None
    # How arrays lie in memory: by variable, how many entries there were and what says it.
    layouts: dict[Ref, list[tuple[int, Any]]]
    models: dict[tuple[Ref, int], Any]  # what was found of these
    direct: dict[Any, Any]
    state: Any
    filters: Any
    numbers: dict[tuple[Any, ArrayType], Ref]
    derivations: list[Any]

    def value(self, atom: Ref, /) -> Any:
        """Return the concrete value of an atom, if there is one."""

    def constant(self, atom: Ref, /) -> Any:
        """Return the value of what depends on no argument, if the trace has ended; else None."""

    def capture_of(self, number: int, /) -> Any:
        """Return what was captured in an input, or None."""

    def input_value(self, number: int, /) -> Any:
        """Return the value of an input, or None."""

    def origin(self, number: int, /) -> tuple[Any, list[Ref]] | None:
        """Return the operation that makes a variable, and its operands; None of an input."""


def any_traced(values: Iterable[Any]) -> bool:
    """Whether one of the values is traced."""
    for x in values:  # noqa: SIM110 -- a generator costs twice the time
        if isinstance(x, Tracer):
            return True
    return False


class Tracer:
    """A handle on an atom of a program being recorded.

    It may be pointed at another atom: that is how ``x += y`` changes what every name bound to `x`
    sees while the program stays pure.  The builder is None if the atom is a literal.
    """

    __slots__ = ("__weakref__", "atom", "builder", "type", "views")
    weak: ClassVar[bool] = False
    """Whether this stands for a Python number, whose dtype gives way to that of an array."""
    views: Any
    """What the front end knows of the handles that share this one's memory, None at first."""

    def __init__(self, builder: Recorder | None, atom: Ref, type_: ArrayType) -> None:
        self.builder = builder
        self.atom = atom
        self.type = type_
        self.views = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.type.shape)
