"""Filters of `scipy.signal` in the signal and in their coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.scipy import signal
from tests.rules.sample import complex_, real
from tests.scipy.agreement import Call, assert_agrees

B, A = np.array([0.5, 0.3, -0.2]), np.array([1.2, -0.4, 0.1])
LONG, ROWS, SHORT, IMAGE = real(20), real(2, 12), real(4), real(5, 4)
KERNEL = real(3, 2, start=9)
SECTIONS = np.array([[0.5, 0.2, 0.1, -0.4, 0.2], [0.7, 0.1, -0.1, 0.3, 0.1]])


def sections(q: Any) -> Any:
    """Return second-order sections of their five coefficients other than 1."""
    return np.concatenate([q[:, :3], np.ones((len(q), 1)), q[:, 3:]], axis=1)


def everywhere(function: str) -> Call:
    """Return a call of a convolution of images for all modes and boundaries."""
    return lambda s, x, y: [
        getattr(s, function)(x, y, mode, boundary, 1.5)
        for mode in ("full", "same", "valid")
        for boundary in ("fill", "wrap", "symm")
    ]


FILTERS: dict[str, tuple[Any, ...]] = {
    "lfilter": (lambda s, b, a, x: s.lfilter(b, a, x), B, A, ROWS),
    "from a state, broadcast": (
        lambda s, b, a, x, zi: s.lfilter(b, a, x, axis=0, zi=zi), B, A, ROWS.T, real(2, 1),
    ),
    "without a": (lambda s, b, x: s.lfilter(b, 2.0, x), B, LONG),
    "without b, a short signal": (
        lambda s, a, x, zi: s.lfilter([1.5], a, x, zi=zi), A, SHORT[:1], real(2),
    ),
    "complex": (lambda s, b, a, z: s.lfilter(b, a, z), B, np.array([1.0, 0.4j]), complex_(5)),
    "lfilter_zi": (lambda s, b, a: s.lfilter_zi(b, a), B, A),
    "lfilter_zi of a shorter a": (lambda s, b: s.lfilter_zi(b, [1.0, 0.5]), B),
    "lfiltic": (lambda s, b, a, y, x: s.lfiltic(b, a, y, x), B, A[:2], SHORT[:1], SHORT),
    "lfiltic without x": (lambda s, b, a, y: s.lfiltic(b, a, y), B, A, SHORT),
    "sosfilt": (lambda s, q, x: s.sosfilt(sections(q), x), SECTIONS, ROWS),
    "sosfilt from a state": (
        lambda s, q, x, zi: s.sosfilt(sections(q), x, 0, zi), SECTIONS, ROWS.T, real(2, 2, 2),
    ),
    "sosfilt_zi": (lambda s, q: s.sosfilt_zi(sections(q)), SECTIONS),
    "filtfilt": (lambda s, b, a, x: s.filtfilt(b, a, x), B, A, ROWS),
    "filtfilt, even": (lambda s, b, a, x: s.filtfilt(b, a, x, 0, "even", 3), B, A, ROWS.T),
    "filtfilt, constant": (lambda s, b, x: s.filtfilt(b, 1.0, x, padtype="constant"), B, LONG),
    "sosfiltfilt": (lambda s, q, x: s.sosfiltfilt(sections(q), x, padtype=None), SECTIONS, LONG),
    "deconvolve": (lambda s, x, d: s.deconvolve(x, d), SHORT, A),
    "convolve": (lambda s, x, y: s.convolve(x, y), LONG, SHORT),
    "convolve by transforms": (lambda s, x, y: s.convolve(x, y, "same", "fft"), LONG, SHORT),
    "convolve images": (lambda s, x, y: s.convolve(x, y, "valid", "direct"), IMAGE, KERNEL),
    "convolve images, same": (lambda s, x, y: s.convolve(x, y, "same", "direct"), IMAGE, KERNEL),
    "correlate": (lambda s, x, y: s.correlate(x, y, "same"), complex_(6), complex_(3)),
    "correlate images": (lambda s, x, y: s.correlate(x, y, "full", "direct"), IMAGE, KERNEL + 1j),
    "correlate with more": (lambda s, x, y: s.correlate(x, y, "same", "direct"), SHORT, LONG),
    "convolve2d": (everywhere("convolve2d"), IMAGE, KERNEL),
    "correlate2d": (everywhere("correlate2d"), IMAGE, KERNEL + 1j),
    "fftconvolve": (lambda s, x, y: s.fftconvolve(x, y, "same", axes=1), IMAGE, KERNEL[:1]),
    "oaconvolve": (lambda s, x, y: s.oaconvolve(x, y), real(60), SHORT),
    "sepfir2d": (lambda s, x, h, v: s.sepfir2d(x, h, v), IMAGE, B, A),
    "resample_poly": (lambda s, x: s.resample_poly(x, 2, 3), LONG),
    "resample_poly by a window": (
        lambda s, x, h: s.resample_poly(x, 2, 3, window=h, padtype="line"), LONG, B,
    ),
    "resample_poly around the median": (
        lambda s, x: s.resample_poly(x, 3, 2, padtype="median", axis=1), ROWS,
    ),
    "decimate": (lambda s, x: s.decimate(x, 2, ftype="fir", n=4), LONG),
    "decimate by sections": (lambda s, x: s.decimate(x, 2, n=2), LONG),
    "decimate, causal": (lambda s, x: s.decimate(x, 2, n=2, zero_phase=False), LONG),
    "order_filter": (
        lambda s, x: s.order_filter(x, np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]]), 1), IMAGE,
    ),
    "medfilt": (lambda s, x: s.medfilt(x, 5), LONG),
    "medfilt of an image": (lambda s, x: s.medfilt(x), IMAGE),
    "medfilt2d": (lambda s, x: s.medfilt2d(x, [3, 1]), IMAGE),
    "wiener": (lambda s, x: s.wiener(x, 3), LONG + 3),
    "wiener with a known noise": (lambda s, x, v: s.wiener(x, 3, v), IMAGE, np.array(0.2)),
    "savgol_coeffs by the place": (
        lambda s, p: [s.savgol_coeffs(7, 3, deriv=k, pos=p, use="dot") for k in (0, 1)],
        np.array(2.3),
    ),
    "savgol_coeffs": (lambda s, d: s.savgol_coeffs(5, 2, deriv=1, delta=d), np.array(0.5)),
    "hilbert": (lambda s, x: s.hilbert(x), LONG),
    "hilbert with more points": (lambda s, x: s.hilbert(x, 13, axis=0), IMAGE),
    "hilbert2": (lambda s, x: s.hilbert2(x), IMAGE),
    "envelope": (lambda s, x: s.envelope(x, (2, 7)), LONG),
    "cspline1d": (lambda s, x: s.cspline1d(x, 0.1), LONG),
    "qspline1d": (lambda s, x: s.qspline1d(x), LONG),
}  # fmt: skip


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_has_scipys_values_and_all_derivatives(name: str) -> None:
    call, *arrays = FILTERS[name]
    assert_agrees("scipy.signal", call, *arrays, order=1)


@pytest.mark.slow
def test_second_derivatives_in_the_coefficients() -> None:
    for name in ("lfilter", "without b, a short signal", "lfilter_zi", "sosfilt_zi"):
        call, *arrays = FILTERS[name]
        assert_agrees("scipy.signal", call, *arrays, compiled=False, batched=False)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["mirror", "constant", "nearest", "interp", "wrap"])
def test_savitzky_and_golay_in_every_mode(mode: str) -> None:
    for axis, window, deriv in ((-1, 5, 1), (1, 6, 0)):
        assert_agrees(
            "scipy.signal",
            lambda s, x, d: s.savgol_filter(x, window, 2, deriv, d, axis, mode, 0.5),  # noqa: B023
            ROWS,
            np.array(0.7),
            order=1,
        )
    assert_agrees("scipy.signal", lambda s, x: s.savgol_filter(x, 5, 3, axis=0), ROWS.T, order=1)


@pytest.mark.thinned(13)
@pytest.mark.parametrize(
    "mode",
    ["constant", "symmetric", "reflect", "edge", "wrap", "antisymmetric", "antireflect", "smooth",
     "line"],
)  # fmt: skip
def test_upfirdn_in_every_mode(mode: str) -> None:
    for h, up, down in ((real(7), 2, 3), (real(5), 1, 1), (real(3), 3, 2)):
        assert_agrees(
            "scipy.signal",
            lambda s, h, x: s.upfirdn(h, x, up, down, mode=mode, cval=0.5 * (mode == "constant")),  # noqa: B023
            h,
            ROWS[:, :8],
            order=1,
            compiled=False,
        )


def test_the_transpose_of_a_filter_runs_backwards() -> None:
    ct = real(6)
    (found,) = fd.linear_transpose(lambda x: signal.lfilter(B, A, x), real(6))(ct)
    np.testing.assert_allclose(found, signal.lfilter(B, A, ct[::-1])[::-1], rtol=1e-12)


def test_a_coefficient_of_one_has_a_derivative() -> None:
    a = np.array([1.0, -0.5])
    _, slope = fd.jvp(lambda a: signal.lfilter_zi([1.0, 1.0], a), (a,), (np.array([1.0, 0.0]),))
    h = 1e-6
    difference = [signal.lfilter_zi([1.0, 1.0], [1.0 + t, -0.5]) for t in (h, -h)]
    np.testing.assert_allclose(slope, (difference[0] - difference[1]) / (2 * h), rtol=1e-8)
    _, slope = fd.jvp(lambda a: signal.lfiltic([1.0], a, [2.0]), (a,), (np.array([1.0, 0.0]),))
    np.testing.assert_allclose(slope, [-1.0])


def test_single_precision_stays_single() -> None:
    b, a, x = (v.astype(np.float32) for v in (B, A, ROWS))
    calls: tuple[Call, ...] = (
        lambda x: signal.lfilter(b, a, x),
        lambda x: signal.savgol_filter(x, 5, 2),
        lambda x: signal.medfilt2d(x),
        lambda x: signal.upfirdn(b, x, 2, 3),
        lambda x: signal.hilbert(x).real,
    )
    for call in calls:
        found, pull = fd.vjp(call, x)
        assert found.dtype == call(x).dtype == pull(found)[0].dtype == np.float32


def test_wrong_arguments_are_refused_as_scipy_refuses_them() -> None:
    for wrong, kind, message in (
        (lambda x: signal.lfilter(B, A, x, zi=np.zeros((2, 3))), ValueError, "shape for parameter"),
        (lambda x: signal.lfilter([], A, x), ValueError, "non-empty 1d array"),
        (lambda x: signal.lfilter(B, A, x[0, 0]), ValueError, "at least 1-D"),
        (lambda x: signal.sosfilt(x[:, :5], x), ValueError, "n_sections, 6"),
        (lambda x: signal.upfirdn(B, x, 0), ValueError, "must be >= 1"),
        (lambda x: signal.upfirdn(B, x, mode="far"), ValueError, "mode"),
        (lambda x: signal.savgol_filter(x, 15, 2), ValueError, "less than or equal"),
        (lambda x: signal.medfilt(x, 4), ValueError, "odd"),
    ):
        with pytest.raises(kind, match=message):
            fd.vjp(wrong, ROWS)


def test_empty_signals() -> None:
    for length in (0, 1):
        x = np.ones((2, length))
        np.testing.assert_array_equal(
            fd.vjp(lambda x: signal.lfilter(B, A, x), x)[0], signal.lfilter(B, A, x)
        )


def test_a_filter_is_written_as_text_that_computes_the_same() -> None:
    text = str(fd.source(lambda x: signal.lfilter(B, A, fd.scipy.fft.dct(x)))(SHORT))
    scope: dict[str, Any] = {}
    exec(text, scope)
    expected = signal.lfilter(B, A, fd.scipy.fft.dct(SHORT))
    np.testing.assert_allclose(next(v for k, v in scope.items() if k == "f")(SHORT), expected)
