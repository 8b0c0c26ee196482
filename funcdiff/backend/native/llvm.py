"""LLVM's intermediate representation for vectors of numbers, and functions of such vectors.

A formula over `Vector` reads as it would of arrays, and every operation writes one instruction,
which LLVM makes one, two or four of, by the width of the machine's registers.  Multiplications and
additions are never contracted: the bits are the same on every machine.

Exponential, logarithmic, hyperbolic and trigonometric functions of doubles reduce their argument to
an interval around 0 (W. J. Cody, W. Waite, "Software Manual for the Elementary Functions", 1980),
where a polynomial through Chebyshev's nodes is off by less than 2⁻⁵⁵ of the result.  Errors are
below 2 units in the last place, of all finite numbers, subnormal ones too; infinities, NaN and the
signs of zeros are NumPy's.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Final, TypeAlias

WIDTH: Final = 8
"""Numbers of a vector, but where there are fewer."""

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
    """Numbers in LLVM's text: of kind ``"double"``, ``"float"``, ``"i64"`` or ``"i1"``.

    `code` is where operations are written to; `text` is the name, without the type; `width` says
    how many numbers there are: of 1 it is LLVM's number, and no vector.
    """

    __slots__ = ("code", "kind", "text", "width")

    def __init__(self, code: Code, text: str, kind: str, width: int = WIDTH) -> None:
        self.code, self.text, self.kind, self.width = code, text, kind, width

    @property
    def type(self) -> str:
        """The type as LLVM writes it."""
        return of_width(self.kind, self.width)

    def __str__(self) -> str:
        return f"{self.type} {self.text}"

    def emit(self, instruction: str, kind: str | None = None) -> Vector:
        """Return what an instruction computes."""
        return Vector(self.code, self.code.add(instruction), kind or self.kind, self.width)

    def like(self, value: Operand) -> Vector:
        """Return a vector of the same kind: of a number, as often as there are others."""
        if isinstance(value, Vector):
            return value
        return Vector(self.code, _splat(value, self.kind, self.width), self.kind, self.width)

    def _binary(self, of_floats: str, of_integers: str, x: Operand, y: Operand) -> Vector:
        left, right = self.like(x), self.like(y)
        word = of_floats if self.kind in ("double", "float") else of_integers
        if self.kind == "i1":  # of flags a sum says whether any is set, a product whether all are
            word = {"add": "or", "mul": "and"}[word]
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
        return self._intrinsic(name, self)

    def convert(self, kind: str) -> Vector:
        """Return the same numbers, or flags as 0 and 1, in another kind."""
        if kind == self.kind:
            return self
        word = {"double": "fpext", "float": "fptrunc"}[kind]
        word = {"i1": "uitofp", "i64": "sitofp"}.get(self.kind, word)
        return self.emit(f"{word} {self} to {of_width(kind, self.width)}", kind)

    def times_plus(self, factor: Operand, summand: Operand) -> Vector:
        """Return the product plus the summand, rounded once where the processor can do that."""
        return self._intrinsic("fmuladd", self, self.like(factor), self.like(summand))

    def _intrinsic(self, name: str, *operands: Vector) -> Vector:
        number = "f64" if self.kind == "double" else "f32"
        suffix = number if self.width == 1 else f"v{self.width}{number}"
        text = self.code.call(f"llvm.{name}.{suffix}", self.type, *map(str, operands))
        return Vector(self.code, text, self.kind, self.width)

    @property
    def lanes(self) -> list[Vector]:
        """The numbers one by one."""
        if self.width == 1:
            return [self]
        texts = [self.code.add(f"extractelement {self}, i32 {k}") for k in range(self.width)]
        return [Vector(self.code, text, self.kind, 1) for text in texts]

    def part(self, first: int, count: int) -> Vector:
        """Return some numbers in a row."""
        if count == 1:
            text = self.code.add(f"extractelement {self}, i32 {first}")
        else:
            mask = ", ".join(f"i32 {k}" for k in range(first, first + count))
            both = f"{self}, {self.type} poison"
            text = self.code.add(f"shufflevector {both}, <{count} x i32> <{mask}>")
        return Vector(self.code, text, self.kind, count)

    def repeat(self, width: int) -> Vector:
        """Return a vector of one number, so often."""
        if width == 1:
            return self
        type_ = of_width(self.kind, width)
        first = self.code.add(f"insertelement {type_} poison, {self}, i32 0")
        mask = f"<{width} x i32> zeroinitializer"
        spread = self.code.add(f"shufflevector {type_} {first}, {type_} poison, {mask}")
        return Vector(self.code, spread, self.kind, width)

    @property
    def bits(self) -> Vector:
        """The bits of doubles as integers."""
        return self.emit(f"bitcast {self} to {of_width('i64', self.width)}", "i64")

    @property
    def number(self) -> Vector:
        """The doubles of bits."""
        return self.emit(f"bitcast {self} to {of_width('double', self.width)}", "double")


def join(numbers: Sequence[Vector]) -> Vector:
    """Return the vector of some numbers."""
    first, width, text = numbers[0], len(numbers), "poison"
    if width == 1:
        return first
    type_ = of_width(first.kind, width)
    for k, number in enumerate(numbers):
        text = first.code.add(f"insertelement {type_} {text}, {number}, i32 {k}")
    return Vector(first.code, text, first.kind, width)


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


def of_width(kind: str, width: int) -> str:
    """Return the type of so many numbers, as LLVM writes it."""
    return kind if width == 1 else f"<{width} x {kind}>"


def _splat(value: float, kind: str, width: int) -> str:
    """Return a constant vector of one number."""
    if kind == "float":  # LLVM takes no constant that has to be rounded
        (value,) = struct.unpack("f", struct.pack("f", value))
    if kind in ("double", "float"):
        text = f"0x{struct.pack('>d', value).hex().upper()}"
    else:
        text = str(int(value))
    return text if width == 1 else f"<{', '.join([f'{kind} {text}'] * width)}>"


_SHIFT: Final = 1.5 * 2.0**52
"""Added to a number, it rounds to an integer, which then is in the lowest bits."""
_LOG2_E: Final = 1.4426950408889634
_LN2: Final = (0.6931471806019545, -4.2009150726810846e-11)
"""ln 2 in two parts, of which the first has 32 bits: its products with exponents are exact."""
_HALF_PI: Final = (
    1.5707963276654482, -8.705515692000731e-10, -3.503434396954818e-19, -1.1351118607522202e-28,
)  # fmt: skip
"""π/2 in four parts, the first three of 30 bits."""
_FAR: Final = 2.0**22
"""From here on multiples of π/2 are not exact any more, and the C library computes."""

_EXP: Final = (
    0.5000000000000001, 0.16666666666666669, 0.04166666666662064, 0.008333333333329793,
    0.0013888888918939168, 0.00019841269864380513, 2.4801518641395993e-05, 2.75572664186123e-06,
    2.7621338669142925e-07, 2.510134692835034e-08,
)  # fmt: skip
"""(eʳ - 1 - r)/r² for |r| <= ln(2)/2."""
_TANH: Final = (
    -0.3333333333333333, 0.13333333333332714, -0.053968253967434016, 0.021869488493666944,
    -0.008863234397814355, 0.003592110378689024, -0.001455661830100716, 0.0005889360520074057,
    -0.0002346347410887237, 8.511313685577672e-05, -2.060276537636634e-05,
)  # fmt: skip
"""(tanh(x)/x - 1)/z by z = x², for |x| <= 0.55."""
_NEAR: Final = 0.55
_SINH: Final = (
    0.16666666666666666, 0.008333333333333333, 0.00019841269841269773, 2.755731922404034e-06,
    2.505210836405804e-08, 1.6059048396350562e-10, 7.646625361656657e-13, 2.8445264169895285e-15,
)  # fmt: skip
"""(sinh(x)/x - 1)/z by z = x², for |x| <= 1."""
_LOG: Final = (
    0.6666666666666666, 0.4000000000000088, 0.28571428570803614, 0.22222222391713967,
    0.1818179564012779, 0.15386239703092916, 0.1326877313120489, 0.1308662622577247,
)  # fmt: skip
"""(2 artanh(s)/s - 2)/z by z = s², for s <= (√2 - 1)/(√2 + 1)."""
_SIN: Final = (
    -0.16666666666666666, 0.008333333333330925, -0.00019841269836722418, 2.755731608381636e-06,
    -2.5051127944014188e-08, 1.5917848524808262e-10,
)  # fmt: skip
"""(sin(x)/x - 1)/z by z = x², for |x| <= π/4."""
_COS: Final = (
    0.041666666666666664, -0.0013888888888887382, 2.480158729874307e-05, -2.7557317260008837e-07,
    2.0876143827993133e-09, -1.1382456778061306e-11,
)  # fmt: skip
"""(cos(x) - 1 + z/2)/z² by z = x², for |x| <= π/4."""

_ERF: Final = (
    0.12837916709551256, -0.37612638903183626, 0.11283791670947298, -0.02686617064321942,
    0.005223977601471378, -0.000854832526774754, 0.00012055252657271225, -1.4923283048388212e-05,
    1.641705649300286e-06, -1.5827667064567424e-07, 1.1079017947501558e-08,
)  # fmt: skip
"""erf(x)/x - 1 by z = x², for |x| <= 0.8."""
_ERFCX: Final = (
    0.2108063640611436, -0.37173673394897333, 0.2517131932174512, -0.12503305237883747,
    0.03992253907537153, -0.003993701165367955, -0.002642365955121806, 0.0008759154383829379,
    0.00022838018255919818, -0.0001288770543042767, -3.417992832500432e-05, 1.861427164817216e-05,
    7.537370568493559e-06, -2.303101486500049e-06, -1.7492322853542874e-06, 1.1248439270255887e-07,
    2.6923731707762496e-07,
)  # fmt: skip
"""exp(x²)·erfc(x) by t = (x - 2.5)/(x + 2.5), for 0.8 <= x <= 6, from where on erf(x) is 1."""

_ROOT_HALF: Final = 0x3FE6A09E667F3BCD
"""The bits of √½."""
_FRACTION: Final = (1 << 52) - 1


def _at_most(x: Vector, bound: float) -> Vector:
    return where(x > bound, bound, x)  # NaN stays


def _at_least(x: Vector, bound: float) -> Vector:
    return where(x < bound, bound, x)


def _with_sign(x: Vector, sign: Vector) -> Vector:
    """Return a number without a sign with that of another."""
    return (x.bits | (sign.bits & -(1 << 63))).number


def _power_of_two(shifted: Vector) -> Vector:
    """Return 2ᵏ for -1022 <= k <= 1023 of ``k + _SHIFT``."""
    return ((shifted.bits + 1023) << 52).number


def _scale(x: Vector, k: Vector) -> Vector:
    """Return x·2ᵏ in two steps, so that neither factor leaves the range."""
    half = k * 0.5 + _SHIFT
    rest = (k - (half - _SHIFT)) + _SHIFT
    return x * _power_of_two(half) * _power_of_two(rest)


def exp(x: Vector, halvings: int = 0) -> Vector:
    """Return eˣ = 2ᵏ·eʳ with x = k·ln 2 + r, halved so often."""
    x = _at_least(_at_most(x, 711.0), -746.0)
    k = (x * _LOG2_E + _SHIFT) - _SHIFT
    r = (x - k * _LN2[0]) - k * _LN2[1]
    return _scale(1.0 + (r + r * r * polynomial(r, _EXP)), k - halvings)


def expm1(x: Vector) -> Vector:
    """Return eˣ - 1 = 2ᵏ·((1 - 2⁻ᵏ) + (eʳ - 1)), where the first bracket is exact or near 1."""
    y = _at_least(_at_most(x, 710.0), -40.0)
    shifted = y * _LOG2_E + _SHIFT
    k = shifted - _SHIFT
    high, low = y - k * _LN2[0], k * _LN2[1]
    r = high - low
    lost = (high - r) - low
    e = r + (r * r * polynomial(r, _EXP) + (lost + lost * r))
    inverse = where(k < 1000.0, ((1023 - shifted.bits) << 52).number, 0.0)
    return where(x.compare("oeq", 0.0), x, _scale((1.0 - inverse) + e, k))


def tanh(x: Vector) -> Vector:
    """Return tanh(x): an odd polynomial near 0, elsewhere 1 - 2/(e²ˣ + 1)."""
    size, z = x.unary("fabs"), x * x
    bounded = _at_most(size, 22.0)
    twice = bounded + bounded
    shifted = twice * _LOG2_E + _SHIFT
    k = shifted - _SHIFT
    r = (twice - k * _LN2[0]) - k * _LN2[1]
    e = (1.0 + (r + r * r * polynomial(r, _EXP))) * _power_of_two(shifted)
    far = _with_sign(1.0 - 2.0 / (e + 1.0), x)
    near = x + x * z * polynomial(z, _TANH)
    return where(size < 1e-150, x, where(size < _NEAR, near, far))


def sinh(x: Vector) -> Vector:
    """Return sinh(x): an odd polynomial near 0, elsewhere (eˣ - e⁻ˣ)/2."""
    size, z = x.unary("fabs"), x * x
    half = exp(size, 1)
    far = _with_sign(half - 0.25 / half, x)
    return where(size < 1e-150, x, where(size < 1.0, x + x * z * polynomial(z, _SINH), far))


def cosh(x: Vector) -> Vector:
    """Return (eˣ + e⁻ˣ)/2."""
    half = exp(x.unary("fabs"), 1)
    return half + 0.25 / half


def erf(x: Vector) -> Vector:
    """Return erf(x): an odd polynomial near 0, elsewhere 1 - exp(-x²)·(exp(x²)·erfc(x))."""
    size, z = x.unary("fabs"), x * x
    bounded = _at_most(size, 6.0)
    t = (bounded - 2.5) / (bounded + 2.5)
    far = _with_sign(1.0 - exp(-(bounded * bounded)) * polynomial(t, _ERFCX), x)
    return where(size < 0.8, x + x * polynomial(z, _ERF), far)


def _logarithm(y: Vector, lost: Operand, exponent: Operand) -> Vector:
    """Return ln(y + lost) + exponent·ln 2 for a normal y, of which `lost` is a rounding error.

    With y = 2ᵏ·m for √½ <= m < √2, and s = (m - 1)/(m + 1), it is k·ln 2 + 2 artanh(s), in the
    order of additions of K. C. Ng's for FreeBSD, so that the largest term is added last.
    """
    moved = y.bits - _ROOT_HALF
    biased = ((moved >> 52) & 0xFFF) ^ (0x4330000000000000 | 0x800)
    k = biased.number - (2.0**52 + 2048.0) + exponent
    f = ((moved & _FRACTION) + _ROOT_HALF).number - 1.0
    s = f / (2.0 + f)
    z, half = s * s, 0.5 * f * f
    small = k * _LN2[1] + lost
    return k * _LN2[0] - ((half - (s * (half + z * polynomial(z, _LOG)) + small)) - f)


def _at_the_ends(result: Vector, x: Vector, zero: float) -> Vector:
    """Return a logarithm of x + 1 - zero: its own operand where that is infinite or NaN."""
    positive = where(x > zero, result, math.nan)
    finite = where(x.compare("oeq", zero), -math.inf, positive)
    return where(x.compare("ult", math.inf), where(x.compare("uno", x), x, finite), x)


def log(x: Vector) -> Vector:
    """Return ln(x) from mantissa and exponent; subnormal numbers are scaled first."""
    tiny = x < 2.0**-1022
    y = where(tiny, x * 2.0**54, x)
    return _at_the_ends(_logarithm(y, 0.0, where(tiny, y.like(-54.0), y.like(0.0))), x, 0.0)


def log1p(x: Vector) -> Vector:
    """Return ln(u) + (x - (u - 1))/u with u = 1 + x rounded."""
    u = 1.0 + x
    lost = where(u > 2.0, 1.0 - (u - x), x - (u - 1.0)) / u
    result = _at_the_ends(_logarithm(u, lost, 0.0), x, -1.0)
    return where(x.unary("fabs") < 2.0**-54, x, result)


def _sine_of_turns(x: Vector, quarters: int, name: str) -> Vector:
    """Return sin(x + quarters·π/2)."""
    shifted = x * (1 / (_HALF_PI[0] + _HALF_PI[1])) + _SHIFT
    k, n = shifted - _SHIFT, shifted.bits + quarters
    high, low, least = x - k * _HALF_PI[0], k * _HALF_PI[1], k * _HALF_PI[2]
    first = high - low
    second = first - least
    rest = (((high - first) - low) + ((first - second) - least)) - k * _HALF_PI[3]
    r = second + rest
    lost = (second - r) + rest
    z = r * r
    half = 0.5 * z
    one = 1.0 - half
    sine = r + (r * z * polynomial(z, _SIN) + lost * one)
    cosine = one + (((1.0 - one) - half) + (z * z * polynomial(z, _COS) - r * lost))
    odd = n.emit(f"trunc {n} to {of_width('i1', n.width)}", "i1")
    value = where(odd, cosine, sine)
    result = (value.bits ^ ((n & 2) << 62)).number
    return _by_library(name, x, result, x.unary("fabs").compare("uge", _FAR))


def sin(x: Vector) -> Vector:
    """Return the sine or cosine of what is left after quarters of a turn."""
    return where(x.compare("oeq", 0.0), x, _sine_of_turns(x, 0, "sin"))


def cos(x: Vector) -> Vector:
    """Return the sine, a quarter of a turn further."""
    return _sine_of_turns(x, 1, "cos")


def _by_library(name: str, x: Vector, result: Vector, flags: Vector) -> Vector:
    """Return a result; if any flag is set, that of the C library for all of them."""
    code, before = x.code, x.code.label
    some = flags.text
    if x.width > 1:
        some = code.call(f"llvm.vector.reduce.or.v{x.width}i1", "i1", str(flags))
    slow, done = code.name()[1:], code.name()[1:]
    code.do(f"br i1 {some}, label %{slow}, label %{done}")
    code.block(slow)
    values = [Vector(code, code.call(name, "double", str(lane)), x.kind, 1) for lane in x.lanes]
    filled = join(values).text
    code.do(f"br label %{done}")
    code.block(done)
    return x.emit(f"phi {x.type} [ {result.text}, %{before} ], [ {filled}, %{slow} ]")
