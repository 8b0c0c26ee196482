"""Derivatives of derivatives at first sight: tapes in traces, and where their programs decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.calls.differentiated import trace_call
from funcdiff.api.calls.inputs import Selection
from tests.backend.test_tape import X, derived, unseen

__all__ = ["unseen"]  # a fixture

T = np.array([0.3, 0.8, -0.5])


def smooth(x: Any) -> Any:
    y = np.concatenate([np.sin(x) * x, x[::-1] / (1 + x**2)])
    y[1:3] *= x[0]
    return np.sum(np.tanh(y.reshape(2, 3) @ x)) + y[1] ** 2 + np.max(y) * np.cumsum(y)[4]


def masked(x: Any) -> Any:
    return np.sum(np.where(x > 0, x * np.log(x), 0.0) ** 2 + x * x**2)


SECOND: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "hvp": lambda f, x: fd.hvp(f, (x,), (T,)),
    "vhp": lambda f, x: fd.vhp(f, (x,), (T,)),
    "grad of grad": lambda f, x: fd.grad(lambda y: fd.grad(f)(y) @ T)(x),
    "grad of value": lambda f, x: fd.grad(lambda y: fd.value_and_grad(f)(y)[1] @ T)(x),
    "grad of jvp": lambda f, x: fd.grad(lambda y: fd.jvp(f, (y,), (T,))[1])(x),
    "grad of vjp": lambda f, x: fd.grad(lambda y: fd.vjp(f, y)[1](1.0)[0] @ T)(x),
    "grad of linearize": lambda f, x: fd.grad(lambda y: fd.linearize(f, y)[1](T))(x),
    "linearize": lambda f, x: fd.linearize(fd.grad(f), x)[1](T),
    "auxiliary": lambda f, x: fd.grad(
        lambda y: fd.grad(lambda z: (f(z), (z, "z")), has_aux=True)(y)[0] @ T
    )(x),
}


NO_PROGRAM = ["hvp", *(name for name in SECOND if name.startswith("grad of "))]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("second", SECOND.values(), ids=SECOND)
@pytest.mark.parametrize("f", [smooth, masked])
def test_the_first_call_is_the_tenth_and_that_of_jit(
    second: Callable[..., Any], f: Callable[[Any], Any]
) -> None:
    expected = fd.jit(fd.hessian(f))(X) @ T
    fd.clear_caches()
    for _ in range(20):
        np.testing.assert_allclose(second(f, X), expected, rtol=1e-11, atol=1e-13)
    for k in range(20):  # functions that are traced in every call
        found = second(lambda x, k=k: f(x) + k % 2, X)
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", NO_PROGRAM)
def test_the_first_derivative_of_a_derivative_derives_no_program(name: str) -> None:
    SECOND[name](smooth, X)
    assert derived() == 0


@pytest.mark.parametrize("second", SECOND.values(), ids=SECOND)
def test_where_a_number_is_not_finite_the_programs_decide_without_a_second_call(
    second: Callable[..., Any],
) -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return masked(x)

    x = np.array([0.5, 0.0, -1.0])
    value, _ = fd.jvp(fd.grad(masked), (x,), (T,))
    np.testing.assert_array_equal(value[1:], [0.0, 3.0])
    curvature = np.array([2 * ((1 + np.log(0.5)) ** 2 + np.log(0.5)) + 3, 0.0, -6.0])
    np.testing.assert_allclose(second(f, x), curvature * T, rtol=1e-12)
    assert len(calls) == 1


def test_values_of_a_derivative_that_are_asked_for_are_those_of_its_program() -> None:
    seen = []

    def f(x: Any) -> Any:
        g = fd.grad(masked)(x)
        seen.append([float(v) for v in fd.stop_gradient(g)])
        return g @ T if g[1] == 0.0 else np.sum(x)

    x = np.array([0.5, 0.0, -1.0])
    with np.errstate(all="ignore"):  # NumPy computes both sides of `np.where`
        found = fd.grad(f)(x)
    np.testing.assert_allclose(found, fd.hvp(masked, (x,), (T,)), rtol=1e-12)
    np.testing.assert_allclose(seen[0], fd.grad(masked)(x), rtol=1e-12)


def test_functions_of_radii_have_their_second_derivatives_at_zero() -> None:
    t = np.array([1.0, 2.0])
    for f in (lambda x: np.linalg.norm(x) ** 2, lambda x: np.sqrt(np.sum(x * x)) ** 2):
        np.testing.assert_array_equal(fd.hvp(f, (np.zeros(2),), (t,)), 2 * t)
        np.testing.assert_array_equal(fd.grad(lambda x, f=f: fd.grad(f)(x) @ t)(np.zeros(2)), 2 * t)


def test_inner_functions_take_what_is_traced_outside() -> None:
    def f(x: Any) -> Any:
        return x @ fd.grad(lambda y: np.sum(x * y**2 * np.sin(x)))(x)

    np.testing.assert_allclose(fd.grad(f)(X), 6 * X**2 * np.sin(X) + 2 * X**3 * np.cos(X))
    assert derived() == 0
    np.testing.assert_allclose(
        fd.grad(lambda x: x * fd.grad(lambda y: x + y)(2.0))(1.0), 1.0, rtol=0
    )


def entries_of_gradient(f: Callable[[Any], Any], x: Any) -> int:
    """How many entries there are where the gradient is about to be differentiated."""
    selection = Selection(fd.grad(f), "grad", 0, None)
    _, trace = trace_call(fd.grad(f), selection, (x,), {}, on_values="push")
    return len(trace.recording[0])


def test_loops_of_many_turns_are_differentiated_again_as_loops() -> None:
    def f(x: Any) -> Any:
        y = x
        for _ in range(500):
            y = np.sin(y) * 1.01 + x
        return np.sum(y)

    assert entries_of_gradient(f, X) < 50
    found = fd.hvp(f, (X,), (T,))
    np.testing.assert_allclose(found, fd.jit(fd.hessian(f))(X) @ T, rtol=1e-11)


def test_cotangents_of_many_reads_are_added_up_in_one_array() -> None:
    def entries(n: int) -> int:
        return entries_of_gradient(lambda x: sum(x[k] * x[k + 1] for k in range(n - 1)), np.ones(n))

    short, long = entries(20), entries(40)
    assert long <= 2.2 * short
    expected = [1, *[2] * 28, 1]

    def f(x: Any) -> Any:
        return sum(x[k] * x[k + 1] for k in range(29))

    np.testing.assert_array_equal(fd.hvp(f, (np.ones(30),), (np.ones(30),)), expected)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (3, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_dtypes(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.linspace(0.2, 0.9, int(np.prod(shape))).reshape(shape).astype(dtype)[()]
    t = np.ones_like(x)

    def f(x: Any) -> Any:
        return np.sum(np.exp(x) * x**2 - 2.5 * x)

    found = fd.hvp(f, (x,), (t,))
    assert (found.shape, found.dtype) == (shape, dtype)
    np.testing.assert_allclose(found, np.exp(x) * (x**2 + 4 * x + 2), rtol=1e-5)


def test_complex_gradients_are_conjugated_within_a_trace() -> None:
    z = np.array([0.3 + 0.4j, -0.2 + 0.1j])
    t = np.array([1.0 - 0.5j, 0.2j])
    found = fd.jvp(fd.grad(lambda z: np.sum(np.real(z * z * np.exp(z)))), (z,), (t,))[1]
    np.testing.assert_allclose(found, np.conj(np.exp(z) * (z**2 + 4 * z + 2) * t), rtol=1e-12)
    assert derived() == 0


def test_powers_are_recorded_by_a_tape_if_they_are_smooth() -> None:
    found = fd.hvp(lambda x: np.sum(x**3 - 2 * x**-2), (X,), (T,))
    np.testing.assert_allclose(found, (6 * X - 12 * X**-4) * T, rtol=1e-12)
    z = X + 0.5j
    _, turned = fd.jvp(fd.grad(lambda z: np.sum(np.real((2 - 1j) * z**3 + z))), (z,), (z,))
    np.testing.assert_allclose(turned, np.conj((2 - 1j) * 6 * z * z), rtol=1e-12)
    assert derived() == 0
    fd.hvp(lambda x: np.sum((x * x) ** 0.5), (X,), (T,))
    assert derived() == 1


def test_a_third_derivative_is_that_of_the_program() -> None:
    def third(x: Any) -> Any:
        return fd.jvp(lambda y: fd.hvp(smooth, (y,), (T,)), (x,), (T,))[1]

    first = third(X)
    np.testing.assert_allclose(first, fd.jit(third)(X), rtol=1e-10)


def several(x: Any) -> Any:
    y = np.concatenate([np.sin(x) * x, x[::-1] / (1 + x**2)])
    return {"a": np.tanh(y.reshape(2, 3) @ x), "b": np.cos(x * (1 + 0.5j)) * x}


CT = {"a": np.array([0.4, -1.1]), "b": np.array([0.3 - 1j, 0.2j, 1.0])}


def pulled(f_vjp: Any, scale: Any = 1.0) -> Any:
    return f_vjp({name: scale * ct for name, ct in CT.items()})[0]


def with_value(z: Any) -> Any:
    y, f_vjp = fd.vjp(several, z)
    return np.sum(y["a"]) + pulled(f_vjp) @ T


PULLBACKS: dict[str, Callable[[Any], Any]] = {
    "at the point": lambda x: fd.grad(lambda z: pulled(fd.vjp(several, z)[1]) @ T)(x),
    "in the cotangent": lambda x: fd.grad(lambda s: pulled(fd.vjp(several, x)[1], s) @ T)(0.7),
    "in both": lambda x: fd.grad(lambda z: pulled(fd.vjp(several, z)[1], np.sum(z)) @ T)(x),
    "with the value": lambda x: fd.grad(with_value)(x),
    "twice": lambda x: fd.grad(
        lambda z: (lambda p: pulled(p) @ pulled(p, 2.0 + z[0]))(fd.vjp(several, z)[1])
    )(x),
    "in a trace within": lambda x: fd.grad(
        lambda z: (lambda p: fd.grad(lambda s: pulled(p, s) @ z)(z[0]))(fd.vjp(several, z)[1])
    )(x),
    "three times": lambda x: fd.grad(
        lambda q: fd.grad(lambda z: pulled(fd.vjp(several, z)[1]) @ T)(q) @ T
    )(x),
    "forwards": lambda x: fd.jvp(lambda z: pulled(fd.vjp(several, z)[1]), (x,), (T,))[1],
    "tangents": lambda x: fd.grad(
        lambda z: np.sum(np.real(fd.linearize(several, z)[1](T)["b"] * CT["b"]))
    )(x),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("way", PULLBACKS.values(), ids=PULLBACKS)
def test_linear_maps_of_traces_are_those_of_their_programs(way: Callable[[Any], Any]) -> None:
    expected = fd.jit(way)(X)
    fd.clear_caches()
    for _ in range(12):
        np.testing.assert_allclose(way(X), expected, rtol=1e-11, atol=1e-13)


def test_one_pullback_serves_several_traces() -> None:
    _, f_vjp = fd.vjp(several, X)
    first, second = (fd.grad(lambda s, k=k: pulled(f_vjp, s) @ T * k)(0.5) for k in (1.0, 2.0))
    np.testing.assert_allclose(second, 2 * first, rtol=1e-12)
    np.testing.assert_allclose(first, pulled(f_vjp) @ T, rtol=1e-12)


def test_a_pullback_keeps_the_point_that_its_arguments_had() -> None:
    seen, weights = [], np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        y, w = np.sin(x), weights.copy()
        value, f_vjp = fd.vjp(lambda y, w: y**3 * w, y, w)
        value *= 0.0
        y += 1.0
        w[:] = 7.0
        found = f_vjp(np.ones(3))[0]
        seen.append([float(v) for v in fd.stop_gradient(found)])  # its program computes these
        return found @ T

    found = fd.grad(f)(X)
    np.testing.assert_allclose(found, 6 * np.sin(X) * np.cos(X) * weights * T, rtol=1e-12)
    np.testing.assert_allclose(seen[0], 3 * np.sin(X) ** 2 * weights, rtol=1e-12)
