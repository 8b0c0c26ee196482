"""The orders "A" and "K": those of the memory of an array, where that is known."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import UnsupportedNumPyError
from tests.differences import differences

X = np.sin(np.arange(24.0)).reshape(2, 3, 4)

COPIES: dict[str, Any] = {
    "C": lambda x: x.copy(),
    "F": lambda x: np.copy(x, "F"),
    "of one axis": lambda x: x.ravel().copy().reshape(3, 4, 2),
    "converted": lambda x: x.astype(np.float32, order="F"),
    "kept": lambda x: np.copy(x.copy("F").transpose(1, 0, 2)),
}
VIEWS: dict[str, Any] = {
    "itself": lambda y: y,
    "T": lambda y: y.T,
    "moved": lambda y: y.transpose(1, 0, 2),
    "reversed": lambda y: y.transpose(2, 0, 1)[::-1],
    "sliced": lambda y: y[:, ::2],
    "widened": lambda y: y[:, None],
    "a matrix": lambda y: y[1],
}
READS: dict[str, Any] = {
    "ravel A": lambda z: np.ravel(z, "A"),
    "ravel K": lambda z: z.ravel("K"),
    "flatten A": lambda z: z.flatten("A"),
    "flatten K": lambda z: z.flatten("K"),
    "reshape A": lambda z: np.reshape(z, (2, -1), order="A"),
    "copied K": lambda z: z.copy("K").ravel("K"),
    "copied A": lambda z: np.copy(z, order="A").ravel("K"),
}


@pytest.mark.thinned(2)
@pytest.mark.parametrize("copy", COPIES)
def test_elements_are_read_in_the_order_in_which_numpy_has_them(copy: str) -> None:
    for view, read in product(VIEWS, READS):

        def f(x: Any, view: str = view, read: str = read) -> Any:
            return READS[read](VIEWS[view](COPIES[copy](x)))

        assert_array_equal(fd.jit(f)(X), f(X), err_msg=f"{view}, {read}")
        assert_allclose(fd.jvp(f, (X,), (X,))[1], f(X), err_msg=f"{view}, {read}")


@pytest.mark.parametrize("convert", [
    lambda np, y: np.array(y, order="F"),
    lambda np, y: np.array(y.copy("F")),
    lambda np, y: np.asarray(y, order="F"),
    lambda np, y: np.asarray(y.copy("F"), order="C"),
    lambda np, y: np.ascontiguousarray(y.copy("F")),
    lambda np, y: y.copy("F").astype(float, order="C", copy=False),
    lambda np, y: y.copy("F").astype(float, order="C"),
])  # fmt: skip
def test_what_makes_arrays_lays_them_out(convert: Any) -> None:
    found = fd.jvp(lambda x: convert(fnp, x.copy()).ravel("K"), (X,), (X,))[1]
    assert_array_equal(found, convert(np, X.copy()).ravel("K"))


def test_a_read_of_memory_is_a_view_where_numpy_makes_one() -> None:
    def f(x: Any) -> Any:
        y = x.copy("F")
        flat = np.ravel(y, "K")
        flat *= 2
        y[0] = 1.0
        return np.sum(flat**2 * np.arange(24))

    assert_allclose(fd.grad(f)(X), differences(f, X), atol=1e-6)


BY_VALUE = (
    lambda x: np.ravel(x, "K"),
    lambda x: (x + 1).flatten("A"),
    lambda x: np.reshape(np.sin(x).T, -1, order="A"),
)


@pytest.mark.parametrize("read", BY_VALUE)
@pytest.mark.parametrize("lay_out", [np.ascontiguousarray, np.asfortranarray, np.transpose])
def test_a_trace_with_values_knows_the_order_of_its_arguments(read: Any, lay_out: Any) -> None:
    x = lay_out(X)
    np.testing.assert_array_equal(fd.vjp(read, x)[0], read(x))


@pytest.mark.parametrize("read", BY_VALUE)
@pytest.mark.parametrize("lay_out", [np.ascontiguousarray, np.asfortranarray, np.transpose])
def test_the_order_of_results_is_known_without_values(read: Any, lay_out: Any) -> None:
    x = lay_out(X)
    np.testing.assert_array_equal(fd.jit(lambda x: read(x * 2.0))(x), read(x * 2.0))


def test_the_order_of_what_is_repeated_is_refused() -> None:
    with pytest.raises(UnsupportedNumPyError, match="Say order='C' or order='F'"):
        fd.grad(lambda x: np.sum(np.broadcast_to(x.copy(), (2, 2, 3, 4)).ravel("K")))(X)


def test_reshape_takes_no_k() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.reshape(x, -1, order="K"))  # type: ignore[call-overload]

    for call in (f, fd.grad(f)):
        with pytest.raises(ValueError, match="K"):
            call(X)


def test_reshape_reads_and_fills_columns_first_whatever_the_axes() -> None:
    for shape, target in (((6,), (2, 3)), ((1, 6), (3, 2)), ((2, 3), (6,)), ((6, 1, 1), (2, 3, 1))):
        x = np.arange(6.0).reshape(shape)
        for f in (
            lambda x, target=target: x.reshape(target, order="F"),
            lambda x, target=target: np.reshape(x, target, "F"),
            lambda x, target=target: np.reshape(np.copy(x, "F"), target, "A"),
        ):
            y, pull = fd.vjp(f, x)
            np.testing.assert_array_equal(y, f(x))
            ct = np.arange(1.0, 7.0).reshape(target)
            np.testing.assert_allclose(np.vdot(pull(ct), x), np.vdot(ct, f(x)))
