"""Rules that run `while_loop` on tangents or cotangents: either one gives every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import NotDifferentiableError
from funcdiff.testing import check_grads

X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, 2.0, -0.5])


def three(x: Any) -> Any:
    """Return a number of iterations that is known only when a program runs."""
    return np.add(np.size(x) * 0 + 2, np.isfinite(np.sum(x)))


def repeated(x: Any) -> Any:
    for _ in range(3):
        x = 2 * np.sin(x)
    return x


def with_one_loop() -> Any:
    f: Any = fd.custom_jvp(repeated)

    def rule(primals: Any, tangents: Any) -> Any:
        n = three(primals[0])

        def step(state: Any) -> Any:
            k, y, t = state
            return k + 1, 2 * np.sin(y), 2 * np.cos(y) * t

        return fd.while_loop(lambda s: s[0] < n, step, (0, primals[0], tangents[0]))[1:]

    f.defjvp(rule)
    return f


def with_fori_loop() -> Any:
    f: Any = fd.custom_jvp(repeated)

    def rule(primals: Any, tangents: Any) -> Any:
        def step(k: Any, state: Any) -> Any:
            y, t = state
            return 2 * np.sin(y), 2 * np.cos(y) * t

        t = fd.fori_loop(0, three(primals[0]), step, (primals[0], tangents[0]))[1]
        return f(*primals), t

    f.defjvp(rule)
    return f


def with_a_derivative() -> Any:
    f: Any = fd.custom_jvp(repeated)

    def loop(x: Any) -> Any:
        n = three(fd.stop_gradient(x))
        step = lambda s: (s[0] + 1, 2 * np.sin(s[1]))
        return fd.while_loop(lambda s: s[0] < n, step, (0, x))[1]

    f.defjvp(lambda primals, tangents: fd.jvp(loop, primals, tangents))
    return f


def with_a_backward_loop() -> Any:
    f: Any = fd.custom_vjp(repeated)

    def forward(x: Any) -> Any:
        ys = [x, 2 * np.sin(x), 2 * np.sin(2 * np.sin(x))]
        return 2 * np.sin(ys[-1]), np.stack(ys)

    def backward(ys: Any, ct: Any) -> Any:
        step = lambda s: (s[0] - 1, s[1] * 2 * np.cos(ys[s[0]]))
        return (fd.while_loop(lambda s: s[0] >= 0, step, (three(ys) - 1, ct))[1],)

    f.defvjp(forward, backward)
    return f


def with_opaque_values() -> Any:
    f: Any = fd.primitive(lambda x: np.array(repeated(x).tolist()), result=lambda x: x)

    def rule(primals: Any, tangents: Any) -> Any:
        return f(*primals), with_fori_loop_tangent(primals[0], tangents[0])

    f.defjvp(rule)
    return f


def with_fori_loop_tangent(x: Any, t: Any) -> Any:
    step = lambda k, s: (2 * np.sin(s[0]), 2 * np.cos(s[0]) * s[1])
    return fd.fori_loop(0, three(x), step, (x, t))[1]


MAKERS = [
    with_one_loop, with_fori_loop, with_a_derivative, with_a_backward_loop, with_opaque_values,
]  # fmt: skip


@pytest.mark.thinned(3)
@pytest.mark.parametrize("make", MAKERS)
def test_a_loop_in_a_rule_agrees_with_differences(make: Callable[[], Any]) -> None:
    check_grads(make(), (X,), order=2)


def test_a_batch_of_loops_of_different_lengths_is_transposed() -> None:
    f: Any = fd.custom_jvp(lambda x: x**5)

    def rule(primals: Any, tangents: Any) -> Any:  # as many powers as there are until 0.01
        x = primals[0]
        step = lambda s: (s[0] * np.abs(x), s[1] + s[0] * tangents[0])
        return f(x), fd.while_loop(lambda s: s[0] > 0.01, step, (1.0 + 0 * x, 0 * tangents[0]))[1]

    f.defjvp(rule)

    expected = [fd.jvp(f, (x,), (1.0,))[1] for x in X / 2]
    np.testing.assert_allclose(fd.vmap(fd.grad(f))(X / 2), expected)
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(fd.vmap(f)(x)))(X / 2), expected)


@pytest.mark.slow
def test_a_linear_equation_of_a_loop_is_solved_in_both_modes() -> None:
    matrix = np.array([[4.0, -1.0, 0.5], [0.3, 3.0, 1.0], [-0.2, 0.4, 5.0]])

    def solution(b: Any, k: Any) -> Any:
        def product(v: Any) -> Any:  # column by column, as many as there are
            step = lambda i, total: total + (fnp.take(matrix, i, axis=1) * k) * v[i]
            return fd.fori_loop(0, three(k), step, 0 * v)

        return fd.custom_linear_solve(product, b)

    check_grads(solution, (V, 1.5), order=2)
    np.testing.assert_allclose(solution(V, 1.0), np.linalg.solve(matrix, V))


def test_a_root_of_a_loop_has_every_mode() -> None:
    def root(a: Any) -> Any:
        def heron(x: Any, a: Any) -> Any:
            return fd.fori_loop(0, three(a), lambda i, y: 0.5 * (y + a / y), x)

        return fd.fixed_point(heron, a, a)

    for x in (2.0, 5.0):
        np.testing.assert_allclose(fd.grad(root)(x), 0.5 / np.sqrt(x))
        np.testing.assert_allclose(fd.grad(fd.grad(root))(x), -0.25 * x**-1.5)


def test_a_loop_linear_in_its_operand_has_a_transpose() -> None:
    linear = lambda t: with_fori_loop_tangent(X, t)
    (ct,) = fd.linear_transpose(linear, X)(V)
    np.testing.assert_allclose(ct, fd.vjp(repeated, X)[1](V)[0])


@pytest.mark.parametrize(
    "step",
    [
        lambda x, t, y: np.round(y),
        lambda x, t, y: y + np.floor(y),
        lambda x, t, y: np.abs(y),
        lambda x, t, y: y + 1.0,
        lambda x, t, y: y + x,
        lambda x, t, y: y * t,
        lambda x, t, y: fd.scan(lambda c, _: (np.round(c), None), y, None, 2)[0],
    ],
)
@pytest.mark.parametrize("fixed", [True, False])
def test_a_loop_that_is_not_linear_in_the_tangent_is_refused(
    step: Callable[[Any, Any, Any], Any], fixed: bool
) -> None:
    f: Any = fd.custom_jvp(np.sin)

    def rule(primals: Any, tangents: Any) -> Any:
        x, t = primals[0], tangents[0]
        n = 3 if fixed else three(x)
        return f(x), fd.fori_loop(0, n, lambda k, y: step(x, t, y), t)

    f.defjvp(rule)

    fd.jvp(f, (X,), (V,))
    with pytest.raises(NotDifferentiableError, match="not linear in its tangents"):
        fd.vjp(f, X)


def test_a_loop_that_counts_by_the_tangent_is_refused() -> None:
    f: Any = fd.custom_jvp(np.sin)

    def rule(primals: Any, tangents: Any) -> Any:
        grown = fd.while_loop(lambda t: np.sum(t**2) < 50, lambda t: 2 * t, tangents[0])
        return f(*primals), grown

    f.defjvp(rule)

    with pytest.raises(NotDifferentiableError, match="not linear in its tangents"):
        fd.vjp(f, X)
