"""`vmap`: axes in and out, sizes, and what is the same as a loop."""

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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


def test_keywords_are_mapped_along_their_first_axis() -> None:
    result = fd.vmap(lambda x, *, y: np.dot(x, y), in_axes=1)(X.T, y=2 * X)
    np.testing.assert_allclose(result, _looped(np.dot, X, 2 * X), rtol=1e-14)


def test_keywords_that_are_no_arrays_are_shared() -> None:
    def f(x: Any, *, kind: str, twice: bool, nothing: None = None) -> Any:
        return (np.sin(x) if kind == "sin" else x) * (2 if twice else 1)

    result = fd.vmap(f)(X, kind="sin", twice=True)
    np.testing.assert_array_equal(result, 2 * np.sin(X))


def test_keywords_alone_give_the_number_of_examples() -> None:
    np.testing.assert_array_equal(fd.vmap(lambda *, p: p["x"] + 1)(p={"x": X}), X + 1)


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


@dataclass(frozen=True)
class Layer:
    """A container with a static field."""

    w: Any
    b: Any
    name: str = field(default="layer", metadata={"static": True})


class Pair(NamedTuple):
    """A container of two."""

    left: Any
    right: Any


def test_axes_may_be_put_in_dataclasses_and_named_tuples() -> None:
    def f(layer: Layer, pair: Pair) -> Any:
        return layer.w @ pair.left + layer.b + pair.right

    axes = (Layer(None, -1), Pair(1, None))
    b, right = RANDOM.normal(size=(5, 4)), np.ones(5)
    result = fd.vmap(f, in_axes=axes)(Layer(W.T, b), Pair(X.T, right))
    np.testing.assert_allclose(result, X @ W + b.T + 1, rtol=1e-14)


def test_axes_of_a_prefix_hold_for_all_leaves_below() -> None:
    tree = {"a": [X, {"c": 2 * X}], "b": (X.T, X.T)}
    axes = ({"b": 1, "a": 0},)
    result = fd.vmap(lambda t: np.sum(t["a"][0] + t["a"][1]["c"]) + t["b"][0], axes)(tree)
    np.testing.assert_allclose(result, 3 * X.sum(1)[:, None] + X, rtol=1e-14)


def test_negative_axes_count_from_the_end_of_each_leaf() -> None:
    deep = RANDOM.normal(size=(2, 3, 4))
    result = fd.vmap(lambda p: p[0] @ p[1], in_axes=(-1,), out_axes=-1)((deep, X.T))
    np.testing.assert_allclose(result, np.einsum("ijk,jk->ik", deep, X.T), rtol=1e-14)


def test_vmap_is_a_decorator() -> None:
    @functools.partial(fd.vmap, in_axes=(0, None))
    def product(x: Any, w: Any) -> Any:
        return x @ w

    np.testing.assert_allclose(product(X, W), X @ W, rtol=1e-14)


def test_the_derivative_of_a_batch_over_keywords_is_that_of_the_loop() -> None:
    def f(x: Any, *, y: Any) -> Any:
        return np.sum(np.sin(x) * y)

    g = fd.grad(lambda x: np.sum(fd.vmap(f)(x, y=2 * X) ** 2))(X)
    expected = fd.grad(lambda x: sum(f(a, y=b) ** 2 for a, b in zip(x, 2 * X, strict=True)))(X)
    np.testing.assert_allclose(g, expected, rtol=1e-13)


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


def test_a_branch_on_a_batched_value_is_an_error_with_the_cure() -> None:
    with pytest.raises(ConcreteValueError, match=r"np\.where.*fd\.cond"):
        fd.vmap(lambda x: x if x[0] > 0 else -x)(X)


def test_a_branch_on_a_shared_value_is_plain_python() -> None:
    result = fd.vmap(lambda x, flag: x if flag else -x, in_axes=(0, None))(X, False)
    np.testing.assert_array_equal(result, -X)


def test_axes_that_do_not_fit_are_told_by_their_path() -> None:
    tree = {"a": [X, X], "b": X}
    bad: list[tuple[Any, str]] = [
        (({"a": 0},), r"in_axes\[0\] has the keys.*args\[0\] has.*one entry per key"),
        (({"a": (0, 0, 0), "b": 0},), r"in_axes\[0\]\['a'\].*3 entries for 2 values of args"),
        (({"a": 0, "b": (0, 0)},), r"in_axes\[0\]\['b'\] \(0, 0\) does not fit args.*ndarray"),
        (({"a": [0, "x"], "b": 0},), r"in_axes\[0\]\['a'\]\[1\] 'x' does not fit"),
        ((True,), r"in_axes\[0\] True does not fit"),
        (({"a": [0, 3], "b": 0},), r"args\[0\]\['a'\]\[1\] of shape \(4, 3\) has no axis 3"),
    ]
    for axes, message in bad:
        with pytest.raises(InputError, match=message):
            fd.vmap(lambda t: t["b"], in_axes=axes)(tree)


def test_ragged_sizes_are_listed_with_their_paths() -> None:
    with pytest.raises(InputError, match=r"args\[0\]\['a'\]: 4, kwargs\['y'\]: 3.*in_axes"):
        fd.vmap(lambda p, y: p["a"] * y)({"a": X}, y=X[:3])
    with pytest.raises(InputError, match=r"args\[0\]: 4, axis_size: 5"):
        fd.vmap(np.sum, axis_size=5)(X)


def test_keywords_without_a_first_axis_are_an_error_with_the_cure() -> None:
    with pytest.raises(InputError, match=r"kwargs\['w'\].*no axis 0.*partial"):
        fd.vmap(lambda x, *, w: x * w)(X, w=2.0)


def test_out_axes_that_do_not_fit_are_errors() -> None:
    with pytest.raises(InputError, match=r"result\['y'\] has 2 axes.*axis 2"):
        fd.vmap(lambda x: {"y": x}, out_axes=2)(X)
    with pytest.raises(InputError, match=r"out_axes=\(0, 1\) has 2 entries for 1 values of result"):
        fd.vmap(lambda x: (x,), out_axes=(0, 1))(X)


def test_axis_size_is_a_number_of_examples() -> None:
    with pytest.raises(InputError, match="axis_size=-1"):
        fd.vmap(lambda: 1.0, axis_size=-1)()


def test_an_error_within_an_example_says_which_shapes_the_example_has() -> None:
    with pytest.raises(np.exceptions.AxisError) as caught:
        fd.vmap(lambda w, x: np.sum(w * x, axis=1), in_axes=(None, 0))(2.0, np.ones((3, 4)))
    note = "funcdiff: vmap calls the function for one example, with args[1]: f64[4]"
    assert caught.value.__notes__[-1] == note
