"""Strings, flags and functions in containers pass through transforms as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import OutputError

SETTINGS: dict[str, Any] = {
    "w": np.array([0.5, -1.0, 2.0]),
    "act": "tanh",
    "f": np.sin,
    "none": None,
}


def layer(settings: Any, x: Any) -> Any:
    return np.sum(getattr(np, settings["act"])(settings["f"](settings["w"]) * x))


def test_derivatives_keep_them() -> None:
    found = fd.grad(layer)(SETTINGS, 2.0)
    expected = fd.grad(lambda w: np.sum(np.tanh(np.sin(w) * 2.0)))(SETTINGS["w"])
    np.testing.assert_array_equal(found["w"], expected)
    assert (found["act"], found["f"], found["none"]) == ("tanh", np.sin, None)


def test_every_example_has_the_same() -> None:
    rows = {**SETTINGS, "w": np.outer([1.0, 2.0], SETTINGS["w"])}
    found = fd.vmap(layer)(rows, np.array([2.0, 3.0]))
    expected = [layer({**SETTINGS, "w": w}, x) for w, x in zip(rows["w"], (2.0, 3.0), strict=True)]
    np.testing.assert_allclose(found, expected)


def test_a_loop_hands_them_on() -> None:
    def step(state: Any, x: Any) -> tuple[Any, Any]:
        return {**state, "w": state["w"] * x}, layer(state, x)

    xs = np.array([0.5, 2.0, 1.5])
    last, ys = fd.scan(step, SETTINGS, xs)
    np.testing.assert_allclose(last["w"], SETTINGS["w"] * np.prod(xs))
    assert last["act"] == "tanh"
    np.testing.assert_allclose(ys[0], layer(SETTINGS, 0.5))

    def total(w: Any) -> Any:
        return np.sum(fd.scan(step, {**SETTINGS, "w": w}, xs)[1])

    fd.testing.check_grads(total, (SETTINGS["w"],), order=2)
    grown = fd.while_loop(
        lambda s: np.sum(s["w"]) < 20.0, lambda s: {**s, "w": 2.0 * s["w"]}, SETTINGS
    )
    assert grown["act"] == "tanh"
    assert grown["w"][2] == 32.0
    counted = fd.fori_loop(0, 3, lambda i, s: {**s, "w": s["w"] + i}, SETTINGS)
    np.testing.assert_array_equal(counted["w"], SETTINGS["w"] + 3)


def test_what_changes_in_a_loop_must_be_a_number() -> None:
    def renamed(state: Any, x: Any) -> tuple[Any, Any]:
        return {**state, "act": "sin"}, x

    with pytest.raises(OutputError, match=r"carry\['act'\] of scan came as 'tanh' but .* 'sin'"):
        fd.scan(renamed, SETTINGS, np.ones(3))
