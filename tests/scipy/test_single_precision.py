"""What SciPy makes of single precision is what a traced array of single precision gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.special

import funcdiff as fd
import funcdiff.scipy

MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.0]], np.float32)
VECTOR = np.array([1.0, 2.0, 3.0], np.float32)
PLACES = ([0, 1, 2], [1, 0, 2])
POINTS = np.random.default_rng(1).random((8, 2)).astype(np.float32)

CALLS: dict[str, tuple[Callable[..., Any], Any]] = {
    "norm, ord 1": (lambda s, m: s.linalg.norm(m, 1), MATRIX),
    "norm, ord inf": (lambda s, m: s.linalg.norm(m, np.inf), MATRIX),
    "norm, ord 2": (lambda s, m: s.linalg.norm(m, 2), MATRIX),
    "norm of one row": (lambda s, m: s.linalg.norm(m, 1), MATRIX[:1]),
    "norm, axis": (lambda s, m: s.linalg.norm(m, 1, axis=(0, 1)), MATRIX),
    "norm of a vector": (lambda s, v: s.linalg.norm(v), VECTOR),
    "norm of a vector, ord 1": (lambda s, v: s.linalg.norm(v, 1), VECTOR),
    "factorial": (lambda s, v: s.special.factorial(v), VECTOR),
    "factorial of a number": (lambda s, x: s.special.factorial(x), np.float32(3)),
    "factorial, continued": (lambda s, v: s.special.factorial(v, extend="complex"), VECTOR),
    "logsumexp, weights": (lambda s, v: s.special.logsumexp(v, b=2.0), VECTOR),
    "quad_vec": (
        lambda s, v: s.integrate.quad_vec(lambda x: x * v, np.float64(0), 1.0, epsrel=1e-3)[0],
        VECTOR,
    ),
    "minres": (lambda s, v: s.sparse.linalg.minres(scipy.sparse.csr_array(MATRIX), v)[0], VECTOR),
    "cg": (lambda s, v: s.sparse.linalg.cg(scipy.sparse.csr_array(MATRIX), v)[0], VECTOR),
    "neighbours": (lambda s, p: s.spatial.KDTree(p).query(p + p[:1], 2)[0], POINTS),
    "shapes": (lambda s, p: s.spatial.procrustes(p, p[::-1])[1], POINTS),
    "table of distances": (lambda s, p: s.spatial.distance_matrix(p, p[:3]), POINTS),
    "canberra": (lambda s, v: s.spatial.distance.canberra(v, v[::-1]), VECTOR),
    "cosine, weights": (lambda s, v: s.spatial.distance.cosine(v, v[::-1], VECTOR), VECTOR),
    "jensenshannon": (lambda s, v: s.spatial.distance.jensenshannon(v, v[::-1], 2.0), VECTOR),
    "sparse mean": (lambda s, v: s.sparse.csr_array((v, PLACES)).mean(axis=0), VECTOR),
    "sparse quotient": (lambda s, v: (s.sparse.csr_array((v, PLACES)) / 3.0).data, VECTOR),
    "hull, volume": (lambda s, p: s.spatial.ConvexHull(p).volume, POINTS),
    "hull, area": (lambda s, p: s.spatial.ConvexHull(p).area, POINTS),
}  # fmt: skip


@pytest.mark.filterwarnings(
    "ignore:.*deprecated in favor of `scipy.spatial.distance:DeprecationWarning"
)
@pytest.mark.parametrize("name", CALLS)
def test_results_have_the_dtype_that_scipy_gives(name: str) -> None:
    call, x = CALLS[name]
    expected = call(scipy, x)
    value, pull = fd.vjp(lambda x: call(funcdiff.scipy, x), x)
    assert (np.asarray(value).dtype, np.shape(value)) == (
        np.asarray(expected).dtype, np.shape(expected)
    )  # fmt: skip
    assert isinstance(value, float) == isinstance(expected, float)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    slope = pull(np.ones(np.shape(value), np.asarray(value).dtype)[()])[0]
    assert (slope.dtype, np.shape(slope)) == (np.float32, np.shape(x))


def test_what_stands_for_a_python_number_is_weak() -> None:
    scaled = fd.vjp(lambda v: v * funcdiff.scipy.linalg.norm(MATRIX + v, 1), VECTOR)[0]
    assert scaled.dtype == (VECTOR * scipy.linalg.norm(MATRIX + VECTOR, 1)).dtype == np.float32
