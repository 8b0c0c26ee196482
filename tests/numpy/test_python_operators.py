"""Operators of traced Python numbers have Python's values and raise what Python raises."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import UnsupportedNumPyError

INTEGERS: Final = (
    0, 1, -1, 2, -3, 7, 64, 10**10, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), True, False,
)  # fmt: skip
FLOATS: Final = (0.0, -0.0, 0.5, 2.5, -1.5, 2.675, 1e300, math.inf, -math.inf, math.nan)

BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    name: getattr(operator, name)
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_",
        "or_", "xor", "lt", "le", "gt", "ge", "eq", "ne",
    )
} | {"divmod": divmod}  # fmt: skip
UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "abs": abs,
    "round": round, "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil,
    "decimals": lambda x: round(x, 2), "tens": lambda x: round(x, -1),
    "is_integer": lambda x: x.is_integer(), "bit_length": lambda n: n.bit_length(),
    "bit_count": lambda n: n.bit_count(), "ratio": lambda n: n.as_integer_ratio()[0],
    "modular power": lambda n: pow(n, 2, 7),
}  # fmt: skip
CALLS: Final[dict[str, Callable[..., Any]]] = {
    "left": lambda f, x, y: fd.jit(lambda x: f(x, y))(x),
    "right": lambda f, x, y: fd.jit(lambda y: f(x, y))(y),
    "in a trace with values": lambda f, x, y: fd.vjp(
        lambda one: (one, fd.checkpoint(f)(x, y)), 1.0, has_aux=True
    )[2],
}


def _outcome(f: Callable[..., Any], *xs: Any) -> Any:
    try:
        return f(*xs)
    except Exception as error:
        return error


def _is_long(y: Any) -> bool:
    if isinstance(y, tuple):
        return any(map(_is_long, y))
    return isinstance(y, int) and not -(2**63) <= y < 2**63


def _require_same(found: Any, plain: Any) -> None:
    if isinstance(plain, Exception):
        assert type(found) is type(plain), (found, plain)
    elif _is_long(plain):
        assert isinstance(found, OverflowError | UnsupportedNumPyError) or found == plain
    elif isinstance(plain, tuple):
        for x, y in zip(found, plain, strict=True):
            _require_same(x, y)
    else:
        assert np.asarray(found).dtype == np.asarray(plain).dtype
        np.testing.assert_array_equal(found, plain)
        assert np.signbit(float(found)) == np.signbit(float(plain)) or found != found


def _computable(name: str, x: int, n: int) -> bool:
    return n <= 64 or (abs(x) < 2 if name == "pow" else name != "lshift" or x == 0)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", BINARY)
def test_operators_of_integers_are_pythons(name: str) -> None:
    f = BINARY[name]
    jitted = fd.jit(lambda x, y: f(x, y))
    for x, y in product(INTEGERS, INTEGERS):
        if _computable(name, x, y):
            _require_same(_outcome(jitted, x, y), _outcome(f, x, y))


@pytest.mark.thinned(7)
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", BINARY)
def test_operators_of_one_traced_integer_are(name: str, call: str) -> None:
    f = BINARY[name]
    for x, y in product((0, -1, 64, 2**62, True), (0, -1, 3, 64)):
        _require_same(_outcome(CALLS[call], lambda x, y: f(x, y), x, y), _outcome(f, x, y))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", sorted(set(BINARY) - {"pow"}))
def test_operators_of_floats_are_pythons_where_python_has_a_value(name: str) -> None:
    f = BINARY[name]
    jitted = fd.jit(lambda x, y: f(x, y))
    pairs = [*product(FLOATS, FLOATS), *product(FLOATS, (-3, 2, True)), *product((7, -1), FLOATS)]
    for x, y in pairs:
        plain, found = _outcome(f, x, y), _outcome(jitted, x, y)
        if isinstance(plain, ZeroDivisionError):
            assert not np.any(np.isfinite(found))
        else:
            _require_same(found, plain)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_are_pythons(name: str) -> None:
    f = UNARY[name]
    jitted = fd.jit(lambda x: f(x))
    for x in (*INTEGERS, *FLOATS):
        if name != "ratio" or isinstance(x, int):
            _require_same(_outcome(jitted, x), _outcome(f, x))


def test_what_python_raises_can_be_caught() -> None:
    def f(x: Any, n: Any) -> Any:
        k, total = round(x), 0
        for d in (0, 2, 0, n):
            try:
                total += k // d
            except ZeroDivisionError:
                total += 100
            try:
                total += k << -d
            except ValueError:
                total += 1000
            try:
                total += round(x * (1.0 if d else np.nan))
            except ValueError:
                total += 10000
        return x * total

    for n in (0, 1, 0):
        expected = f(5.0, n)
        assert fd.value_and_grad(f)(5.0, n) == (expected, expected / 5)
        jitted = fd.jit(f)
        assert (jitted(5.0, n), jitted(5.0, 1 - n)) == (expected, f(5.0, 1 - n))
        assert fd.jit(fd.grad(f))(5.0, n) == expected / 5
        np.testing.assert_array_equal(
            fd.vmap(f, in_axes=(0, None))(np.array([5.0, 8.0]), n), [expected, f(8.0, n)]
        )


def test_a_shift_may_be_too_long_to_be_computed() -> None:
    shift = fd.jit(lambda k, n: k << n)
    assert shift(0, 2**62) == 0
    with pytest.raises(OverflowError, match=r"lshift\(1, 4611686018427387904\) is beyond the 64"):
        shift(1, 2**62)


X8 = np.ones(2, np.int8)
NARROW: Final[dict[str, Callable[[Any], Any]]] = {
    "number": lambda n: np.int8(n), "of two": lambda n: np.uint8(1) + n, "array": lambda n: X8 * n,
    "less": lambda n: n > X8, "greater": lambda n: np.uint8(7) >= n, "equal": lambda n: n == X8,
    "full": lambda n: np.full(2, n, np.uint8), "traced full": lambda n: fnp.full(2, n, np.int8),
    "like": lambda n: np.full_like(X8, n), "traced like": lambda n: fnp.full_like(X8, n),
    "filled": lambda n: _filled(n, np.zeros(2, np.int8)), "list": lambda n: np.array([n], np.uint8),
    "buffer": lambda n: _filled(n, fnp.zeros(2, np.int16)), "wide": lambda n: X8.astype(int) + n,
}  # fmt: skip


def _filled(n: Any, y: Any) -> Any:
    y[0] = n
    return y


@pytest.mark.parametrize("name", NARROW)
def test_an_integer_has_to_fit_where_it_becomes_one_of_fewer_bits(name: str) -> None:
    f = NARROW[name]
    jitted = fd.jit(lambda n: f(n))
    vmap: Any = fd.vmap

    def first(xs: Any) -> Any:
        return vmap(lambda x: f(round(x)))(xs)[0]

    for n in (3, -1, 127, 300, -129, 10**10):
        plain = _outcome(f, n)
        for found in (_outcome(jitted, n), _outcome(first, np.full(2, float(n)))):
            assert type(found) is type(plain) or isinstance(found, np.ndarray | np.generic)
            if isinstance(plain, Exception):
                assert str(plain) in str(found)
            else:
                np.testing.assert_array_equal(found, plain)
                assert found.dtype == plain.dtype
