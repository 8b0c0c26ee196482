"""Gaussian kernel density estimation, with sums over kernels in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.scipy.borrowed import copy_of, define
from funcdiff.scipy.covered import cover, holds_traced
from funcdiff.scipy.places import Private
from funcdiff.scipy.special.normalization import log_of_sum
from funcdiff.scipy.stats.draws import check_random_state, drawing


class _ByType:
    """A compiled function, one for every floating type, and ours for traced arrays."""

    def __init__(self, compiled: Any, ours: Callable[..., Any]) -> None:
        self._compiled = compiled
        self._ours = ours

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return the function for a floating type."""

        def wrapper(*args: Any) -> Any:
            return self._ours(*args) if holds_traced(args) else self._compiled[name](*args)

        return wrapper


def _log_kernels(points: Any, xi: Any, factor: Any) -> Any:
    """Return ln N(x; xᵢ, LLᵀ) for the Cholesky factor L, of shape (len(xi), len(points))."""
    n, d = points.shape
    whole = array(np.concatenate([points, xi]).T)
    whitened: Any = triangular_solve(array(factor).astype(whole.dtype), whole, lower=True)
    gaps = whitened[:, n:, None] - whitened[:, None, :n]
    scale = np.sum(np.log(np.diagonal(factor))) + d / 2 * np.log(2 * np.pi)
    return -np.sum(gaps * gaps, axis=0) / 2 - scale


def _estimate(points: Any, values: Any, xi: Any, factor: Any, dtype: Any) -> Any:
    """Return Σᵢ wᵢ·N(x; xᵢ, LLᵀ)."""
    return (np.exp(_log_kernels(points, xi, factor)) @ values).astype(dtype)


def _log_estimate(points: Any, values: Any, xi: Any, factor: Any, dtype: Any) -> Any:
    """Return the logarithm of the same, which does not underflow."""
    logs = _log_kernels(points, xi, factor)[:, :, None]
    weights = np.broadcast_to(values, logs.shape)
    found = log_of_sum(logs, 1, weights, keepdims=False, return_sign=False)
    return found.astype(dtype)


_plain: Any = Private("scipy.stats._kde")
define(
    "scipy.stats._kde",
    gaussian_kernel_estimate=_ByType(_plain.gaussian_kernel_estimate, _estimate),
    gaussian_kernel_estimate_log=_ByType(_plain.gaussian_kernel_estimate_log, _log_estimate),
)
_Estimate: Any = copy_of(_plain.gaussian_kde)


class gaussian_kde(_Estimate):  # type: ignore[misc]  # noqa: N801 (SciPy's name)
    """SciPy's estimate of a density, by data, points, weights and bandwidth."""

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Take a rule, a function or a number, which may be traced."""
        rule = (lambda _estimate: bw_method) if isinstance(bw_method, Tracer) else bw_method
        super().set_bandwidth(rule)

    resample = drawing(_plain.gaussian_kde.resample, _Estimate.resample, "seed")


define("scipy.stats._kde", gaussian_kde=gaussian_kde, check_random_state=check_random_state)
cover("scipy.stats", "gaussian_kde", gaussian_kde, note="What is drawn does not move with weights.")
