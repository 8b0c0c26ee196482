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
from funcdiff.scipy.array_api import apply_where, at, is_lazy_array
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
        assert x.flags.writeable
        for name in (*dir(np.ndarray), "no_such_name", "__dlpack__", "__cuda_array_interface__"):
            assert hasattr(x, name) in (True, False)
        assert not hasattr(x, "strides")
        with pytest.raises(UnsupportedNumPyError, match="device"):
            x.to_device("gpu")
        with pytest.raises(UnsupportedNumPyError, match="stream"):
            x.to_device("cpu", stream=1)
        return fnp.sum(x)

    assert fd.grad(f)(np.ones((1, 2))).tolist() == [[1.0, 1.0]]


def test_attributes_of_matrices_are_absent_from_vectors() -> None:
    def f(x: Any) -> Any:
        assert not hasattr(x, "mT")
        assert not hasattr(x[0], "mT")
        assert hasattr(x[None], "mT")
        with pytest.raises(ValueError, match="mT needs two axes, and the array has 1, at "):
            _ = x.mT
        return fnp.sum(x)

    fd.grad(f)(np.ones(3))


@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("stable", [True, None])
def test_orders_are_descending_where_the_standard_has_it(axis: Any, stable: Any) -> None:
    a = np.array([[2.0, 1.0, 3.0], [1.0, 1.0, 0.0]])
    how = {"axis": axis, "stable": stable}
    np.testing.assert_array_equal(fnp.sort(a, **how), np.sort(a, **how))
    np.testing.assert_array_equal(fnp.argsort(a, **how), np.argsort(a, **how))
    how["descending"] = True
    np.testing.assert_array_equal(fnp.sort(a, **how), -np.sort(-a, axis=axis))
    places = fnp.argsort(a, **{**how, "stable": True})
    np.testing.assert_array_equal(places, np.argsort(-a, axis=axis, stable=True))

    def ordered(x: Any) -> Any:
        xp = x.__array_namespace__()
        places = xp.argsort(x, axis=axis, descending=True, stable=True)
        taken = np.take_along_axis(x, places, axis)
        return xp.sort(x, **how), taken

    for value, tangent in zip(*fd.jvp(ordered, (a,), (2 * a,)), strict=True):
        np.testing.assert_array_equal(value, -np.sort(-a, axis=axis))
        np.testing.assert_array_equal(tangent, 2 * value)


def test_what_is_asked_of_memory_is_answered_as_numpy_does() -> None:
    unknown: Any = "1999.12"

    def f(x: Any) -> Any:
        assert fnp.from_dlpack(x) is x
        assert fnp.from_dlpack(x, copy=True) is not x
        assert fnp.asarray(x, copy=False) is x
        fnp.reshape(x, (3, 2), copy=False)[0] *= 2.0
        for fails in (
            lambda: fnp.asarray(x, dtype=np.float32, copy=False),
            lambda: fnp.asarray([x[0, 0]], copy=False),
            lambda: fnp.reshape(x.T, (6,), copy=False),
            lambda: x.__array_namespace__(api_version=unknown),
        ):
            with pytest.raises(ValueError, match=r"void|not supported"):
                fails()
        assert fnp.count_nonzero(x[0, 0], axis=-1) == 1
        return fnp.sum(x)

    name = "__array_api_version__"
    assert getattr(fnp, name) == getattr(np, name)
    assert fd.grad(f)(np.ones((2, 3))).tolist() == [[2.0, 2.0, 1.0], [1.0, 1.0, 1.0]]


def test_frequencies_have_the_dtype_that_is_asked_for() -> None:
    def f(x: Any) -> Any:
        xp = x.__array_namespace__()
        for name in ("fftfreq", "rfftfreq"):
            found = getattr(xp.fft, name)(5, d=0.5, dtype=xp.float32, device="cpu")
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, getattr(np.fft, name)(5, 0.5), rtol=1e-6)
        return xp.sum(xp.fft.fftfreq(3, d=x)[1:2])

    assert fd.grad(f)(2.0) == pytest.approx(-1 / 12)


# ---- beyond the standard -------------------------------------------------------------------------


def test_only_an_array_without_values_is_lazy() -> None:
    seen: list[bool] = []

    def look(x: Any) -> Any:
        seen.append(is_lazy_array(x))
        return 2 * x

    look(1.0)
    fd.grad(look)(1.0)
    fd.jit(look)(1.0)
    assert not any(seen)
    fd.vmap(look)(np.ones(2))
    assert seen[-1]


def test_other_entries_are_set_in_arrays_and_scalars() -> None:
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(
        fd.jacobian(lambda x: at(x)[x > 1.5].set(0.0))(x), np.diag([1.0, 0.0, 0.0])
    )
    np.testing.assert_array_equal(at(x, 1).add(5.0), [1.0, 7.0, 3.0])
    np.testing.assert_array_equal(at(x)[1:].divide(2.0), [1.0, 1.0, 1.5])
    np.testing.assert_array_equal(at(x)[1:].multiply(x[:2]), [1.0, 2.0, 6.0])
    np.testing.assert_array_equal(at(x)[0].subtract(1.0), [0.0, 2.0, 3.0])
    assert fd.grad(lambda x: at(x)[x > 5].set(np.nan))(2.0) == 1.0
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_what_is_not_taken_has_no_part_in_the_derivative() -> None:
    def root(x: float) -> float:
        found: float = apply_where(x > 0, x, np.sqrt, fill_value=0.0)
        return found

    assert fd.grad(root)(4.0) == 0.25
    assert fd.grad(root)(-4.0) == 0.0
    assert fd.grad(lambda x: apply_where(x > 0, (x, x), np.multiply, np.add))(-4.0) == 2.0
