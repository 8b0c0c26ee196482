"""Findings of an explanation by line: faults, masked values, kinks, advice and costs."""

from __future__ import annotations

from dataclasses import dataclass

from funcdiff.core.origins import Place


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not finite and reaches the result, where it first appears.

    Attributes
    ----------
    kind
        "value"; "derivative"; "argument" if it came with the call; "error" if a line raises one.
    place
        The line of the user's, or that it is the derivative of.
    expression
        What was computed there, as NumPy code.
    found
        What the result is: ``nan``, ``inf``, or the error.
    count, size
        How many elements are not finite, and how many there are.
    index
        Where the first of them is.
    operands
        What it was computed from: expressions and their values.
    """

    kind: str
    place: Place | None
    expression: str
    found: str
    count: int = 0
    size: int = 0
    index: tuple[int, ...] = ()
    operands: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Masked:
    """Something that is not finite in a branch that `np.where` does not take.

    Attributes
    ----------
    place
        The line with the choice.
    expression
        The branch, as NumPy code.
    made_at
        The line that makes what is not finite.
    count
        How many elements are not finite.
    """

    place: Place | None
    expression: str
    made_at: Place | None
    count: int


@dataclass(frozen=True, slots=True)
class Kink:
    """A point without a derivative, or with a jump.

    Attributes
    ----------
    place
        The line.
    operation
        The operation in the program.
    expression
        As NumPy code.
    convention
        What counts as the derivative there.
    met, near
        How many elements are on it, and so near that rounding may decide the side.
    index
        Where the first of them is.
    """

    place: Place | None
    operation: str
    expression: str
    convention: str
    met: int
    near: int
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """What to write instead.

    Attributes
    ----------
    place
        The line.
    about
        What stands there.
    reason
        What is wrong with it, in numbers of this call.
    instead
        What to write.
    """

    place: Place | None
    about: str
    reason: str
    instead: str


@dataclass(frozen=True, slots=True)
class LineCost:
    """What a line costs, for its value and for its derivative.

    Attributes
    ----------
    place
        The line; None for what belongs to none.
    seconds, flops, bytes
        Measured time, and operations and memory traffic as `cost` counts them: a pair each, of the
        value and the derivative.
    """

    place: Place | None
    seconds: tuple[float, float]
    flops: tuple[float, float]
    bytes: tuple[int, int]

    @property
    def total_seconds(self) -> float:
        """Time for both."""
        return sum(self.seconds)
