"""Keywords that the tables by family leave out, histograms, sets, positions and fits."""

from __future__ import annotations

from typing import Any

from tests.patterns.pattern import Argument, Pattern, ascending, flags, integers, positive, real
from tests.patterns.tables.calls import call

X, M = real(3, 4), flags(3, 4)


def small(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return a pattern that the benchmark of costs leaves out."""
    options.setdefault("large", ())
    return call(text, *arguments, **options)


PATTERNS: list[Pattern] = [
    # numbers and flags, as factors
    small("x * np.size(x, axis=1)", X),
    small("x * np.all(x > -3, axis=1, keepdims=True, where=y)", X, M),
    small("x * np.any(x > 1, axis=0, keepdims=True, where=y)", X, M),
    small("x * np.count_nonzero(x > 0, axis=1, keepdims=True)", X),
    small("x * np.argmax(x, axis=1, keepdims=True)", X),
    small("x * np.argmin(x, axis=1, keepdims=True)", X),
    small("x * np.nanargmax(x, axis=1, keepdims=True)", X),
    small("x * np.nanargmin(x, axis=1, keepdims=True)", X),
    small("x * np.isclose(x, x + 0.1, rtol=0.1, atol=0.01, equal_nan=True)", X),
    small("x * np.allclose(x, x + 0.1, rtol=0.1, atol=0.01, equal_nan=True)", X, batched=False),
    small("x * np.array_equal(x, x, equal_nan=True)", X, batched=False),
    small("x * np.can_cast(x.dtype, 'float32', casting='same_kind')", X),
    small("x * np.may_share_memory(x, x[1:], max_work=1)", X),
    small("x * np.shares_memory(x[::2], x[1::2], max_work=9)", X),
    small("x * np.linalg.matrix_rank(x @ x.T, hermitian=True)", X, exact=False),
    small("x * np.isin(y, [0, 1], assume_unique=False, invert=True, kind='sort')",
          X, integers(3, 4)),
    small("x * np.searchsorted(y, x, side='right', sorter=np.arange(4))",
          real(3, low=0.3, high=2.0), ascending(4), batched=False),
    small("x * np.digitize(x, y, right=True)",
          real(3, low=0.3, high=2.0), ascending(4), batched=False),
    *(
        small(f"x * np.digitize(x, np.sort(x)[::{step}], right={right})", real(5), batched=False)
        for step, right in ((1, True), (-1, False), (-1, True))  # each value meets an edge
    ),
    # positions
    small("np.take_along_axis(x, np.argsort(x, axis=1, kind='stable', stable=None), 1)", X),
    small("np.take_along_axis(x, np.argsort(x, axis=1, stable=True), 1)", X),
    small("np.take_along_axis(x, np.argpartition(x, 2, axis=1, kind='introselect'), 1)", X),
    small("x[np.lexsort((y, y), axis=0)]", real(3), integers(3)),
    small("np.partition(x, 1, axis=1, kind='introselect')", X),
    small("x[np.tril_indices_from(x, k=1)] * x[np.triu_indices_from(x, k=-1)][0]", X),
    small("x[np.unravel_index([1, 5], (3, 4), order='F')]", X),
    small("x.ravel()[np.ravel_multi_index(([0, 4], [1, -2]), (3, 4), mode='wrap', order='F')]", X),
    # arrays made of traced ones
    *(
        small(f"np.{name}(x, dtype='float64', order='C', shape=(3, 4)) * x", X)
        for name in ("zeros_like", "ones_like")
    ),
    small("np.where(True, x, np.empty_like(x, dtype='float64', order='C', shape=(3, 4)))", X),
    small("np.full_like(x, y[0], order='C')", X, real(2)),
    small("np.copy(x, order='C') * np.astype(x, 'float64', copy=True)", X),
    small("x * np.tri(3, M=4, k=1, dtype='float64')", X),
    small("np.geomspace(x, y, 3, dtype='float64')", positive(3), positive(3), exact=False),
    # shape and arithmetic
    small("np.linalg.trace(x, dtype='float64')", real(3, 3)),
    small("np.concatenate((x, y), axis=0, dtype='float64', casting='safe')", X, X),
    small("np.stack((x, y), axis=0, dtype='float64', casting='safe')", X, X),
    small("np.vstack((x, y), dtype='float64', casting='safe')", X, X),
    small("np.hstack((x, y), dtype='float64', casting='safe')", X, X),
    small("np.fft.fftshift(x, axes=1) * np.fft.ifftshift(x, axes=(0,))", X),
    small("np.clip(x, min=y, max=1.0)", X, real(4, low=-2.0, high=-1.0)),
    small("np.clip(x, a_min=-1.0, a_max=1.0)", X),
    small("x * np.around(x, decimals=1)", X),
    small("np.nan_to_num(x, copy=True, nan=1.0, posinf=2.0, neginf=3.0)", X),
    small("np.real_if_close(x, tol=10)", X),
    small("np.interp(x, y, z, left=-1.0, right=2.0)",
          real(5, low=-1.0, high=6.0), ascending(6), real(6)),
    small("np.interp(x, y, z, period=6.0)", real(5, low=-8.0, high=9.0), ascending(6), real(6)),
    # reductions
    *(
        small(f"np.{name}(x, axis=1, initial={start}, where=y)", X, M)
        for name, start in (("amax", "-9.0"), ("amin", "9.0"))
    ),
    *(
        small(f"np.{name}(x, axis=1, dtype='float64')", X)
        for name in ("nansum", "nanprod", "nanmean")
    ),
    *(
        small(f"np.{name}(x, axis=1, mean=np.mean(x, axis=1, keepdims=True))", X)
        for name in ("nanvar", "nanstd")
    ),
    small("np.nanmedian(x, axis=1, overwrite_input=True)", X),
    *(
        small(f"np.{name}(x, {q}, axis=1, overwrite_input=True, method='hazen', keepdims=True)", X)
        for name, q in (("quantile", 0.3), ("nanquantile", 0.3), ("percentile", 30.0),
                        ("nanpercentile", 30.0))
    ),
    *(
        small(f"np.{name}(x, {q}, axis=0, method='inverted_cdf', weights=y)",
              real(7), positive(7))
        for name, q in (("nanquantile", 0.4), ("percentile", 40.0), ("nanpercentile", 40.0))
    ),
    # histograms and sets
    small("np.bincount(y, weights=x, minlength=5)", real(6), integers(6)),
    *(
        small(f"np.histogram(y, bins=3, range=(0, 3), weights=x, density={density})[0]",
              positive(6), integers(6), exact=False)
        for density in (False, True)
    ),
    small("np.histogram2d(y, y, bins=3, range=((0, 3), (0, 3)), weights=x, density=True)[0]",
          positive(6), integers(6), exact=False),
    small("np.histogramdd((y, y), bins=3, range=((0, 3), (0, 3)), weights=x, density=True)[0]",
          positive(6), integers(6), exact=False),
    small("np.histogram_bin_edges(x, bins=3, range=(-3, 3), weights=None) * x[0]", real(6)),
    small("np.unique(x, return_index=True, return_inverse=True, return_counts=True, "
          "equal_nan=False)[0] ** 2", real(6), batched=False),
    small("np.unique_values(x) ** 2", real(6), batched=False),
    small("np.intersect1d(x, x[2:], assume_unique=True, return_indices=True)[0] ** 2",
          real(6), batched=False),
    small("np.setdiff1d(x, x[2:], assume_unique=True) ** 2", real(6), batched=False),
    small("np.setxor1d(x, x[2:], assume_unique=True) ** 2", real(6), batched=False),
    small("np.union1d(x, y) ** 2", real(4), real(3), batched=False),
    small("np.trim_zeros(x, trim='fb', axis=0)", real(6), batched=False),
    # polynomials
    small("np.poly(x)", real(3, 3), batched=False, exact=False),
    small("np.polyfit(x, y, 2, rcond=1e-9, full=True)[:2]", real(7), real(7), exact=False),
    small("np.polyfit(x, y, 1, w=z, cov=True)", real(7), real(7), positive(7), exact=False),
    small("np.polyfit(x, y, 1, w=z, cov='unscaled')", real(7), real(7), positive(7), exact=False),
]  # fmt: skip
