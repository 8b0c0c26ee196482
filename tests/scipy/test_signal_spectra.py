"""Spectra, waveforms, windows and peaks of `scipy.signal`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError
from funcdiff.scipy import signal
from tests.rules.sample import complex_, real
from tests.scipy.agreement import assert_agrees

X, Y = np.random.default_rng(3).normal(size=(2, 24))
WINDOW = np.hanning(8)[1:-1]
TIMES = np.linspace(0.1, 9.0, 5)

SPECTRA: dict[str, tuple[Any, ...]] = {
    "welch": (lambda s, x: s.welch(x, fs=2.0, nperseg=8), X),
    "welch by the median": (
        lambda s, x: s.welch(
            x, nperseg=6, average="median", scaling="spectrum", window=("kaiser", 4.0)
        ),
        X,
    ),
    "welch by a window": (lambda s, x, w: s.welch(x, window=w, detrend=False), X, WINDOW),
    "welch of complex samples": (
        lambda s, z: s.welch(z, nperseg=6, return_onesided=False, detrend="linear", axis=0),
        complex_(12, 2),
    ),
    "csd": (lambda s, x, y: s.csd(x, y, nperseg=8, detrend="linear"), X, Y),
    "coherence": (lambda s, x, y: s.coherence(x, y, nperseg=8), X, Y),
    "periodogram": (lambda s, x: s.periodogram(x, nfft=30), X),
    "lombscargle": (lambda s, t, x, w: s.lombscargle(t, x, w), np.sort(Y), X, np.array([1.0, 2.5])),
    "lombscargle, amplitudes": (
        lambda s, t, x, w: s.lombscargle(t, x, w, normalize="amplitude", floating_mean=True),
        np.sort(Y), X, np.array([1.0, 2.5]),
    ),
    "stft": (lambda s, x: s.stft(x, nperseg=8), X),
    "stft without a boundary": (
        lambda s, x: s.stft(x, nperseg=8, boundary=None, padded=False, detrend="constant"), X,
    ),
    "istft": (lambda s, z: s.istft(z, nperseg=8), complex_(5, 7)),
    "spectrogram": (lambda s, x: s.spectrogram(x, nperseg=8), X),
    "spectrogram, magnitude": (lambda s, x: s.spectrogram(x, nperseg=8, mode="magnitude"), X),
    "ShortTimeFFT": (lambda s, x: s.ShortTimeFFT(np.hanning(6), 3, 1.0).stft(x), X),
    "ShortTimeFFT by its window": (lambda s, w, x: s.ShortTimeFFT(w, 3, 1.0).stft(x), WINDOW, X),
    "ShortTimeFFT, back": (lambda s, z: s.ShortTimeFFT(WINDOW, 3, 1.0).istft(z), complex_(4, 9)),
    "closest_STFT_dual_window": (
        lambda s, w: s.closest_STFT_dual_window(w, 3, scaled=False)[0], WINDOW,
    ),
    "resample": (lambda s, x: s.resample(x, 10), X),
    "resample complex": (lambda s, z: s.resample(z, 20, window="hann"), complex_(12)),
    "czt": (
        lambda s, x, w, a: s.czt(x, 5, w, a), real(4), np.array(0.9 + 0.1j), np.array(1.1 + 0.1j),
    ),
    "zoom_fft": (lambda s, x: s.zoom_fft(x, [0.2, 0.5], 6), real(4)),
    "vectorstrength": (lambda s, t, p: s.vectorstrength(t, p), X, np.array(1.3)),
    "vectorstrengths": (lambda s, t, p: s.vectorstrength(t, p), X, np.array([1.3, 2.0])),
    "chirps": (
        lambda s, t, f, g: [
            s.chirp(t, f, 2.0, g, method=m)
            for m in ("linear", "quadratic", "logarithmic", "hyperbolic")
        ],
        TIMES[:3], np.array(1.0), np.array(3.0),
    ),
    "chirps of one frequency": (
        lambda s, t, f, g: [
            s.chirp(t, f, 2.0, g, method=m) for m in ("logarithmic", "hyperbolic")
        ],
        TIMES[:3], np.array(2.0), np.array(2.0),
    ),
    "gausspulse": (
        lambda s, t, f: s.gausspulse(t, f, retquad=True, retenv=True),
        np.linspace(-0.1, 0.1, 5), np.array(4.0),
    ),
    "sawtooth": (lambda s, t, w: s.sawtooth(t, w), TIMES, np.array(0.3)),
    "sawtooth in single precision": (
        lambda s, t: s.sawtooth(np.float32(1.0) * t.astype(np.float32), 0.4),
        TIMES,
    ),
    "sawtooth by widths": (lambda s, t, w: s.sawtooth(t, w), TIMES, np.array([0, 1, 0.2, 2, 0.5])),
    "square": (lambda s, t, w: s.square(t, w), TIMES, np.array(0.3)),
    "sweep_poly": (lambda s, t, c: s.sweep_poly(t, c), TIMES, real(3)),
    "gauss_spline": (lambda s, x: s.gauss_spline(x, 3), X),
}  # fmt: skip


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_spectra_and_waveforms_are_scipys_with_all_derivatives(name: str) -> None:
    call, *arrays = SPECTRA[name]
    kinks = name == "sawtooth by widths"  # at widths of 0 and 1, differences leave the interval
    if kinks:
        plain, ours = (import_module(m) for m in ("scipy.signal", "funcdiff.scipy.signal"))
        found = fd.vjp(lambda *xs: call(ours, *xs), *arrays)[0]
        np.testing.assert_allclose(found, call(plain, *arrays), rtol=1e-14)
    else:
        assert_agrees("scipy.signal", call, *arrays, order=1)


WINDOWS: dict[str, tuple[Any, ...]] = {
    "chebwin": (60.0,), "dpss": (2.0,), "exponential": (None, 3.0), "gaussian": (2.0,),
    "general_gaussian": (1.5, 2.0), "general_hamming": (0.6,), "kaiser": (3.0,), "tukey": (0.6,),
    "taylor": (3, 30.0),
}  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_differentiable_in_their_parameters(name: str) -> None:
    given = WINDOWS[name]
    constants = tuple(p for p in given if not isinstance(p, float))
    parameters = [np.array(p) for p in given if isinstance(p, float)]
    for points in (7, 8):
        assert_agrees(
            "scipy.signal.windows",
            lambda s, *p: getattr(s, name)(points, *constants, *p),  # noqa: B023
            *parameters,
            order=1,
        )


@pytest.mark.slow
def test_windows_by_name_and_by_coefficients() -> None:
    module = "scipy.signal.windows"
    assert_agrees(module, lambda s, p: s.get_window(("gaussian", p), 6), np.array(3.0), order=1)
    assert_agrees(module, lambda s, c: s.general_cosine(6, c), real(3), order=1)
    assert_agrees(module, lambda s, b: s.kaiser_bessel_derived(6, b), np.array(3.0), order=1)
    assert_agrees(
        module, lambda s, w: s.dpss(7, w, 3, return_ratios=True), np.array(1.7), order=1,
        batched=False,
    )  # fmt: skip
    with pytest.raises(UnsupportedNumPyError, match="a plain int"):
        fd.grad(lambda n: fd.scipy.signal.windows.hann(n)[0])(3.0)


def test_a_batch_of_chebyshevs_windows_may_have_other_places_beyond_1() -> None:
    windows = import_module("funcdiff.scipy.signal.windows")
    for points in (1, 7, 8):
        for even in (True, False):
            at = np.array([51.0, 50.9, 150.0])
            found = fd.vmap(lambda a: windows.chebwin(points, a, even))(at)  # noqa: B023
            np.testing.assert_allclose(
                found, [windows.chebwin(points, a, even) for a in at], rtol=1e-11
            )
    with pytest.warns(UserWarning, match="not suitable"):
        fd.grad(lambda a: windows.chebwin(7, a)[0])(30.0)


WAVE = np.sin(np.arange(20.0)) + 0.1 * np.arange(20.0)


@pytest.mark.slow
def test_peaks_are_constant_places_with_differentiable_properties() -> None:
    everything: Any = {"height": 0.1, "threshold": 0, "distance": 1, "prominence": 0.2, "width": 0}
    for name, call, x in (
        ("all properties", lambda s, x: s.find_peaks(x, **everything), X),
        ("places", lambda s, x: s.find_peaks(x)[0] * x.sum(), X),
        ("plateaus", lambda s, x: s.find_peaks(np.repeat(x, 2), plateau_size=1)[0] * x[0], WAVE),
        ("prominences", lambda s, x: s.peak_prominences(x, [2, 8], wlen=7), WAVE),
        ("widths", lambda s, x: s.peak_widths(x, [2, 8, 14], rel_height=0.3), WAVE),
        ("extrema", lambda s, x: x[s.argrelextrema(x, np.greater, order=2)], WAVE),
        ("minima", lambda s, x: x[s.argrelmin(x)], WAVE),
        ("maxima", lambda s, x: x[s.argrelmax(x, mode="wrap")], WAVE),
    ):
        del name
        assert_agrees("scipy.signal", call, x, order=1, compiled=False, batched=False)


def test_peaks_of_examples_that_differ_in_their_number_are_refused() -> None:
    with pytest.raises(ConcreteValueError):
        fd.vmap(lambda x: signal.find_peaks(x)[0])(np.stack([WAVE, np.cos(2 * WAVE)]))


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "options",
    [{}, {"height": 0.2, "threshold": 0.01}, {"distance": 3}, {"prominence": (0.3, 3), "wlen": 9},
     {"plateau_size": (1, 3)}, {"distance": 2, "height": (None, 2.0), "prominence": 0.1}],
)  # fmt: skip
def test_under_jit_peaks_are_those_of_each_call(options: Any) -> None:
    def loss(x: Any) -> Any:
        peaks, properties = signal.find_peaks(x, **options)
        heights = [np.sum(v) for v in properties.values() if v.dtype.kind == "f"]
        return np.sum(x[peaks] ** 2) + sum(heights)

    plain = import_module("scipy.signal")
    found, slope = fd.jit(lambda x: signal.find_peaks(x, **options)), fd.jit(fd.grad(loss))
    rng = np.random.default_rng(5)
    for size in (0, 1, 2, 3, 20, 40):
        for x in (rng.normal(size=size), rng.integers(0, 4, size) * 1.0, rng.normal(size=size)):
            (peaks, values), (expected, known) = found(x), plain.find_peaks(x, **options)
            np.testing.assert_array_equal(peaks, expected, strict=True)
            assert values.keys() == known.keys()
            for name, value in known.items():
                np.testing.assert_allclose(values[name], value, 1e-13, strict=True)
            np.testing.assert_allclose(slope(x), fd.grad(loss)(x), 1e-13)


def test_the_height_of_a_peak_and_its_width() -> None:
    x = np.array([0.0, 1.0, 5.0, 2.0, 0.0])
    heights = fd.jacobian(lambda x: signal.find_peaks(x, height=0)[1]["peak_heights"])(x)
    np.testing.assert_array_equal(heights, [[0, 0, 1, 0, 0]])
    # a half of the height 5, met at 1 + 1.5/4 and 3 - 0.5/3
    width = fd.vjp(lambda x: signal.peak_widths(x, [2])[0], x)[0]
    np.testing.assert_allclose(width, [(3 - 0.5 / 3) - (1 + 1.5 / 4)])


def test_the_square_wave_is_constant() -> None:
    slopes = fd.jacobian(lambda t: signal.square(t, 0.3))(TIMES)
    np.testing.assert_array_equal(slopes, np.zeros((5, 5)))
