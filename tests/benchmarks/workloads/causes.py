"""Why funcdiff is slower than another where it is, and what was tried."""

from __future__ import annotations

from typing import Final

TOLERATED: Final = {"by hand": 1 / 1.4, "jax.jit": 1 / 1.4, "jax.jit, own": 1 / 1.4}
"""What a compiled gradient should not fall below, by the other contestant."""

CAUSES: Final = {
    "tanh chain, a Python float": "Half of the time is the call: finding the program by the types "
    "of the arguments. The code itself takes 1.2 times as long as by hand.",
    "tanh chain, n = 10": "Thirty NumPy calls of 0.4 µs each; XLA makes one loop of them. Taken "
    "apart into 300 floats it would not be quicker.",
    "LSTM": "XLA makes one loop of the elementwise work of a step, NumPy a call for each function.",
    "Gaussian mixture, d = 10": "Elementwise passes over arrays of 8 MB and sums over axes of ten "
    "elements, which XLA fuses.",
    "Gaussian process": "The derivative takes a Cholesky factor, its inverse and two products of "
    "triangular matrices (three full ones before their zeros were left out and what is of rank one "
    "was multiplied as such); by hand, one inverse of the kernel does.",
    "Runge-Kutta": "Python's floats against machine code. Before the arrays were taken apart it "
    "was 0.05.",
    "reads in a loop": "The same arithmetic as by hand, but every number has a name of its own "
    "instead of a place in a list, and a program of 40,000 statements outgrows the caches.",
    "embedding": "`np.add.at` adds one number at a time, to positions that must be computed first.",
    "sums by owner": "`np.add.at` adds one number at a time, to positions that must be computed "
    "first; and XLA's tanh takes half the time of NumPy's.",
    "convolutional network": "PyTorch and XLA have kernels for small convolutions; here patches "
    "are copied for a product of matrices.",
    "digits network": "The derivative of the maximum that keeps a softmax from overflowing, which "
    "by hand is known to vanish.",
    "attention": "The derivative of the maximum that keeps a softmax from overflowing, which by "
    "hand is known to vanish.",
    "Rosenbrock Hessian": "By hand it is known to have three diagonals, and where.",
}
"""By the beginning of a workload's name."""


def cause(name: str) -> str:
    """Return what is known of a workload; empty if nothing is."""
    return next((text for start, text in CAUSES.items() if name.startswith(start)), "")
