"""In-place changes alias as in NumPy: names, views, views of views, and what is a copy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.numpy.agreement import assert_derivatives
from tests.properties.calling import every_call
from tests.together import together

X = np.random.default_rng(0).normal(size=(4, 6))


def _siblings_see_each_other(y: Any) -> Any:
    a, b = y[:3], y[1:]
    a *= 3
    b -= a[0, 0]
    return a, b, y * y


def _views_of_views(y: Any) -> Any:
    v = y.T[1:].reshape(5, 2, 2)[:, 0]
    w = y[2:, :4]
    w **= 2
    return v, w, y


def _copies_keep(y: Any) -> Any:
    kept = y.copy(), y[[0, 1]], y + 0, +y, np.concatenate([y]), np.tile(y, 1), y.flatten()
    y *= 5
    return kept, y


def _diagonals_show(y: Any) -> Any:
    d = np.diagonal(y)
    y *= 2
    return d


def _einsum_views(y: Any) -> Any:
    d = np.einsum("ii->i", y[:, :4])
    d *= 2
    t = np.einsum("ij->ji", y)
    t += 1
    return y


def _scalars_rebind(y: Any) -> Any:
    s = y[0, 0]
    t = s
    s *= 2
    return s, t, y


PROGRAMS: list[Callable[[Any], Any]] = [
    _siblings_see_each_other, _views_of_views, _copies_keep, _diagonals_show, _einsum_views,
    _scalars_rebind,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_a_changed_array_is_what_numpy_makes_of_it(f: Callable[[Any], Any]) -> None:
    def flat(x: Any) -> Any:
        return _flat(f(x.copy()))

    expected = flat(X)
    found, _ = fd.vjp(flat, X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("f", PROGRAMS, ids=[f.__name__ for f in PROGRAMS])
def test_its_derivatives_agree_in_both_modes(f: Callable[[Any], Any]) -> None:
    assert_derivatives(lambda x: _flat(f(x.copy())), X)


def _flat(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return np.concatenate([_flat(item) for item in value])
    return np.ravel(value)


@pytest.mark.parametrize(("f", "message"), [
    (lambda k: k.__iadd__(0.5), "Cannot cast ufunc 'add' output"),
    (lambda k: k.__itruediv__(2), "Cannot cast ufunc '.*divide' output"),
    (lambda k: k.__imul__(1j), "Cannot cast ufunc 'multiply' output"),
])  # fmt: skip
def test_a_result_that_does_not_fit_the_dtype_is_numpys_error(f: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        f(np.arange(3))
    with pytest.raises(TypeError, match=message):
        fd.vjp(lambda x: f(np.floor(x).astype(int)), np.arange(3.0))


def test_a_result_that_does_not_fit_the_shape_is_an_error() -> None:
    with pytest.raises(ValueError, match="non-broadcastable output operand"):
        fd.vjp(lambda x: x[0].__iadd__(x), X)


@pytest.mark.parametrize("make", [np.diagonal, lambda y: np.broadcast_to(y, (2, 4, 6))])
def test_read_only_views_cannot_be_changed(make: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        fd.vjp(lambda x: make(x).__imul__(2), X)


@pytest.mark.parametrize("write", [
    lambda y: y.imag.__setitem__(..., 3),
    lambda y: y.imag.__setitem__([0, 2], 3),
    lambda y: y.imag[:1].__setitem__(0, 3),
    lambda y: y.imag.fill(3),
    lambda y: y.imag.sort(),
    lambda y: y.imag.__iadd__(2),
    lambda y: np.imag(y).T.__setitem__(0, 4),
    lambda y: np.add(y, 1, out=y.imag),
])  # fmt: skip
def test_the_imaginary_part_of_a_real_array_is_read_only_as_in_numpy(write: Any) -> None:
    with pytest.raises(ValueError, match="read-only"):
        write(X.copy())
    with pytest.raises(ValueError, match=r"imaginary part of a real array, at '.*test_mutation"):
        fd.vjp(lambda x: (write(x), x)[1], X)


def test_a_real_array_has_no_imaginary_part_to_set() -> None:
    def f(x: Any) -> Any:
        x.imag = 3
        return x

    message = "array does not have imaginary part to set"
    with pytest.raises(TypeError, match=message):
        f(X.copy())
    with pytest.raises(TypeError, match=rf"{message}, at '.*test_mutation.py', line \d+, in f"):
        fd.vjp(f, X)


@pytest.mark.parametrize("x", [X[0], X[0] + 1j * X[1]])
def test_the_real_part_of_a_real_array_is_the_array_and_of_a_complex_one_a_view(x: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y.real *= 3
        part = y.real
        part += x.real
        y.real.real[0] = x.real[1]
        return y, part * part

    for ours, numpys in zip(fd.vjp(f, x)[0], f(x), strict=True):
        np.testing.assert_array_equal(ours, numpys)
    assert_derivatives(f, x)


def test_setting_the_dtype_names_the_line_and_the_cure() -> None:
    cure = r"at '.*test_mutation.*Write x = x\.astype\(value\)"
    with pytest.raises(UnsupportedNumPyError, match=cure):
        fd.vjp(lambda x: setattr(x, "dtype", complex), X)


def test_an_array_of_an_enclosing_trace_is_not_changed_from_inside() -> None:
    def f(x: Any) -> Any:
        y = x * 2

        def inner(z: Any) -> Any:
            v = y[:2]
            v *= z
            return z

        return fd.grad(inner)(1.0) * y.sum()

    with pytest.raises(UnsupportedNumPyError, match="enclosing trace"):
        fd.grad(f)(X)


def test_the_callers_array_is_never_written() -> None:
    x = X.copy()
    fd.grad(lambda x: np.sum(x.__imul__(3) * x))(x)
    np.testing.assert_array_equal(x, X)


@pytest.mark.slow
@together
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("change", [
    lambda y: y.reshape(-1).__setitem__(0, 5.0),
    lambda y: y.ravel().__setitem__(0, 5.0),
    lambda y: y.ravel("F").__setitem__(1, 5.0),
    lambda y: np.put(y, [0, 1], y.ravel()[:2] * 3),
    lambda y: y.reshape(-1, 1).__imul__(2),
    lambda y: np.asarray(y, order="C", like=y).__setitem__(0, 3.0),
    lambda y: y.astype(float, "F", copy=False).__setitem__(0, 3.0),
], ids=["reshape", "ravel", "columns", "put", "column", "asarray", "astype"])  # fmt: skip
@pytest.mark.parametrize(
    "start",
    [
        lambda x: x * 1.0,
        lambda x: x.T * 1.0,
        lambda x: np.copy(x.T),
        lambda x: np.copy(x.T, "C"),
        lambda x: np.zeros_like(x.T),
        lambda x: np.ones_like(x, order="F"),
        lambda x: np.full(x.shape, 0.5, order="F", like=x),
        lambda x: np.zeros(x.shape, order="F", like=x),
        lambda x: (x[None] * 1.0).transpose(2, 0, 1) * 1.0,
        lambda x: np.full_like(x, 0.5, order="F") + 1,
        lambda x: np.roll(x.T, 3, 0),
    ],
    ids=[
        "product",
        "turned",
        "like",
        "rows",
        "zeros",
        "ones",
        "full",
        "buffer",
        "three",
        "filled",
        "rolled",
    ],
)
def test_a_changed_array_keeps_its_layout_in_memory(start: Any, change: Any, order: Any) -> None:
    """Whether a later reshape is a view is decided by the layout that the array was made with."""

    def f(x: Any) -> Any:
        y = start(x)
        y += 1
        y[0] = 2.0
        change(y)
        return y * y

    x = np.asarray(X[:2, :3], order=order)
    np.testing.assert_array_equal(fd.vjp(f, x)[0], f(x))
    if order == "C":  # a point of central differences lies in rows in memory
        assert_derivatives(f, x, order=1)


def test_a_layout_is_not_guessed_where_a_value_lies_in_two_ways() -> None:
    def f(x: Any) -> Any:
        y = np.copy(x, "F") * 2.0
        y.ravel()[0] = 5.0
        return y * x

    with pytest.raises(UnsupportedNumPyError, match=r"layout in memory.*y\.flat"):
        fd.vjp(f, X)


def test_writes_through_flat_keep_the_last_bits_of_sums() -> None:
    def f(x: Any) -> Any:
        y = np.copy(x.T)
        y.flat[::7] = x[0, 0]
        z = (x * 1.0).T
        np.put(z, [1, 7], 1.1)
        u = np.copy(x.T)
        columns = u.ravel("F")[3:60]
        columns *= 2
        return np.sum(y), np.sum(z), np.sum(u)

    random = np.random.default_rng(0)
    for _ in range(20):
        x = random.normal(size=(37, 53))
        assert fd.vjp(f, x)[0] == f(x)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("f", [
    pytest.param(lambda y, k: np.add(y[k], 10, out=y[k]), id="out="),
    pytest.param(lambda y, k: y[k].fill(3.0), id="fill"),
    pytest.param(lambda y, k: y[k, 1:].__imul__(2), id="slice"),
    pytest.param(lambda y, k: y[:, k].__iadd__(y[0, 0]), id="column"),
    pytest.param(lambda y, k: y.T[k].__iadd__(1), id="of a view"),
    pytest.param(lambda y, k: y[k].reshape(2, -1)[0].sort(), id="view of it"),
    pytest.param(lambda y, k: y[k][1:].__setitem__(0, 7.0), id="element"),
    pytest.param(lambda y, k: y[k, 0, ...].__setitem__((), 7.0), id="without axes"),
    pytest.param(lambda y, k: y[k[...]].fill(3.0), id="array without axes: a copy"),
    pytest.param(lambda y, k: y[[k]].fill(3.0), id="list: a copy"),
])  # fmt: skip
def test_a_row_read_at_a_traced_position_is_a_view(f: Callable[[Any, Any], Any]) -> None:
    def changed(x: Any) -> Any:
        y = x * 1.0
        k = np.argmax(x[:, 0])
        row, before = y[k], y[k].copy()
        f(y, k)
        y[:, 1] *= row[2]
        return np.stack([y[k], row, before, *y])

    np.testing.assert_array_equal(every_call(changed, X), changed(X.copy()))
    assert_derivatives(changed, X)


def test_flat_writes_of_the_memory_itself_read_what_they_have_written() -> None:
    def f(x: Any) -> Any:
        y, z = x * 1.0, x * 1.0
        y.flat[[1, 2, 0, 5]] = y
        z.flat[1:] = z
        u = np.copy(z[:2, :2])
        np.fill_diagonal(u, u.ravel()[1:])
        np.put(z, [1, 2, 0], z.T)
        np.place(z, np.arange(z.size).reshape(z.shape) > 3, z[0])
        return y, z, u

    x = X[:, :4]
    for ours, numpys in zip(fd.vjp(f, x)[0], f(x.copy()), strict=True):
        np.testing.assert_array_equal(ours, numpys)
    assert_derivatives(f, x, order=1)
