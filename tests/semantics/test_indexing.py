"""Shapes, indices, broadcasting and keywords: the derivative lands where the value came from."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.together import together

Derivative = Callable[[Callable[..., Any], Any], Any]

X = np.random.default_rng(5).normal(size=(3, 4, 5))


def _indexed(index: Any, x: Any) -> Any:
    """Return the gradient of a weighted sum of ``x[index]``, by NumPy's own assignment."""
    weights = np.arange(1.0, x[index].size + 1).reshape(x[index].shape)
    expected = np.zeros(x.shape)
    np.add.at(expected, index, weights)
    return weights, expected


INDICES: list[Any] = [
    0,
    -1,
    (1, 2, 3),
    slice(None, None, -1),
    slice(2, 0, -2),
    (slice(None), slice(1, 3)),
    (..., 2),
    (None, 1),
    (slice(None), None, 0),
    (1, ..., slice(None, None, 2)),
    [0, 0, 2],
    ([0, 0, 2], [1, 1, 3]),
    (slice(None), [3, 0, 0]),
    ([0, 2], slice(None), [1, 1]),
    ([[0], [2]], [1, 1], slice(1, 4)),
    (0, slice(None), [1, 1, 4]),
    (None, [1, 1], ..., [0, 0]),
    X > 0,
    (X[:, :, 0] > 0, 2),
    np.array([True, False, True]),
    (slice(None), np.array([True, False, True, True]), 0),
    [],
    slice(2, 2),
    (),
]


@pytest.mark.parametrize("k", range(len(INDICES)))
def test_the_cotangent_goes_where_the_element_came_from(k: int, gradient: Derivative) -> None:
    index = INDICES[k]
    weights, expected = _indexed(index, X)
    result = gradient(lambda x: np.sum(x[index] * weights), X)
    np.testing.assert_array_equal(result, expected)


@together
@pytest.mark.parametrize("k", range(len(INDICES)))
def test_the_value_is_laid_out_as_numpys(k: int) -> None:
    index = INDICES[k]
    f: Any = lambda x: x[index]
    y, _ = fd.vjp(f, X)
    np.testing.assert_array_equal(y, X[index])


def test_repeated_indices_accumulate(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(x[[1, 1, 1, 0]]), np.zeros(3))
    np.testing.assert_array_equal(result, [1, 3, 0])


def test_a_mask_computed_from_x_is_a_constant(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(x[x > 1] ** 2), np.array([1.0, 2, 3]))
    np.testing.assert_array_equal(result, [0, 4, 6])


def test_an_index_computed_from_x_is_a_constant(gradient: Derivative) -> None:
    x = np.array([4.0, 9, 1])
    np.testing.assert_array_equal(gradient(lambda x: x[np.argmax(x)] ** 2, x), [0, 18, 0])
    np.testing.assert_array_equal(gradient(lambda x: x[np.argsort(x)][0], x), [0, 0, 1])


@pytest.mark.parametrize("index", [3, -4, (0, 7), ([0, 3],), (0, [0, -8])])
def test_out_of_bounds_is_an_index_error(index: Any) -> None:
    with pytest.raises(IndexError):
        fd.grad(lambda x: np.sum(x[index]))(X)


def test_out_of_bounds_is_an_index_error_inside_vmap_too() -> None:
    with pytest.raises(IndexError):
        fd.vmap(lambda row: row[9])(np.ones((2, 4)))
    with pytest.raises(IndexError):
        fd.vmap(lambda row: row[[0, 9]])(np.ones((2, 4)))


def test_too_many_indices_are_an_index_error() -> None:
    with pytest.raises(IndexError):
        fd.grad(lambda x: x[0, 0, 0, 0])(X)


# ---- broadcasting ----------------------------------------------------------------------------


def test_an_axis_of_length_one_is_summed_over(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(x * np.arange(12.0).reshape(3, 4)), np.ones((3, 1)))
    np.testing.assert_array_equal(result, [[6], [22], [38]])


def test_leading_axes_are_summed_over(gradient: Derivative) -> None:
    result = gradient(lambda x: np.sum(np.arange(12.0).reshape(3, 4) * x), np.ones(4))
    np.testing.assert_array_equal(result, [12, 15, 18, 21])


def test_a_scalar_is_summed_over_everything(gradient: Derivative) -> None:
    assert gradient(lambda x: np.sum(x + np.zeros((2, 0, 3))), 1.0) == 0
    assert gradient(lambda x: np.sum(x * np.ones((2, 3))), 1.0) == 6


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_empty_arrays_have_empty_gradients(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    assert fd.grad(lambda x: np.sum(np.sin(x) * x))(x).shape == shape
    assert fd.jacobian(lambda x: 2 * x)(x).shape == (*shape, *shape)


def test_a_0d_array_is_an_array_without_axes(gradient: Derivative) -> None:
    assert gradient(lambda x: np.sum(x) * x[()] + x.reshape(1)[0], np.array(3.0)) == 7


# ---- keywords are honoured or refused --------------------------------------------------------


MASK = np.array([True, False, True, True])
V = np.array([1.0, 2.0, 4.0, 3.0])


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda x: np.sum(x, where=MASK), [1, 0, 1, 1]),
        (lambda x: np.sum(x, initial=5.0), [1, 1, 1, 1]),
        (lambda x: np.prod(x, where=MASK), [12, 0, 3, 4]),
        (lambda x: np.prod(x, initial=2.0, where=MASK), [24, 0, 6, 8]),
        (lambda x: np.mean(x, where=MASK), [1 / 3, 0, 1 / 3, 1 / 3]),
        (lambda x: np.max(x, where=MASK, initial=0), [0, 0, 1, 0]),
        (lambda x: np.max(x, initial=9.0), [0, 0, 0, 0]),
        (lambda x: np.min(x, where=~MASK, initial=9.0), [0, 1, 0, 0]),
        (lambda x: np.sum(x, keepdims=True)[0], [1, 1, 1, 1]),
        (lambda x: np.sum(x.reshape(2, 2), axis=(0, 1)), [1, 1, 1, 1]),
        (lambda x: np.sum(x.reshape((2, 2), order="F")[1]), [0, 1, 0, 1]),
        (lambda x: np.ravel(x.reshape(2, 2), order="F")[1], [0, 0, 1, 0]),
        (lambda x: np.var(x, ddof=1, keepdims=True)[0] * 3, [-3, -1, 3, 1]),
    ],
)
def test_a_keyword_is_honoured(f: Any, expected: list[float], gradient: Derivative) -> None:
    np.testing.assert_allclose(gradient(f, V), expected, rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(fd.value_and_grad(f)(V)[0], f(V))


@pytest.mark.parametrize("f", [np.sum, np.mean, np.std, np.prod, np.cumsum])
def test_dtype_is_honoured(f: Any) -> None:
    y, f_vjp = fd.vjp(lambda x: f(x, dtype=np.float64), V.astype(np.float32))
    assert y.dtype == np.float64
    assert f_vjp(np.ones_like(y))[0].dtype == np.float32


@pytest.mark.parametrize("f", [
    lambda x: np.sum(x, out=np.zeros(())),
    lambda x: np.sin(x, out=np.zeros(4)),
    lambda x: np.add(x, 1, where=MASK),
    lambda x: np.sort(x, order="name"),
])  # fmt: skip
def test_a_keyword_that_cannot_be_honoured_is_refused(f: Any) -> None:
    with pytest.raises(UnsupportedNumPyError):
        fd.grad(lambda x: np.sum(f(x)))(V)


@pytest.mark.parametrize(
    "mode", ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp"]
)
def test_every_mode_of_pad_is_honoured(mode: Any, gradient: Derivative) -> None:
    weights = np.arange(1.0, 10)

    def f(x: Any) -> Any:
        return np.sum(np.pad(x, (2, 3), mode=mode) * weights)

    units = np.eye(4)
    np.testing.assert_allclose(gradient(f, V), [f(V + e) - f(V) for e in units], rtol=1e-12)
