"""Prices of European options and their sensitivities.

F. Black, M. Scholes, "The pricing of options and corporate liabilities", Journal of Political
Economy 81(3), 1973.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.special

from docs.benchmarks.workloads.workload import Workload


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
    interest = rate * time
    d1 = np.log(spot / strike)
    d1 += interest
    d1 /= spread
    d2 = 0.5 * spread
    d1 += d2
    np.subtract(d1, spread, out=d2)
    delta = scipy.special.ndtr(d1)
    rho = np.exp(np.negative(interest, out=interest), out=interest)
    rho *= strike
    rho *= time
    rho *= scipy.special.ndtr(d2, out=d2)
    d1 *= d1
    d1 *= -0.5
    vega = np.exp(d1, out=d1)
    vega *= spot
    root *= 1.0 / math.sqrt(2.0 * math.pi)
    vega *= root
    return delta, vega, rho


def gradient_of_one(market: Any, strike: float, time: float) -> Any:
    """Return the same of a single option, in Python's numbers."""
    spot, volatility, rate = market
    root = math.sqrt(time)
    spread = volatility * root
    d1 = (math.log(spot / strike) + rate * time) / spread + 0.5 * spread
    delta = 0.5 * math.erfc(-d1 * math.sqrt(0.5))
    vega = spot * root * math.exp(-0.5 * d1 * d1) / math.sqrt(2.0 * math.pi)
    below = 0.5 * math.erfc((spread - d1) * math.sqrt(0.5))
    return delta, vega, strike * time * math.exp(-rate * time) * below


def options(n: int) -> Workload:
    """Return the workload of n options; of a single one, in numbers, if n is 0."""

    def arguments(rng: np.random.Generator) -> tuple[Any, ...]:
        spot, strike = rng.uniform(50.0, 150.0, (2, n))
        volatility, rate = rng.uniform(0.1, 0.4, n), rng.uniform(0.0, 0.05, n)
        return (spot, volatility, rate), strike, rng.uniform(0.5, 2.0, n)

    def numbers(_: np.random.Generator) -> tuple[Any, ...]:
        return (100.0, 0.2, 0.03), 95.0, 1.25

    return Workload(
        name=f"Black-Scholes, n = {n}" if n else "Black-Scholes, one option",
        arguments=arguments if n else numbers,
        function=lambda np_, *rest: worth(np_, scipy.special.erf, *rest),
        by_hand=gradient if n else gradient_of_one,
        in_autograd=lambda a, *rest: worth(a.numpy, a.scipy.special.erf, *rest),
        in_jax=lambda jax, *rest: worth(jax.numpy, jax.scipy.special.erf, *rest),
        in_torch=lambda torch, *rest: worth(torch, torch.erf, *rest),
    )


WORKLOADS = tuple(map(options, (0, 1000, 1_000_000)))
TINY = (options(0), options(4))
