"""Further ways to call what the other tables have: plain operands, scalars, edges, other axes.

The benchmark of costs leaves them out.
"""

from __future__ import annotations

from typing import Any

from tests.patterns.pattern import Argument, Pattern, ascending, complex_, flags, positive, real
from tests.patterns.tables.calls import call


def each(texts: str, *arguments: Argument, **options: Any) -> list[Pattern]:
    """Return the patterns of a text, one a line, which have the same arguments."""
    lines = [line.strip() for line in texts.strip().split("\n")]
    return [call(text, *arguments, large=(), **options) for text in lines]


A, B, C = real(2, 3, 4), real(2, 3, 4), real(2, 1, 4)
M, V, W, S = real(3, 5), real(5), real(5), real()

SHAPES = [
    *each("""
        np.reshape(x, -1)
        np.reshape(x[:0], (0, 7))
        x.reshape(2, 12) + x.reshape((2, 12), order='F')
        x.flatten()
        np.transpose(x, (-1, 0, -2))
        x.transpose(2, 0, 1)
        np.moveaxis(x, 0, -1)
        np.rollaxis(x, 0, 3)
        np.rollaxis(x, 2, -2)
        np.expand_dims(x, 1)
        np.expand_dims(x, (0, -1))
        np.squeeze(x[:, :1], 1)
        x[None, :, :1].squeeze((0, 2))
        np.broadcast_to(x[:1], (2, 3, 4))
        np.broadcast_arrays(x[:1], x, 2.0)
        np.astype(x, np.complex128).astype(complex)
        np.resize(x, 3)
        np.diagonal(x)
        x.diagonal(1, 2, 0)
        x.trace(-1, 1, 2)
        np.tril(x, -1)
        np.triu(x)
        np.rot90(x, -1, axes=(1, 2))
        np.roll(x, -4, axis=1)
        np.roll(x, 1, axis=(1, 1))
        np.tile(x, (2,))
        x.repeat(2, axis=-1)
        np.flip(x, (0, -1))
    """, A),
    *each("""
        np.atleast_1d(x, y, 1.0)
        np.atleast_2d(x, y, y[0])
        np.atleast_3d(x, y[0, 0], y[0])
        np.ravel(x) + y
    """, S, A),
    *each("""
        np.ravel(x, 'K')
        np.flipud(x)
        np.resize(x, (3, 7))
        np.roll(x, 5)
        np.vander(x, N=1)
        np.tril(x)
        np.hsplit(x, 5)
        np.split(x, [2, 7, 9])
        np.array_split(x, 3)
        np.append(x, 1.0)
        np.insert(x, np.array([True, False, False, True, False]), 2)
        np.delete(x, slice(None, None, 2))
        np.diagflat(x, 1)
        np.piecewise(x, x > 0, [np.exp, np.sin])
        np.apply_along_axis(np.cumsum, 0, x)
        np.take(x, [7, -9, 3], mode='wrap')
        np.take(x, [7, -9, 3], axis=0, mode='clip')
        np.take(x, [])
        np.take(x, [True, False])
        np.take(x, np.argsort(x))
        np.take(x, [1, 1], out=np.zeros_like(x[:2]))
        np.pad(x, (13, 8), 'reflect')
        np.pad(x, (13, 8), 'symmetric')
        np.pad(x, (13, 8), 'wrap')
        np.pad(x[:3], (13, 8), 'reflect', reflect_type='odd')
        np.pad(x[:3], (13, 8), 'symmetric', reflect_type='odd')
    """, V),
    *each("\n".join(f"np.diag(x, {k})" for k in (2, -1, 5, -5, 9, -9)), V),
    *each("\n".join(f"np.diag(x[:1], {k})" for k in (3, -3, 0)), V),
    *each("\n".join(f"np.diag(x, k={k})" for k in (-2, -7, 7)), M),
    *each("""
        np.rot90(x, 2)
        np.rot90(x, 4)
        np.repeat(x, [2, 0, 1], axis=0)
        np.triu(x, k=2)
        np.diagflat(x[:2, :2], 1)
        np.pad(x, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4)))
        np.pad(x, {-1: (1, 2)})
        np.pad(x[:0], 2)
        np.pad(x, ((1, 2), (2, 3)), 'linear_ramp', end_values=((5, -4), (0.5, 1)))
        np.pad(x, 2, 'mean', stat_length=((1, 2), (3, 9)))
        np.pad(x[:1, :3], 2, 'reflect', reflect_type='odd')
    """, M),
    *each("""
        np.meshgrid(x, y, [1.0, 2.0])
        np.meshgrid(x, y, indexing='ij')
        np.concatenate((x, y), out=np.zeros_like(np.tile(x, 2)))
        np.hstack((x, y))
        np.dstack((x, y))
        np.column_stack((x, y, np.ones((5, 2))))
        np.block([x, y, 1.0])
        np.stack([x[0], y[1]])
        np.insert(x, [1, 3, 3, 0, 5], y)
        np.insert(x, slice(1, 4), y[:3])
        np.choose([[0], [1], [2]], [x, y, 1.0])
        (x > 0).astype(int).choose([x, y])
    """, V, W),
    *each("""
        np.trim_zeros(np.where([0, 0, 1, 0, 1, 0], x, 0))
        np.trim_zeros(np.where([0, 0, 1, 0, 1, 0], x, 0), 'f')
        np.trim_zeros(np.where([0, 0, 1, 0, 1, 0], x, 0), trim='B')
        np.trim_zeros(0 * x)
        np.trim_zeros(0 * x, 'B')
        np.trim_zeros(0 * x, 'f')
    """, real(6), batched=False),
    *each("""
        np.concatenate((x, y, np.ones((1, 3, 4))))
        np.concatenate((x, y), dtype=np.complex128)
        np.block([[x[0], y[0]], [np.ones((3, 4)), x[1]]])
        np.insert(x, 1, y[:, :, 0], axis=2)
        np.where([[1.0], [0.0], [2.0]], x, y)
        np.select([x > 0.5, x < -0.5], [x, y], default=7)
        np.select([x > 0, x > -1], [x * y, 2.0])
    """, A, B),
    *each("""
        np.concatenate([x, y], axis=-2)
        np.hstack((x, y)) * 1.0
        np.append(x, y, axis=1)
        np.insert(x, [0, 2], y, axis=1)
    """, A, C),
    *each("""
        np.concatenate(x)
        np.block(x)
        np.array_split(x, (1, -1), -1)
        np.dsplit(x, [1])
        np.hsplit(x, 3)
        np.insert(x, 1, 5.0)
        np.delete(x, 3)
        np.delete(x, [0, -1], axis=1)
        np.where([True, False, True, True], x, 1)
        np.piecewise(x, [x > 0], [lambda u, k: u * k], 3.0)
        np.take(x, [[0, 2], [-1, 0]], axis=1)
        np.take(x, [0, 5, 5, -1])
        x.take(1, axis=-1)
        np.take_along_axis(x, np.array([[[3, 3, 0]]]), -1)
        np.take_along_axis(x[:1], np.ones((2, 2, 4), int), 1)
        np.take_along_axis(x, np.array([1, -1]), None)
        x[np.ix_([0, 1], [True, False, True], [3, 0])]
        np.apply_along_axis(lambda v: v * v.sum(), 1, x)
        np.apply_along_axis(np.sum, 0, x)
        np.apply_along_axis(lambda v: [v, v**2], 1, x)
        np.apply_along_axis(lambda v, k, s: v[k] * s, -1, x, 2, s=3.0)
    """, A),
    *each("""
        np.delete(x[0, 0], x[0, 0] > 0)
        x[np.where(x > 0)]
        x[(x > 0).nonzero()]
        (np.argwhere(x > 0), x)
        np.ravel(x)[np.flatnonzero(x > 0)]
        x.compress(np.ravel(x) > 0)
        np.extract(x > 0, x)
    """, A, batched=False),
    *each("np.piecewise(x, x > 0, [lambda u: u * u, 1.0])", S),
]  # fmt: skip

ALONG = [
    *each("""
        np.round(x, 2)
        np.round(x, decimals=-1)
        x.round(1)
        np.clip(x, min=-0.4)
        np.clip(x, a_min=-0.4, a_max=None)
        np.clip(x, 5, -5)
        np.unwrap(x[:0], axis=0)
        np.real_if_close(x + 0j * x)
        x.cumsum(2) * x.cumprod(0)
        np.add.accumulate(x)
        np.multiply.accumulate(x, -1)
        np.diff(x, axis=1, prepend=0, append=x[:, :2])
        np.ediff1d(x, to_begin=[1, 2], to_end=x[0, 0])
        np.gradient(x)
        np.gradient(x, 0.5, axis=(0, 2))
        np.gradient(x, [1.0, 2, 4], axis=1, edge_order=2)
        np.gradient(x, np.arange(4), axis=2, edge_order=2)
        np.std(x, axis=(0, 1), correction=1.5, keepdims=True)
        np.average(x, axis=2, weights=[1, 2, 3, 4])
        np.average(x, axis=1, returned=True, keepdims=True)
        x.mean() + x.std(0) + x.var(axis=-1, keepdims=True)
        np.percentile(x, [5, 50.0, 99])
        np.percentile(x, 40, axis=(0, 2), keepdims=True)
        np.nanpercentile(x, [20.0, 70], axis=1)
        np.quantile(x, [0.2, 0.9], axis=1, method='inverted_cdf', weights=[0.0, 2, 1])
        np.sum(x, axis=(0, 2), where=x > 0, keepdims=True)
        np.min(x, axis=(0, 1), initial=9, where=[True, False, True, True])
        np.nanmax(x, axis=0, initial=0.1, where=x < 1)
        np.add.reduce(x, -1, None, None, True)
        np.maximum.reduce(x, axis=None, dtype=None)
        np.fmax.reduce(x)
        np.fmin.reduce(x)
        x.prod(axis=-1, keepdims=True)
        x.max() - x.min(0)
    """, A, exact=True),
    *each("np.trapezoid(x, np.cumsum(np.abs(y), axis=1), axis=1)", A, B),
    *each("""
        np.sum(x, axis=1, initial=y)
        np.prod(x, axis=1, initial=y)
        np.max(x, axis=1, initial=y)
        np.min(x, axis=1, initial=y)
    """, A, S, exact=False),
    *each("np.minimum.reduce(x, axis=1, initial=0.1, where=y)", A, flags(2, 3, 4)),
    *each("""
        np.gradient(x, y, axis=2)
        np.gradient(x, y, axis=-1, edge_order=2)
        np.gradient(x, 0.5, 2, y, edge_order=1)
        np.gradient(x, y[0] ** 2, edge_order=2)
        np.trapezoid(x, y)
        np.trapezoid(x, dx=y[1], axis=0)
        np.diff(x, prepend=y[0], append=x[..., :1])
    """, real(3, 4, 5), ascending(5), exact=False),
    *each("""
        np.average(x, axis=(2, 0), weights=y)
        np.average(x, axis=(2, 0), weights=y, returned=True)
    """, real(3, 4, 5), positive(5, 3)),
    *each("np.nanquantile(x, 0.4, axis=0, method='inverted_cdf', weights=y)", A, positive(2, 3, 4)),
    *each("""
        np.cov(x[0])
        np.cov(x[0], x[1], ddof=0)
        np.cov(x, fweights=[1, 2, 1, 3, 1, 2], aweights=y, ddof=2)
        np.corrcoef(x[0], x[1], rowvar=False)
    """, real(4, 6), positive(6), exact=False),
    *each("""
        np.corrcoef(x * x)
        np.gradient(x, axis=1)
        np.average(x, axis=1)
        np.round(x, 2) * 1.0
        np.max(x, axis=1)
    """, complex_(3, 4), exact=False),
    *each("""
        np.linspace(x, y, 7, endpoint=False)
        np.linspace(x, y, 1)
        np.linspace(x, y, 0)
        np.linspace(x, x, 4)
        np.linspace(2, y[0], 4)
        np.logspace(x, 0.5, 5, base=2)
        np.logspace(x[0], y[1], 5, endpoint=False, base=y[0] ** 2 + 1)
        np.logspace(x, y, 5, base=np.array([2.0, 3, 4]), axis=1)
    """, real(3), positive(3), exact=False),
    *each("""
        np.full_like(x, x[1]) * x
        np.full_like(x, x, shape=(2, 5))
        np.zeros(3, like=x) + x[0]
        np.full((2, 5), x, like=x)
        np.eye(2, like=x) * x[0]
        np.asarray(x, like=x) * 2
        np.array([x[0], 2, x[1] * x[2]], like=x)
        np.array([[x, 2 * x], [x**2, np.ones(5)]], like=x)
        np.array([x[0], 1j], like=x)
        np.array(x[0], ndmin=2, dtype=complex, like=x)
        np.asarray((x[0], (x[1])), like=x)
        np.array([[1, 2], [3, 4]], like=x) * x[0]
    """, V),
]  # fmt: skip

CONTRACTED: dict[tuple[Argument, ...], str] = {
    (real(2, 3),): "ba ij-> ij->j",
    (real(2, 2),): "ii",
    (real(2, 2, 3),): "iij->ji i...->... ...",
    (real(2, 2, 2),): "iii->i",
    (real(3), real(3)): "i,i i,j i,j->ji",
    (real(2, 3), real(3, 4)): "ij,jk ij,jk->ki ij,kl->",
    (real(2, 2), real(2, 3)): "ii,ij->j",
    (real(2, 3), real(2, 3)): "ij,ij->ij",
    (real(1, 3), real(2, 3)): "ij,ij->ij",
    (real(2, 3), real(3, 4), real(4, 2)): "ij,jk,kl->il ij,jk,ki",
    (real(2), real(2, 3), real(2, 3, 2)): "a,ab,abc->abc",
    (real(2, 4, 3), real(3)): "...ij,...j i...j,j->...i ...,...",
    (real(1, 4, 3), real(2, 3, 2)): "bij,bjk->bik",
    (real(2, 3), complex_(3, 2)): "ij,jk->ik",
}
"""Subscripts of `einsum`, by what they are of."""

PRODUCTS = [
    *(
        call(f"np.einsum('{subscripts}', {', '.join('xyz'[: len(xs)])})" + " * 1.0" * k, *xs,
             large=(), exact=False)
        for k, (xs, table) in enumerate(CONTRACTED.items())
        for subscripts in table.split()
    ),
    *each("""
        x @ y
        np.inner(x, y)
        np.outer(x, y, out=1j * np.zeros_like(x[:, None] * y))
        np.kron(x[0], y)
        np.cross(x, y)
    """, real(3), real(3), exact=False),
    *each("""
        np.matmul(x, y)
        np.vecmat(x, y)
        np.outer(y, x)
        np.multiply.outer(x, y)
        np.tensordot(x, y, axes=0)
        np.kron(x, y)
        np.dot(y.T, x, out=np.zeros_like(y.T @ x))
    """, real(3), real(3, 4), exact=False),
    *each("""
        np.dot(x, y.T)
        np.inner(x, y[0])
        np.matvec(x, y)
        np.matvec(x, y[0])
        np.vecdot(x[0], y[0])
        np.kron(x, y[0])
        np.tensordot(x, y, axes=(-1, -1))
        np.cross(x, y[0], axisa=2, axisc=0)
        np.polyval(y[0], x)
    """, real(2, 4, 3), real(2, 3), exact=False),
    *each("""
        np.matmul(x, y) * 1.0
        x.dot(y)
        np.tensordot(x, y, axes=1)
    """, real(2, 4, 3), real(3, 5), exact=False),
    *each("""
        np.tensordot(x, y, axes=([2, 0], [1, 2]))
        np.tensordot(x, y, axes=(-1, -2))
    """, real(2, 4, 3), real(5, 3, 2), exact=False),
    *each("""
        np.matmul(x, y) * 2.0
        np.vdot(x.real, y)
        np.vecdot(x, y.T)
    """, complex_(2, 3), real(3, 2), exact=False),
    *each("""
        np.inner(x, 2.0)
        np.polyval([1, 2, 3], x)
        np.polyval(x[0], 2)
        np.einsum('ij,jk,kl,ml->im', x, x.T, x, x, optimize='optimal')
        np.einsum('ij,jk,k->i', x, x.T, x[:, 0], optimize=['einsum_path', (1, 2), (0, 1)])
        np.einsum(x, [..., 1, 2], x, [..., 3, 2], [..., 3, 1])
        np.einsum('ij->i', x, dtype=complex)
        np.einsum('ij,kj', x, x, out=np.zeros_like(x @ x.T))
        np.einsum(x, [0, 1], x.T, [1, 2])
    """, real(2, 3), exact=False),
    *each("np.dot(y, x)\nnp.kron(y, x)", real(2, 3), S, exact=False),
]  # fmt: skip

PATTERNS: list[Pattern] = [*SHAPES, *ALONG, *PRODUCTS]
