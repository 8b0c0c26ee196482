"""`scipy.fft` for traced arrays: under our name and, by its own protocol, under SciPy's."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.fft

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.rules.sample import complex_, real
from tests.scipy.agreement import Call, assert_agrees

REAL, COMPLEX = real(2, 4), complex_(3, 2)

TRANSFORMS: dict[str, tuple[Call, np.ndarray]] = {
    "fft": (lambda s, z: s.fft(z), COMPLEX),
    "fft of real numbers, padded": (lambda s, x: s.fft(x, 7, norm="ortho"), REAL),
    "ifft, cropped": (lambda s, z: s.ifft(z, 3, axis=0, norm="forward"), COMPLEX),
    "rfft": (lambda s, x: s.rfft(x, workers=2), REAL),
    "irfft": (lambda s, z: s.irfft(z, norm="ortho"), COMPLEX),
    "irfft of real numbers": (lambda s, x: s.irfft(x, 7, axis=0), REAL),
    "hfft": (lambda s, z: s.hfft(z, 5, norm="forward"), COMPLEX),
    "ihfft": (lambda s, x: s.ihfft(x, 4, norm="forward"), REAL),
    "fft2": (lambda s, z: s.fft2(z + 0, overwrite_x=True), COMPLEX),
    "ifft2": (lambda s, z: s.ifft2(z, (3, -1)), COMPLEX),
    "rfft2": (lambda s, x: s.rfft2(x, norm="forward"), REAL),
    "irfft2": (lambda s, z: s.irfft2(z, (4, 3)), COMPLEX),
    "hfft2": (lambda s, z: s.hfft2(z, norm="ortho"), COMPLEX),
    "ihfft2": (lambda s, x: s.ihfft2(x, axes=(1, 0)), REAL),
    "fftn": (lambda s, z: s.fftn(z, axes=(0,)), COMPLEX),
    "fftn along no axis": (lambda s, z: s.fftn(z, axes=()), COMPLEX),
    "ifftn": (lambda s, z: s.ifftn(z, norm="ortho"), COMPLEX),
    "rfftn": (lambda s, x: s.rfftn(x, (4, 4)), REAL),
    "irfftn": (lambda s, z: s.irfftn(z, axes=(1, 0)), COMPLEX),
    "hfftn": (lambda s, z: s.hfftn(z, (2, 6), norm="forward"), COMPLEX),
    "ihfftn": (lambda s, x: s.ihfftn(x, norm="ortho"), REAL),
    "shifts": (lambda s, x: (s.fftshift(x), s.ifftshift(x, axes=1)), REAL),
    "frequencies": (lambda s, d: (s.fftfreq(5, d), s.rfftfreq(4, d)), np.array(0.3)),
    "dct of a complex array": (lambda s, z: s.dct(z, axis=0), COMPLEX),
    "dstn of a complex array": (lambda s, z: s.dstn(z, 3, norm="ortho"), COMPLEX),
    "dctn": (lambda s, x: s.dctn(x, 1, norm="ortho", orthogonalize=False), REAL),
    "idctn": (lambda s, x: s.idctn(x, 2, s=(4, 3), axes=(1, 0)), REAL),
    "idstn": (lambda s, x: s.idstn(x, 3, norm="forward", axes=0), REAL),
    "fht": (lambda s, x: s.fht(x, 0.1, 0.6, offset=0.2, bias=-0.1), REAL),
    "ifht": (lambda s, x: s.ifht(x[:, 1:], 0.1, 0.6, bias=0.1), REAL),
}


@pytest.mark.thinned(13)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_has_scipys_values_and_all_derivatives(name: str) -> None:
    assert_agrees("scipy.fft", *TRANSFORMS[name], order=1)


@pytest.mark.slow
def test_the_hankel_transform_is_differentiable_in_its_parameters() -> None:
    parameters = map(np.array, (0.1, 0.6, 0.2, 0.1))
    assert_agrees(
        "scipy.fft", lambda s, x, *p: (s.fht(x, *p), s.ifht(x, *p)), REAL[0, 1:], *parameters
    )
    assert_agrees("scipy.fft", lambda s, *p: s.fhtoffset(*p), *map(np.array, (0.1, 0.6, 0.6)))


@pytest.mark.parametrize("bias", [-2.0, 2.0])
def test_a_singular_hankel_transform_is_computed_as_scipys(bias: float) -> None:
    for name in ("fht", "ifht"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(scipy.fft, name)(REAL, 0.1, 1.0, bias=bias)
        found = fd.vjp(lambda x: getattr(fd.scipy.fft, name)(x, 0.1, 1.0, bias=bias), REAL)[0]  # noqa: B023
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_scipys_own_functions_reach_traced_arrays_by_their_protocol() -> None:
    for name, (call, x) in list(TRANSFORMS.items())[:21]:
        found = fd.vjp(lambda x: call(scipy.fft, x), x)[0]  # noqa: B023
        np.testing.assert_allclose(found, call(scipy.fft, x), rtol=1e-12, atol=1e-14, err_msg=name)
    np.testing.assert_allclose(
        fd.jacobian(scipy.fft.dct)(REAL[0]), scipy.fft.dct(np.eye(4), axis=0), atol=1e-14
    )
    np.testing.assert_allclose(fd.vmap(scipy.fft.idst)(REAL), scipy.fft.idst(REAL), rtol=1e-12)


@pytest.mark.slow
def test_the_protocol_is_answered_from_the_first_trace_on_after_an_import() -> None:
    program = (
        "import funcdiff as fd, numpy as np, sys\n"
        "fd.grad(lambda x: x)(1.0); assert 'scipy.fft' not in sys.modules\n"
        "import scipy.fft\n"
        "print(fd.grad(lambda x: np.sum(scipy.fft.dct(x)))(np.ones(1)))\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (found.stdout.strip(), found.stderr) == ("[2.]", "")


def test_what_cannot_be_honoured_is_refused_as_scipy_refuses_it() -> None:
    fft = fd.scipy.fft
    for wrong, kind, message in (
        (lambda x: fft.fft(x, plan=1), NotImplementedError, "plan"),
        (lambda x: fft.rfft(x + 1j), TypeError, "real sequence"),
        (lambda x: fft.fft(x, 0), ValueError, "data points"),
        (lambda x: fft.fft(x, norm="half"), ValueError, "norm"),
        (lambda x: fft.fftn(x, axes=(0, 0)), ValueError, "unique"),
        (lambda x: fft.dct(x, 5), ValueError, "type"),
        (lambda x: fft.fft(x, workers=0), ValueError, "workers"),
        (lambda x: fft.next_fast_len(x[0, 0]), UnsupportedNumPyError, "whole numbers"),
    ):
        with pytest.raises(kind, match=message):
            fd.vjp(wrong, REAL)


def test_lengths_are_scipys() -> None:
    assert fd.scipy.fft.next_fast_len(11, real=True) == scipy.fft.next_fast_len(11, real=True)
