"""Plain arrays made of traced ones: nothing that is written to them is lost without a word."""

import io
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import ChangedArrayError, UnsupportedNumPyError
from tests.together import together

X = np.array([3.0, 1.0, 2.0, 4.0])
Make = Callable[[Any], Any]

BUFFERS: dict[str, Make] = {
    "zeros_like": np.zeros_like,
    "empty_like": np.empty_like,
    "zeros": lambda x: fnp.zeros(4),
    "like": lambda x: np.full(4, 2.0, like=x),
    "mask": lambda x: x > 2,
    "argsort": np.argsort,
    "stopped": fd.stop_gradient,
    "view": lambda x: np.zeros_like(np.stack([x, x]))[1],
    "column": lambda x: np.argsort(np.stack([x, x]).T, axis=0)[:, 1],
}

EXITS: dict[str, Make] = {
    "asarray": np.asarray,
    "asarray-dtype": lambda y: np.asarray(y, dtype=y.dtype),
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "require": np.require,
    "require-c": lambda y: np.require(y, requirements="C"),
    "require-a": lambda y: np.require(y, requirements=["A", "E"]),
    "array": lambda y: np.array(y, copy=None),
    "flat": lambda y: np.asarray(y.flat),
    "asarray_chkfinite": np.asarray_chkfinite,
    "as_strided": lambda y: np.lib.stride_tricks.as_strided(y, (2,)),
    "nditer": lambda y: next(iter(np.nditer(y, op_flags=[["readwrite"]]))),
    "nested_iters": lambda y: np.nested_iters(y, [[0], []], op_flags=[["readwrite"]]),
    "masked": lambda y: np.ma.array(y, copy=False),
}


@together
@pytest.mark.parametrize("leave", EXITS.values(), ids=EXITS)
@pytest.mark.parametrize("make", BUFFERS.values(), ids=BUFFERS)
def test_what_numpy_gets_of_a_traced_array_is_read_only(make: Make, leave: Make) -> None:
    def f(x: Any) -> Any:
        y = make(x)
        leave(y)[..., -1] = 1
        return np.sum(y * x)

    copying = (np.ascontiguousarray, np.asfortranarray, EXITS["require-c"])
    if make is BUFFERS["column"] and leave in copying:
        fd.grad(f)(X)  # NumPy, too, makes a copy of what is not contiguous
        return
    with pytest.raises(ValueError, match="read-only") as caught:
        fd.grad(f)(X)
    assert "y[i] = v" in "".join(caught.value.__notes__)


def test_it_is_read_only_where_there_are_no_values_too() -> None:
    def f(x: Any) -> Any:
        y = fnp.zeros(4)
        np.asarray(y)[0] = 1
        return y * x

    with pytest.raises(ValueError, match="read-only"):
        fd.jit(fd.vmap(f))(X)


LIKE: dict[str, Make] = {
    "asarray": lambda y: np.asarray(y, like=y),
    "asanyarray": lambda y: np.asanyarray(y, like=y),
    "array": lambda y: np.array(y, copy=None, like=y),
    "ascontiguousarray": lambda y: np.ascontiguousarray(y, like=y),
    "asfortranarray": lambda y: np.asfortranarray(y, like=y),
    "require": lambda y: np.require(y, requirements=["C", "W", "O"], like=y),
    "funcdiff": fnp.asarray,
}


@together
@pytest.mark.parametrize("leave", LIKE.values(), ids=LIKE)
@pytest.mark.parametrize("make", [np.zeros_like, np.empty_like, np.argsort, lambda x: x > 2])
def test_where_numpy_asks_it_is_the_traced_array_itself(make: Make, leave: Make) -> None:
    def f(x: Any) -> Any:
        y = make(x)
        y[:] = 0
        leave(y)[1] = 1
        return y * x

    np.testing.assert_array_equal(fd.vjp(f, X)[0], [0, 1, 0, 0])
    np.testing.assert_array_equal(fd.jit(f)(X), [0, 1, 0, 0])


def test_require_and_asfortranarray_copy_what_lies_otherwise() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        np.asfortranarray(y, like=x)[0] = 1
        np.require(y, requirements="F", like=x)[0] = 1
        np.require(y.T, requirements="O", like=x)[0] = 1
        np.require(y.T, requirements="F", like=x)[1, 0] = 3
        return y * x

    def both(x: Any) -> Any:
        return np.require(x, requirements=["C", "F"], like=x)

    x = np.ones((2, 3))
    np.testing.assert_array_equal(fd.vjp(f, x)[0], [[0, 3, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match='both "C" and "F"'):
        fd.vjp(both, x)


@pytest.mark.parametrize("names", ["W", ["C", "W"], ["writeable"]])
def test_require_writeable_does_not_hand_out_a_copy(names: Any) -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"copy would be lost.*y\[i\] = v"):
        fd.grad(lambda x: np.sum(np.require(np.zeros_like(x), requirements=names) * x))(X)


def test_no_copy_at_all_is_refused_as_numpy_refuses_it() -> None:
    with pytest.raises(ValueError, match=r"Unable to avoid copy.*test_exports.py.*np\.array\(y\)"):
        fd.grad(lambda x: np.sum(np.array(np.zeros_like(x), copy=False) * x))(X)


def test_what_is_a_copy_by_its_name_can_be_written_to() -> None:
    def f(x: Any) -> Any:
        y = np.argsort(x)
        copies = [np.array(y), np.asarray(y, dtype=float), np.array(y, dtype="f4")]
        for copy in copies:
            copy[0] = 9
        return np.sum(y * x) + sum(copy[0] for copy in copies)

    assert fd.vjp(f, X)[0] == f(X)


@pytest.mark.parametrize(("use", "cure"), [
    (memoryview, "value without memory"),
    (lambda y: np.frombuffer(y), "value without memory"),
    (lambda y: struct.pack_into("d", y, 0, 1.0), "value without memory"),
    (lambda y: io.BytesIO(b"1" * 32).readinto(y), "value without memory"),
    (np.from_dlpack, "value without memory"),
    (lambda y: y.__array_interface__, "value without memory"),
    (lambda y: y.data, "value without"),
    (lambda y: y.view(), "value without"),
    (lambda y: np.ones((4, 4)).dot(np.ones(4), out=y), "np.take"),
    (lambda y: np.ones(4).take([0, 1, 2, 3], out=y), "np.take"),
    (lambda y: np.random.default_rng(0).random(out=y), "np.take"),
    (lambda y: np.random.default_rng(0).permuted(np.ones(4), out=y), "np.take"),
])  # fmt: skip
def test_other_ways_to_the_memory_of_an_array_say_what_to_write(use: Make, cure: str) -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        use(y)
        return np.sum(y * x)

    with pytest.raises((TypeError, AttributeError, ValueError)) as caught:
        fd.grad(f)(X)
    said = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    assert cure in said


def test_errors_without_a_traced_array_have_no_note() -> None:
    def f(x: Any) -> Any:
        plain = np.zeros(3)
        plain.flags.writeable = False
        plain[0] = 1.0
        return x

    with pytest.raises(ValueError, match="read-only") as caught:
        fd.grad(f)(1.0)
    assert not getattr(caught.value, "__notes__", ())


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max"])
def test_methods_of_plain_arrays_write_into_traced_ones(name: str) -> None:
    rows = np.arange(16.0).reshape(4, 4) ** 1.5

    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        getattr(rows, name)(0, out=y)
        return np.sum(y * x)

    value, gradient = fd.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_array_equal(gradient, getattr(rows, name)(0))


@pytest.mark.parametrize("write", [
    pytest.param(lambda a: np.add.at(a, [1], 5.0), id="ufunc.at"),
    pytest.param(lambda a: np.multiply.at(a, [0, 1], 5.0), id="twice"),
])  # fmt: skip
def test_a_write_that_does_not_ask_whether_an_array_is_read_only_is_an_error(write: Any) -> None:
    def f(x: Any) -> Any:
        y = np.ones_like(x)
        write(np.asarray(y))
        return np.sum(y * x)

    for transform in (fd.grad, lambda f: fd.jit(f), lambda f: lambda x: fd.jvp(f, (x,), (x,))):
        with pytest.raises(ChangedArrayError, match=r"test_exports.*np\.add\.at\(y, i, v\)"):
            transform(f)(X)


def test_many_arrays_are_lent_and_let_go() -> None:
    def f(x: Any) -> Any:
        y = np.ones((1 << 17,), like=x)
        return x * sum(float(np.asarray(y)[k]) for k in range(100))

    assert fd.grad(f)(2.0) == 100.0


def test_an_array_that_owns_its_memory_is_required_to_and_is_itself() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        first = y[:1]
        z = np.require(y, None, ["O"], like=y)
        z += 1
        view = np.require(y[1:], None, ["O"], like=y)
        view += 100
        return first, y

    np.testing.assert_array_equal(fd.jit(f)(X)[0], X[:1] + 1)
    np.testing.assert_array_equal(fd.jvp(f, (X,), (X,))[0][1], X + 1)


# ---- changes of the traced array -----------------------------------------------------------------


def _turned_constant(x: Any) -> Any:
    y = (np.ones_like(x.T) * 0.5)[..., None]
    z = np.asarray(y)
    y += np.roll(y, 1)
    return z


def _columns(x: Any) -> Any:
    y = np.zeros_like(x.T)
    column = np.asarray(y)[1:, 0]
    y[1:] += 2.0
    other = y.T
    other[0] -= 0.5
    return column


def _places(x: Any) -> Any:
    y = np.argsort(x, axis=0)
    z, first = np.asarray(y), y[0]
    np.put(first, [0, 1], 7)
    copy = np.array(y)
    y.sort(axis=0)
    return np.stack([z, copy])


def _stopped(x: Any) -> Any:
    y = fd.stop_gradient(x) * 1.0
    z = np.asarray(y)
    before = z * x
    y[0] = 1.0
    return before + z * x


@pytest.mark.parametrize("f", [_turned_constant, _columns, _places, _stopped])
@together
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_plain_array_sees_what_is_changed_in_the_traced_one(
    f: Make, order: tuple[int, ...]
) -> None:
    x = np.transpose(np.arange(8.0).reshape(2, 2, 2), order)

    def g(x: Any) -> Any:
        return np.sum(f(x) * np.arange(2.0)) + 0.0 * np.sum(x)

    for _ in range(3):
        np.testing.assert_array_equal(fd.vjp(f, x)[0], f(x))
        np.testing.assert_array_equal(fd.jvp(f, (x,), (x,))[0], f(x))
        assert fd.value_and_grad(g)(x)[0] == g(x)


def test_a_plain_array_that_is_in_use_cannot_hold_a_derivative() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        z = np.asarray(y)
        y += x
        return z

    with pytest.raises(
        UnsupportedNumPyError, match=r"plain array was made.*funcdiff\.numpy\.asarr"
    ):
        fd.vjp(f, X)

    def copied(x: Any) -> Any:
        y = np.zeros_like(x)
        z = np.asarray(y) * 2.0
        y += x
        return y + z

    np.testing.assert_array_equal(fd.vjp(copied, X)[0], X)


def test_what_may_be_a_copy_for_its_layout_is_not_guessed() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        z = np.ascontiguousarray(y)
        y[0] = 1.0
        return z * x

    x = np.asfortranarray(np.eye(3) * 2.0)
    np.testing.assert_array_equal(fd.vjp(f, x)[0], f(x))
    np.testing.assert_array_equal(fd.jit(f)(x), f(x))
    np.testing.assert_array_equal(fd.jit(lambda x: f(x * 2.0))(x), f(x * 2.0))
    with pytest.raises(UnsupportedNumPyError, match="plain array was made"):
        fd.jit(lambda x: f(x + np.copy(x, "C")))(x)
