"""Primitives that call Python code: a batch of batches is a loop over its examples."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.rules.samples import implicit, integrals, replays

SAMPLES = implicit.SAMPLES | integrals.SAMPLES | replays.SAMPLES

OUTER, INNER = 3, 2
"""Lengths of the batch axes."""


def examples(args: Any, flags: Any, k: int, j: int) -> list[Any]:
    """Return the operands of one example of batches of batches."""
    found = []
    for x, (outer, inner) in zip(args, flags, strict=True):
        if outer:
            x = x[k]
        found.append(x[j] if inner else x)
    return found


def batches(args: Any, flags: Any) -> list[Any]:
    """Return operands with the batch axes that flags say, all examples different."""
    rng, found = np.random.default_rng(7), []
    for x, (outer, inner) in zip(args, flags, strict=True):
        shape = (OUTER,) * outer + (INNER,) * inner + np.shape(x)
        found.append((x + 0.05 * rng.standard_normal(shape))[()])
    return found


@pytest.mark.thinned(3)
@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize("kind", ["linear_solve", "root", "integral", "replay"])
def test_batches_of_batches_are_loops_in_both_modes(kind: str, first: int) -> None:
    f, args, _ = SAMPLES[kind][0]

    def several(*xs: Any) -> Any:
        return tuple(f(*xs))

    ways = [(True, False), (False, True), (True, True)]
    flags = [ways[(first + k) % 3] for k in range(len(args))]
    outer, inner = ([0 if flag else None for flag in which] for which in zip(*flags, strict=True))
    g = fd.vmap(fd.vmap(several, in_axes=tuple(inner)), in_axes=tuple(outer))
    xs, ts = batches(args, flags), batches([0.0 * x for x in args], flags)
    ys, pushed = fd.jvp(g, tuple(xs), tuple(ts))
    cts = tuple(np.cos(np.arange(y.size)).reshape(y.shape) for y in ys)
    pulled = fd.vjp(g, *xs)[1](cts)
    assert (
        abs(
            sum(np.sum(ct * t) for ct, t in zip(cts, pushed, strict=True))
            - sum(np.sum(ct * t) for ct, t in zip(pulled, ts, strict=True))
        )
        < 1e-6
    )
    for k, j in product(range(OUTER), range(INNER)):
        one, moves = examples(xs, flags, k, j), examples(ts, flags, k, j)
        y, t = fd.jvp(several, tuple(one), tuple(moves))
        for found, wanted in zip((*ys, *pushed), (*y, *t), strict=True):
            np.testing.assert_allclose(found[k, j], wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["linear_solve", "root", "integral"])
def test_operands_of_other_types_are_refused(kind: str) -> None:
    f, (first, *rest), _ = SAMPLES[kind][0]
    with pytest.raises(TypeError, match=f"{kind} takes"):
        fd.trace(lambda *xs: tuple(f(*xs)))(np.append(first, 0.5), *rest)
