"""Counts the floating-point operations of an equation, to leading order, by a table.

One addition, multiplication or comparison of real numbers counts as one.  Of other elementwise
functions, the weights are round numbers for how much longer they take in a current processor.
Factorizations count as in G. Golub, C. Van Loan, "Matrix Computations", 4th edition, 2013 (GVL
below, with section numbers), LAPACK's solvers as in its Users' Guide, and Fourier transforms as
5·N·log₂N (M. Frigo, S. Johnson, "The Design and Implementation of FFTW3", 2005, section VI).
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod
from typing import Any, Final, TypeAlias

from funcdiff.core.primitive import Primitive, primitives
from funcdiff.core.program import Equation
from funcdiff.ops.axes.sorting import Sorting
from funcdiff.ops.linalg.orthogonal import Qr
from funcdiff.ops.linalg.singular import Vectors
from funcdiff.ops.products.contract import Contraction, lengths
from funcdiff.ops.products.convolution import Convolution
from funcdiff.ops.products.fourier import Fourier
from funcdiff.ops.special.family import by_name
from funcdiff.ops.structure.structural import Axis

Flops: TypeAlias = Callable[[Equation], float]

SPECIAL: Final = 40
"""The weight of a function of ``scipy.special``."""

QUADRATURE: Final = 1000
"""The weight of a function that is computed as an integral or a series of many terms."""

_INTEGRALS: Final = (
    "beta_moments gamma_moments elliptic_sines elliptic_tangents exprel_derivatives "
    "log1p_ratio_derivatives"
)

WEIGHTS: Final[dict[int, str]] = {
    1: "absolute fabs sign copysign heaviside nextafter spacing deg2rad rad2deg "
    "excess whole_part floor ceil trunc rint modf_integer modf_fraction square "
    "frexp_exponent frexp_mantissa ldexp "
    "less less_equal equal not_equal greater greater_equal maximum minimum fmax fmin "
    "isfinite isinf isnan signbit logical_and logical_or logical_xor logical_not "
    "bitwise_and bitwise_or bitwise_xor invert bitwise_count left_shift right_shift",
    4: "div reciprocal sqrt root_of_squares floor_divide remainder fmod gcd lcm",
    5: "hypot",
    10: "sinc exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt "
    "decay exponential_ratio",
    20: "power float_power arcsin arccos arctan arcsinh arccosh arctanh arctan2 "
    "logaddexp logaddexp2 logistic",
    SPECIAL: "bessel_i0 bessel_i1",
}
"""Operations for each element, and the elementwise functions that take so many."""


def flops(eq: Equation) -> float:
    """Return how many operations an equation takes, without those of programs in it.

    Default, for what the table does not have: one for each element of the results.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> program = fd.trace(lambda x, y: x @ y)(np.ones((2, 3)), np.ones((3, 4)))
    >>> flops(program.equations[0])
    48
    """
    entry = FLOPS.get(eq.primitive)
    return _results(eq) if entry is None else entry(eq)


# ---- sizes ---------------------------------------------------------------------------------------


def _results(eq: Equation) -> int:
    return sum(v.type.size for v in eq.results)


def _operands(eq: Equation) -> int:
    return sum(atom.type.size for atom in eq.operands)


def _nothing(_eq: Equation) -> int:
    return 0


def _is_complex(eq: Equation) -> bool:
    return any(atom.type.dtype.kind == "c" for atom in eq.operands)


def _matrix(eq: Equation) -> tuple[int, int, int]:
    """Return how many matrices there are, and their longer and shorter side."""
    *stack, rows, columns = eq.operands[0].type.shape
    return prod(stack) * (4 if _is_complex(eq) else 1), max(rows, columns), min(rows, columns)


# ---- elementwise functions -----------------------------------------------------------------------


def _elementwise(weight: int) -> Flops:
    def count(eq: Equation) -> int:
        return _results(eq) * weight * (4 if _is_complex(eq) else 1)

    return count


def _sum_of_numbers(eq: Equation) -> int:
    """Count two real sums for one of complex numbers."""
    return _results(eq) * (2 if _is_complex(eq) else 1)


def _product_of_numbers(eq: Equation) -> int:
    """Count four real products and two sums for one of complex numbers."""
    return _results(eq) * (6 if _is_complex(eq) else 1)


def _each_operand(eq: Equation) -> int:
    """Count one operation for each element of the first operand."""
    return eq.operands[0].type.size * (2 if _is_complex(eq) else 1)


# ---- products and sums ---------------------------------------------------------------------------


def _contract(eq: Equation) -> int:
    """Count 2·m·n·k: a product and a sum for every term; without a sum, the products."""
    p = eq.params_as(Contraction)
    sizes = lengths(p, *(atom.type.shape for atom in eq.operands))
    terms = prod(sizes.values())
    summed = any(k not in p.out for k in sizes)
    if _is_complex(eq):
        return terms * (8 if summed else 6)
    return terms * (2 if summed else 1)


def _convolve(eq: Equation) -> int:
    """Count a product and a sum for every pair of places that may fit; some do not, at the ends."""
    p = eq.params_as(Convolution)
    x, y = (atom.type.shape for atom in eq.operands[:2])
    sizes = dict(zip(p.left, x, strict=False)) | dict(zip(p.right, y, strict=False))
    terms = prod(sizes.values())
    for a, b, c in zip(x[len(p.left) :], y[len(p.right) :], p.lengths, strict=True):
        terms *= min(a * b, a * c, b * c)
    return 2 * terms * (4 if _is_complex(eq) else 1)


def _recurrence(eq: Equation) -> int:
    return 3 * _results(eq)


# ---- order ---------------------------------------------------------------------------------------


def _sorting(eq: Equation) -> float:
    return _comparisons(eq, eq.params_as(Sorting).axis)


def _origins(eq: Equation) -> float:
    return 2 * _comparisons(eq, eq.params_as(Axis).axis)


def _comparisons(eq: Equation, axis: int) -> float:
    """Count n·log₂n comparisons for each line along an axis."""
    n = eq.operands[0].type.shape[axis]
    return eq.operands[0].type.size * log2(max(n, 2))


def _searching(eq: Equation) -> float:
    n = eq.operands[0].type.shape[-1]
    return eq.operands[1].type.size * log2(max(n, 2))


def _fourier(eq: Equation) -> float:
    """Count 5·N·log₂N, and half of it between real sequences and halves of spectra."""
    p = eq.params_as(Fourier)
    shape = eq.operands[0].type.shape
    lines = prod(shape[: p.axis]) * prod(shape[p.axis + 1 :])
    whole = 5 * p.points * log2(max(p.points, 2)) * lines
    return float(whole / 2 if eq.primitive.name in ("rfft", "irfft") else whole)


# ---- matrices --------------------------------------------------------------------------------


def _cubic(factor: float) -> Flops:
    """Count a multiple of n³ for square matrices."""

    def count(eq: Equation) -> float:
        stack, n, _ = _matrix(eq)
        return factor * stack * n**3

    return count


def _solve(eq: Equation) -> float:
    """Count ⅔·n³ for the factors and 2·n² for each right-hand side (GVL 3.2)."""
    stack, n, _ = _matrix(eq)
    return stack * (2 / 3 * n**3 + 2 * n**2 * eq.operands[1].type.shape[-1])


def _substitution(eq: Equation) -> float:
    """Count n² for each right-hand side (GVL 3.1)."""
    stack, n, _ = _matrix(eq)
    return stack * n**2 * eq.operands[1].type.shape[-1]


def _qr(eq: Equation) -> float:
    """Count 2·n²·(m - n/3) for R, and as much again, or more, for the columns of Q (GVL 5.2)."""
    p = eq.params_as(Qr)
    stack, m, n = _matrix(eq)
    r = 2 * n**2 * (m - n / 3)
    q = {"r": 0.0, "reduced": r, "complete": 4 * (m**2 * n - m * n**2 + n**3 / 3)}
    return stack * (r + q[p.mode])


def _svd(eq: Equation) -> float:
    """Count 6·m·n² + 20·n³, with all of U 4·m²·n + 22·n³ (GVL 8.6)."""
    p = eq.params_as(Vectors)
    stack, m, n = _matrix(eq)
    return stack * (4 * m**2 * n + 22 * n**3 if p.full else 6 * m * n**2 + 20 * n**3)


def _svdvals(eq: Equation) -> float:
    """Count 4·m·n² - 4·n³/3 (GVL 8.6)."""
    stack, m, n = _matrix(eq)
    return stack * (4 * m * n**2 - 4 / 3 * n**3)


def _through_svd(eq: Equation) -> float:
    """Count the singular value decomposition and one product."""
    stack, m, n = _matrix(eq)
    return stack * (6 * m * n**2 + 20 * n**3 + 2 * m * n**2)


def _adjugate(eq: Equation) -> float:
    """Count a determinant, an inverse, and two products for each direction."""
    stack, n, _ = _matrix(eq)
    return stack * n**3 * (8 / 3 + 4 * (len(eq.operands) - 1))


def _squared(eq: Equation) -> float:
    """Count n² for each row of n values that is compared with itself."""
    return sum(v.type.size for v in eq.results[:1])


BY_NAME: Final[dict[str, Flops]] = {
    "add sub neg": _sum_of_numbers,
    "mul": _product_of_numbers,
    "select": _results,
    "modulus": _elementwise(5),
    _INTEGRALS: _elementwise(QUADRATURE),
    # what moves elements, or passes them on
    "reshape permute broadcast slice sliding_windows reverse concatenate iota convert gather "
    "scatter replace_slice real imag conj join part last_writes stop_gradient tap "
    "spectral spectral_sum singular_function singular_sum singular_derivative "
    "radial known": _nothing,
    "scatter_add add_slice": lambda eq: eq.operands[1].type.size,
    # reductions, and checks, which look at every element once
    "accumulate reduce_sum reduce_prod reduce_max reduce_min reduce_all reduce_any reduce_count "
    "argmax argmin cumsum cumprod running_maximum running_minimum running_fmax running_fmin "
    "masked_sum sum_from overlap_add partition argpartition order_statistics gauge reflected "
    "leaving regular existing complement divergent vanishing constant_rank distinct": _each_operand,
    "contract masked_contract": _contract,
    "convolve masked_convolve": _convolve,
    "recurrence": _recurrence,
    "sort argsort": _sorting,
    "origins": _origins,
    "searchsorted": _searching,
    "fft ifft rfft irfft": _fourier,
    "cholesky": _cubic(1 / 3),  # GVL 4.2
    "det slogdet": _cubic(2 / 3),  # GVL 3.2
    "inv": _cubic(2),  # LAPACK's getrf and getri
    "triangular_inv": _cubic(1 / 3),
    "eigh": _cubic(9),  # GVL 8.3
    "eigvalsh": _cubic(4 / 3),
    "eig": _cubic(25),  # GVL 7.5
    "eigvals": _cubic(10),
    "adjugate": _adjugate,
    "solve named_solve": _solve,
    "triangular_solve": _substitution,
    "qr": _qr,
    "svd": _svd,
    "svdvals": _svdvals,
    "lstsq pinv": _through_svd,
    "tied entangled": _squared,
    "shared settled blocks aligned": _operands,
    # functions of which nothing is known, and equations of which the programs inside count
    "opaque root linear_solve custom custom_tangent checkpoint cond scan while_loop": _nothing,
}

FLOPS: Final[dict[Primitive[Any], Flops]] = {
    **{op.primitive: _elementwise(SPECIAL) for op in by_name.values()},
    **{
        primitives[name]: _elementwise(weight)
        for weight, names in WEIGHTS.items()
        for name in names.split()
        if name in primitives
    },
    **{
        primitives[name]: entry
        for names, entry in BY_NAME.items()
        for name in names.split()
        if name in primitives
    },
}
"""Operations by primitive."""
