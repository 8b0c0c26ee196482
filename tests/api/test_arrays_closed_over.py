"""Arrays that a jitted function closes over keep the values that they had when it was traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "a product": lambda x, c: x * c,
    "the array itself": lambda x, c: (x, c),
    "a view of it": lambda x, c: x + c[::-1],
    "a sum of it": lambda x, c: np.sum(c) * x,
    "a derivative": lambda x, c: fd.grad(lambda x: np.sum(np.sin(x) * c))(x),
}


@pytest.mark.parametrize("n", [2, 40, 150_000])
@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_a_later_change_of_an_array_closed_over_is_not_seen(
    f: Callable[[Any, Any], Any], n: int
) -> None:
    c = np.arange(1.0, n + 1)
    x = np.linspace(0.0, 1.0, n)
    jitted = fd.jit(lambda x: f(x, c))
    expected = fd.pytree.map(np.copy, jitted(x))
    c[:] = -5.0
    for again in (x, x, x, x.reshape(-1)):
        fd.pytree.map(np.testing.assert_array_equal, jitted(again), expected)
    jitted.clear_cache()
    fd.pytree.map(np.testing.assert_allclose, jitted(x), f(x, c))
