"""Sums that cancel are not computed: of maxima and means that are subtracted, say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.passes.simplify import simplify_linear
from tests.passes.rewrites import Rewrite, rewrites
from tests.together import together

TARGETS = np.eye(5)[[0, 3, 1]]


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def logsumexp(x: Any, axis: Any = -1) -> Any:
    m = np.max(x, axis=axis, keepdims=True)
    return np.log(np.sum(np.exp(x - m), axis=axis)) + np.squeeze(m, axis=axis)


def log_softmax(x: Any) -> Any:
    x = x - np.max(x, axis=1, keepdims=True)
    return x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))


SHIFTED: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: np.sum(softmax(x) ** 2),
    "softmax over the first axis": lambda x: np.sum(np.sin(softmax(x, 0))),
    "attention": lambda x: np.sum(np.sin(softmax(x @ x.T) @ x)),
    "logsumexp": lambda x: np.sum(np.sin(logsumexp(x))),
    "logsumexp over the first axis": lambda x: np.sum(logsumexp(x, 0) ** 2),
    "logsumexp of all": lambda x: logsumexp(x, (0, 1)) ** 2,
    "cross entropy": lambda x: -np.mean(np.sum(TARGETS * log_softmax(x), axis=1)),
    "minimum": lambda x: np.sum(np.log(np.sum(np.exp(x - np.min(x)), 1)) + np.min(x)),
}


@pytest.mark.parametrize("name", ["logsumexp", "cross entropy"])
def test_nor_does_it_in_the_derivative_of_a_gradient(name: str) -> None:
    losses = {"logsumexp": lambda x: np.sum(logsumexp(x)), "cross entropy": SHIFTED[name]}
    x = np.random.default_rng(0).normal(size=(3, 5))
    gradient, v = fd.grad(losses[name]), np.cos(np.arange(15.0)).reshape(3, 5)
    product = fd.grad(lambda x: np.sum(gradient(x) * v))
    assert "equal" not in {eq.primitive.name for eq in fd.trace(product)(x).equations}
    for point in (x, np.round(x)):
        expected = fd.hvp(losses[name], (point,), (v,))
        np.testing.assert_allclose(product(point), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", SHIFTED)
def test_nothing_comes_back_to_a_maximum_that_cancels(name: str) -> None:
    f, x = SHIFTED[name], np.random.default_rng(0).normal(size=(3, 5))
    program = fd.trace(fd.grad(f))(x)
    assert "equal" not in {eq.primitive.name for eq in program.equations}
    with_ties = np.round(x)
    for point in (x, with_ties, x.astype(np.float32)):
        found = (fd.grad(f)(point), fd.jit(fd.grad(f))(point))
        tolerance = 1e-5 if point.dtype == np.float32 else 1e-12
        expected = fd.jacobian(f, mode="forward", chunk_size=1)(point)
        for g in found:
            np.testing.assert_allclose(g, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SHIFTED)
def test_second_derivatives_are_those_of_the_whole_sum(name: str) -> None:
    f, x = SHIFTED[name], np.random.default_rng(1).normal(size=(3, 5))
    expected = fd.jacobian(fd.jacobian(f, mode="forward"), mode="forward")(x)
    np.testing.assert_allclose(fd.hessian(f)(x), expected, rtol=1e-9, atol=1e-11)


def test_a_maximum_that_matters_keeps_its_derivative() -> None:
    def f(x: Any) -> Any:
        m = np.max(x, axis=1, keepdims=True)
        return np.sum(np.exp(x - m) / np.sum(np.exp(x), axis=1, keepdims=True))

    x = np.random.default_rng(0).normal(size=(3, 5))
    expected = fd.jacobian(f, mode="forward", chunk_size=1)(x)
    np.testing.assert_allclose(fd.grad(f)(x), expected, rtol=1e-12, atol=1e-15)


def test_nan_and_infinity_are_seen_still() -> None:
    for bad in (np.nan, np.inf):
        x = np.array([[1.0, bad, 2.0], [0.5, 0.25, 1.0]])
        with np.errstate(all="ignore"):
            g = fd.grad(lambda x: np.sum(logsumexp(x)))(x)
        assert np.isnan(g[0]).all()
        np.testing.assert_allclose(g[1], softmax(x[1]))


CASES = rewrites("""
a number(%0: f64[3,5])
  %1: f64[3] = reduce_sum{axes=(1,)} %0
  %2: f64[3] = reciprocal %1
  %3: f64[3,5] = broadcast{shape=(3, 5), axes=(0,)} %2
  %4: f64[3,5] = mul %3, %0
  %5: f64[3] = reduce_sum{axes=(1,)} %4
  return %5
=>
  return 1.0:f64[3]

a difference(%0: f64[3,5], %1: f64[3])
  %2: f64[3] = reduce_sum{axes=(1,)} %0
  %3: f64[3] = div %1, %2
  %4: f64[3,5] = broadcast{shape=(3, 5), axes=(0,)} %3
  %5: f64[3,5] = mul %4, %0
  %6: f64[3] = reduce_sum{axes=(1,)} %5
  %7: f64[3] = sub %1, %6
  return %7
=>
  return 0.0:f64[3]

what is left of a mean(%0: f64[3,5])
  %1: f64[5] = reduce_sum{axes=(0,)} %0
  %2: f64[5] = mul %1, 0.3333333333333333:f64[5]
  %3: f64[3,5] = broadcast{shape=(3, 5), axes=(1,)} %2
  %4: f64[3,5] = sub %0, %3
  %5: f64[5] = reduce_sum{axes=(0,)} %4
  return %5
=>
  return 0.0:f64[5]

along another axis(%0: f64[5,5])
  %1: f64[5] = reduce_sum{axes=(1,)} %0
  %2: f64[5] = reciprocal %1
  %3: f64[5,5] = broadcast{shape=(5, 5), axes=(1,)} %2
  %4: f64[5,5] = mul %3, %0
  %5: f64[5] = reduce_sum{axes=(1,)} %4
  return %5

of another array(%0: f64[3,5], %1: f64[3,5])
  %2: f64[3] = reduce_sum{axes=(1,)} %0
  %3: f64[3] = reciprocal %2
  %4: f64[3,5] = broadcast{shape=(3, 5), axes=(0,)} %3
  %5: f64[3,5] = mul %4, %1
  %6: f64[3] = reduce_sum{axes=(1,)} %5
  return %6

a permuted array(%0: f64[2,3,4])
  %1: f64[3,4] = reduce_sum{axes=(0,)} %0
  %2: f64[3,4,2] = permute{axes=(1, 2, 0)} %0
  %3: f64[3,4] = reduce_sum{axes=(2,)} %2
  %4: f64[3,4] = sub %1, %3
  return %4
=>
  return 0.0:f64[3,4]

products with the axes exchanged(%0: f64[3,3], %1: f64[3,3])
  %2: f64[3,3] = mul %0, %1
  %3: f64[] = reduce_sum{axes=(0, 1)} %2
  %4: f64[3,3] = permute{axes=(1, 0)} %1
  %5: f64[3,3] = mul %0, %4
  %6: f64[] = reduce_sum{axes=(0, 1)} %5
  %7: f64[] = sub %3, %6
  return %7

a square(%0: f64[3,5])
  %1: f64[3] = reduce_sum{axes=(1,)} %0
  %2: f64[3] = reciprocal %1
  %3: f64[3,5] = broadcast{shape=(3, 5), axes=(0,)} %2
  %4: f64[3,5] = mul %0, %0
  %5: f64[3,5] = mul %3, %4
  %6: f64[3] = reduce_sum{axes=(1,)} %5
  return %6
""")


@together
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_sum_is_what_is_left_of_it(case: Rewrite) -> None:
    found = simplify_linear(case.program, (True,) * len(case.program.inputs))
    if case.after == case.before:
        assert [eq.primitive.name for eq in found.equations].count("reduce_sum") == 2
    else:
        assert str(found) == case.expected
