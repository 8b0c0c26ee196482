"""Statistics of samples: mostly SciPy's own code, which is elementary, on traced arrays."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import is_known_to_hold
from funcdiff.errors import user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_traced
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy import special
from funcdiff.scipy.array_api import is_lazy_array
from funcdiff.scipy.borrowed import borrow_functions, copy_of, define
from funcdiff.scipy.covered import (
    cover,
    covers,
    load,
    refusal,
    table,
    unsupported,
    without_delegation,
)
from funcdiff.scipy.places import Private, place, requirements_of

_STATS: Final = "scipy.stats"
_stats: Any = Private("scipy.stats._stats_py")
_policy: Any = Private("scipy.stats._axis_nan_policy")
_OF_SAMPLES: Final = (
    "boxcox_llf circmean circstd circvar differential_entropy directional_stats "
    "energy_distance entropy false_discovery_control gmean gstd gzscore hmean iqr kstat kstatvar "
    "kurtosis lmoment median_abs_deviation moment obrientransform quantile "
    "scoreatpercentile sem skew tmax tmean tmin trim1 trimboth tsem tstd tvar variation "
    "wasserstein_distance yeojohnson_llf zmap zscore"
)
_TESTS: Final = (
    "alexandergovern bartlett chi2_contingency chisquare combine_pvalues f_oneway jarque_bera "
    "kurtosistest levene normaltest pearsonr pointbiserialr power_divergence skewtest "
    "ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel"
)

# ---- values that are not a number ----------------------------------------------------------------


def _contains_nan(a: Any, nan_policy: str = "propagate", **options: Any) -> Any:
    """Return whether there are any, False where nobody knows: then they propagate by themselves."""
    if nan_policy == "propagate" and is_lazy_array(a):
        return False
    return copy_of(place("scipy._lib._util", "_contains_nan"))(a, nan_policy, **options)


covers("scipy._lib._util")(_contains_nan)
with requirements_of(_STATS, f"{_OF_SAMPLES} {_TESTS}"):
    cover("scipy.stats._axis_nan_policy", "_broadcast_shapes", _policy._broadcast_shapes)
    define(
        "scipy.stats._axis_nan_policy",
        is_lazy_array=lambda _a: False,  # `_contains_nan` is all that looks at values
        _contains_nan=_contains_nan,
    )

    _at: Any = copy_of(place("scipy._external.array_api_extra._lib._at", "at"))
    _plain_op: Any = _at._op

    def _op(self: Any, kind: Any, change: Any, other: Any, y: Any, /, *, copy: Any, xp: Any) -> Any:
        """Return ``x`` after ``x[mask] = y``, where no traced number is written to."""
        x: Any = self._x
        mask: Any = self._idx
        if not is_traced(x) or np.ndim(x) or mask is ...:
            return _plain_op(self, kind, change, other, y, copy=copy, xp=xp)
        changed = y if change is None else change(x, y)
        chosen: Any = np.where(mask, changed, x)
        return chosen.astype(x.dtype)

    _at._op = _op

with requirements_of(_STATS, "pearsonr"):

    class PearsonRResult(_stats.PearsonRResult):  # type: ignore[misc]
        """SciPy's result, whose interval takes traced arrays, too."""

        confidence_interval = copy_of(_stats.PearsonRResult.confidence_interval)

    define("scipy.stats._stats_py", PearsonRResult=PearsonRResult)

# ---- SciPy's own code ----------------------------------------------------------------------------

borrow_functions(_STATS, _OF_SAMPLES)
borrow_functions(_STATS, _TESTS, note="A permutation or Monte Carlo test, method=, is refused.")
borrow_functions(
    _STATS,
    "boxcox yeojohnson",
    note="The exponent is to be given: without it, it maximises a likelihood by a search.",
)

# ---- what SciPy's code decides by values ---------------------------------------------------------


def _refusing_search(name: str) -> Any:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise refusal(_STATS, name)

    return refuse


def _transform(x: Any, lmbda: Any, xp: Any = None) -> Any:
    """Return Yeo and Johnson's transform, of which each half is one of Box and Cox."""
    above = x >= 0
    upper = special.boxcox1p(np.where(above, x, 0), lmbda)
    return np.where(above, upper, -special.boxcox1p(np.where(above, 0, -x), 2 - lmbda))


with requirements_of(_STATS, "boxcox yeojohnson yeojohnson_llf"):
    define(
        "scipy.stats._morestats",
        boxcox_normmax=_refusing_search("boxcox_normmax"),
        yeojohnson_normmax=_refusing_search("yeojohnson_normmax"),
        _yeojohnson_transform=_transform,
    )


@covers(_STATS)
def trim_mean(a: Any, proportiontocut: Any, axis: Any = 0, **options: Any) -> Any:
    """Return the mean of the middle part; every entry of that has the same share.

    Values that are not a number propagate also where nobody knows that there are any.
    """
    plain = load(_STATS).trim_mean
    found = copy_of(plain)(a, proportiontocut, axis, **options)
    if not is_lazy_array(a):
        return found
    return np.where(
        np.any(np.isnan(a), axis, keepdims=options.get("keepdims", False)), np.nan, found
    )


@covers(_STATS, note="With nan_policy='omit', of one axis or of all.")
def describe(
    a: Any, axis: int | None = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate"
) -> Any:
    """Return number, extremes and moments; of what is a number only, SciPy's are masked arrays."""
    if nan_policy == "omit":
        a = np.ravel(a) if axis is None or np.ndim(a) == 0 else array(a)
        if a.ndim > 1:
            raise unsupported(
                "scipy.stats.describe with nan_policy='omit'",
                "It returns masked arrays. Describe x[~np.isnan(x)] for each column x, "
                "or use np.nanmean, np.nanvar and others.",
            )
        a, axis, nan_policy = a[~np.isnan(a)], 0, "propagate"
    return copy_of(without_delegation(_stats.describe))(a, axis, ddof, bias, nan_policy)


borrow_functions(_STATS, "pmean")
mean_of_known_power: Any = table[_STATS]["pmean"]
"""SciPy's own code, which branches at p = 0."""


@covers(_STATS)
def pmean(a: Any, p: Any, *, axis: Any = 0, dtype: Any = None, **options: Any) -> Any:
    """Return the power mean (E[aᵖ])^(1/p), which is smooth in p.

    Near p = 0 its logarithm is the series of cumulants of ln a: κ₁ + κ₂p/2 + κ₃p²/6 + ...
    """
    if not is_traced(p) or np.ndim(p):
        return mean_of_known_power(a, p, axis=axis, dtype=dtype, **options)
    if is_known_to_hold(lambda: np.isinf(p)):
        raise NotImplementedError(f"Power mean only for finite `p`, at {user_location()}")
    a = array(a)
    a = a.astype(dtype or np.result_type(a.dtype, np.float32))
    mean = partial(copy_of(_stats._xp_mean), axis=axis, **options)
    near, zero = np.abs(p) < 0.01, a == 0
    q = np.where(near, 1.0, p).astype(a.dtype)
    far = mean(np.where(a < 0, np.nan, a) ** q) ** (1 / q)
    logarithm = np.log(np.where(zero, 1.0, a))
    gap = logarithm - mean(logarithm, keepdims=True)
    second, third, fourth, fifth = (mean(gap**k) for k in range(2, 6))
    series = second / 2 + p * (
        third / 6 + p * ((fourth - 3 * second**2) / 24 + p * (fifth - 10 * second * third) / 120)
    )
    some = mean(zero.astype(a.dtype)) > 0
    close = np.where(some, 0.0, np.exp(mean(logarithm) + p * series))
    found: Any = np.where(near, close, far)
    return found.astype(a.dtype)


@covers(_STATS)
def expectile(a: Any, alpha: Any = 0.5, *, weights: Any = None) -> Any:
    """Return the mean with weights α above it and 1 - α below it.

    An entry is below if there the weighted sum of what is above is no smaller than that of what is
    below, which falls along the axis.  Where that is, is a constant.
    """
    if not 0 <= alpha <= 1:
        raise ValueError("The expectile level alpha must be in the range [0, 1].")
    a = np.ravel(a)
    shares = np.ones(a.shape) if weights is None else np.ravel(np.broadcast_to(weights, a.shape))
    gaps = a[:, None] - a
    sides = np.where(gaps > 0, alpha, 1 - alpha)
    below = np.sum(shares[:, None] * sides * gaps, axis=0) >= 0
    w = shares * np.where(below, 1 - alpha, alpha)
    return np.sum(w * a) / np.sum(w)


def _siegel_line(y: Any, x: Any, method: str) -> tuple[Any, Any]:
    """Return Siegel's slope and intercept."""
    dx, dy = x[:, None] - x, y[:, None] - y
    counts = dx != 0
    medians = np.nanmedian(np.where(counts, dy / dx, np.nan), axis=1)
    slope = np.median(medians)
    if method == "hierarchical":
        return slope, np.median(y - slope * x)
    cuts = np.where(counts, (y * x[:, None] - y[:, None] * x) / dx, np.nan)
    return slope, np.median(np.nanmedian(cuts, axis=1))


with requirements_of(_STATS, "siegelslopes"):
    define("scipy.stats._stats_mstats_common", siegelslopes_pythran=_siegel_line)
borrow_functions(_STATS, "siegelslopes")


def _policies(*args: Any, **options: Any) -> Any:
    """Return SciPy's decorator, which gives functions of samples axis=, nan_policy=, keepdims=."""
    return copy_of(_policy._axis_nan_policy_factory)(*args, **options)


def _boxcox_llf(data: Any, axis: Any = 0, *, lmb: Any) -> Any:
    """Return Box and Cox's likelihood, also of the exponent 0.

    Samples are divided by the one of the largest power, so that no power overflows.
    """
    data = data.astype(np.result_type(data, 1.0))
    logs = np.log(data)
    ends = (f(data, axis=axis, keepdims=True) for f in (np.max, np.min))
    unit: Any = stop_gradient(np.where(lmb > 0, *ends))
    variance = np.log(np.var(special.boxcox(data / unit, lmb), axis=axis))
    variance = variance + 2 * lmb * np.log(np.squeeze(unit, axis))
    return (lmb - 1) * np.sum(logs, axis=axis) - data.shape[axis] / 2 * variance


with requirements_of(_STATS, "boxcox_llf"):
    _decorate: Any = _policies(
        lambda x: x, n_outputs=1, default_axis=0, result_to_tuple=lambda x, _: (x,)
    )
    define("scipy.stats._morestats", _boxcox_llf=_decorate(_boxcox_llf))


def _line(x: Any, y: Any, alternative: str = "two-sided") -> Any:
    """Return the line of least squares, and how well it fits."""
    x, y = np.ravel(x), np.ravel(y)
    n = len(x)
    ssxm, ssxym, _, ssym = np.ravel(np.cov(x, y, bias=True))
    flat = np.logical_or(ssxm == 0, ssym == 0)
    r = np.where(flat, np.where(ssxym == 0, np.nan, 0), ssxym / np.sqrt(ssxm * ssym))
    r = np.where(np.abs(r) > 1, np.sign(r), r)
    slope = ssxym / ssxm
    intercept = np.mean(y) - slope * np.mean(x)
    if n == 2:
        nothing = np.zeros_like(slope)
        pvalue, errors = np.where(y[0] == y[1], 1.0, 0.0), (nothing, nothing)
    else:
        df = n - 2
        t = r * np.sqrt(df / ((1 - r + 1e-20) * (1 + r + 1e-20)))
        student = copy_of(_stats._SimpleStudentT)(df)
        pvalue = copy_of(_stats._get_pvalue)(t, student, alternative, xp=np)
        error = np.sqrt((1 - r * r) * ssym / ssxm / df)
        errors = error, error * np.sqrt(ssxm + np.mean(x) ** 2)
    return _stats._pack_LinregressResult(slope, intercept, r, pvalue, *errors)


with requirements_of(_STATS, "linregress"):
    _with_policies: Any = _policies(
        _stats._pack_LinregressResult,
        n_samples=2,
        n_outputs=6,
        result_to_tuple=_stats._unpack_LinregressResult,
        paired=True,
        too_small=1,
    )(_line)

    @covers(_STATS)
    def linregress(x: Any, y: Any, alternative: str = "two-sided", **options: Any) -> Any:
        """Return the line of least squares, which is not a number where all places are equal."""
        return _with_policies(x, y, alternative, **options)
