"""Samples of ``scipy.special``: gamma, beta and error functions, entropies, losses and powers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from funcdiff.core.recording.builder import constant
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy.primitives.special import gamma, losses, normal, powers
from funcdiff.scipy.primitives.special.incomplete import (
    beta_moments,
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    digamma_falls,
    digamma_gaps,
    gamma_moments,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
)
from funcdiff.scipy.primitives.special.losses import entr, kl_div, rel_entr, xlog1py, xlogy
from tests.rules.sample import Sample, complex_, real, sample

_UNIT = (0.15, 0.85)
_POSITIVE = (0.6, 2.4)
_ANY = (-2.3, 2.0)

_DOMAINS: list[tuple[Any, tuple[tuple[float, float], ...]]] = [
    (gamma.psi, (_POSITIVE,)),
    (gamma.gamma, (_POSITIVE,)),
    (gamma.gammaln, (_POSITIVE,)),
    (gamma.loggamma, (_POSITIVE,)),
    (gamma.rgamma, (_ANY,)),
    (gamma.gammasgn, ((0.4, 2.0),)),
    (gamma.beta, (_POSITIVE, (0.7, 2.9))),
    (gamma.betaln, (_POSITIVE, (0.7, 2.9))),
    (gamma.binom, ((3.1, 4.8), (0.7, 1.9))),
    (gamma.poch, (_POSITIVE, (0.7, 1.9))),
    (gammainc, (_POSITIVE, (0.3, 3.4))),
    (gammaincc, (_POSITIVE, (0.3, 3.4))),
    (gammaincinv, ((1.6, 2.4), (0.3, 0.7))),
    (gammainccinv, ((1.6, 2.4), (0.3, 0.7))),
    (betainc, (_POSITIVE, (0.7, 2.9), _UNIT)),
    (betaincc, (_POSITIVE, (0.7, 2.9), _UNIT)),
    (betaincinv, ((1.6, 2.4), (1.7, 2.9), (0.3, 0.7))),
    (betainccinv, ((1.6, 2.4), (1.7, 2.9), (0.3, 0.7))),
    (entr, (_POSITIVE,)),
    (xlogy, (_ANY, _POSITIVE)),
    (xlog1py, (_ANY, _POSITIVE)),
    (rel_entr, (_POSITIVE, (0.7, 2.9))),
    (kl_div, (_POSITIVE, (0.7, 2.9))),
    (normal.erf, (_ANY,)),
    (normal.erfc, (_ANY,)),
    (normal.erfi, ((-1.1, 0.9),)),
    (normal.erfcx, ((-1.1, 2.0),)),
    (normal.dawsn, (_ANY,)),
    (normal.erfinv, ((-0.6, 0.7),)),
    (normal.erfcinv, ((0.4, 1.5),)),
    (normal.ndtr, (_ANY,)),
    (normal.ndtri, ((0.2, 0.7),)),
    (normal.log_ndtr, (_ANY,)),
    (normal.ndtri_exp, ((-1.9, -0.3),)),
    (normal.owens_t, (_ANY, (-1.2, 1.3))),
    (normal.fresnel_sine, ((-1.2, 1.3),)),
    (normal.fresnel_cosine, ((-1.2, 1.3),)),
    (losses.logit, (_UNIT,)),
    (losses.expit, (_ANY,)),
    (losses.log_expit, (_ANY,)),
    (losses.huber, ((0.8, 1.2), (-0.6, 0.7))),
    (losses.huber, ((0.3, 0.7), (-2.3, -1.2))),
    (losses.pseudo_huber, (_POSITIVE, _ANY)),
    (powers.exprel, (_ANY,)),
    (powers.boxcox, (_POSITIVE, _ANY)),
    (powers.boxcox1p, (_POSITIVE, _ANY)),
    (powers.inv_boxcox, ((-0.6, 0.7), (-0.8, 0.9))),
    (powers.inv_boxcox1p, ((-0.6, 0.7), (-0.8, 0.9))),
    (powers.powm1, (_POSITIVE, _ANY)),
    (powers.cbrt, (_POSITIVE,)),
    (powers.exp2, (_ANY,)),
    (powers.exp10, ((-1.1, 0.6),)),
    (powers.expm1, (_ANY,)),
    (powers.log1p, ((-0.5, 2.0),)),
    (powers.rounded, ((0.6, 1.4),)),
    (powers.cosm1, (_ANY,)),
    (powers.sindg, (_ANY,)),
    (powers.cosdg, (_ANY,)),
    (powers.tandg, (_ANY,)),
    (powers.cotdg, ((40.0, 60.0),)),
    (powers.radian, (_ANY, _POSITIVE, _UNIT)),
]

_HOLOMORPHIC: list[Any] = [
    gamma.psi, gamma.gamma, gamma.loggamma, gamma.rgamma, xlogy, xlog1py, normal.erf, normal.erfc,
    normal.erfi, normal.erfcx, normal.dawsn, normal.ndtr, normal.log_ndtr, normal.fresnel_sine,
    normal.fresnel_cosine, powers.expm1, powers.log1p,
]  # fmt: skip


_NEGATIONS = (gammaincc, gammainccinv, betaincc, betaincinv, betainccinv)
"""Operations whose derivatives are those of others, which are sampled to second order."""


def _samples(op: Any, domains: tuple[tuple[float, float], ...]) -> list[Sample]:
    def points(*shape: int) -> list[Any]:
        return [
            real(*shape, low=low, high=high, start=1 + 5 * k)
            for k, (low, high) in enumerate(domains)
        ]

    return [
        sample(op, *points(2, 3), order=1 if op in _NEGATIONS else 2),
        sample(op, *(np.float32(x) for x in points()), order=1),
        sample(op, *points(0, 2), order=1),
    ]


def _orders(op: Any) -> Any:
    """Return the operation with an integer first operand, which has no derivative."""
    return lambda n, x: op(convert(n, x.dtype), x)


def _sum_of_powers(k: int) -> Any:
    return lambda s: gamma.powers_of_numbers((k,), s, constant(2, s.type), constant(9, s.type))


_LIMITS = (np.array([0.4, 1.1, 2.9, 5.2]), np.array([0.2, 0.45, 0.8]))
_ORDERS = np.array([[0, 2, 1]])

SAMPLES: dict[str, list[Sample]] = {
    "polygamma": [
        sample(_orders(gamma.polygamma), _ORDERS, real(1, 3, low=0.6)),
        sample(_orders(gamma.polygamma), _ORDERS, complex_(1, 3)),
    ],
    "zeta": [
        sample(_orders(gamma.zeta), np.array([2, 4, 3]), real(3, low=0.6, high=2.4)),
        sample(gamma.zeta, real(3, low=1.3, high=4), real(3, low=0.6, high=2.4)),
    ],
    "riemann_zeta": [
        sample(gamma.riemann_zeta, real(5, low=-2.6, high=3.7)),
        sample(gamma.riemann_zeta, complex_(3)),
    ],
    "zetac": [sample(gamma.zetac, real(5, low=-2.6, high=3.7))],
    "hurwitz_derivatives": [
        sample(
            partial(gamma.hurwitz_derivatives, (k,)), real(3, low=1.3, high=4),
            real(3, low=0.6, high=2.4),
        )
        for k in (0, 2)
    ],
    "powers_of_numbers": [
        sample(
            lambda s, k=k: gamma.powers_of_numbers(
                (k,), s, constant(2, s.type), constant(9, s.type)
            ),
            real(3, low=-0.3, high=2),
        )
        for k in (0, 2)
    ],
    "gamma_moments": [
        sample(partial(gamma_moments, (k,)), real(4, low=1.2, high=2.4), _LIMITS[0])
        for k in (0, 1, 2)
    ],
    "beta_moments": [
        sample(
            partial(beta_moments, orders), real(3, low=1.2, high=2.4),
            real(3, low=1.2, high=2.4, start=5), _LIMITS[0][:3],
        )
        for orders in ((1, 1, 0), (0, 2, 1))
    ],
    "digamma_gaps": [
        sample(partial(digamma_gaps, (k,)), real(3, low=0.6, high=14)) for k in (0, 2)
    ],
    "digamma_falls": [
        sample(
            partial(digamma_falls, (k,)), np.array([0.7, 2.0, 15.0]),
            np.array([1.3, 0.01, 2.5]),
        )
        for k in (0, 1)
    ],
    "exprel_derivatives": [
        sample(lambda u: powers.exprel_derivatives((2,), u), np.array([-1.3, 0.2, 2.5])),
        sample(lambda u: powers.exprel_derivatives((1,), u), np.array([-16.0, -12.5])),
    ],
    "log1p_ratio_derivatives": [
        sample(lambda w: powers.log1p_ratio_derivatives((2,), w), np.array([-0.5, 0.2, 7.5]))
    ],
    "pow1p": [sample(powers.pow1p, np.array([-0.4, 1e-3, 0.7]), np.array([1.3, -2.1, 0.6]))],
    "pow1pm1": [
        sample(powers.pow1pm1, np.array([-0.4, 1e-3, 0.7]), np.array([1.3, -2.1, 0.6]))
    ],
    "excess": [sample(losses.excess, real(2, 3), real(2, 3, start=9))],
}  # fmt: skip
for _op, _domains in _DOMAINS:
    SAMPLES.setdefault(_op.primitive.name, []).extend(_samples(_op, _domains))
for _op in _HOLOMORPHIC:
    _count = len(next(domains for op, domains in _DOMAINS if op is _op))
    SAMPLES[_op.primitive.name].append(
        sample(_op, *(complex_(2, low=0.3, high=1.4, start=1 + 7 * k) for k in range(_count)))
    )
