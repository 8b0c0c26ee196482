"""Equal values and vectors that do not come from one equation: right, or refused, in every mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError

Function = Callable[[Any], Any]

RANDOM = np.random.default_rng(5)
WEIGHTS, E, T = RANDOM.normal(size=(3, 3, 3))
BASIS = np.linalg.qr(RANDOM.normal(size=(3, 3)))[0]


def eigvalsh(a: Any, uplo: Any = "L") -> Any:
    return np.linalg.eigvalsh((a + a.T) / 2, uplo)


def svdvals(a: Any) -> Any:
    return np.linalg.svd(a, compute_uv=False)


def recomposed(a: Any) -> Any:
    """Return the weighted sum of 2·A, of the vectors of A and the eigenvalues of 2·A."""
    v = np.linalg.eigh((a + a.T) / 2)[1]
    return np.sum(((v * eigvalsh(2 * a)) @ v.T) * WEIGHTS)


def recomposed_by_svd(a: Any) -> Any:
    u, _, vh = np.linalg.svd(a)
    return np.sum(((u * svdvals(2 * a)) @ vh) * WEIGHTS)


def in_a_checkpoint(a: Any) -> Any:
    return np.prod(fd.checkpoint(svdvals)(a))


# smooth functions, each with a second way of computing it that has no factorization
FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "product of singular values": (lambda a: np.prod(svdvals(a)), np.linalg.det),
    "each by itself": (
        lambda a: sum(np.log(s) for s in svdvals(a)), lambda a: np.log(np.linalg.det(a))
    ),
    "checkpoint": (in_a_checkpoint, np.linalg.det),
    "eigenvalues in a checkpoint": (
        lambda a: np.prod(fd.checkpoint(eigvalsh)(a)), lambda a: np.linalg.det((a + a.T) / 2)
    ),
    "two triangles": (
        lambda a: np.sum(eigvalsh(a, "L") * eigvalsh(a, "U")), lambda a: np.sum((a + a.T) ** 2) / 4
    ),
    "two matrices": (lambda a: np.sum(svdvals(a) * svdvals(3 * a.T)), lambda a: 3 * np.sum(a * a)),
    "vectors of another": (recomposed, lambda a: np.sum((a + a.T) * WEIGHTS)),
    "singular vectors of another": (recomposed_by_svd, lambda a: 2 * np.sum(a * WEIGHTS)),
    "squares": (lambda a: np.sum(svdvals(a) ** 2), lambda a: np.sum(a * a)),
}  # fmt: skip
MODES: dict[str, Callable[[Function, Any], Any]] = {
    "grad": lambda f, a: np.sum(fd.grad(f)(a) * E),
    "jvp": lambda f, a: fd.jvp(f, (a,), (E,))[1],
    "hvp": lambda f, a: np.sum(fd.hvp(f, (a,), (T,)) * E),
    "grad of grad": lambda f, a: np.sum(fd.grad(lambda x: np.sum(fd.grad(f)(x) * T))(a) * E),
    "grad of jvp": lambda f, a: np.sum(fd.grad(lambda x: fd.jvp(f, (x,), (T,))[1])(a) * E),
    "hessian": lambda f, a: np.sum(np.tensordot(fd.hessian(f)(a), T) * E),
    "jit": lambda f, a: np.sum(fd.jit(lambda x: fd.hvp(f, (x,), (T,)))(a) * E),
    "vmap": lambda f, a: np.sum(
        fd.vmap(lambda x: fd.hvp(f, (x,), (T,)))(np.stack([a, a + np.diag([0, 0.5, 0])]))[0] * E
    ),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_derivative_is_that_of_the_function_or_is_refused(name: str, mode: str) -> None:
    f, plain = FUNCTIONS[name]
    for values in ([2.0, 2.0, 3.0], [2.0, 2.0, 2.0], [1.0, 2.0, 3.5]):
        for v in (np.eye(3), BASIS):
            a = (v * values) @ v.T
            try:
                found = MODES[mode](f, a)
            except NotDifferentiableError:
                assert name != "squares"
                assert len(set(values)) < 3
                continue
            np.testing.assert_allclose(found, MODES[mode](plain, a), rtol=1e-8, atol=1e-9)


def test_values_alone_that_are_used_in_different_ways_share_their_derivative() -> None:
    for values in (eigvalsh, svdvals, lambda a: np.linalg.eigh(a)[0][::-1]):
        np.testing.assert_allclose(
            fd.grad(lambda a, values=values: values(a)[0])(np.eye(3)), np.eye(3) / 3, atol=1e-15
        )


def projected(a: Any, eigh: Function = np.linalg.eigh) -> Any:
    v = eigh((a + a.T) / 2)[1][:, :2]
    return np.sum((v @ v.T) * WEIGHTS)


@pytest.mark.parametrize("mode", ["grad", "jvp", "vjp"])
def test_vectors_from_a_checkpoint_and_their_tangents_are_of_one_basis(mode: str) -> None:
    def pulled(f: Function, a: Any) -> Any:
        return np.sum(fd.vjp(f, a)[1](1.0)[0] * E)

    derive = MODES.get(mode, pulled)
    for v in (np.eye(3), BASIS):
        a = (v * [2.0, 2.0, 3.0]) @ v.T
        found = derive(lambda a: projected(a, fd.checkpoint(lambda x: tuple(np.linalg.eigh(x)))), a)
        np.testing.assert_allclose(found, derive(projected, a), rtol=1e-10)
