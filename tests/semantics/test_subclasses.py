"""Subclasses of ndarray that compute in a way of their own are refused: it would be lost."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, UnsupportedNumPyError


class Unit(np.ndarray[Any, Any]):
    """An array with a product of its own."""

    def __rmul__(self, other: Any) -> Any:
        return np.asarray(self) * other * 100

    __mul__ = __rmul__


class Periodic(np.ndarray[Any, Any]):
    """An array whose places repeat."""

    def __getitem__(self, place: Any) -> Any:
        return super().__getitem__(place % len(self))


class Weighted(np.ndarray[Any, Any]):
    """An array with a sum of its own."""

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return super().sum(*args, **kwargs) * 100


class Scaled(np.ndarray[Any, Any]):
    """An array that is a factor of its own, from the right only."""

    def __rmul__(self, other: Any) -> Any:
        return np.asarray(self) * other * 100


class Named(np.ndarray[Any, Any]):
    """An array that carries a name, and computes as others do."""

    name = "?"

    def __array_finalize__(self, other: Any) -> None:
        self.name = getattr(other, "name", "?")

    def __repr__(self) -> str:
        return self.name


X = np.arange(4.0).reshape(2, 2) + 1


def _matrix() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(X)


SPECIAL: dict[str, tuple[Any, str]] = {
    "matrix": (_matrix(), "write @ for products"),
    "masked array": (np.ma.masked_array(X, X > 2), "np.where"),
    "Unit": (X.view(Unit), "its own __rmul__ does would be lost. Use np.asarray"),
    "Periodic": (X.view(Periodic), "its own __getitem__ does would be lost"),
    "Weighted": (X.view(Weighted), "its own sum does would be lost"),
    "Scaled": (X.view(Scaled), "its own __rmul__ does would be lost"),
}

ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda m: fd.grad(np.sum)(m),
    "a leaf of a container": lambda m: fd.grad(lambda p: np.sum(p["m"]))({"m": m}),
    "jacobian": lambda m: fd.jacobian(lambda x: x * x)(m),
    "jit": lambda m: fd.jit(lambda x: x * x)(m),
    "vmap": lambda m: fd.vmap(lambda x: x * x)(m),
    "scan": lambda m: fd.scan(lambda c, x: (c, x * x), 0.0, m),
    "a cotangent": lambda m: fd.vjp(lambda x: 2 * x, X)[1](m),
    "a tangent": lambda m: fd.jvp(lambda x: 2 * x, (X,), (m,)),
}

OPERANDS: dict[str, Callable[[Any, Any], Any]] = {
    "a right operand": lambda x, m: x @ m,
    "an operand of a ufunc": lambda x, m: np.multiply(x, m),
    "an operand of a function": lambda x, m: np.dot(m, x),
    "an untaken value": lambda x, m: np.where(x > 0, x, m),
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("way", ARGUMENTS)
def test_an_array_that_computes_in_its_own_way_is_no_argument(kind: str, way: str) -> None:
    array, cure = SPECIAL[kind]
    with pytest.raises(InputError, match=f"a {kind} was given at .*{cure}") as caught:
        ARGUMENTS[way](array)
    assert Path(__file__).name in str(caught.value)


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("way", OPERANDS)
def test_an_array_that_computes_in_its_own_way_is_no_operand(kind: str, way: str) -> None:
    array, cure = SPECIAL[kind]
    with pytest.raises(UnsupportedNumPyError, match=f"a {kind} met a traced array at .*{cure}"):
        fd.grad(lambda x: np.sum(OPERANDS[way](x, array)))(X)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_product_with_a_matrix_is_not_taken_elementwise() -> None:
    with pytest.raises(UnsupportedNumPyError, match="a matrix met a traced array"):
        fd.grad(lambda x: np.sum(SPECIAL["matrix"][0] * x))(X)


@pytest.mark.parametrize("kind", SPECIAL)
def test_functions_of_networks_refuse_them_too(kind: str) -> None:
    with pytest.raises(TypeError, match=rf"nn\.softmax: x is a {kind}, at"):
        fd.nn.softmax(SPECIAL[kind][0])


def test_arrays_that_only_keep_or_show_more_than_others_are_plain(tmp_path: Path) -> None:
    mapped = np.memmap(tmp_path / "x", float, "w+", shape=(2, 2))
    mapped[:] = X
    for plain in (mapped, X.view(np.recarray), X.view(Named)):
        np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x * x))(plain), 2 * X)
        np.testing.assert_array_equal(fd.grad(lambda x, c=plain: np.sum(x * c))(X), X)
