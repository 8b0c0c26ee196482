"""`while_loop` and `fori_loop`: what Python's own loops would compute, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError
from funcdiff.testing import check_grads

X = np.array([0.4, -0.9, 0.3])
W = np.array([[0.9, -0.4, 0.2], [0.1, 0.7, -0.6], [0.5, 0.3, 0.8]])


def _newton(x: Any) -> Any:
    """Return √x by Newton's iteration, run until it stands still."""

    def moves(state: Any) -> Any:
        before, after = state
        return np.abs(before - after) > 1e-12

    return fd.while_loop(moves, lambda s: (s[1], 0.5 * (s[1] + x / s[1])), (0.0 * x, x))[1]


def _grown(x: Any) -> Any:
    return fd.while_loop(
        lambda y: np.sum(y**2) < 50, lambda y: 1.3 * y + np.sin(W @ y) + 0.1 * x, x
    )


def _grown_in_python(x: Any) -> Any:
    y = x
    while np.sum(y**2) < 50:
        y = 1.3 * y + np.sin(W @ y) + 0.1 * x
    return y


# ---- values ----------------------------------------------------------------------------------


def test_while_loop_is_a_loop() -> None:
    np.testing.assert_array_equal(_grown(X), _grown_in_python(X))
    assert _newton(2.0) == pytest.approx(np.sqrt(2), rel=1e-15)


def test_without_a_trace_python_runs_the_loop() -> None:
    seen = []

    def step(n: int) -> int:
        seen.append(int(n))
        return n + 1

    assert fd.while_loop(lambda n: n < 3, step, 0) == 3
    assert seen == [0, 1, 2]
    assert fd.fori_loop(2, 5, lambda i, n: n + int(i), 0) == 9


def test_a_loop_that_does_not_run_returns_a_copy() -> None:
    x = np.ones(3)
    result = fd.while_loop(lambda y: np.sum(y) < 0, lambda y: y + 1, x)
    result[0] = 5.0
    assert x[0] == 1
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(x * _grown(100 * x)))(x), 200 * x)


def test_a_body_may_change_its_carry_in_place() -> None:
    def step(y: Any) -> Any:
        y *= 2
        return y

    def f(x: Any) -> Any:
        return np.sum(fd.while_loop(lambda y: y[0] < 10, step, x))

    x = np.array([1.0, 3.0])
    assert f(x) == 64
    np.testing.assert_array_equal(x, [1, 3])
    np.testing.assert_array_equal(fd.grad(f)(x), [16, 16])


# ---- derivatives -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_loop_agrees_with_differences_in_both_modes() -> None:
    check_grads(_newton, (2.3,), order=2)
    check_grads(_grown, (X,), order=2)


def test_a_loop_may_close_over_traced_arrays() -> None:
    def f(w: Any, limit: Any) -> Any:
        return fd.while_loop(lambda y: y < limit, lambda y: w * y + w, 1.0)

    # three iterations: 2w³ + w² + w
    assert fd.grad(f, (0, 1))(2.0, 20.0) == (29, 0)
    assert fd.jacfwd(f)(2.0, 20.0) == 29
    assert fd.grad(fd.grad(f))(2.0, 20.0) == fd.jacfwd(fd.jacfwd(f))(2.0, 20.0) == 26


def test_integers_and_booleans_may_be_carried() -> None:
    def f(x: Any) -> Any:
        def step(s: Any) -> Any:
            n, flag, y = s["n"] + 1, ~s["flag"], s["y"]
            return {"n": n, "flag": flag, "y": np.where(flag, y * x, y + n)}

        init = {"n": 0, "flag": False, "y": x}
        return fd.while_loop(lambda s: s["n"] < 4, step, init)["y"]

    # ((x·x + 2)·x + 4)
    assert f(3.0) == 37
    assert fd.grad(f)(3.0) == 29
    assert fd.grad(fd.grad(fd.grad(f)))(3.0) == 6


def _times(transform: Callable[[Any], Any], order: int, f: Any) -> Any:
    for _ in range(order):
        f = transform(f)
    return f


# ---- batches ---------------------------------------------------------------------------------


def _halved(x: Any) -> Any:
    """Multiply by square roots until 0 is reached, where the root has an infinite slope."""
    return fd.while_loop(
        lambda s: s[0] > 0, lambda s: (s[0] - 1.0, s[1] * np.sqrt(s[0])), (x, 2 * x)
    )[1]


EXAMPLES = np.array([4.0, 1.0, 2.0, 0.0, -3.0])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_each_example_stops_by_itself(order: int) -> None:
    f = _times(fd.grad, order, _halved)
    np.testing.assert_allclose(fd.vmap(f)(EXAMPLES), [f(x) for x in EXAMPLES], rtol=1e-13)


def test_examples_that_have_ended_leave_no_nan_in_the_derivative_of_a_batch() -> None:
    def total(x: Any) -> Any:
        return np.sum(fd.vmap(_halved)(x))

    expected = [fd.grad(_halved)(x) for x in EXAMPLES]
    np.testing.assert_allclose(fd.grad(total)(EXAMPLES), expected, rtol=1e-13)
    second = [fd.grad(fd.grad(_halved))(x) for x in EXAMPLES]
    np.testing.assert_allclose(np.diag(fd.hessian(total)(EXAMPLES)), second, rtol=1e-13)
    np.testing.assert_allclose(np.diag(fd.jacfwd(fd.jacfwd(total))(EXAMPLES)), second, rtol=1e-13)


def test_a_shared_condition_is_no_mask() -> None:
    def f(x: Any) -> Any:
        return fd.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, np.sin(s[1])), (0, x))[1]

    program = fd.trace(fd.vmap(f))(X)
    assert "select" not in str(program)
    np.testing.assert_allclose(fd.vmap(f)(X), np.sin(np.sin(np.sin(X))), rtol=1e-15)


def test_a_batch_of_cotangents_runs_the_loop_of_the_values_once() -> None:
    jacobian = fd.trace(fd.jacrev(_grown))(X)
    assert "contract{left=(0, 1), right=(1,), out=(0,)}" in str(jacobian)  # W @ y, no batch of y
    np.testing.assert_allclose(fd.jacrev(_grown)(X), fd.jacrev(_grown_in_python)(X), rtol=1e-13)


# ---- fori_loop -------------------------------------------------------------------------------


def _series(x: Any, n: Any) -> Any:
    """Return Σ xⁱ for i < n, by Horner's rule with the number of the term."""
    return fd.fori_loop(0, n, lambda i, y: y * x + 1.0 + 0.0 * i, 0.0 * x)


def test_fori_loop_counts_from_lower_to_upper() -> None:
    assert fd.fori_loop(2, 6, lambda i, s: 10 * s + i, 0) == 2345
    assert fd.fori_loop(6, 2, lambda i, s: s + i, 7) == 7
    batched = fd.vmap(lambda n: fd.fori_loop(n, 6, lambda i, s: 10 * s + i, 0))
    np.testing.assert_array_equal(batched(np.array([2, 5, 9])), [2345, 5, 0])


def test_fixed_bounds_make_a_scan_and_traced_ones_a_while_loop() -> None:
    assert "scan{" in str(fd.trace(lambda x: _series(x, 4))(0.5))
    assert "while_loop{" in str(fd.trace(_series)(0.5, 4))


def test_the_derivatives_of_fori_loop_are_those_of_the_series() -> None:
    x = 0.3
    expected = 1 + 2 * x + 3 * x**2
    assert fd.grad(lambda x: _series(x, 4))(x) == pytest.approx(expected, rel=1e-15)
    slopes = fd.vmap(fd.grad(_series), in_axes=(None, 0))(x, np.array([4, 0, 1, 2]))
    np.testing.assert_allclose(slopes, [expected, 0, 0, 1], rtol=1e-15)


def test_bounds_are_integers() -> None:
    fori: Any = fd.fori_loop
    for bound in (2.0, True, np.arange(2)):
        with pytest.raises(InputError, match=r"fori_loop: upper=.*integer scalar"):
            fori(0, bound, lambda i, x: x, 1.0)
    with pytest.raises(InputError, match="lower"):
        fd.grad(lambda x: fori(x, 3, lambda i, y: y, 1.0))(2.0)


# ---- what does not fit -----------------------------------------------------------------------


@pytest.mark.parametrize("traced", [False, True])
def test_a_body_that_changes_a_type_is_told_by_the_path(traced: bool) -> None:
    loop: Any = fd.while_loop

    def run(body: Any, init: Any) -> None:
        if traced:
            fd.trace(lambda x: loop(lambda s: s["n"] < 3, body, x))(init)
        else:
            loop(lambda s: s["n"] < 3, body, init)

    init = {"n": 0, "y": [1.0]}
    with pytest.raises(OutputError, match=r"carry\['n'\].*i64\[\].*f64\[\].*init_val\['n'\]"):
        run(lambda s: {"n": s["n"] + 0.5, "y": s["y"]}, init)
    with pytest.raises(OutputError, match=r"carry\['y'\]\[0\] of while_loop.*f64\[2\]"):
        run(lambda s: {"n": s["n"] + 1, "y": [s["y"][0] * np.ones(2)]}, init)
    with pytest.raises(OutputError, match=r"carry\['y'\]\[1\] is new.*same order"):
        run(lambda s: {"n": s["n"] + 1, "y": [1.0, 2.0]}, init)
    with pytest.raises(OutputError, match=r"carry\['n'\].*returned a str"):
        run(lambda s: {"n": "three", "y": s["y"]}, init)


def test_fori_loop_names_itself_and_the_path() -> None:
    fori: Any = fd.fori_loop
    with pytest.raises(OutputError, match=r"carry\[1\] of fori_loop.*f32\[\].*f64\[\]"):
        fori(0, 3, lambda i, s: (s[0], s[1] * np.float64(2)), (1.0, np.float32(1)))


@pytest.mark.parametrize("traced", [False, True])
def test_the_condition_is_one_boolean(traced: bool) -> None:
    loop: Any = fd.while_loop

    def run(condition: Any) -> None:
        x = np.ones(2)
        (fd.trace(lambda x: loop(condition, np.sin, x)) if traced else
         lambda x: loop(condition, np.sin, x))(x)  # fmt: skip

    with pytest.raises(OutputError, match=r"one boolean.*bool\[2\].*np\.any"):
        run(lambda x: x > 0)
    with pytest.raises(OutputError, match=r"one boolean.*f64\[\]"):
        run(np.sum)
