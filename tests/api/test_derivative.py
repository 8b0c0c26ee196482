"""`derivative`, `directional_derivative` and `elementwise_grad`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError
from tests.claims import alike, refused

FD: Any = fd  # types refuse some of what is tried here
X = np.array([0.3, -1.2, 2.0])
T = np.array([1.0, 0.0, -1.0])
B = np.array([[2.0], [3.0]])
Z = 0.3 + 1.1j
Y = np.tanh(X)


def _three(x: Any, y: Any, *, z: Any) -> Any:
    return x**3 * y**2 * z


def _curve(t: Any) -> Any:
    return {"place": np.stack([np.cos(t), np.sin(t)]), "time": t**2}


def _wave(x: Any) -> Any:
    return np.sin(2 * x)


def _squared_until_ten(x: Any) -> Any:
    while x < 10:
        x = x * x
    return x


def _of_two(x: Any, p: Any) -> Any:
    return np.sum(x**2) * p["a"]


test_derivatives_are_those_of_the_formula = alike({
    "the nth one of a power is the falling factorial": [
        (lambda n=n: fd.derivative(lambda x: x**6, n=n)(1.5),
         np.float64(math.perm(6, n) * 1.5 ** (6 - n) if n <= 6 else 0.0))
        for n in range(9)
    ],
    "those of a curve are its velocity and acceleration": [
        (lambda: fd.derivative(_curve)(0.5),
         {"place": np.array([-np.sin(0.5), np.cos(0.5)]), "time": 1}),
        (lambda: fd.derivative(_curve, n=2)(0.5),
         {"place": np.array([-np.cos(0.5), -np.sin(0.5)]), "time": 2}),
    ],
    "several arguments get one each": [
        (lambda: fd.derivative(_three, n=2)(2.0, 3.0, z=5.0), 6 * 2 * 9 * 5),
        (lambda: fd.derivative(_three, 1, n=2)(2.0, y=3.0, z=5.0), 8 * 2 * 5),
        (lambda: fd.derivative(_three, (1, 0), n=2)(2.0, 3.0, z=5.0),
         (8 * 2 * 5, 6 * 2 * 9 * 5)),
        (lambda: fd.derivative(_three, argnames="z")(2.0, 3.0, z=5.0), 8 * 9),
    ],
    "the auxiliary result is the value": (
        lambda: fd.derivative(lambda x: (x**3, ("cube", x, 7)), n=2, has_aux=True)(2.0),
        (12, ("cube", 2.0, 7)),
    ),
    "the complex derivative is asked for": (
        lambda: fd.derivative(lambda z: np.exp(2 * z), n=3, holomorphic=True)(Z),
        8 * np.exp(2 * Z),
    ),
    "real to complex needs no flag": (
        lambda: fd.derivative(lambda t: np.exp(1j * t), n=2)(0.5), -np.exp(0.5j)
    ),
    "they nest with every transform": [
        (lambda: fd.vmap(fd.derivative(_wave, n=2))(X), -4 * np.sin(2 * X)),
        (lambda: fd.grad(fd.derivative(_wave, n=2))(0.5), -8 * np.cos(1.0)),
        (lambda: fd.jvp(fd.derivative(_wave), (0.5,), (3.0,))[1], -12 * np.sin(1.0)),
        (lambda: fd.derivative(lambda y: y * fd.derivative(lambda x: x * y**2)(3.0), n=2)(2.0), 12),
    ],
    "they loop like their function": (
        lambda: fd.derivative(_squared_until_ten, n=2)(2.0), 12 * 2.0**2
    ),
    "a directional one is the slope along a line": [
        (lambda: fd.directional_derivative(_of_two, (X, {"a": 2.0}), (T, {"a": 3.0})),
         2 * 2 * X @ T + 3 * X @ X),
        (lambda: fd.directional_derivative(lambda x: (x**2, "aux"), (3.0,), (2.0,), has_aux=True),
         (12, "aux")),
    ],
}, rtol=1e-14)  # fmt: skip

test_elementwise_derivatives_have_the_shape_of_the_argument = alike({
    "of any shape": [
        (lambda x=x: fd.elementwise_grad(lambda x: np.sin(x) * x)(x), np.cos(x) * x + np.sin(x))
        for shape in ((), (3,), (2, 3), (0,), (1, 1))
        for x in [np.linspace(0.1, 1.0, int(np.prod(shape))).reshape(shape)]
    ],
    "they nest": [
        (lambda: fd.elementwise_grad(fd.elementwise_grad(np.tanh))(X), -2 * Y * (1 - Y**2)),
        (lambda: fd.grad(lambda x: np.sum(fd.elementwise_grad(np.sin)(x)))(X), -np.sin(X)),
    ],
    "of an argument that is broadcast it is the sum over what it meets": (
        lambda: fd.elementwise_grad(lambda x, b: x * b, argnums=(0, 1))(X, B),
        (np.full(3, 5.0), np.full((2, 1), X.sum())),
    ),
    "of a holomorphic function it is complex": [
        (lambda: fd.elementwise_grad(np.exp, holomorphic=True)(X + 1j), np.exp(X + 1j)),
        (lambda: fd.elementwise_grad(lambda z: np.abs(z) ** 2)(X + 1j), 2 * (X + 1j)),
    ],
}, rtol=1e-14)  # fmt: skip


@pytest.mark.parametrize("n", range(1, 7))
def test_the_nth_derivative_is_the_gradient_taken_n_times(n: int) -> None:
    def f(x: Any) -> Any:
        return np.exp(np.sin(x)) * np.log(1 + x**2)

    nested: Any = f
    for _ in range(n):
        nested = fd.grad(nested)
    np.testing.assert_allclose(fd.derivative(f, n=n)(0.7), nested(0.7), rtol=1e-12)


def test_derivatives_have_the_dtype_of_the_argument() -> None:
    assert type(fd.derivative(lambda x: x**6, n=2)(1.5)) is np.float64
    assert fd.derivative(np.sin, n=3)(np.float32(0.5)).dtype == np.float32
    assert fd.elementwise_grad(np.sin)(X.astype(np.float32)).dtype == np.float32
    fd.testing.check_grads(fd.derivative(_wave, n=2), (0.7,))


test_what_is_no_derivative_is_refused = refused({
    "the order is a natural number": [
        (InputError, r"n=.*fd\.derivative\(f, n=2\)", lambda n=n: FD.derivative(np.sin, n=n))
        for n in (-1, 1.0, True, "2", None)
    ],
    "a derivative is by one number": [
        (InputError, r"f64\[3\].*elementwise_grad.*vmap", lambda: FD.derivative(np.sin)(X)),
        (InputError, r"fd\.jacobian", lambda: FD.derivative(lambda p: p["x"])({"x": 1.0})),
        (InputError, "is the integer 2", lambda: fd.derivative(lambda x: x**2)(2)),
        (InputError, "holomorphic=True", lambda: FD.derivative(np.exp)(Z)),
        (OutputError, "floating or complex", lambda: fd.derivative(lambda x: (x, x > 0))(1.0)),
    ],
    "an elementwise derivative needs one real array": [
        (OutputError, r"elementwise_grad needs.*real array.*holomorphic",
         lambda: fd.elementwise_grad(np.exp)(X + 1j)),
        (OutputError, r"elementwise_grad needs.*has_aux",
         lambda: fd.elementwise_grad(lambda x: (x, x))(X)),
        (OutputError, "integer or boolean", lambda: fd.elementwise_grad(lambda x: x > 0)(X)),
    ],
})  # fmt: skip


@pytest.mark.parametrize(
    ("f", "bounds"),
    [
        (lambda x: np.sin(x) * np.exp(x), [6, 10, 15, 19, 23, 27]),
        (lambda x: x**5, [3, 3, 4, 4, 0, 0]),
        (np.tanh, [3, 7, 14, 25, 41, 63]),
        (lambda x: np.tanh(np.tanh(np.tanh(x))), [11, 29, 62, 115, 193, 301]),
        (lambda x: 1 / (1 + np.exp(-x)), [8, 18, 39, 78, 144, 248]),
        (lambda x: np.exp(np.sin(x)), [4, 8, 15, 25, 39, 57]),
    ],
)
def test_the_program_of_the_nth_derivative_grows_like_a_polynomial(
    f: Any, bounds: list[int]
) -> None:
    counts = [len(fd.trace(fd.derivative(f, n=n))(0.7).equations) for n in range(1, 7)]
    assert all(count <= bound for count, bound in zip(counts, bounds, strict=True)), counts


@pytest.mark.parametrize("f", [
    np.cumsum, np.cumprod, lambda x: np.sin(np.fft.fft(x).real)
])  # fmt: skip
def test_sums_of_elements_that_cannot_be_followed_are_seen_by_values(f: Any) -> None:
    with pytest.raises(OutputError, match="depends on several elements"):
        fd.elementwise_grad(f)(X)
    same = fd.primitive(lambda x: x)
    same.defjvp(lambda primals, tangents: (primals[0], 2 * tangents[0]))
    np.testing.assert_array_equal(fd.elementwise_grad(same)(X), [2, 2, 2])
    np.testing.assert_array_equal(fd.elementwise_grad(np.sort)(X), [1, 1, 1])


@pytest.mark.parametrize("transform", [lambda f: f, fd.jit, fd.vmap])
@pytest.mark.parametrize("f", [
    np.sum, lambda x: x * np.mean(x), lambda x: np.exp(x) / np.sum(np.exp(x)),
    lambda x: np.linalg.norm(x), lambda x: x @ np.ones((3, 3)), lambda x: x + x[::-1],
    np.diff,
])  # fmt: skip
def test_a_function_of_which_elements_mix_is_not_elementwise(transform: Any, f: Any) -> None:
    for _ in range(2):
        with pytest.raises(
            OutputError, match=r"depends on several elements .*test_derivative.*fd\.jac"
        ):
            transform(fd.elementwise_grad(f))(X[None] if transform is fd.vmap else X)


test_what_moves_elements_and_computes_with_each_is_elementwise = alike({
    "moved": (lambda: fd.elementwise_grad(lambda x: np.roll(np.sin(x), 1))(X), np.cos(X)),
    "by indices": (lambda: fd.elementwise_grad(lambda x: x[np.array([2, 0])] ** 2)(X),
                   2 * X * [1, 0, 1]),
    "one after another": (lambda: fd.elementwise_grad(lambda x: np.stack([v**2 for v in x]))(X),
                          2 * X),
    "with what has no derivative": (
        lambda: fd.elementwise_grad(lambda x: x * np.mean(fd.stop_gradient(x)))(X),
        np.full(3, np.mean(X)),
    ),
    "chosen by others": (
        lambda: fd.elementwise_grad(lambda x: np.where(x > np.mean(x), 2 * x, x))(X), [1, 1, 2]),
}, rtol=1e-14)  # fmt: skip
