"""``x[index] = value`` is NumPy's: the value, what is seen through views, derivatives, errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import LostDerivativeError
from tests.numpy.agreement import assert_derivatives

X = np.random.default_rng(0).normal(size=(4, 6))
V = np.random.default_rng(1).normal(size=6)
MASK = np.arange(24).reshape(4, 6) % 5 < 2

Program = Callable[[Any, Any], Any]


def _set(index: Any, value: Callable[[Any], Any]) -> Program:
    def program(y: Any, v: Any) -> Any:
        y[index] = value(v)
        return y

    return program


def _chained(y: Any, v: Any) -> Any:
    for k in range(1, 6):
        y[0, k] = np.sin(y[0, k - 1]) * v[k] + y[1, k]
    return y


def _transposed_blocks(y: Any, v: Any) -> Any:
    z = np.zeros_like(v, shape=(3, 2, 4))
    z.transpose(2, 0, 1)[1:3, :, 0] = v[:3]
    z[:, [1, 0, 1]][0] = 7.0
    np.swapaxes(z, 0, 2)[::-2, 1] += v[:3]
    np.moveaxis(z, 0, -1).reshape(2, 12)[0, 5] = v[5]
    return z


def _scalars_in_views(y: Any, v: Any) -> Any:
    s = y[0, 1, ...]
    s[...] = v[0]
    s *= v[1]
    return y, s


def _put(y: Any, v: Any) -> Any:
    np.put(y, [1, 5, 1, -2], v[:2])
    y.put([40, -30], v[2:4], mode="clip")
    np.put(y, [[25, 3]], 2.0, mode="wrap")
    return y


def _fill_diagonal(y: Any, v: Any) -> Any:
    np.fill_diagonal(y, v[0])
    np.fill_diagonal(y[:, :2], v[:3], wrap=True)
    np.fill_diagonal(y.T, v[:2])
    cube = np.zeros_like(y, shape=(3, 3, 3))
    np.fill_diagonal(cube, v[:3])
    return y, cube


def _repaired(y: Any, v: Any) -> Any:
    y[0] = np.inf
    np.nan_to_num(y, copy=False, posinf=3.0)
    return y * v


def _at(ufunc: Any) -> Program:
    def program(y: Any, v: Any) -> Any:
        y[2, 2] = 0.0
        if ufunc.nin == 1:
            ufunc.at(y, ([0, 0, 2], [1, 1, 2]))
            ufunc.at(y, slice(3, None))
            return y
        shift = 2.0 if ufunc is np.power else 0.0
        y[...] = np.abs(y)
        ufunc.at(y, ([0, 0, 2, 0, 2], [1, 1, 2, 1, 2]), np.abs(v[:5]) + shift)
        ufunc.at(y, [1, 3, 1], 1.5 + v * v)
        ufunc.at(y, (slice(1, 3), [0, 0]), 2.0)
        ufunc.at(y, 0, 2)
        return y

    return program


PROGRAMS: dict[str, Program] = {
    "axes of length one in front": _set(slice(1, 3), lambda v: v.reshape(1, 1, 6)),
    "a list of traced and other numbers": _set((0, slice(0, 3)), lambda v: [v[0], 1.0, v[1]]),
    "a constant": _set((slice(None), 1), lambda v: np.arange(4)),
    **{
        f.__name__[1:].replace("_", " "): f
        for f in (
            _chained, _transposed_blocks, _scalars_in_views, _put, _fill_diagonal, _repaired,
        )
    },
    **{
        f"{ufunc.__name__}.at": _at(ufunc)
        for ufunc in (
            np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.power,
            np.negative, np.square, np.hypot, np.fmax,
        )
    },
}  # fmt: skip
"""Beside what random programs write, in `tests/properties`."""


def _joined(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return np.concatenate([_joined(item) for item in value])
    return np.ravel(value)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_an_array_holds_what_numpy_puts_there(program: Program) -> None:
    for dtype in (np.float64, np.float32):
        x, v = X.astype(dtype), V.astype(dtype)
        expected = _joined(program(x.copy(), v))
        found = fd.vjp(lambda x, v: _joined(program(x.copy(), v)), x, v)[0]
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_its_derivatives_agree_in_both_modes(program: Program) -> None:
    assert_derivatives(lambda x, v: _joined(program(x.copy(), v)), X, V)


# ---- dtypes --------------------------------------------------------------------------------------


def test_real_and_imaginary_parts_are_written_through() -> None:
    def f(z: Any, v: Any) -> Any:
        y = z * 1
        y.real *= 3
        y.imag = v
        r = y.real
        r[1:] += v[0]
        y[::-1].imag[0] = 2.0
        y.reshape(2, 2).T.real[1] = v[1:3]
        np.real(y)[0] = v[3]
        return y

    z = np.array([1 + 2j, 3 - 1j, 0.5j, 2 + 0j])
    v = np.array([0.3, -0.7, 1.1, 2.0])
    np.testing.assert_array_equal(fd.vjp(f, z, v)[0], f(z, v))
    assert_derivatives(f, z, v)


def test_constants_are_cast_as_numpy_does() -> None:
    def f(x: Any) -> Any:
        k = np.zeros_like(x, dtype=np.int8)
        k[0], k[1:] = 2.7, np.array([-1.5, 3.9])
        b = np.zeros_like(x, dtype=bool)
        b[:2] = np.array([2, 0])
        return k * x + b

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(fd.vjp(f, x)[0], f(x))


@pytest.mark.parametrize(("dtype", "value", "error"), [
    (int, lambda x: x[0], LostDerivativeError),
    (bool, lambda x: x[:1], LostDerivativeError),
    (int, lambda x: [x[0]], LostDerivativeError),
    (float, lambda x: x[0] * 1j, TypeError),
    (float, lambda x: np.array([1j]), TypeError),
    (float, lambda x: 1j, TypeError),
    (np.int8, lambda x: 300, OverflowError),
])  # fmt: skip
def test_a_cast_that_would_lose_something_is_an_error(dtype: Any, value: Any, error: Any) -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x, dtype=dtype)
        y[:1] = value(x)
        return y

    with pytest.raises(error):
        fd.vjp(f, np.ones(3))


@pytest.mark.parametrize("write", [
    lambda y: y.__setitem__(slice(1, 3), np.ones(4)),
    lambda y: y.__setitem__((slice(None), [0, 1]), np.ones((2, 3))),
])  # fmt: skip
def test_a_value_that_does_not_fit_is_an_error(write: Any) -> None:
    with pytest.raises(ValueError, match="could not broadcast input array"):
        fd.vjp(lambda x: write(x * 1), X)


def test_a_position_out_of_bounds_is_an_index_error_under_vmap_too() -> None:
    def at(k: Any) -> Any:
        y = fnp.zeros_like(k, shape=3, dtype=float)
        y[k] = 1.0
        return y

    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        fd.vmap(at)(np.array([0, 3]))
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
        fd.vjp(lambda x: x.__setitem__(9, 1.0), X)


# ---- the transforms ------------------------------------------------------------------------------


def test_everything_is_batched_as_a_loop_would_do_it() -> None:
    def f(x: Any, v: Any, k: Any) -> Any:
        y = x + 0 * v + 0 * k
        y[k] = v
        y[[1, 0, 1]] += v[:3]
        y[y > 0.5] = v[1]
        y[2:] = y[:-2] * v[0]
        return y

    xs, vs = np.stack([V, V[::-1], -V]), np.stack([V * 2, V + 1, V - 1])[..., :6]
    ks = np.array([[0, 1, 0, 2, 3, 3], [5, 1, 2, 2, 0, 1], [-1, 0, 5, 3, 3, 0]])
    for axes in ((0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0), (0, 0, None)):
        args = [a if n == 0 else a[0] for a, n in zip((xs, vs, ks), axes, strict=True)]
        found = fd.vmap(f, axes)(*args)
        for b in range(3):
            one = [a[b] if n == 0 else a for a, n in zip(args, axes, strict=True)]
            np.testing.assert_array_equal(
                found[b], fd.vjp(lambda x, o=one: f(x, *o[1:]), one[0])[0]
            )


def test_a_loop_and_a_branch_write_into_their_own_arrays() -> None:
    def step(y: Any, k: Any) -> Any:
        z = y.copy()
        z[k + 1] = np.sin(z[k]) * z[k + 1]
        return z, z[k]

    def f(x: Any) -> Any:
        return fd.scan(step, x, np.arange(5))[0]

    def plain(x: Any) -> Any:
        y = x.copy()
        for k in range(5):
            y[k + 1] = np.sin(y[k]) * y[k + 1]
        return y

    np.testing.assert_array_equal(f(V), plain(V))
    np.testing.assert_allclose(fd.jacobian(f)(V), fd.jacobian(plain)(V), rtol=1e-12)


def test_what_is_overwritten_has_no_derivative_even_where_it_is_infinite() -> None:
    def f(x: Any) -> Any:
        y = np.sqrt(x)
        y[0] = 1.0
        y[[2, 2]] = x[1]
        return y.sum()

    np.testing.assert_array_equal(fd.grad(f)(np.array([0.0, 4.0, 0.0])), [0, 1.25, 0])
