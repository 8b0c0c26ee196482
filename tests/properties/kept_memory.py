"""Random programs of arrays of one size, which take each other's memory as often as they can.

Every array that a step makes has the same elements, so that memory which is given back is the next
one's; pieces are put into zeros, added to in place, joined, multiplied in stacks and looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

SHAPES: Final = ((2, 2, 2), (1, 3, 3), (3, 2, 2), (4, 1, 1), (20, 5, 5), (1, 1, 1), (0, 2, 2))
"""Of the stacks of matrices that an array is seen as."""
OPERATORS: Final = ("sin", "cos", "neg", "tanh")


class _Text:
    """The lines of a program, and which variables hold arrays of the one size."""

    def __init__(self, shape: tuple[int, ...], seed: int) -> None:
        self.size = int(np.prod(shape))
        self.lines: list[str] = []
        self.arrays = [0, 1]
        self._shape = shape
        self._count = 2
        self._random = np.random.default_rng(seed)

    def below(self, n: int) -> int:
        return int(self._random.integers(max(n, 1)))

    def any(self) -> int:
        """Return an array, mostly a new one."""
        recent = self.arrays[-4:] if self.below(3) else self.arrays
        return recent[self.below(len(recent))]

    def line(
        self, shape: Sequence[int], operation: str, *operands: int | str, dtype: str = "f64"
    ) -> int:
        """Write an equation and return the number of its result."""
        xs = ", ".join(x if isinstance(x, str) else f"%{x}" for x in operands)
        self.lines.append(f"%{self._count}: {_type(shape, dtype)} = {operation} {xs}")
        self._count += 1
        return self._count - 1

    def keep(self, operation: str, *operands: int | str) -> None:
        """Write an equation whose result is an array of the one size."""
        self.arrays.append(self.line((self.size,), operation, *operands))

    # ---- steps -----------------------------------------------------------------------------

    def elementwise(self) -> None:
        if self.below(2):
            self.keep(OPERATORS[self.below(len(OPERATORS))], self.any())
        else:
            self.keep(("add", "mul", "sub")[self.below(3)], self.any(), self.any())

    def padded(self) -> None:
        """Put something into zeros, and add to it once or several times."""
        zeros = f"{('0.0', '0.0', '0.0', '-0.0', '1.5')[self.below(5)]}:f64[{self.size}]"
        self._added(zeros)
        for _ in range(self.below(3)):
            if not self.below(3):
                self.elementwise()
            self._added(self.arrays[-1] if self.below(3) else self.any())

    def added(self) -> None:
        self._added(self.any())

    def replaced(self) -> None:
        self._added(self.any(), "replace_slice")

    def _added(self, x: int | str, operation: str = "add_slice") -> None:
        step = 1 + self.below(3)
        start = self.below(self.size + 1)
        length = self.below(-(-(self.size - start) // step) + 1)
        stop = start + (length - 1) * step + 1 if length else start
        piece = self._piece(length)
        self.keep(f"{operation}{{starts=({start},), stops=({stop},), steps=({step},)}}", x, piece)

    def _piece(self, length: int) -> int:
        """Return so much of an array, from anywhere in it."""
        x, start = self.any(), self.below(self.size - length + 1)
        if length == self.size and self.below(2):
            return x
        index = f"slice{{starts=({start},), stops=({start + length},), steps=(1,)}}"
        return self.line((length,), index, x)

    def joined(self) -> None:
        a, b = sorted((self.below(self.size + 1), self.below(self.size + 1)))
        pieces = [self._piece(length) for length in (a, b - a, self.size - b)]
        self.keep("concatenate{axis=0}", *pieces)

    def stacked(self) -> None:
        rows = [self.line((1, self.size), f"reshape{{shape=(1, {self.size})}}", self.any())
                for _ in range(2)]  # fmt: skip
        both = self.line((2, self.size), "concatenate{axis=0}", *rows)
        self.keep("reduce_sum{axes=(0,)}", both)

    def multiplied(self) -> None:
        outs = ((0, 1, 3), (0, 3, 1), (1, 0, 3), (3, 1, 0))
        out = outs[self.below(len(outs))]
        lengths = {0: self._shape[0], 1: self._shape[1], 3: self._shape[2]}
        shape = tuple(lengths[label] for label in out)
        operation = f"contract{{left=(0, 1, 2), right=(0, 2, 3), out={out}}}"
        self._flattened(self.line(shape, operation, self._stack(), self._stack()), shape)

    def turned(self) -> None:
        x, shape = self._stack(), self._shape
        if self.below(2):  # of memory that a step of its own has written
            x = self.line(shape, OPERATORS[self.below(len(OPERATORS))], x)
        self._flattened(x, shape)

    def _stack(self) -> int:
        return self.line(self._shape, f"reshape{{shape={self._shape}}}", self.any())

    def _flattened(self, x: int, shape: tuple[int, ...]) -> None:
        axes = tuple(self._random.permutation(3).tolist())
        if self.below(2):
            shape = tuple(shape[k] for k in axes)
            x = self.line(shape, f"permute{{axes={axes}}}", x)
        self.keep(f"reshape{{shape=({self.size},)}}", x)

    def reversed(self) -> None:
        self.keep("reverse{axes=(0,)}", self.any())

    def halved(self) -> None:
        """Make half as many numbers of twice the bytes, and look at their parts."""
        half = self.size // 2
        z = self.line((half,), "convert{dtype=c128}", self._piece(half), dtype="c128")
        z = self.line((half,), OPERATORS[self.below(2)], z, dtype="c128")
        parts = [self.line((half,), part, z) for part in ("real", "imag")]
        self.keep("concatenate{axis=0}", *parts, self._piece(self.size - 2 * half))

    def summed(self) -> None:
        total = self.line((), "reduce_sum{axes=(0,)}", self.any())
        spread = self.line((self.size,), f"broadcast{{shape=({self.size},), axes=()}}", total)
        self.keep("add", spread, self.any())


_STEPS: Final[tuple[Callable[[_Text], None], ...]] = (
    _Text.elementwise, _Text.elementwise, _Text.padded, _Text.padded, _Text.added, _Text.replaced,
    _Text.joined, _Text.stacked, _Text.multiplied, _Text.turned, _Text.reversed, _Text.summed,
    _Text.halved,
)  # fmt: skip


def program(shape: tuple[int, ...], seed: int, steps: int) -> str:
    """Return the text of a program of two arrays with that many steps, and up to four results."""
    text = _Text(shape, seed)
    for _ in range(steps):
        _STEPS[text.below(len(_STEPS))](text)
    found = [text.arrays[-1], *(text.any() for _ in range(text.below(4)))]
    head = ", ".join(f"%{k}: {_type((text.size,))}" for k in range(2))
    results = ", ".join(f"%{k}" for k in found)
    return "\n  ".join([f"program({head}) {{", *text.lines, f"return {results}"]) + "\n}"


def _type(shape: Sequence[int], dtype: str = "f64") -> str:
    return f"{dtype}[{','.join(map(str, shape))}]"
