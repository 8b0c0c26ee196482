"""Matrices of which a value reads one triangle: what moves it is what has a derivative."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.scipy.linalg as fsl
from tests.differences import differences
from tests.together import together

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here
solvers: Any = fsl
Function = Callable[[Any], Any]

RANDOM = np.random.default_rng(31)
A = RANDOM.normal(size=(3, 3))
B = RANDOM.normal(size=(3, 2))
C = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))
POSITIVE = A @ A.T + np.diag([1.0, 2.0, 4.0])
HERMITIAN = C @ C.conj().T / 2 + np.diag([0.5, 1.0, 2.0])
HERMITIAN += HERMITIAN.conj().T  # bit for bit: SciPy warns of imaginary parts in the diagonal

FILLED: dict[str, Callable[[Any, Any], Any]] = {
    "filled": lambda a, other: a + 0 * other,
    "other": lambda a, other: a + RANDOM.uniform(1, 2, np.shape(other)) * other,
    "stack": lambda a, other: np.stack([a, 2 * a + other, a + np.conj(a.T)]),
}
"""What stands in the triangle that is not read, from the matrix of the other and its mask."""


def _of(w: Any, v: Any) -> Any:
    """Return what does not depend on the phases of eigenvectors."""
    return np.sum(np.sin(w) * A[0]) + np.sum(np.abs(v) ** 2 * A)


def _squares(x: Any) -> Any:
    return np.sum(np.abs(x) ** 2 * np.resize(A, np.shape(x)))


def _solve(kind: str, a: Any, lower: bool) -> Any:
    return _squares(solvers.solve(a, B + 0 * a[..., :1, :1], lower, assume_a=kind))


def _inv(kind: str, a: Any, lower: bool) -> Any:
    return _squares(solvers.inv(a, assume_a=kind, lower=lower))


READS: dict[str, Callable[[Any, bool], Any]] = {
    "cholesky": lambda a, lower: _squares(linalg.cholesky(a, upper=not lower)),
    "eigvalsh": lambda a, lower: np.sum(np.sin(linalg.eigvalsh(a, "UL"[lower])) * A[0]),
    "eigh": lambda a, lower: _of(*linalg.eigh(a, "UL"[lower])),
    "function": lambda a, lower: _function(*linalg.eigh(a, "UL"[lower])),
    "sum": lambda a, lower: np.sum(linalg.eigvalsh(a, "UL"[lower]) ** 1.5),
    "scipy cholesky": lambda a, lower: _squares(solvers.cholesky(a, lower)),
    "cho_factor": lambda a, lower: _squares(_by_factor(a, lower)),
    "scipy eigh": lambda a, lower: _of(*solvers.eigh(a, lower=lower)),
    "some of eigh": lambda a, lower: np.sum(
        solvers.eigh(a, lower=lower, eigvals_only=True, subset_by_index=(1, 2)) ** 1.5
    ),
    "eigh of a pair": lambda a, lower: np.sum(
        solvers.eigh(a, np.conj(a) + 3 * np.eye(3), lower=lower, eigvals_only=True) * A[0]
    ),
    "ldl": lambda a, lower: _squares(solvers.ldl(a, lower)[1]),
    "symmetric ldl": lambda a, lower: _squares(solvers.ldl(a, lower, hermitian=False)[0]),
    **{
        f"{name}, {kind}": partial(f, kind)
        for kind in ("pos", "her", "sym")
        for name, f in (("solve", _solve), ("inv", _inv))
    },
    "pinvh": lambda a, lower: _squares(solvers.pinvh(a, lower=lower)),
}
LOWER: dict[str, Function] = {
    "pinv": lambda a: _squares(linalg.pinv(a, hermitian=True)),
    "svd": lambda a: np.sum(linalg.svd(a, compute_uv=False, hermitian=True) ** 1.5 * A[0]),
    "svd, vectors": lambda a: _squares(linalg.svd(a, hermitian=True)[0]),
}
ALONE = ("ldl", "some")
"""Words in the names of what takes one matrix, and no stack."""

CASES = [
    *((f"{name}, {['upper', 'lower'][side]}", lambda a, f=f, side=side: f(a, bool(side)), side)
      for name, f in READS.items() for side in (0, 1)),
    *((name, f, 1) for name, f in LOWER.items()),
]  # fmt: skip


def _function(w: Any, v: Any) -> Any:
    return _squares((v * np.sqrt(w)[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2)))


def _by_factor(a: Any, lower: bool) -> Any:
    return solvers.cho_solve(solvers.cho_factor(a, lower), B + 0 * a[..., :1, :1])


def _one(a: Any, side: int) -> tuple[Any, Any]:
    """Return one triangle of a matrix, and the mask of the other."""
    kept = np.tri(3) if side else np.tri(3).T
    return a * kept, 1 - kept


@pytest.mark.slow
@together
@pytest.mark.parametrize(
    ("name", "f", "side", "filling"),
    [
        (*case, filling)
        for case in CASES
        for filling in FILLED
        if filling != "stack" or not any(word in case[0] for word in ALONE)
    ],
)
def test_the_triangle_that_is_read_has_the_derivative(
    name: str, f: Function, side: int, filling: str
) -> None:
    for matrix in [POSITIVE] if "sym" in name or name.startswith("ldl") else [POSITIVE, HERMITIAN]:
        a = FILLED[filling](*_one(matrix, side))
        expected = differences(f, a)
        if filling == "stack":  # the last one is symmetric
            expected[2] = (expected[2] + expected[2].conj().T) / 2
        size = np.abs(expected).max()
        gradient = fd.grad(f)(a)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * size)
        jitted = fd.grad(fd.jit(f))
        for _ in range(3):
            np.testing.assert_allclose(jitted(a), gradient, rtol=1e-9, atol=1e-9 * size)
        mapped = fd.vmap(fd.grad(f))(np.stack([a, a]))
        np.testing.assert_allclose(mapped[1], gradient, rtol=1e-9, atol=1e-9 * size)
        t = RANDOM.normal(size=a.shape).astype(a.dtype)
        slope = fd.jvp(f, (a,), (t,))[1]
        np.testing.assert_allclose(slope, np.vdot(gradient, t).real, rtol=1e-9, atol=1e-9 * size)


@together
@pytest.mark.thinned(3)
@pytest.mark.parametrize(("name", "f", "side"), CASES)
def test_a_symmetric_matrix_has_a_symmetric_gradient(name: str, f: Function, side: int) -> None:
    for matrix in [POSITIVE] if "sym" in name else [POSITIVE, HERMITIAN]:
        for rounding in (0.0, 1e-16 * np.abs(matrix).max()):
            a = matrix + rounding * np.tri(3)
            gradient = fd.grad(f)(a)
            size = np.abs(gradient).max()
            np.testing.assert_allclose(gradient, gradient.conj().T, rtol=1e-9, atol=1e-9 * size)
    assert side in (0, 1)


@pytest.mark.slow
@together
@pytest.mark.parametrize("order", [1, 2, 3])
def test_higher_derivatives_are_of_the_triangle_that_is_read(order: int) -> None:
    def entries(f: Function) -> Function:
        return lambda p: f(np.stack([np.stack([p[0], 0 * p[0]]), np.stack([p[1], p[2]])]))

    def whole(f: Function) -> Function:
        return lambda p: f(np.stack([np.stack([p[0], p[1]]), np.stack([p[1], p[2]])]))

    p = np.array([2.0, 0.5, 1.0])
    for f in (
        lambda k: np.sum(linalg.cholesky(k) ** 3),
        lambda k: linalg.eigvalsh(k)[0],
        lambda k: _function_of(*linalg.eigh(k)),
        lambda k: np.sum(solvers.inv(k, assume_a="pos", lower=True) ** 3),
        lambda k: np.sum(linalg.pinv(k, hermitian=True) ** 3),
    ):
        found, wanted = entries(f), whole(f)
        for n in range(order):
            found, wanted = ((fd.jacfwd if n % 2 else fd.jacrev)(g) for g in (found, wanted))
        np.testing.assert_allclose(found(p), wanted(p), rtol=1e-9, atol=1e-9)


def _function_of(w: Any, v: Any) -> Any:
    return np.sum(((v * np.exp(w)) @ v.T) ** 2)


@together
@pytest.mark.parametrize("read", ["cholesky", "inv, pos", "solve, her", "function", "pinvh"])
def test_small_elements_beside_large_ones_are_no_rounding_errors(read: str) -> None:
    diagonal, below = np.diag([1e9, 2.0, 3.0]), np.diag([0.0, 1.0], k=-1)

    def f(p: Any, other: float) -> Any:
        return READS[read](diagonal + p * (below + other * below.T), True)

    for p in (1e-6, 1e-3):
        np.testing.assert_allclose(fd.grad(f)(p, 0.0), fd.grad(f)(p, 1.0), rtol=1e-9)
