"""Operators between plain sparse arrays of SciPy's, as they are, and traced arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.testing import check_grads
from tests.numpy.agreement import default
from tests.scipy.test_sparse_arrays import dense
from tests.together import together

A = np.array([[1.0, 0, 2, 0], [0, 0, 3, 0], [4, 0, 0, 5], [0, 6, 0, 7]])
X = np.array([0.3, -1.0, 2.0, 0.7])
KINDS = [f"{name}_{kind}" for kind in ("array", "matrix")
         for name in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")]  # fmt: skip

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "A @ x": lambda a, x: a @ x,
    "A @ X": lambda a, x: a @ np.outer(x, x),
    "A @ column": lambda a, x: a @ x[:, None],
    "A.T @ x": lambda a, x: a.T @ x,
    "A.dot(x)": lambda a, x: a.dot(x),
    "A.dot(s)": lambda a, x: a.dot(x[1]),
    "x @ A": lambda a, x: x @ a,
    "A * x": lambda a, x: a * x,
    "x * A": lambda a, x: x * a,
    "A + X": lambda a, x: a + np.outer(x, x),
    "X - A": lambda a, x: np.outer(x, x) - a,
    "A - X": lambda a, x: a - np.outer(x, x),
    "A * s": lambda a, x: a * x[0],
    "s * A": lambda a, x: x[0] * a,
    "A / s": lambda a, x: a / x[0],
    "A / X": lambda a, x: a / (1 + np.outer(x, x)),
}


@pytest.mark.slow
@together
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_takes_a_traced_array(operator: str, kind: str) -> None:
    a, function = getattr(sparse, kind)(A), OPERATORS[operator]
    found = fd.jvp(lambda x: dense(function(a, x)), (X,), (X,))[0]
    np.testing.assert_allclose(found, dense(function(a, X)), rtol=1e-14)


@pytest.mark.parametrize("operator", ["A @ x", "x @ A", "A * s", "A / X"])
def test_operators_have_derivatives(operator: str) -> None:
    a = sparse.csr_array(A)

    def function(x: Any) -> Any:
        return dense(OPERATORS[operator](a, x))

    check_grads(function, (X,), order=default.order)
    np.testing.assert_allclose(fd.jit(function)(X), function(X))
    np.testing.assert_allclose(fd.vmap(function)(np.stack([X, 2 * X]))[1], function(2 * X))


def test_an_operator_takes_a_traced_python_number() -> None:
    a = sparse.csr_array(A)
    assert fd.grad(lambda s: (a * s).sum())(2.0) == a.sum()
    assert fd.grad(lambda s: (s * a).toarray()[3, 1])(2.0) == 6.0


def test_elsewhere_a_traced_array_is_an_array() -> None:
    def function(x: Any) -> Any:
        assert isinstance(x, np.ndarray)
        assert isinstance(x[0], np.floating)
        assert np.isscalar(x[0])
        assert isinstance(x.dtype, np.dtype)
        return np.sum(x)

    fd.grad(function)(X)


@pytest.mark.parametrize("function", [lambda a, x: x > a, lambda a, x: x / a])
def test_operators_without_a_sparse_result_are_refused(function: Any) -> None:
    with pytest.raises(UnsupportedNumPyError, match="sparse"):
        fd.jvp(lambda x: function(sparse.csr_array(A), x), (X,), (X,))
