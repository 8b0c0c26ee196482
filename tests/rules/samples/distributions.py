"""Samples of distributions: methods, and inverses of their functions in parameters."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

import funcdiff.scipy.primitives.special.distribution_functions
import funcdiff.scipy.primitives.special.noncentral  # noqa: F401 (they declare them)
from funcdiff.core.recording.builder import bind
from funcdiff.numpy.messages.foreign import handlers
from funcdiff.scipy.stats.distribution_methods import method
from funcdiff.scipy.stats.draws import Draw, Source, draw_p, sources
from funcdiff.scipy.stats.entropies import Slope, entropy_slope_p
from funcdiff.scipy.stats.leaf_programs import Table, table_p
from funcdiff.scipy.stats.scores import log_density
from tests.rules.sample import Sample, sample

_SEED: Final = sources.enter("seed", Source(5))
_X: Final = np.array([0.4, 0.9, 0.6])
_SHAPE: Final = np.array([2.3, 1.7, 3.1])
_OTHER: Final = np.array([1.6, 2.4, 2.9])


def _of(distribution: str, name: str, *xs: Any, order: int = 0, orders: int = 2) -> Sample:
    return sample(lambda *given: method(distribution, name, *given, order=order), *xs, order=orders)


SAMPLES: dict[str, list[Sample]] = {
    "distribution_method": [
        _of("gamma", "cdf", _X, _SHAPE), _of("gamma", "logsf", _X, _SHAPE),
        _of("beta", "pdf", _X, _SHAPE, _OTHER), _of("beta", "ppf", _X, _SHAPE, _OTHER),
        _of("gamma", "isf", _X, _SHAPE), _of("weibull_min", "entropy", _SHAPE),
        _of("lognorm", "moment", _X, order=2), _of("gamma", "stats", _SHAPE, order=2),
        _of("poisson", "logcdf", 2 + _X, _SHAPE),
    ],
    "entropy_slope": [
        sample(
            lambda *xs: bind(entropy_slope_p, Slope("nbinom", (0, 1)), *xs)[0], _SHAPE, _X, order=1
        )
    ],
    "log_density": [
        sample(partial(log_density, "gamma", "_logpdf"), _X, _SHAPE),
        sample(partial(log_density, "t", "_logpdf"), _X, np.array(1.7)),
        sample(partial(log_density, "f", "_logpdf"), _X, np.array([[1.7], [3.3]]), _OTHER),
        sample(partial(log_density, "johnsonsu", "_logpdf"), _X, _SHAPE, np.array(1.7), order=1),
    ],
    "random_variates": [
        sample(
            lambda *xs: bind(draw_p, Draw("weibull_min", (2, 3), _SEED), *xs)[0], _SHAPE, _X,
            np.array([[1.2], [0.7]]), order=1,
        )
    ],
    "table": [sample(lambda x: x * bind(table_p, Table((1.5, -2.0, 0.3), (3,), "<f8"))[0], _X)],
}  # fmt: skip


INVERSES: dict[str, tuple[tuple[float, float], ...]] = {
    "chdtriv": ((0.3, 0.72), (2.7, 1.4)),
    "gdtria": ((0.3, 0.62), (1.7, 0.8), (2.1, 3.2)),
    "gdtrib": ((1.3, 0.7), (0.4, 0.73), (2.1, 1.2)),
    "pdtrik": ((0.6, 0.82), (2.2, 1.3)),
    "fdtridfd": ((3.2, 1.4), (0.55, 0.38), (1.2, 0.7)),
    "stdtridf": ((0.81, 0.23), (1.3, -0.9)),
    "btdtria": ((0.3, 0.62), (1.2, 2.4), (0.4, 0.55)),
    "btdtrib": ((1.3, 0.6), (0.4, 0.73), (0.3, 0.17)),
    "bdtrik": ((0.6, 0.43), (9.3, 6.2), (0.3, 0.45)),
    "bdtrin": ((1.7, 4.2), (0.45, 0.72), (0.28, 0.43)),
    "nbdtrik": ((0.6, 0.43), (3.3, 5.2), (0.3, 0.45)),
    "nbdtrin": ((2.2, 3.4), (0.6, 0.35), (0.35, 0.52)),
    "nrdtrimn": ((0.3, 0.82), (1.7, 0.6), (0.4, -1.2)),
    "nrdtrisd": ((0.3, -0.7), (0.8, 0.27), (1.1, -1.6)),
    "chndtrix": ((0.3, 0.72), (2.7, 1.4), (1.4, 0.6)),
    "chndtridf": ((3.0, 1.2), (0.45, 0.31), (1.2, 0.7)),
    "chndtrinc": ((2.4, 3.8), (3.1, 2.2), (0.3, 0.42)),
    "ncfdtri": ((2.6, 1.7), (4.4, 3.2), (1.4, 0.6), (0.45, 0.62)),
    "ncfdtridfn": ((0.15, 0.34), (2.7, 6.2), (6.6, 1.1), (1.7, 0.8)),
    "ncfdtridfd": ((4.4, 5.6), (0.46, 0.46), (6.1, 4.0), (2.3, 1.7)),
    "ncfdtrinc": ((7.4, 2.6), (4.6, 4.4), (0.32, 0.45), (1.2, 1.3)),
    "nctdtridf": ((0.45, 0.82), (1.4, -0.6), (1.3, 0.7)),
    "nctdtrinc": ((2.6, 4.7), (0.42, 0.25), (0.8, -1.1)),
    "nctdtrit": ((2.6, 4.7), (1.4, -0.6), (0.42, 0.25)),
}

_SIX_DIGITS = ("ncfdtridfn", "ncfdtridfd", "ncfdtrinc", "nctdtridf", "nctdtrinc")
"""Where SciPy's search ends: the samples are of single precision."""

_LINEAR_OR_ROUGH = ("bdtrin", "nbdtrin", "nrdtrimn", "nrdtrisd", *_SIX_DIGITS)
"""What has second derivatives of zero, or values of too few digits for differences of them."""

SAMPLES |= {
    name: [
        sample(
            handlers[name],
            *(np.array(x, np.float32 if name in _SIX_DIGITS else np.float64) for x in operands),
            order=2 - (name in _LINEAR_OR_ROUGH),
        )
    ]
    for name, operands in INVERSES.items()
}
