"""Who takes part: each makes of a workload a function that is timed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from docs.benchmarks.workloads import in_jax, in_numpy, in_torch
from docs.benchmarks.workloads.workload import Function, Workload


def as_they_are(arguments: Any) -> Any:
    """Return NumPy's arrays."""
    return arguments


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
    arrays
        From NumPy's arguments to those that `make` is given, outside of what is timed.
    is_peer
        Whether it takes part without being named.
    """

    name: str
    make: Callable[[Workload], Function]
    module: str
    arrays: Callable[[Any], Any] = as_they_are
    is_peer: bool = True

    def is_installed(self) -> bool:
        """Return whether it can take part."""
        return importlib.util.find_spec(self.module) is not None


CONTESTANTS: Final = (
    Contestant("by hand", in_numpy.by_hand, "numpy"),
    Contestant("fd.jit", in_numpy.funcdiff_jit, "funcdiff"),
    Contestant("fd.jit, numpy", in_numpy.funcdiff_compiled, "funcdiff"),
    Contestant("fd.jit, llvm", in_numpy.funcdiff_native, "llvmlite"),
    Contestant("fd", in_numpy.funcdiff_eager, "funcdiff"),
    Contestant("autograd", in_numpy.autograd, "autograd"),
    Contestant("jax.jit", in_jax.compiled, "jax"),
    Contestant("jax.jit, own", in_jax.compiled_on_own_arrays, "jax", in_jax.own_arrays),
    Contestant("jax", in_jax.not_compiled, "jax", is_peer=False),
    Contestant("torch", in_torch.backward, "torch"),
    Contestant("torch, own", in_torch.backward_on_own_arrays, "torch", in_torch.own_arrays),
    Contestant("torch.func", in_torch.func, "torch", is_peer=False),
)
