"""Design, representations and responses of filters and linear systems in `scipy.signal`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.signal

import funcdiff as fd
from funcdiff.scipy import signal
from tests.rules.sample import complex_, real
from tests.scipy.agreement import assert_agrees

B, A = np.array([0.5, 0.3, -0.2]), np.array([1.2, -0.4, 0.1])
CUBIC = np.array([1.2, -0.4, 0.1, 0.6])
ZEROS, POLES, GAIN = complex_(2), complex_(3, start=5), np.array(2.0)
SECTIONS = np.array([[0.5, 0.2, 0.1, -0.4, 0.2], [0.7, 0.1, -0.1, 0.3, 0.1]])
GRID = np.array([0.1, 0.5])
AT, BAND = np.array(0.3), np.array([0.3, 0.6])
MATRICES = (
    real(2, 2) - 2 * np.eye(2), real(2, 1, start=4), real(1, 2, start=7), real(1, 1, start=3),
)  # fmt: skip
DISCRETE = (MATRICES[0] / 4, *MATRICES[1:])


def sections(q: Any) -> Any:
    """Return second-order sections of their five coefficients other than 1."""
    return np.concatenate([q[:, :3], np.ones((len(q), 1)), q[:, 3:]], axis=1)


CHANGES: dict[str, tuple[Any, ...]] = {
    "freqz": (lambda s, b, a: s.freqz(b, a, worN=5), B, A),
    "freqz by a transform": (lambda s, b, a: s.freqz(b, a, worN=16, whole=True), B, A),
    "freqz of b": (lambda s, b, w: s.freqz(b, worN=w, fs=3.0), B, GRID),
    "sosfreqz": (lambda s, q: s.sosfreqz(sections(q), worN=5), SECTIONS),
    "freqz_sos": (lambda s, q: s.freqz_sos(sections(q), worN=5), SECTIONS),
    "freqs": (lambda s, b, a: s.freqs(b, a, worN=GRID), B, A),
    "freqs_zpk": (lambda s, *q: s.freqs_zpk(*q, worN=GRID), ZEROS, POLES, GAIN),
    "freqz_zpk": (lambda s, *q: s.freqz_zpk(*q, worN=GRID), ZEROS, POLES, GAIN),
    "group_delay": (lambda s, b, a: s.group_delay((b, a), w=5), B, A),
    "bilinear": (lambda s, b, a: s.bilinear(b, a[:2], 2.0), B, A),
    "bilinear of fewer zeros": (lambda s, b, a: s.bilinear(b[:1], a), B, A),
    "bilinear_zpk": (lambda s, *q: s.bilinear_zpk(*q, 2.0), ZEROS, POLES, GAIN),
    "lp2lp": (lambda s, b, a, w: s.lp2lp(b, a, w), B, A, GAIN),
    "lp2hp": (lambda s, b, a, w: s.lp2hp(b, a, w), B, A, GAIN),
    "lp2bp": (lambda s, b, a, w, v: s.lp2bp(b, a, w, v), B, A, GAIN, AT),
    "lp2bs": (lambda s, b, a, w, v: s.lp2bs(b, a, w, v), B, A, GAIN, AT),
    "lp2lp_zpk": (lambda s, *q: s.lp2lp_zpk(*q), ZEROS, POLES, GAIN, AT),
    "lp2hp_zpk": (lambda s, *q: s.lp2hp_zpk(*q), ZEROS, POLES, GAIN, AT),
    "lp2bp_zpk": (lambda s, *q: s.lp2bp_zpk(*q), ZEROS, POLES, GAIN, GAIN, AT),
    "lp2bs_zpk": (lambda s, *q: s.lp2bs_zpk(*q), ZEROS, POLES, GAIN, GAIN, AT),
    "normalize": (lambda s, b, a: s.normalize(b, a), B, A),
    "tf2zpk": (lambda s, b, a: s.tf2zpk(b, a), B, A),
    "zpk2tf": (lambda s, *q: s.zpk2tf(*q), ZEROS, POLES, GAIN),
    "tf2sos": (lambda s, b, a: s.tf2sos(b, a), B, A),
    "sos2tf": (lambda s, q: s.sos2tf(q), sections(SECTIONS)),
    "sos2zpk": (lambda s, q: s.sos2zpk(sections(q)), SECTIONS),
    "zpk2sos": (
        lambda s, k: s.zpk2sos([0.5 + 0.1j, 0.5 - 0.1j], [0.2 + 0.1j, 0.2 - 0.1j], k), GAIN,
    ),
    "tf2ss": (lambda s, b, a: s.tf2ss(b, a), B, A),
    "ss2tf": (lambda s, *q: s.ss2tf(*q), *MATRICES),
    "ss2zpk": (lambda s, *q: s.ss2zpk(*q), *MATRICES),
    "zpk2ss": (lambda s, k: s.zpk2ss([0.5], [0.2, 0.3], k), GAIN),
    "invres": (lambda s, r, p: s.invres(r, p, []), B, 2 * B),
    "invresz": (lambda s, r, p: s.invresz(r, p, [0.3]), B, 2 * B),
    "minimum_phase": (
        lambda s, h: s.minimum_phase(h, n_fft=64), np.array([0.1, 0.4, 0.7, 0.4, 0.1]),
    ),
    "dlsim": (lambda s, u, *q: s.dlsim((*q, 0.5), u), real(6), *DISCRETE),
    "dlsim of a transfer function": (lambda s, u, b, a: s.dlsim((b, a, 0.5), u), real(6), B, A),
    "lsim": (lambda s, u, *q: s.lsim(q, u, np.linspace(0, 1, 6)), real(6), *MATRICES),
    "step": (lambda s, *q: s.step(q, T=np.linspace(0, 1, 5)), *MATRICES),
    "impulse": (lambda s, *q: s.impulse(q, T=np.linspace(0, 1, 5)), *MATRICES),
    "dstep": (lambda s, *q: s.dstep((*q, 0.5), n=5), *DISCRETE),
    "dimpulse": (lambda s, *q: s.dimpulse((*q, 0.5), n=5), *DISCRETE),
    "cont2discrete": (lambda s, *q: s.cont2discrete(q, 0.3)[:4], *MATRICES),
    "cont2discrete, bilinear": (lambda s, *q: s.cont2discrete(q, 0.3, "bilinear")[:4], *MATRICES),
    "firls": (lambda s, g: s.firls(5, [0, 0.4, 0.5, 1.0], g), np.array([1.0, 0.7, 0.1, 0.2])),
    "filtfilt, gust": (
        lambda s, b, a, x: s.filtfilt(b, a, x, method="gust", irlen=4), B, A, real(2, 12),
    ),
    "cspline1d_eval": (lambda s, x: s.cspline1d_eval(x, np.array([1.3, 2.5])), real(6)),
    "cspline1d_eval of a table": (lambda s, x: s.cspline1d_eval(np.arange(6.0) ** 2, x), real(6)),
    "sosfreqz, rate": (lambda s, f: s.sosfreqz(sections(SECTIONS), 5, fs=f), 3.0),
    "bode": (lambda s, b, a: s.bode((b, a), w=GRID), B, A),
    "freqresp": (lambda s, b, a: s.freqresp((b, a), w=GRID), B, A),
    "dbode": (lambda s, b, a: s.dbode((b, a, 0.5), w=GRID), B, A),
    "dfreqresp": (lambda s, b, a: s.dfreqresp((b, a, 0.5), w=GRID), B, A),
    "a system of poles": (
        lambda s, z, p, k: s.dlti(z, p, k, dt=0.5).freqresp(w=GRID), ZEROS, POLES, GAIN,
    ),
}  # fmt: skip


@pytest.mark.thinned(26)
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.filterwarnings("ignore::scipy.signal.BadCoefficients")
def test_changes_of_representation_and_responses_are_differentiable(name: str) -> None:
    call, *arrays = CHANGES[name]
    assert_agrees("scipy.signal", call, *arrays, order=1)


def test_the_bilinear_transform_is_differentiable_in_the_sampling_frequency() -> None:
    slopes = fd.jacobian(lambda f: signal.bilinear(B, A, f)[0])(2.0)
    differences = (
        signal.bilinear(B, A, 2.0 + 1e-6)[0] - signal.bilinear(B, A, 2.0 - 1e-6)[0]
    ) / 2e-6
    np.testing.assert_allclose(slopes, differences, rtol=1e-7)
    np.testing.assert_allclose(
        fd.vjp(lambda b: signal.bilinear(b, A)[0], np.array([0.0, 1.0]))[0],
        signal.bilinear([0.0, 1.0], A)[0],
    )


@pytest.mark.slow
def test_residues_are_differentiable_where_multiplicities_stay() -> None:
    for call in (
        lambda s, b, a: s.residue(b, a),
        lambda s, b, a: s.residuez(b, a),
        lambda s, b, a: s.unique_roots(a, rtype="avg"),
    ):
        assert_agrees("scipy.signal", call, B, CUBIC, order=1, compiled=False, batched=False)
    # two equal roots are one of multiplicity 2, and the mean of both moves with each
    roots = np.array([1.0, 1.0, 3.0])
    found = fd.jacobian(lambda p: signal.unique_roots(p, rtype="avg")[0])(roots)
    np.testing.assert_array_equal(found, [[0.5, 0.5, 0], [0, 0, 1]])


DESIGNS: dict[str, tuple[Any, ...]] = {
    "butter": (lambda s, w: s.butter(3, w), AT),
    "butter, a band": (lambda s, w: s.butter(2, w, "band", output="sos"), BAND),
    "butter, stopping a band": (lambda s, w: s.butter(2, w, "bandstop", output="zpk"), BAND),
    "butter, analog": (lambda s, w: s.butter(3, w, analog=True, output="zpk"), AT),
    "butter, in hertz": (lambda s, w: s.butter(2, w, fs=3.0, output="sos"), AT),
    "cheby1": (lambda s, w, r: s.cheby1(3, r, w, "high"), AT, np.array(1.0)),
    "cheby2": (lambda s, w, r: s.cheby2(2, r, w, output="sos"), AT, np.array(20.0)),
    "ellip": (lambda s, w: s.ellip(3, 1.0, 20.0, w), AT),
    "bessel": (lambda s, w: s.bessel(3, w, output="zpk"), AT),
    "iirfilter": (lambda s, w: s.iirfilter(1, w), BAND),
}


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", DESIGNS)
def test_recursive_filters_are_differentiable_in_their_frequencies(name: str) -> None:
    call, *arrays = DESIGNS[name]
    assert_agrees("scipy.signal", call, *arrays, order=1)


OTHERS: dict[str, tuple[Any, ...]] = {
    "firwin": (lambda s, w: s.firwin(5, w), AT),
    "firwin, a band": (
        lambda s, w, b: s.firwin(5, w, pass_zero=False, window=("kaiser", b)), BAND, GAIN,
    ),
    "firwin2": (lambda s, g: s.firwin2(5, [0, 0.4, 1.0], g), np.array([1.0, 0.7, 0.1])),
    "iirnotch": (lambda s, w, q: s.iirnotch(w, q), AT, np.array(20.0)),
    "iirpeak": (lambda s, w, q: s.iirpeak(w, q), AT, np.array(20.0)),
    "iircomb": (lambda s, q: s.iircomb(0.25, q), np.array(13.0)),
    "iircomb, passing zero": (
        lambda s, q: s.iircomb(0.6, q, "peak", 3.0, pass_zero=True), np.array(13.0),
    ),
    "gammatone": (lambda s, w: s.gammatone(w, "iir"), AT),
    "gammatone of finite length": (lambda s, w: s.gammatone(w, "fir", numtaps=5), AT),
    "kaiser_beta": (lambda s, a: s.kaiser_beta(a), np.array(30.0)),
    "kaiser_atten": (lambda s, w: s.kaiser_atten(30, w), AT),
    "buttord": (lambda s, w: s.buttord(w, 0.5, 3.0, 40.0), np.array(0.1)),
    "cheb1ord": (lambda s, w: s.cheb1ord(w, 0.5, 3.0, 40.0), np.array(0.1)),
}  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", OTHERS)
def test_other_designs_are_differentiable(name: str) -> None:
    call, *arrays = OTHERS[name]
    assert_agrees("scipy.signal", call, *arrays, order=1, batched="ord" not in name)


def test_plain_arguments_are_scipys() -> None:
    np.testing.assert_array_equal(signal.max_len_seq(3)[0], [1, 1, 1, 0, 1, 0, 0])
    assert signal.choose_conv_method(np.ones(3), np.ones(3)) == "direct"
    assert len(signal.remez(5, [0, 0.1, 0.2, 0.5], [1, 0])) == 5


def test_polynomials_of_roots_in_pairs_keep_their_derivatives() -> None:
    def first(cutoff: Any) -> Any:
        return signal.butter(2, cutoff)[0][0]

    h = 1e-6
    difference = (first(0.2 + h) - first(0.2 - h)) / (2 * h)
    np.testing.assert_allclose(fd.grad(first)(0.2), difference, rtol=1e-7)
    np.testing.assert_allclose(fd.jvp(first, (0.2,), (1.0,))[1], difference, rtol=1e-7)


def test_zeros_of_a_filter_come_in_the_order_of_scipys() -> None:
    b = np.array([1.0, 0.0, -0.25])
    expected = scipy.signal.tf2zpk(b, A)
    for ours, theirs in zip(fd.vjp(lambda b: signal.tf2zpk(b, A), b)[0], expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
