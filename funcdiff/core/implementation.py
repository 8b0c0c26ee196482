"""How an operation is computed: its function, and variants that are quicker where they may be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Variant: TypeAlias = Callable[[Any], Callable[..., Any]]
"""``variant(p) -> function`` of the operand arrays, given the parameters of an operation."""


@dataclass(frozen=True)
class Implementation:
    """A function and its variants; what is not said of it costs speed, and no derivative asks."""

    function: Variant
    # The results share no memory with an operand.  NumPy's ufuncs need not say so.
    fresh: bool = False
    # The result looks at the memory of the first operand and moves nothing.
    view: bool = False
    # A variant that may overwrite its first operand; only where `fresh`.
    in_place: Variant | None = None
    # A variant with a last argument more, to which it writes its one result: a plain array of the
    # result's type, in order in memory, and apart from the operands.
    into: Variant | None = None
    # A variant that is quicker for few elements.
    of_few: Variant | None = None
    # A variant for parameters that hold programs: ``nested(p, runner) -> function``, where the
    # runner makes functions of them.
    nested: Callable[[Any, Any], Callable[..., Any]] | None = None

    def __call__(self, p: Any) -> Callable[..., Any]:
        """Return the function of the operand arrays, given the parameters."""
        return self.function(p)
