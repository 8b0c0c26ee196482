"""Whose memory a change in place reaches: buffers, copies of copies, parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import ConcreteValueError, LostDerivativeError, UnsupportedNumPyError

X = np.random.default_rng(0).normal(size=(3, 3))
Z = X + 1j * X.T[::-1]


def _turned_under_a_new_axis(y: Any) -> Any:
    y[None] = y.T
    return y


def _same_place_of_another_array(y: Any) -> Any:
    z = y * 2
    rows = slice(1, 3)
    z[rows] = y[rows]
    z[0] = y[0]
    return z


def _view_of_an_array_without_axes(y: Any) -> Any:
    total = np.asarray(np.sum(y), like=y)
    row = total.reshape(1)
    row[0] = 5.0
    every = total[...]
    every += y[0, 0]
    return total, row, y


def _array_that_owns_its_memory(y: Any) -> Any:
    y = y.copy()
    first = y[:1]
    z = np.require(y, requirements=["O"], like=y)
    z += y[0, 0]
    return first, z, y


def _placed_from_itself(y: Any) -> Any:
    np.place(y, np.eye(3) > 0, y[::-1])
    return y


WRITES: list[Callable[[Any], Any]] = [
    _turned_under_a_new_axis, _same_place_of_another_array, _view_of_an_array_without_axes,
    _array_that_owns_its_memory, _placed_from_itself,
]  # fmt: skip


def _imaginary_part_onto_the_real_one(y: Any) -> Any:
    np.place(y.real, np.eye(3) > 0, y.imag)
    return y


def _real_part_onto_the_number(y: Any) -> Any:
    y.flat[1:] = y.real[::-1]
    return y


def _imaginary_part_along_the_flat_array(y: Any) -> Any:
    y.real.flat[:4] = y.imag[1:]
    return y


PARTS: list[Callable[[Any], Any]] = [
    _imaginary_part_onto_the_real_one, _real_part_onto_the_number,
    _imaginary_part_along_the_flat_array,
]  # fmt: skip


@pytest.mark.parametrize(
    ("f", "x"), [*((f, X) for f in WRITES), *((f, Z) for f in PARTS)],
    ids=[f.__name__.strip("_") for f in (*WRITES, *PARTS)],
)  # fmt: skip
def test_a_write_reaches_what_it_reaches_in_numpy(f: Callable[[Any], Any], x: Any) -> None:
    def of_copy(x: Any) -> Any:
        return fd.pytree.map(lambda leaf: leaf * 1, f(x * 1))

    expected = of_copy(x)
    for found in (fd.vjp(of_copy, x)[0], fd.jit(of_copy)(x)):
        assert fd.pytree.flatten(found)[1] == fd.pytree.flatten(expected)[1]
        for ours, numpys in zip(
            fd.pytree.flatten(found)[0], fd.pytree.flatten(expected)[0], strict=True
        ):
            np.testing.assert_array_equal(ours, numpys)


def _flattened(x: Any) -> None:
    x.reshape(-1)[:2] *= 3


def _flattened_backwards(x: Any) -> None:
    x[..., ::-1].reshape(-1)[0] = 5.0


def _flattened_after_a_change(x: Any) -> None:
    x += 1
    y = x.ravel()
    y[0] = y[1]


def _made_contiguous(x: Any) -> None:
    y = fnp.ascontiguousarray(x)
    y[0] *= x[-1]


def _copied_and_flattened(x: Any) -> None:
    y = x.copy()
    y.ravel()[1] = 5.0
    x *= y


def _placed_from_a_part_of_it(x: Any) -> None:
    np.place(x, np.arange(x.size).reshape(x.shape) > 1, x[::-1])


def _packed(y: Any) -> Any:
    records = np.zeros(4, [("name", "S1"), ("value", float)])
    records["value"] = y[0, :4]
    return records


_LARGE = np.arange(1.0, 37.0).reshape(6, 6)
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "gaps": lambda y: y[::2, ::2],
    "some columns": lambda y: y[:2, 1:4],
    "reversed rows": lambda y: y[::-1],
    "both axes reversed": lambda y: y[::-2, ::-1],
    "columns with gaps": lambda y: y[:, ::3].T,
    "one axis with gaps": lambda y: y[1, ::2],
    "one axis reversed": lambda y: y[1, ::-1],
}


@pytest.mark.parametrize(
    "lay_out", [*LAYOUTS.values(), lambda y: _packed(y)["value"]], ids=[*LAYOUTS, "packed records"]
)
@pytest.mark.parametrize(
    "write",
    [_flattened, _flattened_backwards, _flattened_after_a_change, _made_contiguous,
     _copied_and_flattened, _placed_from_a_part_of_it],
)  # fmt: skip
def test_an_argument_lies_in_memory_as_what_was_given_for_it(
    write: Callable[[Any], Any], lay_out: Callable[[Any], Any]
) -> None:
    def f(x: Any) -> Any:
        write(x)
        return np.sum(x * np.arange(1.0, x.size + 1).reshape(x.shape))

    def plain(change: Any = 0.0) -> Any:
        x = lay_out(_LARGE.copy())
        x += change
        return f(x)

    x = lay_out(_LARGE)
    directions = np.eye(x.size).reshape(-1, *x.shape)
    # exact for a function of the second degree
    slopes = [(plain(t) - plain(-t)) / 2 for t in directions]
    value, gradient = fd.value_and_grad(f)(x)
    np.testing.assert_allclose(value, plain(), rtol=1e-14)
    np.testing.assert_allclose(np.ravel(gradient), slopes, rtol=1e-12)
    of_gradient = fd.jvp(lambda x: fd.grad(f)(x), (x,), (directions[0],))[0]
    np.testing.assert_allclose(np.ravel(of_gradient), slopes, rtol=1e-12)


def _in_a_batch(transform: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that has `transform` see its argument as the second one of a batch."""

    def f(x: Any) -> Any:
        low, high = np.lib.array_utils.byte_bounds(x)
        pool = np.ones((2, (high - low) // x.itemsize))
        start = x.__array_interface__["data"][0] - low
        batch: Any = np.ndarray((2, *x.shape), float, pool, start, (pool.strides[0], *x.strides))
        batch[1] = x
        return transform(batch)[1]

    return f


WAYS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "grad": fd.grad,
    "jit of grad": lambda f: fd.jit(fd.grad(f)),
    "jit of grad with a branch": lambda f: fd.jit(
        fd.grad(lambda x: f(x) if np.sum(x) > 0 else np.sum(x))
    ),
    "vmap of grad": lambda f: _in_a_batch(fd.vmap(fd.grad(f))),
    "vmap of jit": lambda f: _in_a_batch(fd.vmap(fd.jit(fd.grad(f)))),
    "jit of vmap": lambda f: _in_a_batch(fd.jit(fd.vmap(fd.grad(f)))),
    "gradient of a gradient": lambda f: fd.grad(lambda x: np.sum(fd.grad(f)(x)) + f(x * 1.0) * 0.0),
    "forward Jacobian": lambda f: fd.jacobian(f, mode="forward"),
    "jit of Hessian": lambda f: fd.jit(fd.hessian(f)),
}


@pytest.mark.thinned(8)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    "write", [_flattened, _flattened_backwards, _made_contiguous, _copied_and_flattened]
)
def test_calls_with_other_layouts_are_other_calls(
    way: Callable[[Any], Any], write: Callable[[Any], Any]
) -> None:
    def of(written: Callable[[Any], Any]) -> Any:
        def f(x: Any) -> Any:
            written(x)
            return np.sum(x * x * np.arange(1.0, x.size + 1).reshape(x.shape))

        return way(f)

    square = np.arange(1.0, 17.0).reshape(4, 4)
    given = [
        square[:2, :2].copy(), square[::2, ::2], square[:2, :2].copy("F"), square[1::-1, :2],
        square[0], square.ravel()[::4], square.ravel()[3::-1],
    ]  # fmt: skip
    again = of(write)
    for x in (*given, *reversed(given), *given):
        # traced alone, with a function that is new
        np.testing.assert_array_equal(again(x), of(lambda x: write(x))(x))


def _of_the_value(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fd.grad(lambda x: (np.sum(x), f(x)), has_aux=True)(x)[1]


@pytest.mark.parametrize("way", [fd.jit, _in_a_batch, _of_the_value])
def test_whether_memory_is_shared_is_asked_for_every_layout(way: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        made = (
            x.ravel(), x.reshape(-1), x[::2], fnp.ascontiguousarray(x), x.ravel("K"),
            x.reshape(2, 3, -1), x.T.reshape(-1),
        )  # fmt: skip
        return np.array([np.may_share_memory(x, y) for y in made])

    again = _in_a_batch(fd.vmap(f)) if way is _in_a_batch else way(f)
    rows = np.arange(1.0, 37.0).reshape(6, 6)
    for x in (rows[0], rows[:, 0], rows.T[0], rows[0, ::-1], rows, rows.T, rows[::2], rows) * 2:
        np.testing.assert_array_equal(again(x), f(x))


def test_slices_that_leave_out_rows_are_not_taken_for_one_axis() -> None:
    def f(x: Any) -> Any:
        return np.array(np.may_share_memory(x, x[:, ::2].reshape(4, -1)))

    x = np.arange(12.0).reshape(2, 3, 2)
    for given in (x, np.repeat(x, 2, axis=1)[:, ::2], np.arange(16.0).reshape(2, 4, 2)[:, :3]):
        assert fd.jit(f)(given) == _of_the_value(f)(given) == f(given)


def test_a_part_at_a_traced_place_has_the_layout_of_the_argument() -> None:
    def f(x: Any) -> Any:
        row = x[np.argmax(x[:, 0])]
        row.ravel()[0] = 5.0
        return np.sum(row * row) + np.sum(x * 0.5)

    x = np.arange(12.0).reshape(3, 4)
    lay_outs: list[Callable[[Any], Any]] = [np.asarray, np.transpose, lambda y: y[:, ::2]]
    for lay_out in lay_outs:
        expected = f(lay_out(x.copy()))
        for of in (fd.value_and_grad(f), fd.jit(fd.value_and_grad(f))):
            assert of(lay_out(x))[0] == expected


def test_elements_that_overlap_are_copied_into_one_axis() -> None:
    def f(x: Any) -> Any:
        y = x.ravel()
        y[0] = 5.0
        return np.sum(x) + np.sum(y * y)

    row = np.arange(1.0, 5.0)
    for x in (np.broadcast_to(row, (2, 4)), np.lib.stride_tricks.sliding_window_view(row, 2)):
        for of in (fd.value_and_grad(f), fd.jit(fd.value_and_grad(f))):
            assert of(x)[0] == f(x)


def test_a_way_that_asks_for_the_layout_is_traced_once_for_each_layout() -> None:
    traced = []

    def f(x: Any) -> Any:
        traced.append(x)
        return x * 2.0 if np.sum(x) > 0 else x * np.may_share_memory(x, x.ravel())

    jitted = fd.jit(f)
    x = np.arange(1.0, 7.0)
    given = [x[:3], -x[:3], -x[::2], x[::2]]
    for y in given:
        np.testing.assert_array_equal(jitted(y), f(y))
    del traced[:]
    for y in given * 3:
        np.testing.assert_array_equal(jitted(y), f(y))
    assert (
        len(traced) <= 12 + 1
    )  # by the plain calls, and for the layout that came before it counted


def test_ways_that_hold_for_one_layout_are_kept_only_where_layouts_are_told_apart() -> None:
    def f(x: Any) -> Any:
        return x * np.may_share_memory(x, x.ravel()) if np.sum(x) > 0 else x

    jitted, x = fd.jit(f), np.ones(3)
    before = jitted._new_guards()  # which another thread may be running still
    trace = jitted.trace_call(x).trace
    for guards, count in [(before, 0), (jitted._new_guards(), 1)]:
        np.testing.assert_array_equal(guards.enter(trace, [x]), x)
        assert guards.leaves == count


_FLAGS: tuple[str, ...] = (
    "c_contiguous", "f_contiguous", "contiguous", "fnc", "forc", "fortran", "writeable", "aligned",
    "behaved", "carray", "farray", "writebackifcopy",
)  # fmt: skip


@pytest.mark.parametrize("lay_out", [*LAYOUTS.values(), lambda y: y, lambda y: y.T])
@pytest.mark.parametrize(
    "make",
    [lambda x: x, lambda x: x.T, lambda x: x * 2, lambda x: x[None], lambda x: np.sum(x),
     lambda x: np.broadcast_to(x, (2, *x.shape)), lambda x: x[..., ::2], lambda x: x.copy("F")],
)  # fmt: skip
def test_flags_are_those_of_the_plain_array(
    make: Callable[[Any], Any], lay_out: Callable[[Any], Any]
) -> None:
    def f(x: Any) -> Any:
        flags = make(x).flags
        return 0.0 * np.sum(x), (
            *(getattr(flags, name) for name in _FLAGS), flags["C"]
        )  # fmt: skip

    x = lay_out(_LARGE.copy())
    ours = fd.grad(f, has_aux=True)(x)[1]
    numpys = f(x)[1]
    assert ours == numpys
    assert fd.grad(lambda x: np.sum(x) * np.isfortran(x))(x).max() == np.isfortran(x)


def test_flags_are_those_of_an_array_in_c_order_where_no_value_tells_and_none_is_set() -> None:
    def f(x: Any) -> Any:
        assert x.flags.writeable
        return np.sum(x) if x.flags.c_contiguous else np.sum(x * 2)

    def protected(x: Any) -> Any:
        x.flags.writeable = False
        return np.sum(x)

    np.testing.assert_allclose(fd.jit(f)(X), np.sum(X), rtol=1e-14)
    with pytest.raises(UnsupportedNumPyError, match=r"flags.writeable = False was met at .*line"):
        fd.grad(protected)(X)
    with pytest.raises(UnsupportedNumPyError, match="Leave it out"):
        fd.grad(lambda x: (x.flags.__setitem__("W", False), np.sum(x))[1])(X)
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        fd.grad(lambda x: x.flags.foo)(X)


def test_a_buffer_like_a_copy_that_a_reshape_made_lies_in_memory_as_in_numpy() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = np.zeros_like(y[::2, ::2].reshape(2, 2).reshape(4, 1).reshape(2, 2))
        z.ravel()[1] = 5.0
        return z * y[0, 0]

    for x in (X, np.asfortranarray(X)):
        np.testing.assert_array_equal(fd.vjp(f, x)[0], f(x))


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_layout_that_was_made_some_operations_ago_is_not_guessed(steps: int) -> None:
    def f(x: Any) -> Any:
        y = np.copy(x, order="F")
        for _ in range(steps):
            y = np.sin(y)
        flat = y.reshape(-1)
        flat[1] = 5.0
        return np.sum(y * np.arange(6.0).reshape(2, 3))

    x = np.linspace(1.0, 2.0, 6).reshape(2, 3)
    try:
        found = fd.value_and_grad(f)(x)[0]
    except UnsupportedNumPyError as error:
        assert "layout in memory, which is not known" in str(error)  # noqa: PT017
    else:
        np.testing.assert_allclose(found, f(x), rtol=1e-14)


REVERSED: list[Callable[[Any], Any]] = [
    lambda y: y[::-1][:2].__setitem__(slice(None), 5.0),
    lambda y: y[:, ::-1][0].__setitem__(slice(0, 2), 7.0),
    lambda y: y[2:0:-1, 3:1:-1].fill(3.0),
    lambda y: y.T[::-1][1].__iadd__(3),
    lambda y: np.flip(y)[0].fill(9.0),
    lambda y: np.negative(y[::-1, ::-1][1:, 1:], out=y[::-1, ::-1][1:, 1:]),
]


@pytest.mark.parametrize("write", REVERSED)
def test_a_part_of_a_reversed_view_is_written_where_it_is(write: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        whole = y[:]
        write(y)
        return whole

    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(fd.jvp(f, (x,), (x,))[0], f(x))
    np.testing.assert_array_equal(fd.jit(f)(x), f(x))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(1, 8), (8, 1), (1, 8, 1)])
def test_scattered_parts_of_arrays_with_axes_of_one_are_written(
    shape: tuple[int, ...], order: Any
) -> None:
    def f(x: Any) -> Any:
        y = np.copy(x, order=order)
        y.reshape(2, 2, 2)[:, 0, :] *= 3.0
        y.reshape(2, 2, 2).T[0, :, ::-1] += 1.0
        return y

    x = np.arange(8.0).reshape(shape)
    np.testing.assert_array_equal(fd.jvp(f, (x,), (x,))[0], f(x))
    np.testing.assert_array_equal(fd.jit(f)(x), f(x))


# ---- buffers -------------------------------------------------------------------------------------

PLAIN = np.array([1.0, 2.0, 3.0])
BUFFERS: list[Callable[[Any], Any]] = [
    lambda np_: np_.zeros(3),
    lambda np_: np_.ones((3,)),
    lambda np_: np_.full(3, 2.5),
    lambda np_: np_.full(shape=3, fill_value=[1.0, 2.0, 3.0]),
    lambda np_: np_.zeros(3, np.float32),
    lambda np_: np_.ones(3, dtype=complex),
    lambda np_: np_.zeros_like(PLAIN),
    lambda np_: np_.ones_like(PLAIN, dtype=np.float32),
    lambda np_: np_.full_like(PLAIN, 2.5, shape=(3,)),
]


@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_buffer_takes_traced_values_in_every_trace(buffer: Callable[[Any], Any]) -> None:
    def f(x: Any, namespace: Any = fnp) -> Any:
        out = buffer(namespace)
        out[0] = x
        out[1] += 2 * x
        return np.abs(out) ** 2

    expected = f(1.5, np)
    y, t = fd.jvp(f, (1.5,), (1.0,))
    np.testing.assert_allclose(y, expected, rtol=1e-7)
    assert y.dtype == expected.dtype
    step = 1e-3
    np.testing.assert_allclose(t, (f(1.5 + step, np) - f(1.5 - step, np)) / (2 * step), rtol=1e-3)
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(f(x)))(1.5), np.sum(t), rtol=1e-6)
    np.testing.assert_allclose(fd.jit(f)(1.5), expected, rtol=1e-7)
    rows = [f(1.5, np), f(-2.0, np)]
    np.testing.assert_allclose(fd.vmap(f)(np.array([1.5, -2.0])), rows, rtol=1e-7)


def test_an_empty_buffer_is_filled() -> None:
    def f(x: Any) -> Any:
        out = fnp.empty((2, 3))
        for k in range(3):
            out[:, k] = x**k
        like = fnp.empty_like(PLAIN)
        np.multiply(out[0], 2.0, out=like)
        return np.sum(out) + np.sum(like)

    assert fd.grad(f)(2.0) == 4 + 4 * 4
    assert fd.jit(fd.grad(f))(2.0) == 20


def test_a_buffer_in_a_loop_is_a_carry() -> None:
    def f(x: Any) -> Any:
        def step(k: Any, out: Any) -> Any:
            out = out.copy()
            out[k] = x**k
            return out

        return np.sum(fd.fori_loop(0, 4, step, fnp.zeros(4)))

    assert fd.grad(f)(2.0) == 1 + 4 + 12


def test_nothing_traced_gives_numpys_own() -> None:
    for buffer in BUFFERS:
        made = buffer(fnp)
        assert type(made) is np.ndarray
        np.testing.assert_array_equal(made, buffer(np))
    assert fnp.zeros_like([1, 2]).dtype == int


def test_a_buffer_that_nothing_was_stored_in_is_a_constant() -> None:
    def f(x: Any) -> Any:
        assert float(fnp.ones(())) == 1
        assert np.asarray(fnp.zeros(2)).tolist() == [0, 0]
        assert fnp.zeros(2, object).dtype == object
        return x * len(fnp.zeros(3))

    assert fd.grad(f)(2.0) == 3
    assert fd.jit(f)(2.0) == 6


def test_other_arrays_are_numpys_and_say_how_to_store() -> None:
    def f(make: Callable[[], Any]) -> Callable[[Any], Any]:
        def stored(x: Any) -> Any:
            out = make()
            out[0] = x
            return np.sum(out)

        return stored

    cure = r"funcdiff.numpy.zeros\(shape\).*np.array\(y, like=x\)"
    for make in (lambda: fnp.arange(3.0), lambda: fnp.linspace(0, 1, 3), lambda: np.zeros(3)):
        with pytest.raises(LostDerivativeError, match=cure):
            fd.grad(f(make))(1.5)
        with pytest.raises(ConcreteValueError, match=cure):
            fd.jit(f(make))(1.5)
    assert fd.grad(lambda x: f(lambda: np.array(fnp.arange(3.0), like=x))(x))(1.5) == 1


@pytest.mark.parametrize("call", [fd.grad, lambda f: fd.jit(fd.grad(f))])
def test_a_constant_that_is_a_copy_of_another_has_its_layout(call: Any) -> None:
    def f(x: Any) -> Any:
        ones = fnp.ones(x.shape)
        copied = ones.astype(np.float32, order="K")
        squared = copied * copied
        assert np.shares_memory(squared.ravel(), squared)
        return np.sum(squared * x)

    np.testing.assert_array_equal(call(f)(X), np.ones((3, 3)))
