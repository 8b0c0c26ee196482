"""Freeze what PyTorch says of the calls in `cases`, as a small data file beside the tests.

Run ``python -m tests.nn.freeze`` in an environment with the extra ``bench``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.nn.cases import CONVOLUTIONS, POINTS, POOLS, ROWS, SCORES, SLOPES, Convolved
from tests.rules.sample import real

try:
    import torch
except ModuleNotFoundError:
    torch = None

FILE = Path(__file__).parent / "oracle.json"


def convolved(case: Convolved) -> list[list[float]]:
    """Return the value, and the gradients of x and the kernel."""
    x, kernel = (torch.tensor(a, requires_grad=True) for a in case.arrays())
    functional = torch.nn.functional
    padded = x
    if case.pads is not None:
        padded = functional.pad(x, [width for pair in reversed(case.pads) for width in pair])
    conv = (functional.conv1d, functional.conv2d, functional.conv3d)[case.axes - 1]
    y = conv(padded, kernel, **case.options)
    ct = torch.tensor(case.weights(y.detach().numpy()))
    return flat(y, *torch.autograd.grad(y, (x, kernel), ct))


def sloping(name: str) -> list[list[float]]:
    """Return the values, first and second derivatives of an activation."""
    x = torch.tensor(POINTS, requires_grad=True)
    functional = torch.nn.functional
    kind = "tanh" if name == "gelu_tanh" else "none"
    y = (
        functional.gelu(x, approximate=kind)
        if name.startswith("gelu")
        else functional.softplus(x, threshold=100)
        if name == "softplus"
        else getattr(torch, name)(x)
    )
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)
    return flat(y, slope, second)


def normalised(name: str) -> list[list[float]]:
    """Return the values along rows, and the gradient of their weighted sum."""
    x = torch.tensor(SCORES, requires_grad=True)
    y = getattr(torch, name)(x, 1)
    ct = torch.tensor(real(*y.shape, start=41))
    return flat(y, *torch.autograd.grad(y, x, ct))


def pooled(name: str, shape: tuple[int, ...], window: Any, options: Any) -> list[list[float]]:
    """Return the value and the gradient of its weighted sum; padding is not counted."""
    x = torch.tensor(real(*shape), requires_grad=True)
    function = getattr(torch.nn.functional, f"{name}{len(shape) - 2}d")
    extra = {"count_include_pad": False} if name == "avg_pool" else {}
    y = function(x, window, **options, **extra)
    ct = torch.tensor(real(*y.shape, start=41))
    return flat(y, *torch.autograd.grad(y, x, ct))


def flat(*arrays: Any) -> list[list[float]]:
    """Return the numbers of every array, to thirteen digits; complex ones are pairs."""
    plain = (a.detach().resolve_conj().numpy() for a in arrays)
    return [[float(f"{n:.13g}") for n in np.ravel(a).view(np.float64)] for a in plain]


def freeze() -> None:
    """Write the file, one call a line."""
    found = {f"conv: {case.name}": convolved(case) for case in CONVOLUTIONS}
    found |= {name: sloping(name) for name in SLOPES}
    found |= {name: normalised(name) for name in ROWS}
    found |= {f"{pool[0]}: {k}": pooled(*pool) for k, pool in enumerate(POOLS)}
    lines = [f"{json.dumps(name)}: {json.dumps(rows)}" for name, rows in found.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} calls frozen")


if __name__ == "__main__":
    freeze()
