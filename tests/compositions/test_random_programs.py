"""Random programs have the derivatives that JAX gave them, in both modes, batched and compiled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.compositions.random_programs import (
    COUNT,
    OPERATIONS,
    arguments,
    directions,
    random_program,
)
from tests.properties.calling import every_call

FROZEN = json.loads((Path(__file__).parent / "oracle.json").read_text())

Function = Callable[..., Any]
# one in six by default, for speed
every_program = pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=[pytest.mark.slow] if seed % 6 else []) for seed in range(COUNT)],
)


def function(seed: int) -> Function:
    """Return the program of a seed on NumPy, with the control flow of funcdiff."""
    program = random_program(seed)
    return lambda *xs: program(np, fd, *xs)


def along(f: Function) -> Function:
    """Return the derivative in the fixed direction."""
    return lambda *xs: fd.jvp(f, xs, directions())[1]


def gradient(f: Function) -> Function:
    """Return the gradient in all arguments."""
    return fd.grad(f, argnums=(0, 1, 2))


def forward(f: Function) -> Function:
    """Return the gradient in all arguments by forward mode."""
    found: Function = fd.jacfwd(f, argnums=(0, 1, 2))
    return found


def across(g: Function) -> Function:
    """Return the gradient of the inner product of `g` with the fixed direction."""

    def product(*xs: Any) -> Any:
        return sum(np.sum(y * t) for y, t in zip(g(*xs), directions(), strict=True))

    return gradient(product)


def agree(found: Any, seed: int, key: str) -> None:
    """Compare with the frozen numbers."""
    numbers = np.concatenate([np.ravel(x) for x in found])
    expected = np.array(FROZEN[seed][key])
    scale = max(1.0, abs(expected).max())
    np.testing.assert_allclose(numbers, expected, rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.thinned(3)
@pytest.mark.sampled(3)
@every_program
def test_a_gradient_is_that_of_jax_in_both_modes(seed: int) -> None:
    f, xs = function(seed), arguments()
    value, found = every_call(fd.value_and_grad(f, argnums=(0, 1, 2)), *xs)
    agree([value], seed, "value")
    agree(found, seed, "gradient")
    agree(forward(f)(*xs), seed, "gradient")


@pytest.mark.slow
@pytest.mark.sampled(5)
@every_program
def test_a_second_derivative_is_that_of_jax_in_all_modes(seed: int) -> None:
    f, xs = function(seed), arguments()
    agree(every_call(along(gradient(f)), *xs), seed, "curvature")
    agree(across(gradient(f))(*xs), seed, "curvature")
    agree(gradient(along(f))(*xs), seed, "curvature")
    agree(forward(along(f))(*xs), seed, "curvature")


@pytest.mark.slow
@pytest.mark.sampled(5)
@every_program
def test_a_third_derivative_is_that_of_jax_in_both_modes(seed: int) -> None:
    f, xs = function(seed), arguments()
    agree([along(along(along(f)))(*xs)], seed, "third")
    agree(along(along(gradient(f)))(*xs), seed, "bend")
    agree(across(along(gradient(f)))(*xs), seed, "bend")


@pytest.mark.slow
@pytest.mark.sampled(5)
@every_program
def test_compiled_and_batched_derivatives_are_those_of_jax(seed: int) -> None:
    f, xs = function(seed), arguments()
    second = along(gradient(f))
    agree(fd.jit(second)(*xs), seed, "curvature")
    batch = [np.stack([0.9 * x, x, -x]) for x in xs]
    batched = fd.vmap(second)(*batch)
    agree([rows[1] for rows in batched], seed, "curvature")
    for k in (0, 2):
        expected = second(*(rows[k] for rows in batch))
        for rows, y in zip(batched, expected, strict=True):
            np.testing.assert_allclose(rows[k], y, rtol=1e-8, atol=1e-8 * max(1.0, abs(y).max()))
    for rows, y in zip(fd.jit(fd.vmap(second))(*batch), batched, strict=True):
        np.testing.assert_allclose(rows, y, rtol=1e-8, atol=1e-8 * max(1.0, abs(y).max()))


def test_the_frozen_values_are_those_of_the_programs() -> None:
    assert [entry["program"] for entry in FROZEN] == [str(random_program(k)) for k in range(COUNT)]


def test_the_programs_use_the_whole_grammar() -> None:
    used = {step.operation for k in range(COUNT) for step in random_program(k).steps}
    assert used == set(OPERATIONS)
