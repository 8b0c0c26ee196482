"""Questions of borrowed code that a traced array cannot answer, checks of values among them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline
from scipy.stats._axis_nan_policy import _axis_nan_policy_factory

import funcdiff as fd
from funcdiff.scipy.adaptation import ANSWERS
from funcdiff.scipy.borrowed import copy_of

PLACES = np.array([0.0, 1.0, 3.0])
VALUES = np.array([1.0, 4.0, 2.0])


def coefficients(x: Any, y: Any) -> Any:
    return copy_of(CubicHermiteSpline)(x, y, y).c


def test_checks_of_known_values_raise_scipys_errors() -> None:
    with pytest.raises(ValueError, match="must be strictly increasing"):
        fd.vjp(coefficients, PLACES[::-1], VALUES)
    with pytest.raises(ValueError, match="finite"):
        fd.jit(coefficients)(PLACES, VALUES * np.nan)


def test_checks_of_unknown_values_are_left_out() -> None:
    expected = CubicHermiteSpline(PLACES, VALUES, VALUES).c
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fd.vmap(coefficients)(np.stack([PLACES] * 2), np.stack([VALUES] * 2))
    np.testing.assert_allclose(found[1], expected, rtol=1e-14)


def test_what_is_known_is_checked_beside_what_is_not() -> None:
    with pytest.raises(ValueError, match="must be strictly increasing"):
        fd.vmap(coefficients, in_axes=(None, 0))(PLACES[::-1], np.stack([VALUES] * 2))


def test_complex_numbers_are_seen_as_pairs_of_real_ones_and_back() -> None:
    z = np.array([[1 + 2j, 3 - 1j]])
    view = ANSWERS["view_of"]
    parts, tangent = fd.jvp(lambda z: view(z, float), (z,), (1j * z,))
    np.testing.assert_array_equal(parts, z.view(float))
    np.testing.assert_array_equal(tangent, (1j * z).view(float))
    np.testing.assert_array_equal(fd.vjp(lambda x: view(x, complex), parts)[0], z)
    np.testing.assert_array_equal(view(z, float), z.view(float))


def test_functions_within_changed_code_keep_their_decorators() -> None:
    def square(a: Any, axis: int = 0) -> Any:
        """Return the square of a mean."""
        return np.mean(a, axis) ** 2

    policies = copy_of(_axis_nan_policy_factory)
    decorate = policies(lambda x: x, n_outputs=1, result_to_tuple=lambda x, _: (x,))
    assert decorate(square).__name__ == "square"
