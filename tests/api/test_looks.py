"""Looks at integers and booleans, in whatever spelling, see what plain NumPy sees, or raise."""

from __future__ import annotations

import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import (
    ConcreteValueError,
    EscapedTracerError,
    LostDerivativeError,
    OutputError,
    RecompilationWarning,
)
from tests.api.looks import program
from tests.together import together

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


@pytest.mark.slow
@pytest.mark.sampled(9)
@pytest.mark.parametrize("seed", [*range(25), *range(1000, 1200)])
def test_random_looks_see_what_plain_numpy_sees(seed: int) -> None:
    f, text = program(seed)
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 4))
    points = [rng.normal(size=size) for _ in range(3)]
    ways = {name: way(f) for name, way in WAYS.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompilationWarning)
        for call in range(9):
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
    "repr": lambda k: len(f"{k!r}"),
    "in a container": lambda k: len(f"{[k, (k, 1)]}"),
}


@pytest.mark.parametrize("look", CALLED_IN_C)
@pytest.mark.parametrize("nested", NESTED)
def test_code_in_c_gets_integers_whatever_encloses_the_look(nested: str, look: str) -> None:
    slope = NESTED[nested](lambda x: x[0] * CALLED_IN_C[look](np.argmax(x)))
    for x in (np.array([0.1, 0.2, 0.7]), np.array([0.9, 0.2, 0.7]), np.array([0.1, 0.2, 0.7])):
        np.testing.assert_array_equal(slope(x), [CALLED_IN_C[look](np.argmax(x)), 0.0, 0.0])


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


# ---- integers without bounds -------------------------------------------------------------------

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "pow": operator.pow,
    "neg": lambda a, _: -a, "abs": lambda a, _: abs(a), "left": lambda a, _: 3 * a - 7,
}  # fmt: skip
EDGES = (0, 1, -1, 2, -3, 7, 10**10, -(10**10), 3037000500, 2**62, 2**63 - 1, -(2**63))


@pytest.mark.parametrize("name", OPERATORS)
def test_python_integers_are_exact_under_jit_or_an_error(name: str) -> None:
    f = OPERATORS[name]
    compiled, sliced = fd.jit(f), fd.jit(lambda a, b: f(a, b) * 1.0)
    for a in EDGES:
        for b in (-3, -1, 0, 1, 5, 62, 63, 10**9) if name == "pow" else EDGES:
            if name == "pow" and ((a == 0 and b < 0) or (b > 99 and abs(a) > 1)):
                continue
            exact = f(a, b)
            if isinstance(exact, float):
                assert compiled(a, b) == pytest.approx(exact, rel=1e-15)
            elif -(2**63) <= exact < 2**63:
                assert compiled(a, b) == exact
                assert compiled(a, b).dtype == np.int64
                assert sliced(a, b) == float(exact)
            else:
                with pytest.raises(OverflowError, match="static_argnames"):
                    compiled(a, b)


def test_integers_that_are_no_python_numbers_wrap_as_without_traces() -> None:
    n = np.array([10**10, 3])
    np.testing.assert_array_equal(fd.jit(lambda n: n * n)(n), n * n)


def test_a_rounded_number_is_exact_too() -> None:
    assert fd.grad(lambda x: x * round(x) ** 3)(np.float64(7.2)) == 343.0
    for way in (FD.grad, FD.jit, lambda f: FD.jit(FD.grad(f))):
        with pytest.raises(OverflowError, match="beyond the 64 bits"):
            way(lambda x: x * round(x) ** 30)(np.float64(30.4))
    with pytest.raises(OverflowError, match="beyond the 64 bits"):
        FD.vmap(lambda x: x * round(x) ** 30)(np.array([2.0, 30.4]))
    np.testing.assert_array_equal(FD.vmap(lambda x: round(x) ** 3)(np.array([2.2, 3.1])), [8, 27])


def test_an_integer_to_a_negative_power_is_told_where_nobody_knows_the_sign() -> None:
    with pytest.raises(ValueError, match="Make the base a float"):
        FD.jit(lambda n: 2**n, guards=False)(-1)


def test_products_of_booleans_are_booleans_under_jit() -> None:
    b, m = np.array([True, False, True]), np.array([[True, False, True], [False, True, True]])
    for f in (np.vdot, np.vecdot, np.linalg.vecdot, np.inner, np.dot):
        found = FD.jit(lambda m, b: f(m[0], b))(m, b)  # noqa: B023
        assert (found, np.asarray(found).dtype) == (f(m[0], b), np.asarray(f(m[0], b)).dtype)


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_a_result_of_one_element_is_told_how_to_become_a_scalar(shape: tuple[int, ...]) -> None:
    place = ", ".join("0" for _ in shape)
    with pytest.raises(OutputError, match=re.escape(f"return that, y[{place}].")):
        FD.grad(lambda x: np.reshape(x[:1], shape))(np.ones(3))


# ---- bodies that are traced without values have none ---------------------------------------------


X = np.array([1.0, 2.0])


def scanned(x: Any) -> Any:
    return fd.scan(lambda c, _: (c * float(fd.stop_gradient(c[0])), None), x, None, length=3)[
        0
    ].sum()


def branching(x: Any) -> Any:
    step = lambda c, _: (c * 0.5 if np.all(c > 0.6) else c * 10, None)
    return fd.scan(step, x, None, length=4)[0].sum()


def batched(x: Any) -> Any:
    return np.sum(fd.vmap(lambda b: b if b > 1 else -b)(x))


def compiled(x: Any) -> Any:
    return np.sum(fd.jit(lambda x: x if x[0] > 0 else -x, guards=False)(x))


def looped(x: Any) -> Any:
    return fd.while_loop(lambda c: c[0] < 5, lambda c: c * (2.0 if c[1] > 0 else 3.0), x).sum()


def chosen(x: Any) -> Any:
    return fd.cond(x[0] > 0, lambda x: x if x[1] > 0 else -x, lambda x: x, x).sum()


@together
@pytest.mark.parametrize("f", [scanned, branching, batched, compiled, chosen, looped])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x: fd.grad(f)(x),
        lambda f, x: fd.vjp(f, x),
        lambda f, x: fd.jvp(f, (x,), (x,)),
        lambda f, x: fd.linearize(f, x),
        lambda f, x: fd.hessian(f)(x),
        lambda f, x: fd.vmap(fd.grad(f))(x[None]),
    ],
)
def test_a_body_never_sees_values_of_the_trace_around_it(f: Any, transform: Any) -> None:
    with pytest.raises(ConcreteValueError):
        transform(f, X)


def test_a_compiled_branch_is_not_kept_for_other_values() -> None:
    g: Callable[[Any], Any] = fd.jit(lambda x: x * x if x > 0 else -x)
    for _ in range(3):
        for x, slope in ((2.0, 4.0), (-2.0, -1.0)):
            assert fd.grad(g)(x) == slope


def test_values_of_what_a_body_closes_over_are_known() -> None:
    def f(x: Any) -> Any:
        return fd.scan(lambda c, r: (c + (r if x[0] > 0 else -r), None), 0.0, x)[0]

    np.testing.assert_array_equal(fd.grad(f)(X), [1.0, 1.0])
    np.testing.assert_array_equal(fd.grad(f)(-X), [-1.0, -1.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda b: np.quantile(b, 0.3),
        lambda b: np.average(b, weights=b * b),
        lambda b: np.sum(np.geomspace(b[0], b[1], 4)),
        lambda b: np.sum(np.linalg.lstsq(np.stack([b, b * b, np.sin(b)]), np.ones(3))[0]),
    ],
)
def test_functions_that_look_at_values_where_they_can_work_in_batches(f: Any) -> None:
    rows = np.array([[1.0, 2.5], [0.5, 3.0], [2.0, 0.7]])
    found = fd.grad(lambda x: np.sum(fd.vmap(f)(x)))(rows)
    np.testing.assert_allclose(found, np.stack([fd.grad(f)(row) for row in rows]), rtol=1e-9)
