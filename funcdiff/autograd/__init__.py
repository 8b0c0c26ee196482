"""The names and conventions of HIPS autograd, for programs that were written for it.

``import funcdiff.autograd.numpy as np``, ``from funcdiff.autograd import grad``, and so on;
``python -m funcdiff.autograd script.py`` runs one as
it is.  Functions take positions of arguments as `argnum`, and gradients by complex numbers are
``∂f/∂x - i·∂f/∂y``, the conjugates of `funcdiff.grad`'s.

Examples
--------
>>> import funcdiff.autograd.numpy as np
>>> from funcdiff.autograd import elementwise_grad as egrad
>>> print(egrad(egrad(np.tanh))(np.array([0.0, 1.0])).round(4))
[-0.     -0.6397]
"""

from funcdiff.api.control.rematerialization import checkpoint
from funcdiff.autograd.builtins import dict, isinstance, list, tuple, type
from funcdiff.autograd.differential_operators import (
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)
from funcdiff.autograd.extend import primitive
from funcdiff.autograd.names import attributes

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]

__getattr__, __dir__ = attributes(__name__)
