"""Shapes, indices, broadcasting and keywords: the derivative lands where the value came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.claims import alike, claims, refused
from tests.semantics.modes import gradient, slopes

X = np.random.default_rng(5).normal(size=(3, 4, 5))
MASK = np.array([True, False, True, True])
V = np.array([1.0, 2.0, 4.0, 3.0])
GRID = np.arange(12.0).reshape(3, 4)

INDICES: list[Any] = [
    0, -1, (1, 2, 3), slice(None, None, -1), slice(2, 0, -2), (slice(None), slice(1, 3)), (..., 2),
    (None, 1), (slice(None), None, 0), (1, ..., slice(None, None, 2)), [0, 0, 2],
    ([0, 0, 2], [1, 1, 3]), (slice(None), [3, 0, 0]), ([0, 2], slice(None), [1, 1]),
    ([[0], [2]], [1, 1], slice(1, 4)), (0, slice(None), [1, 1, 4]), (None, [1, 1], ..., [0, 0]),
    X > 0, (X[:, :, 0] > 0, 2), np.array([True, False, True]),
    (slice(None), np.array([True, False, True, True]), 0), [], slice(2, 2), (),
]  # fmt: skip


@claims
def indexed(index: Any) -> None:
    """Require the value, and the gradient of a weighted sum by NumPy's own assignment."""
    weights = np.arange(1.0, X[index].size + 1).reshape(X[index].shape)
    expected = np.zeros(X.shape)
    np.add.at(expected, index, weights)
    result = gradient(lambda x: np.sum(x[index] * weights), X)
    np.testing.assert_array_equal(result, expected)
    f: Any = lambda x: x[index]
    np.testing.assert_array_equal(fd.vjp(f, X)[0], X[index])


test_the_cotangent_goes_where_the_element_came_from = indexed({
    repr(index): (index,) for index in INDICES
})  # fmt: skip

test_what_is_computed_of_x_picks_elements = slopes({
    "repeated indices accumulate": (lambda x: np.sum(x[[1, 1, 1, 0]]), np.zeros(3), [1, 3, 0]),
    "a mask computed from x is a constant": (
        lambda x: np.sum(x[x > 1] ** 2), [1.0, 2, 3], [0, 4, 6]
    ),
    "an index computed from x is a constant": [
        (lambda x: x[np.argmax(x)] ** 2, [4.0, 9, 1], [0, 18, 0]),
        (lambda x: x[np.argsort(x)][0], [4.0, 9, 1], [0, 0, 1]),
    ],
    "an axis of length one is summed over": (
        lambda x: np.sum(x * GRID), np.ones((3, 1)), [[6], [22], [38]]
    ),
    "leading axes are summed over": (lambda x: np.sum(GRID * x), np.ones(4), [12, 15, 18, 21]),
    "a scalar is summed over everything": [
        (lambda x: np.sum(x + np.zeros((2, 0, 3))), 1.0, 0),
        (lambda x: np.sum(x * np.ones((2, 3))), 1.0, 6),
    ],
    "a 0-d array is an array without axes": (
        lambda x: np.sum(x) * x[()] + x.reshape(1)[0], np.array(3.0), 7
    ),
    "empty arrays have empty gradients": [
        (lambda x: np.sum(np.sin(x) * x), np.zeros(shape), np.zeros(shape))
        for shape in ((0,), (2, 0), (0, 3))
    ],
})  # fmt: skip

test_empty_arrays_have_empty_jacobians = alike({
    str(shape): (
        lambda shape=shape: fd.jacobian(lambda x: 2 * x)(np.zeros(shape)), np.zeros(shape * 2)
    )
    for shape in ((0,), (2, 0), (0, 3))
})  # fmt: skip

KEYWORDS: dict[str, tuple[Any, list[float]]] = {
    "sum(where=)": (lambda x: np.sum(x, where=MASK), [1, 0, 1, 1]),
    "sum(initial=)": (lambda x: np.sum(x, initial=5.0), [1, 1, 1, 1]),
    "prod(where=)": (lambda x: np.prod(x, where=MASK), [12, 0, 3, 4]),
    "prod(where=, initial=)": (lambda x: np.prod(x, initial=2.0, where=MASK), [24, 0, 6, 8]),
    "mean(where=)": (lambda x: np.mean(x, where=MASK), [1 / 3, 0, 1 / 3, 1 / 3]),
    "max(where=)": (lambda x: np.max(x, where=MASK, initial=0), [0, 0, 1, 0]),
    "max below initial=": (lambda x: np.max(x, initial=9.0), [0, 0, 0, 0]),
    "max above initial=": (lambda x: np.max(x, initial=2.0), [0, 0, 1, 0]),
    "min(where=)": (lambda x: np.min(x, where=~MASK, initial=9.0), [0, 1, 0, 0]),
    "min above initial=": (lambda x: np.min(x, initial=-2.0), [0, 0, 0, 0]),
    "keepdims=": (lambda x: np.sum(x, keepdims=True)[0], [1, 1, 1, 1]),
    "several axes": (lambda x: np.sum(x.reshape(2, 2), axis=(0, 1)), [1, 1, 1, 1]),
    "reshape(order=)": (lambda x: np.sum(x.reshape((2, 2), order="F")[1]), [0, 1, 0, 1]),
    "ravel(order=)": (lambda x: np.ravel(x.reshape(2, 2), order="F")[1], [0, 0, 1, 0]),
    "var(ddof=)": (lambda x: np.var(x, ddof=1, keepdims=True)[0] * 3, [-3, -1, 3, 1]),
}

test_a_keyword_is_honoured = slopes(
    {name: (f, V, expected) for name, (f, expected) in KEYWORDS.items()}, rtol=1e-14, atol=1e-15
)
test_a_keyword_leaves_numpys_value = alike({
    name: (lambda f=f: fd.value_and_grad(f)(V)[0], lambda f=f: f(V))
    for name, (f, _) in KEYWORDS.items()
})  # fmt: skip


@pytest.mark.parametrize("f", [np.sum, np.mean, np.std, np.prod, np.cumsum])
def test_dtype_is_honoured(f: Any) -> None:
    y, f_vjp = fd.vjp(lambda x: f(x, dtype=np.float64), V.astype(np.float32))
    assert y.dtype == np.float64
    assert f_vjp(np.ones_like(y))[0].dtype == np.float32


test_what_is_out_of_bounds_is_an_index_error = refused({
    "in a derivative": [
        (IndexError, None, lambda k=k: fd.grad(lambda x: np.sum(x[k]))(X))
        for k in (3, -4, (0, 7), ([0, 3],), (0, [0, -8]), (0, 0, 0, 0))
    ],
    "in a batch": [
        (IndexError, None, lambda k=k: fd.vmap(lambda row: row[k])(np.ones((2, 4))))
        for k in (9, [0, 9])
    ],
})  # fmt: skip

test_a_keyword_that_cannot_be_honoured_is_refused = refused({
    name: (UnsupportedNumPyError, None, lambda f=f: fd.grad(lambda x: np.sum(f(x)))(V))
    for name, f in {
        "sum(out=)": lambda x: np.sum(x, out=np.zeros(())),
        "sin(out=)": lambda x: np.sin(x, out=np.zeros(4)),
        "add(where=)": lambda x: np.add(x, 1, where=MASK),
        "sort(order=)": lambda x: np.sort(x, order="name"),
    }.items()
})  # fmt: skip


@pytest.mark.parametrize(
    "mode", ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp"]
)
def test_every_mode_of_pad_is_honoured(mode: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.pad(x, (2, 3), mode=mode) * np.arange(1.0, 10))

    expected = [f(V + e) - f(V) for e in np.eye(4)]
    np.testing.assert_allclose(gradient(f, V), expected, rtol=1e-12)
