"""Derivatives of elementwise operations, which arrays of all shapes share, are those of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.scipy.stats as stats
from funcdiff.backend.tape.steps import (
    NeedsProgramError,
    Step,
    closure,
    pull_step,
    push_step,
    with_shape,
)
from funcdiff.core.primitive import Operation, operation, primitives
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import Executable
from funcdiff.errors import NotDifferentiableError
from funcdiff.testing.subject import disagreement, rounding
from funcdiff.transforms.jvp import Mask
from tests.rules.sample import Sample
from tests.rules.test_rules import NAMED, some_of_every_kind

SHAPES: Final = [(0,), (1,), (2, 3)]
WAYS: Final[list[Callable[[Operation, Mask], Step]]] = [
    push_step, lambda op, active: pull_step(op, active, (True,)),
]  # fmt: skip
ELEMENTWISE = {
    name: entry for name, entry in NAMED.items()
    if entry.order > 0 and primitives[name.rsplit("-", 1)[0]].pointwise
}  # fmt: skip


@pytest.mark.thinned(48)
@pytest.mark.parametrize("entry", some_of_every_kind(ELEMENTWISE, 24))
def test_derivatives_of_elementwise_operations_are_those_of_their_elements(entry: Sample) -> None:
    program = fd.trace(entry.f)(*entry.args)
    eq = next(eq for eq in program.equations if eq.results == program.outputs)
    before = Program(program.inputs, program.equations[: program.equations.index(eq)], eq.operands)
    assert_of_elements(eq.operation, Executable(before).interpret(*entry.args))


@pytest.mark.parametrize("name", ["join-0", "select-0"])
def test_derivatives_with_numbers_that_numpy_does_not_broadcast_are_those(name: str) -> None:
    test_derivatives_of_elementwise_operations_are_those_of_their_elements(NAMED[name])


def assert_of_elements(op: Operation, values: Sequence[Any]) -> None:
    """Compare the derivatives of an operation with those of its elements, and their programs."""
    for shape, active in product(SHAPES, product([False, True], repeat=len(values))):
        moving = [t.differentiable for t, on in zip(op.operands, active, strict=True) if on]
        if moving and all(moving) and op.results[0].differentiable:
            for way in WAYS:
                _compare(op, [np.resize(x, shape) for x in values], active, way)


def _compare(
    op: Operation, xs: Sequence[Any], active: Mask, way: Callable[[Operation, Mask], Step]
) -> None:
    def of_shape(shape: tuple[int, ...]) -> Operation:
        return operation(op.primitive, op.params, tuple([t.with_shape(shape) for t in op.operands]))

    whole = of_shape(xs[0].shape)
    try:
        step, of_number = way(whole, active), way(of_shape(()), active)
    except (NeedsProgramError, NotDifferentiableError):  # in that parameter
        return
    with np.errstate(all="ignore"):
        y = np.asarray(whole.run(*xs))
        ts = [y] if way is not push_step else [x for x, on in zip(xs, active, strict=True) if on]
        given = [*xs, y, *ts]
        found = step.run(*given)
        interpreted = Executable(with_shape(step.program, y.shape)).interpret(*given)
        assert step.places == of_number.places
        rows = [of_number.run(*[x[at] for x in given]) for at in np.ndindex(y.shape)]
    for k, (z, same) in enumerate(zip(found, interpreted, strict=True)):
        np.testing.assert_array_equal(z, same, strict=True)
        assert z.shape == y.shape
        elements = np.reshape([row[k] for row in rows], y.shape).astype(z.dtype)
        assert disagreement(z, elements, rounding([z])) is None


def test_a_derivative_that_is_not_elementwise_is_derived_for_the_shape() -> None:
    mean: Any = stats.genextreme.mean  # a quadrature's sum
    second: Any = fd.grad(fd.grad(mean))
    for c in (np.array([0.02]), np.linspace(0.01, 0.05, 5)):
        found: Any
        _, found = fd.jvp(fd.grad(lambda c: np.sum(mean(c))), (c,), (np.ones_like(c),))
        np.testing.assert_allclose(found, [second(x) for x in c], rtol=1e-12)


@pytest.mark.parametrize(
    "body",
    [
        "%1: f64[3] = mul %0, 2.0:f64[3]\n  return %1, 1.0:f64[3]",
        "%1: f64[3] = add 1.0:f64[3], 2.0:f64[3]\n  return %1, %0",
        "%1: f64[3] = mul %0, 2.0:f64[3]\n  %2: f64[6] = concatenate{axis=0} %1, 0.0:f64[3]\n"
        "  return %2",
    ],
)
def test_numbers_are_arrays_where_no_ufunc_broadcasts_them(body: str) -> None:
    x = np.arange(3.0)
    program = fd.parse(f"program(%0: f64[3]) {{\n  {body}\n}}")
    for y, z in zip(closure(program)(x), Executable(program).interpret(x), strict=True):
        np.testing.assert_array_equal(y, z, strict=True)
