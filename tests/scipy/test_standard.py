"""The array API standard on traced arrays: their namespace, and code for any array library."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import UnsupportedNumPyError
from tests.scipy.plain_libraries import CALLS


@pytest.mark.slow
def test_plain_scipy_and_scikit_learn_run_their_own_code_on_traced_arrays() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.scipy.plain_libraries"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count(": ok") == len(CALLS)


def test_traced_arrays_have_a_namespace_of_their_own() -> None:
    def f(x: Any) -> Any:
        xp = x.__array_namespace__(api_version="2024.12")
        assert xp.__name__ == "funcdiff.numpy"
        assert xp.special.gammaln is fd.scipy.special.gammaln
        y = xp.astype(xp.linalg.matrix_norm(xp.fft.fft(xp.stack([x, x]))), xp.float64)
        return y * xp.sum(xp.asarray([x[0], 2.0], device=x.device))

    assert fd.grad(f)(np.ones(3)).shape == (3,)


def test_what_is_asked_of_devices_and_memory_is_answered() -> None:
    def f(x: Any) -> Any:
        assert x.device == "cpu"
        assert x.to_device("cpu", stream=None) is x
        assert x.flags.c_contiguous
        assert x.flags["F_CONTIGUOUS"]
        assert not x.flags.writeable
        for name in (*dir(np.ndarray), "no_such_name", "__dlpack__", "__cuda_array_interface__"):
            assert hasattr(x, name) in (True, False)
        assert not hasattr(x, "strides")
        with pytest.raises(UnsupportedNumPyError, match="device"):
            x.to_device("gpu")
        with pytest.raises(UnsupportedNumPyError, match="stream"):
            x.to_device("cpu", stream=1)
        return fnp.sum(x)

    assert fd.grad(f)(np.ones((1, 2))).tolist() == [[1.0, 1.0]]
