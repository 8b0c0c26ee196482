"""Derivatives inside derivatives: no mode mix confuses one perturbation with another."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import EscapedTracerError
from tests.together import together

Mode: TypeAlias = Callable[[Callable[[Any], Any]], Callable[[Any], Any]]


def _by_jvp(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fd.jvp(f, (x,), (1.0,))[1]


def _by_vjp(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fd.vjp(f, x)[1](1.0)[0]


def _by_linearize(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fd.linearize(f, x)[1](1.0)


def _by_value_and_grad(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fd.value_and_grad(f)(x)[1]


def _by_vmap_of_grad(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fd.vmap(fd.grad(f))(np.stack([x, x]))[1]


def _by_grad_of_vmap(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fd.grad(lambda x: fd.vmap(f)(np.stack([x, x]))[0])(x)


MODES: Final[dict[str, Mode]] = {
    "grad": fd.grad,
    "value_and_grad": _by_value_and_grad,
    "jvp": _by_jvp,
    "vjp": _by_vjp,
    "linearize": _by_linearize,
    "jacobian": fd.jacobian,
    "jacfwd": fd.jacfwd,
    "jacrev": fd.jacrev,
    "vmap of grad": _by_vmap_of_grad,
    "grad of vmap": _by_grad_of_vmap,
}

OUTER = pytest.mark.parametrize("outer", MODES.values(), ids=MODES)
INNER = pytest.mark.parametrize("inner", MODES.values(), ids=MODES)
MIDDLE = pytest.mark.parametrize(
    "middle", [fd.grad, _by_jvp, _by_vmap_of_grad], ids=["grad", "jvp", "vmap of grad"]
)


# ---- perturbation confusion ------------------------------------------------------------------


@together
@OUTER
@INNER
def test_the_slope_of_x_times_the_slope_of_x_plus_y_is_one(outer: Mode, inner: Mode) -> None:
    assert outer(lambda x: x * inner(lambda y: x + y)(1.0))(1.0) == 1


@together
@OUTER
@INNER
def test_the_inner_slope_may_depend_on_the_outer_variable(outer: Mode, inner: Mode) -> None:
    # d/dx (x · d/dy (x·y²) at y = 2) = d/dx (4x²) = 8x
    assert outer(lambda x: x * inner(lambda y: x * y**2)(2.0))(3.0) == 24


@together
@OUTER
@INNER
def test_the_inner_point_may_be_the_outer_variable(outer: Mode, inner: Mode) -> None:
    # d/dx (d/dy (x·y³) at y = x) = d/dx (3x³) = 9x²
    assert outer(lambda x: inner(lambda y: x * y**3)(x))(2.0) == 36


@together
@OUTER
@INNER
def test_an_inner_slope_of_a_constant_is_zero(outer: Mode, inner: Mode) -> None:
    assert outer(lambda x: x + inner(lambda y: x * x)(1.0))(3.0) == 1


@together
@OUTER
@INNER
def test_an_inner_function_may_return_the_outer_variable(outer: Mode, inner: Mode) -> None:
    assert outer(lambda x: x * inner(lambda y: x)(1.0) + x)(3.0) == 1


@pytest.mark.thinned(16)
@OUTER
@MIDDLE
@INNER
def test_third_derivatives(outer: Mode, middle: Mode, inner: Mode) -> None:
    x = 0.7
    third = outer(middle(inner(lambda x: np.sin(x) * x**2)))(x)
    expected = 6 * np.cos(x) - 6 * x * np.sin(x) - x**2 * np.cos(x)
    np.testing.assert_allclose(third, expected, rtol=1e-13)


@pytest.mark.thinned(8)
@OUTER
@MIDDLE
@INNER
def test_three_variables_at_three_levels(outer: Mode, middle: Mode, inner: Mode) -> None:
    # d/dx x·(d/dy y·(d/dz x·y·z²)) at z = 1, y = 2: inner 2xy, middle 4xy = 8x, outer 16x
    def f(x: Any) -> Any:
        return x * middle(lambda y: y * inner(lambda z: x * y * z**2)(1.0))(2.0)

    assert outer(f)(3.0) == 48


def test_a_closure_that_returns_a_derivative_does_not_mix_levels() -> None:
    # Manzyuk et al., Perturbation confusion in forward automatic differentiation (2019)
    def shift(u: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
        return lambda f: lambda x: f(x + u)

    def derivative(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: fd.jvp(f, (x,), (1.0,))[1]

    # the derivative by u of f(x + u) is f' again, so this is the second derivative
    def second(x: Any) -> Any:
        return derivative(lambda u: derivative(shift(u)(np.sin))(x))(0.0)

    np.testing.assert_allclose(second(0.3), -np.sin(0.3), rtol=1e-15)


def test_a_pullback_made_outside_is_differentiable_inside() -> None:
    _, f_vjp = fd.vjp(lambda x: x**3, 2.0)
    assert fd.grad(lambda v: f_vjp(v)[0] * v)(5.0) == 2 * 12 * 5


def test_a_pullback_made_inside_carries_the_outer_derivative() -> None:
    def f(x: Any) -> Any:
        _, f_vjp = fd.vjp(lambda y: y**3 * x, x)
        return f_vjp(x)[0]

    # 3x²·x·x = 3x⁴
    assert fd.grad(f)(2.0) == 12 * 2**3


def test_a_linearized_function_made_inside_carries_the_outer_derivative() -> None:
    def f(x: Any) -> Any:
        _, f_jvp = fd.linearize(lambda y: np.sin(y) * x, x)
        return f_jvp(x)

    # x²·cos x
    np.testing.assert_allclose(
        fd.grad(f)(0.7), 2 * 0.7 * np.cos(0.7) - 0.7**2 * np.sin(0.7), rtol=1e-14
    )


def test_arrays_and_containers_nest() -> None:
    def f(p: Any) -> Any:
        inner = fd.grad(lambda q: np.sum(q["a"] ** 2 * p["b"]))(p)
        return np.sum(inner["a"] * p["a"])

    p = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    gradient = fd.grad(f)(p)
    np.testing.assert_array_equal(gradient["a"], 4 * p["a"] * p["b"])
    np.testing.assert_array_equal(gradient["b"], 2 * p["a"] ** 2)


def test_an_if_inside_an_inner_derivative_sees_the_value() -> None:
    def f(x: Any) -> Any:
        return fd.grad(lambda y: y**2 * x if y > 1 else y * x)(x)

    assert fd.grad(f)(2.0) == 8
    assert fd.grad(f)(0.5) == 1


def test_an_array_of_an_outer_trace_cannot_be_changed_inside() -> None:
    def f(x: Any) -> Any:
        y = x * 1

        def inner(z: Any) -> Any:
            nonlocal y
            y += z
            return np.sum(y)

        return np.sum(fd.grad(inner)(x))

    with pytest.raises(TypeError, match=r"enclosing trace.*x = x \+ y"):
        fd.grad(f)(np.ones(2))


# ---- escape ----------------------------------------------------------------------------------


def _smuggled(x: Any, kept: list[Any]) -> Any:
    kept.append(np.sin(x))
    return np.sum(x)


@pytest.mark.parametrize("use", [
    lambda x: x + 1,
    lambda x: 2.0 * x,
    np.sin,
    np.sum,
    lambda x: x[0],
    lambda x: np.concatenate([x, x]),
    lambda x: fd.grad(lambda y: np.sum(x * y))(np.ones(2)),
    lambda x: fd.grad(lambda y: np.sum(x))(np.ones(2)),
])  # fmt: skip
def test_using_an_escaped_tracer_raises_and_names_where_it_was_made(use: Any) -> None:
    kept: list[Any] = []
    fd.grad(_smuggled)(np.ones(2), kept)
    with pytest.raises(EscapedTracerError, match=r"Return it from the traced function") as caught:
        use(kept[0])
    assert "test_nesting.py" in str(caught.value)
    assert "_smuggled" in str(caught.value)


def test_an_escaped_tracer_as_an_argument_raises() -> None:
    kept: list[Any] = []
    fd.grad(_smuggled)(np.ones(2), kept)
    with pytest.raises(EscapedTracerError):
        fd.grad(lambda x: np.sum(x))(kept[0])


def test_an_inner_tracer_used_in_the_outer_function_raises() -> None:
    def f(x: Any) -> Any:
        kept: list[Any] = []
        fd.grad(_smuggled)(x, kept)
        return np.sum(x * kept[0])

    with pytest.raises(EscapedTracerError):
        fd.grad(f)(np.ones(2))


def test_a_tracer_yielded_by_a_generator_after_the_trace_raises() -> None:
    def numbers(x: Any) -> Any:
        yield x * 1
        yield x * 2

    kept: list[Any] = []

    def f(x: Any) -> Any:
        generator = numbers(x)
        kept.append(generator)
        return next(generator)

    assert fd.grad(f)(1.0) == 1
    with pytest.raises(EscapedTracerError):
        next(kept[0])


# ---- state -----------------------------------------------------------------------------------


@OUTER
def test_an_exception_leaves_no_state_behind(outer: Mode) -> None:
    def broken(x: Any) -> Any:
        np.sin(x)
        raise LookupError

    for _ in range(3):
        with pytest.raises(LookupError):
            outer(broken)(1.0)
        with pytest.raises(LookupError):
            outer(lambda x: outer(broken)(x))(1.0)
    assert outer(lambda x: x**2)(3.0) == 6
    with pytest.raises(EscapedTracerError):
        _escaped() + 1


def _escaped() -> Any:
    kept: list[Any] = []
    fd.grad(lambda x: kept.append(x) or x)(1.0)  # type: ignore[func-returns-value]
    return kept[0]


def test_two_threads_trace_at_once() -> None:
    barrier = threading.Barrier(2, timeout=600)

    def work(scale: float) -> list[Any]:
        def f(x: Any) -> Any:
            barrier.wait()
            y = np.sin(scale * x)
            barrier.wait()
            return y * fd.grad(lambda z: z**2 * x)(y)

        return [fd.grad(f)(0.1 * k) for k in range(20)]

    def expected(scale: float) -> list[Any]:
        return [fd.grad(lambda x: 2 * np.sin(scale * x) ** 2 * x)(0.1 * k) for k in range(20)]

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(work, [1.0, 3.0]))
    np.testing.assert_allclose(results[0], expected(1.0), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(results[1], expected(3.0), rtol=1e-13, atol=1e-15)


def test_a_tracer_used_in_another_thread_raises() -> None:
    def f(x: Any) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: x * 2).result()

    with pytest.raises(EscapedTracerError, match="another thread"):
        fd.grad(f)(1.0)
