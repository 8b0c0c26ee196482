"""Waveforms: periodic ones by masks of phases, with the slope on the right at jumps, and chirps."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.adapting.conditions import is_known_to_hold
from funcdiff.numpy import asarray
from funcdiff.numpy.border.promotion import Traced
from funcdiff.scipy.borrowed import copy_of
from funcdiff.scipy.covered import covers
from funcdiff.scipy.places import place
from funcdiff.scipy.special import exprel


def _phases(t: Any, width: Any) -> tuple[Any, Any]:
    """Return phases in [0, 2π) and widths, in double precision; widths outside [0, 1] are nan."""
    t, width = asarray(t, float), asarray(width, float)
    phase = np.mod(t, 2 * np.pi) + 0.0 * width
    outside = np.logical_or(width > 1, width < 0)
    return phase, np.where(outside, np.nan, width + 0.0 * phase)


@covers("scipy.signal")
def sawtooth(t: Any, width: Any = 1) -> Traced:
    """Return a wave that rises from -1 to 1 in a part of its period and falls in the rest.

    The slopes are ``1/(π·width)`` and ``-1/(π·(1 - width))``; in `width` it is differentiable, too.
    """
    phase, w = _phases(t, width)
    rising = phase < w * 2 * np.pi
    up = phase / (np.pi * np.where(rising, w, 1.0)) - 1
    down = (np.pi * (w + 1) - phase) / (np.pi * np.where(rising, 1.0, 1 - w))
    found: Traced = np.where(rising, up, down)
    return found


@covers("scipy.signal")
def square(t: Any, duty: Any = 0.5) -> Traced:
    """Return a wave that is 1 in a part of its period and -1 in the rest: constant by parts."""
    phase, w = _phases(t, duty)
    wave = np.where(phase < w * 2 * np.pi, 1.0, -1.0)
    found: Traced = np.where(np.isnan(w), np.nan, wave)
    return found


_LOGARITHMIC = ("logarithmic", "log", "lo")
_HYPERBOLIC = ("hyperbolic", "hyp")


@covers("scipy.signal._waveforms", "_chirp_phase")
def chirp_phase(
    t: Any, f0: Any, t1: Any, f1: Any, method: str = "linear", vertex_zero: bool = True
) -> Traced:
    """Return the phase of a chirp, smooth in both frequencies where they are equal, too.

    It is ``2π·f0·t·r(t/t1·ln(f1/f0))`` if logarithmic, with ``r(x) = (exp(x) - 1)/x``, and, with
    ``u = t/t1·(f0 - f1)/f1``, ``2π·f0·t·ln|1 + u|/u`` if hyperbolic, where that is
    ``1/r(ln(1 + u))`` before the frequency grows without bounds.
    """
    found: Traced
    if method in _LOGARITHMIC and not is_known_to_hold(lambda: f0 * f1 <= 0.0):
        found = 2 * np.pi * f0 * t * exprel(t / t1 * np.log(f1 / f0))
    elif method in _HYPERBOLIC and not is_known_to_hold(lambda: f0 * f1 == 0.0):
        u = t / t1 * (f0 - f1) / f1
        early = np.where(u > -1, 1 / exprel(np.log1p(u)), np.log(np.abs(1 + u)) / u)
        found = 2 * np.pi * f0 * t * early
    else:  # or SciPy's error
        plain = copy_of(place("scipy.signal._waveforms", "_chirp_phase"))
        found = plain(t, f0, t1, f1, method, vertex_zero)
    return found
