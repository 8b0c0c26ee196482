"""``np.fft``: NumPy's values bit for bit, with every keyword, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import UnsupportedNumPyError
from tests.numpy.agreement import assert_derivatives, assert_value, value_under_trace

Function = Callable[..., Any]


FFT: Any = np.fft

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(3, 4, 5))
V = RANDOM.normal(size=7)
Z = RANDOM.normal(size=(3, 4, 5)) + 1j * RANDOM.normal(size=(3, 4, 5))
W = RANDOM.normal(size=6) + 1j * RANDOM.normal(size=6)

LINES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
PLANES = ("fft2", "ifft2", "rfft2", "irfft2")
BOXES = ("fftn", "ifftn", "rfftn", "irfftn")


# ---- one axis ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["irfft", "hfft"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 9, 10, 11, 14, 15])
def test_irfft_gives_the_imaginary_parts_of_its_ends_a_zero_gradient(name: str, n: int) -> None:
    """The mean and, of an even number of points, the highest frequency are real."""
    transform, v = getattr(np.fft, name), RANDOM.normal(size=n)
    gradient = fd.grad(lambda z: np.sum(v * transform(z, n)))(W)
    real = [np.sum(v * transform(row, n)) for row in np.eye(6)]
    imaginary = [np.sum(v * transform(1j * row, n)) for row in np.eye(6)]
    np.testing.assert_allclose(gradient.real, real, atol=1e-14)
    np.testing.assert_allclose(gradient.imag, imaginary, atol=1e-14)
    assert gradient[0].imag == 0
    assert n % 2 == 1 or n > 10 or gradient[n // 2].imag == 0
    np.testing.assert_array_equal(gradient[n // 2 + 1 :], 0)


# ---- several axes ------------------------------------------------------------------------------


def test_without_axes_the_array_itself_is_returned() -> None:
    for f in (np.fft.fftn, np.fft.ifftn):
        assert_value(lambda x, f=f: f(x, axes=()), X)
        assert_value(f, np.float64(3.0))

    def changed(x: Any) -> Any:
        y = 1 * x
        z = FFT.fftn(y, axes=())
        z *= 2
        return y

    np.testing.assert_array_equal(fd.vjp(changed, V)[0], changed(V))


@pytest.mark.parametrize("given", [{"s": (3, 2)}, {"s": (3, None), "axes": (0, 1)}], ids=str)
@pytest.mark.parametrize("name", BOXES)
def test_what_numpy_deprecates_warns_and_works(name: str, given: dict[str, Any]) -> None:
    def f(x: Any) -> Any:
        return getattr(np.fft, name)(x, **given)

    with pytest.warns(DeprecationWarning, match="NumPy 2.0"):
        expected = f(X)
    with pytest.warns(DeprecationWarning, match="NumPy 2.0"):
        np.testing.assert_array_equal(value_under_trace(f, X), expected)


# ---- the order of frequencies ------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 7, 8, np.int64(5)])
@pytest.mark.parametrize("frequencies", ["fftfreq", "rfftfreq"])
def test_the_spacing_of_frequencies_is_differentiated(frequencies: str, n: int) -> None:
    for module in (FFT, fnp.fft):
        f = getattr(module, frequencies)
        assert_value(lambda d, f=f: f(n, d), np.float64(0.3))
        assert_derivatives(lambda d, f=f: f(n, d), np.float64(0.3))
    np.testing.assert_array_equal(getattr(fnp.fft, frequencies)(n), getattr(FFT, frequencies)(n))


# ---- dtypes --------------------------------------------------------------------------------------


def test_integers_flow_as_constants() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.abs(np.fft.fft(np.argsort(x))) + np.fft.irfft(np.argsort(x), 7) * x)

    np.testing.assert_array_equal(fd.grad(f)(V), np.fft.irfft(np.argsort(V), 7))


# ---- out= ----------------------------------------------------------------------------------------

WRITTEN: list[Function] = [
    lambda z: FFT.fft(z, axis=1, out=np.zeros_like(z)),
    lambda z: FFT.ifft(z[0], norm="forward", out=np.zeros_like(z)[0]),
    lambda z: FFT.rfft(z.real, 8, out=np.zeros_like(z)),
    lambda z: FFT.irfft(z, 5, out=np.zeros_like(z.real)),
    lambda z: FFT.irfft(z, 5, out=np.zeros_like(z)),
    lambda z: FFT.ihfft(z.real, 9, out=np.zeros_like(z)),
    lambda z: FFT.fftn(z, out=np.zeros_like(z)),
    lambda z: FFT.fft2(z, norm="ortho", out=np.zeros_like(z)),
    lambda z: FFT.ifftn(z, axes=(2, 0), out=np.zeros_like(z)),
    lambda z: FFT.rfftn(z.real, out=np.zeros_like(z)[..., :3]),
    lambda z: FFT.irfftn(z, (3, 5), (0, 2), out=np.zeros_like(z.real)),
]


@pytest.mark.parametrize("f", WRITTEN)
def test_a_traced_array_takes_the_result(f: Function) -> None:
    assert_value(f, Z)
    assert_derivatives(lambda z: f(np.sin(z)), Z, order=1)


def test_every_step_is_rounded_to_the_array_that_takes_the_result() -> None:
    assert_value(lambda z: FFT.fftn(z, out=np.zeros_like(z, dtype=np.complex64)), Z)


def test_the_operand_may_be_overwritten() -> None:
    def f(z: Any) -> Any:
        y = 1 * z
        assert FFT.fft2(y, out=y) is y
        assert FFT.ihfft(y.real, 9, out=y) is y
        return y

    assert_value(f, Z)


INNER = {
    "ihfft": "rfft", "fft2": "fft", "fftn": "fft", "ifftn": "ifft", "rfft2": "rfft",
    "rfftn": "rfft", "irfftn": "irfft",
}  # fmt: skip
"""Which function of one axis refuses for those that NumPy composes of such."""


@pytest.mark.parametrize("name", [*LINES, *PLANES, *BOXES])
def test_an_ordinary_array_does_not_take_the_result(name: str) -> None:
    with pytest.raises(UnsupportedNumPyError, match=rf"np\.fft\.{INNER.get(name, name)}\(out=\)"):
        fd.vjp(lambda x: getattr(FFT, name)(x, out=np.empty((3, 4, 5), complex)), X)


@pytest.mark.parametrize("name", ["hfft", "ifft2", "irfft2"])
def test_an_out_that_numpy_leaves_untouched_is_refused(name: str) -> None:
    with pytest.raises(UnsupportedNumPyError, match="NumPy itself does not write to it"):
        fd.vjp(lambda x: getattr(FFT, name)(x, out=np.zeros_like(x)), X)


# ---- errors --------------------------------------------------------------------------------------

WRONG: list[tuple[Function, type[Exception], str]] = [
    (lambda x: FFT.fft(x, n=0), ValueError, r"Invalid number of FFT data points \(0\) specified"),
    (lambda x: FFT.fft(x, n=-2), ValueError, r"Invalid number of FFT data points \(-2\)"),
    (lambda x: FFT.irfft(x[..., :1]), ValueError, r"data points \(0\) .*in np.fft.irfft"),
    (lambda x: FFT.rfft(x[..., :0]), ValueError, r"data points \(0\) .*axis 2"),
    (lambda x: FFT.fft(x, n=2.0), TypeError, "cannot be interpreted as an integer"),
    (lambda x: FFT.fft(x, axis=3), IndexError, "axis 3 is out of bounds"),
    (lambda x: FFT.fft(x[0, 0, 0]), IndexError, "out of bounds for array of dimension 0"),
    (lambda x: FFT.fft2(x[0, 0]), IndexError, "index -2 is out of bounds"),
    (lambda x: FFT.fftn(x, axes=(0, 5)), IndexError, "index 5 is out of bounds"),
    (lambda x: FFT.fftshift(x, axes=4), IndexError, r"in np.fft.fftshift\(f64\[3,4,5\], axes=4"),
    (lambda x: FFT.rfft(x * 1j), TypeError, "np.fft.rfft takes real numbers, not complex128"),
    (lambda x: FFT.ihfft(x * 1j), TypeError, "takes real numbers, not complex128"),
    (lambda x: FFT.rfftn(x * 1j), TypeError, "np.fft.rfft takes real numbers"),
    (lambda x: FFT.fft(x, norm="unit"), ValueError, "Invalid norm value unit; should be"),
    (lambda x: FFT.hfft(x, norm="unit"), ValueError, "Invalid norm value unit; should be"),
    (lambda x: FFT.ifftn(x, norm=2), ValueError, "Invalid norm value 2; should be"),
    (lambda x: FFT.fftn(x, s=(3,), axes=(0, 1)), ValueError, "different lengths"),
    (lambda x: FFT.fftn(x, s=3, axes=(0,)), TypeError, r"not iterable\s.*np.fft.fftn\(.*s=3"),
    (lambda x: FFT.fftn(x, axes=0), TypeError, r"not iterable\s.*np.fft.fftn\(.*axes=0"),
    (lambda x: FFT.rfftn(x, axes=()), IndexError, r"in np.fft.rfftn\(f64\[3,4,5\], axes=\(\)"),
    (lambda x: FFT.irfftn(x, s=(), axes=()), IndexError, r"in np.fft.irfftn\(f64\[3,4,5\], s=\(\)"),
    (lambda x: FFT.fft(x, out=np.zeros_like(x)), TypeError, "cannot cast the result"),
    (lambda x: FFT.irfft(x, 4, out=np.zeros_like(x)), ValueError, "out= has shape"),
]


@pytest.mark.parametrize(("f", "error", "message"), WRONG, ids=[w[2] for w in WRONG])
def test_what_numpy_refuses_is_refused(f: Function, error: type[Exception], message: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError)):
        f(X)
    with pytest.raises(error, match=message) as raised:
        fd.vjp(f, X)
    notes = getattr(raised.value, "__notes__", [])
    assert "test_fourier.py" in "\n".join([str(raised.value), *notes])


# ---- batches, the namespace, cost ----------------------------------------------------------------


def test_lists_of_traced_numbers_are_transformed_in_our_namespace() -> None:
    gradient = fd.grad(lambda x, y: np.sum(fnp.fft.fft([x, y, x * y]).real), argnums=(0, 1))
    assert gradient(2.0, 3.0) == (3.0, 0.0)
    assert "irfftn" in dir(fnp.fft)


@pytest.mark.parametrize("name", [*LINES, *PLANES, *BOXES])
def test_the_gradient_costs_as_many_transforms_as_the_function(name: str) -> None:
    def energy(x: Any) -> Any:
        return np.sum(np.abs(getattr(np.fft, name)(x)) ** 2)

    gradient, value = fd.trace(fd.grad(energy))(X), fd.trace(energy)(X)
    assert _transforms(gradient) == 2 * _transforms(value) > 0


def _transforms(program: Any) -> int:
    return sum(str(program).count(f"= {name}{{") for name in ("fft", "ifft", "rfft", "irfft"))
