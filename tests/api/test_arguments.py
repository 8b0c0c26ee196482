"""Containers as arguments: any structure goes in, the gradient comes back in the same."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError

W = np.array([1.0, 2.0])

Pair = namedtuple("Pair", ["a", "b"])


class Layer(NamedTuple):
    w: Any
    b: Any
    activation: str = "tanh"


@dataclass
class Model:
    w: Any
    b: Any
    name: str = "model"
    layers: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Frozen:
    w: Any
    steps: int = field(default=3, metadata={"static": True})


@dataclass(frozen=True, slots=True)
class Slotted:
    w: Any


class Polynomial:
    """A class of the user's own, registered below."""

    def __init__(self, coefficients: Any, name: str) -> None:
        self.coefficients, self.name = coefficients, name

    def __call__(self, x: Any) -> Any:
        return sum(c * x**k for k, c in enumerate(self.coefficients))


fd.pytree.register(
    Polynomial,
    lambda p: (p.coefficients, p.name),
    lambda name, children: Polynomial(list(children), name),
)


def _squares(tree: Any) -> Any:
    leaves, _ = fd.pytree.flatten(tree)
    return sum(np.sum(x**2) for x in leaves if hasattr(x, "dtype"))


# ---- structure -------------------------------------------------------------------------------


@pytest.mark.parametrize("tree", [
    [W, 3 * W],
    (W, 3 * W),
    {"w": W, "b": 3 * W},
    {"z": W, "a": 3 * W},
    {1: W, "mixed": 3 * W, (2, 3): W},
    OrderedDict(z=W, a=3 * W),
    Pair(W, 3 * W),
    Layer(W, 3 * W),
    [{"a": (W, [3 * W])}, Pair(W, None)],
    [],
    None,
    (),
    {},
])  # fmt: skip
def test_the_gradient_has_the_structure_of_the_argument(tree: Any) -> None:
    gradient = fd.grad(lambda tree: _squares(tree) * 1.0)(tree)
    assert type(gradient) is type(tree)
    leaves, structure = fd.pytree.flatten(gradient)
    points, expected = fd.pytree.flatten(tree)
    assert structure == expected
    for x, g in zip(points, leaves, strict=True):
        np.testing.assert_array_equal(g, x if isinstance(x, str) else 2 * x)


def test_a_dict_keeps_its_order_of_insertion() -> None:
    gradient = fd.grad(lambda p: p["z"] * p["a"])({"z": 2.0, "a": 3.0})
    assert list(gradient) == ["z", "a"]
    assert gradient == {"z": 3, "a": 2}


def test_keys_are_never_compared() -> None:
    gradient = fd.grad(lambda p: p[1] * p["one"])({1: 2.0, "one": 3.0})
    assert gradient == {1: 3, "one": 2}


def test_a_named_tuple_comes_back_as_one() -> None:
    gradient = fd.grad(lambda layer: np.sum(layer.w) * layer.b)(Layer(W, 2.0))
    assert isinstance(gradient, Layer)
    np.testing.assert_array_equal(gradient.w, [2, 2])
    assert gradient.b == 3


def test_a_dataclass_comes_back_as_one() -> None:
    model = Model(W, 2.0, layers=[{"k": 5.0}])
    gradient = fd.grad(lambda m: np.sum(m.w) * m.b * m.layers[0]["k"])(model)
    assert isinstance(gradient, Model)
    np.testing.assert_array_equal(gradient.w, [10, 10])
    assert gradient.b == 15
    assert gradient.layers == [{"k": 6}]


def test_a_frozen_dataclass_comes_back_as_one_with_its_static_field() -> None:
    gradient = fd.grad(lambda m: np.sum(m.w**m.steps))(Frozen(W))
    assert isinstance(gradient, Frozen)
    np.testing.assert_array_equal(gradient.w, 3 * W**2)
    assert gradient.steps == 3


def test_a_dataclass_with_slots_comes_back_as_one() -> None:
    gradient = fd.grad(lambda m: np.sum(m.w**2))(Slotted(W))
    assert isinstance(gradient, Slotted)
    np.testing.assert_array_equal(gradient.w, 2 * W)


def test_a_registered_class_comes_back_as_one() -> None:
    gradient = fd.grad(lambda p: p(2.0))(Polynomial([5.0, 1.0, 3.0], "p"))
    assert isinstance(gradient, Polynomial)
    assert gradient.coefficients == [1, 2, 4]
    assert gradient.name == "p"


def test_a_class_that_is_not_registered_passes_through_undifferentiated() -> None:
    class Settings:
        scale = 3.0

    def f(p: Any) -> Any:
        return p["x"] * p["settings"].scale

    assert fd.grad(f)({"x": 2.0, "settings": Settings()})["x"] == 3


def test_a_subclass_of_a_container_that_is_not_known_is_refused() -> None:
    class Bag(dict[str, Any]):
        pass

    with pytest.raises(InputError, match=r"Bag.*register"):
        fd.grad(lambda p: p["x"])(Bag(x=1.0))


# ---- leaves that are not differentiated ------------------------------------------------------


@pytest.mark.parametrize("leaf", ["text", True, False, None, np.sin, int, b"bytes", ...])
def test_leaves_that_are_not_numbers_pass_through(leaf: Any) -> None:
    seen = []

    def f(p: Any) -> Any:
        seen.append(p["leaf"])
        return np.sum(p["w"] ** 2)

    gradient = fd.grad(f)({"w": W, "leaf": leaf})
    assert seen[0] is leaf
    assert list(gradient) == ["w", "leaf"]
    np.testing.assert_array_equal(gradient["w"], 2 * W)


def test_a_gradient_step_over_a_container_is_one_map() -> None:
    params = {"layers": [(W, 1.0), (2 * W, 3.0)]}
    gradient = fd.grad(_squares)(params)
    stepped = fd.pytree.map(lambda p, g: p - 0.5 * g, params, gradient)
    np.testing.assert_array_equal(stepped["layers"][1][0], np.zeros(2))
    assert stepped["layers"][0][1] == 0


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ({"params": {"n": 3}}, r"\['params'\]\['n'\] is the integer 3"),
        ([1.0, (2.0, np.arange(2))], r"\[1\]\[1\] is an array of dtype int64"),
        (Model(W, 1), r"\.b is the integer 1"),
        (Pair(1.0, np.array([True])), r"\.b is an array of dtype bool"),
        (Layer(np.int32(3), 1.0), r"\.w is the integer"),
    ],
)
def test_an_integer_leaf_raises_with_its_path(tree: Any, path: str) -> None:
    with pytest.raises(InputError, match=path):
        fd.grad(lambda p: 1.0)(tree)


def test_an_integer_leaf_names_which_argument_it_is_in() -> None:
    with pytest.raises(InputError, match=r"argument b\['n'\]"):
        fd.grad(lambda a, b: a, argnums=(0, 1))(1.0, {"n": 3})


def test_integers_outside_the_differentiated_arguments_are_fine() -> None:
    assert fd.grad(lambda x, p: x * p["n"])(2.0, {"n": 3}) == 3


# ---- what is no array for NumPy's purposes ---------------------------------------------------


def test_a_masked_array_is_refused() -> None:
    with pytest.raises(InputError, match=r"masked.*filled"):
        fd.grad(lambda x: x.sum())(np.ma.masked_array([1.0, 2.0], [True, False]))


@pytest.mark.parametrize("x", [np.array(["a"]), np.array([None]), np.array(["2020"], "M8[Y]")])
def test_an_array_without_numbers_is_refused(x: Any) -> None:
    with pytest.raises(InputError):
        fd.grad(lambda x: 1.0)(x)
