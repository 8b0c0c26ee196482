"""Samples of singular values and vectors: every shape, phases and signs that do not matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.running.walk import inline
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.elementwise.complex import conj
from funcdiff.ops.elementwise.logic import isnan
from funcdiff.ops.linalg.matrices import adjoint, hermitian, matmul
from funcdiff.ops.linalg.matrix_functions import function_of_matrix
from funcdiff.ops.linalg.pseudoinverse import assured_rank, constant_rank, lstsq, pinv
from funcdiff.ops.linalg.singular import (
    normal_component,
    svd,
    svdvals,
    ties,
    turn,
    vanish_on_kernel,
)
from funcdiff.ops.linalg.singular_functions import (
    SingularFunction,
    SingularSum,
    singular_function,
    singular_sum,
)
from funcdiff.ops.structure.structural import convert
from funcdiff.space import add, broadcast, mul, neg, reduce_sum
from tests.rules.sample import Sample, body, complex_, real, sample

WIDE = np.diag([3.0, 1.2]) @ np.eye(2, 4) + real(2, 4, low=-0.3, high=0.4)
TALL = np.diag([0.8, 2.0]) @ np.eye(2, 3) + real(2, 3, low=-0.3, high=0.4)
TALL = TALL.T
SQUARE = np.diag([0.7, 1.9, 3.6]) + real(3, 3, low=-0.3, high=0.4)
STACK = np.stack([SQUARE[:2, :2], SQUARE[1:, 1:]])
COMPLEX = TALL + 0.3 * complex_(3, 2)
TOLERANCE = np.array(1e-9)
REGULAR = np.zeros(2, bool)


def _phaseless(a: Any, *, full: bool) -> tuple[Any, ...]:
    """Return what of U and V does not depend on their common phases, nor on a null space."""
    u, s, vh = svd(a, full=full)
    count = s.shape[-1]
    left, right = array(u)[..., :count], array(vh)[..., :count, :]
    cubes = convert(mul(s, mul(s, s)), a.dtype)
    product = matmul(left, mul(_rows(cubes, right), right))
    return mul(left, conj(left)), s, mul(right, conj(right)), product


def _turned(x: Any, a: Any, *, full: bool = False) -> Any:
    u, s, vh = svd(a, full=full)
    return turn(a, u, s, adjoint(vh), ties(s), x)


def _rows(s: Any, like: Any) -> Any:
    """Repeat one value per row."""
    return broadcast(s, like.shape, tuple(range(like.ndim - 1)))


def _waves(s: Any, x: Any) -> Any:
    return (np.sinh(1j * s * x),)


def _cubes(s: Any, x: Any) -> Any:
    return (s**3 * broadcast(x, s.shape, tuple(range(x.ndim))),)


def _complex_cubes(s: Any, x: Any) -> Any:
    return (s**3 * (x + 0j),)


def _function(a: Any, x: Any, f: Any, *, turned: bool) -> Any:
    """Return U·f(s)·Vᴴ or V·f(s)·Uᴴ, known to be that."""
    u, s, vh = svd(a, full=False)
    if turned:
        u, vh = adjoint(vh), adjoint(u)
    program = body(f, np.ones(s.shape), np.ones(np.shape(x)))
    (values,) = inline(program, [s, x])
    y = matmul(convert(u, values.dtype), mul(_rows(values, vh), convert(vh, values.dtype)))
    return singular_function(SingularFunction(program, (), turned), [y, a, x])


def _derivative(a: Any, x: Any, t: Any, f: Any) -> Any:
    """Return the derivative along [[0, T], [-2·Tᴴ, 0]], both blocks."""
    function = SingularFunction(body(f, np.ones(min(a.shape)), np.ones(())), (), turned=False)
    return function_of_matrix(function, a, [x], [(t, neg(add(adjoint(t), adjoint(t))))])


def _sum(a: Any, x: Any) -> Any:
    s = svdvals(a)
    program = body(_cubes, np.ones(s.shape), np.ones(x.shape))
    (values,) = inline(program, [s, x])
    axes = tuple(range(s.ndim))
    return singular_sum(SingularSum(program, axes), [reduce_sum(values, axes), a, x])


SAMPLES: dict[str, list[Sample]] = {
    "svdvals": [
        sample(svdvals, real(2, 3)), sample(svdvals, real(3, 2), order=1),
        sample(svdvals, STACK, order=1), sample(svdvals, complex_(2, 3)),
    ],
    "singular_turn": [
        sample(_turned, real(6, 3), SQUARE),
        sample(lambda x, a: _turned(x, a, full=True), real(5, 2), TALL),
        sample(_turned, complex_(7, 2), COMPLEX),
    ],
    "svd": [
        sample(lambda a: svd(a, full=False), TALL),
        sample(lambda a: svd(a, full=True), SQUARE, order=1),
        sample(lambda a: svd(a, full=False), WIDE, order=1),
        sample(lambda a: svd(a, full=False), STACK, order=1),
        sample(lambda a: _phaseless(a, full=False), COMPLEX, order=1),
        sample(lambda a: _phaseless(a, full=True), COMPLEX),
        sample(lambda a: _phaseless(a, full=True), WIDE, order=1),
    ],
    "normal_component": [sample(normal_component, real(3, 2), REGULAR)],
    "assured_rank": [sample(lambda x: assured_rank(x, isnan(x)), real(3, 2))],
    "constant_rank": [sample(constant_rank, real(3, 2), np.array([2.0, 1.0]), TOLERANCE)],
    "pinv": [
        sample(pinv, TALL, TOLERANCE), sample(pinv, WIDE, TOLERANCE, order=1),
        sample(lambda a: pinv(hermitian(a), array(1e-9), symmetric=True), SQUARE),
        sample(lambda a: pinv(a, array(1e-9)), COMPLEX),
    ],
    "lstsq": [
        sample(lambda a, b: lstsq(a, b, relative=1e-9), TALL, real(3, 2)),
        sample(lambda a, b: lstsq(a, b, relative=-1.0), WIDE, real(2, 1), order=1),
        sample(lambda a, b: lstsq(a, b, relative=1e-9), COMPLEX, complex_(3, 1), order=1),
    ],
    "vanish_on_kernel": [sample(vanish_on_kernel, real(3, 2), real(2), REGULAR)],
    "singular_function": [
        sample(lambda a, x: _function(a, x, _waves, turned=False), TALL, np.array(0.6)),
        sample(lambda a, x: _function(a, x, _cubes, turned=True), WIDE, np.array(1.4)),
        sample(lambda a, x: _function(a, x, _waves, turned=True), COMPLEX, np.array(0.6), order=1),
        sample(lambda a, x: _function(a, x, _cubes, turned=False), SQUARE, np.array(1.4)),
        sample(lambda a, x: _function(a, x, _cubes, turned=False), TALL, np.array([1.4, 0.8])),
    ],
    "singular_derivative": [
        sample(lambda a, x, t: _derivative(a, x, t, _cubes), TALL, np.array(0.7), real(3, 2)),
        sample(
            lambda a, x, t: _derivative(a, x, t, _complex_cubes), COMPLEX, np.array(0.7),
            complex_(3, 2), order=1,
        ),
    ],
    "singular_sum": [
        sample(_sum, WIDE, np.array(1.3)), sample(_sum, STACK, np.array([1.3, 0.4]), order=1),
        sample(_sum, COMPLEX, np.array(1.3)),
    ],
}  # fmt: skip
