"""Containers as arguments: any structure goes in, the gradient comes back in the same.

What hides numbers is refused, and what matches by key is accepted.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

import funcdiff as fd
from funcdiff.errors import CotangentError, InputError
from tests.claims import alike, refused

FD: Any = fd  # types refuse some of what is tried here
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


class Network:
    """A class that nobody registered."""

    def __init__(self, w: Any) -> None:
        self.w = w


class Bag(dict[str, Any]):
    """A container that is not known."""


def _squares(tree: Any) -> Any:
    leaves, _ = fd.pytree.flatten(tree)
    return sum(np.sum(x**2) for x in leaves if hasattr(x, "dtype"))


def _pair(x: Any) -> dict[str, Any]:
    return {"sin": np.sin(x), "cos": [np.cos(x)]}


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
    Model(W, 3 * W, layers=[{"k": W}]),
    Frozen(W),
    Slotted(W),
    [{"a": (W, [3 * W])}, Pair(W, None)],
    [],
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
    if isinstance(tree, dict):
        assert list(gradient) == list(tree)


def test_a_registered_class_comes_back_as_one() -> None:
    gradient = fd.grad(lambda p: p(2.0))(Polynomial([5.0, 1.0, 3.0], "p"))
    assert isinstance(gradient, Polynomial)
    assert gradient.coefficients == [1, 2, 4]
    assert gradient.name == "p"


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


def test_objects_with_settings_pass_through() -> None:
    settings = SimpleNamespace(rate=0.5), np.random.default_rng(0)
    gradient = fd.grad(lambda p: p["x"] * p["s"][0].rate)({"x": 2.0, "s": settings})
    assert gradient["x"] == 0.5
    assert gradient["s"][0].rate == 2.0
    assert gradient["s"][1] is settings[1]


def test_a_container_that_the_caller_changes_later_does_not_matter() -> None:
    params: dict[str, Any] = {"w": 2.0, "layers": [3.0]}
    _, f_vjp = fd.vjp(lambda p: p["w"] * p["layers"][0], params)
    params["extra"] = 1.0
    params["layers"] = []
    assert f_vjp(1.0) == ({"w": 3.0, "layers": [2.0]},)


def test_a_container_that_the_function_changes_is_the_functions_own() -> None:
    def f(params: Any) -> Any:
        params["layers"].append(params.pop("w"))
        return params["layers"][0] * params["layers"][1]

    params: dict[str, Any] = {"w": 2.0, "layers": [3.0]}
    assert fd.grad(f)(params) == {"w": 3.0, "layers": [2.0]}
    assert params == {"w": 2.0, "layers": [3.0]}


TOTAL = fd.grad(lambda p: sum(np.sum(x**2) for x in fd.pytree.flatten(p)[0]))

test_containers_are_what_python_takes_them_for = alike({
    "each call may have another structure": [
        (lambda: TOTAL([1.0]), [2]),
        (lambda: TOTAL([1.0, 3.0]), [2, 6]),
        (lambda: TOTAL({"a": 1.0}), {"a": 2}),
    ],
    "integers outside the differentiated arguments are fine": (
        lambda: fd.grad(lambda x, p: x * p["n"])(2.0, {"n": 3}), 3
    ),
    "a gradient step is one map": (
        lambda: fd.pytree.map(
            lambda p, g: p - 0.5 * g, {"l": [(W, 1.0)]}, fd.grad(_squares)({"l": [(W, 1.0)]})
        ),
        {"l": [(np.zeros(2), 0)]},
    ),
    "cotangents match dicts by key": (
        lambda: fd.vjp(_pair, 0.5)[1]({"cos": [0.0], "sin": 2.0}), (2 * np.cos(0.5),)
    ),
    "tangents match dicts by key": (
        lambda: fd.jvp(
            lambda p: p["a"] * p["b"], ({"a": 2.0, "b": 3.0},), ({"b": 1.0, "a": 0.0},)
        )[1],
        2,
    ),
}, rtol=1e-15)  # fmt: skip


# ---- what is refused -------------------------------------------------------------------------

PARAMS = {"layers": [1.0, 2.0, Model(3, 0.0)]}


def _loss(scale: Any, params: Any) -> Any:
    return scale * params["layers"][0]


IN_PARAMS = r"^argument params\['layers'\]\[2\]\.w is the integer 3"

test_what_is_no_argument_is_refused_with_its_path = refused({
    "an integer leaf": [
        (InputError, path, lambda tree=tree: fd.grad(lambda p: 1.0)(tree))
        for tree, path in (
            ({"params": {"n": 3}}, r"\['params'\]\['n'\] is the integer 3"),
            ([1.0, (2.0, np.arange(2))], r"\[1\]\[1\] is an array of dtype int64"),
            (Model(W, 1), r"\.b is the integer 1"),
            (Pair(1.0, np.array([True])), r"\.b is an array of dtype bool"),
            (Layer(np.int32(3), 1.0), r"\.w is the integer"),
        )
    ],
    "which argument it is in": [
        (InputError, r"argument b\['n'\]",
         lambda: fd.grad(lambda a, b: a, argnums=(0, 1))(1.0, {"n": 3})),
        (InputError, IN_PARAMS, lambda: fd.grad(_loss, argnums=1)(2.0, PARAMS)),
        (InputError, IN_PARAMS, lambda: fd.grad(_loss, argnames="params")(2.0, params=PARAMS)),
        (InputError, IN_PARAMS, lambda: fd.vjp(_loss, 2.0, PARAMS)),
        (InputError, r"^argument 1 is the integer 3",
         lambda: fd.grad(lambda *xs: xs[0], argnums=(0, 1))(2.0, 3)),
    ],
    "an object whose arrays would be missed": [
        (InputError, r"^argument net is a Network, .*\.w, at .*Make Network a datacl",
         lambda: fd.grad(lambda net: np.sum(net.w**2))(Network(W))),
        (InputError, r"^argument nets\['a'\] is a Network",
         lambda: fd.grad(lambda nets: np.sum(nets["a"].w ** 2))({"a": Network(W)})),
    ],
    "what would come back undifferentiated": [
        (InputError, r"^argument p\['x'\] is ",
         lambda x=x: fd.grad(lambda p: p["y"] ** 2)({"x": x, "y": 1.0}))
        for x in (np.array([W, None], dtype=object), {1.0}, iter([1.0]))
    ],
    "a container that is not known": (
        InputError, r"Bag.*register", lambda: fd.grad(lambda p: p["x"])(Bag(x=1.0))
    ),
    "a masked array": (
        InputError, r"masked.*filled",
        lambda: fd.grad(lambda x: x.sum())(np.ma.masked_array([1.0, 2.0], [True, False])),
    ),
    "an array without numbers": [
        (InputError, None, lambda x=x: fd.grad(lambda x: 1.0)(x))
        for x in (np.array(["a"]), np.array([None]), np.array(["2020"], "M8[Y]"))
    ],
    "a cotangent of another structure": [
        (CotangentError, r"the cotangent\['cos'\] is \[\*, \*\], ",
         lambda: FD.vjp(_pair, 0.5)[1]({"sin": 1.0, "cos": [1.0, 2.0]})),
        (CotangentError, r"the cotangent is {'sin': \*}, but the",
         lambda: FD.vjp(_pair, 0.5)[1]({"sin": 1.0})),
    ],
    "a tangent of another structure": (
        CotangentError, r"tangents\[0\]\.b is None, but the primal at",
        lambda: fd.jvp(lambda p: p.w, (Model(W, 0.0),), (Model(W, None),)),
    ),
})  # fmt: skip


# ---- containers become one vector and come back --------------------------------------------------


@dataclass(frozen=True)
class Curve:
    centre: Any
    weights: dict[str, Any]
    power: int = field(default=2, metadata={"static": True})
    name: str = "curve"


CURVE = Curve(0.5, {"b": np.array([[1.0, 2.0], [3.0, 4.0]]), "a": np.float64(5.0)})


def loss(curve: Curve) -> Any:
    moved = curve.weights["b"] - curve.centre
    return np.sum(moved**curve.power) + (curve.weights["a"] - 1.0) ** 2 + curve.centre**2


def test_the_vector_has_all_numbers_in_the_order_of_the_leaves() -> None:
    vector, _ = fd.ravel_pytree(CURVE)
    np.testing.assert_array_equal(vector, [0.5, 1, 2, 3, 4, 5])
    assert vector.dtype == np.float64


def test_the_container_comes_back_with_shapes_dtypes_and_static_fields() -> None:
    tree = {"x": np.ones((2, 1), np.float32), "y": (2.0, None, "text"), "z": np.zeros((0, 3))}
    vector, unravel = fd.ravel_pytree(tree)
    again: dict[str, Any] = unravel(vector + 1)
    assert again["x"].dtype == np.float32
    np.testing.assert_array_equal(again["x"], [[2.0], [2.0]])
    assert again["y"] == (3.0, None, "text")
    assert again["z"].shape == (0, 3)
    assert fd.ravel_pytree(CURVE)[1](np.arange(6.0)).power == 2


def test_what_comes_back_shares_no_memory_with_the_vector() -> None:
    vector, unravel = fd.ravel_pytree(CURVE)
    again = unravel(vector)
    vector[:] = 0.0
    np.testing.assert_array_equal(again.weights["b"], CURVE.weights["b"])


def test_both_ways_are_differentiable() -> None:
    vector, unravel = fd.ravel_pytree(CURVE)
    expected, _ = fd.ravel_pytree(fd.grad(loss)(CURVE))
    np.testing.assert_array_equal(fd.grad(lambda v: loss(unravel(v)))(vector), expected)
    np.testing.assert_array_equal(fd.grad(lambda c: np.sum(fd.ravel_pytree(c)[0] ** 2))(CURVE)
                                  .weights["b"], 2 * CURVE.weights["b"])  # fmt: skip
    assert fd.hessian(lambda v: loss(unravel(v)))(vector).shape == (6, 6)


def test_scipy_minimises_over_a_container() -> None:
    vector, unravel = fd.ravel_pytree(CURVE)
    f = lambda v: loss(unravel(v))
    found = minimize(f, vector, jac=fd.grad(f), hess=fd.hessian(f), method="trust-exact", tol=1e-9)
    assert found.success
    best = unravel(found.x)
    np.testing.assert_allclose(best.weights["b"], np.zeros((2, 2)), atol=1e-7)
    np.testing.assert_allclose(best.weights["a"], 1.0)


def test_nothing_is_an_empty_vector() -> None:
    tree: dict[str, Any] = {"a": [], "b": None}
    vector, unravel = fd.ravel_pytree(tree)
    assert vector.shape == (0,)
    assert unravel(vector) == tree


def test_integers_alone_are_a_vector_of_integers() -> None:
    vector, unravel = fd.ravel_pytree([1, np.array([2, 3])])
    assert vector.dtype == np.int64
    assert unravel(vector)[0] == 1


def test_integers_beside_floats_are_refused_with_their_path() -> None:
    with pytest.raises(InputError, match=r"tree\['layers'\]\[1\] is of type i64\[2\].*as static"):
        fd.ravel_pytree({"layers": [1.0, np.arange(2)]})


def test_a_vector_of_another_length_is_refused() -> None:
    _, unravel = fd.ravel_pytree(CURVE)
    with pytest.raises(InputError, match=r"vector of shape \(6,\), got \(5,\).*Give one number"):
        unravel(np.ones(5))


def test_a_real_leaf_takes_no_imaginary_part() -> None:
    vector, unravel = fd.ravel_pytree({"z": 1.0 + 2.0j, "x": 3.0})
    assert unravel(vector) == {"z": 1.0 + 2.0j, "x": 3.0}
    with pytest.raises(InputError, match=r"tree\['x'\] is real, but the vector has an imaginary"):
        unravel(vector * 1j)
