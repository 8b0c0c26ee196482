"""What a mask chooses, changed and stored again, where nobody knows how many elements it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError

FD: Any = fd
X = np.array([[1.0, -1.0, -2.0], [1.0, 2.0, -2.0], [3.0, 0.0, 2.0], [-1.0, -0.5, -3.0]])


def scaled(x: Any) -> Any:
    y = x * 1.5
    y[y <= 0] *= 0.2
    return y * x


def computed(x: Any) -> Any:
    y = x * x - 1.0
    mask = y > 0
    y[mask] = np.sin(y[mask]) * x[mask] + 2.0 / (1.0 + y[mask] ** 2)
    return y


def repeated(x: Any) -> Any:
    y = +x
    y[y < 0] = -y[y < 0] * x[0]
    y[y > 1.5] -= 1.0
    return y


def of_rows(x: Any) -> Any:
    y = np.stack([x, 2 * x, x * x])
    y[x > 0] *= x
    y[np.abs(y) > 3] = 1 / y[np.abs(y) > 3]
    return np.sum(y, 0)


def kept(x: Any) -> Any:
    y = +x
    mask = y > 0
    before = y[mask]
    y[:] = 7.0
    before += 1.0
    y[mask] = before * 2
    return y * x


FUNCTIONS = [scaled, computed, repeated, of_rows, kept]
WAYS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda f: FD.vmap(f),
    "jit of vmap": lambda f: FD.jit(FD.vmap(f)),
    "vmap of jit": lambda f: FD.vmap(FD.jit(f)),
    "jit without guards": lambda f: lambda xs: np.stack([FD.jit(f, guards=False)(x) for x in xs]),
    "scan": lambda f: lambda xs: FD.scan(lambda c, x: (c, f(x)), 0.0, xs)[1],
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_stored_again_is_that_of_plain_numpy(f: Any, way: str) -> None:
    found = WAYS[way](f)
    for _ in range(3):
        np.testing.assert_allclose(found(X), [f(x) for x in X], 1e-14)


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_are_those_of_one_example_alone(f: Any) -> None:
    loss: Any = lambda x: np.sum(f(x) ** 2)
    np.testing.assert_allclose(FD.vmap(FD.grad(loss))(X), [FD.grad(loss)(x) for x in X], 1e-13)
    hessians = FD.jit(FD.vmap(FD.hessian(loss)))(X)
    np.testing.assert_allclose(hessians, [FD.hessian(loss)(x) for x in X], 1e-12, 1e-12)


USES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: np.sum(x[x > 0]),
    "returned": lambda x: x[x > 0],
    "returned in a container": lambda x: {"y": [x[x > 0]]},
    "length": lambda x: x * len(x[x > 0]),
    "loop": lambda x: sum(v for v in x[x > 0]),
    "shape": lambda x: x * x[x > 0].shape[0],
    "method": lambda x: x[x > 0].sum(),
    "index": lambda x: x[x > 0][0],
    "array": lambda x: x * np.asarray(x[x > 0]).size,
    "matrix": lambda x: x[x > 0] @ x[x > 0],
    "reduced": lambda x: np.add.reduce(x[x > 0]),
    "where": lambda x: np.exp(x[x > 0], where=False),
    "another mask": lambda x: _stored(x, x[x < 0]),
    "as long": lambda x: _stored(x, x[x > 0] * x),
    "the rest": lambda x: _stored(x, np.ones(3) * x[x > 0]),
    "flag": lambda x: 1.0 if x[x > 0] else 0.0,
    "text": lambda x: x * len(f"{x[x > 0]:}"),
}


def _stored(x: Any, values: Any) -> Any:
    y = +x
    y[y > 0] = values
    return y


@pytest.mark.parametrize("use", USES)
def test_every_other_use_is_refused(use: str) -> None:
    with pytest.raises(ConcreteValueError, match=r"test_chosen\.py"):
        FD.vmap(USES[use])(X)


def test_integers_do_not_become_floats_in_place() -> None:
    def f(x: Any) -> Any:
        k = np.round(x).astype(int)
        k[k > 0] *= 0.5
        return k

    with pytest.raises(TypeError, match="same_kind"):
        FD.vmap(f)(X)
