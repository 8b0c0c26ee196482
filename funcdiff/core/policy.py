"""Recording policy: options of a trace, and the questions about values that it may answer."""

from __future__ import annotations

from typing import Final, NamedTuple


class Policy(NamedTuple):
    """What a builder records, and what may be asked of its tracers."""

    # Whether tracers and arrays of an enclosing trace are errors: transforms are closed, a user's
    # function captures them as further inputs.
    closed: bool = False
    # Whether an equation that touches none of this builder's values goes to the enclosing builder.
    # This is the whole of partial evaluation.
    hoists: bool = False
    shares: bool = False  # whether an equation recorded before is found again, not recorded anew
    # Whether Python numbers, but for a few small ones, become inputs (see `lift`).
    lifts: bool = False
    eager: bool = False  # whether inputs have concrete values, so that ``if x > 0`` can be decided
    # How many levels deep derivative rules of the user's are traced: two for every time that the
    # program may still be differentiated, for a rule may be transposed, too.
    pending: int = 0
    # Whether no derivative goes through, so that concrete values may leave it.
    severed: bool = False
    # Which rules of the user's are run on values, rather than traced: "pull" where cotangents are
    # pulled back through the program on values, "push" where tangents are pushed; "known" where
    # functions with rules are called if all their arguments are known.  Else empty.
    on_values: str = ""

    @property
    def is_of_tape(self) -> bool:
        """Whether a tape differentiates what is recorded, unless it comes back."""
        return self.on_values in ("pull", "push")


OPEN: Final = Policy()
"""A function of the user's: what comes from outside is captured."""

CLOSED: Final = Policy(closed=True)
"""Code of ours that stands for itself: each equation as it comes, nothing from outside."""

SHARED: Final = Policy(closed=True, shares=True)
"""A transform or a pass: what is computed twice is computed once."""

HOISTING: Final = Policy(hoists=True, shares=True)
"""The inner of two: what it records goes to the outer one as far as it can."""
