"""Why funcdiff is slower than another where it is, and what was tried."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

TOLERATED: Final = {"by hand": 1 / 1.4, "jax.jit": 1 / 1.4, "jax.jit, own": 1 / 1.4}
"""What a compiled gradient should not fall below, by the other contestant."""

_FUSED: Final = (
    "XLA makes one loop of many elementwise operations, and its exp and tanh take 1 to 3 ns an "
    "element where NumPy's take 6 to 10."
)
_PRODUCTS: Final = (
    "XLA has products of matrices of its own, with vectors of 512 bits in every setting where the "
    "processor has them; the rest is elementwise work that XLA fuses."
)

CAUSES: Final = {
    "tanh chain, a Python float": (
        "0.7 µs of 2 are the call: finding the program by the types of the arguments. The code "
        "itself takes 1.2 times as long as by hand."
    ),
    "tanh chain, n = 1": (
        "By hand it is a Python number, put into an array at the end; here the call takes 0.7 µs, "
        "and an array is taken apart and put together."
    ),
    "tanh chain, n = 10": (
        "NumPy calls of 0.4 µs each; XLA makes one loop of them. Taken apart into floats it "
        "would not be quicker."
    ),
    "tanh chain": _FUSED,
    "digits network": f"Against JAX: {_PRODUCTS}",
    "convolutional network": (
        "By hand, channels are last, so that windows are copied in longer runs and bias, maxima "
        "and the way back need no transposition. XLA has kernels of its own for small "
        "convolutions."
    ),
    "attention": _PRODUCTS,
    "LSTM,": (f"{_PRODUCTS} A step has some thirty calls of NumPy on arrays of 16 kB."),
    "LSTM of letters": (
        "Vectors of 14 elements: a call of NumPy takes 0.3 to 0.5 µs whatever it does, and a "
        "step has more of them than by hand, where the layers are taken one after the other and "
        "all that needs no earlier step is done for all steps at once. XLA makes one loop of a "
        "step."
    ),
    "logistic regression": (
        "ln(1 + exp) of an overflow-proof form is differentiated with its comparisons; by hand "
        "its slope is known to be 1 / (1 + exp). In the small ones a call of NumPy (0.4 µs) is "
        "what counts, and the call itself (1 µs)."
    ),
    "Gaussian mixture": (
        "By hand, all components are one product of matrices, Q x - Q μ, with sums of squares "
        "by einsum; the function as written has a batch of products of centred points, and so "
        "has its derivative. The difference Q x - Q μ is not taken here: for points far from the "
        f"origin it loses the digits that x - μ keeps. Against JAX: {_FUSED}"
    ),
    "Gaussian process": (
        "By hand, the inverse of the kernel is made of its factor by LAPACK in a third of a "
        "product's time (SciPy), and the derivative of the factorisation is not needed. The "
        "derivative of the function takes the factor and the adjoint of its differential, which "
        "by blocks is 2/3 n³ operations in some hundred calls of NumPy. Against JAX: its "
        "triangular solver."
    ),
    "reprojection": ("What happens where a rotation is zero is computed for all."),
    "bundle adjustment": (
        "The rotation's angle is a root that may be zero, where the formula is 0 / 0: the "
        "derivative computes what the limit would be for every observation, to take it where it "
        "is needed. By hand, the Jacobian of a rotation is a formula, and so is that of the "
        "projection: two rows are built of eight vectors."
    ),
    "hand tracking": (
        "By hand, a joint moves what is beyond it along axis times distance, one product of "
        "matrices for all joints of all fingers; the derivative pushes 26 directions through "
        f"every rotation, whose matrices are small. Against JAX: {_FUSED}"
    ),
    "Black-Scholes, one option": (
        "1.6 µs of 3 are the call: taking the arguments out of their tuple and finding the program "
        "by their types. The code has 60 statements of floats, of which by hand 40 are known to "
        "cancel, and makes NumPy's numbers of its results."
    ),
    "Black-Scholes": (
        "By hand it is known that the densities in delta cancel and that one is left in vega; "
        "the derivative computes both, and the products with them."
    ),
    "Rosenbrock gradient in a loop": (
        "Rolled up, the loop is twelve operations on arrays, which by hand are in place and fewer, "
        "as 200 (y - x²) is computed once; XLA's is machine code."
    ),
    "Rosenbrock Hessian, n": ("By hand it is known to have three diagonals, and where."),
    "Rosenbrock": ("Array operations of 0.5 µs; by hand they are in place."),
    "Hessian of a last layer": (
        "By hand, the second derivatives are one product of the features times the shares with "
        "themselves, and ten small ones. The derivative does as many operations in products, "
        "but makes arrays of all pairs of features and of classes for it, and differentiates "
        "the maximum that keeps the softmax from overflowing."
    ),
    "tridiagonal Jacobian": (
        "Three products are 15 numbers a place where by hand three diagonals are computed once "
        "and copied."
    ),
    "Jacobian": (
        "By hand the slopes scale one matrix in place before a single product. Against JAX: "
        f"{_PRODUCTS}"
    ),
    "Runge-Kutta of": (
        "Vectors of 50 elements: some forty calls of NumPy a step, which XLA makes one loop of; "
        "by hand the slopes are written into rows of one array, and the gradient in the matrix "
        "is one product for all steps."
    ),
    "Runge-Kutta": (
        "Against XLA, Python's floats against machine code. By hand the same arithmetic on "
        "floats, which stay in a list between the way there and the way back; here states go "
        "through arrays."
    ),
    "reads in a loop": (
        "Against XLA, Python's floats against machine code. By hand the same arithmetic on "
        "floats, which stay in a list between the way there and the way back; here they go "
        "through arrays."
    ),
    "embedding": ("XLA scatters rows; here and by hand it is a sparse product."),
    "sums by owner": ("XLA scatters rows, and its tanh takes a third of the time of NumPy's."),
    "gathers": ("XLA scatters rows; by hand it is a sparse product."),
}
"""By the beginning of a workload's name; the first that fits."""


_KEPT: Final = "has memory of its own in the compiled function, which keeps it between calls"

PEAKS: Final = {
    "tanh chain": (
        "By hand it is differentiated forwards and keeps nothing; the way back keeps every value."
    ),
    "digits": f"Each layer's values and slopes; each {_KEPT}.",
    "convolutional": f"Windows of both layers; each {_KEPT}.",
    "attention": f"Scores, shares and their slopes; each {_KEPT}.",
    "LSTM": f"Gates, states and their slopes of all steps are stacked; each stack {_KEPT}.",
    "logistic": "The scores and their slopes.",
    "Gaussian mixture": (
        "By hand z is written once and overwritten by its gradient; the derivative has centred "
        "points, z and its gradient for all components, of which large ones are z alone."
    ),
    "Gaussian process": (
        f"The kernel, its factor, and the cotangents of both: each {_KEPT}; by hand LAPACK "
        "inverts in place."
    ),
    "reprojection": "What happens where a rotation is zero is computed for all.",
    "bundle": (
        "What happens where a rotation is zero is computed for all, and the eight pieces of the "
        "rows are joined before they are put in order."
    ),
    "Black-Scholes": f"Densities and distances of both terms; each {_KEPT}.",
    "Hessian of a last layer": "Arrays of all pairs of features and of classes.",
    "tridiagonal": f"Three products have arrays of their own; each {_KEPT}.",
    "reads": "The recorded program is kept, an equation for each operation, some 4 kB each.",
    "embedding": "The sparse matrix of the places, besides the rows that it adds up.",
    "sums by owner": "The sparse matrix of the owners, besides the rows that it adds up.",
    "gathers": "The sparse matrix of the places, besides forces and distances.",
}
"""Why a compiled gradient holds more memory than one by hand, by the beginning of the name."""


def cause(name: str, causes: Mapping[str, str] = CAUSES) -> str:
    """Return what is known of a workload; empty if nothing is."""
    found = (text for start, text in causes.items() if re.match(rf"{re.escape(start)}(?!\d)", name))
    return next(found, "")
