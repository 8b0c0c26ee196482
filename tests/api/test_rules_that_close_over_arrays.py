"""A function with rules, and each of its rules, may close over arrays of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

A, B, C = np.random.default_rng(0).normal(size=(3, 4))
X, T = np.random.default_rng(1).normal(size=(2, 4))


def forward_rule(a: Any, b: Any, c: Any) -> Any:
    @fd.custom_jvp
    def f(x: Any) -> Any:
        return a * x

    f.defjvp(lambda primals, tangents: (a * primals[0], tangents[0] * b * c))
    return f


def backward_rules(a: Any, b: Any, c: Any) -> Any:
    @fd.custom_vjp
    def f(x: Any) -> Any:
        return a * x

    f.defvjp(lambda x: (a * x, b + 0 * x), lambda kept, ct: (ct * c * kept,))
    return f


@pytest.mark.parametrize("make", [forward_rule, backward_rules])
@pytest.mark.parametrize("traced", [False, True])
def test_each_rule_reads_the_arrays_that_it_closes_over(make: Any, traced: bool) -> None:
    def of_arrays(x: Any, a: Any, b: Any, c: Any) -> Any:
        f = make(a, b, c)
        y, pull = fd.vjp(f, x)
        return y, pull(T)[0]

    def closed(x: Any) -> Any:
        return of_arrays(x, A, B, C)

    found = fd.jit(of_arrays)(X, A, B, C) if traced else closed(X)
    np.testing.assert_allclose(found[0], A * X, rtol=1e-14)
    np.testing.assert_allclose(found[1], B * C * T, rtol=1e-14)
    for row in zip(*fd.vmap(closed)(np.stack([X, X])), strict=True):
        np.testing.assert_allclose(row, found, rtol=1e-14)
