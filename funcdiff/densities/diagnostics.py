"""Rank-normalized R-hat, effective sample sizes, and warnings of draws that are not to be trusted.

As in Vehtari, Gelman, Simpson, Carpenter and Bürkner, Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC, Bayesian Analysis 16, 2021.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.errors import SamplingWarning, user_location


def rhat(x: Any) -> float:
    """Return R-hat of ranks of draws ``(chains, draws)`` and of their distances from the median.

    It is nan if all are equal.
    """
    x = _halves(x)
    return float(max(_rhat(_scores(x)), _rhat(_scores(np.abs(x - np.median(x))))))


def bulk_ess(x: Any) -> float:
    """Return as how many independent draws those ``(chains, draws)`` count in the middle."""
    return _ess(_scores(_halves(x)))


def tail_ess(x: Any) -> float:
    """Return as how many they count in the quantiles 5 % and 95 %, whichever are less."""
    return min(_ess(_halves(1.0 * (x <= q))) for q in np.quantile(x, (0.05, 0.95)))


def of_each(function: Callable[[Any], float], params: Any) -> Any:
    """Return the container of a number for each element; nan for less than four draws."""

    def of_leaf(x: Any) -> Any:
        if x.shape[1] < 4:
            return np.full(x.shape[2:], np.nan)
        columns = np.moveaxis(np.reshape(x, (*x.shape[:2], -1)), 2, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.reshape([function(column) for column in columns], x.shape[2:])

    return pytree.map(of_leaf, params)


def warn(diverging: Any, rhats: Any) -> None:
    """Warn the user of `Density.sample` if draws diverge, or if chains did not meet."""
    problems = []
    if lost := int(np.sum(diverging)):
        problems.append(
            f"{lost} of {np.size(diverging)} draws diverged: the density bends more somewhere than "
            "steps can follow, and draws are missing there. Raise target, or write the parameters "
            "so that the scale of none depends on another"
        )
    pairs = [(path, np.ravel(leaf)) for path, leaf in pytree.flatten_with_paths(rhats)[0]]
    worst, path = max(((np.nanmax(r), p) for p, r in pairs if np.any(r > 0)), default=(0.0, ""))
    if worst > 1.01:
        problems.append(
            f"R-hat is {worst:.3f} for params{path}: the chains have not met. Raise warmup and "
            "draws, or see whether the density has several modes"
        )
    if problems:
        message = f"sample, at {user_location()}: {'; '.join(problems)}."
        warnings.warn(message, SamplingWarning, stacklevel=4)


def _halves(x: Any) -> Any:
    """Return the first and last halves as chains of their own."""
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def _scores(x: Any) -> Any:
    """Return normal quantiles of the ranks; equal draws share the mean of theirs."""
    _, places, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    scores = list(map(NormalDist().inv_cdf, (ranks - 0.375) / (x.size + 0.25)))
    return np.reshape(np.array(scores)[places], x.shape)


def _rhat(x: Any) -> Any:
    length = x.shape[1]
    between, within = np.var(x.mean(axis=1), ddof=1), np.var(x, axis=1, ddof=1).mean()
    return np.sqrt((length - 1) / length + between / within)


def _ess(x: Any) -> float:
    """Sum autocorrelations by Geyer's initial monotone sequence.

    It is nan for chains of fewer than five draws, which have no lags to tell them by.
    """
    length = x.shape[1]
    if length < 5:
        return float("nan")
    centred = x - x.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * length)) ** 2
    covariances = np.fft.irfft(spectrum, axis=1)[:, :length].mean(axis=0) / length
    within = covariances[0] * length / (length - 1)
    total = covariances[0] + np.var(x.mean(axis=1), ddof=1)
    if total == 0:
        return float(x.size)
    correlations = 1 - (within - covariances) / total
    correlations[0] = 1.0
    pairs = correlations[: (length - 1) // 2 * 2].reshape(-1, 2).sum(axis=1)
    count = int(np.argmax(pairs <= 0)) if np.any(pairs <= 0) else len(pairs) - 1
    decreasing = np.minimum.accumulate(pairs[:count])
    time = 2 * decreasing.sum() - 1 + max(correlations[2 * count], 0.0)
    return float(x.size / max(time, 1 / np.log10(x.size)))
