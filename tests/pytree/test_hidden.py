"""Leaves that are no numbers: settings pass through, hidden numbers are found."""

import enum
import random
from array import array
from collections import Counter, UserDict
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from funcdiff.pytree.hidden import fault_of
from tests.ids import without_address


class Colour(enum.Flag):
    RED = 1
    BLUE = 2


class Bag:
    """An object with attributes, known to nobody."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__ |= attributes


class Slotted:
    __slots__ = ("later", "w")

    def __init__(self, w: Any) -> None:
        self.w = w


class Layer(Bag):
    def __call__(self, x: Any) -> Any:
        return x


class Series:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.ones(2)


@pytest.mark.parametrize("leaf", [
    "text",
    b"text",
    True,
    np.str_("text"),
    np.array(["a", "b"]),
    np.array(["2020-01-01"], dtype="datetime64[D]"),
    np.array(["a", None], dtype=object),
    range(3),
    len,
    np.tanh,
    random,
    partial(pow, 2.0),
    lambda x: x,
    float,
    Colour.RED | Colour.BLUE,
    Bag(rate=0.5, name="adam", sizes=[1, 2], mean=np.float32(1.0)),
    Layer(units=3),
    random.Random(0),
    np.random.default_rng(0),
], ids=without_address)  # fmt: skip
def test_settings_pass_through(leaf: Any) -> None:
    assert fault_of(leaf, alone=False) is None


@pytest.mark.parametrize(("leaf", "problem", "cure"), [
    (Counter("ab"), "is a Counter, a container that is not known", "Register it"),
    (MappingProxyType({"a": 2.0}), "is a mappingproxy, a container", "to a plain dict"),
    (UserDict(a=2.0), "is a UserDict, a container", "convert it to a plain dict"),
    ({1.0, 2.0}, "is a set, a container", "convert it to a plain dict, list or tuple"),
    (iter([1.0]), "is a list_iterator, which can be walked only once", "Give list(x)"),
    (array("d", [1.0]), "is a array, a container", "plain dict, list or tuple"),
    (Decimal(2), "is a Decimal, not a floating-point number", "float(x)"),
    (Fraction(1, 2), "is a Fraction, not a floating-point number", "float(x)"),
    (Series(), "is a Series, not a NumPy array", "np.asarray(x)"),
    (np.array([1.0, None], dtype=object), "an array of objects that holds", ".astype(float)"),
    (np.zeros(2, dtype=[("a", float)]), "is a structured array", "x['a']"),
    (np.zeros(2, dtype=[("a", float)])[0], "is a structured array", "x['a']"),
    (Bag(n=1, w=np.ones(2)), "is a Bag, which is no known container", "dataclass or register"),
    (Bag(layers=[{"w": np.ones(2)}]), "holds arrays in .layers", "static field"),
    (Layer(space=SimpleNamespace(b=np.ones(2))), "holds arrays in .space", "dataclass"),
    (Slotted(np.ones(2)), "holds arrays in .w", "dataclass"),
], ids=without_address)  # fmt: skip
def test_hidden_numbers_are_found(leaf: Any, problem: str, cure: str) -> None:
    fault = fault_of(leaf, alone=False)
    assert fault is not None
    assert problem in fault.problem
    assert cure in fault.cure


@pytest.mark.parametrize("leaf", [Bag(rate=0.5), object()], ids=["bag", "object"])
def test_an_object_alone_is_no_point_to_differentiate_at(leaf: Any) -> None:
    fault = fault_of(leaf, alone=True)
    assert fault is not None
    assert "in which no numbers are found" in fault.problem


@pytest.mark.parametrize("leaf", ["text", True, len, Layer(units=3)], ids=without_address)
def test_text_flags_and_functions_pass_alone_as_well(leaf: Any) -> None:
    assert fault_of(leaf, alone=True) is None


def test_attributes_in_a_circle_are_no_endless_search() -> None:
    bag = Bag(items=[])
    bag.__dict__["items"].append(bag.__dict__["items"])
    bag.__dict__["w"] = np.ones(2)
    fault = fault_of(bag, alone=False)
    assert fault is not None
    assert "holds arrays in .w" in fault.problem
