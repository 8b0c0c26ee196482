"""Options and returns: py_vollib, numpy_financial, empyrical."""

import numpy as np

from docs.packages.case import case

RETURNS = [0.01, -0.02, 0.015, 0.003, -0.007, 0.011]


@case("py_vollib.black_scholes", 0.2)
def black_scholes(module, sigma):
    return module.black_scholes("c", 100.0, 90.0, 0.5, 0.01, sigma)


@case("py_vollib.black_scholes_merton", 100.0)
def black_scholes_merton(module, spot):
    return module.black_scholes_merton("p", spot, 105.0, 0.5, 0.01, 0.2, 0.02)


@case("py_vollib.black", 0.2)
def black(module, sigma):
    return module.black("c", 100.0, 100.0, 0.5, 0.02, sigma)


@case("py_vollib.black_scholes.greeks.analytical", 100.0)
def delta(analytical, spot):
    return analytical.delta("c", spot, 95.0, 0.5, 0.01, 0.2)


@case("py_vollib.black_scholes.greeks.analytical", 0.2)
def vega(analytical, sigma):
    return analytical.vega("c", 100.0, 95.0, 0.5, 0.01, sigma)


@case("py_vollib.black_scholes.implied_volatility", 8.0)
def implied_volatility(module, price):
    return module.implied_volatility(price, 100.0, 100.0, 0.5, 0.01, "c")


@case("py_vollib.ref_python.black_scholes", 0.2, "black_scholes")
def reference_black_scholes(module, sigma):
    return module.black_scholes("c", 100.0, 90.0, 0.5, 0.01, sigma)


@case("numpy_financial", 0.05)
def fv(npf, rate):
    return npf.fv(rate / 12.0, 120.0, -100.0, -100.0)


@case("numpy_financial", [0.04, 0.06])
def pmt(npf, rate):
    return npf.pmt(rate / 12.0, 180.0, 2e5)


@case("numpy_financial", [0.04, 0.06])
def nper(npf, rate):
    return npf.nper(rate / 12.0, -150.0, 8000.0)


@case("numpy_financial", [-100.0, 39.0, 59.0, 55.0, 20.0])
def npv(npf, values):
    return npf.npv(0.08, values)


@case("numpy_financial", [-100.0, 39.0, 59.0, 55.0, 20.0])
def irr(npf, values):
    return npf.irr(values)


@case("numpy_financial", -300.0)
def rate(npf, payment):
    return npf.rate(10.0, payment, 2000.0, 0.0)


@case("empyrical.stats", RETURNS)
def sharpe_ratio(stats, returns):
    return stats.sharpe_ratio(returns)


@case("empyrical.stats", RETURNS)
def sortino_ratio(stats, returns):
    return stats.sortino_ratio(returns)


@case("empyrical.stats", RETURNS)
def max_drawdown(stats, returns):
    return stats.max_drawdown(returns)


@case("empyrical.stats", RETURNS)
def cum_returns(stats, returns):
    return stats.cum_returns(returns)


@case("empyrical.stats", RETURNS)
def beta_aligned(stats, returns):
    return stats.beta_aligned(returns, np.array([0.02, -0.01, 0.01, 0.004, -0.003, 0.02]))
