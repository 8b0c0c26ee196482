"""JAX as a contestant: compiled or not, with NumPy's arrays in and out or with its own."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from docs.benchmarks.workloads.in_numpy import is_wide, loaded
from docs.benchmarks.workloads.trees import converted
from docs.benchmarks.workloads.workload import Function, Workload


def library() -> ModuleType:
    """Return JAX, with numbers of 64 bits."""
    jax = loaded("jax", "jax.numpy", "jax.scipy.special", "jax.scipy.linalg")
    jax.config.update("jax_enable_x64", True)
    return jax


def own_arrays(tree: Any) -> Any:
    """Return arguments as JAX's arrays."""
    jax = library()
    return converted(jax.numpy.asarray, tree)


def derivative(w: Workload) -> Function:
    """Return JAX's derivative; Jacobians are taken in the mode of fewer passes."""
    jax = library()
    f = partial(w.function, jax.numpy) if w.in_jax is None else partial(w.in_jax, jax)
    if w.derivative == "value":
        return f
    if w.derivative == "hvp":
        return lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]
    if w.derivative == "jvps":
        return lambda x, *vs: [jax.jvp(f, (x,), (v,))[1] for v in vs]
    if w.derivative == "jacobians":
        f, transform = jax.jacrev(f), jax.vmap
    elif w.derivative == "jacobian":
        transform = jax.jacrev if is_wide(w) else jax.jacfwd
    else:
        transform = {"gradient": jax.grad, "hessian": jax.hessian}[w.derivative]
    result: Function = transform(f)
    return result


def not_compiled(w: Workload) -> Function:
    """Return the derivative operation by operation, from NumPy's arrays to NumPy's arrays."""
    run = derivative(w)
    return lambda *arguments: converted(np.asarray, run(*arguments))


def compiled(w: Workload) -> Function:
    """Return the compiled derivative, from NumPy's arrays to NumPy's arrays."""
    run = library().jit(derivative(w))
    return lambda *arguments: converted(np.asarray, run(*arguments))


def compiled_on_own_arrays(w: Workload) -> Function:
    """Return the compiled derivative, from JAX's arrays to JAX's arrays that are ready."""
    jax = library()
    run, ready = jax.jit(derivative(w)), jax.block_until_ready
    return lambda *arguments: ready(run(*arguments))
