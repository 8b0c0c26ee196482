"""Existing programs run with ``import funcdiff.numpy as np`` in place of ``import numpy as np``.

Each is written once, for any namespace: plain NumPy gives the values and central differences.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import LostDerivativeError
from tests.differences import differences

Program = Callable[[Any, Any], Any]


def oscillator(np: Any, x: Any) -> Any:
    """Fill arrays in a loop, as schemes for differential equations do."""
    n = 12
    position, speed = np.zeros(n), np.empty_like(np.zeros(n))
    position[0], speed[0] = x[0], x[1]
    for k in range(n - 1):
        speed[k + 1] = speed[k] - 0.1 * np.sin(position[k])
        position[k + 1] = position[k] + 0.1 * speed[k + 1]
    return np.array([np.mean(position**2), position[-1], np.linalg.norm(speed)])


def rotated(np: Any, x: Any) -> Any:
    """Make a rotation matrix of its elements, and turn points by it."""
    c, s = np.cos(x[0]), np.sin(x[0])
    turned = np.array([[c, -s], [s, c]]) @ np.array([[1.0, 0.0, 2.0], [0.0, x[1], 1.0]])
    return np.concatenate([turned.sum(axis=1), [np.trace(turned[:, :2]), x[2]]])


def heat(np: Any, x: Any) -> Any:
    """Step the heat equation with two buffers that change places."""
    u, new = np.full(8, x[0]), np.zeros((8,), dtype=np.float64)
    u[3:5] = x[1]
    for _ in range(5):
        new[1:-1] = u[1:-1] + 0.2 * x[2] * (u[2:] - 2 * u[1:-1] + u[:-2])
        new[0] = new[-1] = 0.0
        u, new = new, u
    return u


def fitted(np: Any, x: Any) -> Any:
    """Sum a list, and take extremes of tuples of numbers."""
    times, data = [0.0, 0.5, 1.0, 1.5], [1.0, 0.7, 0.3, 0.2]
    misfit = np.sum([(x[0] * np.exp(-x[1] * t) - d) ** 2 for t, d in zip(times, data, strict=True)])
    spread = np.max((x[0], x[1], x[2])) - np.min([x[0], x[1], x[2]])
    return misfit + np.dot([x[0], x[1], 1.0], [0.5, x[2], 2.0]) + spread + np.hypot(x[0], x[1])


def filtered(np: Any, x: Any) -> Any:
    """Run a Kalman filter, with matrices that are written into, over a few measurements."""
    step, mean, spread = np.eye(2), np.zeros(2), np.identity(2) * x[2] ** 2
    step[0, 1] = x[0]
    read, noise = np.array([[1.0, 0.0]]), np.array([[0.5 + x[1] ** 2]])
    logs = []
    for z in [0.3, 0.9, 1.4]:
        mean, spread = step @ mean, step @ spread @ step.T + 0.1 * np.eye(2)
        innovation = read @ spread @ read.T + noise
        gain = spread @ read.T @ np.linalg.inv(innovation)
        error = z - read @ mean
        logs.append(np.log(innovation[0, 0]) + error[0] ** 2 / innovation[0, 0])
        mean = mean + gain @ error
        spread = (np.eye(2) - gain @ read) @ spread
    return np.append(mean, np.sum(logs))


def robust(np: Any, x: Any) -> Any:
    """Sort, mask and pad."""
    ordered = np.sort(np.hstack([x, x[0] * x[1], 0.25]))
    capped = np.where(ordered > 1.0, 1.0 + np.log(np.maximum(ordered, 1.0)), ordered)
    weights = np.ones_like(capped)
    weights[0] = weights[-1] = x[2]
    return np.average(capped, weights=weights) + np.median([x[0], x[1], x[2]]) * np.pi


def elementwise(np: Any, x: Any) -> Any:
    """Do to arrays of any length what existing code does: a buffer, an index and a copy."""
    y = np.empty(x.shape)
    for k in range(len(x)):
        y[k] = x[k] ** 2
    z = np.zeros_like(y)
    z[...] = np.array([2.0 * v for v in y]) if len(x) else y
    return np.concatenate([y, z, np.cumsum(y)])


PROGRAMS: list[Program] = [oscillator, rotated, heat, fitted, filtered, robust, elementwise]
POINT = numpy.array([0.7, 1.3, 0.4])


def assert_differentiated(program: Program, x: Any) -> None:
    def f(x: Any) -> Any:
        return program(fnp, x)

    plain = program(numpy, x)
    outside = f(x)
    assert type(outside) is type(plain)
    numpy.testing.assert_array_equal(outside, plain)
    value, pull = fd.vjp(f, x)
    assert type(value) is type(plain)
    assert value.dtype == plain.dtype
    numpy.testing.assert_allclose(value, plain, rtol=1e-13)
    expected = differences(lambda x: program(numpy, x), x, 1e-5)
    for jacobian in (fd.jacrev(f)(x), fd.jacfwd(f)(x), fd.jit(fd.jacrev(f))(x)):
        numpy.testing.assert_allclose(jacobian, expected, rtol=2e-7, atol=2e-9)
    weights = numpy.cos(numpy.arange(plain.size, dtype=float)).reshape(plain.shape)
    batch = numpy.stack([x, 0.9 * x, x + 0.01])
    slopes = fd.jit(fd.vmap(fd.grad(lambda x: numpy.sum(weights * f(x)))))(batch)
    for row, slope in zip(batch, slopes, strict=True):
        wanted = differences(lambda x: numpy.sum(weights * program(numpy, x)), row, 1e-5)
        numpy.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8)
    numpy.testing.assert_allclose(pull(weights)[0], slopes[0], rtol=1e-10, atol=1e-12)


@pytest.mark.thinned(10)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_has_numpys_values_and_its_derivatives(program: Program) -> None:
    assert_differentiated(program, POINT)


@pytest.mark.parametrize("size", [0, 1])
def test_few_elements_are_no_exception(size: int) -> None:
    assert_differentiated(elementwise, POINT[:size])


def test_a_program_runs_in_the_body_of_a_loop() -> None:
    def step(np: Any, x: Any) -> Any:
        y = np.zeros(2)
        y[0], y[1] = x, np.sum([x, x**2])
        turn = np.eye(2)
        turn[0, 1] = x
        return np.max([0.1 * (turn @ y)[0], 0.0])

    def looped(x: Any) -> Any:
        return fd.fori_loop(0, 3, lambda _, x: step(fnp, x), x)

    def plain(x: Any) -> Any:
        for _ in range(3):
            x = step(numpy, x)
        return x

    numpy.testing.assert_allclose(looped(1.5), plain(1.5), rtol=1e-14)
    slope = (plain(1.5 + 1e-6) - plain(1.5 - 1e-6)) / 2e-6
    numpy.testing.assert_allclose(fd.grad(looped)(1.5), slope, rtol=1e-8)
    numpy.testing.assert_allclose(fd.jit(fd.grad(looped))(1.5), slope, rtol=1e-8)


# ---- plain values ------------------------------------------------------------------------------


def test_plain_arguments_give_what_numpy_gives() -> None:
    records = numpy.arange(2.0).view(numpy.recarray)
    cases: list[Callable[[Any], Any]] = [
        lambda np: np.asanyarray(records),
        lambda np: np.asarray([[1, 2], [3, 4]], float, "F"),
        lambda np: np.full((2, 2), 1, float, "F"),
        lambda np: np.zeros((2, 3), order="F"),
        lambda np: np.eye(2, 3, 1),
        lambda np: np.identity(2, dtype=int),
        lambda np: np.fromiter((k for k in range(3)), float),
        lambda np: np.sum([1, 2]),
        lambda np: np.float32(1) + np.int64(2),
        lambda np: np.finfo(np.float32).eps,
        lambda np: np.lib.stride_tricks.sliding_window_view(np.arange(4), 2),
        lambda np: np.random.default_rng(3).normal(size=2),
        lambda np: np.vectorize(lambda x: x + 1)([1, 2]),
        lambda np: np.polynomial.Polynomial([1.0, 2.0])(3.0),
        lambda np: np.arange(3).view(np.ndarray),
    ]
    for f in cases:
        ours, plain = f(fnp), f(numpy)
        assert type(ours) is type(plain)
        assert ours.dtype == plain.dtype
        assert getattr(ours, "flags", None) is None or ours.flags.f_contiguous == (
            plain.flags.f_contiguous
        )
        numpy.testing.assert_array_equal(ours, plain)
    assert isinstance(fnp.zeros(2), fnp.ndarray)


def test_types_constants_and_contexts_are_numpys() -> None:
    for name in ("float64", "ndarray", "pi", "errstate", "ufunc", "exp", "newaxis", "load"):
        assert getattr(fnp, name) is getattr(numpy, name)
    with fnp.errstate(divide="ignore"):
        assert fnp.isinf(fnp.float64(1.0) / fnp.zeros(1))[0]

    def f(x: Any) -> Any:
        assert isinstance(x, fnp.ndarray)
        assert fnp.asarray(x, dtype=fnp.float64).dtype == fnp.float64
        fnp.testing.assert_array_equal(fnp.zeros(2), [0, 0])
        return x.sum()

    assert fd.grad(f)(POINT).tolist() == [1.0, 1.0, 1.0]


def test_functions_are_pickled_by_their_names() -> None:
    for function in (
        fnp.sum, fnp.concat, fnp.array, fnp.zeros, fnp.linalg.norm, fnp.fft.fft, fnp.eye, fnp.sin,
        fnp.lib.stride_tricks.sliding_window_view,
    ):  # fmt: skip
        assert pickle.loads(pickle.dumps(function)) is function


@pytest.mark.parametrize(("module", "name"), [
    ("linalg", "norm"), ("fft", "rfft"), ("random", "default_rng"), ("testing", "assert_allclose"),
    ("typing", "NDArray"), ("lib.stride_tricks", "sliding_window_view"),
    ("polynomial.polynomial", "polyval"), ("ma", "masked_array"), ("exceptions", "AxisError"),
])  # fmt: skip
def test_modules_of_numpys_can_be_imported(module: str, name: str) -> None:
    ours, plain = import_module(f"funcdiff.numpy.{module}"), import_module(f"numpy.{module}")
    found = getattr(ours, name)
    assert found is getattr(plain, name) or found.__wrapped__ is getattr(plain, name)
    assert module in ("linalg",) or name in dir(ours)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = ours.no_such_name
    assert not hasattr(sys.modules[f"funcdiff.numpy.{module}"], "__no_such_name__")


def test_a_star_brings_what_numpys_star_brings() -> None:
    for module in ("", ".random", ".linalg", ".fft"):
        ours: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        exec(f"from funcdiff.numpy{module} import *", ours)
        exec(f"from numpy{module} import *", plain)
        assert ours.keys() == plain.keys()


# ---- what is said --------------------------------------------------------------------------------

OUTSIDE = numpy.zeros(2)


def test_an_ordinary_buffer_is_named_with_the_line_that_makes_it() -> None:
    def inside(x: Any) -> Any:
        made = numpy.zeros(2)
        made[0] = x
        made = made * 2
        return made  # noqa: RET504

    def outside(x: Any) -> Any:
        OUTSIDE[0] = x
        return OUTSIDE

    def given(x: Any, y: Any = OUTSIDE) -> Any:
        y[:1] = x
        return y

    line = inside.__code__.co_firstlineno
    cure = r".*`import funcdiff\.numpy as np` in place of .*np\.zeros\(shape, like=x\)"
    made = rf"made\[0\] = \.\.\. .*line {line + 2}, .*`made = numpy\.zeros\(2\)` in line {line + 1}"
    for f, said in (
        (inside, made),
        (outside, r"OUTSIDE\[0\] = \.\.\. .*OUTSIDE was made outside outside\."),
        (given, r"y\[:1\] = \.\.\. .*y is an argument of given\."),
    ):
        with pytest.raises(LostDerivativeError, match=said + cure):
            fd.jvp(f, (1.0,), (1.0,))
    assert OUTSIDE.tolist() == [0.0, 0.0]


def test_lists_are_cured_by_the_import_line_but_in_ufuncs_by_an_array() -> None:
    np = numpy
    line = "`import funcdiff.numpy as np` in place of `import numpy as np`"
    for f, said in (
        (lambda x: np.sum([x, x]), line),
        (lambda x: np.array([x, x]), line),
        (lambda x: np.exp([x, x]), r"write np.exp(funcdiff.numpy.array([x, y]))"),
        (lambda x: np.add.reduce([x, x]), r"write np.add.reduce(funcdiff.numpy.array([x, y]))"),
    ):
        with pytest.raises(LostDerivativeError) as caught:
            fd.jvp(f, (1.0,), (1.0,))
        assert said in str(caught.value)


def test_a_ufunc_takes_a_list_beside_a_traced_array() -> None:
    def f(np: Any, x: Any) -> Any:
        y = np.array([x, x**2])
        return np.sum(np.maximum(y, [3.0, x]) * [x, 2.0] + (1.0, x))

    slope = (f(numpy, 1.5 + 1e-6) - f(numpy, 1.5 - 1e-6)) / 2e-6
    numpy.testing.assert_allclose(fd.grad(lambda x: f(fnp, x))(1.5), slope, rtol=1e-8)
    assert fd.jit(lambda x: f(fnp, x))(1.5) == f(numpy, 1.5)


def test_what_is_made_of_plain_numbers_has_values_where_arguments_have_none() -> None:
    def f(x: Any) -> Any:
        unit = fnp.eye(2) @ fnp.array([[1.0, 2.0], [0.0, 4.0]], like=x)
        return x * float(unit[0, 1]) if unit[1, 1] > 3 else -x

    assert fd.jit(fd.grad(f))(1.5) == 2.0
    assert fd.vmap(f)(numpy.ones(2)).tolist() == [2.0, 2.0]
    assert fd.scan(lambda c, _: (f(c), c), 1.0, None, length=3)[0] == 8.0


def test_the_dictionary_of_the_module_has_what_numpy_cannot_dispatch() -> None:
    for name in ("array", "asarray", "zeros", "full", "arange"):
        assert vars(fnp)[name] is getattr(fnp, name)
