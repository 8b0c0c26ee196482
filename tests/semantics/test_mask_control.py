"""Masks in every construct of control flow, under every composition of modes to third order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from tests.semantics.compositions import compositions, require_agreement
from tests.semantics.masked import KEPT, ROOTS, WEIGHTS, Function, weighted

F: Any = fd  # types refuse some of what is tried here
Mask = Callable[[Function, Any], Any]

MASKS: Final[dict[str, Mask]] = {
    "where": lambda u, x: np.where(KEPT, u(x), 0),
    "boolean index": lambda u, x: np.sum(u(x)[KEPT]) * WEIGHTS + u(x)[KEPT][0] * x,
    "slices": lambda u, x: np.concatenate([x[:1], u(x)[1:2], x[2:3], u(x)[3:]]),
    "pad": lambda u, x: np.pad(u(x)[1:2], (1, 2)) + np.pad(u(x)[3:], (3, 0)),
}


def _bounded(m: Mask, u: Function) -> Function:
    """Return the body of a loop whose carry stays where `u` is unsafe."""

    def body(z: Any) -> Any:
        inner = np.where(KEPT, np.abs(z) / (1 + np.abs(z)) / 2 + 0.25, z)
        return np.where(KEPT, np.tanh(m(u, inner)) + 0.5, z)

    return body


def _while(body: Callable[[Any, Any], Any], x: Any, length: int = 3) -> Any:
    return F.while_loop(lambda s: s[1] < length, lambda s: (body(*s), s[1] + 1), (x, 0))[0]


def _carried(step: Callable[[Any, Any], Any], x: Any) -> Any:
    """Return the sum that three iterations make beside a carry that does not change."""

    def body(s: Any) -> Any:
        return step(s[0], s[1]), s[1] * 1.0, s[2] + 1

    return F.while_loop(lambda s: s[2] < 3, body, (0 * x, x, 0))[0]


def _pulled(f: Function) -> Function:
    rule = fd.custom_vjp(lambda x: f(x))
    rule.defvjp(lambda x: (f(x), x), lambda x, ct: (F.vjp(f, x)[1](ct)[0],))
    return rule


def _pushed(f: Function) -> Function:
    rule = fd.custom_jvp(lambda x: f(x))
    rule.defjvp(lambda xs, ts: F.jvp(f, xs, ts))
    return rule


def _root(m: Mask, u: Function, x: Any) -> Any:
    def solve(f: Function, z: Any) -> Any:
        for _ in range(40):
            z = z - f(z) / 1.05
        return z

    def solve_tangent(g: Function, y: Any) -> Any:
        return np.linalg.solve(fd.jacfwd(g)(y), y)

    return F.custom_root(
        lambda z: z + np.sin(z) / 10 - m(u, x) / 10, 0 * x, solve, solve_tangent
    )  # fmt: skip


LOOPS: Final[dict[str, Callable[[Mask, Function, Any], Any]]] = {
    "while": lambda m, u, x: _while(lambda z, k: _bounded(m, u)(z), x),
    "while, of a constant": lambda m, u, x: _while(lambda z, k: z * 1.1 + m(u, x) * (k + 1), x),
    "while, of another carry": lambda m, u, x: _carried(lambda a, z: m(u, z) + a * np.sin(z), x),
    "while, masked after": lambda m, u, x: m(lambda x: _carried(lambda a, z: u(z) + a * x, x), x),
    "while, masked constant": lambda m, u, x: m(
        lambda x: _while(lambda z, k: u(x) * np.cos(z) + z, x), x
    ),
    "while of a number": lambda m, u, x: _while(
        lambda z, k: z * np.cos(z) + np.sum(m(u, x) * z) / 100, x[1]
    ),
    "fori": lambda m, u, x: F.fori_loop(0, 3, lambda k, z: z * 1.1 + m(u, x) * (k + 1), x),
    "fori of the carry": lambda m, u, x: F.fori_loop(0, 3, lambda k, z: _bounded(m, u)(z), x),
    "scan": lambda m, u, x: F.scan(lambda c, w: (c * w, m(u, c) * c), x, np.array([1.0, 0.9, 0.8]))[
        1
    ],
    "scan of rows": lambda m, u, x: F.scan(
        lambda c, r: (c + np.sum(m(u, r) * c), m(u, r) * c), x[1], np.stack([x, x, x])
    )[1],
    "scan, masked after": lambda m, u, x: m(
        lambda x: F.scan(lambda z, k: (u(x) * np.cos(z) + z * k, None), x, WEIGHTS[:3])[0], x
    ),
    "while in scan": lambda m, u, x: F.scan(
        lambda c, w: (_while(lambda z, k: _bounded(m, u)(z) * 1.0, c, 2), c * w), x, WEIGHTS[:2]
    )[0],
    "scan in while": lambda m, u, x: _while(
        lambda z, k: F.scan(lambda c, w: (_bounded(m, u)(c), c * w), z, WEIGHTS[:2])[0], x, 2
    ),
    "while in while": lambda m, u, x: _while(
        lambda z, k: _while(lambda y, j: _bounded(m, u)(y), z, 2), x, 2
    ),
    "cond in while": lambda m, u, x: _while(
        lambda z, k: F.cond(k > 0, _bounded(m, u), lambda z: z * 1.0, z), x
    ),
    "checkpoint in while": lambda m, u, x: _while(lambda z, k: fd.checkpoint(_bounded(m, u))(z), x),
    "while in checkpoint": lambda m, u, x: fd.checkpoint(
        lambda x: _while(lambda z, k: _bounded(m, u)(z), x)
    )(x),
    "vmap of while": lambda m, u, x: F.vmap(
        lambda r, n: _while(lambda z, k: _bounded(m, u)(z), r, n)
    )(np.stack([x, x]), np.array([2, 3])),
}

OTHERS: Final[dict[str, Callable[[Mask, Function, Any], Any]]] = {
    "cond": lambda m, u, x: F.cond(x[1] > 0.1, lambda z: m(u, z), np.sin, x),
    "cond, masked after": lambda m, u, x: m(lambda z: F.cond(z[1] > 0.1, u, np.sin, z), x),
    "switch": lambda m, u, x: F.switch(
        (x[1] > 0.1).astype(int), [np.sin, lambda z: m(u, z), np.cos], x
    ),
    "checkpoint": lambda m, u, x: fd.checkpoint(lambda z: m(u, z))(x),
    "checkpoint, masked after": lambda m, u, x: m(fd.checkpoint(u), x),
    "map": lambda m, u, x: F.map(lambda r: m(u, r), np.stack([x, x])),
    "map, masked after": lambda m, u, x: m(lambda z: F.map(u, np.stack([x, z]))[1], x),
    "associative_scan": lambda m, u, x: F.associative_scan(
        lambda a, b: a * np.cos(b) + b, np.stack([m(u, x), m(u, x) * 2, m(u, x)])
    ),
    "fixed_point": lambda m, u, x: F.fixed_point(lambda z, x: 0.2 * np.sin(z) + m(u, x), 0 * x, x),
    "custom_root": _root,
    "custom_vjp": lambda m, u, x: _pulled(lambda z: m(u, z))(x),
    "custom_vjp, masked after": lambda m, u, x: m(_pulled(u), x),
    "custom_jvp": lambda m, u, x: _pushed(lambda z: m(u, z))(x),
    "custom_jvp, masked after": lambda m, u, x: m(_pushed(u), x),
}

CONSTRUCTS: Final = LOOPS | OTHERS
SOME: Final = ["rf", "rfr"]
"""Loops whose cotangents are zero at first, or never arrive: what the others contain, too."""


def _check(construct: str, mask: str, modes: str) -> None:
    run, m = CONSTRUCTS[construct], MASKS[mask]

    def make(u: Function) -> Function:
        return weighted(lambda u, x: run(m, u, x), u)

    require_agreement(make, np.sqrt, np.array(ROOTS), modes)


@pytest.mark.thinned(38)
@pytest.mark.parametrize("modes", SOME)
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_mask_in_a_construct_makes_true_zeros(construct: str, modes: str) -> None:
    _check(construct, "where", modes)


@pytest.mark.slow
@pytest.mark.sampled(20)
@pytest.mark.parametrize("modes", compositions(3))
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_masks_in_every_construct_make_true_zeros_to_third_order(
    construct: str, mask: str, modes: str
) -> None:
    _check(construct, mask, modes)
