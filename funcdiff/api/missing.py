"""Error messages for names that funcdiff lacks, with the name to write instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from funcdiff.core.late import close_matches

_NOTHING_STORED: Final = (
    "Nothing is stored in arrays: fd.grad(f)(x) returns the gradient, and "
    "y, f_vjp = fd.vjp(f, x) what y.backward(gradient=v) computes, f_vjp(v)."
)
_PLAIN: Final = "Arrays are NumPy's: write np.array(...)."

_ELSEWHERE: Final = {
    **dict.fromkeys(("backward", "requires_grad", "enable_grad"), _NOTHING_STORED),
    "autograd": f"For HIPS autograd's names, import funcdiff.autograd. {_NOTHING_STORED}",
    **dict.fromkeys(("no_grad", "inference_mode", "detach"), "Use fd.stop_gradient(x)."),
    **dict.fromkeys(("tensor", "Tensor", "Variable", "array", "asarray"), _PLAIN),
    "lax": "Control flow is in fd itself: fd.cond, fd.scan, fd.fori_loop.",
    **dict.fromkeys(("tree_map", "tree", "tree_util"), "Use fd.pytree.map and its relatives."),
    **dict.fromkeys(("random",), "Use np.random.default_rng(seed), outside or inside functions."),
    **dict.fromkeys(("make_jaxpr", "xla_computation"), "Use fd.trace(f)(x), or fd.source(f)(x)."),
    **dict.fromkeys(("pmap", "shard_map", "pjit"), "Use fd.vmap(f), or fd.dask."),
    **dict.fromkeys(("device_put", "devices", "local_devices"), "NumPy has one device."),
    "compile": "Use fd.jit(f).",
    "egrad": "Use fd.elementwise_grad(f).",
    "functional": "Activations are in fd.nn.",
    "grad_and_aux": "Use fd.grad(f, has_aux=True).",
    "grad_and_value": "Use fd.value_and_grad(f).",
    "gradient": "Use fd.grad(f).",
    "hessian_vector_product": "Use fd.hvp(f, (x,), (v,)).",
    "holomorphic_grad": "Use fd.grad(f, holomorphic=True).",
    "make_jvp": "Use fd.jvp(f, (x,), (t,)).",
    "make_vjp": "Use fd.vjp(f, x).",
    **dict.fromkeys(("Dense", "Linear", "Module"), 'Write a function of p: x @ p["w"] + p["b"].'),
    "cross_entropy": "Write -np.mean(np.sum(targets * fd.nn.log_softmax(scores), axis=-1)).",
    "optim": "A step is p - rate * g; scipy.optimize.minimize takes fd.value_and_grad, jac=True.",
    "multigrad_dict": "Use fd.grad(f, argnames=...).",
    "remat": "Use fd.checkpoint(f).",
    "special": "Use fd.scipy.special, or scipy.special itself.",
}


def missing(name: str, public: Sequence[str], layers: Sequence[str], at: str = "funcdiff") -> str:
    """Return the message for a name that a module lacks; `layers` are the names in ``fd.nn``."""
    found = f"module {at!r} has no attribute {name!r}"
    if name in _ELSEWHERE:
        return f"{found}. {_ELSEWHERE[name]}"
    if name in layers:
        return f"{found}. It is fd.nn.{name}."
    if callable(getattr(np, name, None)):
        return f"{found}. Use np.{name}: NumPy's own functions are differentiated."
    near = close_matches(name, public, 3)
    return f"{found}. Did you mean {', '.join(near)}?" if near else found
