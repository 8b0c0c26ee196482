"""Two hundred call patterns in names that NumPy, JAX and PyTorch share, and nestings of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, starmap
from typing import Any, Final, TypeAlias

import numpy as np

Pattern: TypeAlias = Callable[[Any, Any], Any]
"""Of a library of arrays, and an array."""
Nesting: TypeAlias = Callable[[Any, Callable[..., Any]], Callable[..., Any]]
"""From a library that has `grad` and its relatives, and a function to a number, to another one."""

POINT: Final = np.array([0.31, 0.74, 0.52, 0.23])

ELEMENTWISE: Final = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh",
    "arctanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "abs",
    "negative", "positive", "floor", "sign", "reciprocal", "sinc", "nan_to_num", "i0", "deg2rad",
)  # fmt: skip
BINARY: Final = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "arctan2", "hypot",
    "logaddexp", "logaddexp2", "remainder", "fmax", "fmin", "float_power", "copysign",
)  # fmt: skip
MATRICES: Final[dict[str, Pattern]] = {
    "inv": lambda xp, a: xp.linalg.inv(a),
    "solve": lambda xp, a: xp.linalg.solve(a, a[0]),
    "det": lambda xp, a: xp.linalg.det(a),
    "slogdet": lambda xp, a: xp.linalg.slogdet(a)[1],
    "cholesky": lambda xp, a: xp.linalg.cholesky(a @ a.T),
    "eigvalsh": lambda xp, a: xp.linalg.eigvalsh(a + a.T),
    "svdvals": lambda xp, a: xp.linalg.svd(a, full_matrices=False)[1],
    "matrix_power": lambda xp, a: xp.linalg.matrix_power(a, 3),
    "norm": lambda xp, a: xp.linalg.norm(a),
    "pinv": lambda xp, a: xp.linalg.pinv(a),
    "matmul": lambda xp, a: a @ a.T @ a,
    "einsum": lambda xp, a: xp.einsum("ij,jk,ki->i", a, a, a),
    "trace": lambda xp, a: xp.trace(a @ a),
    "outer": lambda xp, a: xp.outer(a[0], a[1]),
    "kron": lambda xp, a: xp.kron(a, a),
    "tril": lambda xp, a: xp.tril(a @ a),
    "triu": lambda xp, a: xp.triu(a @ a),
    "diag": lambda xp, a: xp.diag(a @ a),
    "tensordot": lambda xp, a: xp.tensordot(a, a, axes=2),
    "cross": lambda xp, a: xp.linalg.cross(xp.stack([*a[0], a[1, 0]]), xp.stack([*a[1], a[0, 0]])),
}
"""Of a regular matrix of two rows."""
VECTORS: Final[dict[str, Pattern]] = {
    "slice": lambda xp, x: x[1:] * x[:-1],
    "index": lambda xp, x: x[np.array([0, 2, 2, 1])] * x,
    "mask": lambda xp, x: xp.where(x > 0.5, x**2, xp.exp(x)),
    "safe": lambda xp, x: xp.where(x > 0.5, xp.sqrt(abs(x - 0.5)), 0.0 * x),
    "flip": lambda xp, x: xp.flip(x, axis=0) * x,
    "roll": lambda xp, x: xp.roll(x, 1) * x**2,
    "cumsum": lambda xp, x: xp.cumsum(x, 0) ** 2,
    "cumprod": lambda xp, x: xp.cumprod(x, 0),
    "prod": lambda xp, x: xp.prod(x),
    "mean": lambda xp, x: xp.mean(x) ** 3,
    "var": lambda xp, x: xp.mean((x - xp.mean(x)) ** 2),
    "amax": lambda xp, x: xp.amax(x, 0) ** 2,
    "amin": lambda xp, x: xp.amin(x, 0) * x,
    "stack": lambda xp, x: xp.stack([x, x**2]),
    "concatenate": lambda xp, x: xp.concatenate([x * x, x[:2]]),
    "reshape": lambda xp, x: x.reshape(2, 2) @ x.reshape(2, 2),
    "broadcast": lambda xp, x: x[:, None] * x[None, :] ** 2,
    "power": lambda xp, x: x**2.5 + 2.0**x,
    "softmax": lambda xp, x: xp.exp(x) / xp.sum(xp.exp(x)),
    "logsumexp": lambda xp, x: xp.log(xp.sum(xp.exp(x))),
    "clip": lambda xp, x: xp.clip(x, 0.3, 0.6) * x,
    "diff": lambda xp, x: xp.diff(x) ** 3,
    "loop": lambda xp, x: _iterated(xp, x, 6),
    "horner": lambda xp, x: ((2 * x - 1) * x + 0.5) * x,
    "mixed": lambda xp, x: x[0] * xp.sin(x[1] * x[2]) + x[3] / x[0],
}
"""Of a vector of four numbers."""


def _iterated(xp: Any, x: Any, count: int) -> Any:
    y = x
    for _ in range(count):
        y = y + 0.1 * xp.sin(y * x)
    return y


def _matrix(x: Any) -> Any:
    return x.reshape(2, 2)


def _unary(name: str) -> Iterator[tuple[str, Pattern]]:
    def call(xp: Any, x: Any) -> Any:
        return getattr(xp, name)(x)

    yield name, call
    yield f"{name} of a product", lambda xp, x: call(xp, x * x[0] * 0.9)
    yield f"{name} of rows", lambda xp, x: call(xp, _matrix(x)) @ x[:2]


def _binary(name: str) -> Iterator[tuple[str, Pattern]]:
    def call(xp: Any, x: Any) -> Any:
        return getattr(xp, name)(x, 0.9 * x[np.array([1, 2, 3, 0])])

    yield name, call
    yield f"{name} of rows", lambda xp, x: call(xp, x)[:, None] * _matrix(x)[0]
    yield f"{name} of itself", lambda xp, x: call(xp, abs(call(xp, x)) + 0.1)


def _of_matrix(name: str, f: Pattern) -> Iterator[tuple[str, Pattern]]:
    yield f"{name} of a matrix", lambda xp, x: f(xp, _matrix(x))
    yield f"{name} of a sum", lambda xp, x: f(xp, _matrix(x) + _matrix(x * x).T)


def _patterns() -> dict[str, Pattern]:
    unary, binary = map(_unary, ELEMENTWISE), map(_binary, BINARY)
    return dict(chain(*unary, *binary, *starmap(_of_matrix, MATRICES.items()), VECTORS.items()))


def _to_number(f: Pattern) -> Pattern:
    """Return a number that depends on all of the results, through a function that is no sum."""
    return lambda xp, x: xp.sum(xp.sin(1.5 * f(xp, x)))


PATTERNS: Final = {name: _to_number(f) for name, f in _patterns().items()}
"""By name, functions ``f(xp, x)`` of a library of arrays and a vector, to a number."""


def in_numpy(name: str) -> Callable[[Any], Any]:
    return partial(PATTERNS[name], np)


def _directional(lib: Any, h: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: lib.jvp(lib.grad(h), (x,), (x * x,))[1]


def _batch(lib: Any, h: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: lib.vmap(h)(x * (1 + 0.1 * x[:, None]))


NESTINGS: Final[dict[str, Nesting]] = {
    "value": lambda lib, h: h,
    "gradient": lambda lib, h: lib.jit(lib.grad(h)),
    "product": _directional,
    "forward over reverse": lambda lib, h: lib.jacfwd(lib.jacrev(h)),
    "reverse over forward": lambda lib, h: lib.jacrev(lib.jacfwd(h)),
    "third": lambda lib, h: lib.jacrev(lib.jacfwd(lib.jacrev(h))),
    "batch of gradients": lambda lib, h: _batch(lib, lib.grad(h)),
    "batch of matrices": lambda lib, h: lib.jit(_batch(lib, lib.jacfwd(lib.grad(h)))),
}


def agree(name: str, found: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Assert that results are equal but for rounding."""
    scale = 1 + np.max(np.abs(np.asarray(expected)), initial=0.0)
    np.testing.assert_allclose(
        np.asarray(found), np.asarray(expected), rtol=tolerance, atol=tolerance * scale,
        err_msg=name,
    )  # fmt: skip
