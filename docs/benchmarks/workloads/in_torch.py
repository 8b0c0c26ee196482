"""PyTorch as a contestant: ``backward`` or ``torch.func``, on NumPy's memory or with its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from docs.benchmarks.workloads.in_numpy import is_wide, loaded
from docs.benchmarks.workloads.trees import converted
from docs.benchmarks.workloads.workload import Function, Workload


def own_arrays(tree: Any) -> Any:
    """Return arguments as tensors of their own memory."""
    torch = loaded("torch")
    return converted(lambda leaf: tensor(torch, leaf).clone(), tree)


def tensor(torch: Any, leaf: Any) -> Any:
    """Return a tensor on the memory of an array, or of a Python number."""
    if isinstance(leaf, np.ndarray):
        return torch.from_numpy(leaf)
    return torch.tensor(leaf, dtype=torch.float64)


def from_and_to_numpy(run: Function) -> Function:
    """Return a function of tensors as one of NumPy's arrays, without copies."""
    torch = loaded("torch")

    def converting(*arguments: Any) -> Any:
        results = run(*converted(partial(tensor, torch), arguments))
        return converted(lambda t: t.numpy(), results)

    return converting


def function(torch: Any, w: Workload) -> Function:
    """Return the function of a workload."""
    return partial(w.function if w.in_torch is None else w.in_torch, torch)


def func_on_own_arrays(w: Workload) -> Function:
    """Return the derivative by ``torch.func``."""
    torch = loaded("torch")
    f, func = function(torch, w), torch.func
    if w.derivative == "value":
        return f
    if w.derivative == "hvp":
        return lambda x, v: func.jvp(func.grad(f), (x,), (v,))[1]
    if w.derivative == "jvps":
        return lambda x, *vs: [func.jvp(f, (x,), (v,))[1] for v in vs]
    if w.derivative == "jacobians":
        f, transform = func.jacrev(f), torch.vmap
    elif w.derivative == "jacobian":
        transform = func.jacrev if is_wide(w) else func.jacfwd
    else:
        transform = {"gradient": func.grad, "hessian": func.hessian}[w.derivative]
    result: Function = transform(f)
    return result


def backward_on_own_arrays(w: Workload) -> Function:
    """Return the derivative by ``backward``, or by ``torch.autograd.functional``."""
    torch = loaded("torch")
    f, functional = function(torch, w), torch.autograd.functional
    if w.derivative == "value":
        return f

    def gradient(x: Any, *rest: Any) -> Any:
        x = converted(lambda leaf: leaf.detach().requires_grad_(), x)
        f(x, *rest).backward()
        return converted(lambda t: t.grad, x)

    def jacobians(x: Any, *rest: Any) -> Any:
        x = x.detach().requires_grad_()
        y = f(x, *rest)
        totals = y.sum(dim=0)
        rows = [torch.autograd.grad(total, x, retain_graph=True)[0] for total in totals]
        return torch.stack(rows, dim=1)

    def other(x: Any, *rest: Any) -> Any:
        if w.derivative == "hvp":
            return functional.hvp(f, x, *rest)[1]
        if w.derivative == "jvps":
            return [functional.jvp(f, x, v)[1] for v in rest]
        if w.derivative == "jacobian":
            mode = "reverse-mode" if is_wide(w) else "forward-mode"
            return functional.jacobian(lambda x: f(x, *rest), x, vectorize=True, strategy=mode)
        return functional.hessian(lambda x: f(x, *rest), x, vectorize=True)

    return {"gradient": gradient, "jacobians": jacobians}.get(w.derivative, other)


def backward(w: Workload) -> Function:
    """Return the derivative by ``backward``, from NumPy's arrays to NumPy's arrays."""
    return from_and_to_numpy(backward_on_own_arrays(w))


def func(w: Workload) -> Function:
    """Return the derivative by ``torch.func``, from NumPy's arrays to NumPy's arrays."""
    return from_and_to_numpy(func_on_own_arrays(w))
