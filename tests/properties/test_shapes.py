"""Axes of length 1, empty ones and broadcasts keep their shapes in every call and every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import funcdiff as fd
from funcdiff.testing.differences import disagreement, rounding
from tests.backend import test_kernels, test_source, test_text, test_unrolling
from tests.properties.calling import every_call
from tests.properties.laws import few
from tests.properties.shaping import Shaping, shapings

S = np.sum
Call = tuple[Shaping, tuple[Any, ...]]


def cotangent(f: Any, xs: tuple[Any, ...]) -> Any:
    """Return a cotangent of the result, no entry of which is like another."""
    y = np.asarray(f(*xs))
    ct = 0.25 + np.sin(np.arange(y.size)).reshape(y.shape)
    return ct.astype(y.dtype)[()]


def modes(f: Any, count: int) -> Any:
    """Return a function of a cotangent and the arguments: value and derivatives in every mode."""

    def total(ct: Any, *xs: Any) -> Any:
        y = f(*xs)
        return S(np.real(y * ct) + np.imag(y) * np.abs(y))

    def function(ct: Any, *xs: Any) -> Any:
        value, pull = fd.vjp(f, *xs)
        tangents = tuple(0.5 * x for x in xs)
        gradient = fd.grad(total, tuple(range(1, count + 1)))(ct, *xs)
        return value, pull(ct), gradient, fd.jvp(f, xs, tangents)[1]

    return function


def require_calls(f: Any, *xs: Any) -> None:
    """Require the types of values and derivatives in all calls, and those of the interpreter."""
    y = np.asarray(f(*xs))
    value, *gradients, tangent = every_call(modes(f, len(xs)), cotangent(f, xs), *xs)
    for found in (value, tangent):
        assert (found.shape, found.dtype) == (y.shape, y.dtype)
    assert disagreement(value, y, rounding([*xs, y])) is None  # of complex numbers, to rounding
    for cts in gradients:
        assert [(ct.shape, ct.dtype) for ct in cts] == [(x.shape, x.dtype) for x in xs]
    every_call(fd.jit(f), *xs)


def require_backends(f: Any, *xs: Any) -> None:
    """Require of every backend what the interpreter computes of a program and its derivatives."""
    given = [cotangent(f, xs), *(np.asarray(x)[()] for x in xs)]
    for g, arrays in ((f, given[1:]), (modes(f, len(xs)), given)):
        program = fd.trace(g)(*arrays)
        if len(program.inputs) > len(arrays):
            continue  # a result that depends on nothing is a captured array
        test_source.assert_same_bits(program, arrays)
        test_kernels.assert_computes(program, arrays)
        test_kernels.assert_computes(program, arrays, None)
        test_unrolling.assert_computes(program, arrays)
        test_text.assert_same_bits(program, arrays)


@few
@given(shapings())
def test_every_call_has_the_shapes_and_bits_of_the_first(call: Call) -> None:
    require_calls(call[0], *call[1])


@few
@given(shapings())
def test_every_backend_has_the_interpreters_shapes(call: Call) -> None:
    require_backends(call[0], *call[1])


@pytest.mark.slow
@settings(settings.get_profile("thorough"))
@given(shapings())
def test_every_call_and_every_backend_agrees_on_many_programs(call: Call) -> None:
    require_calls(call[0], *call[1])
    require_backends(call[0], *call[1])
