"""Derivatives by parameters of sums over examples that Dask keeps in chunks, on any machines.

``fd.dask.grad(loss)(params, X, y)`` has NumPy's parameters and Dask's data.  The loss is that of a
block of examples; its derivative is traced here, and runs where the blocks are.
"""

from funcdiff.dask.derivatives import (
    gauss_newton_product,
    grad,
    hvp,
    jacobian,
    value_and_grad,
    vmap,
)

__all__ = ["gauss_newton_product", "grad", "hvp", "jacobian", "value_and_grad", "vmap"]
