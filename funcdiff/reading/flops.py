"""Counts the floating-point operations of an equation, to leading order.

What has no formula here is counted by the facts on its record: see `flops`.

One addition, multiplication or comparison of real numbers counts as one.  Of other elementwise
functions, the weights are round numbers for how much longer they take in a current processor.
Factorizations count as in G. Golub, C. Van Loan, "Matrix Computations", 4th edition, 2013 (GVL
below, with section numbers), LAPACK's solvers as in its Users' Guide, and Fourier transforms as
5·N·log₂N (M. Frigo, S. Johnson, "The Design and Implementation of FFTW3", 2005, section VI).
"""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod
from typing import Final, TypeAlias

from funcdiff.core.program import Equation
from funcdiff.ops.axes.sorting import Sorting
from funcdiff.ops.families import weights
from funcdiff.ops.linalg.orthogonal import Qr
from funcdiff.ops.linalg.singular import Vectors
from funcdiff.ops.products.convolution import Convolution
from funcdiff.ops.products.fourier import Fourier
from funcdiff.ops.structure.structural import Axis

Flops: TypeAlias = Callable[[Equation], float]

_WORDS: Final[dict[int, str]] = {
    4: "div reciprocal sqrt root_of_squares floor_divide remainder fmod gcd lcm",
    5: "hypot modulus",
    10: "sinc exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt "
    "decay exponential_ratio",
    20: "power float_power arcsin arccos arctan arcsinh arccosh arctanh arctan2 "
    "logaddexp logaddexp2 logistic",
    40: "bessel_i0 bessel_i1",
}
WEIGHTS: Final = {word: weight for weight, words in _WORDS.items() for word in words.split()}
"""Operations for each element of the result, where there are more than one."""


def flops(eq: Equation) -> float:
    """Return how many operations an equation takes, without those of programs in it.

    By default these are none for views, for what holds programs and for the user's functions, one
    for each element of a pointwise result, and of others one for each element of the largest
    operand or result.

    >>> import numpy as np
    >>> import funcdiff as fd
    >>> program = fd.trace(lambda x, y: x @ y)(np.ones((2, 3)), np.ones((3, 4)))
    >>> flops(program.equations[0])
    48
    """
    formula, facts = FORMULAS.get(eq.primitive.name), eq.primitive.facts
    if formula is not None:
        return formula(eq)
    moves = eq.primitive.implementation.view or facts.hands_on
    if moves or facts.calls_user or eq.params.equation_count:
        return 0
    weight = WEIGHTS.get(eq.primitive.name) or weights.get(eq.primitive.name)
    if eq.primitive.pointwise or weight:
        # complex: two real sums, or four products and two sums
        factor = 2 if facts.linear else 6 if facts.elements == "multiplied" else 4
        return _results(eq) * (weight or 1) * (factor if _is_complex(eq) else 1)
    return max(atom.type.size for atom in (*eq.operands, *eq.results)) * (
        2 if _is_complex(eq) else 1
    )


# ---- sizes ---------------------------------------------------------------------------------------


def _results(eq: Equation) -> int:
    return sum(v.type.size for v in eq.results)


def _second_operand(eq: Equation) -> int:
    return eq.operands[1].type.size


def _nothing(_eq: Equation) -> int:
    return 0


def _is_complex(eq: Equation) -> bool:
    return any(atom.type.dtype.kind == "c" for atom in eq.operands)


def _matrix(eq: Equation) -> tuple[int, int, int]:
    """Return how many matrices there are, and their longer and shorter side."""
    *stack, rows, columns = eq.operands[0].type.shape
    return prod(stack) * (4 if _is_complex(eq) else 1), max(rows, columns), min(rows, columns)


# ---- products and sums ---------------------------------------------------------------------------


def _contract(eq: Equation) -> int:
    """Count 2·m·n·k: a product and a sum for every term; without a sum, the products."""
    op = eq.operation
    sizes = op.access.lengths(op.operands, op.results)
    terms, summed = prod(sizes.values()), len(sizes) > len(op.access.results[0])
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
    q = {"reduced": r, "complete": 4 * (m**2 * n - m * n**2 + n**3 / 3)}
    return stack * (r + q.get(p.mode, 0.0))


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


_BY_NAME: Final[dict[str, Flops]] = {
    # what only moves elements
    "concatenate gather guard needed scatter replace_slice convert conj join part iota": _nothing,
    "scatter_add add_slice": _second_operand,
    "select": _results,
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
}

FORMULAS: Final[dict[str, Flops]] = {
    name: formula for names, formula in _BY_NAME.items() for name in names.split()
}
"""Operations to leading order, of what facts do not tell.  Default: see `flops`."""
