"""Work buffers: an array that the function overwrites counts with the value it had at each use."""

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import funcdiff as fd
from funcdiff.errors import ChangedArrayError, LostDerivativeError, UnsupportedNumPyError


def test_writing_to_a_very_large_captured_array_is_an_error() -> None:
    large = np.ones(1_000_000)

    def f(x: Any) -> Any:
        y = np.sum(x * large)
        large[:] = 7
        return y + np.sum(x * large)

    with pytest.raises(ChangedArrayError, match=r"test_buffers\.py.*buffer\.copy\(\)"):
        fd.grad(f)(1.0)
    large[:] = 2
    assert fd.grad(lambda x: np.sum(x * large))(1.0) == 2_000_000


@pytest.mark.parametrize("size", [5_000, 1_000_000])
def test_other_threads_may_write_to_a_captured_array(size: int) -> None:
    buffer = np.ones(size)
    used, written = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def write() -> None:
        used.wait(600)
        try:
            buffer[:] = 7.0
        except BaseException as error:
            failures.append(error)
        written.set()

    def f(x: Any) -> Any:
        y = x * buffer
        used.set()
        written.wait(600)
        return (y + x * buffer)[0]

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert fd.grad(f)(2.0) == 8.0
    except ChangedArrayError:
        assert size == 1_000_000
    thread.join()
    assert not failures


def test_a_linear_transpose_keeps_the_value_that_a_captured_array_had() -> None:
    weights = np.ones(1_000_000)
    transposed = fd.linear_transpose(lambda x: x * weights, np.ones(1_000_000))
    weights[:] = 5
    assert transposed(np.ones(1_000_000))[0][7] == 1.0


# ---- ordinary arrays -----------------------------------------------------------------------------


def _filled(write: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        write(np.zeros(3), x)
        return x.sum()

    return f


STORED: dict[str, Callable[[Any, Any], Any]] = {
    "an element": lambda b, x: b.__setitem__(0, x[0]),
    "a slice": lambda b, x: b.__setitem__(slice(None), x),
    "a mask": lambda b, x: b.__setitem__(b == 0, x),
    "copyto": lambda b, x: np.copyto(b, x),
    "put": lambda b, x: np.put(b, [0], x[0]),
    "place": lambda b, x: np.place(b, b == 0, x),
    "putmask": lambda b, x: np.putmask(b, b == 0, x),
    "put_along_axis": lambda b, x: np.put_along_axis(b, np.array([0]), x[:1], 0),
    "fill_diagonal": lambda b, x: np.fill_diagonal(np.zeros((3, 3)), x),
    "fill": lambda b, x: b.fill(x[0]),
}


@pytest.mark.parametrize("write", STORED.values(), ids=STORED)
def test_an_ordinary_array_takes_no_traced_value(write: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(LostDerivativeError, match=r"test_buffers\.py.*np\.zeros\(shape, like=x\)"):
        fd.grad(_filled(write))(np.ones(3))


MADE: dict[str, tuple[Callable[[Any], Any], str]] = {
    "array": (lambda x: np.array([x[0], x[1]]), r"funcdiff\.numpy\.array"),
    "fromiter": (lambda x: np.fromiter(x, float), r"that name in funcdiff\.numpy"),
    "full": (lambda x: np.full(3, x[0]), r"that name in funcdiff\.numpy"),
    "math": (lambda x: math.sin(x[0]), r"np\.sin\(x\), not math"),
    "float": (lambda x: float(x[0]), "Go on with x itself"),
    "int": (lambda x: int(x[0]), r"int\(fd\.stop_gradient\(x\)\)"),
    "a format": (lambda x: "%.2f" % x[0], "f-string"),  # noqa: UP031
    "random numbers": (lambda x: np.random.default_rng(0).normal(x), "not depend on x"),
    "vectorize": (lambda x: np.vectorize(abs)(x), r"fd\.vmap"),
    "a polynomial": (lambda x: np.polynomial.Polynomial([1, 2])(x), r"np\.polyval"),
    "SciPy": (lambda x: scipy.special.softmax(x), r".*funcdiff\.scipy\.special import softmax"),
    "a list": (lambda x: np.mean([x[0], x[1]]), r"that name in funcdiff\.numpy"),
}


@pytest.mark.parametrize(("make", "cure"), MADE.values(), ids=MADE)
def test_what_makes_an_ordinary_array_or_number_says_so(
    make: Callable[[Any], Any], cure: str
) -> None:
    with pytest.raises(LostDerivativeError, match=rf"test_buffers\.py.*{cure}"):
        fd.grad(lambda x: (make(x), x.sum())[1])(np.ones(3))


@pytest.mark.parametrize("make", [
    np.zeros_like,
    lambda x: np.zeros(3, like=x),
    lambda x: np.array(np.zeros(3), like=x),
    lambda x: np.zeros(3) + 0 * x,
])  # fmt: skip
def test_the_cures_for_a_buffer_work(make: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        buffer = make(x)
        buffer[0] = x[0] ** 2
        buffer[1:] += x[1:] ** 3
        return buffer.sum()

    np.testing.assert_array_equal(fd.grad(f)(np.array([1.0, 2.0, 3.0])), [2, 12, 27])


def test_the_code_that_would_lose_a_derivative_is_shown() -> None:
    def f(x: Any) -> Any:
        table = np.zeros((2, 2))
        table[0] = x * (1 + x)
        return table.sum()

    with pytest.raises(LostDerivativeError, match=r"^table\[0\] = \.\.\. met a traced array"):
        fd.grad(f)(np.ones(2))
    with pytest.raises(LostDerivativeError, match=r"^np\.array\(\[y, 2 \* y\]\) met"):
        fd.grad(lambda y: np.sum(np.array([y, 2 * y])))(1.0)
    with pytest.raises(LostDerivativeError, match=r"^np\.asarray\(x\), or .* met"):
        fd.grad(eval("lambda y: np.array([y])", {"np": np}))(1.0)


@pytest.mark.parametrize("write", [
    lambda b, x: b.__iadd__(x),
    lambda b, x: np.add(x, 1, out=b),
    lambda b, x: np.add.at(b, [0], x[:1]),
])  # fmt: skip
def test_an_ordinary_array_is_no_place_for_a_traced_result(write: Any) -> None:
    with pytest.raises(UnsupportedNumPyError, match="ordinary array"):
        fd.grad(_filled(write))(np.ones(3))


def test_what_needs_no_array_of_its_own_works() -> None:
    def f(x: Any) -> Any:
        assert f"{x[0]:.1f}" == "~1.0"
        return np.sum(np.stack([x[0], x[1] * 2])) + np.linspace(0, x[2], 3)[1]

    np.testing.assert_allclose(fd.grad(f)(np.ones(3)), [1, 2, 0.5])


def test_masks_and_positions_are_put_into_ordinary_arrays() -> None:
    def f(x: Any) -> Any:
        b = np.zeros(3)
        np.putmask(b, x > 1, 5.0)
        b[np.argmax(x)] = 7.0
        return np.sum(b * x)

    np.testing.assert_array_equal(fd.grad(f)(np.array([1.0, 2.0, 3.0])), [0, 5, 7])
