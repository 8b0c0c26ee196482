"""Programs with ``import funcdiff.numpy as np``, which a type checker sees as NumPy."""

from typing import assert_type

import numpy
from numpy.typing import NDArray

import funcdiff as fd
import funcdiff.numpy as np
from funcdiff.numpy import linalg
from funcdiff.numpy.linalg import norm
from funcdiff.numpy.random import default_rng

Vector = NDArray[np.float64]


def steps(x: Vector) -> Vector:
    y = np.zeros(3)
    for k in range(3):
        y[k] = x[k] ** 2
    return np.array([[np.cos(y[0]), -np.sin(y[0])], [0.0, 1.0]]) @ y[:2]


def length(x: Vector) -> np.float64:
    return np.sum(steps(x))


def derivatives_have_the_types_of_arguments() -> None:
    x: Vector = np.ones(3)
    assert_type(fd.grad(length)(x), Vector)
    assert_type(np.float64(1.0), numpy.float64)
    assert_type(np.pi, float)
    assert norm(x) == linalg.norm(x) == np.linalg.norm(x)
    assert isinstance(x, np.ndarray)


def everything_of_numpys_has_its_type() -> None:
    assert_type(default_rng(0), numpy.random.Generator)
    assert_type(np.errstate(all="ignore"), numpy.errstate)
    assert_type(np.dtype(np.float32), numpy.dtype[numpy.float32])
    np.testing.assert_allclose(np.fft.rfft(np.ones(2)), numpy.fft.rfft(numpy.ones(2)))
    x: np.typing.NDArray[np.int64] = np.lib.stride_tricks.sliding_window_view(np.arange(3), 2)
    assert np.packbits(np.array([True])).dtype == np.uint8
    assert x.shape == (2, 2)


PROGRAMS = (derivatives_have_the_types_of_arguments, everything_of_numpys_has_its_type)
