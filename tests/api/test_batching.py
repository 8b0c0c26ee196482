"""`vmap`: axes in and out, sizes, and what is the same as a loop."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, InputError
from tests.claims import alike, refused
from tests.together import together

FD: Any = fd
RANDOM = np.random.default_rng(2)
X = RANDOM.normal(size=(4, 3))
W = RANDOM.normal(size=(3, 5))
B, RIGHT = RANDOM.normal(size=(5, 4)), np.ones(5)
DEEP = RANDOM.normal(size=(2, 3, 4))
STACK = RANDOM.normal(size=(2, 3, 4, 5))


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


def _looped(f: Any, *columns: Any) -> Any:
    return np.stack([f(*row) for row in zip(*columns, strict=True)])


def _loss(w: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ w))


def _weighted(x: Any, *, y: Any) -> Any:
    return np.sum(np.sin(x) * y)


def _shared(x: Any, *, kind: str, twice: bool, nothing: None = None) -> Any:
    return (np.sin(x) if kind == "sin" else x) * (2 if twice else 1)


def _of_containers(layer: Layer, pair: Pair) -> Any:
    return layer.w @ pair.left + layer.b + pair.right


@functools.partial(fd.vmap, in_axes=(0, None))
def _decorated(x: Any, w: Any) -> Any:
    return x @ w


test_vmap_is_a_loop = alike({
    "of a function": [
        (lambda f=f: fd.vmap(f)(X), lambda f=f: _looped(f, X))
        for f in (
            np.sum,
            lambda x: x * 2,
            lambda x: np.outer(x, x),
            lambda x: x[::-1][1:],
            lambda x: x @ W,
            lambda x: np.where(x > 0, x, 0),
            np.sort,
            lambda x: x[[2, 0, 0]],
            lambda x: np.max(x) - np.mean(x),
            lambda x: np.linalg.solve(np.eye(3) * 4 + np.outer(x, x), x),
            np.cumsum,
            lambda x: np.concatenate([x, x[:1]]),
        )
    ],
    "gradients of each example": (
        lambda: fd.vmap(fd.grad(_loss), in_axes=(None, 0))(W, X),
        lambda: _looped(lambda x: fd.grad(_loss)(W, x), X),
    ),
    "the gradient of a batch is the sum over examples": (
        lambda: fd.grad(lambda w: np.sum(fd.vmap(lambda x: _loss(w, x))(X)))(W),
        lambda: fd.grad(lambda w: _loss(w, X))(W),
    ),
    "the gradient of a batch over keywords": (
        lambda: fd.grad(lambda x: np.sum(fd.vmap(_weighted)(x, y=2 * X) ** 2))(X),
        lambda: fd.grad(
            lambda x: sum(_weighted(a, y=b) ** 2 for a, b in zip(x, 2 * X, strict=True))
        )(X),
    ),
}, rtol=1e-13, atol=1e-15)  # fmt: skip

test_axes_and_arguments_are_mapped_as_asked = alike({
    "every argument is mapped by default": (
        lambda: fd.vmap(np.dot)(X, 2 * X), _looped(np.dot, X, 2 * X)
    ),
    "none shares an argument": (
        lambda: fd.vmap(lambda x, w: x @ w, in_axes=(0, None))(X, W), X @ W
    ),
    "any axis may count the examples": [
        (lambda axis=axis: fd.vmap(np.sum, in_axes=axis)(X), X.sum(axis=0)) for axis in (1, -1)
    ],
    "the axis is put where asked": [
        (lambda axis=axis: fd.vmap(lambda x: np.outer(x, x), out_axes=axis)(X),
         np.stack([np.outer(row, row) for row in X], axis=axis))
        for axis in (0, 1, 2, -1)
    ],
    "out_axes none takes a result that does not vary": (
        lambda: fd.vmap(lambda x: (x * 2, W), out_axes=(0, None))(X), (2 * X, W)
    ),
    "axes may follow the containers": (
        lambda: fd.vmap(
            lambda p, y: {"sum": p["x"] + p["b"], "y": y},
            in_axes=({"x": 0, "b": None}, 1), out_axes={"sum": 0, "y": 1},
        )({"x": X, "b": np.ones(3)}, X.T),
        {"sum": X + 1, "y": X.T},
    ),
    "axes may be put in dataclasses and named tuples": (
        lambda: fd.vmap(_of_containers, in_axes=(Layer(None, -1), Pair(1, None)))(
            Layer(W.T, B), Pair(X.T, RIGHT)
        ),
        X @ W + B.T + 1,
    ),
    "axes of a prefix hold for all leaves below": (
        lambda: fd.vmap(
            lambda t: np.sum(t["a"][0] + t["a"][1]["c"]) + t["b"][0], ({"b": 1, "a": 0},)
        )({"a": [X, {"c": 2 * X}], "b": (X.T, X.T)}),
        3 * X.sum(1)[:, None] + X,
    ),
    "negative axes count from the end of each leaf": (
        lambda: fd.vmap(lambda p: p[0] @ p[1], in_axes=(-1,), out_axes=-1)((DEEP, X.T)),
        np.einsum("ijk,jk->ik", DEEP, X.T),
    ),
    "a result that does not vary is repeated": (
        lambda: fd.vmap(lambda x: 7.0)(X), np.full(4, 7.0)
    ),
    "axis_size serves where no argument has the axis": (
        lambda: fd.vmap(lambda x: x * 2, in_axes=None, axis_size=3)(1.5), np.full(3, 3.0)
    ),
    "keywords are mapped along their first axis": (
        lambda: fd.vmap(lambda x, *, y: np.dot(x, y), in_axes=1)(X.T, y=2 * X),
        _looped(np.dot, X, 2 * X),
    ),
    "keywords that are no arrays are shared": (
        lambda: fd.vmap(_shared)(X, kind="sin", twice=True), 2 * np.sin(X)
    ),
    "keywords alone give the number of examples": (
        lambda: fd.vmap(lambda *, p: p["x"] + 1)(p={"x": X}), X + 1
    ),
    "integers and booleans can be mapped": [
        (lambda: fd.vmap(lambda k: k * 2)(np.arange(4)), np.arange(4) * 2),
        (lambda: fd.vmap(lambda b: ~b)(np.array([True, False])), np.array([False, True])),
    ],
    "vmap inside vmap is two loops": (
        lambda: fd.vmap(lambda x: fd.vmap(lambda y: np.dot(x, y))(X))(X), X @ X.T
    ),
    "captured arrays are shared": (lambda: fd.vmap(lambda x: W.T @ x)(X), X @ W),
    "an empty batch gives empty results": (
        lambda: fd.vmap(lambda x: x * 2)(np.zeros((0, 3))), np.zeros((0, 3))
    ),
    "vmap is a decorator": (lambda: _decorated(X, W), X @ W),
    "a branch on a shared value is plain python": (
        lambda: fd.vmap(lambda x, flag: x if flag else -x, in_axes=(0, None))(X, False), -X
    ),
}, rtol=1e-14)  # fmt: skip


@together
@pytest.mark.parametrize("out_axes", range(-4, 4))
@pytest.mark.parametrize("in_axes", range(-4, 4))
def test_examples_are_taken_from_any_axis_and_put_on_any(in_axes: int, out_axes: int) -> None:
    def f(x: Any) -> Any:
        return np.cumsum(x, axis=0)

    expected = np.stack([f(x) for x in np.moveaxis(STACK, in_axes, 0)], axis=out_axes)
    batched = fd.vmap(f, in_axes, out_axes)
    np.testing.assert_array_equal(batched(STACK), expected)
    np.testing.assert_array_equal(fd.jit(lambda x: batched(x))(STACK), expected)


def test_each_argument_and_each_result_has_an_axis_of_its_own() -> None:
    def f(x: Any, p: Any) -> Any:
        return {"sum": x + p["shift"], "kept": p["scale"] * x.T}

    shift = np.arange(12.0).reshape(4, 3)
    p = {"shift": shift, "scale": np.arange(1.0, 4.0)}
    x = STACK[0].transpose(2, 1, 0)
    found = fd.vmap(f, (2, {"scale": 0, "shift": 1}), {"kept": -1, "sum": 1})(x, p)
    rows = [f(x[..., k], {"shift": shift[:, k], "scale": k + 1.0}) for k in range(3)]
    np.testing.assert_array_equal(found["sum"], np.stack([r["sum"] for r in rows], 1))
    np.testing.assert_array_equal(found["kept"], np.stack([r["kept"] for r in rows], -1))


BAD_AXES: list[tuple[Any, str]] = [
    (({"a": 0},), r"in_axes\[0\] has the keys.*args\[0\] has.*one entry per key"),
    (({"a": (0, 0, 0), "b": 0},), r"in_axes\[0\]\['a'\].*3 entries for 2 values of args"),
    (({"a": 0, "b": (0, 0)},), r"in_axes\[0\]\['b'\] \(0, 0\) does not fit args.*ndarray"),
    (({"a": [0, "x"], "b": 0},), r"in_axes\[0\]\['a'\]\[1\] 'x' does not fit"),
    ((True,), r"in_axes\[0\] True does not fit"),
    (({"a": [0, 3], "b": 0},), r"args\[0\]\['a'\]\[1\] of shape \(4, 3\) has no axis 3"),
]

test_what_does_not_fit_is_refused = refused({
    "sizes that disagree are listed": [
        (InputError, r"disagree.*4.*3", lambda: fd.vmap(np.dot)(X, X[:3])),
        (InputError, r"args\[0\]\['a'\]: 4, kwargs\['y'\]: 3.*in_axes",
         lambda: fd.vmap(lambda p, y: p["a"] * y)({"a": X}, y=X[:3])),
        (InputError, r"args\[0\]: 4, axis_size: 5", lambda: fd.vmap(np.sum, axis_size=5)(X)),
    ],
    "an axis that is not there": [
        (InputError, "no axis 2", lambda: fd.vmap(np.sum, in_axes=2)(X)),
        (InputError, "no axis 0", lambda: fd.vmap(lambda x, y: x * y)(X, 2.0)),
        (InputError, r"kwargs\['w'\].*no axis 0.*partial",
         lambda: fd.vmap(lambda x, *, w: x * w)(X, w=2.0)),
    ],
    "too few axes": (
        InputError, "1 entries for 2 values", lambda: fd.vmap(np.dot, in_axes=(0,))(X, X)
    ),
    "nothing to map over": (
        InputError, "axis_size", lambda: fd.vmap(lambda x: x, in_axes=None)(X)
    ),
    "a branch on a batched value, with the cure": (
        ConcreteValueError, r"np\.where.*fd\.cond",
        lambda: fd.vmap(lambda x: x if x[0] > 0 else -x)(X),
    ),
    "axes that do not fit are told by their path": [
        (InputError, words,
         lambda axes=axes: fd.vmap(lambda t: t["b"], in_axes=axes)({"a": [X, X], "b": X}))
        for axes, words in BAD_AXES
    ],
    "out_axes that do not fit": [
        (InputError, r"result\['y'\] has 2 axes.*axis 2",
         lambda: fd.vmap(lambda x: {"y": x}, out_axes=2)(X)),
        (InputError, r"out_axes=\(0, 1\) has 2 entries for 1 values of result",
         lambda: fd.vmap(lambda x: (x,), out_axes=(0, 1))(X)),
        (InputError, r"result\['y'\].*differs from example to example",
         lambda: fd.vmap(lambda x: {"y": x * 2}, out_axes=None)(X)),
    ],
    "axis_size is a number of examples": (
        InputError, "axis_size=-1", lambda: fd.vmap(lambda: 1.0, axis_size=-1)()
    ),
})  # fmt: skip


def test_an_error_within_an_example_says_which_shapes_the_example_has() -> None:
    with pytest.raises(np.exceptions.AxisError) as caught:
        fd.vmap(lambda w, x: np.sum(w * x, axis=1), in_axes=(None, 0))(2.0, np.ones((3, 4)))
    note = "funcdiff: vmap calls the function for one example, with args[1]: f64[4]"
    assert caught.value.__notes__[-1] == note
