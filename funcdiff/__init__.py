"""Derivatives of plain NumPy code by composable program transforms.

What a name needs is imported when it is asked for.
"""

from typing import TYPE_CHECKING

from funcdiff import errors, pytree
from funcdiff.api.missing import missing
from funcdiff.core.late import late_import, late_names

if TYPE_CHECKING:
    from funcdiff import dask as dask
    from funcdiff import interop, nn, numpy, scipy, testing
    from funcdiff.adapting.adapt import adapt
    from funcdiff.api.batching import vmap
    from funcdiff.api.caches import cache_info, clear_caches
    from funcdiff.api.control.branching import cond, switch
    from funcdiff.api.control.rematerialization import checkpoint
    from funcdiff.api.control.scanning import associative_scan, map, scan  # noqa: A004
    from funcdiff.api.control.while_loops import fori_loop, while_loop
    from funcdiff.api.derivatives.derivative import (
        derivative,
        directional_derivative,
        elementwise_grad,
    )
    from funcdiff.api.derivatives.gradient import grad, value_and_grad
    from funcdiff.api.derivatives.hessian import (
        gauss_newton_product,
        hessian,
        hvp,
        value_grad_and_hessian,
        vhp,
    )
    from funcdiff.api.derivatives.jacobian import jacfwd, jacobian, jacrev, value_and_jacobian
    from funcdiff.api.derivatives.linear_maps import jvp, linear_transpose, linearize, vjp
    from funcdiff.api.derivatives.queries import depends_on, is_linear, sparsity
    from funcdiff.api.inspection import stop_gradient, trace
    from funcdiff.api.jit import jit
    from funcdiff.api.raveling import ravel_pytree
    from funcdiff.api.rules.custom_derivatives import custom_jvp, custom_vjp
    from funcdiff.api.rules.implicit import custom_root, fixed_point
    from funcdiff.api.rules.linear_equations import custom_linear_solve
    from funcdiff.api.rules.opaque_functions import primitive
    from funcdiff.api.taps import tap, tap_grads, tap_values
    from funcdiff.backend.blocks.running import get_num_threads, set_num_threads
    from funcdiff.core.program import Program
    from funcdiff.core.running.evaluate import evaluate
    from funcdiff.core.text.parse import parse
    from funcdiff.densities.unconstrained import density
    from funcdiff.programs.nonlinear import nlp
    from funcdiff.reading.described import describe
    from funcdiff.reading.views import cost, draw, explain, export, source
    from funcdiff.uncertainty import design
    from funcdiff.uncertainty.propagate import propagate
    from funcdiff.uncertainty.standard_errors import (
        confidence_intervals,
        fisher_information,
        standard_errors,
    )

__all__ = [
    "Program",
    "adapt",
    "associative_scan",
    "cache_info",
    "checkpoint",
    "clear_caches",
    "cond",
    "confidence_intervals",
    "cost",
    "custom_jvp",
    "custom_linear_solve",
    "custom_root",
    "custom_vjp",
    "density",
    "depends_on",
    "derivative",
    "describe",
    "design",
    "directional_derivative",
    "draw",
    "elementwise_grad",
    "errors",
    "evaluate",
    "explain",
    "export",
    "fisher_information",
    "fixed_point",
    "fori_loop",
    "gauss_newton_product",
    "get_num_threads",
    "grad",
    "hessian",
    "hvp",
    "interop",
    "is_linear",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linear_transpose",
    "linearize",
    "map",
    "nlp",
    "nn",
    "numpy",
    "parse",
    "primitive",
    "propagate",
    "pytree",
    "ravel_pytree",
    "scan",
    "scipy",
    "set_num_threads",
    "source",
    "sparsity",
    "standard_errors",
    "stop_gradient",
    "switch",
    "tap",
    "tap_grads",
    "tap_values",
    "testing",
    "trace",
    "value_and_grad",
    "value_and_jacobian",
    "value_grad_and_hessian",
    "vhp",
    "vjp",
    "vmap",
    "while_loop",
]

__version__ = "0.2.0"

_HOMES = {
    "": "dask interop nn numpy scipy testing",
    "adapting.adapt": "adapt",
    "api.batching": "vmap",
    "api.caches": "cache_info clear_caches",
    "api.control.branching": "cond switch",
    "api.control.rematerialization": "checkpoint",
    "api.control.while_loops": "fori_loop while_loop",
    "api.control.scanning": "associative_scan map scan",
    "api.derivatives.derivative": "derivative directional_derivative elementwise_grad",
    "api.derivatives.gradient": "grad value_and_grad",
    "api.derivatives.hessian": "gauss_newton_product hessian hvp value_grad_and_hessian vhp",
    "api.derivatives.jacobian": "jacfwd jacobian jacrev value_and_jacobian",
    "api.derivatives.linear_maps": "jvp linear_transpose linearize vjp",
    "api.derivatives.queries": "depends_on is_linear sparsity",
    "api.inspection": "stop_gradient trace",
    "api.jit": "jit",
    "api.rules.custom_derivatives": "custom_jvp custom_vjp",
    "api.rules.implicit": "custom_root fixed_point",
    "api.rules.linear_equations": "custom_linear_solve",
    "api.rules.opaque_functions": "primitive",
    "api.taps": "tap tap_grads tap_values",
    "api.raveling": "ravel_pytree",
    "backend.blocks.running": "get_num_threads set_num_threads",
    "core.running.evaluate": "evaluate",
    "core.text.parse": "parse",
    "core.program": "Program",
    "densities.unconstrained": "density",
    "programs.nonlinear": "nlp",
    "reading.described": "describe",
    "reading.views": "cost draw explain export source",
    "uncertainty": "design",
    "uncertainty.standard_errors": "confidence_intervals fisher_information standard_errors",
    "uncertainty.propagate": "propagate",
}
"""Modules that are imported when one of their public names is asked for."""

if not TYPE_CHECKING:  # a type checker would take every name for granted
    __getattr__ = late_names(
        __name__, _HOMES, lambda name: missing(name, __all__, late_import("funcdiff.nn").__all__)
    )


def __dir__() -> list[str]:
    """Return the public names: what else is in here is how they are made."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
