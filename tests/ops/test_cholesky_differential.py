"""The differential of the Cholesky factorisation by blocks is the formula, at every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.recording.builder import bind
from funcdiff.ops.linalg import factorizations as blocks
from funcdiff.ops.linalg.factorizations import LARGE, Way, cholesky_differential_p
from funcdiff.testing import check_rules


def by_formula(factor: Any, t: Any) -> Any:
    """Return L·Φ(L⁻¹·T·L⁻ᵀ) for the symmetric T of the lower triangle."""
    inverse = np.linalg.inv(factor)
    t = np.tril(t) + np.swapaxes(np.tril(t, -1), -1, -2)
    inner = inverse @ t @ np.swapaxes(inverse, -1, -2)
    return factor @ (np.tril(inner) - 0.5 * inner * np.eye(t.shape[-1]))


def positive(n: int, *stack: int, seed: int = 0) -> Any:
    """Return symmetric positive definite matrices."""
    x = np.random.default_rng(seed).normal(size=(*stack, n, n))
    return x @ np.swapaxes(x, -1, -2) / n + np.eye(n)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
def test_blocks_of_any_number_are_the_formula_and_its_adjoint(
    size: int, dtype: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 3)
    random = np.random.default_rng(size)
    factor: Any = np.linalg.cholesky(positive(size, 2)).astype(dtype)
    t, ct = random.normal(size=(2, 2, size, size)).astype(dtype)
    unread: Any = np.triu(np.full((size, size), np.nan, dtype), 1)
    push, pull = (cholesky_differential_p.impl(Way(adjoint)) for adjoint in (False, True))
    x, w = push(factor + np.triu(t, 1), t + unread), pull(factor, ct + unread)
    tolerance = 100 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(x, by_formula(factor, t), atol=tolerance * np.abs(x).max())
    np.testing.assert_allclose(np.sum(w * t), np.sum(x * ct), rtol=10 * tolerance)
    assert x.dtype == w.dtype == dtype
    assert not np.triu(x, 1).any()
    assert not np.triu(w, 1).any()


@pytest.mark.slow
@pytest.mark.parametrize("adjoint", [False, True])
def test_panels_have_the_rules_of_one_block(adjoint: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_BLOCK", 2)
    factor = np.linalg.cholesky(positive(5))
    t = np.random.default_rng(1).normal(size=(5, 5))
    check_rules(lambda a, t: bind(cholesky_differential_p, Way(adjoint), a, t)[0], factor, t)


@pytest.mark.parametrize("upper", [False, True])
def test_large_factors_have_derivatives_of_every_order(upper: bool) -> None:
    def f(a: Any) -> Any:
        L = np.linalg.cholesky(a, upper=upper)
        return np.sum(np.log(np.diagonal(L))) + np.sum(np.sin(L))

    a, v = positive(LARGE), positive(LARGE, seed=1) / 10
    gradient, h = fd.grad(f), 1e-5
    slope = (f(a + h * v) - f(a - h * v)) / (2 * h)
    bend = (gradient(a + h * v) - gradient(a - h * v)) / (2 * h)
    compiled = fd.jit(lambda a: (gradient(a), fd.hvp(f, (a,), (v,))))
    for _ in range(9):
        found, moved = compiled(a)
        np.testing.assert_allclose(np.sum(found * v), slope, rtol=1e-7)
        np.testing.assert_allclose(moved, bend, atol=1e-7 * np.abs(bend).max())
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(gradient(a), found, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fd.jvp(f, (a,), (v,))[1], slope, rtol=1e-7)
    np.testing.assert_allclose(fd.jvp(gradient, (a,), (v,))[1], moved, rtol=1e-10, atol=1e-10)
    stack = np.stack([a, a + v])
    np.testing.assert_allclose(
        fd.vmap(gradient)(stack), [gradient(a), gradient(a + v)], rtol=1e-10, atol=1e-12
    )
    several = fd.vmap(lambda v: fd.hvp(f, (a,), (v,)))(np.stack([v, 2 * v]))
    np.testing.assert_allclose(several, [moved, 2 * moved], rtol=1e-10, atol=1e-10)


def test_the_gradient_of_a_large_factor_is_one_differential() -> None:
    a = positive(LARGE)
    program = str(fd.trace(fd.grad(lambda a: np.sum(np.linalg.cholesky(a) ** 2)))(a))
    assert program.count("cholesky_differential{") == 1
    assert "triangular_inv" not in program
    assert "contract" not in program
