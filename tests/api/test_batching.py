"""`vmap`: axes in and out, sizes, and what is the same as a loop."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, InputError

RANDOM = np.random.default_rng(2)
X = RANDOM.normal(size=(4, 3))
W = RANDOM.normal(size=(3, 5))


def _looped(f: Any, *columns: Any) -> Any:
    return np.stack([f(*row) for row in zip(*columns, strict=True)])


@pytest.mark.parametrize("f", [
    np.sum,
    lambda x: x * 2,
    lambda x: np.outer(x, x),
    lambda x: x[::-1][1:],
    lambda x: x @ W,
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.sort(x),
    lambda x: x[[2, 0, 0]],
    lambda x: np.max(x) - np.mean(x),
    lambda x: np.linalg.solve(np.eye(3) * 4 + np.outer(x, x), x),
    lambda x: np.cumsum(x),
    lambda x: np.concatenate([x, x[:1]]),
])  # fmt: skip
def test_vmap_is_a_loop(f: Any) -> None:
    np.testing.assert_allclose(fd.vmap(f)(X), _looped(f, X), rtol=1e-13, atol=1e-15)


def test_every_argument_is_mapped_by_default() -> None:
    np.testing.assert_allclose(fd.vmap(np.dot)(X, 2 * X), _looped(np.dot, X, 2 * X), rtol=1e-14)


def test_none_shares_an_argument() -> None:
    result = fd.vmap(lambda x, w: x @ w, in_axes=(0, None))(X, W)
    np.testing.assert_allclose(result, X @ W, rtol=1e-14)


@pytest.mark.parametrize("axis", [1, -1])
def test_any_axis_may_count_the_examples(axis: int) -> None:
    result = fd.vmap(np.sum, in_axes=axis)(X)
    np.testing.assert_allclose(result, X.sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("out_axes", [0, 1, 2, -1])
def test_the_axis_is_put_where_asked(out_axes: int) -> None:
    result = fd.vmap(lambda x: np.outer(x, x), out_axes=out_axes)(X)
    expected = np.stack([np.outer(x, x) for x in X], axis=out_axes)
    np.testing.assert_array_equal(result, expected)


def test_out_axes_none_takes_a_result_that_does_not_vary() -> None:
    result = fd.vmap(lambda x: (x * 2, W), out_axes=(0, None))(X)
    np.testing.assert_array_equal(result[0], 2 * X)
    np.testing.assert_array_equal(result[1], W)


def test_axes_may_follow_the_containers() -> None:
    def f(p: Any, y: Any) -> Any:
        return {"sum": p["x"] + p["b"], "y": y}

    result = fd.vmap(f, in_axes=({"x": 0, "b": None}, 1), out_axes={"sum": 0, "y": 1})(
        {"x": X, "b": np.ones(3)}, X.T
    )
    np.testing.assert_array_equal(result["sum"], X + 1)
    np.testing.assert_array_equal(result["y"], X.T)


def test_a_result_that_does_not_vary_is_repeated() -> None:
    np.testing.assert_array_equal(fd.vmap(lambda x: 7.0)(X), np.full(4, 7.0))


def test_axis_size_serves_where_no_argument_has_the_axis() -> None:
    result = fd.vmap(lambda x: x * 2, in_axes=None, axis_size=3)(1.5)
    np.testing.assert_array_equal(result, np.full(3, 3.0))


def test_keywords_are_shared() -> None:
    result = fd.vmap(lambda x, *, w: x @ w)(X, w=W)
    np.testing.assert_allclose(result, X @ W, rtol=1e-14)


def test_integers_and_booleans_can_be_mapped() -> None:
    np.testing.assert_array_equal(fd.vmap(lambda k: k * 2)(np.arange(4)), [0, 2, 4, 6])
    np.testing.assert_array_equal(fd.vmap(lambda b: ~b)(np.array([True, False])), [False, True])


def test_gradients_of_each_example() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w))

    result = fd.vmap(fd.grad(loss), in_axes=(None, 0))(W, X)
    np.testing.assert_allclose(result, _looped(lambda x: fd.grad(loss)(W, x), X), rtol=1e-13)


def test_the_gradient_of_a_batch_is_the_sum_over_examples() -> None:
    def loss(w: Any) -> Any:
        return np.sum(fd.vmap(lambda x: np.sum(np.tanh(x @ w)))(X))

    np.testing.assert_allclose(
        fd.grad(loss)(W), fd.grad(lambda w: np.sum(np.tanh(X @ w)))(W), rtol=1e-13
    )


def test_vmap_inside_vmap_is_two_loops() -> None:
    result = fd.vmap(lambda x: fd.vmap(lambda y: np.dot(x, y))(X))(X)
    np.testing.assert_allclose(result, X @ X.T, rtol=1e-14)


def test_captured_arrays_are_shared() -> None:
    np.testing.assert_allclose(fd.vmap(lambda x: W.T @ x)(X), X @ W, rtol=1e-14)


def test_an_empty_batch_gives_empty_results() -> None:
    assert fd.vmap(lambda x: x * 2)(np.zeros((0, 3))).shape == (0, 3)


def test_out_axes_none_refuses_a_result_that_varies() -> None:
    with pytest.raises(InputError, match=r"result\['y'\].*differs from example to example"):
        fd.vmap(lambda x: {"y": x * 2}, out_axes=None)(X)


# ---- what does not fit -----------------------------------------------------------------------


def test_sizes_that_disagree_are_listed() -> None:
    with pytest.raises(InputError, match=r"disagree.*4.*3"):
        fd.vmap(np.dot)(X, X[:3])


def test_an_axis_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="no axis 2"):
        fd.vmap(np.sum, in_axes=2)(X)
    with pytest.raises(InputError, match="no axis 0"):
        fd.vmap(lambda x, y: x * y)(X, 2.0)


def test_too_few_axes_are_an_error() -> None:
    with pytest.raises(InputError, match="1 entries for 2 values"):
        fd.vmap(np.dot, in_axes=(0,))(X, X)


def test_nothing_to_map_over_is_an_error() -> None:
    with pytest.raises(InputError, match="axis_size"):
        fd.vmap(lambda x: x, in_axes=None)(X)


def test_a_string_cannot_be_mapped() -> None:
    with pytest.raises(InputError, match="in_axes"):
        fd.vmap(lambda x, s: x)(X, "text")


def test_a_branch_on_a_batched_value_is_an_error_with_the_cure() -> None:
    with pytest.raises(ConcreteValueError, match=r"np\.where.*fd\.cond"):
        fd.vmap(lambda x: x if x[0] > 0 else -x)(X)


def test_a_branch_on_a_shared_value_is_plain_python() -> None:
    result = fd.vmap(lambda x, flag: x if flag else -x, in_axes=(0, None))(X, False)
    np.testing.assert_array_equal(result, -X)
