"""``autograd.core``: products with a Jacobian of functions of one argument, rules, and spaces."""

from funcdiff.autograd.conventions import make_jvp, make_vjp
from funcdiff.autograd.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
)
from funcdiff.autograd.refusals import refusing
from funcdiff.autograd.spaces import VSpace, vspace

__all__ = [
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "make_jvp",
    "make_vjp",
    "primitive",
    "vspace",
]

__getattr__ = refusing(
    __name__,
    {
        "VJPNode JVPNode SparseObject": "fd.trace(f)(x) returns the program of a call: no nodes.",
        "primitive_vjps primitive_jvps": "Rules are with their functions; there is no table.",
    },
)
