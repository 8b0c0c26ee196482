"""Strings, flags and functions in containers pass through transforms as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

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


ROWS: dict[str, Any] = {**SETTINGS, "w": np.outer([1.0, 2.0, -0.5], SETTINGS["w"]), "flag": True}


def signed(settings: Any, x: Any) -> Any:
    return layer(settings, x) if settings["flag"] else -layer(settings, x)


@pytest.mark.parametrize(
    "branching",
    [
        lambda x, s: fd.cond(x > 0, signed, lambda s, x: 2 * signed(s, x), s, x),
        lambda x, s: fd.switch((x > 0).astype(int), [lambda s, x: 2 * signed(s, x), signed], s, x),
    ],
)
def test_branches_are_given_what_is_no_array_as_it_is(branching: Callable[..., Any]) -> None:
    settings = {**SETTINGS, "flag": False}
    xs = np.array([2.0, -1.0])
    expected = [-layer(settings, 2.0), -2 * layer(settings, -1.0)]
    np.testing.assert_allclose(fd.vmap(lambda x: branching(x, settings))(xs), expected)
    np.testing.assert_allclose(fd.jit(branching)(2.0, settings), expected[0])
    fd.testing.check_grads(
        lambda w: branching(np.float64(-1.0), {**settings, "w": w}), (SETTINGS["w"],), order=2
    )


def test_branches_hand_on_what_is_no_array() -> None:
    def doubled(s: Any) -> Any:
        return {**s, "w": 2 * s["w"]}

    found = fd.vmap(lambda x: fd.cond(x > 0, doubled, lambda s: s, SETTINGS))(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(found["w"], np.outer([2.0, 1.0], SETTINGS["w"]))
    assert (found["act"], found["f"], found["none"]) == ("tanh", np.sin, None)
    names = np.array(["a", "b"])
    kept = fd.vmap(lambda x: fd.cond(x > 0, lambda n: n, lambda n: n.copy(), names))(np.ones(2))
    assert list(kept) == ["a", "b"]


def test_branches_agree_on_what_is_no_array() -> None:
    def f(x: Any) -> Any:
        return fd.cond(x > 0, lambda n: (x, n), lambda n: (x, n + "h"), "tan")

    with pytest.raises(OutputError, match=r"returned 'tan' and .* returned 'tanh' as result\[1\]"):
        fd.vmap(f)(np.ones(2))
    with pytest.raises(OutputError, match=r"differ: np.bool_\(True\), np.bool_\(False\)"):
        fd.vmap(lambda x: fd.cond(x > 0, lambda: True, lambda: False))(np.ones(2))
    found: Any = fd.vmap(lambda x: fd.cond(x > 0, lambda: np.bool_(True), lambda: np.bool_(False)))(
        np.array([1.0, -1.0])
    )
    assert found.tolist() == [True, False]


@pytest.mark.parametrize("batch_size", [None, 2])
def test_rows_share_what_is_no_array(batch_size: int | None) -> None:
    def f(row: Any) -> Any:
        return {"y": signed(row, 1.5), "act": row["act"]}

    found = fd.map(f, ROWS, batch_size=batch_size)
    every = fd.vmap(f)(ROWS)
    np.testing.assert_allclose(found["y"], every["y"])
    assert found["act"] == every["act"] == "tanh"
    total, ys = fd.scan(lambda c, row: (c + signed(row, 1.5), row), 0.0, ROWS)
    np.testing.assert_allclose(total, np.sum(every["y"]))
    np.testing.assert_array_equal(ys["w"], ROWS["w"])
    assert (ys["act"], ys["flag"]) == ("tanh", True)


def test_a_loop_over_no_array_asks_for_its_length() -> None:
    with pytest.raises(InputError, match=r"scan without an array in xs needs length="):
        fd.scan(lambda c, x: (c, x), 0.0, "abc")
    assert fd.scan(lambda c, x: (c + 1.0, x), 0.0, "abc", length=2) == (2.0, "abc")


@dataclass
class Model:
    w: Any
    act: str = field(default="tanh", metadata={"static": True})
    name: str = "model"

    def __call__(self, x: Any) -> Any:
        return getattr(np, self.act)(self.w * x)


def test_static_fields_and_leaves_go_everywhere() -> None:
    model = Model(np.array([0.5, -1.0, 2.0]))

    def f(model: Any) -> Any:
        def step(m: Any, x: Any) -> Any:
            m = fd.cond(x > 0, lambda m: Model(m.w * x, m.act, m.name), lambda m: m, m)
            return m, (m, m(x))

        last, (models, ys) = fd.scan(step, model, np.array([0.5, -1.0, 2.0]))
        assert last.name == models.name == "model"
        return np.sum(ys) + np.sum(fd.map(lambda m: m(2.0), models)) + np.sum(last.w)

    gradient = fd.grad(f)(model)
    assert (gradient.act, gradient.name) == ("tanh", "model")
    fd.testing.check_grads(lambda w: f(Model(w)), (model.w,), order=2)


def test_an_associative_scan_shares_what_is_no_array() -> None:
    elems: dict[str, Any] = {"x": np.array([1.0, 2.0, 3.0]), "name": "sum"}
    found = fd.associative_scan(lambda a, b: {**a, "x": a["x"] + b["x"]}, elems)
    assert (found["x"].tolist(), found["name"]) == ([1.0, 3.0, 6.0], "sum")
    with pytest.raises(OutputError, match=r"given elems\['name'\] as 'sum', but .* 'other'"):
        fd.associative_scan(lambda a, b: {**a, "name": "other"}, elems)
