"""Looks at integers and booleans, in whatever spelling, see what plain NumPy sees, or raise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.compiling.guarded import RecompilationWarning
from funcdiff.errors import ConcreteValueError, EscapedTracerError, LostDerivativeError
from tests.api.looks import program

FD: Any = fd
WAYS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: lambda x: FD.value_and_grad(f)(x),
    "jit": lambda f: FD.jit(lambda x: (f(x), None)),
    "jit of grad": lambda f: FD.jit(FD.value_and_grad(f)),
    "grad of jit": lambda f: FD.value_and_grad(FD.jit(f)),
    "vmap": lambda f: lambda x: (FD.vmap(f)(np.stack([x, x]))[1], None),
    "vmap of jit of grad": lambda f: (
        lambda x: [y[1] for y in FD.vmap(FD.jit(FD.value_and_grad(f)))(np.stack([x, x]))]
    ),
    "jit of vmap of grad": lambda f: (
        lambda x: [y[0] for y in FD.jit(FD.vmap(FD.value_and_grad(f)))(np.stack([x, x, x]))]
    ),
    "jit of jvp": lambda f: FD.jit(lambda x: (FD.jvp(f, (x,), (x,))[0], None)),
}


def compare(seed: int, calls: int = 9) -> None:
    """Compare a random program in all ways with plain NumPy, and its slope with differences."""
    f, text = program(seed)
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    points = [rng.normal(size=size) for _ in range(3)]
    ways = {name: way(f) for name, way in WAYS.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompilationWarning)
        for call in range(calls):
            x = points[call % 3]
            expected, slope = _value(f, x), _slope(f, x)
            for name, way in ways.items():
                told = f"{name}, call {call} of seed {seed} at {x!r}\n{text}"
                if isinstance(expected, type):
                    with pytest.raises(expected):
                        way(x)
                    continue
                value, found = way(x)
                np.testing.assert_allclose(value, expected, 1e-10, 1e-10, err_msg=told)
                if found is not None and slope is not None:
                    np.testing.assert_allclose(found, slope, 1e-4, 1e-5, err_msg=told)
        differing = np.stack(points)
        try:
            rows = fd.vmap(f)(differing)
        except (ConcreteValueError, IndexError, ValueError):
            return
        np.testing.assert_allclose(rows, [f(x) for x in points], 1e-10, 1e-10, err_msg=text)


def _value(f: Any, x: Any) -> Any:
    try:
        return f(x)
    except (IndexError, ValueError, OverflowError) as error:
        return type(error)


def _slope(f: Any, x: Any) -> Any:
    """Return the slope by differences, None at a point where something jumps, or f raises."""
    try:
        near, far = (
            np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)])
            for h in (1e-5, 2e-5)
        )
    except (IndexError, ValueError):
        return None
    return near if np.allclose(near, far, 1e-4, 1e-6) else None


@pytest.mark.parametrize("seed", range(25))
def test_random_looks_see_what_plain_numpy_sees(seed: int) -> None:
    compare(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1200))
def test_more_random_looks_see_what_plain_numpy_sees(seed: int) -> None:
    compare(seed)


NESTED: dict[str, Callable[[Any], Any]] = {
    "grad": FD.grad,
    "grad of jit": lambda f: FD.grad(FD.jit(f)),
    "jit of grad": lambda f: FD.jit(FD.grad(f)),
}
CALLED_IN_C: dict[str, Callable[[Any], Any]] = {
    "percent": lambda k: len("%05d" % k),  # noqa: UP031
    "bytes": lambda k: len(bytes(k + 3)),
    "zeros": lambda k: np.zeros(k + 4).size,
    "key": lambda k: {0: 2, 1: 4, 2: 5}[k],
    "member": lambda k: 5 if k in {2, 7} else 3,
    "text": lambda k: len(f"{k!s:>5}"),
}


@pytest.mark.parametrize("look", CALLED_IN_C)
@pytest.mark.parametrize("nested", NESTED)
def test_code_in_c_gets_integers_whatever_encloses_the_look(nested: str, look: str) -> None:
    slope = NESTED[nested](lambda x: x[0] * CALLED_IN_C[look](np.argmax(x)))
    for x in (np.array([0.1, 0.2, 0.7]), np.array([0.9, 0.2, 0.7]), np.array([0.1, 0.2, 0.7])):
        np.testing.assert_array_equal(slope(x), [CALLED_IN_C[look](int(np.argmax(x))), 0.0, 0.0])


FLAT: dict[str, Callable[[Any], Any]] = {
    "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "round": np.round, "trunc": np.trunc,
    "//": lambda x: x // 1, "sign": lambda x: np.sign(x) + 2, "stopped": fd.stop_gradient,
    "sum": lambda x: np.floor(x) + 3 * np.ceil(x), "where": lambda x: np.where(x > 1, 3.0, 2.0),
    "written": lambda x: np.round(np.stack([x, 2 * x]))[1],
}  # fmt: skip


@pytest.mark.parametrize("flat", FLAT)
@pytest.mark.parametrize("nested", NESTED)
def test_an_integer_of_what_has_no_slope_loses_no_derivative(nested: str, flat: str) -> None:
    slope = NESTED[nested](lambda x: x**2 * int(FLAT[flat](x)))
    for x in (2.7, 0.4, 2.7, -1.2):
        assert slope(x) == 2 * x * int(FLAT[flat](x))


WITH_SLOPE: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "a whole number by values": lambda x: x - x % 1,
    "its floor and more": lambda x: np.floor(x) + 0 * x,
    "its rest": lambda x: np.fmod(x, 1.0),
    "a rule": FD.custom_jvp(lambda x: np.floor(x)),
}


@pytest.mark.parametrize("kind", WITH_SLOPE)
def test_an_integer_of_what_has_a_slope_is_refused(kind: str) -> None:
    if kind == "a rule":
        WITH_SLOPE[kind].defjvp(lambda p, t: (np.floor(p[0]), t[0]))  # type: ignore[attr-defined]
    f: Any = lambda x: x * int(WITH_SLOPE[kind](x))
    with pytest.raises(LostDerivativeError, match=r"int\(WITH_SLOPE\[kind\]\(x\)\)"):
        fd.grad(f)(2.7)
    with pytest.raises(LostDerivativeError):
        fd.grad(lambda x: fd.grad(lambda y: y * int(WITH_SLOPE[kind](x)))(1.0) * x)(2.7)
    with pytest.raises(ConcreteValueError):
        fd.jit(fd.grad(f))(2.7)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_an_integer_of_no_integer_is_an_error_as_without_traces(value: float) -> None:
    f: Any = lambda x: x * [1.0, 2.0][int(np.floor(x))]
    for call in (f, fd.grad(f), fd.jit(f), fd.jit(fd.grad(f))):
        assert call(np.float64(1.5)) in (3.0, 2.0)
        with pytest.raises((ValueError, OverflowError, IndexError)):
            call(np.float64(value))


def test_keys_that_outlive_their_trace_are_told() -> None:
    kept: dict[Any, float] = {}

    def f(x: Any) -> Any:
        return x[0] * kept.setdefault(np.argmax(x), 1.0)

    assert fd.grad(f)(np.ones(1)) == [1.0]
    with pytest.raises(EscapedTracerError):
        fd.grad(f)(np.ones(1))
