"""Who takes part: each makes of a workload a function from NumPy arrays to NumPy arrays."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Final

import numpy as np

import funcdiff as fd
from tests.benchmarks.workloads.workload import Function, Workload


def loaded(*names: str) -> ModuleType:
    """Import modules, which need not be installed for the tests, and return the first."""
    first, *_ = [importlib.import_module(name) for name in names]
    return first


def converted(f: Callable[[Any], Any], tree: Any) -> Any:
    """Return lists, tuples and dicts with `f` of their leaves."""
    if isinstance(tree, dict):
        return {key: converted(f, child) for key, child in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(converted(f, child) for child in tree)
    return f(tree)


def by_hand(w: Workload) -> Function:
    """Return the derivative in plain NumPy."""
    return w.by_hand


def funcdiff_eager(w: Workload) -> Function:
    """Return funcdiff's derivative, which traces the function in every call."""
    f = partial(w.function, np)
    if w.derivative == "hvp":
        return lambda x, v: fd.hvp(f, (x,), (v,))
    if w.derivative == "jacobian":
        return fd.jacobian(f)
    if w.derivative == "hessian":
        return fd.hessian(f)
    return fd.grad(f)


def funcdiff_jit(w: Workload) -> Function:
    """Return funcdiff's compiled derivative."""
    return fd.jit(funcdiff_eager(w))


def autograd(w: Workload) -> Function:
    """Return HIPS autograd's derivative."""
    ag = loaded("autograd", "autograd.numpy", "autograd.scipy.special", "autograd.scipy.signal")
    f = partial(w.function, ag.numpy) if w.in_autograd is None else partial(w.in_autograd, ag)
    if w.derivative == "hvp":
        return lambda x, v: ag.make_hvp(f)(x)[0](v)
    transforms = {"gradient": ag.grad, "jacobian": ag.jacobian, "hessian": ag.hessian}
    derivative: Function = transforms[w.derivative](f)
    return derivative


def jax_unjitted(w: Workload, *, jit: bool = False) -> Function:
    """Return JAX's derivative; small matrices are differentiated in the mode of fewer passes."""
    jax = loaded("jax", "jax.numpy", "jax.scipy.special", "jax.scipy.linalg")
    jax.config.update("jax_enable_x64", True)
    f = partial(w.function, jax.numpy) if w.in_jax is None else partial(w.in_jax, jax)
    if w.derivative == "gradient":
        derivative = jax.grad(f)
    elif w.derivative == "hvp":
        derivative = lambda x, v: jax.jvp(jax.grad(f), (x,), (v,))[1]
    elif w.derivative == "hessian":
        derivative = jax.hessian(f)
    else:
        wide = w.drawn()[0].size > f(*w.drawn()).size
        derivative = (jax.jacrev if wide else jax.jacfwd)(f)
    run = jax.jit(derivative) if jit else derivative
    return lambda *arguments: converted(np.asarray, run(*arguments))


def jax_jit(w: Workload) -> Function:
    """Return JAX's compiled derivative."""
    return jax_unjitted(w, jit=True)


def torch_func(w: Workload) -> Function:
    """Return the derivative by ``torch.func``."""
    torch = loaded("torch")
    f = partial(w.function if w.in_torch is None else w.in_torch, torch)
    if w.derivative == "gradient":
        derivative = torch.func.grad(f)
    elif w.derivative == "hvp":
        derivative = lambda x, v: torch.func.jvp(torch.func.grad(f), (x,), (v,))[1]
    elif w.derivative == "hessian":
        derivative = torch.func.hessian(f)
    else:
        derivative = torch.func.jacrev(f)

    def run(*arguments: Any) -> Any:
        results = derivative(*converted(partial(tensor, torch), arguments))
        return converted(lambda t: t.numpy(), results)

    return run


def torch_backward(w: Workload) -> Function:
    """Return the derivative by ``backward``, or by ``torch.autograd.functional``."""
    torch = loaded("torch")
    f = partial(w.function if w.in_torch is None else w.in_torch, torch)

    def gradient(x: Any, *rest: Any) -> Any:
        x = converted(lambda leaf: tensor(torch, leaf).requires_grad_(), x)
        f(x, *converted(partial(tensor, torch), rest)).backward()
        return converted(lambda t: t.grad.numpy(), x)

    def other(x: Any, *rest: Any) -> Any:
        x, *rest = converted(partial(tensor, torch), [x, *rest])
        functional = torch.autograd.functional
        if w.derivative == "hvp":
            return functional.hvp(f, x, *rest)[1].numpy()
        transform = getattr(functional, w.derivative)
        return transform(lambda x: f(x, *rest), x, vectorize=True).numpy()

    return gradient if w.derivative == "gradient" else other


def tensor(torch: Any, leaf: Any) -> Any:
    """Return a tensor on the memory of an array, or of a Python number."""
    if isinstance(leaf, np.ndarray):
        return torch.from_numpy(leaf)
    return torch.tensor(leaf, dtype=torch.float64)


@dataclass(frozen=True)
class Contestant:
    """A way to a derivative.

    Attributes
    ----------
    name
        What the tables call it.
    make
        From a workload to the function that is timed.
    module
        What must be installed.
    """

    name: str
    make: Callable[[Workload], Function]
    module: str

    def is_installed(self) -> bool:
        """Return whether it can take part."""
        return importlib.util.find_spec(self.module) is not None


CONTESTANTS: Final = (
    Contestant("by hand", by_hand, "numpy"),
    Contestant("fd.jit", funcdiff_jit, "funcdiff"),
    Contestant("fd", funcdiff_eager, "funcdiff"),
    Contestant("autograd", autograd, "autograd"),
    Contestant("jax.jit", jax_jit, "jax"),
    Contestant("jax", jax_unjitted, "jax"),
    Contestant("torch", torch_backward, "torch"),
    Contestant("torch.func", torch_func, "torch"),
)
