"""Samples of methods of distributions, with compiled densities and without."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.scipy.stats.draws import Draw, Source, draw_p, sources
from funcdiff.scipy.stats.entropies import Slope, entropy_slope_p
from funcdiff.scipy.stats.leaf_programs import Table, table_p
from funcdiff.scipy.stats.methods import method
from tests.rules.sample import Sample, sample

_SEED: Final = sources.enter("seed", Source(5))
_X: Final = np.array([0.4, 0.9, 0.6])
_SHAPE: Final = np.array([2.3, 1.7, 3.1])
_OTHER: Final = np.array([1.6, 2.4, 2.9])


def _of(distribution: str, name: str, *xs: Any, order: int = 0, orders: int = 2) -> Sample:
    return sample(lambda *given: method(distribution, name, *given, order=order), *xs, order=orders)


SAMPLES: dict[str, list[Sample]] = {
    "distribution_method": [
        _of("gamma", "cdf", _X, _SHAPE),
        _of("gamma", "logsf", _X, _SHAPE),
        _of("beta", "pdf", _X, _SHAPE, _OTHER),
        _of("beta", "ppf", _X, _SHAPE, _OTHER),
        _of("gamma", "isf", _X, _SHAPE),
        _of("weibull_min", "entropy", _SHAPE),
        _of("lognorm", "moment", _X, order=2),
        _of("gamma", "stats", _SHAPE, order=2),
        _of("poisson", "logcdf", 2 + _X, _SHAPE),
    ],
    "entropy_slope": [
        sample(
            lambda *xs: bind(entropy_slope_p, Slope("nbinom", (0, 1)), *xs)[0], _SHAPE, _X, order=1
        )
    ],
    "random_variates": [
        sample(
            lambda *xs: bind(draw_p, Draw("weibull_min", (2, 3), _SEED), *xs)[0],
            _SHAPE,
            _X,
            np.array([[1.2], [0.7]]),
            order=1,
        )
    ],
    "table": [sample(lambda x: x * bind(table_p, Table((1.5, -2.0, 0.3), (3,), "<f8"))[0], _X)],
}
