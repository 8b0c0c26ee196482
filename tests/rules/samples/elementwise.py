"""Samples of elementwise operations, of real and complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.primitive import NONE, Primitive, primitives
from funcdiff.core.recording.builder import bind, constant
from funcdiff.core.types import ArrayType
from funcdiff.ops.elementwise.complex import conj, imag, join, modulus
from funcdiff.ops.elementwise.complex import real as real_of
from funcdiff.ops.elementwise.logic import (
    exact_absolute,
    exact_add,
    exact_decimals,
    exact_divide,
    exact_float_power,
    exact_floor_divide,
    exact_integer,
    exact_left_shift,
    exact_multiply,
    exact_narrowings,
    exact_negative,
    exact_power,
    exact_remainder,
    exact_right_shift,
    exact_round,
    exact_subtract,
    operations,
)
from funcdiff.ops.elementwise.mathematics import heaviside, ldexp
from funcdiff.ops.families import by_ufunc
from funcdiff.space import mul
from tests.rules.sample import Sample, complex_, flags, integers, real, sample

DOMAINS: dict[str, tuple[tuple[float, float], ...]] = {
    "reciprocal": ((0.4, 2.5),),
    "sqrt": ((0.3, 2.5),),
    "log": ((0.3, 2.5),),
    "log2": ((0.3, 2.5),),
    "log10": ((0.3, 2.5),),
    "log1p": ((-0.5, 2.0),),
    "root_of_squares": ((0.3, 2.5),),
    "tan": ((-1.2, 1.0),),
    "arcsin": ((-0.8, 0.7),),
    "arccos": ((-0.8, 0.7),),
    "arccosh": ((1.4, 3.0),),
    "arctanh": ((-0.7, 0.6),),
    "power": ((0.4, 2.5), (-1.6, 2.3)),
    "float_power": ((0.4, 2.5), (-1.6, 2.3)),
    "div": ((-2.3, 2.0), (0.6, 1.9)),
    "remainder": ((-2.3, 2.0), (0.6, 1.9)),
    "fmod": ((-2.3, 2.0), (0.6, 1.9)),
    "floor_divide": ((-2.3, 2.0), (0.6, 1.9)),
}
"""Where the operands are taken from, if not between -2.3 and 2."""

HOLOMORPHIC = frozenset(
    {"add", "neg", "mul", "sub", "div", "reciprocal", "square", "power", "sqrt"}
    | {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p"}
    | {"sin", "cos", "tan", "arcsin", "arccos", "arctan"}
    | {"sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"}
)
OF_THEIR_OWN = frozenset({"ldexp"})
NOT_UFUNCS = frozenset(
    {"modf_integer", "modf_fraction", "frexp_mantissa", "frexp_exponent"}
    | {"bessel_i0", "bessel_i1", "sinc", "logistic", "root_of_squares"}
)


def _arity(name: str) -> int:
    ufuncs: list[tuple[Any, Any]] = [*by_ufunc.items()]
    ufuncs += [(op.ufunc, op) for op in operations.values()]
    return next((u.nin for u, op in ufuncs if op.primitive.name == name), 1)


def _accepts(primitive: Primitive[Any], dtype: Any, count: int) -> bool:
    try:
        primitive.abstract(NONE, *(ArrayType((), np.dtype(dtype)),) * count)
    except TypeError:
        return False
    return True


def _samples(name: str) -> list[Sample]:
    primitive, count = primitives[name], _arity(name)
    domains = DOMAINS.get(name, ((-2.3, 2.0),) * count)

    def f(*xs: Any) -> Any:
        return bind(primitive, NONE, *xs)[0]

    def points(*shape: int) -> list[Any]:
        return [
            real(*shape, low=low, high=high, start=1 + 5 * k)
            for k, (low, high) in enumerate(domains)
        ]

    found = []
    if _accepts(primitive, float, count):
        found += [sample(f, *points(2, 3)), sample(f, *points(0, 2), order=1)]
    if _accepts(primitive, np.float32, count):
        found.append(sample(f, *(np.float32(x) for x in points()), order=1))
    if name in HOLOMORPHIC:
        found.append(sample(f, *(complex_(2, start=1 + 7 * k) for k in range(count))))
    integer = name not in NOT_UFUNCS
    if integer and _accepts(primitive, np.int64, count):
        found.append(sample(f, *(integers(2, 3, start=1 + k) for k in range(count)), order=1))
    if integer and _accepts(primitive, bool, count):
        found.append(sample(f, *(np.roll(flags(4), k) for k in range(count)), order=1))
    return found


EXACT = {
    exact_add: 2, exact_subtract: 2, exact_multiply: 2, exact_negative: 1, exact_absolute: 1,
}  # fmt: skip
OF_OTHERS = {
    exact_power: ([2, -3, 0], [5, 3, 0]), exact_float_power: ([2, -3, 1], [-2, -1, -3]),
    exact_divide: ([7, -3, 0], [2, 7, -5]), exact_floor_divide: ([7, -3, 0], [2, 2, -5]),
    exact_remainder: ([7, -3, 0], [2, 2, -5]), exact_left_shift: ([7, -3, 0], [2, 0, 5]),
    exact_right_shift: ([7, -3, 0], [2, 1, 5]), exact_round: ([175, -36, 4], [-1, -2, 1]),
    exact_integer: ([2.7, -3.2, 0.0],),
}  # fmt: skip
ELEMENTWISE = frozenset(
    {op.primitive.name for op in (*by_ufunc.values(), *operations.values())} | NOT_UFUNCS
)
SAMPLES: dict[str, list[Sample]] = {
    **{name: _samples(name) for name in sorted(ELEMENTWISE - OF_THEIR_OWN)},
    **{
        op.primitive.name: [sample(op, *(integers(2, 3, start=1 + k) for k in range(count)))]
        for op, count in EXACT.items()
    },
    **{op.primitive.name: [sample(op, *map(np.array, xs))] for op, xs in OF_OTHERS.items()},
    **{op.primitive.name: [sample(op, np.array([7, 3]))] for op in exact_narrowings.values()},
    "exact_decimals": [sample(exact_decimals, real(3), np.array([1, 2, 0]))],
    "ldexp": [
        sample(ldexp, real(2, 3), np.array([[1, -2, 3], [0, 2, -1]])),
        sample(ldexp, np.float32(0.7), np.int64(-2), order=1),
    ],
}
SAMPLES["heaviside"].append(sample(lambda h: heaviside(constant(0.0, h.type), h), real(3)))


SAMPLES |= {
    "real": [
        sample(real_of, complex_(2, 3)),
        sample(lambda z: real_of(mul(z, z)), complex_()),
        sample(real_of, np.complex64(complex_(2)), order=1),
    ],
    "imag": [sample(imag, complex_(2, 3)), sample(lambda z: imag(mul(z, z)), complex_())],
    "conj": [
        sample(conj, complex_(2, 3)),
        sample(lambda z: mul(conj(z), mul(z, z)), complex_(2)),
        sample(conj, complex_(0), order=1),
    ],
    "modulus": [
        sample(modulus, complex_(2, 3)),
        sample(lambda z: mul(modulus(z), modulus(mul(z, z))), complex_()),
        sample(modulus, np.complex64(complex_(2)), order=1),
    ],
    "join": [
        sample(join, real(2, 3), real(2, 3, start=9)),
        sample(lambda x: join(mul(x, x), x), real()),
        sample(join, np.float32(0.5), np.float32(-0.7), order=1),
    ],
}
