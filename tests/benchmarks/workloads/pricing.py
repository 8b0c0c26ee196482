"""Prices of European options and their sensitivities.

F. Black, M. Scholes, "The pricing of options and corporate liabilities", Journal of Political
Economy 81(3), 1973.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from tests.benchmarks.workloads.workload import Workload


def worth(np_: Any, erf: Any, market: Any, strike: Any, time: Any) -> Any:
    """Return the sum of the prices of call options: n numbers each, with the given erf."""
    spot, volatility, rate = market
    spread = volatility * np_.sqrt(time)
    d1 = (np_.log(spot / strike) + rate * time) / spread + 0.5 * spread
    d2 = d1 - spread
    discounted = strike * np_.exp(-rate * time)
    root = math.sqrt(0.5)
    return np_.sum(0.5 * (spot * (1.0 + erf(d1 * root)) - discounted * (1.0 + erf(d2 * root))))


def gradient(market: Any, strike: Any, time: Any) -> Any:
    """Return delta, vega and rho."""
    spot, volatility, rate = market
    root = np.sqrt(time)
    spread = volatility * root
    d1 = (np.log(spot / strike) + rate * time) / spread + 0.5 * spread
    d2 = d1 - spread
    delta = scipy.special.ndtr(d1)
    vega = spot * root * np.exp(-0.5 * d1 * d1) / math.sqrt(2.0 * math.pi)
    rho = strike * time * np.exp(-rate * time) * scipy.special.ndtr(d2)
    return delta, vega, rho


def options(n: int) -> Workload:
    """Return the workload of n options."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        spot, strike = rng.uniform(50.0, 150.0, (2, n))
        volatility, rate = rng.uniform(0.1, 0.4, n), rng.uniform(0.0, 0.05, n)
        return (spot, volatility, rate), strike, rng.uniform(0.5, 2.0, n)

    return Workload(
        name=f"Black-Scholes, n = {n}",
        arguments=arguments,
        function=lambda np_, *rest: worth(np_, scipy.special.erf, *rest),
        by_hand=gradient,
        in_autograd=lambda a, *rest: worth(a.numpy, a.scipy.special.erf, *rest),
        in_jax=lambda jax, *rest: worth(jax.numpy, jax.scipy.special.erf, *rest),
        in_torch=lambda torch, *rest: worth(torch, torch.erf, *rest),
    )


WORKLOADS = (options(1_000_000),)
TINY = (options(4),)
