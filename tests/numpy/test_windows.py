"""Windows of traced arrays: NumPy's values and errors, read-only, and cheap derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.testing import assert_array_equal

import funcdiff as fd
from funcdiff.errors import LostDerivativeError, UnsupportedNumPyError

X = np.sin(np.arange(24.0)).reshape(4, 6)


@pytest.mark.parametrize(
    ("window", "axis"),
    [((2, 3), None), (3, 1), (6, -1), ((2, 2), (1, 0)), ((2, 2, 1), (0, 0, 1)), (0, 0), ((), ())],
)
def test_the_windows_are_numpys(window: Any, axis: Any) -> None:
    found = fd.jit(lambda x: sliding_window_view(x, window, axis=axis))(X)
    assert_array_equal(found, sliding_window_view(X, window, axis=axis), strict=True)
    assert not np.shares_memory(found, X)


@pytest.mark.parametrize(("window", "axis", "words"), [
    ((2,), None, "1 lengths for 2 axes"),
    ((2, 2), 0, "2 lengths for 1 axes"),
    (-1, 0, "negative"),
    (5, 0, "larger than the array"),
    ((3, 3), (0, 0), "larger than the array"),
])  # fmt: skip
def test_windows_that_do_not_fit_are_refused(window: Any, axis: Any, words: str) -> None:
    with pytest.raises(ValueError, match="window"):
        sliding_window_view(X, window, axis=axis)
    with pytest.raises(ValueError, match=words):
        fd.grad(lambda x: np.sum(sliding_window_view(x, window, axis=axis)))(X)


def test_every_element_counts_once_for_every_window_that_it_is_in() -> None:
    gradient = fd.grad(lambda x: np.sum(sliding_window_view(x, 3)))(np.arange(5.0))
    assert_array_equal(gradient, [1, 2, 3, 2, 1])


def test_the_program_of_a_derivative_does_not_grow_with_the_windows() -> None:
    def equations(window: int) -> int:
        gradient = fd.grad(lambda x: np.sum(sliding_window_view(x, window) ** 2))
        program: Any = fd.trace(gradient)(np.ones(1_000))
        return len(program.equations)

    assert equations(3) == equations(500)


def test_what_a_mask_drops_from_windows_has_no_derivative() -> None:
    def f(x: Any) -> Any:
        roots = sliding_window_view(np.sqrt(x), 2)
        return np.sum(np.where(sliding_window_view(x, 2) > 0, roots, 0))

    assert_array_equal(fd.grad(f)(np.array([4.0, 0, 1])), [0.25, 0, 0.5])
    assert_array_equal(fd.hessian(f)(np.array([4.0, 0, 1])), np.diag([-1 / 32, 0, -0.25]))


def test_windows_are_read_only_and_see_changes_of_the_array() -> None:
    def write(x: Any) -> Any:
        sliding_window_view(x, 2, axis=0)[0, 0, 0] = 1.0
        return np.sum(x)

    def change(x: Any) -> Any:
        y = x * 1
        windows = sliding_window_view(y, 2, axis=1)
        y[0, 1] = 5 * x[0, 1]
        return np.sum(windows**2)

    def pure(x: Any) -> Any:
        return np.sum(
            sliding_window_view(np.where(np.arange(24).reshape(4, 6) == 1, 5 * x, x), 2, axis=1)
            ** 2
        )

    with pytest.raises(ValueError, match="read-only"):
        fd.grad(write)(X)
    assert_array_equal(fd.grad(change)(X), fd.grad(pure)(X))


def test_what_stays_refused_says_what_to_write() -> None:
    with pytest.raises(UnsupportedNumPyError, match="write into the array itself"):
        fd.grad(lambda x: np.sum(sliding_window_view(x, 2, axis=0, writeable=True)))(X)
    with pytest.raises(LostDerivativeError, match="sliding_window_view"):
        fd.grad(lambda x: np.sum(as_strided(x, (2, 2), (8, 8))))(X)
