"""A tracer is a handle on one atom of a program that is being recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from funcdiff.core.recording import Ref
from funcdiff.core.types import ArrayType

if TYPE_CHECKING:
    from funcdiff.core.builder import Builder


class Tracer:
    """A handle on an atom of a program being recorded.

    Attributes
    ----------
    builder
        The builder that records the program; None if the atom is a literal.
    atom
        Number of a variable of that builder, or a literal.
    type
        Shape and dtype.

    The handle may be pointed at another atom: that is how ``x += y`` changes what every name
    bound to `x` sees while the program stays pure.
    """

    __slots__ = ("__weakref__", "atom", "builder", "type", "views")
    weak: ClassVar[bool] = False
    """Whether this stands for a Python number, whose dtype gives way to that of an array."""
    views: Any
    """What the front end knows of the handles that share this one's memory, once it has any."""

    def __init__(self, builder: Builder | None, atom: Ref, type_: ArrayType) -> None:
        self.builder = builder
        self.atom = atom
        self.type = type_

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
