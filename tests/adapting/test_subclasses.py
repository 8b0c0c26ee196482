"""Traced arrays of classes derived from ndarray have the class where NumPy's results have it.

Numbers of classes derived from float have it where they are made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.adapting.copies import BUILTINS
from funcdiff.adapting.rewriting import rewrite
from funcdiff.adapting.runtime import method, new, view
from funcdiff.errors import UnsupportedNumPyError

TEXT = '''
import numpy as np

class Tagged(np.ndarray):
    """An array with an attribute, a method, a property, and an operator of its own."""

    def __new__(cls, value, tag=None):
        found = np.asarray(value).view(cls)
        found.tag = tag
        return found

    def __array_finalize__(self, parent):
        self.tag = getattr(parent, "tag", None)

    def norm(self):
        return np.sqrt(np.sum(np.asarray(self) ** 2))

    @property
    def first(self):
        return self[0]

    def __matmul__(self, other):
        return super().__matmul__(other) * 2

class Copied(np.ndarray):
    """An array whose results are plain, made from memory."""

    def __new__(cls, value):
        return super().__new__(cls, np.shape(value), float, value)

    def __array_wrap__(self, out, context=None, return_scalar=False):
        return np.asarray(out)
'''


def _classes_of_a_package() -> tuple[Any, Any]:
    names: dict[str, Any] = {"__builtins__": BUILTINS, "__name__": "package"}
    exec(rewrite(TEXT, "package"), names)
    return names["Tagged"], names["Copied"]


Tagged, Copied = _classes_of_a_package()
TAGGED, MATRIX = Tagged([2.0, 0.0, 0.1], tag="t"), Tagged(np.ones((3, 3)), tag="t")
COPIED = Copied(np.array([2.0, 0.0, 0.1]))


CALLS: dict[str, Callable[[Any], Any]] = {
    "a product": lambda x: x * 2 + 1,
    "from the right": lambda x: np.ones(3) + x,
    "an element from the left": lambda x: x[1] * x,
    "an element in a ufunc": lambda x: np.arctan2(x[1], x),
    "with a plain array": lambda x: fnp.asarray(x) + x,
    "a ufunc": np.sin,
    "a comparison": lambda x: x > 0.1,
    "a slice": lambda x: x[1:],
    "an element": lambda x: x[0],
    "places": lambda x: x[[0, 2]],
    "a sum": lambda x: x.sum(),
    "NumPy's sum": np.sum,
    "a mean": lambda x: np.mean(x),
    "a norm": np.linalg.norm,
    "our norm": fnp.linalg.norm,
    "our sum": fnp.sum,
    "our product": lambda x: fnp.dot(x, np.ones((3, 3))),
    "ours joined": lambda x: fnp.concatenate([x, x]),
    "a row": lambda x: x.reshape(1, 3),
    "transposed": lambda x: x.T,
    "joined": lambda x: np.concatenate([x, x]),
    "stacked": lambda x: np.stack([x, x]),
    "chosen": lambda x: np.where(x > 0, x, 0.0),
    "a copy": lambda x: x.copy(),
    "NumPy's product": lambda x: np.dot(x, np.ones((3, 3))),
    "outer": lambda x: np.outer(x, x),
    "sorted": lambda x: np.sort(x),
    "cut": lambda x: np.split(x, 3),
    "an iteration": lambda x: next(iter(x)),
    "a label": lambda x: np.einsum("i,i->i", x, x),
    "a plain array": fnp.asarray,
    "any array": fnp.asanyarray,
    "a new array": fnp.array,
    "its own product": lambda x: x @ np.ones((3, 3)),
}
X = np.array([0.1, 0.2, 0.3])
METHODS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a product": (lambda x: method(Tagged([2.0, 1.0, 3.0], tag="t").dot, x), ""),
    "bounds": (lambda x: method(Tagged([2.0, 0.0, 0.1], tag="t").clip, max=x), "t"),
    "an operator": (lambda x: Tagged([2.0, 0.0, 0.1], tag="t") * x, "t"),
    "an operator from the right": (lambda x: x - Tagged([2.0, 0.0, 0.1], tag="t"), "t"),
    "a number": (lambda x: x[0] * Tagged([2.0, 0.0, 0.1], tag="t"), "t"),
    "what was made before": (lambda x: TAGGED * x, "t"),
    "what was made before, from the right": (lambda x: x - TAGGED, "t"),
    "a number and what was made before": (lambda x: x[0] * TAGGED, "t"),
    "a ufunc": (lambda x: np.arctan2(x, TAGGED), "t"),
    "its own product": (lambda x: MATRIX @ x, "t"),
    "what is made plain": (lambda x: COPIED * np.sin(x), ""),
}


@pytest.mark.parametrize("name", METHODS)
def test_plain_arrays_of_a_class_meet_traced_ones(name: str) -> None:
    f, tag = METHODS[name]
    seen = []

    def total(x: Any) -> Any:
        y = f(x)
        seen.append(getattr(y, "tag", ""))
        return np.sum(y)

    found = fd.value_and_grad(total)(X)
    assert found[0] == total(X)
    assert seen == [tag] * len(seen)
    h = 1e-6
    slopes = [(total(X + h * e) - total(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(found[1], slopes, 1e-6)


def _classes(y: Any) -> Any:
    if isinstance(y, list | tuple):
        return list(map(_classes, y))
    return isinstance(y, np.ndarray), isinstance(y, Tagged), getattr(y, "tag", None)


@pytest.mark.parametrize("name", CALLS)
def test_a_result_has_the_class_that_numpys_has(name: str) -> None:
    f = CALLS[name]
    expected = f(Tagged(X, tag="t"))
    seen = []

    def total(x: Any) -> Any:
        y = f(Tagged(x, tag="t"))
        seen.append(_classes(y))
        return sum(np.sum(fnp.asarray(part, float)) for part in (y if isinstance(y, list) else [y]))

    for derive in (fd.grad(total), fd.jit(fd.grad(total)), fd.hessian(total)):
        derive(X)
    assert all(classes == _classes(expected) for classes in seen)
    plain = np.sum([np.sum(np.asarray(y, float)) for y in np.atleast_1d(expected)])
    np.testing.assert_allclose(fd.value_and_grad(total)(X)[0], plain)


def program(x: Any) -> Any:
    a = Tagged(x, tag=3.0)
    b = np.sin(a * 2) + a.first * a
    b[0] = b[1] * b.tag
    return b.norm() + np.sum((b @ np.ones((3, 3))) ** 2) + np.sum(Copied(b) * Copied(x))


def test_every_order_and_mode_agrees() -> None:
    derive = fd.grad(program)
    for k in range(9):
        x = X + 0.1 * k
        numeric = [(program(x + h) - program(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(derive(x), numeric, 1e-7)
    np.testing.assert_allclose(fd.jit(derive)(X), derive(X))
    np.testing.assert_allclose(fd.jacfwd(program)(X), derive(X))
    np.testing.assert_allclose(fd.vmap(derive)(np.stack([X, 2 * X])), [derive(X), derive(2 * X)])
    H = fd.hessian(program)(X)
    np.testing.assert_allclose(
        H, [(derive(X + h) - derive(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)], 1e-6
    )


def test_a_class_can_make_its_results_plain() -> None:
    def f(x: Any) -> Any:
        y = Copied(x)
        assert isinstance(y, Copied)
        assert isinstance(y[1:], Copied)
        assert not isinstance(y * 2, Copied)
        return np.sum(y * y)

    np.testing.assert_allclose(fd.grad(f)(X), 2 * X)
    assert f(X) == np.sum(X * X)


def test_a_view_shows_what_is_written_to_its_base() -> None:
    def f(x: Any) -> Any:
        base = x * 1
        shown = view(base, Tagged)
        base[0] = 5.0 * x[1]
        shown[2] = 0.0
        return np.sum(fnp.asarray(shown)) + 10 * np.sum(base)

    np.testing.assert_allclose(fd.grad(f)(X), [0.0, 66.0, 0.0])
    np.testing.assert_allclose(f(X), 11 * 6 * X[1])


def test_a_function_of_which_the_class_is_not_known_is_refused() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.inv(Tagged(x.reshape(2, 2))))

    with pytest.raises(UnsupportedNumPyError, match="Tagged"):
        fd.grad(f)(np.array([2.0, 0.0, 0.0, 1.0]))


class Named:
    """Something with a label, which a class may have behind `float`."""

    label = ""

    def described(self) -> str:
        return f"{self.label}!"


class Celsius(float, Named):
    """A number with a label, a property, and an operator of its own."""

    def __new__(cls, value: Any, label: str = "none") -> Any:
        found = new(super().__new__, cls, value)
        found.label = label
        return found

    @property
    def kelvin(self) -> Any:
        return Celsius(self + 273.15, self.label)

    def __mul__(self, other: Any) -> Any:
        return Celsius(super().__mul__(other), "product")


def numbers(x: Any) -> Any:
    c = Celsius(x, "outside")
    warm = c.kelvin * np.sin(c)
    kept = (c.described(), warm.label, c.kelvin.label) == ("outside!", "product", "outside")
    kinds = isinstance(c, float) and isinstance(warm, Celsius) and c.__class__ is Celsius
    sums = (c + c, 2.0 * c, -c)
    plain = not any(isinstance(s, Celsius) for s in sums)
    return warm * c * (kept + kinds + plain) + sum(sums) ** 2 + max(c, 0.5)


@pytest.mark.parametrize("x", [0.1, 1.3])
def test_numbers_of_a_class_keep_it_and_their_attributes(x: float) -> None:
    slope = (numbers(x + 1e-6) - numbers(x - 1e-6)) / 2e-6
    ways = fd.grad(numbers), fd.jit(fd.grad(numbers)), lambda x: fd.jvp(numbers, (x,), (1.0,))[1]
    for derive in ways:
        np.testing.assert_allclose(derive(x), slope, 1e-6)
    bend = (fd.grad(numbers)(x + 1e-6) - fd.grad(numbers)(x - 1e-6)) / 2e-6
    np.testing.assert_allclose(fd.hessian(numbers)(x), bend, 1e-6)
    found, value = fd.value_and_grad(numbers)(x)[0], numbers(x)
    np.testing.assert_allclose(found, value, 1e-15)


def test_traced_values_do_not_enter_the_memory_of_a_plain_array_of_a_class() -> None:
    def written(x: Any) -> Any:
        y = Tagged(np.ones(3))
        y += x
        return np.sum(y)

    with pytest.raises(UnsupportedNumPyError, match=r"np.add\(out=\) with an ordinary array"):
        fd.grad(written)(X)
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(np.add(TAGGED, x, out=+x)))(X), 1.0)
