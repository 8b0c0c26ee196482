"""The axis of the examples stands where it was asked for, and the others keep their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

X = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
PLACES = range(-4, 4)


@pytest.mark.parametrize("out_axes", PLACES)
@pytest.mark.parametrize("in_axes", PLACES)
def test_examples_are_taken_from_any_axis_and_put_on_any(in_axes: int, out_axes: int) -> None:
    def f(x: Any) -> Any:
        return np.cumsum(x, axis=0)

    examples = np.moveaxis(X, in_axes, 0)
    expected = np.stack([f(x) for x in examples], axis=out_axes)
    np.testing.assert_array_equal(fd.vmap(f, in_axes, out_axes)(X), expected)
    jitted = fd.jit(lambda x: fd.vmap(f, in_axes, out_axes)(x))
    np.testing.assert_array_equal(jitted(X), expected)


def test_each_argument_and_each_result_has_an_axis_of_its_own() -> None:
    def f(x: Any, p: Any) -> Any:
        return {"sum": x + p["shift"], "kept": p["scale"] * x.T}

    shift = np.arange(12.0).reshape(4, 3)
    p = {"shift": shift, "scale": np.arange(1.0, 4.0)}
    batched = fd.vmap(f, (2, {"scale": 0, "shift": 1}), {"kept": -1, "sum": 1})
    x = X[0].transpose(2, 1, 0)
    found = batched(x, p)
    rows = [f(x[..., k], {"shift": shift[:, k], "scale": k + 1.0}) for k in range(3)]
    np.testing.assert_array_equal(found["sum"], np.stack([r["sum"] for r in rows], 1))
    np.testing.assert_array_equal(found["kept"], np.stack([r["kept"] for r in rows], -1))
