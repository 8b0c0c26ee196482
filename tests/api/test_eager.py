"""Plain Python inside a differentiated function: values can be looked at, none is lost silently."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import LostDerivativeError, UnsupportedNumPyError
from tests.claims import refused

# ---- control flow ----------------------------------------------------------------------------


def test_generators_and_comprehensions_work() -> None:
    def powers(x: Any) -> Iterator[Any]:
        y = 1.0
        while True:
            y = y * x
            yield y

    def f(x: Any) -> Any:
        stream = powers(x)
        return sum(next(stream) for _ in range(3)) + sum([x * k for k in range(3)])

    assert fd.grad(f)(2.0) == 1 + 4 + 12 + 3


def test_match_and_tuples_unpack() -> None:
    def f(x: Any) -> Any:
        a, *rest = x
        match rest:
            case [b, c]:
                return a * b * c
            case _:
                return a

    np.testing.assert_array_equal(fd.grad(f)(np.array([2.0, 3.0, 5.0])), [15, 10, 6])


# ---- looking at values -----------------------------------------------------------------------


def test_repr_says_that_the_array_is_traced() -> None:
    shown: list[str] = []
    fd.grad(lambda x: shown.append(repr(x)) or x)(1.5)  # type: ignore[func-returns-value]
    assert shown[0].startswith("traced(1.5")


def test_what_numpy_says_about_an_array_is_plain() -> None:
    def f(x: Any) -> Any:
        assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.float64)
        assert np.shape(x) == (2, 3)
        assert np.ndim(x) == 2
        assert np.size(x) == 6
        assert (x.itemsize, x.nbytes) == (8, 48)
        assert not np.iscomplexobj(x)
        return np.sum(x)

    fd.grad(f)(np.zeros((2, 3)))


def test_boolean_and_integer_arrays_convert_to_arrays() -> None:
    def f(x: Any) -> Any:
        order = np.asarray(np.argsort(x))
        assert type(order) is np.ndarray
        assert np.asarray(x > 1).tolist() == [True, False]
        return x[order][0]

    np.testing.assert_array_equal(fd.grad(f)(np.array([2.0, 1.0])), [0, 1])


def test_what_is_computed_of_stopped_values_and_plain_arrays_converts() -> None:
    running = np.zeros(2)
    rows = np.array([[1.0, 2.0], [3.0, 4.0]])

    def f(w: Any) -> Any:
        h = rows * w
        running[:] = 0.9 * running + 0.1 * fd.stop_gradient(h).mean(axis=0)
        return np.sum(h) / float(np.max(np.abs(fd.stop_gradient(h))))

    assert fd.grad(f)(2.0) == 10 / 8
    np.testing.assert_allclose(running, [0.4, 0.6])


@pytest.mark.parametrize("lose", [
    lambda x: float(fd.stop_gradient(x[0]) * x[1]),
    lambda x: float(np.where(x > 1, x, 0.3)[0]),
    lambda x: float(np.linalg.eigvalsh(np.outer(x, fd.stop_gradient(x)))[0]),
    lambda x: fd.grad(lambda y: y * float(np.sin(0.3 * x[0])))(1.0),
], ids=["a product", "a selection", "eigenvalues", "within another derivative"])  # fmt: skip
def test_one_operand_with_a_derivative_is_enough_to_lose_it(lose: Any) -> None:
    with pytest.raises(LostDerivativeError, match="drop its derivative"):
        fd.grad(lambda x: lose(x) * x[0])(X)


# ---- what would lose a derivative ------------------------------------------------------------


X = np.array([0.5, 1.5])


def test_the_cure_for_a_list_of_scalars_is_named_and_works() -> None:
    with pytest.raises(LostDerivativeError, match=r"funcdiff\.numpy\.array\(\[x, y\]\)"):
        fd.grad(lambda x: np.sum(np.array([x, 2 * x])))(1.0)
    assert fd.grad(lambda x: np.sum(fd.numpy.array([x, 2 * x])))(1.0) == 3
    assert fd.grad(lambda x: np.sum(np.stack([x, 2 * x])))(1.0) == 3


test_what_no_array_can_do_raises_as_in_numpy = refused({
    "an array is no truth value": (
        ValueError, "ambiguous", lambda: fd.grad(lambda x: np.sum(x) if x > 0 else x)(X)
    ),
    "it cannot be hashed": (TypeError, "unhashable", lambda: fd.grad(lambda x: {x: 1.0}[x])(1.0)),
    "an attribute that it does not have": (
        AttributeError, "nonsense", lambda: fd.grad(lambda x: x.nonsense)(1.0)
    ),
    "a method that is not covered is named": (
        UnsupportedNumPyError, r"ndarray\.tofile",
        lambda: fd.grad(lambda x: x.tofile("nowhere"))(X),
    ),
})  # fmt: skip
