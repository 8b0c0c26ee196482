"""Containers become one vector and come back, for solvers that know vectors only."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import funcdiff as fd
from funcdiff.errors import InputError


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
