"""Writes LLVM's intermediate representation, in which values are vectors of eight numbers.

A formula over `Vector` reads as it would of arrays, and every operation writes one instruction,
which LLVM makes one, two or four of, by the width of the machine's registers.  Multiplications and
additions are never contracted: the bits are the same on every machine.
"""

from __future__ import annotations

import struct
from typing import Final, TypeAlias

WIDTH: Final = 8
"""Numbers of a vector."""

Operand: TypeAlias = "Vector | float"


class Code:
    """The instructions of a function, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, None] = {}
        self.label = ""
        self._count = 0

    def name(self) -> str:
        """Return a name that is not taken."""
        self._count += 1
        return f"%t{self._count}"

    def add(self, instruction: str, name: str = "") -> str:
        """Append an instruction, and return the name of what it computes."""
        name = name or self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Append an instruction that computes nothing."""
        self.lines.append(f"  {instruction}")

    def block(self, label: str) -> None:
        """Begin a block of instructions, that others can jump to."""
        self.lines.append(f"{label}:")
        self.label = label

    def call(self, function: str, result: str, *operands: str) -> str:
        """Append the call of a function, of operands with their types."""
        kinds = ", ".join(
            f"{text.partition('>')[0]}>" if text.startswith("<") else text.partition(" ")[0]
            for text in operands
        )
        self.declared[f"declare {result} @{function}({kinds})"] = None
        return self.add(f"call {result} @{function}({', '.join(operands)})")


class Vector:
    """Eight numbers in LLVM's text: of kind ``"double"``, ``"float"``, ``"i64"`` or ``"i1"``.

    `code` is where operations are written to; `text` is the name, without the type.
    """

    __slots__ = ("code", "kind", "text")

    def __init__(self, code: Code, text: str, kind: str) -> None:
        self.code, self.text, self.kind = code, text, kind

    @property
    def type(self) -> str:
        """The type as LLVM writes it."""
        return f"<{WIDTH} x {self.kind}>"

    def __str__(self) -> str:
        return f"{self.type} {self.text}"

    def emit(self, instruction: str, kind: str | None = None) -> Vector:
        """Return what an instruction computes."""
        return Vector(self.code, self.code.add(instruction), kind or self.kind)

    def like(self, value: Operand) -> Vector:
        """Return a vector of the same kind: of a number, eight times that."""
        if isinstance(value, Vector):
            return value
        return Vector(self.code, _splat(value, self.kind), self.kind)

    def _binary(self, of_floats: str, of_integers: str, x: Operand, y: Operand) -> Vector:
        left, right = self.like(x), self.like(y)
        word = of_floats if self.kind in ("double", "float") else of_integers
        return self.emit(f"{word} {left}, {right.text}")

    def __add__(self, other: Operand) -> Vector:
        return self._binary("fadd", "add", self, other)

    def __radd__(self, other: float) -> Vector:
        return self._binary("fadd", "add", other, self)

    def __sub__(self, other: Operand) -> Vector:
        return self._binary("fsub", "sub", self, other)

    def __rsub__(self, other: float) -> Vector:
        return self._binary("fsub", "sub", other, self)

    def __mul__(self, other: Operand) -> Vector:
        return self._binary("fmul", "mul", self, other)

    def __rmul__(self, other: float) -> Vector:
        return self._binary("fmul", "mul", other, self)

    def __truediv__(self, other: Operand) -> Vector:
        return self._binary("fdiv", "sdiv", self, other)

    def __rtruediv__(self, other: float) -> Vector:
        return self._binary("fdiv", "sdiv", other, self)

    def __neg__(self) -> Vector:
        return self.emit(f"fneg {self}")

    def __and__(self, other: Operand) -> Vector:
        return self.emit(f"and {self}, {self.like(other).text}")

    def __or__(self, other: Operand) -> Vector:
        return self.emit(f"or {self}, {self.like(other).text}")

    def __xor__(self, other: Operand) -> Vector:
        return self.emit(f"xor {self}, {self.like(other).text}")

    def __lshift__(self, count: int) -> Vector:
        return self.emit(f"shl {self}, {self.like(count).text}")

    def __rshift__(self, count: int) -> Vector:
        return self.emit(f"lshr {self}, {self.like(count).text}")

    def compare(self, predicate: str, other: Operand) -> Vector:
        """Return flags: ``olt`` says less and no NaN, ``une`` not equal or a NaN, and so on."""
        return self.emit(f"fcmp {predicate} {self}, {self.like(other).text}", "i1")

    def __lt__(self, other: Operand) -> Vector:
        return self.compare("olt", other)

    def __gt__(self, other: Operand) -> Vector:
        return self.compare("ogt", other)

    def unary(self, name: str) -> Vector:
        """Return what an intrinsic function of floats computes: ``sqrt``, ``fabs``."""
        suffix = "f64" if self.kind == "double" else "f32"
        text = self.code.call(f"llvm.{name}.v{WIDTH}{suffix}", self.type, str(self))
        return Vector(self.code, text, self.kind)

    def convert(self, kind: str) -> Vector:
        """Return the same numbers, or flags as 0 and 1, in another kind."""
        if kind == self.kind:
            return self
        word = {"double": "fpext", "float": "fptrunc"}[kind]
        word = "uitofp" if self.kind == "i1" else word
        return self.emit(f"{word} {self} to <{WIDTH} x {kind}>", kind)

    def times_plus(self, factor: Operand, summand: Operand) -> Vector:
        """Return the product plus the summand, rounded once where the processor can do that."""
        suffix = "f64" if self.kind == "double" else "f32"
        operands = (self, self.like(factor), self.like(summand))
        text = self.code.call(
            f"llvm.fmuladd.v{WIDTH}{suffix}", self.type, *(str(x) for x in operands)
        )
        return Vector(self.code, text, self.kind)

    @property
    def bits(self) -> Vector:
        """The bits of doubles as integers."""
        return self.emit(f"bitcast {self} to <{WIDTH} x i64>", "i64")

    @property
    def number(self) -> Vector:
        """The doubles of bits."""
        return self.emit(f"bitcast {self} to <{WIDTH} x double>", "double")


def where(flags: Vector, x: Operand, y: Operand) -> Vector:
    """Return the numbers of `x` where flags are set, those of `y` elsewhere."""
    some = x if isinstance(x, Vector) else y
    assert isinstance(some, Vector)
    return some.emit(f"select {flags}, {some.like(x)}, {some.like(y)}")


def polynomial(z: Vector, coefficients: tuple[float, ...]) -> Vector:
    """Return Σ cₖ zᵏ, in pairs, pairs of pairs and so on (G. Estrin, 1960).

    By Horner's rule every step waits for the one before.
    """
    terms: list[Operand] = list(coefficients)
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        joined: list[Operand] = [z.times_plus(high, low) for low, high in pairs]
        terms = joined + terms[len(terms) & ~1 :]
        z = z * z
    (total,) = terms
    assert isinstance(total, Vector)
    return total


def _splat(value: float, kind: str) -> str:
    """Return a constant vector of one number."""
    if kind in ("double", "float"):
        text = f"0x{struct.pack('>d', value).hex().upper()}"
    else:
        text = str(int(value))
    return f"<{', '.join([f'{kind} {text}'] * WIDTH)}>"
