"""``scipy.signal`` for traced arrays: ``from funcdiff.scipy import signal``.

Filters are differentiable in the signal, in their coefficients and, where SciPy designs them, in
the critical frequencies.  Numbers of points, orders and places of peaks have no derivative.

Examples
--------
>>> import numpy as np
>>> import funcdiff as fd
>>> from funcdiff.scipy import signal
>>> def gain(cutoff):
...     b, a = signal.butter(2, cutoff)
...     return abs(signal.freqz(b, a, worN=[0.5])[1][0])
>>> print(round(gain(0.2), 6), round(fd.grad(gain)(0.2), 6))
0.850824 2.511105
"""

import funcdiff.scipy.fft
import funcdiff.scipy.interpolate
import funcdiff.scipy.linalg
import funcdiff.scipy.signal.convolutions
import funcdiff.scipy.signal.filters
import funcdiff.scipy.signal.peaks
import funcdiff.scipy.signal.periodic_waves
import funcdiff.scipy.signal.ranks
import funcdiff.scipy.signal.segments
import funcdiff.scipy.signal.transfer_functions
import funcdiff.scipy.signal.windows  # noqa: F401
from funcdiff.scipy.borrowed import borrow_classes, borrow_functions
from funcdiff.scipy.covered import namespace

borrow_functions(
    "scipy.signal",
    "choose_conv_method convolve convolve2d correlate correlate2d deconvolve fftconvolve "
    "oaconvolve wiener",
)
borrow_functions(
    "scipy.signal", "decimate detrend filtfilt savgol_coeffs savgol_filter sosfilt_zi sosfiltfilt"
)
borrow_functions("scipy.signal", "czt envelope hilbert hilbert2 resample resample_poly zoom_fft")
borrow_functions(
    "scipy.signal",
    "closest_STFT_dual_window coherence csd istft lombscargle periodogram spectrogram stft "
    "vectorstrength welch",
)
borrow_functions(
    "scipy.signal",
    "bode dbode dfreqresp freqresp freqs freqs_zpk freqz freqz_sos freqz_zpk group_delay sosfreqz",
)
borrow_functions(
    "scipy.signal",
    "bilinear_zpk lp2bp lp2bp_zpk lp2bs lp2bs_zpk lp2hp lp2hp_zpk lp2lp lp2lp_zpk minimum_phase "
    "normalize sos2tf sos2zpk ss2tf ss2zpk tf2sos tf2ss tf2zpk zpk2sos zpk2ss zpk2tf "
    "abcd_normalize cont2discrete",
)
borrow_functions(
    "scipy.signal",
    "bessel butter cheby1 cheby2 ellip firls firwin firwin2 firwin_2d gammatone iirdesign "
    "iirfilter iirnotch iirpeak",
    note="Differentiable in critical frequencies, ripples and gains; its order is a constant.",
)
borrow_functions(
    "scipy.signal",
    "band_stop_obj buttord cheb1ord cheb2ord ellipord kaiser_atten kaiser_beta kaiserord",
    note="The order is a constant.",
)
borrow_functions(
    "scipy.signal", "besselap buttap cheb1ap cheb2ap correlation_lags ellipap findfreqs"
)
borrow_functions("scipy.signal", "dimpulse dlsim dstep impulse lsim step")
borrow_functions("scipy.signal", "invres invresz residue residuez")
borrow_functions("scipy.signal", "chirp gausspulse get_window sweep_poly")
borrow_functions("scipy.signal", "cspline1d gauss_spline qspline1d")
borrow_functions("scipy.signal", "cspline1d_eval qspline1d_eval", read=0)
borrow_functions(
    "scipy.signal",
    "argrelextrema argrelmax argrelmin find_peaks peak_prominences peak_widths",
    note="Places are constants, found in values; under jit they decide, but for widths.",
)
borrow_classes(
    "scipy.signal", "CZT ShortTimeFFT StateSpace TransferFunction ZerosPolesGain ZoomFFT dlti lti"
)

_COMPILED = "SciPy's routine is compiled, and has no derivative here. "
_WHOLE = "It takes whole numbers and plain flags. Give it plain ones: len(x), not x."

__getattr__, __dir__ = namespace(
    "scipy.signal",
    {
        "max_len_seq unit_impulse": _WHOLE,
        "check_COLA check_NOLA": (
            "It checks the values of a window, and returns a flag. Call it on plain arrays."
        ),
        "find_peaks_cwt": (
            "It counts ridges of a wavelet transform. Use find_peaks, whose properties are "
            "differentiable."
        ),
        "czt_points": (
            "It returns the points of a spiral. Write them as a * w**-np.arange(m), which is it."
        ),
        "cspline2d qspline2d spline_filter": f"{_COMPILED}Use cspline1d along each axis.",
        "symiirorder1 symiirorder2": f"{_COMPILED}Use filtfilt or sosfiltfilt.",
        "whittaker_henderson": (
            "It calls LAPACK itself. Solve (W + lamb D.T D) x = W y by scipy.linalg.solveh_banded, "
            "with D = np.diff(np.eye(n), order, axis=0)."
        ),
        "place_poles": f"{_COMPILED}Give the gains to fd.custom_root with the wanted poles.",
        "remez": f"{_COMPILED}Use firls or firwin2, which are differentiable in their gains.",
    },
)
