"""``autograd.core``: products with a Jacobian of functions of one argument, rules, and spaces."""

from funcdiff.autograd.box_classes import Box, getval, isbox
from funcdiff.autograd.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
    primitive_jvps,
    primitive_vjps,
)
from funcdiff.autograd.names import attributes
from funcdiff.autograd.spaces import VSpace, make_jvp, make_vjp, vspace
from funcdiff.autograd.util import func, subval

primitive_with_deprecation_warnings = primitive

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "func",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
    "primitive_jvps",
    "primitive_vjps",
    "primitive_with_deprecation_warnings",
    "subval",
    "vspace",
]

__getattr__, __dir__ = attributes(
    __name__,
    absent={
        "VJPNode JVPNode Node SparseObject SparseBox sparse_object_types trace toposort "
        "backward_pass": "fd.trace(f)(x) returns the program of a call: there are no nodes.",
        "add_outgrads sum_outgrads sparse_add identity_vjp identity_jvp translate_vjp "
        "translate_jvp": "Cotangents are added in funcdiff.",
    },
)
