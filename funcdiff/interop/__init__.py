"""Functions of one library as operations of another: JAX, PyTorch, PyTensor, and plain NumPy code.

``wrap(f)`` of a module is NumPy code as a function of that library, ``use(g)`` a function of that
library as an operation here.  The derivatives of a bridged operation are bridged operations again,
so that every order and every mode works on both sides.  `pyomo` has programs of `nlp` as blocks of
Pyomo's models.  A module imports its library.
"""

from typing import TYPE_CHECKING

from funcdiff.core.late import late_names

if TYPE_CHECKING:
    from funcdiff.interop import jax, pytensor, torch

__all__ = ["jax", "pytensor", "torch"]

if not TYPE_CHECKING:
    __getattr__ = late_names(__name__, {"": "jax pytensor torch"})
