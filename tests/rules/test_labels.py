"""The labels of axes: what they say holds for every length, order and axis, and rows run alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any, Final

import numpy as np
import pytest

from funcdiff import pytree
from funcdiff.backend.blocks.schedule import rows
from funcdiff.core.atoms import Atom, Literal
from funcdiff.core.policy import CLOSED, Policy
from funcdiff.core.primitive import operation
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder
from funcdiff.core.types import FLOAT, ArrayType
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.axes.indexing import gather, scatter_add
from funcdiff.ops.axes.reductions import argmax, cumsum, reduce_max
from funcdiff.ops.products.contract import contract
from funcdiff.ops.structure.slicing import add_slice, along, replace_slice, take_slice
from funcdiff.ops.structure.structural import concatenate, iota, permute, reshape, reverse, select
from funcdiff.space import broadcast, reduce_sum
from funcdiff.testing.rules import check_labels
from funcdiff.testing.subject import disagreement, rounding
from tests.rules.sample import PRIMITIVE, Sample
from tests.rules.test_rules import NAMED

SHAPES: Final = [shape for ndim in (1, 2, 3) for shape in product(range(4), repeat=ndim)]


def _boxes(n: int) -> list[tuple[int, int, int]]:
    return [(0, n // 2, 1), (n // 2, n, 1), (min(n, 1), n, 2)]


def _structural(x: Any, ndim: int) -> Iterator[Any]:
    """Record every structural operation along every axis, in every order."""
    for order in permutations(range(ndim)):
        yield permute(x, order)
    for axis, n in enumerate(x.shape):
        for a, b, step in _boxes(n):
            part = take_slice(x, box := along(x.shape, axis, a, b, step))
            yield add_slice(x, part, box)
            yield replace_slice(x, part, box)
            yield concatenate([part, x, part], axis)
            new = tuple(k + (k >= axis) for k in range(ndim))
            yield broadcast(part, (*part.shape[:axis], 2, *part.shape[axis:]), new)
        yield reverse(x, (axis,))
        yield reduce_sum(x, (axis,))
        yield reduce_sum(x, tuple(k for k in range(ndim) if k != axis))
        yield cumsum(x, axis)
        if n:
            yield argmax(x, axis)
            yield reduce_max(x, (axis,))
            places = iota((2, n), 1)
            taken = gather(x, [places], (axis,))
            yield scatter_add(x, taken, [places], (axis,))
    yield select(x > 0, x, x + x)
    whole = (x.type.size,)
    for shape in (whole, (1, *x.shape), (*x.shape, 1), x.shape[::-1], (1, *whole), (*whole, 1)):
        yield reshape(x, shape)
        yield reshape(reshape(x, shape), (1, *x.shape, 1))


def _products(x: Any, ndim: int) -> Iterator[Any]:
    own = tuple(range(ndim))
    for axis in own:
        kept = tuple(k for k in own if k != axis)
        yield contract(x, x, own, own, kept)
        other = tuple(k if k == axis else k + 9 for k in own)
        yield contract(x, x, own, other, (*kept, *(k + 9 for k in kept[::-1])))
        yield contract(x, x, own, other, (*(k + 9 for k in kept), axis, *kept))


def _steps(program: Program, inputs: Sequence[Any]) -> Iterator[tuple[Equation, list[Any], Any]]:
    """Yield the equations of a program that have one result, with operands and result."""
    env: dict[Atom, Any] = dict(zip(program.inputs, inputs, strict=True))
    for eq in program.equations:
        operands = [x.array if isinstance(x, Literal) else env[x] for x in eq.operands]
        with np.errstate(all="ignore"):
            value = eq.operation.function(*operands)
        env.update(zip(eq.results, [value] if len(eq.results) == 1 else value, strict=True))
        if len(eq.results) == 1:
            yield eq, operands, value


@pytest.mark.thinned(6)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_labels_hold_for_all_axes_and_lengths(shape: tuple[int, ...]) -> None:
    with Builder("labels", CLOSED) as builder:
        x = builder.input(ArrayType(shape, FLOAT))
        results = [*_structural(x, len(shape)), *_products(x, len(shape))]
        program = builder.program(results)
    for eq, operands, value in _steps(program, [np.random.default_rng(1).normal(size=shape)]):
        check_labels(eq, operands, [value])
        _check_rows(eq, operands, value)


@pytest.mark.thinned(24)
@pytest.mark.sampled(3, kind=PRIMITIVE)
@pytest.mark.parametrize("entry", NAMED.values(), ids=NAMED)
def test_equations_run_row_by_row_if_labels_say_so(entry: Sample) -> None:
    xs = [np.asarray(x)[()] for x in entry.args]
    with Builder("rows", Policy(pending=2)) as builder:
        inputs = [builder.input(ArrayType(np.shape(x), x.dtype), x) for x in xs]
        leaves = pytree.flatten(entry.f(*inputs))[0]
        program = builder.program([array(leaf) for leaf in leaves])
        xs += builder.captures
    for eq, operands, value in _steps(program, xs):
        _check_rows(eq, operands, value)


def _check_rows(eq: Equation, operands: Sequence[Any], value: Any) -> None:
    """Require that the first row and the others give the result, if it is said that they do."""
    how = rows(eq)
    if how is None:
        return
    length = len(value) if how.combine is None else len(operands[how.blocked.index(True)])
    if length < 2:
        return
    parts = []
    for first, count in ((0, 1), (1, length - 1)):
        part = slice(first, first + count)
        xs = [x[part] if flag else x for x, flag in zip(operands, how.blocked, strict=True)]
        types = tuple(ArrayType(np.shape(x), np.asarray(x).dtype) for x in xs)
        parts.append(operation(eq.primitive, eq.params.with_rows(count), types).function(*xs))
    found = how.combine(*parts) if how.combine else np.concatenate(parts)
    assert disagreement(found, value, rounding([found, value])) is None, eq
