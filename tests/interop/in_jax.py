"""Bridges in JAX: ``python -m pytest -n 0 tests/interop/in_jax.py``, with it installed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, InputError, NotDifferentiableError
from funcdiff.interop.jax import use, wrap
from tests.interop.patterns import agree

jax.config.update("jax_enable_x64", True)

X = jnp.array([0.3, 0.7, -0.2])


def ours(x: Any) -> Any:
    return np.tanh(x) * x[::-1] + x[0] * np.sum(x**2)


def theirs(x: Any) -> Any:
    return jnp.tanh(x) * x[::-1] + x[0] * jnp.sum(x**2)


def squared_if_positive(x: Any) -> Any:
    return np.sum(x**2) if x[0] > 0 else np.sum(x)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "jit": jax.jit,
    "batch": lambda h: lambda x: jax.vmap(h)(jnp.stack([x, 2 * x])).sum(0),
    "shared": lambda h: lambda x: jax.vmap(lambda s: h(x * s))(jnp.array([0.5, 1.5])).sum(0),
    "forward": lambda h: lambda x: jax.jvp(h, (x,), (jnp.cos(x),))[1],
    "reverse": lambda h: lambda x: jax.vjp(h, x)[1](jnp.sin(x))[0],
    "checkpoint": jax.checkpoint,
    "scan": lambda h: lambda x: jax.lax.scan(lambda c, s: (h(c) * s, None), x, jnp.ones(2) / 9)[0],
    "cond": lambda h: lambda x: jax.lax.cond(x[0] > 0.1, h, lambda y: y * x[1], x),
}


@pytest.mark.parametrize("inline", [True, False])
@given(names=st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=4))
@settings(max_examples=15, deadline=None)
def test_transforms_nest_in_any_order(inline: bool, names: list[str]) -> None:
    bridged, native = wrap(ours, inline=inline), theirs
    for name in names:
        bridged, native = TRANSFORMS[name](bridged), TRANSFORMS[name](native)
    agree(str(names), bridged(X), native(X))


def test_how_a_compiled_call_runs_is_said() -> None:
    assert wrap(ours).how(X) == "inlined"
    assert wrap(ours, inline=False).how(X) == "callback: it was asked for"
    bessel = wrap(lambda x: fd.scipy.special.jv(1.5, x))
    assert bessel.how(X).startswith("callback: jv cannot be written as JAX code")
    assert "was asked for a concrete value" in wrap(squared_if_positive).how(X)
    text = jax.jit(jax.grad(lambda x: wrap(ours)(x).sum())).lower(X).as_text()
    assert "callback" not in text


def test_code_that_decides_by_values() -> None:
    f = wrap(squared_if_positive)
    agree("grad", jax.grad(f)(X), 2 * X)
    agree("batch", jax.vmap(jax.grad(f))(jnp.stack([X, -X])), jnp.stack([2 * X, jnp.ones(3)]))
    with pytest.raises(ConcreteValueError, match=r"Declare it: result="):
        jax.jit(f)(X)
    declared = wrap(squared_if_positive, result=lambda x: np.empty(()))
    agree("jit", jax.jit(jax.hessian(declared))(X), 2 * jnp.eye(3))
    rows = jnp.stack([X, -X])
    agree("batch", jax.jit(jax.vmap(jax.grad(declared)))(rows), jnp.stack([2 * X, jnp.ones(3)]))


def test_integers_and_other_results_have_no_derivative() -> None:
    f = wrap(lambda x, n: {"place": np.argmax(x), "y": x**n, "name": "powers"})
    found = f(X, 2)
    assert found["name"] == "powers"
    assert int(found["place"]) == 1
    slopes = jax.jit(jax.grad(lambda x: f(x, jnp.array([1, 2, 3]))["y"].sum()))(X)
    agree("slopes", slopes, [1, 2 * X[1], 3 * X[2] ** 2])


def test_complex_derivatives_follow_jax() -> None:
    z = X + 1j * X[::-1]
    for transform in (
        lambda f: jax.grad(lambda z: abs(f(z)) ** 2),
        lambda f: jax.grad(f, holomorphic=True),
        lambda f: lambda z: jax.jvp(f, (z,), (1j * z,))[1],
    ):
        found = transform(wrap(lambda z: np.sum(np.sin(z) * z)))(z)
        agree("complex", found, transform(lambda z: jnp.sum(jnp.sin(z) * z))(z))


def test_single_precision_is_a_cast_and_one_warning() -> None:
    with jax.enable_x64(False):
        x = jnp.array([0.5, 2.0])
        f = wrap(lambda x: np.sum(np.sin(x) * np.linspace(0, 1, 2)))
        for call in (f, jax.grad(f), jax.jit(jax.grad(f))):
            with pytest.warns(UserWarning, match="jax_enable_x64"):
                assert call(x).dtype == jnp.float32
        single = jax.jit(jax.grad(wrap(lambda x: np.sum(np.sin(x)))))(x)
        agree("single", single, np.cos([0.5, 2.0]), 1e-6)
        with pytest.warns(UserWarning, match="jax_enable_x64"):
            found = fd.hessian(use(lambda x: jnp.sum(jnp.sin(x))))(np.array([0.5, 2.0]))
        agree("use", found, np.diag(-np.sin([0.5, 2.0])), 1e-6)


def test_what_cannot_be_bridged_is_refused() -> None:
    with pytest.raises(InputError, match="bfloat16"):
        wrap(ours)(X.astype(jnp.bfloat16))
    with pytest.raises(NotDifferentiableError, match="cannot be transposed"):
        jax.linear_transpose(wrap(lambda x: 2 * x), X)(X)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        jax.jit(wrap(lambda x: 1 / 0, inline=False, result=lambda x: np.empty(())))(X)


def test_threads_call_at_once() -> None:
    h = jax.jit(jax.hessian(wrap(lambda x: np.sum(np.sin(x) ** 2), inline=False)))
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=lambda k=k: found.update({k: h(X * k)})) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(8):
        agree(str(k), found[k], np.diag(2 * np.cos(2 * k * np.asarray(X))))


def test_arrays_are_not_copied() -> None:
    seen: list[Any] = []
    x = jnp.ones(1000)

    def f(x: Any) -> Any:
        seen.append(x.ctypes.data)
        return np.sum(x)

    wrap(f)(x)
    assert seen == [x.unsafe_buffer_pointer()]


@pytest.mark.parametrize("compile_", [lambda g: g, jax.jit])
@given(names=st.lists(st.sampled_from(["jit", "batch", "forward", "reverse"]), max_size=4))
@settings(max_examples=15, deadline=None)
def test_functions_of_jax_are_operations(compile_: Any, names: list[str]) -> None:
    here: dict[str, Callable[[Any], Any]] = {
        "jit": fd.jit,
        "batch": lambda h: lambda x: fd.vmap(h)(np.stack([x, 2 * x])).sum(0),
        "forward": lambda h: lambda x: fd.jvp(h, (x,), (np.cos(x),))[1],
        "reverse": lambda h: lambda x: fd.vjp(h, x)[1](np.sin(x))[0],
    }
    inside, outside = use(compile_(theirs)), ours
    for name in names:
        inside, outside = here[name](inside), here[name](outside)
    agree(str(names), inside(np.asarray(X)), outside(np.asarray(X)))


def test_functions_of_jax_that_decide_by_values_are_operations() -> None:
    g = use(lambda x: jnp.sum(x**2) if x[0] > 0 else jnp.sum(x))
    x = np.asarray(X)
    agree("gradient", fd.grad(g)(x), 2 * x)
    agree("gradient", fd.grad(g)(-x), np.ones(3))


def test_derivatives_by_arrays_of_jax_are_arrays_of_jax() -> None:
    p = {"w": X, "b": [X[:2]]}

    def f(p: Any) -> Any:
        return np.sum(np.sin(p["w"]) ** 2) * np.sum(p["b"][0])

    gradient = fd.grad(f)(p)
    assert isinstance(gradient["b"][0], jax.Array)
    agree("gradient", gradient["w"], jnp.sin(2 * X) * jnp.sum(X[:2]))
    assert fd.hessian(f)(p)["w"]["b"][0].shape == (3, 2)
    with pytest.raises(InputError, match="which JAX traces"):
        jax.grad(lambda x: fd.grad(f)({"w": x, "b": [x]})["w"].sum())(X)
