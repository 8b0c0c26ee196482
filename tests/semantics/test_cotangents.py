"""The gradient argument of backward(): what a pullback takes, gives and refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError
from tests.claims import alike, refused

vjp: Any = fd.vjp  # types refuse some of what is tried here
X = np.array([1.0, 2.0, 3.0, 4.0])
SINGLE = X.astype(np.float32)
JACOBIAN = np.array([[2.0, 0, 0, 0], [2, 1, 0, 0], [0, 0, 1, 5]])
ONES = np.ones(4)
TARGET = np.array([3.0, -1.0, 0.5])


def _squares_and_sums(x: Any) -> Any:
    return np.stack([x[0] ** 2, x[0] * x[1], x[2] + 5 * x[3]])


def _doubled(x: Any) -> Any:
    return 2 * x


def _pulled(f: Any, x: Any, *cotangents: Any) -> Any:
    return vjp(f, x)[1](*cotangents)


test_a_pullback_weighs_the_rows_of_the_jacobian = alike({
    "a one-hot cotangent gives a row": [
        (lambda e=e: _pulled(_squares_and_sums, X, e)[0], row)
        for e, row in zip(np.eye(3), JACOBIAN, strict=True)
    ],
    "ones give the gradient of the sum": (
        lambda: _pulled(_squares_and_sums, X, np.ones(3))[0],
        lambda: fd.grad(lambda x: np.sum(_squares_and_sums(x)))(X),
    ),
    "a target gives the gradient of the sum of output times target": [
        (lambda: _pulled(_squares_and_sums, X, TARGET)[0],
         lambda: fd.grad(lambda x: np.sum(_squares_and_sums(x) * TARGET))(X)),
        (lambda: _pulled(_squares_and_sums, X, TARGET)[0], TARGET @ JACOBIAN),
    ],
    "it has the shape of the primal and not of a jacobian": (
        lambda: _pulled(_doubled, np.ones((2, 3)), np.full((2, 3), 0.5))[0], np.ones((2, 3))
    ),
    "the result is a tuple even for one primal": (lambda: _pulled(np.sum, X), (ONES,)),
    "the tuple has one entry for each primal": (
        lambda: vjp(lambda a, b, c: a * b + c, 2.0, 3.0, 4.0)[1](), (3, 2, 1)
    ),
    "the cotangent of a real scalar may be left out and is one": [
        (lambda: _pulled(lambda x: x**2, 3.0), (6,)),
        (lambda: _pulled(lambda x: x**2, 3.0, 1.0), (6,)),
    ],
    "python numbers are weak": [
        (lambda v=v: _pulled(lambda x: x * x, np.float32(3), v)[0], 6 * v) for v in (1, 1.0, -2)
    ],
}, rtol=1e-15)  # fmt: skip

OF_ARRAYS: list[Any] = [1.0, np.ones(1), np.ones((1, 4)), np.ones((4, 1))]
OF_PAIRS: list[Any] = [(1.0,), (1.0, 2.0, 3.0), [1.0, 2.0], {"a": 1.0, "b": 2.0}]

test_what_is_no_cotangent_is_refused = refused({
    "any output but a real scalar needs one": [
        (CotangentError, r"can be left out only if .* one real scalar", lambda f=f: _pulled(f, X))
        for f in (lambda x: x, lambda x: x[:1], lambda x: x[0] * 1j, lambda x: (x[0], x[1]),
                  lambda x: {"a": x[0]})
    ],
    "a wrong shape names both shapes": (
        CotangentError, r"shape \(3,\).*shape \(4,\)", lambda: _pulled(_doubled, X, np.ones(3))
    ),
    "nothing is ever broadcast": [
        (CotangentError, "nothing is broadcast", lambda v=v: _pulled(_doubled, X, v))
        for v in OF_ARRAYS
    ],
    "a wrong tree": [
        (CotangentError, "have to be alike", lambda v=v: _pulled(lambda x: (x[0], x[1]), X, v))
        for v in OF_PAIRS
    ],
    "more than one": (
        CotangentError, r"one cotangent.*tuple",
        lambda: _pulled(lambda x: (x[0], x[1]), X, 1.0, 2.0),
    ),
    "integers and complex numbers of a real output": [
        (CotangentError, None, lambda dtype=dtype: _pulled(_doubled, X, np.ones(4, dtype)))
        for dtype in (np.int64, np.bool_, np.complex128)
    ],
    "a double precision one of a single precision output": (
        CotangentError, r"float64.*float32.*astype", lambda: _pulled(_doubled, SINGLE, ONES)
    ),
    "a complex number of a real output": (
        CotangentError, "real part", lambda: _pulled(_doubled, 3.0, 1j)
    ),
})  # fmt: skip


def test_cotangents_have_the_precision_of_the_primal() -> None:
    assert _pulled(lambda x: x * x, np.float32(3), 1.0)[0].dtype == np.float32
    (ct,) = _pulled(lambda x: x * 3, X, np.ones(4, np.float32))
    assert ct.dtype == np.float64
    np.testing.assert_array_equal(ct, np.full(4, 3.0))


def test_calling_twice_gives_the_same_answer_twice() -> None:
    _, f_vjp = fd.vjp(lambda x: np.sin(x) * x, X)
    first, again = f_vjp(X - 2)[0], f_vjp(X - 2)[0]
    np.testing.assert_array_equal(first, again)
    assert first is not again
    kept = again.copy()
    first[:] = -1
    np.testing.assert_array_equal(f_vjp(X - 2)[0], kept)


def test_what_is_written_to_afterwards_changes_nothing() -> None:
    x, weights = X.copy(), X.copy()
    y, f_vjp = fd.vjp(lambda x: (x * x, np.exp(x), weights * x), x)
    kept = 2 * X + np.exp(X) + X
    x[:], weights[:] = 100, 0
    for part in y:
        part[:] = 0
    np.testing.assert_array_equal(f_vjp((ONES, ONES, ONES))[0], kept)


@pytest.mark.parametrize("f", [
    lambda x: x,
    lambda x: x[:],
    lambda x: x.reshape(4),
    lambda x: np.transpose(x),
    lambda x: np.negative(-x),
])  # fmt: skip
def test_an_identity_returns_a_copy_and_never_the_very_cotangent(f: Any) -> None:
    v = np.ones(4)
    y, f_vjp = fd.vjp(f, X)
    (ct,) = f_vjp(v)
    assert not np.shares_memory(ct, v)
    assert not np.shares_memory(y, X)
    np.testing.assert_array_equal(ct, v)


def test_two_primals_that_get_the_same_cotangent_get_two_arrays() -> None:
    first, second = fd.vjp(lambda a, b: a + b, X, X)[1](np.ones(4))
    assert not np.shares_memory(first, second)


def test_doubling_until_the_norm_is_large_works_as_written() -> None:
    def f(x: Any) -> Any:
        y = 2 * x
        while np.linalg.norm(y) < 1000:
            y = 2 * y
        return y

    x, v = np.array([0.5, -1.2, 0.3]), np.array([0.1, 1.0, 0.0001])
    y, f_vjp = fd.vjp(f, x)
    assert y[0] / x[0] == 1024
    assert 1000 <= np.linalg.norm(y) < 2000
    np.testing.assert_array_equal(f_vjp(v)[0], 1024 * v)
