"""Functions of matrices near equal values have the derivatives that they have at equal ones."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.scipy.linalg as fsl
from funcdiff.errors import NotDifferentiableError
from tests.together import together

Function = Callable[[Any], Any]

RANDOM = np.random.default_rng(16)
B = RANDOM.normal(size=(4, 4))
EVEN = B + B.T
ROTATION = np.linalg.qr(B)[0]
GAPS = [0.0, 3e-16, *10.0 ** np.arange(-15.0, 0.0)]
UNIT = np.eye(4)
matrices: Any = fsl

BY_EIGENVALUES: dict[str, tuple[Function, Function]] = {
    "inverse": (lambda w: 1 / w, np.linalg.inv),
    "exp": (np.exp, matrices.expm),
    "rational": (lambda w: w / (1 + w**2), lambda a: a @ np.linalg.inv(UNIT + a @ a)),
    "cube": (lambda w: w**3, lambda a: a @ a @ a),
}
BY_SINGULAR_VALUES: dict[str, tuple[Function, Function]] = {
    "rational": (lambda s: s / (1 + s**2), lambda a: a @ np.linalg.inv(UNIT + a.T @ a)),
    "cube": (lambda s: s**3, lambda a: a @ a.T @ a),
}


def _of_eigenvalues(f: Function) -> Function:
    def function(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return (v * f(w)) @ v.T

    return function


def _of_singular_values(f: Function) -> Function:
    def function(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        return (u * f(s)) @ vh

    return function


def _along(f: Function, a: Any, b: Any, order: int) -> Any:
    """Return the derivative of that order along a direction, the last one in reverse mode."""

    def line(x: Any) -> Any:
        return f(a + x * b)

    for _ in range(order - 1):
        line = fd.jacfwd(line)
    return fd.jacrev(line)(0.0)


@pytest.mark.slow
@together
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", BY_EIGENVALUES)
def test_functions_of_eigenvalues_keep_their_digits(name: str, gap: float, order: int) -> None:
    f, expected = BY_EIGENVALUES[name]
    for a in (np.diag([1.0, 1 + gap, 1 - 2 * gap, 1.5]), UNIT + gap * EVEN):
        wanted = _along(expected, a, EVEN, order)
        found = _along(_of_eigenvalues(f), a, EVEN, order)
        size = max(np.abs(wanted).max(), 1.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * size)


@pytest.mark.slow
@together
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("name", BY_SINGULAR_VALUES)
def test_functions_of_singular_values_keep_their_digits(name: str, gap: float, order: int) -> None:
    f, expected = BY_SINGULAR_VALUES[name]
    for values in ([1.0, 1 + gap, 1 - 2 * gap, 1.5], [1.0, 1 + gap, gap, 2 * gap]):
        a = np.diag(values) @ ROTATION
        wanted = _along(expected, a, B, order)
        found = _along(_of_singular_values(f), a, B, order)
        size = max(np.abs(wanted).max(), 1.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * size)


@together
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_kink_between_near_eigenvalues_is_seen(gap: float) -> None:
    a = np.diag([1 - gap, 1 + gap, 2.0, 3.0])

    def slope(f: Function) -> Any:
        return fd.jvp(_of_eigenvalues(f), (a,), (EVEN,))[1][0, 1]

    np.testing.assert_allclose(slope(lambda w: np.maximum(w - 1, 0)), EVEN[0, 1] / 2, rtol=1e-3)
    jump = slope(lambda w: np.where(w > 1, w, 0))
    np.testing.assert_allclose(jump, EVEN[0, 1] * (1 + gap) / (2 * gap), rtol=1e-3)


def test_matrices_of_a_stack_have_near_eigenvalues_of_their_own() -> None:
    stack = np.stack([np.diag([1.0, 1 + gap, 2.0, 3.0]) for gap in (0.0, 1e-9, 0.3)])

    def total(f: Function) -> Function:
        return lambda a: np.sum(f(a) * EVEN[0])

    f = total(_of_eigenvalues(np.exp))
    for derive in (fd.vmap(fd.hessian(f)), fd.jit(fd.vmap(fd.hessian(f)))):
        found = derive(stack)
        for k, a in enumerate(stack):
            expected = fd.hessian(total(lambda a: matrices.expm((a + a.T) / 2)))(a)
            np.testing.assert_allclose(found[k], expected, rtol=1e-9, atol=1e-9)


def _projected(a: Any) -> Any:
    """Return the projector of the lower two values, by vectors that are not a slice."""
    v = np.linalg.eigh(a)[1][:, [1, 0]]
    return v @ v.T


def _series(f: Function, a: Any, b: Any, center: float, radius: float, orders: int = 4) -> Any:
    """Return what a function of the eigenvalues in a circle, and its derivatives along `b`, are.

    They are integrals of products of resolvents along the circle (T. Kato, Perturbation Theory for
    Linear Operators, II.1.3-4).
    """
    total, count = np.zeros((orders, *a.shape), complex), 600
    for angle in 2 * np.pi * (np.arange(count) + 0.5) / count:
        step = radius * np.exp(1j * angle)
        resolvent = np.linalg.inv((center + step) * np.eye(len(a)) - a)
        term = resolvent * f(center + step) * step / count
        for k in range(orders):
            total[k] += math.factorial(k) * term
            term = resolvent @ b @ term
    return total.real


@together
@pytest.mark.thinned(3)
@pytest.mark.parametrize("gap", [0.0, 3e-15, 1e-14, 6e-14, 1e-11, 1e-7, 1e-6, 1e-5, 1e-4, 0.1])
def test_derivatives_of_vectors_have_two_digits_or_are_refused(gap: float) -> None:
    a = (ROTATION * [0.5, 0.5 + gap, 2.0, 2.0 + gap]) @ ROTATION.T
    a = (a + a.T) / 2
    wanted = _series(np.ones_like, a, EVEN, 0.6, 0.75)
    least = [0.0, 0.0, 5e-7, 7e-5]

    def line(x: Any) -> Any:
        return _projected(a + x * EVEN)

    for derive in (fd.jacfwd, fd.jacrev):
        f: Function = line
        for order in (1, 2, 3) if gap > 2e-14 else (1,):  # higher ones may be refused
            f = derive(f)
            if least[order] < gap or gap < 2e-14:
                size = np.abs(wanted[order]).max()
                np.testing.assert_allclose(f(0.0), wanted[order], atol=0.02 * size)
            else:
                with pytest.raises(NotDifferentiableError, match="nearly equal"):
                    f(0.0)


SHIFTED: dict[str, tuple[float, Function]] = {
    "values": (0.0, lambda w: w),
    "differences": (1.0, lambda w: w - 1),
    "squares of differences": (1.0, lambda w: (w - 1) ** 2),
}
"""At which values the function is cut off, and what it is beyond, which vanishes there."""


@pytest.mark.parametrize(
    "name",
    ["values", "differences", pytest.param("squares of differences", marks=pytest.mark.slow)],
)
def test_a_cut_at_equal_values_of_which_the_function_has_the_value_is_a_kink(name: str) -> None:
    cut, f = SHIFTED[name]
    basis, direction = np.linalg.qr(RANDOM.normal(size=(5, 5)))[0], RANDOM.normal(size=(5, 5))
    a = (basis * [cut, cut, cut + 1.0, cut + 2.0, cut + 3.0]) @ basis.T
    direction = direction + direction.T

    def line(x: Any) -> Any:
        w, v = np.linalg.eigh(a + x * direction)
        return (v[:, 2:] * f(w[2:])) @ v[:, 2:].T

    wanted = _series(f, a, direction, cut + 2, 1.5, orders=5)
    derived: Function = line
    for order in range(1, 5 if name == "squares of differences" else 4):
        derived = fd.jacfwd(derived)
        size = np.abs(wanted[order]).max()
        np.testing.assert_allclose(derived(0.0), wanted[order], rtol=1e-7, atol=1e-7 * size)


@pytest.mark.parametrize(
    "shape", [pytest.param(s, marks=[pytest.mark.slow] * k) for k, s in enumerate([(4, 3), (3, 4)])]
)
def test_a_truncated_matrix_of_low_rank_has_third_derivatives(shape: tuple[int, int]) -> None:
    u, v = (np.linalg.qr(RANDOM.normal(size=(n, n)))[0][:, :2] for n in shape)
    a, direction = (u * [3.0, 2.0]) @ v.T, RANDOM.normal(size=shape)

    def line(x: Any) -> Any:
        u, s, vh = np.linalg.svd(a + x * direction, full_matrices=False)
        return (u[:, :2] * s[:2]) @ vh[:2]

    def dilated(x: Any) -> Any:
        return np.block([[np.zeros((len(x),) * 2), x], [x.T, np.zeros((len(x.T),) * 2)]])

    blocks = _series(lambda z: z, dilated(a), dilated(direction), 2.5, 1.5)
    wanted = 2 * blocks[3, : len(a), len(a) :]
    for outer in (fd.jacfwd, fd.jacrev):
        found = outer(outer(outer(line)))(0.0)
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max())
