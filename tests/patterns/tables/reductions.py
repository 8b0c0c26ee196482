"""Reductions and order statistics, cumulative functions, differences: every keyword."""

from __future__ import annotations

from typing import Any

from tests.patterns.pattern import (
    Argument,
    Pattern,
    ascending,
    complex_,
    flags,
    integers,
    pattern,
    positive,
    real,
)

X = real(3, 4, 2)
SUMS = ("sum", "prod", "nansum", "nanprod")
MEANS = ("mean", "nanmean")
SPREADS = ("std", "var", "nanstd", "nanvar")
EXTREMA = ("max", "min", "amax", "amin", "nanmax", "nanmin")
MIDDLES = ("median", "nanmedian")
LEVELS = ("quantile", "nanquantile")
PERCENTILES = ("percentile", "nanpercentile")
CUMULATIVE = ("cumsum", "cumprod", "nancumsum", "nancumprod")
METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
)  # fmt: skip


def _call(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return a pattern whose name is the call itself, of `x` and `m` and so on."""
    names = ", ".join(("np", "x", "y", "z")[: 1 + len(arguments)])
    function = eval(f"lambda {names}: np.{text}", {"inf": float("inf")})
    return pattern(text, function, *arguments, **options)


def _keywords(names: tuple[str, ...], *endings: str, **options: Any) -> list[Pattern]:
    return [_call(f"{name}(x{ending})", X, **options) for name in names for ending in endings]


def _with_holes(text: str, *arguments: Argument, **options: Any) -> Pattern:
    """Return a pattern in which entries above 1.2 are NaN."""
    plain = eval(f"lambda np, x: np.{text}")
    return pattern(
        f"{text} with holes",
        lambda np, x: plain(np, np.where(x > 1.2, np.nan, x)),
        *(arguments or (X,)),
        **options,
    )


def _of_complex(name: str, **keywords: Any) -> Pattern:
    return pattern(
        f"{name} of complex numbers", lambda np, x: getattr(np, name)(x, **keywords), complex_(3, 4)
    )


AXES = ("", ", axis=1", ", axis=(0, 2)", ", axis=-1, keepdims=True")

PATTERNS: list[Pattern] = [
    *_keywords((*SUMS, *MEANS, *SPREADS, *EXTREMA, *MIDDLES), *AXES),
    *(_call(f"{name}(x, axis=1, initial=0.7)", X) for name in ("prod", "max", "min")),
    _call("sum(x, axis=1, initial=0.7)", X, exact=False),
    *(_call(f"{name}(x, axis=1, initial=0.7)", X, exact=False) for name in ("nansum", "nanprod")),
    *(_call(f"{name}(x, axis=1, initial=0.7)", X) for name in ("nanmax", "nanmin")),
    *(_call(f"{name}(x, where=y, axis=1)", X, flags(3, 4, 2)) for name in (*SUMS, *MEANS)),
    *(
        _call(f"{name}(x, where=y, axis=(0, 1))", X, flags(3, 4, 1))
        for name in (*SPREADS, "nanmean")
    ),
    *(
        _call(f"{name}(x, where=y, axis=1, initial={bound})", X, flags(3, 4, 2))
        for name, bound in (("max", "-inf"), ("min", "inf"), ("nanmax", "-inf"), ("nanmin", "inf"))
    ),
    *_keywords(("sum", "prod", "mean"), ", axis=0, dtype='float64'"),
    *_keywords(SPREADS, ", axis=1, ddof=1", ", correction=1", ", axis=1, dtype='float64'"),
    *(
        _call(f"{name}(x, axis=1, mean=x.mean(axis=1, keepdims=True))", X)
        for name in ("std", "var")
    ),
    *(
        _with_holes(f"{name}(x, axis=1)")
        for name in (
            "nansum", "nanprod", "nanmean", "nanstd", "nanvar", "nanmax", "nanmin", "nanmedian",
            "nancumsum", "nancumprod",
        )
    ),
    *(_with_holes(f"{name}(x, 0.3, axis=1)") for name in LEVELS[1:]),
    *(_with_holes(f"{name}(x, 30.0, axis=1)") for name in PERCENTILES[1:]),
    *(_of_complex(name) for name in ("sum", "prod", "mean", "std", "var", "median")),
    *(_of_complex(name, axis=1) for name in ("cumsum", "cumprod", "diff", "trapezoid")),
    *_keywords(("ptp",), *AXES),
    _call("average(x)", X),
    _call("average(x, axis=1, weights=y)", X, positive(4)),
    _call("average(x, axis=(0, 1), weights=y)", X, positive(3, 4)),
    _call("average(x, axis=1, weights=y, returned=True, keepdims=True)", X, positive(3, 4, 2)),
    *(_call(f"{name}(x, y, axis=1)", X, real(2, low=0.1, high=0.9)) for name in LEVELS),
    *(_call(f"{name}(x, y, axis=1)", X, real(2, low=11, high=88)) for name in PERCENTILES),
    *(_call(f"{name}(x, 0.3, axis=(0, 2), keepdims=True)", X) for name in LEVELS),
    *(_call(f"quantile(x, 0.37, axis=0, method='{method}')", real(7, 2)) for method in METHODS),
    *(_call(f"nanquantile(x, 0.37, axis=0, method='{method}')", real(7, 2)) for method in METHODS),
    *(_call(f"percentile(x, 37.0, method='{method}')", real(7)) for method in METHODS[6:9]),
    _call("quantile(x, 0.4, axis=0, method='inverted_cdf', weights=y)", real(7), positive(7)),
    _call("median(x, axis=1, overwrite_input=True)", X),
    *(_call(f"{name}(x)", X) for name in CUMULATIVE),
    *(_call(f"{name}(x, axis=1)", X) for name in CUMULATIVE),
    *(_call(f"{name}(x, axis=1, dtype='float64')", X) for name in CUMULATIVE),
    *(_call(f"{name}(x, axis=1)", X) for name in ("cumulative_sum", "cumulative_prod")),
    *(
        _call(f"{name}(x, axis=0, include_initial=True, dtype='float64')", X)
        for name in ("cumulative_sum", "cumulative_prod")
    ),
    _call("diff(x)", X),
    _call("diff(x, n=2, axis=1)", X),
    _call("diff(x, axis=1, prepend=0.5, append=y)", real(3, 4), real(3, 1)),
    _call("ediff1d(x)", real(6)),
    _call("ediff1d(x, to_end=y, to_begin=z)", real(6), real(2), real(1)),
    _call("gradient(x)", real(6)),
    _call("gradient(x, 0.5, edge_order=2)", real(6)),
    _call("gradient(x, y, edge_order=1)", real(6), ascending(6)),
    _call("gradient(x, y, edge_order=2, axis=0)", real(6, 3), ascending(6)),
    _call("gradient(x, 2.0, y)", real(5, 4), ascending(4)),
    _call("gradient(x, axis=(1, 0))", real(5, 4)),
    _call("trapezoid(x)", X),
    _call("trapezoid(x, y, axis=1)", real(3, 5), ascending(5)),
    _call("trapezoid(x, dx=0.3, axis=0)", X),
    _call("cov(x)", real(3, 6), exact=False),
    _call("cov(x, y)", real(6), real(6), exact=False),
    _call("cov(x, rowvar=False, bias=True)", real(6, 3), exact=False),
    _call("cov(x, ddof=0, fweights=y)", real(3, 6), integers(6, low=1, high=4), exact=False),
    _call("cov(x, aweights=y)", real(3, 6), positive(6), exact=False),
    _call("cov(x, dtype='float64')", real(3, 6), exact=False),
    pattern("cov of complex numbers", lambda np, x: np.cov(x), complex_(3, 6), exact=False),
    _call("corrcoef(x)", real(3, 6), exact=False),
    _call("corrcoef(x, y, rowvar=False)", real(6, 2), real(6, 1), exact=False),
    _call("corrcoef(x, dtype='float64')", real(3, 6), exact=False),
    _call("sort(x)", real(3, 5)),
    _call("sort(x, axis=0)", real(5, 3)),
    _call("sort(x, axis=None)", real(5, 3)),
    _call("sort(x, kind='stable')", real(7)),
    _call("sort(x, stable=True)", real(7)),
    _call("sort_complex(x)", complex_(5)),
    _call("partition(x, 2)", real(3, 6), wrong="JAX: another permutation"),
    _call("partition(x, (1, 3), axis=0)", real(6, 3)),
    pattern(
        "argsort, argmax, argmin, argpartition as indices",
        lambda np, x: (
            x[np.argsort(x)] * x[np.argmax(x)] - x[np.argmin(x)] * x[np.argpartition(x, 2)[2]]
        ),
        real(6),
    ),
    pattern(
        "argmax(axis, keepdims), argmin(axis, keepdims)",
        lambda np, x: (
            np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1)
            * np.take_along_axis(x, np.argmin(x, axis=1, keepdims=True), axis=1)
        ),
        real(3, 5),
    ),
    pattern("nanargmax, nanargmin", lambda np, x: x[np.nanargmax(x)] * x[np.nanargmin(x)], real(6)),
    pattern(
        "count_nonzero, any, all",
        lambda np, x: (
            x * np.count_nonzero(x > 0, axis=1, keepdims=True) * np.any(x > 1) + np.all(x > -3)
        ),
        real(3, 5),
    ),
    pattern(
        "searchsorted, digitize",
        lambda np, x, y: x * np.searchsorted(y, x) + x**2 * np.digitize(x, y),
        real(5, low=0.0, high=3.0), ascending(6), batched=False,
    ),
    _call("interp(x, y, z)", real(5, low=0.3, high=2.0), ascending(6), real(6)),
    pattern(
        "interp(left=, right=)", lambda np, x, xp, fp: np.interp(x, xp, fp, left=-1.0, right=2.0),
        real(5, low=-1.0, high=6.0), ascending(6), real(6),
    ),
    pattern(
        "interp(period=)", lambda np, x, xp, fp: np.interp(x, xp, fp, period=6.0),
        real(5, low=-8.0, high=9.0), ascending(6), real(6),
    ),
    _call("unwrap(x)", real(7, low=-6.0, high=6.0)),
    _call("unwrap(x, discont=2.0, axis=0, period=4.0)", real(7, 2, low=-6.0, high=6.0)),
    _call("add.reduce(x, axis=(0, 2), keepdims=True)", X),
    _call("multiply.reduce(x, axis=1)", X),
    _call("maximum.reduce(x, axis=None)", X),
    _call("minimum.reduce(x, axis=1)", X),
    _call("add.accumulate(x, axis=1)", X),
    _call("multiply.accumulate(x, axis=1)", X),
]  # fmt: skip
