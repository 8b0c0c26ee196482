"""Products, contractions, convolutions and polynomials."""

from __future__ import annotations

from typing import Any

from tests.patterns.pattern import Argument, Pattern, complex_, positive, real
from tests.patterns.tables.calls import call


def product(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return a pattern whose values are NumPy's to rounding."""
    return call(text, *arguments, exact=False, **options)


VECTOR, MATRIX = real(3), real(2, 3)
MATRICES = (real(200, 300), real(300, 200))

PATTERNS: list[Pattern] = [
    product("np.dot(x, y)", VECTOR, VECTOR),
    product("np.dot(x.T, y)", real(3, 2), real(3, 4), large=(real(300, 200), real(300, 200))),
    product("np.dot(x, y) * 1.0", MATRIX, VECTOR, large=(real(300, 300), real(300))),
    product(
        "np.dot(x, y) * 2.0", real(2, 3, 4), real(5, 4, 2),
        large=(real(20, 30, 40), real(20, 40, 20)),
    ),
    product("np.dot(x, 2.0)", MATRIX),
    product("np.inner(x, y)", real(2, 3), real(4, 3), large=(real(200, 300), real(200, 300))),
    product("np.outer(x, y)", real(3), real(2, 2), large=(real(300), real(300))),
    product("np.vdot(x, y)", complex_(2, 3), complex_(2, 3)),
    product("np.vecdot(x, y)", complex_(2, 3), complex_(3)),
    product("np.vecdot(x, y, axis=0)", real(3, 2), real(3, 2)),
    product("np.matvec(x, y)", real(2, 3), real(4, 3)),
    product("np.vecmat(x, y)", complex_(3), complex_(3, 2)),
    product("np.matmul(x, y)", real(2, 3), real(3, 4), large=MATRICES),
    product("x @ y", real(5, 2, 3), real(3, 4), large=(real(10, 100, 100), real(100, 100))),
    product(
        "x @ y * 1.0", real(2, 1, 2, 3), real(3, 3, 1),
        large=(real(5, 1, 100, 100), real(4, 100, 1)),
    ),
    product("np.matmul(x, y, axes=[(0, 1), (1, 0), (0, 1)])", real(2, 3), real(4, 3)),
    product(
        "np.tensordot(x, y)", real(2, 3, 4), real(3, 4, 2),
        large=(real(20, 30, 40), real(30, 40, 20)),
    ),
    product("np.tensordot(x, y, axes=0)", real(2), real(3), large=(real(300), real(300))),
    product("np.tensordot(x, y, axes=((0, 2), (1, 0)))", real(2, 3, 4), real(4, 2, 5)),
    product("np.einsum('ij,jk->ik', x, y)", real(2, 3), real(3, 4), large=MATRICES),
    product("np.einsum('ij,jk,kl', x, y, z, optimize=True)", real(2, 3), real(3, 4), real(4, 2)),
    product("np.einsum('i,i,i->i', x, y, x)", real(3), real(3)),
    product("np.einsum('ii->i', x)", real(3, 3)),
    product("np.einsum('ii', x)", real(3, 3)),
    product("np.einsum('...ij,...jk->...ik', x, y)", real(5, 2, 3), real(3, 4)),
    product("np.einsum('ijk->kji', x)", real(2, 3, 4)),
    product("np.einsum(x, [0, 1], y, [1, 2], [2, 0])", real(2, 3), real(3, 4)),
    product("np.einsum('ij,ij->', x, y, optimize='greedy')", complex_(2, 3), complex_(2, 3)),
    product(
        "np.einsum('ab,bc->ac', x, y, dtype=np.float64, casting='safe', order='F')", real(2, 3),
        real(3, 2),
    ),
    product("np.kron(x, y)", real(2, 3), real(3, 2), large=(real(20, 20), real(15, 15))),
    product("np.cross(x, y)", real(4, 3), real(3), large=(real(30_000, 3), real(3))),
    product("np.cross(x, y, axisa=0, axisb=1, axisc=0)", real(3, 4), real(4, 3), large=()),
    product(
        "np.cross(x, y, axis=0)", real(3, 4), real(3, 4), large=(real(3, 30_000), real(3, 30_000))
    ),
    *(
        product(
            f"np.convolve(x, y, mode='{mode}')", real(7), real(3), large=(real(100_000), real(30))
        )
        for mode in ("full", "same", "valid")
    ),
    *(
        product(
            f"np.correlate(x, y, mode='{mode}')", real(7), real(3), large=(real(100_000), real(30))
        )
        for mode in ("full", "same", "valid")
    ),
    product(
        "np.convolve(x, y) * 1.0", complex_(3), complex_(7), large=(complex_(30), complex_(50_000))
    ),
    product(
        "np.correlate(x, y, 'full') * 1.0", complex_(3), complex_(7),
        large=(complex_(30), complex_(50_000)),
    ),
    product("np.polyval(x, y)", real(4), real(5), large=(real(10), real(10_000))),
    product("np.polyadd(x, y)", real(4), real(2)),
    product("np.polysub(x, y)", real(2), real(4)),
    product("np.polymul(x, y)", real(4), real(3), large=(real(300), real(300))),
    *(
        product(
            f"np.polydiv(x, y)[{k}]", real(5), real(3), batched=False, large=(real(300), real(100)),
            wrong="JAX: the remainder has another length" if k else "",
        )
        for k in (0, 1)
    ),
    product("np.polyder(x, m=2)", real(5)),
    product("np.polyint(x, m=2, k=[1.0, 2.0])", real(4)),
    product("np.poly(x)", real(4), large=(real(30),)),
    product("np.polyfit(x, y, 2)", real(7), real(7), large=(real(10_000), real(10_000))),
    product("np.polyfit(x, y, 2, w=z)", real(7), real(7), positive(7), large=()),
    product("np.abs(np.roots(x))", positive(4), batched=False, large=(positive(30),)),
    product("np.multiply.outer(x, y)", real(3), real(2, 2), large=(real(300), real(30, 10))),
    product("np.linalg.outer(x, y)", real(3), real(2), large=(real(300), real(300))),
    product("np.linalg.tensordot(x, y, axes=1)", real(2, 3), real(3, 2), large=MATRICES),
    product("np.linalg.vecdot(x, y, axis=0)", real(3, 2), real(3, 2)),
    product("np.linalg.cross(x, y, axis=0)", real(3, 4), real(3, 4), large=()),
]  # fmt: skip
