"""Axes of length 1, empty ones and broadcasts keep their shapes in every call and every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import funcdiff as fd
from funcdiff.testing.subject import disagreement, rounding
from tests.backend import test_kernels, test_source, test_unrolling
from tests.properties.calling import every_call, every_eager_call
from tests.properties.laws import examples
from tests.properties.shaping import Shaping, shapings
from tests.reading import test_text

S = np.sum
Call = tuple[Shaping, tuple[Any, ...]]


def cotangents(f: Any, xs: tuple[Any, ...]) -> list[Any]:
    """Return cotangents of the results, no entry of which is like another."""
    return [
        np.asarray(0.25 + np.sin(np.arange(y.size)).reshape(y.shape)).astype(y.dtype)[()]
        for y in map(np.asarray, f(*xs))
    ]


def modes(f: Any, count: int) -> Any:
    """Return a function of cotangents and the arguments: value and derivatives in every mode."""

    def total(*xs: Any) -> Any:
        return sum(np.abs(S(y)) ** 2 + S(np.real(y)) + S(np.imag(y) * np.abs(y)) for y in f(*xs))

    def function(cts: Any, *xs: Any) -> Any:
        values, pull = fd.vjp(f, *xs)
        gradient = fd.grad(total, tuple(range(count)))(*xs)
        return values, pull(cts), gradient, fd.jvp(f, xs, tuple(0.5 * x for x in xs))[1]

    return function


def require_calls(f: Any, *xs: Any) -> None:
    """Require the types of values and derivatives in all calls, and those of the interpreter."""
    ys = [np.asarray(y) for y in f(*xs)]
    values, *gradients, tangents = every_call(modes(f, len(xs)), cotangents(f, xs), *xs)
    for found in (values, tangents):
        assert [(y.shape, y.dtype) for y in found] == [(y.shape, y.dtype) for y in ys]
    for value, y in zip(values, ys, strict=True):  # products of complex numbers have other bits
        assert disagreement(value, y, rounding([*xs, *ys])) is None
    for cts in gradients:
        assert [(ct.shape, ct.dtype) for ct in cts] == [(x.shape, x.dtype) for x in xs]
    program = fd.trace(f)(*xs)
    if len(program.inputs) == len(xs):  # a result that depends on nothing is a captured array
        every_eager_call(lambda *xs: fd.evaluate(program, xs), *xs)
    every_call(fd.jit(f), *xs)


def require_backends(f: Any, *xs: Any) -> None:
    """Require of every backend what the interpreter computes of a program and its derivatives."""
    given = [*(np.asarray(x)[()] for x in xs), *cotangents(f, xs)]
    count = len(xs)

    def derivatives(*given: Any) -> Any:
        return modes(f, count)(list(given[count:]), *given[:count])

    for g, arrays in ((f, given[:count]), (derivatives, given)):
        program = fd.trace(g)(*arrays)
        if len(program.inputs) > len(arrays):
            continue
        test_source.assert_same_bits(program, arrays)
        test_kernels.assert_computes(program, arrays)
        test_kernels.assert_computes(program, arrays, None)
        test_unrolling.assert_computes(program, arrays)
        test_text.assert_same_bits(program, arrays)


@pytest.mark.slow
@examples(6, 170)
@given(shapings())
def test_every_call_has_the_shapes_and_bits_of_the_first(call: Call) -> None:
    require_calls(call[0], *call[1])


@pytest.mark.slow
@examples(3, 135)
@given(shapings())
def test_every_backend_has_the_interpreters_shapes(call: Call) -> None:
    require_backends(call[0], *call[1])
