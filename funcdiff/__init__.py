"""Derivatives of plain NumPy code by composable program transforms."""

from funcdiff import errors, numpy, pytree, testing
from funcdiff.api.batching import vmap
from funcdiff.api.control import cond, scan
from funcdiff.api.gradient import grad, value_and_grad
from funcdiff.api.inspection import stop_gradient, trace
from funcdiff.api.jacobian import hessian, jacfwd, jacobian, jacrev
from funcdiff.api.products import hvp, jvp, linearize, vjp
from funcdiff.api.vectors import ravel_pytree
from funcdiff.core.evaluate import evaluate
from funcdiff.core.parse import parse
from funcdiff.core.program import Program

__all__ = [
    "Program",
    "cond",
    "errors",
    "evaluate",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "numpy",
    "parse",
    "pytree",
    "ravel_pytree",
    "scan",
    "stop_gradient",
    "testing",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
]
