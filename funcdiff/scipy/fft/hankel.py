"""The fast Hankel transform, differentiable in its parameters, too.

It is a convolution on a logarithmic grid: between two real Fourier transforms it multiplies by
``u_m = (k r)^(-2πim/(n·dln))·U_μ(q + 2πim/(n·dln))``, in which
``U_μ(x) = 2^x·Γ((μ + 1 + x)/2)/Γ((μ + 1 - x)/2)``.

References
----------
A. J. S. Hamilton, "Uncorrelated modes of the non-linear power spectrum", Monthly Notices of the
Royal Astronomical Society 312 (2000), 257-284, appendix B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.promotion import Traced, array
from funcdiff.ops.structure.structural import convert
from funcdiff.scipy import special
from funcdiff.scipy.covered import covers


@covers("scipy.fft")
def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Traced:
    """Return the fast Hankel transform along the last axis.

    Differentiable in `a`, in which it is linear, and in all parameters, by the chain rule.
    """
    return _transform(a, dln, mu, offset, bias, inverse=False)


@covers("scipy.fft")
def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Traced:
    """Return the inverse of `fht`, differentiable as that is."""
    return _transform(A, dln, mu, offset, bias, inverse=True)


def _transform(a: Any, dln: Any, mu: Any, offset: Any, bias: Any, *, inverse: bool) -> Traced:
    x: Any = array(a)
    n = x.shape[-1]
    steps = (np.arange(n) - (n - 1) / 2) * dln
    biased = isinstance(bias, Tracer) or bias != 0
    if biased:
        x = x * np.exp(bias * (steps + offset) if inverse else -bias * steps)
    spectrum = np.fft.rfft(x)
    u: Any = _coefficients(n, dln, mu, offset, bias, inverse=inverse)
    u = convert(array(u), spectrum.dtype)
    spectrum = spectrum / np.conj(u) if inverse else spectrum * u
    y = np.flip(np.fft.irfft(spectrum, n), -1)
    if biased:
        y = y * np.exp(bias * steps if inverse else -bias * (steps + offset))
    return y


def _coefficients(n: int, dln: Any, mu: Any, offset: Any, bias: Any, *, inverse: bool) -> Any:
    """Return ``u_m`` for m = 0, ..., n//2, the last one of an even n made real."""
    above, below = (mu + 1 + bias) / 2, (mu + 1 - bias) / 2
    m = np.arange(n // 2 + 1)
    y = np.pi * m / (n * dln)
    upper, lower = special.loggamma(above + 1j * y), special.loggamma(below + 1j * y)
    turn = np.imag(upper) + np.imag(lower) + 2 * (np.log(2) - offset) * y
    u = np.exp(np.real(upper) - np.real(lower) + np.log(2) * bias + 1j * turn)
    # at the poles of both functions their quotient; a singular transform is made to miss the mean
    poles = np.logical_and(m == 0, ~np.isfinite(u))
    u = np.where(poles, 2**bias * special.poch(below, above - below), u)
    if inverse:
        u = np.where(np.logical_and(m == 0, u == 0), np.inf, u)
    else:
        u = np.where(np.logical_and(m == 0, np.isinf(u)), 0.0, u)
    return np.where(2 * m < n, u, np.real(u))
