"""Further linear algebra: each function of a matrix, a stack, a complex and a tall one."""

from __future__ import annotations

from dataclasses import replace

from tests.patterns.pattern import Argument, Pattern, complex_, matrix, real
from tests.patterns.tables.further import each

OF_MATRICES = """
    np.linalg.solve(x, [[1.0, -0.5], [0.3, 2.0], [1.4, 0.1]])
    np.linalg.solve(x, np.array([1.0, -0.5, 2.0]))
    np.linalg.solve(np.array([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2], [0.0, 0.4, 3.0]]), x)
    np.linalg.solve(x, np.ones((3, 1, 3, 2)) * np.array([[1.0], [2.0], [-0.5]]))
    np.linalg.inv(x)
    np.linalg.det(x)
    np.linalg.slogdet(x)
    np.linalg.cholesky(x @ np.conj(x).swapaxes(-1, -2) + np.eye(3), upper=True)
    np.linalg.eigvalsh(x + np.conj(x).swapaxes(-1, -2))
    np.linalg.eigvalsh(x + np.conj(x).swapaxes(-1, -2), 'U')
    np.linalg.eigh(x + np.conj(x).swapaxes(-1, -2)).eigenvalues
    np.abs(np.linalg.eigh(x + np.conj(x).swapaxes(-1, -2), UPLO='U')[1]) ** 2
    np.linalg.svdvals(x)
    np.linalg.svd(x[..., :2], compute_uv=False)
    np.linalg.svd(x + np.conj(x).swapaxes(-1, -2), compute_uv=False, hermitian=True)
    np.abs(np.linalg.svd(x + np.conj(x).swapaxes(-1, -2), hermitian=True).U) ** 2
    np.matmul(*np.linalg.svd(x + np.conj(x).swapaxes(-1, -2), hermitian=True)[::2])
    np.linalg.pinv(x + np.conj(x).swapaxes(-1, -2), hermitian=True)
    np.linalg.pinv(x[..., :2], rcond=1e-9)
    np.linalg.pinv(x, rtol=None)
    np.linalg.cond(x)
    np.real(np.linalg.cond(x, 1))
    np.linalg.cond(x, -2)
    np.real(np.linalg.cond(x, 'fro'))
    np.linalg.cond(x, 'nuc')
    np.linalg.matrix_power(x, 0)
    np.linalg.matrix_power(x, 3)
    np.linalg.matrix_power(x, 5)
    np.linalg.matrix_power(x, -2)
    np.linalg.matmul(x, x)
    np.linalg.trace(x, offset=1)
    np.linalg.diagonal(x, offset=-1)
    np.linalg.matrix_transpose(x) * np.array([1.0, 2.0, 3.0])
    np.linalg.outer(x[..., 0, 0].ravel(), x[..., 1, 2].ravel())
    np.linalg.cross(x, x[..., ::-1, :] ** 2)
    np.linalg.cross(x, x**2, axis=-2)
    np.linalg.vecdot(x, x**2, axis=-2)
    np.linalg.tensordot(x, x, axes=((-1,), (-2,)))
    np.linalg.norm(x, 2, axis=(-2, -1))
    np.linalg.norm(x, -2, axis=(-1, -2), keepdims=True)
    np.linalg.matrix_norm(x, ord=2, keepdims=True)
"""
OF_TALL_MATRICES = """
    [np.abs(y) ** 2 for y in np.linalg.svd(x, full_matrices=False)]
    np.linalg.svd(x, full_matrices=False)[1]
    np.matmul(*np.linalg.svd(x, full_matrices=False)[::2])
    np.linalg.norm(x, 'nuc', axis=(-2, -1))
    np.linalg.cond(x, 2)
    np.linalg.pinv(x)
"""
OF_CUBES = """
    np.linalg.norm(x)
    np.linalg.norm(x, keepdims=True)
    np.linalg.norm(x[0, 0], 2)
    np.linalg.vector_norm(x)
    np.linalg.vector_norm(x, axis=(2, 0), ord=3)
    np.linalg.vector_norm(x, axis=1, keepdims=True, ord=np.inf)
    np.linalg.vector_norm(x, keepdims=True)
    np.linalg.matrix_norm(x)
    np.linalg.matrix_norm(x, ord='nuc', keepdims=True)
"""
VECTOR_NORMS = (None, 1, 2, 3, 2.5, 0.5, -1.5, "np.inf", "-np.inf", 0)
MATRIX_NORMS = (None, "'fro'", "'nuc'", 1, -1, 2, -2, "np.inf", "-np.inf")


def of_kinds(texts: str, *kinds: Argument) -> list[Pattern]:
    """Return the patterns of a text for operands of several kinds."""
    return [
        replace(p, name=f"{p.name} * {k}.0" if k else p.name)
        for k, kind in enumerate(kinds)
        for p in each(texts, kind, exact=False)
    ]


PATTERNS: list[Pattern] = [
    *of_kinds(OF_MATRICES, matrix(3, 3), matrix(2, 3, 3), complex_(3, 3)),
    *of_kinds(OF_TALL_MATRICES, matrix(4, 2), matrix(2, 4), matrix(2, 3, 2), complex_(4, 2)),
    *of_kinds(OF_CUBES, real(2, 4, 3), complex_(2, 4, 3)),
    *of_kinds("\n".join(f"np.linalg.norm(x, {order}, -1, True)" for order in VECTOR_NORMS),
              real(2, 4, 3), complex_(3, 3)),
    *of_kinds("\n".join(f"np.linalg.norm(x, {order}, (0, 1))" for order in MATRIX_NORMS),
              complex_(3, 3)),
]  # fmt: skip
