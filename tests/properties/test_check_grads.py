"""Right derivatives are not reported, whatever the function's size, scale, slope and precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.testing import check_grads
from tests.properties.laws import examples

Function = Callable[[Any, Any], Any]

FUNCTIONS: dict[str, Function] = {
    "np.tanh(3 * (x @ w) + 0.3)": lambda x, w: np.tanh(3 * (x @ w) + 0.3),
    "np.tanh(x @ w / np.sqrt(len(w)))": lambda x, w: np.tanh(x @ w / float(len(w)) ** 0.5),
    "np.exp(x)": lambda x, w: np.exp(x),
    "np.sum(np.exp(3 * x) * w)": lambda x, w: np.sum(np.exp(3 * x) * w),
    "np.log(np.sum(np.exp(x)))": lambda x, w: np.log(np.sum(np.exp(x))),
    "np.sum(np.sin(20 * x) * w)": lambda x, w: np.sum(np.sin(20 * x) * w),
    "np.mean((x - w) ** 2)": lambda x, w: np.mean((x - w) ** 2),
    "np.linalg.norm(x - 2 * w)": lambda x, w: np.linalg.norm(x - 2 * w),
    "np.cumsum(x * w)[::-1]": lambda x, w: np.cumsum(x * w)[::-1],
    "np.sum(x) + 1000": lambda x, w: np.sum(x) + 1000.0,
    "x * np.abs(x) ** 2 + w": lambda x, w: x * np.abs(x) ** 2 + w,
    "np.sum(np.sqrt(1 + (100 * x) ** 2))": lambda x, w: np.sum(np.sqrt(1 + (100 * x) ** 2)),
}
REAL_ONLY = {"np.sum(np.sqrt(1 + (100 * x) ** 2))", "np.log(np.sum(np.exp(x)))"}


class Case(NamedTuple):
    """A function by name, and how its point is made."""

    name: str
    dtype: str
    size: int
    seed: int
    scale: float
    factor: float

    def check(self, order: int) -> None:
        random = np.random.default_rng(self.seed)
        x, w = random.standard_normal((2, self.size))
        if self.dtype == "c16":
            x = (x + 1j * random.standard_normal(self.size)) / 2
        w = w.astype("f4" if self.dtype == "f4" else "f8")
        function = FUNCTIONS[self.name]
        point = (x * self.scale).astype(self.dtype)
        check_grads(lambda x: function(x / self.scale, w) * self.factor, (point,), order=order)


@st.composite
def cases(draw: st.DrawFn, counts: list[int]) -> Case:
    dtype = draw(st.sampled_from(["f8", "f4", "c16"]))
    names = sorted(FUNCTIONS.keys() - (REAL_ONLY if dtype == "c16" else set()))
    count = draw(st.sampled_from(counts))
    scale, factor = (draw(st.sampled_from([1.0, 1e-8, 1e8])) for _ in range(2))
    seed = draw(st.integers(0, 1 << 20))
    return Case(draw(st.sampled_from(names)), dtype, count, seed, scale, factor)


@pytest.mark.slow
@examples(12, 160)
@given(cases([1, 2, 3, 10, 1000]))
def test_right_derivatives_are_not_reported(case: Case) -> None:
    case.check(2)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(cases([100_000]))
def test_right_derivatives_of_many_numbers_are_not_reported(case: Case) -> None:
    case.check(1)


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 1 << 20), st.integers(2, 5), st.sampled_from(["f8", "c16"]))
def test_functions_of_symmetric_matrices_are_not_reported(seed: int, n: int, dtype: str) -> None:
    random = np.random.default_rng(seed)
    a = random.standard_normal((n, n)).astype(dtype)
    if dtype == "c16":
        a = a + 1j * random.standard_normal((n, n))
    a = a @ np.conj(a.T) / n + np.diag(np.arange(1.0, n + 1))
    a = (a + np.conj(a.T)) / 2
    check_grads(lambda a: np.linalg.eigvalsh(a), (a,))
    check_grads(lambda a: np.linalg.eigh(a, UPLO="U")[0], (a,), order=1)
    check_grads(lambda a: np.sum(np.abs(np.linalg.cholesky(a)) ** 2 * 0.3), (a,), order=1)
    check_grads(lambda p: fd.hessian(lambda t: np.sum(np.linalg.eigvalsh(p + t * p)))(0.5), (a,),
                order=1)  # fmt: skip
