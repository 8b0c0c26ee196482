"""Contestants whose arrays are NumPy's: by hand, funcdiff, and HIPS autograd."""

from __future__ import annotations

import importlib
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.workload import Function, Workload


def loaded(*names: str) -> ModuleType:
    """Import modules, which need not be installed for the tests, and return the first."""
    first, *_ = [importlib.import_module(name) for name in names]
    return first


def is_wide(w: Workload) -> bool:
    """Return whether a Jacobian has more columns than rows, so that the backward mode is better."""
    rows, columns = w.by_hand(*w.drawn()).shape
    return bool(rows < columns)


def by_hand(w: Workload) -> Function:
    """Return the derivative in plain NumPy."""
    return w.by_hand


def funcdiff_eager(w: Workload) -> Function:
    """Return funcdiff's derivative, which traces the function in every call."""
    f = partial(w.function, np)
    if w.derivative == "value":
        return f
    if w.derivative == "hvp":
        return lambda x, v: fd.hvp(f, (x,), (v,))
    if w.derivative == "jvps":
        return lambda x, *vs: [fd.jvp(f, (x,), (v,))[1] for v in vs]
    ways = {"gradient": fd.grad, "jacobian": fd.jacobian, "hessian": fd.hessian}
    if w.derivative == "jacobians":
        rows: Function = fd.vmap(fd.jacobian(f))
        return rows
    derivative: Function = ways[w.derivative](f)
    return derivative


def funcdiff_jit(w: Workload) -> Function:
    """Return funcdiff's compiled derivative, with the engine that it chooses."""
    return fd.jit(funcdiff_eager(w))


def funcdiff_compiled(w: Workload) -> Function:
    """Return funcdiff's compiled derivative, which calls NumPy."""
    return fd.jit(funcdiff_eager(w), engine="numpy")


def funcdiff_native(w: Workload) -> Function:
    """Return funcdiff's compiled derivative, as machine code."""
    return fd.jit(funcdiff_eager(w), engine="llvm")


def autograd(w: Workload) -> Function:
    """Return HIPS autograd's derivative."""
    ag = loaded("autograd", "autograd.numpy", "autograd.scipy.special", "autograd.scipy.signal")
    f = partial(w.function, ag.numpy) if w.in_autograd is None else partial(w.in_autograd, ag)
    if w.derivative == "value":
        return f
    if w.derivative == "hvp":
        return lambda x, v: ag.make_hvp(f)(x)[0](v)
    if w.derivative == "jvps":
        return lambda x, *vs: [ag.make_jvp(f)(x)(v)[1] for v in vs]
    if w.derivative == "jacobians":
        return lambda *arguments: of_rows(ag, f, arguments)
    ways = {"gradient": ag.grad, "jacobian": ag.jacobian, "hessian": ag.hessian}
    derivative: Function = ways[w.derivative](f)
    return derivative


def of_rows(ag: ModuleType, f: Function, arguments: tuple[Any, ...]) -> Any:
    """Return the Jacobian of each row, where there is no vmap: one output of all rows at a time."""
    pull, y = ag.make_vjp(f)(*arguments)
    outputs = np.eye(y.shape[-1])
    return np.stack([pull(np.broadcast_to(e, y.shape)) for e in outputs], axis=1)
