"""Containers at the border: what hides numbers is refused, what matches by key is accepted."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError, InputError
from tests.ids import without_address

W = np.array([1.0, 2.0])


@dataclass
class Layer:
    w: Any
    b: Any = 0.0


class Network:
    """A class that nobody registered."""

    def __init__(self, w: Any) -> None:
        self.w = w


def pair(x: Any) -> dict[str, Any]:
    return {"sin": np.sin(x), "cos": [np.cos(x)]}


# ---- what is differentiated ----------------------------------------------------------------------


def test_the_path_of_a_leaf_starts_with_the_name_of_the_argument() -> None:
    def loss(scale: Any, params: Any) -> Any:
        return scale * params["layers"][0]

    params = {"layers": [1.0, 2.0, Layer(3)]}
    with pytest.raises(InputError, match=r"^argument params\['layers'\]\[2\]\.w is the integer 3"):
        fd.grad(loss, argnums=1)(2.0, params)
    with pytest.raises(InputError, match=r"^argument params\['layers'\]\[2\]\.w is the integer 3"):
        fd.grad(loss, argnames="params")(2.0, params=params)
    with pytest.raises(InputError, match=r"^argument params\['layers'\]\[2\]\.w is the integer 3"):
        fd.vjp(loss, 2.0, params)


def test_an_argument_without_a_name_is_called_by_its_number() -> None:
    with pytest.raises(InputError, match=r"^argument 1 is the integer 3"):
        fd.grad(lambda *xs: xs[0], argnums=(0, 1))(2.0, 3)


def test_an_object_whose_arrays_would_be_missed_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^argument net is a Network, .*\.w, at .*Make Network a datacl"
    ):
        fd.grad(lambda net: np.sum(net.w**2))(Network(W))
    with pytest.raises(InputError, match=r"^argument nets\['a'\] is a Network"):
        fd.grad(lambda nets: np.sum(nets["a"].w ** 2))({"a": Network(W)})


def test_objects_with_settings_pass_through() -> None:
    settings = SimpleNamespace(rate=0.5), random_state()
    gradient = fd.grad(lambda p: p["x"] * p["s"][0].rate)({"x": 2.0, "s": settings})
    assert gradient["x"] == 0.5
    assert gradient["s"][0].rate == 2.0
    assert gradient["s"][1] is settings[1]


def random_state() -> Any:
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    "x", [np.array([W, None], dtype=object), {1.0}, iter([1.0])], ids=without_address
)
def test_what_would_come_back_undifferentiated_is_refused(x: Any) -> None:
    with pytest.raises(InputError, match=r"^argument p\['x'\] is "):
        fd.grad(lambda p: p["y"] ** 2)({"x": x, "y": 1.0})


# ---- cotangents and tangents ---------------------------------------------------------------------


def test_cotangents_and_tangents_match_dicts_by_key() -> None:
    _, f_vjp = fd.vjp(pair, 0.5)
    assert f_vjp({"cos": [0.0], "sin": 2.0}) == f_vjp({"sin": 2.0, "cos": [0.0]})
    product = fd.jvp(lambda p: p["a"] * p["b"], ({"a": 2.0, "b": 3.0},), ({"b": 1.0, "a": 0.0},))
    assert product[1] == 2.0


def test_a_cotangent_of_another_structure_is_refused_with_its_path() -> None:
    _, f_vjp = fd.vjp(pair, 0.5)
    with pytest.raises(CotangentError, match=r"the cotangent\['cos'\] has structure \[\*, \*\], "):
        f_vjp({"sin": 1.0, "cos": [1.0, 2.0]})
    with pytest.raises(CotangentError, match=r"the cotangent has structure {'sin': \*}, the outp"):
        f_vjp({"sin": 1.0})


def test_a_tangent_of_another_structure_is_refused_with_its_path() -> None:
    with pytest.raises(CotangentError, match=r"tangents\[0\]\.b has structure None, the primal at"):
        fd.jvp(lambda p: p.w, (Layer(W),), (Layer(W, None),))


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


def test_each_call_may_have_another_structure() -> None:
    total = fd.grad(lambda p: sum(np.sum(x**2) for x in fd.pytree.flatten(p)[0]))
    assert total([1.0]) == [2.0]
    assert total([1.0, 3.0]) == [2.0, 6.0]
    assert total({"a": 1.0}) == {"a": 2.0}
