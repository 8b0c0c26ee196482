"""A derivative by an array without axes is one, and by a number is a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd

GRADIENTS = {
    "grad": lambda f, x: fd.grad(f)(x),
    "value_and_grad": lambda f, x: fd.value_and_grad(f)(x)[1],
    "vjp": lambda f, x: fd.vjp(f, x)[1](1.0)[0],
    "of a container": lambda f, x: fd.grad(lambda p: f(p["x"]))({"x": x})["x"],
}


@pytest.mark.parametrize("derive", GRADIENTS.values(), ids=list(GRADIENTS))
def test_a_derivative_is_like_what_it_is_taken_by(derive: Any) -> None:
    def f(x: Any) -> Any:
        return x**3

    by_array, by_number, by_float = (derive(f, x) for x in (np.array(3.0), np.float64(3.0), 3.0))
    assert isinstance(by_array, np.ndarray)
    assert by_array.shape == ()
    assert not isinstance(by_number, np.ndarray)
    assert not isinstance(by_float, np.ndarray)
    assert by_array == by_number == by_float == 27.0


@pytest.mark.parametrize("derive", GRADIENTS.values(), ids=list(GRADIENTS))
def test_a_traced_derivative_without_axes_is_changed_in_place_for_all_its_names(
    derive: Any,
) -> None:
    def f(x: Any) -> Any:
        g = derive(lambda x: x**3, x)
        same = g
        g += 1.0
        return g * same

    for kind, slope in ((np.array, 312.0), (np.float64, 300.0)):
        x = kind(2.0)
        value, tangent = fd.jvp(f, (x,), (kind(1.0),))
        assert value == f(x)
        assert tangent == pytest.approx(slope)
