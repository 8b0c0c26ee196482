"""Derivatives inside derivatives: closures carry the outer one, and nothing leaves its trace.

`tests.semantics.test_perturbation_confusion` holds that no mix of modes confuses perturbations.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import EscapedTracerError
from tests.claims import alike, refused


def _through_a_pullback(x: Any) -> Any:
    _, f_vjp = fd.vjp(lambda y: y**3 * x, x)
    return f_vjp(x)[0]  # 3x²·x·x = 3x⁴


def _through_a_linearized_function(x: Any) -> Any:
    _, f_jvp = fd.linearize(lambda y: np.sin(y) * x, x)
    return f_jvp(x)  # x²·cos x


def _by_value(x: Any) -> Any:
    return fd.grad(lambda y: y**2 * x if y > 1 else y * x)(x)


test_what_is_made_inside_carries_the_outer_derivative = alike({
    "a pullback": (lambda: fd.grad(_through_a_pullback)(2.0), 12 * 2**3),
    "a linearized function": (
        lambda: fd.grad(_through_a_linearized_function)(0.7),
        2 * 0.7 * np.cos(0.7) - 0.7**2 * np.sin(0.7),
    ),
    "an if that sees the value": [
        (lambda: fd.grad(_by_value)(2.0), 8), (lambda: fd.grad(_by_value)(0.5), 1)
    ],
}, rtol=1e-14)  # fmt: skip


def test_arrays_and_containers_nest() -> None:
    def f(p: Any) -> Any:
        inner = fd.grad(lambda q: np.sum(q["a"] ** 2 * p["b"]))(p)
        return np.sum(inner["a"] * p["a"])

    p = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])}
    gradient = fd.grad(f)(p)
    np.testing.assert_array_equal(gradient["a"], 4 * p["a"] * p["b"])
    np.testing.assert_array_equal(gradient["b"], 2 * p["a"] ** 2)


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


# ---- what leaves a trace ---------------------------------------------------------------------


def _smuggled(x: Any, kept: list[Any]) -> Any:
    kept.append(np.sin(x))
    return np.sum(x)


def _escaped() -> Any:
    kept: list[Any] = []
    fd.grad(_smuggled)(np.ones(2), kept)
    return kept[0]


def _used_outside(x: Any) -> Any:
    kept: list[Any] = []
    fd.grad(_smuggled)(x, kept)
    return np.sum(x * kept[0])


def _in_a_generator() -> Any:
    def numbers(x: Any) -> Any:
        yield x * 1
        yield x * 2

    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(numbers(x))
        return next(kept[0])

    assert fd.grad(f)(1.0) == 1
    return next(kept[0])


def _of_a_function(x: Any) -> Any:
    return x, lambda: x + 1


def _in_another_thread(x: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: x * 2).result()


def _in_a_thread_with_a_copy_of_the_context(x: Any) -> Any:
    return asyncio.run(asyncio.to_thread(lambda: x * 2))


MADE_WHERE = r"(?s)(?=.*Return it from the traced function)(?=.*test_nesting\.py)(?=.*_smuggled)"

test_what_leaves_its_trace_raises = refused({
    "used outside, with where it was made": [
        (EscapedTracerError, MADE_WHERE, lambda use=use: use(_escaped()))
        for use in (
            lambda x: x + 1, lambda x: 2.0 * x, np.sin, np.sum, lambda x: x[0],
            lambda x: np.concatenate([x, x]),
            lambda x: fd.grad(lambda y: np.sum(x * y))(np.ones(2)),
            lambda x: fd.grad(lambda y: np.sum(x))(np.ones(2)),
        )
    ],
    "as an argument": (EscapedTracerError, None, lambda: fd.grad(np.sum)(_escaped())),
    "from the inner to the outer function": (
        EscapedTracerError, None, lambda: fd.grad(_used_outside)(np.ones(2))
    ),
    "in a generator": (EscapedTracerError, None, _in_a_generator),
    "in a function that is returned": (
        EscapedTracerError, None, lambda: fd.grad(_of_a_function, has_aux=True)(1.0)[1]()
    ),
    "to another thread": (
        EscapedTracerError, "another thread", lambda: fd.grad(_in_another_thread)(1.0)
    ),
    # where two of them would record into one program at once
    "to another thread with a copy of the context": (
        EscapedTracerError, "another thread",
        lambda: fd.grad(_in_a_thread_with_a_copy_of_the_context)(1.0),
    ),
})  # fmt: skip


@pytest.mark.parametrize("outer", [
    fd.grad, fd.jacfwd, lambda f: lambda x: fd.jvp(f, (x,), (1.0,))[1],
    lambda f: lambda x: fd.linearize(f, x)[1](1.0),
    lambda f: lambda x: fd.vmap(fd.grad(f))(np.stack([x, x]))[1],
    lambda f: lambda x: fd.grad(lambda x: fd.vmap(f)(np.stack([x, x]))[0])(x),
])  # fmt: skip
def test_an_exception_passes_untouched_and_leaves_no_state_behind(outer: Any) -> None:
    error = LookupError("mine")

    def broken(x: Any) -> Any:
        np.sin(x)
        raise error

    def guarded(x: Any) -> Any:
        try:
            return outer(broken)(x)
        except LookupError:
            return x * x

    for f in (broken, lambda x: outer(broken)(x)):
        with pytest.raises(LookupError) as caught:
            outer(f)(1.0)
        assert caught.value is error
    assert outer(guarded)(3.0) == outer(lambda x: x**2)(3.0) == 6
    with pytest.raises(EscapedTracerError):
        _escaped() + 1


def test_two_threads_trace_at_once() -> None:
    barrier = threading.Barrier(2, timeout=600)

    def work(scale: float) -> list[Any]:
        def f(x: Any) -> Any:
            barrier.wait()
            y = np.sin(scale * x)
            barrier.wait()
            return y * fd.grad(lambda z: z**2 * x)(y)

        return [fd.grad(f)(0.1 * k) for k in range(20)]

    with ThreadPoolExecutor(2) as pool:
        for scale, found in zip((1.0, 3.0), pool.map(work, [1.0, 3.0]), strict=True):
            of_one = fd.grad(lambda x, scale=scale: 2 * np.sin(scale * x) ** 2 * x)
            expected = [of_one(0.1 * k) for k in range(20)]
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
