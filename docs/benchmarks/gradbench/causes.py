"""Why compiled derivatives are slower than JAX's where they are."""

from __future__ import annotations

from typing import Final

TOLERATED: Final = 1.2
"""The time in units of JAX's, with its own arrays, above which there is a cause on the page."""

CAUSES: Final = {
    "kmeans": (
        "Equal distances share the derivative, and nan stays nan: a mask of the nearest centres, "
        "its count and two weights are calls of NumPy, which XLA makes one loop."
    ),
    "ba, places found": (
        "JAX is told where the entries are. funcdiff finds them, and computes them along the "
        "operations of the function, with a gather or a sum where elements change their places."
    ),
    "lstm": (
        "Vectors of 14 elements: a call of NumPy takes 0.3 to 0.5 µs whatever it does, and a step "
        "has some fifty of them there and back. XLA makes one loop of a step."
    ),
    "ode": (
        "A step is some forty calls of NumPy on short vectors, there and back, of 0.5 to 1 µs "
        "each. XLA makes one loop of a step."
    ),
    "saddle by": (
        "53,000 steps of the inner descent, some 9 µs each, of NumPy's and Python's operations one "
        "by one. XLA makes machine code of the loops."
    ),
    "saddle,": (
        "The way that Python's loops took is one program, step after step. XLA makes machine code "
        "of loops."
    ),
    "particle by": (
        "Each step of Euler's method is Python's arithmetic on floats. XLA makes machine code of "
        "the loops."
    ),
}
"""By the beginning of a workload's name; the first that fits."""
