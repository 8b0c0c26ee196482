"""Linear algebra: every function and every mode, batched, real and complex."""

from __future__ import annotations

from typing import Any

from tests.patterns.pattern import Argument, Pattern, complex_, matrix, real, symmetric
from tests.patterns.tables.calls import call

LARGE = 200
"""Rows of the matrices in the benchmark of costs."""


def large(argument: Argument) -> Argument:
    """Return the argument with matrices of a realistic size: the longest axis becomes `LARGE`."""
    longest = max(argument.shape)
    shape = tuple(LARGE * n // longest if n > 1 else n for n in argument.shape[-2:])
    return Argument(argument.make, shape)


def linear(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return a pattern on matrices; values are NumPy's to rounding in a batch of operations."""
    options.setdefault("large", tuple(map(large, arguments)))
    return call(text, *arguments, exact=False, **options)


A, S, B = matrix(3, 3), symmetric(3, 3), matrix(2, 3, 3)
TALL, WIDE = matrix(4, 3), matrix(3, 4)
SYMMETRIC = "(x + x.swapaxes(-1, -2)) / 2"
HERMITIAN = "(x + x.conj().swapaxes(-1, -2) + 6 * np.eye(3))"

NORMS = ("None", "1", "-1", "2", "-2", "np.inf", "-np.inf", "'fro'", "'nuc'")
VECTOR_NORMS = ("None", "0", "1", "2", "3", "-1.5", "np.inf", "-np.inf")

PATTERNS: list[Pattern] = [
    linear("np.linalg.cholesky(x @ x.T)", A),
    linear(f"np.linalg.cholesky({SYMMETRIC}, upper=True)", S),
    linear("np.linalg.cholesky(x @ x.swapaxes(-1, -2))", B),
    linear(f"np.linalg.cholesky({HERMITIAN})", complex_(3, 3), large=()),
    *(
        linear(f"np.linalg.{name}(x)", argument)
        for name in ("det", "slogdet", "inv", "pinv")
        for argument in (A,)
    ),
    *(linear(f"np.linalg.{name}(x) * 1.0", B) for name in ("det", "inv", "pinv")),
    *(linear(f"abs(np.linalg.{name}(x))", complex_(3, 3)) for name in ("det", "inv", "pinv")),
    linear("np.linalg.slogdet(x)[1]", complex_(3, 3)),
    linear("np.linalg.pinv(x) * 2.0", TALL),
    linear("np.linalg.pinv(x, rcond=1e-6)", WIDE),
    linear(f"np.linalg.pinv({SYMMETRIC}, rtol=1e-6, hermitian=True)", S),
    linear("np.linalg.solve(x, y)", A, real(3)),
    linear("np.linalg.solve(x, y) * 1.0", A, real(3, 2)),
    linear("np.linalg.solve(x, y) * 2.0", B, real(3, 2), large=()),
    linear("np.linalg.solve(x, y) * 3.0", complex_(3, 3), complex_(3)),
    linear("np.linalg.lstsq(x, y)[0]", TALL, real(4)),
    linear("np.linalg.lstsq(x, y, rcond=1e-9)[:2]", TALL, real(4, 2)),
    linear("np.linalg.lstsq(x, y)[0] * 1.0", WIDE, real(3), large=(matrix(150, 200), real(150))),
    linear("np.linalg.matrix_power(x, 3)", A),
    linear("np.linalg.matrix_power(x, -2)", B),
    linear(
        "np.linalg.multi_dot([x, y, z])", real(2, 3), real(3, 4), real(4, 2),
        large=(real(100, 150), real(150, 200), real(200, 100)),
    ),
    linear(
        "np.linalg.tensorsolve(x.reshape(2, -1, len(x)), y.reshape(2, -1))", matrix(6, 6), real(6)
    ),
    linear(
        "np.linalg.tensorsolve(x.reshape(len(x), 2, -1), y.reshape(2, -1), axes=(0,))",
        matrix(6, 6), real(6), large=(),
    ),
    linear("np.linalg.tensorinv(x.reshape(len(x), 2, -1), ind=1)", matrix(6, 6)),
    linear(f"np.linalg.eigh({SYMMETRIC})[0]", S),
    linear(f"np.linalg.eigh({SYMMETRIC}, UPLO='U')[0]", S),
    linear(f"np.abs(np.linalg.eigh({SYMMETRIC})[1])", S),
    linear("np.abs(np.linalg.eigh(x + x.swapaxes(-1, -2))[1])", B),
    linear(f"np.abs(np.linalg.eigh({HERMITIAN})[1])", complex_(3, 3), large=()),
    linear(f"np.linalg.eigvalsh({SYMMETRIC})", S),
    linear(f"np.linalg.eigvalsh({SYMMETRIC}, UPLO='U')", S),
    linear(
        "np.abs(np.linalg.eig(x)[0])", A, batched=False,
        torch=lambda torch, x: torch.linalg.eig(x)[0].abs(),
    ),
    linear(
        "np.abs(np.linalg.eig(x)[1])", A, large=(), batched=False,
        torch=lambda torch, x: torch.linalg.eig(x)[1].abs(),
    ),
    linear(
        "np.abs(np.linalg.eigvals(x))", A, batched=False,
        torch=lambda torch, x: torch.linalg.eigvals(x).abs(),
    ),
    linear(
        "np.abs(np.linalg.eigvals(x)) * 1.0", complex_(3, 3), large=(),
        torch=lambda torch, x: torch.linalg.eigvals(x).abs(),
    ),
    linear(
        "np.abs(np.linalg.eig(x)[1]) * 1.0", complex_(3, 3), large=(),
        torch=lambda torch, x: torch.linalg.eig(x)[1].abs(),
    ),
    *(
        linear(f"[np.abs(a) for a in np.linalg.qr(x, mode='{mode}')]", argument)
        for mode in ("reduced", "complete")
        for argument in (A,)
    ),
    linear("np.linalg.qr(x, mode='raw')", TALL),
    linear("[a for a in np.linalg.qr(x, mode='raw')]", complex_(3, 2), large=()),
    linear("[np.abs(a) for a in np.linalg.qr(x)]", TALL),
    linear("[np.abs(a) for a in np.linalg.qr(x)] * 1", WIDE),
    linear("np.abs(np.linalg.qr(x, mode='r'))", TALL),
    linear("[np.abs(a) for a in np.linalg.qr(x)] * 2", B),
    linear("[np.abs(a) for a in np.linalg.qr(x)] * 3", complex_(4, 3)),
    linear("np.linalg.svd(x, compute_uv=False)", TALL),
    linear("np.linalg.svdvals(x)", WIDE),
    linear("np.linalg.svdvals(x) * 1.0", B),
    linear("np.linalg.svdvals(x) * 2.0", complex_(3, 3)),
    linear("[np.abs(a) ** 2 for a in np.linalg.svd(x, full_matrices=False)]", TALL),
    linear("[np.abs(a) ** 2 for a in np.linalg.svd(x, full_matrices=False)] * 1", WIDE),
    linear("[np.abs(a) ** 2 for a in np.linalg.svd(x)]", A),
    linear("[np.abs(a) ** 2 for a in np.linalg.svd(x)] * 1", B),
    linear("[np.abs(a) ** 2 for a in np.linalg.svd(x)] * 2", complex_(3, 3), large=()),
    linear(f"np.abs(np.linalg.svd({SYMMETRIC}, hermitian=True)[1])", S),
    *(linear(f"np.linalg.norm(x, {order})", TALL) for order in NORMS),
    *(
        linear(
            f"np.linalg.norm(x.swapaxes(0, 1), {order}, axis=(0, 2), keepdims=True)",
            matrix(2, 3, 4), large=(),
        )
        for order in NORMS
    ),
    *(linear(f"np.linalg.matrix_norm(x, ord={order})", B) for order in NORMS[1:]),
    linear("np.linalg.matrix_norm(x, keepdims=True)", complex_(2, 3, 2)),
    *(linear(f"np.linalg.norm(x, {order}, axis=1)", TALL) for order in VECTOR_NORMS),
    *(
        linear(f"np.linalg.vector_norm(x, axis=(0, 1), keepdims=True, ord={order})", TALL)
        for order in VECTOR_NORMS[1:]
    ),
    linear("np.linalg.norm(x)", complex_(4)),
    linear("np.linalg.norm(x, 3, keepdims=True, axis=0)", complex_(4, 2)),
    *(linear(f"np.linalg.cond(x, {order})", A) for order in NORMS),
    linear("x * np.linalg.matrix_rank(x, tol=1e-3) + np.linalg.matrix_rank(x, rtol=1e-3)", TALL),
    linear("np.linalg.trace(x, offset=1)", B),
    linear("np.linalg.diagonal(x, offset=-1)", B),
    linear("np.linalg.matrix_transpose(x)", B),
    linear("np.linalg.matmul(x, y)", A, B, large=()),
]  # fmt: skip
