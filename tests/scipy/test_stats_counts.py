"""Means over counts without values, and second derivatives of medians and entropies."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcdiff as fd
from funcdiff.scipy import stats
from tests.together import together

SUMS: dict[str, tuple[Any, ...]] = {
    "all": (lambda s, m: s.poisson(m).expect(lambda k: k**2), 2.2),
    "of the number": (lambda s, m: s.poisson.expect(args=(m,), loc=2), 20.2),
    "from and to": (
        lambda s, m: s.poisson.expect(np.sqrt, (m,), lb=1, ub=6, conditional=True), 2.2,
    ),
    "from": (lambda s, m: s.poisson.expect(np.sqrt, (m,), lb=3), 2.2),
    "few": (lambda s, p: s.binom.expect(lambda k: k**2, (7, p)), 0.3),
    "first block of nothing": (lambda s, p: s.binom.expect(lambda k: 1.0 * (k > 60), (70, p)), 0.3),
    "options": (
        lambda s, m: s.poisson.expect(np.sqrt, (m,), 0, None, None, False, 9, 1e-4, 5), 20.2,
    ),
    "too many": (lambda s, m: s.poisson.expect(np.sqrt, (m,)), 1e6),
    "both signs": (lambda s, m: s.skellam.expect(lambda k: k**3, (m, 1.1)), 4.3),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.filterwarnings("ignore:.*did not converge:RuntimeWarning")
def test_means_over_counts_need_no_values(name: str) -> None:
    call, parameter = SUMS[name]
    ours, plain = partial(call, stats), partial(call, scipy.stats)
    np.testing.assert_allclose(fd.jit(ours)(parameter), plain(parameter), rtol=1e-12)
    found = fd.vmap(fd.grad(ours))(np.array([parameter, 0.9 * parameter]))
    expected = [fd.grad(ours)(p) for p in (parameter, 0.9 * parameter)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_medians_and_entropies_have_second_derivatives() -> None:
    for median in (stats.gennorm.median, lambda b: stats.gennorm.isf(0.5, b)):
        assert fd.grad(median)(1.7) == fd.grad(fd.grad(median))(1.7) == 0

    def spread(a: Any) -> Any:
        return stats.skellam.entropy(a, 0.6)

    np.testing.assert_allclose(fd.grad(fd.grad(spread))(1.7), -0.09372554184459673, rtol=1e-12)
