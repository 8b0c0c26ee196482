"""`depends_on` and `is_linear`: what a program tells of its function."""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError

X = np.array([0.3, 1.2, -2.0])
A = np.arange(9.0).reshape(3, 3)

# ---- dependence ------------------------------------------------------------------------------


def test_the_answer_is_a_container_like_the_result() -> None:
    def f(x: Any, y: Any) -> Any:
        return {"sum": x + y, "pair": (x, [y]), "text": "text", "constant": 3}

    by_x = {"sum": True, "pair": (True, [False]), "text": False, "constant": False}
    by_y = {"sum": True, "pair": (False, [True]), "text": False, "constant": False}
    assert fd.depends_on(f)(X, 2.0) == by_x
    assert fd.depends_on(f, 1)(X, 2.0) == by_y
    assert fd.depends_on(f, (0, 1))(X, 2.0) == (by_x, by_y)
    assert fd.depends_on(f, argnames="y")(X, y=2.0) == by_y


@pytest.mark.parametrize(
    ("f", "value", "derivative"),
    [
        (lambda x: x - x, True, True),
        (lambda x: np.zeros(3) + 1.0, False, False),
        (lambda x: x.shape[0], False, False),
        (lambda x: np.zeros_like(x), False, False),
        (fd.stop_gradient, True, False),
        (np.floor, True, False),
        (np.argmax, True, False),
        (lambda x: x > 0, True, False),
        (lambda x: np.where(x > 0, 1.0, 2.0), True, False),
        (lambda x: x * fd.stop_gradient(x), True, True),
        (lambda x: fd.checkpoint(lambda x, y: (y, x))(x, 1.0)[0], False, False),
    ],
)
def test_values_and_derivatives_are_told_apart(
    f: Callable[..., Any], value: bool, derivative: bool
) -> None:
    assert fd.depends_on(f)(X) is value
    assert fd.depends_on(f, derivative=True)(X) is derivative


def test_integers_have_values_but_no_derivatives() -> None:
    assert fd.depends_on(lambda n: n * 2.0)(3) is True
    assert fd.depends_on(lambda n: n * 2.0, derivative=True)(3) is False
    assert fd.depends_on(lambda p: p["n"] * p["x"], derivative=True)({"n": 3, "x": 1.0}) is True


def test_dependence_is_followed_into_branches_and_loops() -> None:
    def loop(x: Any, y: Any) -> Any:
        return fd.scan(lambda c, r: ((c[0] + r, 2 * c[1], c[0]), c[2]), (0.0, y, 1.0), x)

    assert fd.depends_on(loop)(X, 1.0) == ((True, False, True), True)
    assert fd.depends_on(loop, 1)(X, 1.0) == ((False, True, False), False)

    def branch(x: Any, y: Any, p: Any) -> Any:
        return fd.cond(p > 0, lambda x, y: (x, y), lambda x, y: (2.0, y), x, y)

    assert fd.depends_on(branch, (0, 1, 2))(1.0, 1.0, 1.0) == (
        (True, False),
        (False, True),
        (True, True),
    )


def test_an_argument_in_a_custom_function_counts_where_its_body_uses_it() -> None:
    @fd.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return np.sin(x), y

    f.defjvp(lambda primals, tangents: (f(*primals), tangents))
    assert fd.depends_on(f)(1.0, 2.0) == (True, False)
    assert fd.depends_on(f, 1, derivative=True)(1.0, 2.0) == (False, True)


# ---- linearity -------------------------------------------------------------------------------


def _matrix(x: Any) -> Any:
    return A @ x


def _rounded(x: Any) -> Any:
    return x + np.floor(x)


def _squared_with_the_rule_of_another() -> Any:
    f = fd.custom_jvp(lambda x: x * x)
    f.defjvp(lambda primals, tangents: (f(*primals), 3 * tangents[0]))
    return f


LINEAR: dict[str, Callable[..., Any]] = {
    "identity": lambda x: x,
    "cumsum": np.cumsum,
    "difference": lambda x: x[1:] - x[:-1],
    "matrix": _matrix,
    "mean": np.mean,
    "quotient": lambda x: x / A[1],
    "fft": np.fft.fft,
    "real part": lambda x: np.real(1j * x),
    "pad": lambda x: np.pad(x, 2),
    "repeated index": lambda x: x[[0, 0, 2]],
    "fixed mask": lambda x: np.where(A[0] > 1, x, 0),
    "convolution": lambda x: np.convolve(x, [1.0, 2.0]),
    "broadcast": lambda x: -x.reshape(3, 1) @ np.ones((1, 2)),
    "reversed sums": lambda x: np.cumsum(x)[::-1] / 3.0,
    "containers": lambda x: {"a": [x], "b": -x, "zero": np.zeros(2)},
    "scan": lambda x: fd.scan(lambda c, r: (c * 0.5 + r, c), 0.0, x),
    "fixed branch": lambda x: fd.cond(A[0, 0] > 1, lambda x: x, lambda x: 2 * x, x),
    "checkpoint": fd.checkpoint(_matrix),
    "jvp in the direction": lambda t: fd.jvp(np.sin, (A[0],), (t,))[1],
    "vjp in the cotangent": lambda v: fd.vjp(np.sin, A[0])[1](v)[0],
}
OTHERS: dict[str, Callable[..., Any]] = {
    "sin": np.sin,
    "affine": lambda x: x + 1.0,
    "constant": lambda x: np.ones(2),
    "product": lambda x: x * x,
    "abs": np.abs,
    "sort": np.sort,
    "relu": lambda x: np.maximum(x, 0),
    "infinite": lambda x: x * np.inf,
    "rounded part": _rounded,
    "stopped part": lambda x: x + fd.stop_gradient(x),
    "position": np.argmax,
    "sign": np.sign,
    "round": np.round,
    "comparison": lambda x: (x > 0) * 1.0,
    "integers": lambda x: x.astype(int) * 1.0,
    "less a constant": lambda x: A @ x - X,
    "joined with a constant": lambda x: np.concatenate([x, [1.0]]),
    "share": lambda x: x / np.sum(x),
    "stopped": fd.stop_gradient,
    "sign in a checkpoint": fd.checkpoint(np.sign),
    "a rule of another": _squared_with_the_rule_of_another(),
    "a rule of another in a scan": lambda x: fd.scan(
        lambda c, r: (c, _squared_with_the_rule_of_another()(r)), 0.0, x
    )[1],
    "rounded in a scan": lambda x: fd.scan(lambda c, r: (c + r, c + np.floor(c)), 0.0, x)[1],
    "rounded in a checkpoint": fd.checkpoint(_rounded),
    "chosen branch": lambda x: fd.cond(x[0] > 1, lambda x: x, lambda x: 2 * x, x),
}


@pytest.mark.parametrize("f", LINEAR.values(), ids=LINEAR)
def test_a_linear_function_is_known_for_one(f: Callable[..., Any]) -> None:
    assert fd.is_linear(f)(X) is True
    y = f(X)
    v = fd.pytree.map(np.cos, y)
    (ct,) = fd.linear_transpose(f, 0 * X)(v)
    pairs = zip(fd.pytree.flatten(v)[0], fd.pytree.flatten(y)[0], strict=True)
    np.testing.assert_allclose(ct @ X, np.real(sum(np.sum(a * b) for a, b in pairs)), rtol=1e-13)


@pytest.mark.parametrize("f", OTHERS.values(), ids=OTHERS)
def test_a_function_that_is_not_certainly_linear_is_none(f: Callable[..., Any]) -> None:
    assert fd.is_linear(f)(X) is False
    if f is OTHERS["infinite"]:  # which is linear, but for what is zero
        return
    with pytest.raises(InputError, match=r"linear_transpose needs a linear function.*fd\.vjp"):
        fd.linear_transpose(f, X)


def test_linearity_is_asked_of_the_chosen_arguments_together() -> None:
    def product(x: Any, y: Any) -> Any:
        return x * y

    assert fd.is_linear(product)(X, X)
    assert fd.is_linear(product, 1)(X, X)
    assert fd.is_linear(product, argnames="y")(X, y=X)
    assert not fd.is_linear(product, (0, 1))(X, X)
    assert fd.is_linear(lambda p, y: p["a"] - p["b"] * y)({"a": X, "b": X}, X)


def test_a_rule_that_says_otherwise_does_not_make_a_function_linear() -> None:
    @fd.custom_jvp
    def f(x: Any) -> Any:
        return np.floor(x)

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    assert not fd.is_linear(f)(X)


def test_questions_may_be_asked_while_tracing() -> None:
    def f(x: Any) -> Any:
        linear = fd.is_linear(lambda y: x * y)(x)
        return np.sum(x**2) if linear and fd.depends_on(lambda y: x + y)(x) else 0.0

    np.testing.assert_array_equal(fd.grad(f)(X), 2 * X)


def test_questions_without_an_answer_are_refused() -> None:
    with pytest.raises(InputError, match="out of range"):
        fd.depends_on(lambda x: x, 1)(X)
    with pytest.raises(InputError, match="no derivative"):
        fd.is_linear(lambda n: n)(3)


def test_the_types_are_those_of_questions() -> None:
    def f(x: float, y: float) -> float:
        return x + y

    assert_type(fd.is_linear(f)(1.0, 2.0), bool)
