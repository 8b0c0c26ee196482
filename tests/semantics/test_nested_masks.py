"""Masks within and around branches, loops and rules of the user's, and in products.

The untaken side contributes a true zero there as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from tests.semantics.masked import (
    DERIVATIVES,
    KEPT,
    ROOTS,
    ROW,
    UNSAFE,
    WEIGHTS,
    Function,
    kept,
    require_true_zeros,
    weighted,
)


def _loop(body: Callable[[Any, Any], Any], x: Any) -> Any:
    """Return what three iterations of ``x = body(x, k)`` make."""
    return fd.while_loop(lambda s: s[1] < 3, lambda s: (body(*s), s[1] + 1), (x, 0))[0]


NESTED: Final[dict[str, Callable[[Function, Any], Any]]] = {
    "cond that masks": lambda u, x: fd.cond(
        x[1] > 0.1, lambda z: np.where(KEPT, z, 0) * x, np.sin, u(x)
    ),
    "scan that masks its rows": lambda u, x: fd.scan(
        lambda c, row: (c + row[0], np.where(row[1], row[0], 0)), 0.0, (u(x), KEPT)
    )[1],
    "scan, columns": lambda u, x: fd.scan(lambda c, w: (c * w, u(c) * w), x, WEIGHTS)[1][:2, KEPT],
    "scan that masks an iteration later": lambda u, x: fd.scan(
        lambda c, w: ((u(c[0]), np.where(KEPT, c[1], 0) + c[0] * w), None), (x, x), WEIGHTS[:2]
    )[0][1][KEPT],
    "scan in cond": lambda u, x: fd.cond(
        x[1] > 0.1,
        lambda z: fd.scan(lambda c, w: (c + kept(u, z) * w, c), z, WEIGHTS)[0],
        np.sin,
        x,
    ),
    "cond in scan": lambda u, x: fd.scan(
        lambda c, w: fd.cond(
            w > 2.5, lambda c: (c + kept(u, c), c * w), lambda c: (c * w, kept(u, c)), c
        ),
        x,
        WEIGHTS,
    )[1],
    "while in cond": lambda u, x: np.where(
        KEPT, fd.cond(x[1] > 0.1, lambda z: _loop(lambda y, k: u(y) + k * x, z), np.sin, x), 0
    ),
}


@pytest.mark.thinned(95)
@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("name", ["sqrt", "1 / x"])
def test_a_mask_within_or_around_a_branch_or_a_loop_makes_true_zeros(
    nested: str, name: str
) -> None:
    u, x = UNSAFE[name]
    require_true_zeros(NESTED[nested], u, np.array(x))


# ---- rules of the user's -------------------------------------------------------------------------


def _pulled(f: Function) -> Function:
    """Return a square root of which the user says how to pull cotangents back."""
    root = fd.custom_vjp(lambda x: f(x))
    root.defvjp(lambda x: (np.sqrt(x), x), lambda x, ct: (ct / (2 * np.sqrt(x)),))
    return root


def _pushed(f: Function) -> Function:
    root = fd.custom_jvp(lambda x: f(x))
    root.defjvp(lambda xs, ts: (np.sqrt(xs[0]), ts[0] * (0.5 / np.sqrt(xs[0]))))
    return root


COMPOSED: Final[dict[str, Callable[[Function, Any], Any]]] = {
    "masked": kept,
    "of what is masked": lambda u, x: u(np.where(KEPT, x, 0)) * WEIGHTS,
    "masked in another root": lambda u, x: np.sqrt(np.where(KEPT, u(x), 0)),
    "in cond": lambda u, x: np.where(KEPT, fd.cond(x[1] > 0.1, u, np.sin, x), 0),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("composed", COMPOSED)
@pytest.mark.parametrize("rule", [_pulled, _pushed])
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_infinite_slopes_of_rules_of_the_users_are_those_of_the_function(
    composed: str, rule: Callable[[Function], Function], derivative: str
) -> None:
    x = np.array(ROOTS)
    f = COMPOSED[composed]
    d = DERIVATIVES[derivative]
    with np.errstate(all="ignore"):
        expected = d(weighted(f, np.sqrt))(x)
        found = d(weighted(f, rule(np.sqrt)))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


# ---- numbers that are not finite, in products ----------------------------------------------------

ROWS: Final = np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, 4.0], [3.0, 1.0]])
TAKEN: Final = np.array([True, False, False, True])
PAIRS: Final = np.outer(KEPT, KEPT)
VALUES: Final = np.array([np.nan, 1.0, np.inf, 2.0])


PRODUCTS: Final[dict[str, tuple[Function, Any, Function]]] = {
    "outer": (
        lambda u: np.where(PAIRS, np.outer(u, u), 0),
        VALUES,
        lambda u: np.where(PAIRS, np.outer(_safe(u), _safe(u)), 0),
    ),
    "rows of a product": (
        lambda w: np.where(TAKEN[:, None], ROWS @ np.stack([w, w * w], 1), 0),
        np.array([1.0, 2.0]),
        lambda w: np.where(TAKEN[:, None], np.nan_to_num(ROWS) @ np.stack([w, w * w], 1), 0),
    ),
    "entries of a product": (
        lambda w: (ROWS @ w)[TAKEN] ** 2,
        np.array([1.0, 2.0]),
        lambda w: (ROWS[TAKEN] @ w) ** 2,
    ),
    "einsum": (
        lambda u: np.where(KEPT, np.einsum("i,ij,i->i", u, np.vander(WEIGHTS), u), 0),
        VALUES,
        lambda u: np.where(KEPT, np.einsum("i,ij,i->i", _safe(u), np.vander(WEIGHTS), _safe(u)), 0),
    ),
    "gram matrix": (
        lambda u: np.where(PAIRS, (u[:, None] * ROW) @ (u[:, None] * ROW).T, 0),
        VALUES,
        lambda u: np.where(PAIRS, (_safe(u)[:, None] * ROW) @ (_safe(u)[:, None] * ROW).T, 0),
    ),
    "determinants": (
        lambda u: np.where(KEPT, np.linalg.det(_matrices(u)), 0),
        VALUES,
        lambda u: np.where(KEPT, np.linalg.det(_matrices(_safe(u))), 0),
    ),
}


def _safe(u: Any) -> Any:
    return np.where(KEPT, u, 1.0)


def _matrices(u: Any) -> Any:
    """Return one matrix for each number, which is in all its elements."""
    return u[:, None, None] ** np.arange(4.0).reshape(2, 2) + u[:, None, None] * np.eye(2)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_what_is_not_finite_in_a_product_leaves_no_trace_where_it_is_masked(
    product: str, derivative: str
) -> None:
    f, x, never_unsafe = PRODUCTS[product]
    d = DERIVATIVES[derivative]
    with np.errstate(all="ignore"):
        expected, found = (d(weighted(lambda g, z: g(z), g))(x) for g in (never_unsafe, f))
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale)


def test_a_mask_in_one_branch_alone_makes_true_zeros_of_what_the_branches_take() -> None:
    kept = np.array([False, True, True])

    def total(x: Any, k: Any) -> Any:
        branches = (lambda y: np.where(kept, y, 0), lambda y: y * 2)
        return np.sum(fd.cond(k > 0, *branches, np.sqrt(x)))

    x, slopes = np.array([0.0, 4.0, 1.0]), {1.0: [0, 0.25, 0.5], -1.0: [np.inf, 0.5, 1]}
    for k, expected in slopes.items():
        for derive in (fd.grad(total), fd.jit(fd.grad(total))):
            np.testing.assert_array_equal(derive(x, k), expected)
    batch = fd.vmap(fd.grad(total), in_axes=(None, 0))(x, np.array([*slopes]))
    np.testing.assert_array_equal(batch, [*slopes.values()])
