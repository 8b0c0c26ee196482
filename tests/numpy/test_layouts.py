"""Results lie in memory as those of plain NumPy, with values and without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, pairwise, permutations
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.numpy.border.calling import note_call
from funcdiff.numpy.memory import views

X = np.sin(np.arange(6.0) + 1.0).reshape(2, 3)
Function = Callable[[Any, Any], Any]
FD: Any = fd


def _added_in_place(x: Any, y: Any) -> Any:
    z = x.copy("F")
    z += y
    z[0] = 1.0
    return z * 2.0


def _filled(x: Any, _y: Any) -> Any:
    z = np.zeros_like(x.T)
    z[...] = x.T
    z[1:] *= 2.0
    return z + x.T


FUNCTIONS: Final[dict[str, Function]] = {
    "ufuncs": lambda x, y: np.sin(x) * y - 1.0,
    "one row": lambda x, y: x * y[0],
    "a new axis": lambda x, y: np.expand_dims(x, 1) * y,
    "repeated": lambda x, y: np.broadcast_to(x, (2, *x.shape)) * y,
    "turned": lambda x, y: x.T + y.T,
    "reversed": lambda x, y: x[:, ::-1] * y,
    "a plain array": lambda x, y: x + np.asfortranarray(np.ones(x.shape)),
    "a plain array first": lambda x, y: np.asfortranarray(np.ones(x.shape)) * x,
    "matmul": lambda x, y: x @ y.swapaxes(-1, -2),
    "of matrices": lambda x, y: x[0] @ y[0].T,
    "dot": lambda x, y: x.dot(np.swapaxes(y, -1, -2)),
    "outer": np.outer,
    "tensordot": lambda x, y: np.tensordot(x, y, axes=([0], [0])),
    "einsum": lambda x, y: np.einsum("ijk,ijl->lik", x, y),
    "einsum permutes": lambda x, y: np.einsum("ijk->kij", x) * 1.0,
    "kron": lambda x, y: np.kron(x[0], y[0]),
    "where": lambda x, y: np.where(x > 0.0, x, y),
    "select": lambda x, y: np.select([x > 0.0], [x], y),
    "stack": lambda x, y: np.stack([x, y], axis=1),
    "concatenate": lambda x, y: np.concatenate([x, y], axis=2),
    "block": lambda x, y: np.block([[x], [y]]),
    "sum": lambda x, y: x.sum(axis=1),
    "mean": lambda x, y: x.mean(axis=0, keepdims=True) * y,
    "reduce": lambda x, y: np.maximum.reduce(x, axis=2),
    "accumulate": lambda x, y: np.add.accumulate(x, axis=1),
    "ufunc.outer": lambda x, y: np.subtract.outer(x[0], y[0, 0]),
    "cumsum": lambda x, y: np.cumsum(x, axis=1),
    "median": lambda x, y: np.median(x, axis=1),
    "quantile": lambda x, y: np.quantile(x, [0.2, 0.5], axis=1),
    "sort": lambda x, y: np.sort(x, axis=0),
    "argsort": lambda x, y: np.argsort(x, axis=0),
    "take": lambda x, y: np.take(x, [0, 1], axis=1),
    "index": lambda x, y: x[:, [0, 1]],
    "indices": lambda x, y: x[[0, 1], :, [1, 0]],
    "mask": lambda x, y: x[np.arange(len(x)) > 0],
    "take_along_axis": lambda x, y: np.take_along_axis(x, np.argsort(y, axis=1), axis=1),
    "roll": lambda x, y: np.roll(x, 1, axis=1),
    "rot90": lambda x, y: np.rot90(x) + y[0, 0, 0],
    "tile": lambda x, y: np.tile(x, (2, 1, 1)),
    "repeat": lambda x, y: np.repeat(x, 2, axis=1),
    "pad": lambda x, y: np.pad(x, 1),
    "tril": lambda x, y: np.tril(x),
    "clip": lambda x, y: x.clip(y, None),
    "copy": lambda x, y: x.copy(),
    "copy like": lambda x, y: np.copy(x),
    "copy in columns": lambda x, y: x.copy("F"),
    "astype": lambda x, y: x.astype(np.float32),
    "real": lambda x, y: (x + 1j * y).real * 1.0,
    "reshape": lambda x, y: x.reshape(x.shape[0], -1) * 2.0,
    "reshape turned": lambda x, y: x.T.reshape(-1, x.shape[0]),
    "transpose": lambda x, y: x.transpose(1, 2, 0) * 2.0,
    "squeeze": lambda x, y: np.squeeze(x[:1]) * 2.0,
    "diagonal": lambda x, y: np.diagonal(x) * 2.0,
    "diff": lambda x, y: np.diff(x, axis=1),
    "gradient": lambda x, y: np.gradient(x, axis=1),
    "delete": lambda x, y: np.delete(x, 0, axis=1),
    "split": lambda x, y: np.split(x, [1], axis=1)[1] * 2.0,
    "meshgrid": lambda x, y: np.meshgrid(x[0, 0], y[0, 0])[1] * 2.0,
    "inv": lambda x, y: np.linalg.inv(np.eye(3) * 5.0 + x[0, :, :1]),
    "cholesky": lambda x, y: np.linalg.cholesky(x[0] @ x[0].T + 9.0 * np.eye(3)),
    "eigh": lambda x, y: np.linalg.eigh(x[0] @ x[0].T)[1],
    "svd": lambda x, y: np.linalg.svd(x[0])[2],
    "solve": lambda x, y: np.linalg.solve(3.0 * np.eye(3), x[0]),
    "cov": lambda x, y: np.cov(x[:, :, 0]),
    "fft": lambda x, y: np.fft.rfft2(x),
    "stop_gradient": lambda x, y: FD.stop_gradient(x) * y,
    "in place": _added_in_place,
    "filled": _filled,
}  # fmt: skip


def _arguments(shape: tuple[int, ...]) -> Iterator[Any]:
    random = np.random.default_rng(0)
    for axes in permutations(range(3)):
        x = random.normal(size=[shape[k] for k in axes])
        yield x.transpose(np.argsort(axes))
    x = random.normal(size=[2 * n for n in shape])
    yield from (x[::2, ::-2, ::2], x.T.copy().T[::2, ::2, ::2])


def _order(x: Any) -> list[int]:
    """Return the order of the axes in memory, as strides: gaps and directions do not count."""
    strides = np.empty_like(x, bool, subok=False).strides
    return [k for k, n in zip(strides, np.shape(x), strict=True) if n > 1]


def _compare(f: Function, x: Any, y: Any) -> None:
    expected = f(x, y)

    def asked(x: Any, y: Any) -> Any:
        z = f(x, y)
        model = views.layout(z, settle=True)
        assert model is not None
        assert model.shape == expected.shape
        assert _order(model) == _order(expected), (x.strides, y.strides)
        return np.sum(x)

    FD.vjp(asked, x, y)
    FD.jit(asked)(x, y)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_in_memory_as_those_of_numpy(name: str) -> None:
    first, *others = _arguments((3, 3, 3))
    for x, y in ((first, first), (others[4], first), (first, others[3]), (others[-1], others[-1])):
        _compare(FUNCTIONS[name], x, y)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 3, 1)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_of_all_layouts_lie_in_memory_as_those_of_numpy(name: str, shape: Any) -> None:
    f, given = FUNCTIONS[name], [*_arguments(shape)]
    for x, y in chain(zip(given, given, strict=True), pairwise(given)):
        try:
            f(x, y)
        except (ValueError, IndexError):  # not of this shape
            return
        _compare(f, x, y)


PRODUCTS: Final[dict[str, Callable[[Any], Any]]] = {
    "product": lambda x: x @ x.T,
    "elements": lambda x: np.exp(x @ x.T),
    "distances": lambda x: np.sqrt(((x[:, None] - x[None]) ** 2).sum(2) + 1.0),
    "chosen": lambda x: np.where(np.eye(3) > 0.0, x @ x.T, 0.5),
    "stacked": lambda x: np.stack([x[:, 0], x[:, 1], x[:, 0]]),
    "inverse": lambda x: np.linalg.inv(x @ x.T + np.eye(3)),
}


@pytest.mark.parametrize("make", PRODUCTS)
def test_a_diagonal_is_written_through_a_view_of_one_axis(make: str) -> None:
    def f(x: Any) -> Any:
        k = PRODUCTS[make](x)
        k.reshape(-1)[:: len(k) + 1] += x[0, 0] ** 2
        k.ravel()[1] *= 3.0
        return np.sum(k * np.arange(9.0).reshape(3, 3))

    def by_index(x: Any) -> Any:
        k = PRODUCTS[make](x)
        k = k + np.eye(3) * x[0, 0] ** 2
        return np.sum(k * np.array([[0.0, 3.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]))

    for lay_out in (np.ascontiguousarray, np.asfortranarray):
        x = lay_out(np.sin(np.arange(6.0)).reshape(3, 2) + 0.1)
        for transform in (FD.grad, FD.hessian, lambda f: FD.jit(FD.grad(f))):
            np.testing.assert_allclose(transform(f)(x), transform(by_index)(x), rtol=1e-12)
        rows = np.stack([x, 2.0 * x])
        found = FD.vmap(FD.grad(f))(rows)
        np.testing.assert_allclose(found, [FD.grad(by_index)(x) for x in rows], rtol=1e-12)


def _shaped_anew(x: Any) -> Any:
    y = x.copy()
    z = np.sort(y, axis=0)
    y.shape = (3, 2)
    return z


def _given(x: Any) -> Any:
    y = np.zeros((3, 3), order="F", like=x)
    np.dot(x.T, x, y)
    return y * 2.0


def _given_to_a_ufunc(x: Any) -> Any:
    y = np.zeros(x.shape, order="F", like=x)
    return np.add(x, 1.0, out=y) * 2.0


SAME_VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "tiled once": lambda x: np.tile(x, (1, 1)) * 2.0,
    "joined alone": lambda x: np.concatenate([x]) * 2.0,
    "repeated once": lambda x: np.repeat(x, 1, axis=0) * 2.0,
    "not rolled": lambda x: np.roll(x, 0, axis=0) * 2.0,
    "not padded": lambda x: np.pad(x, 0) * 2.0,
    "in rows": lambda x: np.copy(x, "C") * 2.0,
    "in columns": lambda x: np.copy(x, "F") * 2.0,
    "ones": lambda x: np.ones_like(x, order="F") * x[0],
    "ones and a number": lambda x: (np.ones_like(x, order="F") * x[0], x.copy() * 1.0)[1],
    "twos": lambda x: np.ones_like(x, order="F") * 2.0 * x[0],
    "of another shape": _shaped_anew,
    "given": _given,
    "given to a ufunc": _given_to_a_ufunc,
}


def _value(f: Any) -> Any:
    return lambda x: FD.vjp(f, x)[0]


@pytest.mark.parametrize("make", SAME_VALUES)
def test_arrays_of_one_value_are_not_taken_for_one_another(make: str) -> None:
    """A write is refused if it is not known whether it is one into a view."""

    def f(x: Any) -> Any:
        y = SAME_VALUES[make](x)
        y.reshape(-1)[1] = 7.0
        return y * x[0, 0]

    for x in (np.ascontiguousarray(X), np.asfortranarray(X)):
        for transform in (FD.jit, _value):
            try:
                found = transform(f)(x)
            except UnsupportedNumPyError:
                continue
            np.testing.assert_allclose(found, f(x), rtol=1e-15)


def test_long_chains_are_followed() -> None:
    def f(x: Any) -> Any:
        for _ in range(3000):
            x = np.cos(x) @ np.eye(2)
        x.reshape(-1)[0] = 1.0
        return np.sum(x)

    assert FD.grad(f)(np.eye(2)).shape == (2, 2)


def test_arrays_of_the_users_are_not_written_to() -> None:
    """Layouts are found of arrays that are filled; a result may be a view of a plain array."""
    plain = np.arange(4.0).reshape(2, 2)

    def f(x: Any) -> Any:
        y = x * 1.0
        note_call(lambda plain, _: plain[::-1], (plain, x), {}, y)
        z = np.dot(y, x)
        z.reshape(-1)[0] = 1.0
        return np.sum(z)

    for transform in (FD.grad, lambda f: FD.jit(FD.grad(f))):
        transform(f)(np.eye(2))
        assert plain.tolist() == [[0.0, 1.0], [2.0, 3.0]]


@pytest.mark.parametrize("count", range(5))
def test_a_value_of_another_trace_is_no_argument_of_the_same_number(count: int) -> None:
    def inner(x: Any) -> Any:
        for _ in range(count):  # each is a variable of the outer trace, with the next number
            x = np.sin(x)

        def f(y: Any) -> Any:
            z = np.concatenate([x, y])
            z.reshape(-1)[0] = 2.0
            return np.sum(z * z)

        return np.sum(FD.grad(f)(np.ones((2, 2))))

    assert FD.vjp(inner, np.ones((2, 2)))[0] == 8.0


def test_a_function_of_the_users_is_not_called_again() -> None:
    calls = []

    def doubled(v: Any) -> Any:
        calls.append(1)
        return 2.0 * v

    def f(x: Any) -> Any:
        y = np.apply_along_axis(doubled, 1, x)
        count = len(calls)
        with pytest.raises(UnsupportedNumPyError, match="layout in memory"):
            y.reshape(-1)[0] = 1.0
        assert len(calls) == count
        return np.sum(x)

    FD.jit(f)(np.eye(3))
