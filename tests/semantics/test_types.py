"""Dtypes, containers and edges: the gradient comes back as the argument went in."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcdiff as fd
from funcdiff.errors import InputError, OutputError
from tests.claims import alike, claims, refused

vjp: Any = fd.vjp  # types refuse some of what is tried here
grad: Any = fd.grad
PAIR = np.array([1.0, 2.0])
TRIPLE = np.array([1.0, 2.0, 4.0])
PLACES, WEIGHTS = np.array([2, 0, 2], dtype=">i8"), np.array([1.0, 3.0, 5.0]).astype(">f8")
STRIDED = np.arange(12.0).reshape(3, 4)[::-1, ::2].T


@claims
def squared(x: Any, kind: Any, dtype: Any) -> None:
    """Require the gradient of |x|² to be of a class and a dtype."""
    found = grad(lambda x: np.real(x * np.conj(x)))(x)
    assert type(found) is kind
    assert (found.shape, found.dtype) == ((), dtype)
    assert found == 2 * x


test_a_gradient_is_like_its_argument = squared({
    "a python float gives a numpy double": (3.0, np.float64, np.float64),
    "a python complex gives a numpy complex": (1 + 2j, np.complex128, np.complex128),
    "a numpy single gives a numpy single": (np.float32(3), np.float32, np.float32),
    "a 0-d array gives a 0-d array": [
        (np.array(3, dtype), np.ndarray, dtype) for dtype in (np.float16, np.float32, np.float64)
    ],
})  # fmt: skip


test_what_has_no_derivative_is_refused = refused({
    "integers, with their dtype and the cure": [
        (InputError, r"no derivative.*Make it a float",
         lambda x=x: fd.grad(lambda x: np.sum(x * 1.0))(x))
        for x in (3, np.int32(3), np.arange(3), np.array([True]), np.array([1, 2], np.uint8))
    ],
    "an integer output": (
        OutputError, "integer or boolean result has no derivative",
        lambda: grad(np.argmax)(np.ones(3)),
    ),
})  # fmt: skip

test_edges_have_their_derivatives = alike({
    "an unused input has gradient zero": (
        lambda: fd.grad(lambda a, b: np.sum(a), (0, 1))(np.ones(2), np.ones((2, 3))),
        (np.ones(2), np.zeros((2, 3))),
    ),
    "an output that depends on nothing has derivative zero": [
        (lambda: fd.grad(lambda x: 3.0)(2.0), 0),
        (lambda: fd.jvp(lambda x: np.ones(2), (2.0,), (1.0,))[1], np.zeros(2)),
        (lambda: vjp(lambda x: np.ones(2), 2.0)[1](np.ones(2)), (0,)),
        (lambda: fd.jacobian(lambda x: np.ones(2))(np.ones(3)), np.zeros((2, 3))),
    ],
    "an input returned as an output is right": (
        lambda: vjp(lambda x: (x, 2 * x), PAIR)[1]((np.ones(2), np.ones(2))), (np.full(2, 3.0),)
    ),
    "the same array as two arguments is two variables": (
        lambda: fd.grad(lambda a, b: np.sum(a * b**2), (0, 1))(PAIR, PAIR), (PAIR**2, 2 * PAIR**2)
    ),
    "a non-contiguous argument": (lambda: fd.grad(lambda x: np.sum(x**2))(STRIDED), 2 * STRIDED),
    "a byte-swapped argument is taken by value": (
        lambda: fd.grad(lambda x: np.sum(x**2))(PAIR.astype(">f8")), 2 * PAIR
    ),
    "byte-swapped constants are taken by value": [
        (lambda: fd.grad(
            lambda x: np.sum(x[PLACES] * WEIGHTS * PLACES[1:2] + WEIGHTS * x))(TRIPLE),
         WEIGHTS),
        (lambda: fd.grad(lambda x: np.sum(np.take(x, PLACES) * WEIGHTS))(TRIPLE),
         np.array([3.0, 0, 6])),
    ],
})  # fmt: skip


def test_outputs_that_are_one_array_come_back_as_two() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return y, y, x

    (y, z, x), f_vjp = vjp(f, PAIR)
    assert y is not z
    assert x is not PAIR
    assert not np.shares_memory(y, z)
    (ct,) = f_vjp((np.ones(2), 2 * np.ones(2), np.zeros(2)))
    np.testing.assert_allclose(ct, 3 * np.cos(PAIR), rtol=1e-15)
