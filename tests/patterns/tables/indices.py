"""Indexing, selecting and assembling by index."""

from __future__ import annotations

from tests.patterns.pattern import Pattern, flags, integers, pattern, real
from tests.patterns.tables.calls import call

X = real(3, 4, 5)
N = integers(6, high=3)

INDICES = (
    "1", "-1, 2", "1:, ::2", "::-1, 3:0:-2", "..., 0", "None, 1, ..., None, 2", "1, ..., None",
    "[2, 0, 2, 2]", "[0, 2], [1, 1]", "[[0, 1], [2, 2]]", ":, [1, 1, 3]", "[0, 2], :, [1, 1]",
    "1, :, [0, 4]", "1:, [0, 1], [2, 2]", "..., [3, -1]", "[1], None, 2",
    "np.newaxis, [1, 1], ..., 0",
)  # fmt: skip

PATTERNS: list[Pattern] = [
    *(call(f"x[{index}]", X) for index in INDICES),
    call("x[x > 0]", X, batched=False),
    call("x[y]", X, flags(3, 4)),
    call("x[y, 1:]", X, flags(3, 4), large=(real(300, 100, 5), flags(300, 100))),
    call("x[y] * 1.0", real(3, 5), integers(4, 2)),
    call("x[np.nonzero(y)]", X, flags(3, 4, 5)),
    call("x[np.ix_([0, 2], [1, 3, 3])]", X),
    call("x.flat[3] * x", X, large=()),
    call("np.take(x, y)", X, N),
    call("np.take(x, y, axis=1)", X, N),
    call("np.take(x, y + 7, axis=0, mode='wrap')", X, N),
    call("np.take(x, y + 7, axis=0, mode='clip')", X, N),
    call("x.take(y, axis=-1)", X, N),
    call("np.take_along_axis(x, y, axis=1)", real(3, 4), integers(3, 2)),
    call("np.take_along_axis(x, y, axis=None)", real(6), integers(3)),
    call("np.take_along_axis(x, np.argsort(x, axis=1), axis=1)", real(3, 4)),
    call("np.choose(y, (x, x * x, 2 * x))", real(4), integers(4)),
    call("np.choose(y, (x, z, x * z), mode='wrap')", real(4), integers(4, high=9), real(4)),
    call("np.choose(y, (x, z, x * z), mode='clip')", real(4), integers(4, high=9), real(4)),
    call("np.compress([True, False, True], x, axis=1)", real(2, 3)),
    call("np.compress(y, x)", real(6), flags(6)),
    call("np.extract(y, x)", real(2, 3), flags(2, 3)),
    call("np.select([x > 1, x > 0], [x, y], default=-x)", real(3, 4), real(4)),
    call("np.select([x > 1, x > 0], [x**2, x], 3.0)", real(3, 4)),
    call("np.where(x > 0, x, y)", real(3, 4), real(4)),
    call("np.where(y, x, x * x)", real(3, 4), flags(4)),
    call("np.piecewise(x, [x < 0, x > 1], [-1.0, lambda t: t**2, lambda t: np.sin(t)])", real(7)),
    pattern(
        "piecewise with arguments",
        lambda np, x, a: np.piecewise(
            x, [x < 0], [lambda t, b, scale: t * b, lambda t, b, scale: t * scale], a, scale=2.0
        ),
        real(7),
        real(1),
        wrong="JAX: branches see whole arrays",
    ),
    call("np.apply_along_axis(lambda r: r.cumsum() * r[0], 1, x)", real(3, 4), large=()),
    call("np.apply_over_axes(np.sum, x, (0, 2))", X),
    call("np.diag_indices(3)[0] * x", real(3), large=()),
    call("x[np.tril_indices(3)] * x[np.triu_indices(3)]", real(3, 3)),
    call("x[np.unravel_index(y, x.shape)]", real(2, 3), integers(4)),
    call("np.stack([x[k] for k in range(3)])", real(3)),
    call("sum(r * k for k, r in enumerate(x))", real(3, 4), large=(real(10, 10_000),)),
    call("np.unique(x) ** 2", real(6), batched=False, wrong="JAX: zero"),
    call("np.unique(x, axis=0) ** 2", real(3, 2), batched=False, wrong="JAX: zero"),
    call("x[np.lexsort((x, y))]", real(6), integers(6)),
    call("np.flatnonzero(x > 0) * 1.0 + x[0]", real(6), batched=False),
    call("x[np.argwhere(y)[:, 0]]", real(6), flags(6)),
]
