"""R3: what is computed of rows, or in a last iteration, and dropped later contributes zeros."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives

F: Any = fd  # types refuse some of what is tried here
X = np.array([[np.inf, np.nan, 1.0], [1.0, 2.0, 3.0], [2.0, 2.0, 1.0]])
W = np.arange(6.0).reshape(3, 2) / 10 + 0.1
KEPT = np.array([False, True, True])

DROPS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda y: y[1:],
    "index": lambda y: y[1],
    "slice of columns, too": lambda y: y[1:, 0],
    "reversed": lambda y: y[::-1][:2],
    "transposed": lambda y: np.tanh(y.T)[:, :0:-1],
    "flattened": lambda y: y.reshape(-1)[2:],
    "rows one by one": lambda y: y[1] * 2 + y[2],
    "rolled": lambda y: np.roll(y, -1, 0)[:2],
    "split": lambda y: np.split(y + 1.0, [1])[1],
    "stacked": lambda y: np.stack([y[1], y[2]]),
    "summed": lambda y: y.sum(1)[1:],
    "gathered": lambda y: y[[1, 2, 1]],
    "masked": lambda y: y[KEPT],
    "where": lambda y: np.where(KEPT[:, np.newaxis], y, 0),
}
PRODUCTS: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": lambda x, w: x @ w,
    "einsum": lambda x, w: np.einsum("ij,jk->ik", x, w),
    "turned": lambda x, w: (w.T @ x.T).T,
}


@pytest.mark.thinned(3)
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("drop", DROPS)
def test_rows_of_a_product_that_are_dropped_contribute_true_zeros(drop: str, product: str) -> None:
    def f(x: Any, w: Any) -> Any:
        return np.sum(DROPS[drop](PRODUCTS[product](x, np.sin(w))) ** 2)

    finite = np.where(KEPT[:, np.newaxis], X, 0.5)
    for transform in (fd.grad, fd.hessian, fd.jacfwd):
        found, expected = (transform(f, argnums=1)(x, W) for x in (X, finite))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fd.grad(f)(X, W)[1:], fd.grad(f)(finite, W)[1:], rtol=1e-12)
    assert not np.any(fd.grad(f)(X, W)[0])


def test_entries_of_a_product_meet_only_the_rows_that_they_are_made_of() -> None:
    def corner(w: Any) -> Any:
        y = X @ w
        return y[0, 0] + y[1, 1]

    with np.errstate(invalid="ignore"):
        slope = fd.grad(corner)(W)
    np.testing.assert_array_equal(slope, np.stack([X[0], X[1]], axis=1))


def test_a_product_of_which_a_part_is_used_is_differentiated_for_that_part_alone() -> None:
    x, w = np.ones((50, 4)), np.ones((4, 3))
    text = str(fd.trace(fd.grad(lambda w: np.sum((x @ w)[7] ** 2)))(w))
    assert "contract{left=(0, 1), right=(0, 2), out=(1, 2)}" in text
    assert "add_slice" not in text
    assert_derivatives(lambda x, w: (x @ w)[7, ::2] ** 2, x, w, order=2)


# ---- the last carry of a loop --------------------------------------------------------------------


def _step(c: Any, row: Any) -> tuple[Any, Any]:
    return np.sqrt(c - row), c * c


ROWS = np.array([0.0, 0.0, 2.0])  # the root of the last iteration is 0 for the first element
C = np.array([16.0, 81.0])


def _scanned(c: Any) -> Any:
    return np.sum(fd.scan(_step, c, ROWS)[1])


def _written_out(c: Any) -> Any:
    total = 0.0
    for row in ROWS:
        c, y = _step(c, row)
        total = total + np.sum(y)
    return total


def _while(c: Any) -> Any:
    def body(state: Any) -> Any:
        k, c, total = state
        c, y = _step(c, np.where(k == 2, 2.0, 0.0))
        return k + 1, c, total + np.sum(y)

    return F.while_loop(lambda state: state[0] < 3, body, (0, c, 0.0))[2]


@pytest.mark.parametrize("loop", [_scanned, _while])
@pytest.mark.parametrize(
    "transform", [fd.grad, fd.jacfwd, fd.hessian, lambda f: fd.jit(fd.grad(f))]
)
def test_a_last_carry_that_nobody_uses_contributes_a_true_zero(loop: Any, transform: Any) -> None:
    expected = transform(_written_out)(C)
    assert np.all(np.isfinite(expected))
    np.testing.assert_allclose(transform(loop)(C), expected, rtol=1e-12)


def test_a_last_carry_that_is_used_has_its_infinite_slope() -> None:
    assert fd.grad(lambda c: fd.scan(_step, c, ROWS)[0])(16.0) == np.inf


def test_masks_of_a_carry_are_no_part_of_loops_that_do_not_need_them() -> None:
    w, xs = np.ones((3, 3)) / 10, np.ones((4, 3))

    def f(w: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            h = np.tanh(x + c @ w)
            return h, h * h

        return np.sum(fd.scan(body, np.ones(3), xs)[1])

    assert "bool" not in str(fd.trace(fd.grad(f))(w))
