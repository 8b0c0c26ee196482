"""Freeze what JAX and PyTorch say of every pattern, as small data files beside the tests.

Run ``python -m tests.patterns.freeze [family ...]`` in an environment with the extra ``bench``.
For a pattern ``f`` at its arguments `x`, with fixed weights `w` and directions `t`, it keeps the
gradient ``J(x)ᴴ·w`` and its derivative along `t`; complex numbers are pairs.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.patterns.pattern import Pattern, directions, smooth, weights
from tests.patterns.tables import FAMILIES

try:
    import jax
    import torch
except ModuleNotFoundError:
    jax = torch = None

Frozen = dict[str, list[list[float]]]


def by_jax(p: Pattern) -> Frozen:
    """Return what JAX says; it raises whatever it raises where it lacks the function."""
    values = p.values()
    places = smooth(values)
    xs = [jax.numpy.asarray(values[k]) for k in places]

    def function(*xs: Any) -> list[Any]:
        changed = list(values)
        for k, x in zip(places, xs, strict=True):
            changed[k] = x
        results = jax.tree_util.tree_leaves(p.function(jax.numpy, *changed))
        return [y for y in map(jax.numpy.asarray, results) if y.dtype.kind in "fc"]

    cotangents = [jax.numpy.asarray(w) for w in weights(function(*xs))]

    def gradient(*xs: Any) -> list[Any]:
        pulled = jax.vjp(function, *xs)[1]([w.conj() for w in cotangents])
        return [g.conj() for g in pulled]

    ts = tuple(map(jax.numpy.asarray, directions(xs)))
    return {"gradient": flat(gradient(*xs)), "curvature": flat(jax.jvp(gradient, tuple(xs), ts)[1])}


def by_torch(p: Pattern) -> Frozen:
    """Return what PyTorch says; the second derivative is the gradient of ``Re⟨gradient, t⟩``."""
    assert p.torch is not None
    values = p.values()
    places = smooth(values)
    arguments = [
        torch.tensor(np.asarray(x), requires_grad=k in places) for k, x in enumerate(values)
    ]
    results = p.torch(torch, *arguments)
    results = [
        y
        for y in (results if isinstance(results, tuple) else (results,))
        if y.is_floating_point() or y.is_complex()
    ]
    xs = [arguments[k] for k in places]
    cotangents = [torch.tensor(w) for w in weights([y.detach().numpy() for y in results])]
    first = torch.autograd.grad(results, xs, cotangents, create_graph=True)
    frozen = {"gradient": flat([g.detach().resolve_conj().numpy() for g in first])}
    ts = [torch.tensor(t) for t in directions([x.detach().numpy() for x in xs])]
    along = sum((g.conj() * t).real.sum() for g, t in zip(first, ts, strict=True))
    if p.order > 1 and along.requires_grad:
        second = torch.autograd.grad(along, xs, allow_unused=True)
        frozen["curvature"] = flat(
            [
                np.zeros(x.shape, x.detach().numpy().dtype)
                if g is None
                else g.detach().resolve_conj().numpy()
                for g, x in zip(second, xs, strict=True)
            ]
        )
    return frozen


def flat(arrays: list[Any]) -> list[list[float]]:
    """Return the numbers of every array, to twelve digits."""
    return [
        [float(f"{number:.12g}") for number in np.ravel(a).view(np.float64)]
        for a in map(np.asarray, arrays)
    ]


def freeze(family: str) -> None:
    """Write the file of one family, and print which patterns no peer has."""
    frozen: dict[str, Frozen] = {}
    for p in FAMILIES[family]:
        if p.wrong:
            print(f"  left out: {p.name}: {p.wrong}")
            continue
        peers: list[Callable[[Pattern], Frozen]] = [by_jax, *([by_torch] if p.torch else [])]
        for peer in peers:
            try:
                found = peer(p)
            except Exception as error:  # whatever a peer says of what it lacks
                print(f"  {peer.__name__}: {p.name}: {error!r:.90}")
                continue
            if all(np.isfinite(row).all() for rows in found.values() for row in rows):
                frozen[p.name] = found
                break
            print(f"  {peer.__name__}: {p.name}: not finite")
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in frozen.items()]
    path = Path(__file__).parent / "oracles" / f"{family}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{family}: {len(frozen)} of {len(FAMILIES[family])} patterns frozen")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    for family in sys.argv[1:] or FAMILIES:
        freeze(family)
