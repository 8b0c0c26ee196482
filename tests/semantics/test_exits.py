"""Every way out of a trace: the result is right in value and gradient, or the transform raises."""

from __future__ import annotations

import array
import ast
import bisect
import cmath
import collections
import contextlib
import copy
import ctypes
import decimal
import fractions
import functools
import heapq
import io
import itertools
import json
import math
import operator
import pickle
import random
import re
import statistics
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from tests.differences import differences
from tests.together import together

Exit = Callable[[Any], Any]
X = np.array([0.5, 1.4, 0.25])


def _in_place(change: Callable[[Any], Any], made: Callable[[Any], Any] = np.copy) -> Exit:
    def f(x: Any) -> Any:
        y = made(x)
        change(y)
        return np.sum(np.stack(list(y)) * np.arange(1.0, 4.0)) * x[0]

    return f


def _stored(store: Callable[[Any, Any], Any]) -> Exit:
    """Store into an ordinary array."""

    def f(x: Any) -> Any:
        table = np.zeros(3)
        store(table, x)
        return np.sum(table) * x[1]

    return f


def _saved(save: Callable[[Any, Any], Any], load: Callable[[Any], Any], file: Any) -> Exit:
    def f(x: Any) -> Any:
        stream = file()
        save(stream, x)
        stream.seek(0)
        return load(stream)[0] * x[1]

    return f


RNG = np.random.default_rng
RIGHT: dict[str, Exit] = {
    "math.floor": lambda x: math.floor(x[1]) * x[1],
    "math.prod": math.prod,
    "round": lambda x: round(x[1]) * x[1],
    "sum": lambda x: sum(x) * x[0],
    "item": lambda x: x[0].item() * x.item(1),
    "tolist": lambda x: x.tolist()[0] * x[1],
    "reduce": lambda x: functools.reduce(operator.mul, x),
    "accumulate": lambda x: list(itertools.accumulate(x))[-1] * x[1],
    "pow": lambda x: pow(x[0], x[1]),
    "divmod": lambda x: divmod(x[1], 0.3)[0] * x[1] + divmod(x[1], 0.3)[1],
    "sorted": lambda x: sorted(x)[0] * x[1],
    "sorted by key": lambda x: sorted(range(3), key=lambda i: x[i])[0] * x[1],
    "min and max": lambda x: max(0.1, min(x)) * max(x),
    "heapq": lambda x: heapq.nsmallest(2, x)[1] * x[1],
    "heapify": _in_place(heapq.heapify, list),
    "bisect": lambda x: bisect.bisect([0.0, 0.3, 0.7], x[0]) * x[1],
    "in a list": lambda x: (2.0 if 0.5 in list(x) else 3.0) * x[1],
    "in an array": lambda x: (2.0 if 0.7 in x else 3.0) * x[1],
    "index of a list": lambda x: [1.0, 2.0, 3.0][np.argmax(x)] * x[1],
    "a list repeated": lambda x: len([2.0, 3.0] * round(x[1] + 1)) * x[1],
    "a tuple repeated": lambda x: len((np.argmax(x) + 1) * (2.0, 3.0)) * x[1],
    "median of a list": lambda x: statistics.median(x) * x[1],
    "is_integer": lambda x: x[0] * (2.0 if x[0].is_integer() else 3.0),
    "random.shuffle": _in_place(lambda y: random.Random(0).shuffle(y), list),
    "random.choice": lambda x: random.Random(0).choice(x) * x[1],
    "random.sample": lambda x: random.Random(0).sample(list(x), 2)[0] * x[1],
    "random.uniform": lambda x: random.Random(0).uniform(x[0], x[1]),
    "an exchange": _in_place(lambda y: operator.setitem(y, slice(2), [y[1], y[0]]), list),
    "deepcopy": lambda x: copy.deepcopy(x)[0] * copy.copy(x[1]),
    "flat": lambda x: sum(x.flat) * x[0],
    "np.isscalar": lambda x: x[0] * (2.0 if np.isscalar(x[0]) else 3.0),
    "isinstance": lambda x: np.sum(x) * (2.0 if isinstance(x, np.ndarray) else 3.0),
    "an instance of float": lambda x: x[0] * (2.0 if isinstance(x[0], float) else 3.0),
    "__class__": lambda x: np.sum(x) * (2.0 if x.__class__ is np.ndarray else 3.0),
}
REFUSED: dict[str, Exit] = {
    "float": lambda x: float(x[0]) * x[1],
    "int": lambda x: int(x[1]) * x[1],
    "complex": lambda x: abs(complex(x[0])) * x[1],
    "operator.index": lambda x: operator.index(x[0]) * x[1],
    "np.asarray": lambda x: np.asarray(x)[0] * x[1],
    "np.float64": lambda x: np.float64(x[0]) * x[1],
    "np.bool": lambda x: np.bool_(x[0]) * x[1],
    "str": lambda x: float(str(x[0])) * x[1],
    "repr": lambda x: float(repr(x[0])) * x[1],
    "an f-string": lambda x: float(f"{x[0]}") * x[1],
    "an f-string with a format": lambda x: float(f"{x[0]:12.6f}") * x[1],
    "format": lambda x: float(format(x[0], "+.6e")) * x[1],
    "str.format": lambda x: float("{:012.5f}".format(x[0])) * x[1],  # noqa: UP032
    "printf": lambda x: float("%f" % x[0]) * x[1],  # noqa: UP031
    "printf of a string": lambda x: float("%s" % x[0]) * x[1],  # noqa: UP031
    "an integer from text": lambda x: int(f"{x[1]:.0f}") * x[1],
    "Decimal of text": lambda x: float(decimal.Decimal(str(x[0]))) * x[1],
    "Fraction of text": lambda x: float(fractions.Fraction(str(x[0]))) * x[1],
    "literal_eval": lambda x: ast.literal_eval(str(x[0])) * x[1],
    "eval": lambda x: eval(str(x[0])) * x[1],
    "eval of repr": lambda x: eval(repr(x[0]), {"np": np, "array": np.array}) * x[1],
    "the text of a vector": lambda x: float(str(x).strip("[]").split()[0]) * x[1],
    "the text of a list": lambda x: ast.literal_eval(str(list(x)))[0] * x[1],
    "a regular expression": lambda x: float(re.match(r"[0-9.]+$", str(x[0]))[0]) * x[1],  # type: ignore[index]
    "an array of text": lambda x: np.array(str(x[0])).astype(float) * x[1],
    "json": lambda x: json.loads(json.dumps(x[0])) * x[1],
    "json of a number": lambda x: json.loads(json.dumps(x.tolist()))[0] * x[1],
    "json with spaces": lambda x: json.loads(json.dumps(list(x), indent=1))[0] * x[1],
    "json of text": lambda x: float(json.loads(json.dumps(x[0], default=str))) * x[1],
    "json of floats": lambda x: json.loads(json.dumps(x[0], default=float)) * x[1],
    "np.array2string": lambda x: float(np.array2string(x)[1:4]) * x[1],
    "np.array_str": lambda x: float(np.array_str(x)[1:4]) * x[1],
    "np.array_repr": lambda x: float(np.array_repr(x)[7:10]) * x[1],
    "np.format_float_positional": lambda x: float(np.format_float_positional(x[0])) * x[1],
    "np.savetxt": _saved(np.savetxt, np.loadtxt, io.StringIO),
    "np.save": _saved(np.save, np.load, io.BytesIO),
    "struct": lambda x: struct.unpack("d", struct.pack("d", x[0]))[0] * x[1],
    "array.array": lambda x: array.array("d", x)[0] * x[1],
    "pickle": lambda x: pickle.loads(pickle.dumps(x))[0] * x[1],
    "ctypes": lambda x: ctypes.c_double(x[0]).value * x[1],
    "memoryview": lambda x: memoryview(x)[0] * x[1],
    "bytes": lambda x: np.frombuffer(x.tobytes())[0] * x[1],
    "np.frombuffer": lambda x: np.frombuffer(x)[0] * x[1],
    "np.fromiter": lambda x: np.fromiter(x, float)[0] * x[1],
    "np.r_": lambda x: np.r_[x[0], x][1] * x[1],
    "math.sin": lambda x: math.sin(x[0]) * x[1],
    "math.isnan": lambda x: x[0] * (2.0 if math.isnan(x[0]) else 3.0),
    "math.fsum": lambda x: math.fsum(x) * x[0],
    "cmath.sqrt": lambda x: cmath.sqrt(x[0]).real * x[1],
    "Decimal": lambda x: float(decimal.Decimal(x[0])) * x[1],
    "Fraction": lambda x: float(fractions.Fraction(x[0])) * x[1],
    "as_integer_ratio": lambda x: x[0].as_integer_ratio()[0] * x[1],
    "hex": lambda x: float.fromhex(x[0].hex()) * x[1],
    "float.hex": lambda x: float.fromhex(float.hex(x[0])) * x[1],
    "statistics.mean": lambda x: statistics.mean(x) * x[1],
    "statistics.fmean": lambda x: statistics.fmean(x) * x[1],
    "statistics.stdev": lambda x: statistics.stdev(x) * x[1],
    "rng.choice": lambda x: RNG(0).choice(x) * x[1],
    "rng.choice by weights": lambda x: RNG(0).choice(3, p=x / np.sum(x)) * x[1],
    "rng.permutation": lambda x: RNG(0).permutation(x)[0] * x[1],
    "rng.permuted": lambda x: RNG(0).permuted(x)[0] * x[1],
    "rng.normal": lambda x: RNG(0).normal(x[0]) * x[1],
    "a set": lambda x: len(set(x)) * x[1],
    "a key": lambda x: {0.5: 3.0}.get(x[0], 1.0) * x[1],
    "a counter": lambda x: collections.Counter(list(x))[0.5] * x[1],
    "a cache": lambda x: functools.cache(lambda v: v * 2)(x[0]) * x[1],
    "np.vectorize": lambda x: np.vectorize(lambda v: v * 2)(x)[0] * x[1],
    "np.frompyfunc": lambda x: np.frompyfunc(lambda v: v * 2, 1, 1)(x)[0] * x[1],
    "a store": _stored(lambda table, x: operator.setitem(table, 0, x[0])),
    "a store of all": _stored(lambda table, x: operator.setitem(table, slice(None), x)),
    "np.copyto": _stored(lambda table, x: np.copyto(table, x)),
    "out=": _stored(lambda table, x: np.sin(x, out=table)),
    "np.add.at": _stored(lambda table, x: np.add.at(table, [0], x[0])),
    "put": _stored(lambda table, x: table.put(0, x[0])),
    "fill": _stored(lambda table, x: table.fill(x[0])),
    "+=": _stored(lambda table, x: table.__iadd__(x)),
    "np.full": lambda x: np.sum(np.full(2, x[0])) * x[1],
    "np.arange": lambda x: np.sum(np.arange(0.0, x[1], 0.4)) * x[0],
    "a masked array": lambda x: np.sum(np.ma.array(x, mask=X > 1)),
    "== of types": lambda x: np.sum(x) * (2.0 if type(x) == np.ndarray else 3.0),  # noqa: E721
    "a type among types": lambda x: x[0] * (2.0 if type(x[0]) in (float, np.float64) else 3.0),
}


@together
@pytest.mark.parametrize("way", RIGHT)
def test_the_value_and_the_gradient_are_right(way: str) -> None:
    f = RIGHT[way]
    value, gradient = fd.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-15)
    if way == "in a list":  # equality with one number has no neighbourhood
        np.testing.assert_array_equal(gradient, [0.0, 2.0, 0.0])
    else:
        np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-7, atol=1e-7)


@together
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("way", REFUSED)
def test_what_would_leave_the_trace_raises(way: str) -> None:
    f = REFUSED[way]
    with pytest.raises((TypeError, ValueError, ArithmeticError, SyntaxError, struct.error)):
        fd.grad(f)(X)


@together
@pytest.mark.parametrize("way", [way for way in REFUSED if "type" not in way])
def test_a_fallback_does_not_hide_it(way: str) -> None:
    """What is caught on the way to another value fails the transform, or no value was given."""
    given: list[Any] = []

    def f(x: Any) -> Any:
        with contextlib.suppress(Exception):
            given.append(REFUSED[way](x))
        return np.sum(x)

    with contextlib.suppress(TypeError):
        fd.grad(f)(X)
    assert not given


# ---- rows in random order ------------------------------------------------------------------------


@pytest.mark.parametrize("shuffle", [lambda y: RNG(0).shuffle(y), np.random.RandomState(0).shuffle])
def test_rows_that_a_generator_shuffles_are_refused(shuffle: Callable[[Any], Any]) -> None:
    rows = np.arange(6.0).reshape(3, 2)

    def f(x: Any) -> Any:
        y = x * 1.0
        shuffle(y)
        return np.sum(y[0])

    with pytest.warns(UserWarning, match="shuffl"), pytest.raises(UnsupportedNumPyError) as caught:
        fd.grad(f)(rows)
    assert "rng.permutation(len(x))" in str(caught.value)


def test_rows_that_are_exchanged_as_python_does_it_follow_numpys_aliasing() -> None:
    rows = np.arange(6.0).reshape(3, 2)

    def f(x: Any) -> Any:
        y = x * 1.0
        y[0], y[1] = y[1], y[0]
        y[2] = y[0]
        return np.sum(y * np.arange(1.0, 4.0)[:, None])

    value, gradient = fd.value_and_grad(f)(rows)
    assert value == f(rows)
    np.testing.assert_array_equal(gradient, [[0, 0], [6, 6], [0, 0]])


# ---- text ----------------------------------------------------------------------------------------


def test_text_marks_what_has_a_derivative() -> None:
    shown: list[str] = []

    def f(x: Any) -> Any:
        shown.extend([f"{x[0]}", f"{x[0]:.2f}", f"{x[0]:8.2f}|", f"{x[0]:<8.2f}|", str(x)])
        shown.extend([f"{np.argmax(x)}", f"{fd.stop_gradient(x[0]):.1f}", str(x > 1)])
        return np.sum(x)

    fd.grad(f)(X)
    assert shown[:5] == ["~0.5", "~0.50", "   ~0.50|", "~0.50    |", "~[0.5  1.4  0.25]"]
    assert shown[5:] == ["1", "0.5", "[False  True False]"]
