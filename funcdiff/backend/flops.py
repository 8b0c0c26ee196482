"""How many floating-point operations an equation takes: a table, with leading terms.

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
from funcdiff.ops.attained import attained_p
from funcdiff.ops.checkpoint import checkpoint_p
from funcdiff.ops.complex import conj_p, imag_p, join_p, modulus_p, real_p
from funcdiff.ops.cond import cond_p
from funcdiff.ops.contract import contract_p
from funcdiff.ops.convolution import convolve_p
from funcdiff.ops.custom import custom_p
from funcdiff.ops.custom_tangent import tangent_p
from funcdiff.ops.degeneracy import blocks_p, distinct_p, gauge_p, settled_p, shared_p, tied_p
from funcdiff.ops.determinants import adjugate_p, det_p, slogdet_p
from funcdiff.ops.dilation import singular_derivative_p
from funcdiff.ops.eigen import eig_p, eigvals_p, entangled_p, existing_p
from funcdiff.ops.factorizations import cholesky_p, eigh_p, eigvalsh_p
from funcdiff.ops.fourier import fft_p, ifft_p, irfft_p, rfft_p
from funcdiff.ops.indexing import gather_p, last_writes_p, scatter_add_p, scatter_p
from funcdiff.ops.linalg import inv_p, solve_p, triangular_inv_p, triangular_solve_p
from funcdiff.ops.linear_solve import linear_solve_p, named_solve_p
from funcdiff.ops.masked import masked_contract_p, masked_sum_p
from funcdiff.ops.matrices import part_p
from funcdiff.ops.null_space import aligned_p, leaving_p, regular_p, vanishing_p
from funcdiff.ops.opaque import opaque_p
from funcdiff.ops.orthogonal import complement_p, divergent_p, qr_p
from funcdiff.ops.pseudoinverse import constant_rank_p, lstsq_p, pinv_p
from funcdiff.ops.recurrence import recurrence_p
from funcdiff.ops.reductions import (
    argmax_p,
    argmin_p,
    cumprod_p,
    cumsum_p,
    reduce_all_p,
    reduce_any_p,
    reduce_count_p,
    reduce_max_p,
    reduce_min_p,
    reduce_prod_p,
)
from funcdiff.ops.root import root_p
from funcdiff.ops.running import by_extremum
from funcdiff.ops.scan import scan_p
from funcdiff.ops.singular import svd_p, svdvals_p
from funcdiff.ops.singular_functions import singular_function_p, singular_sum_p
from funcdiff.ops.slicing import add_slice_p, replace_slice_p, slice_p
from funcdiff.ops.sorting import (
    argpartition_p,
    argsort_p,
    origins_p,
    partition_p,
    searchsorted_p,
    sort_p,
)
from funcdiff.ops.special.family import by_name
from funcdiff.ops.spectral import spectral_p, spectral_sum_p
from funcdiff.ops.structural import (
    concatenate_p,
    convert_p,
    iota_p,
    permute_p,
    reshape_p,
    reverse_p,
    select_p,
    stop_gradient_p,
)
from funcdiff.ops.tap import tap_p
from funcdiff.ops.while_loop import while_p
from funcdiff.space import broadcast_p, reduce_sum_p

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
    1: "add sub mul neg absolute fabs sign copysign heaviside nextafter spacing deg2rad rad2deg "
    "excess floor ceil trunc rint modf_integer modf_fraction square frexp_exponent frexp_mantissa ldexp "
    "less less_equal equal not_equal greater greater_equal maximum minimum fmax fmin "
    "isfinite isinf isnan signbit logical_and logical_or logical_xor logical_not "
    "bitwise_and bitwise_or bitwise_xor invert bitwise_count left_shift right_shift",
    4: "div reciprocal sqrt root_of_squares floor_divide remainder fmod gcd lcm",
    5: "square_of_root hypot",
    10: "sinc exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt",
    20: "power float_power arcsin arccos arctan arcsinh arccosh arctanh arctan2 "
    "logaddexp logaddexp2 softplus",
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
    p: Any = eq.params
    sizes = dict(zip(p.left, eq.operands[0].type.shape, strict=True))
    sizes |= dict(zip(p.right, eq.operands[1].type.shape, strict=True))
    terms = prod(sizes.values())
    summed = any(k not in p.out for k in sizes)
    if _is_complex(eq):
        return terms * (8 if summed else 6)
    return terms * (2 if summed else 1)


def _convolve(eq: Equation) -> int:
    """Count a product and a sum for every pair of places that may fit; some do not, at the ends."""
    p: Any = eq.params
    x, y = (atom.type.shape for atom in eq.operands)
    sizes = dict(zip(p.left, x, strict=False)) | dict(zip(p.right, y, strict=False))
    terms = prod(sizes.values())
    for a, b, c in zip(x[len(p.left) :], y[len(p.right) :], p.lengths, strict=True):
        terms *= min(a * b, a * c, b * c)
    return 2 * terms * (4 if _is_complex(eq) else 1)


def _recurrence(eq: Equation) -> int:
    return 3 * _results(eq)


# ---- order ---------------------------------------------------------------------------------------


def _sorting(eq: Equation) -> float:
    """Count n·log₂n comparisons."""
    p: Any = eq.params
    n = eq.operands[0].type.shape[p.axis]
    return eq.operands[0].type.size * log2(max(n, 2))


def _searching(eq: Equation) -> float:
    n = eq.operands[0].type.shape[-1]
    return eq.operands[1].type.size * log2(max(n, 2))


def _fourier(eq: Equation) -> float:
    """Count 5·N·log₂N, and half of it between real sequences and halves of spectra."""
    p: Any = eq.params
    shape = eq.operands[0].type.shape
    lines = prod(shape[: p.axis]) * prod(shape[p.axis + 1 :])
    whole = 5 * p.points * log2(max(p.points, 2)) * lines
    return whole / 2 if eq.primitive in (rfft_p, irfft_p) else whole


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
    p: Any = eq.params
    stack, m, n = _matrix(eq)
    r = 2 * n**2 * (m - n / 3)
    q = {"r": 0.0, "reduced": r, "complete": 4 * (m**2 * n - m * n**2 + n**3 / 3)}
    return stack * (r + q[p.mode])


def _svd(eq: Equation) -> float:
    """Count 6·m·n² + 20·n³, with all of U 4·m²·n + 22·n³ (GVL 8.6)."""
    p: Any = eq.params
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


FLOPS: Final[dict[Primitive[Any], Flops]] = {
    **{
        primitives[name]: _elementwise(weight)
        for weight, names in WEIGHTS.items()
        for name in names.split()
    },
    **{primitives[name]: _sum_of_numbers for name in ("add", "sub", "neg")},
    primitives["mul"]: _product_of_numbers,
    **{op.primitive: _elementwise(SPECIAL) for op in by_name.values()},
    **{primitives[name]: _elementwise(QUADRATURE) for name in _INTEGRALS.split()},
    **dict.fromkeys(
        (
            reshape_p, permute_p, broadcast_p, slice_p, reverse_p, concatenate_p, iota_p,
            convert_p, gather_p, scatter_p, replace_slice_p, real_p, imag_p, conj_p, join_p,
            stop_gradient_p, tap_p, part_p, attained_p, spectral_p, spectral_sum_p, singular_function_p,
            singular_sum_p, singular_derivative_p, last_writes_p,
        ),
        _nothing,
    ),  # fmt: skip
    select_p: _results,
    modulus_p: _elementwise(5),
    scatter_add_p: lambda eq: eq.operands[1].type.size,
    add_slice_p: lambda eq: eq.operands[1].type.size,
    **dict.fromkeys(
        (
            reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p, reduce_all_p, reduce_any_p,
            reduce_count_p, argmax_p, argmin_p, cumsum_p, cumprod_p, masked_sum_p, partition_p, argpartition_p,
            *by_extremum.values(),
            # checks, which look at every element once
            gauge_p, leaving_p, regular_p, existing_p, complement_p, divergent_p, vanishing_p,
            constant_rank_p, distinct_p,
        ),
        _each_operand,
    ),  # fmt: skip
    contract_p: _contract,
    masked_contract_p: _contract,
    convolve_p: _convolve,
    recurrence_p: _recurrence,
    sort_p: _sorting,
    argsort_p: _sorting,
    origins_p: lambda eq: 2 * _sorting(eq),
    searchsorted_p: _searching,
    **dict.fromkeys((fft_p, ifft_p, rfft_p, irfft_p), _fourier),
    cholesky_p: _cubic(1 / 3),  # GVL 4.2
    det_p: _cubic(2 / 3),  # GVL 3.2
    slogdet_p: _cubic(2 / 3),
    inv_p: _cubic(2),  # LAPACK's getrf and getri
    triangular_inv_p: _cubic(1 / 3),
    eigh_p: _cubic(9),  # GVL 8.3
    eigvalsh_p: _cubic(4 / 3),
    eig_p: _cubic(25),  # GVL 7.5
    eigvals_p: _cubic(10),
    adjugate_p: _adjugate,
    solve_p: _solve,
    named_solve_p: _solve,
    triangular_solve_p: _substitution,
    qr_p: _qr,
    svd_p: _svd,
    svdvals_p: _svdvals,
    lstsq_p: _through_svd,
    pinv_p: _through_svd,
    # functions of which nothing is known, and equations of which the programs inside count
    **dict.fromkeys(
        (
            opaque_p, root_p, linear_solve_p, custom_p, tangent_p, checkpoint_p, cond_p, scan_p,
            while_p,
        ),
        _nothing,
    ),  # fmt: skip
    **dict.fromkeys((tied_p, entangled_p), _squared),
    **dict.fromkeys((shared_p, settled_p, blocks_p, aligned_p), _operands),
}
"""Operations by primitive."""
