"""Compare bridges with JAX and PyTorch themselves, and freeze what agrees.

``python -m tests.interop.freeze 5`` writes ``agreement.json`` of every fifth pattern; without a
number, of all, in half an hour.  It needs the packages of the ``bench`` extra.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import array_api_compat.torch
import jax
import numpy as np
import torch

import funcdiff as fd
from tests.interop.patterns import NESTINGS, PATTERNS, POINT, agree, in_numpy

FROZEN: Final = Path(__file__).with_name("agreement.json")

JAX = SimpleNamespace(
    grad=jax.grad, jit=jax.jit, jvp=jax.jvp, jacfwd=jax.jacfwd, jacrev=jax.jacrev, vmap=jax.vmap,
    arrays=jax.numpy, array=jax.numpy.asarray, bridge=fd.interop.jax,
)  # fmt: skip


class _Torch:
    """PyTorch's functions under NumPy's names."""

    def __getattr__(self, name: str) -> Any:
        special = {"i0": torch.special.i0, "sinc": torch.special.sinc, "amax": torch.amax}
        if name in special:
            return special[name]
        return getattr(array_api_compat.torch, name, None) or getattr(torch, name)


TORCH = SimpleNamespace(
    grad=torch.func.grad, jit=lambda f: f, jvp=torch.func.jvp, jacfwd=torch.func.jacfwd,
    jacrev=torch.func.jacrev, vmap=torch.vmap,
    arrays=_Torch(), array=torch.as_tensor, bridge=fd.interop.torch,
)  # fmt: skip


def outcomes(lib: Any, stride: int) -> Iterator[dict[str, Any]]:
    """Give how many calls agree, what fails, and what the library itself cannot do, so far."""
    found: dict[str, Any] = {"patterns": 0, "wrap": 0, "use": 0, "failed": {}, "native": {}}
    for name, pattern in list(PATTERNS.items())[::stride]:
        if found["patterns"] % 20 == 0:
            jax.clear_caches()  # which take gigabytes
            yield found
        theirs, ours = partial(pattern, lib.arrays), in_numpy(name)
        for nesting, nest in NESTINGS.items():
            case = f"{name}, {nesting}"
            expected = _called(partial(_there, lib, nest, theirs, lib.jit))
            if isinstance(expected, str) or not np.all(np.isfinite(expected)):
                what = expected if isinstance(expected, str) else "it is not finite"
                found["native"].setdefault(f"{name}: {what}", []).append(nesting)
                expected = None
            elif lib is TORCH and _is_wrong(pattern, ours, nest, expected):
                found["native"].setdefault(f"{name}: other than in JAX and here", []).append(
                    nesting
                )
                expected = None
            reference = nest(fd, ours)(POINT) if expected is None else expected
            for way, call in _ways(lib, nest, ours, theirs).items():
                if way == "use" and expected is None:
                    continue
                fault = _compared(case, call, reference)
                if fault:
                    found["failed"][f"{way}: {case}"] = fault
                else:
                    found[way] += 1
        found["patterns"] += 1
    yield found


def _is_wrong(pattern: Any, ours: Any, nest: Any, found: Any) -> bool:
    """Return whether JAX and funcdiff agree on a result that is another one."""
    here = nest(fd, ours)(POINT)
    if not _compared("", lambda: here, found):
        return False
    there = _called(partial(_there, JAX, nest, partial(pattern, JAX.arrays)))
    return not _compared("", lambda: here, there)


def _ways(lib: Any, nest: Any, ours: Any, theirs: Any) -> dict[str, Callable[[], Any]]:
    return {
        "wrap": lambda: _there(lib, nest, lib.bridge.wrap(ours)),
        "use": lambda: nest(fd, lib.bridge.use(lib.jit(theirs)))(POINT),
    }


def _there(
    lib: Any, nest: Any, f: Callable[..., Any], compile_: Callable[[Any], Any] = lambda g: g
) -> Any:
    return np.asarray(compile_(nest(lib, f))(lib.array(POINT)))


def _called(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:80]}"


def _compared(case: str, call: Callable[[], Any], expected: Any) -> str:
    found = _called(call)
    if isinstance(found, str):
        return found
    try:
        agree(case, found, expected)
    except AssertionError as error:
        return " ".join(str(error).split())[:120]
    return ""


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    found: dict[str, Any] = {}
    stride = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    for name, lib in (("jax", JAX), ("torch", TORCH)):
        for found[name] in outcomes(lib, stride):
            FROZEN.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
