"""Functions of shape and arrangement, and arrays made from traced values."""

from __future__ import annotations

from tests.patterns.pattern import Pattern, complex_, pattern, positive, real
from tests.patterns.tables.calls import call

X = real(2, 3, 4)
PAD_MODES = (
    "'edge'", "'reflect'", "'reflect', reflect_type='odd'", "'symmetric'",
    "'symmetric', reflect_type='odd'", "'wrap'", "'maximum'", "'minimum'", "'mean'", "'median'",
    "'maximum', stat_length=2", "'mean', stat_length=((1, 2), (2, 1))", "'linear_ramp'",
    "'linear_ramp', end_values=(0.5, -1.0)", "'constant', constant_values=((1.0, 2.0), (3.0, 4.0))",
)  # fmt: skip

PATTERNS: list[Pattern] = [
    call("np.reshape(x, x.shape[::-1])", X),
    call("np.reshape(x, x.shape[::-1], order='F')", X),
    call("np.reshape(x, shape=(-1,), copy=True)", X),
    call("x.reshape(-1, x.shape[1], order='F')", X),
    call("np.ravel(x)", X),
    call("np.ravel(x, order='F')", X),
    call("x.flatten('F')", X),
    call("np.transpose(x)", X),
    call("np.transpose(x, (1, 2, 0))", X),
    call("np.permute_dims(x, (2, 0, 1))", X),
    call("np.matrix_transpose(x)", X),
    call("np.swapaxes(x, 0, -1)", X),
    call("np.moveaxis(x, (0, 1), (-1, 0))", X),
    call("np.rollaxis(x, 2, 0)", X),
    call("np.expand_dims(x, (0, 2))", X),
    call("np.squeeze(x[None, :, None], axis=(0, 2))", X),
    call("np.squeeze(x[None])", X),
    call("np.atleast_1d(x.sum())", X),
    call("np.atleast_2d(x[0, 0], x)[0] * np.atleast_3d(x[0, 0]).ravel()", X),
    call("np.broadcast_to(x, (3, *x.shape))", X),
    call("np.broadcast_arrays(x, y)", real(3, 1), real(4), large=(real(300, 1), real(300))),
    call(
        "np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(1, -1))", X,
        large=(real(10, 100, 10),),
    ),
    call(
        "np.lib.stride_tricks.sliding_window_view(x, (2, 4, 2), axis=(0, 0, 1), writeable=False)",
        real(7, 2), large=(),
    ),
    *(
        call(f"np.{name}((x, y))", real(2, 3, 4), real(2, 3, 4))
        for name in ("concatenate", "concat", "stack", "vstack", "hstack", "dstack")
    ),
    call("np.concatenate((x, y, x), axis=1)", real(2, 3), real(2, 2)),
    call("np.concatenate((x, y), axis=None)", real(2, 3), real(4)),
    call("np.concatenate((x, y), axis=0, dtype=np.float64)", real(2, 3), real(4, 3)),
    call("np.stack((x, y, x), axis=-1)", real(2, 3), real(2, 3)),
    call("np.stack((x, y), axis=1, dtype='float64')", real(2, 3), real(2, 3)),
    call("np.column_stack((x, y))", real(3), real(3, 2)),
    call("np.block([[x, y], [y, x]])", real(2, 3), real(2, 3)),
    call("np.append(x, y)", real(2, 3), real(4)),
    call("np.append(x, y, axis=0)", real(2, 3), real(1, 3)),
    call("[a * k for k, a in enumerate(np.split(x, 2, axis=2))]", X),
    call("[a * k for k, a in enumerate(np.split(x, (1, 2)))]", real(4, 2)),
    call("[a * k for k, a in enumerate(np.array_split(x, 3, axis=-1))]", X),
    *(
        call(f"[a * k for k, a in enumerate(np.{name}(x, 2))]", real(2, 2, 2))
        for name in ("hsplit", "vsplit", "dsplit")
    ),
    call("[a * k for k, a in enumerate(np.unstack(x, axis=1))]", X, large=(real(100, 10, 100),)),
    call("np.tile(x, 2)", real(3)),
    call("np.tile(x, (2, 1, 3))", real(2, 3)),
    call("np.repeat(x, 3)", real(2, 3)),
    call("np.repeat(x, 2, axis=0)", real(2, 3)),
    call("np.repeat(x, [1, 0, 2], axis=1)", real(2, 3), large=(real(30_000, 3),)),
    *(call(f"np.pad(x, ((1, 2), (2, 1)), mode={mode})", real(3, 4)) for mode in PAD_MODES),
    call("np.pad(x, 1, mode='empty')[1:-1, 1:-1]", real(3, 4)),
    call("np.pad(x, 2)", real(3, 4)),
    call("np.pad(x, {0: (1, 2)}, mode='edge')", real(3, 4)),
    call("np.pad(x, 5, mode='reflect')", real(3)),
    call("np.flip(x)", X),
    call("np.flip(x, axis=(0, 2))", X),
    call("np.fliplr(x) * np.flipud(x)", X),
    call("np.rot90(x)", X),
    call("np.rot90(x, k=3, axes=(0, 2))", X),
    call("np.roll(x, 2)", X),
    call("np.roll(x, (1, -1), axis=(0, 2))", X),
    call("np.resize(x, (x.size + 5,))", X),
    call("np.meshgrid(x, y)", real(3), real(4), large=(real(300), real(300))),
    call("np.meshgrid(x, y, indexing='ij', sparse=True, copy=False)", real(3), real(4)),
    call("np.diag(x)", real(4), large=(real(300),)),
    call("np.diag(x, k=1)", real(4, 5)),
    call("np.diagflat(x, k=-1)", real(2, 2), large=(real(300),)),
    call("np.diagonal(x, offset=1, axis1=2, axis2=0)", X),
    call("x.diagonal(0, 1, 2)", X),
    call("np.trace(x)", real(4, 4, 2)),
    call("np.trace(x, offset=-1, axis1=1, axis2=2, dtype='float64')", X),
    call("np.tril(x, k=1)", X),
    call("np.triu(x, k=-1)", X),
    call("np.vander(x)", real(4), large=(real(300),)),
    call("np.vander(x, N=3, increasing=True)", real(4)),
    call("np.insert(x, 1, y)", real(4), real(1)),
    call(
        "np.insert(x, [1, 2], y, axis=1)", real(3, 4), real(3, 2),
        large=(real(300, 300), real(300, 2)),
    ),
    call("np.delete(x, 1)", real(4)),
    call("np.delete(x, slice(0, 2), axis=1)", real(3, 4)),
    call("np.delete(x, [0, 2], axis=0)", real(4, 2)),
    call("np.trim_zeros(np.where(np.abs(x) > 1, x, 0), 'fb')", real(7), batched=False),
    call("np.array_split(x, [1, 2])[1] * np.ones_like(x[:1])", real(4)),
    call("x.T * x.swapaxes(0, 2) + x.mT.sum()", real(3, 2, 3)),
    call("np.zeros_like(x) + np.ones_like(x, shape=(1, 4)) * x", X, large=(real(100, 250, 4),)),
    call("np.full_like(x, y)", X, real(4)),
    call("np.full_like(x, y, shape=(3, 2), dtype='float64')", X, real(2), large=()),
    call("np.sum(np.empty_like(x)[:0]) + x", X, batched=False, exact=False, large=()),
    call("np.linspace(x, y, 5)", real(3), real(3)),
    call("np.linspace(x, y, 5, endpoint=False, axis=-1, dtype='float64')", real(3), real(3)),
    call("np.linspace(x, y, 4, retstep=True)", real(3), real(3)),
    call("np.logspace(x, y, 5, base=z)", real(3), real(3), positive(3), exact=False),
    call("np.logspace(x, y, 4, endpoint=False, dtype='float64', axis=1)", real(3), real(3)),
    call("np.geomspace(x, y, 5)", positive(3), positive(3), exact=False),
    call("np.geomspace(x, y, 4, endpoint=False, axis=-1)", positive(3), positive(3), exact=False),
    call("np.concatenate((x, np.conj(x[::-1]) * 1j)).T", complex_(2, 3)),
    call("np.real(x) * np.imag(x) + x.conj().real", complex_(2, 3)),
    call("x.astype(np.float64, copy=True) * x.copy(order='F')", X),
    call("np.astype(x, np.float64) * np.copy(x)", X),
    call("x.astype(np.complex128) * (1 + 2j)", X),
    pattern(
        "ndarray methods",
        lambda np, x: (
            x.clip(-1, 1).sum(axis=0) * x.mean(axis=0)
            + x.max(axis=0)
            - x.min(axis=0) * x.std(axis=0)
            + x.var(axis=0, ddof=1) * x.prod(axis=0)
            + x.cumsum(axis=0)[1] * x.cumprod(axis=0)[1]
            + x.take([0], axis=0)[0]
            + x.repeat(2, axis=0)[3]
            + x.round(1)[0] * x.squeeze().ravel()[0]
            + x.trace()[:, None].T.sum()
            + x.dot(x[0, 0])[0, 0]
        ),
        real(3, 4, 4),
        exact=False,
        large=(),
    ),
]  # fmt: skip
