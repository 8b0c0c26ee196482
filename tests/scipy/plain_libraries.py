"""Plain SciPy and scikit-learn on traced arrays, by the array API; a script with a clean start.

Both ask at their import, by the variable SCIPY_ARRAY_API, whether to take arrays of others.
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import scipy.fft
import scipy.signal
import scipy.special
import scipy.stats
import sklearn
from scipy.spatial.transform import Rotation
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_absolute_error, mean_squared_error, r2_score
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, rbf_kernel
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

import funcdiff as fd
from funcdiff.testing import check_grads

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 3))
Y, Z = RNG.normal(size=8), RNG.normal(size=(5, 3))


KINDS = (Y > 0).astype(int)
TARGETS = X @ [1.0, -2.0, 0.5]


@cache
def _fitted(name: str) -> Any:
    """An estimator that was fitted to plain arrays."""
    if name == "logistic":
        return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, KINDS)
    network = MLPRegressor(hidden_layer_sizes=(4,), max_iter=5)
    return (Ridge() if name == "ridge" else network).fit(X, TARGETS)


def _losses(x: Any) -> Any:
    """Metrics, weighted and not, of what estimators predict that were fitted before."""
    predicted = _fitted("ridge").predict(x) + 0.1 * _fitted("network").predict(x)
    weights = np.arange(1.0, 9.0)
    return (
        r2_score(TARGETS, predicted)
        + mean_squared_error(TARGETS, predicted, sample_weight=weights)
        + mean_squared_error(X, x, multioutput=[1, 2, 3])
        + mean_absolute_error(TARGETS, predicted)
        + log_loss(KINDS, _fitted("logistic").predict_proba(x))
    )


def _statistic(name: str, x: Any) -> Any:
    return getattr(scipy.stats, name)(np.abs(x) + 1)


def _special(name: str, x: Any) -> Any:
    return getattr(scipy.special, name)(np.abs(x) / 9 + 0.1)


def _spectrum(name: str, x: Any) -> Any:
    return np.abs(getattr(scipy.fft, name)(x))


_STATISTICS = "zscore skew kurtosis moment gmean hmean sem variation tmean tvar iqr"
_SPECIAL = "gammaln psi erf expit logit ndtri i0 j1 entr logsumexp softmax"

CALLS: dict[str, Callable[[Any], Any]] = {
    "standard scaler": lambda x: StandardScaler().fit_transform(x),
    "min-max scaler": lambda x: MinMaxScaler().fit_transform(x),
    "max-abs scaler": lambda x: MaxAbsScaler().fit_transform(x),
    "normalizer": lambda x: Normalizer().fit_transform(x),
    "metrics of predictions": lambda x: _losses(1.1 * x),
    "probabilities": lambda x: _fitted("logistic").predict_proba(x),
    "principal components": lambda x: np.abs(PCA(2, svd_solver="full").fit_transform(x)),
    "principal components of the covariance": lambda x: np.abs(
        PCA(2, svd_solver="covariance_eigh").fit_transform(x)
    ),
    "ridge": lambda x: Ridge(solver="svd").fit(x, 2 * x[:, 0] + x[:, 1]).coef_,
    "ridge, mixed": lambda x: Ridge(solver="svd").fit(x, Y).coef_,
    "kernel": lambda x: rbf_kernel(x),
    "kernel, mixed": lambda x: rbf_kernel(x, Z),
    "kernel, mixed the other way": lambda x: rbf_kernel(Z, x),
    "cosines": lambda x: cosine_similarity(x, Z),
    "distances, mixed": lambda x: euclidean_distances(x, Z),
    **{
        n: partial(_statistic, n)
        for n in [
            "zscore", "skew", "kurtosis", "moment", "gmean", "hmean", "sem", "variation", "tmean",
            "tvar", "iqr",
        ]
    },
    "correlation": lambda x: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic,
    "analysis of variance": lambda x: scipy.stats.f_oneway(x[:, 0], x[:, 1], x[:, 2]).statistic,
    "t-test": lambda x: scipy.stats.ttest_ind(x[:, 0], x[:, 1]).statistic,
    "t-test, mixed": lambda x: scipy.stats.ttest_ind(Y, x[:, 0]).statistic,
    **{
        n: partial(_special, n)
        for n in [
            "gammaln", "psi", "erf", "expit", "logit", "ndtri", "i0", "j1", "entr", "logsumexp",
            "softmax",
        ]
    },
    "xlogy": lambda x: scipy.special.xlogy(x, np.abs(x) + 1),
    "xlogy, mixed": lambda x: scipy.special.xlogy(Y[:3], np.abs(x) + 1),
    "multigammaln": lambda x: scipy.special.multigammaln(np.abs(x) + 1, 2),
    **{n: partial(_spectrum, n) for n in ["fft", "rfft", "ifft", "hfft", "dct", "dst"]},
    "hilbert": lambda x: np.abs(scipy.signal.hilbert(x[:, 0])),
    "rotation": lambda x: Rotation.from_rotvec(x).as_matrix(),
}  # fmt: skip


def main() -> None:
    """Compare values with those of plain arrays, and derivatives with differences."""
    sklearn.set_config(array_api_dispatch=True)
    for name, call in CALLS.items():
        print(name, end=": ", flush=True)
        for _ in range(2):
            np.testing.assert_allclose(fd.vjp(call, X)[0], call(X), rtol=1e-9, atol=1e-12)
        check_grads(call, (X,), order=1)
        print("ok")


if __name__ == "__main__":
    main()
