"""Calls that are not traced again, and what a function can see that changes between them.

The second call that is like one before notes what can be seen, the third looks whether anything
warns; from then on what only computes is not called.
"""

from __future__ import annotations

import math
import random
import sys
import textwrap
import time
from collections.abc import Callable
from threading import Thread
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.calls import differentiated, tracing
from tests.differences import differences

X = np.array([0.5, -1.25, 2.0])


@pytest.mark.parametrize(
    "number",
    ["random.random()", "np.random.rand()", "time.perf_counter()",
     "__import__('time').perf_counter()"],
)  # fmt: skip
def test_what_differs_in_every_call_does_so(number: str) -> None:
    gradient = fd.grad(
        eval(f"lambda x: np.sum(x) * {number}", {"np": np, "random": random, "time": time})
    )
    assert len({gradient(X)[0] for _ in range(8)}) == 8


CLOSED = {
    "of NumPy's functions": "return np.sum(np.tanh(x) @ A) + np.mean(x[1:] ** 2)",
    "with a loop": "for k in range(4):\n    x = x + h * np.sin(x)\nreturn x.sum()",
    "with functions in it": (
        "g = lambda y: y * h\nreturn np.sum(g(x)) + sum([np.sum(v) for v in x])"
    ),
    "with a helper": "return helper(x, c=h)",
    "with early return": "if len(x) > 2:\n    return np.max(x)\nreturn np.min(x)",
    "with mathematics": "return np.sum(x) * math.sqrt(h)",
    "with masks of what it sees": "return np.sum(x[:2][A[0, :2] > 0])",
    "with SciPy's functions": "return np.sum(special.erf(x))",
    "with our namespace": (
        "y = fnp.zeros(3)\ny[1:] = x[:2]\nreturn fnp.sum(y * fnp.array([1, x[0], h]))"
    ),
    "with our loops": "return fd.scan(lambda c, v: (c * h + v, None), 0.0, x)[0]",
}
OPEN = {
    "by its value": "return np.sum(x) if x[0] > 0 else np.sum(x**2)",
    "by printing": "print('called')\nreturn np.sum(x)",
    "by counting": "counted.append(1)\nreturn np.sum(x)",
    "by catching errors": "try:\n    return np.sum(x)\nexcept ValueError:\n    return 0.0",
    "by a model": "return model.loss(x)",
    "by a text": "return np.sum(x) * len(f'{h}')",
    "by identity": "return np.sum(x) if h is A else np.max(x)",
}


class _Model:
    def __init__(self) -> None:
        self.weights = [np.eye(3), np.ones(3)]

    def loss(self, x: Any) -> Any:
        W, b = self.weights
        return np.sum(np.tanh(x @ W + b))


def _helper(x: Any, *, c: float) -> Any:
    return np.sum(x) * c


def _made(body: str) -> tuple[Any, dict[str, Any]]:
    special = pytest.importorskip("scipy.special")
    space: dict[str, Any] = {
        "np": np, "A": np.arange(9.0).reshape(3, 3), "h": 0.25, "helper": _helper, "math": math,
        "model": _Model(), "special": special, "counted": [],
        "fnp": fd.numpy, "fd": fd,
    }  # fmt: skip
    exec("def f(x):\n" + textwrap.indent(body, "    "), space)
    return space["f"], space


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that were traced."""
    found: list[Any] = []
    record = tracing.record

    def noting(f: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(f)
        return record(f, *args, **kwargs)

    monkeypatch.setattr(differentiated, "record", noting)
    return found


@pytest.mark.parametrize("name", [*CLOSED, *OPEN])
def test_what_is_traced_again(name: str, traced: list[Any]) -> None:
    f, space = _made({**CLOSED, **OPEN}[name])
    expected = differences(f, X, 1e-5)
    space["counted"].clear()
    for derivative in (fd.grad, lambda f: lambda x: fd.vjp(f, x)[1](1.0)[0]):
        for _ in range(8):
            np.testing.assert_allclose(derivative(f)(X), expected, rtol=1e-6, atol=1e-8)
    assert len(traced) == (16 if name in OPEN else 3)  # in the second call twice
    assert len(space["counted"]) == (16 if name == "by counting" else 0)


def test_what_a_function_writes_is_written_in_every_call() -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        seen.append(1.0)
        return np.sum(x)

    for _ in range(6):
        seen.clear()  # what the function sees is the same before each call
        fd.grad(f)(X)
        assert seen == [1.0]


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "in the order of memory": lambda x: np.ravel(x, "K") @ np.arange(6.0),
    "in either order": lambda x: x.reshape(-1, order="A") @ np.arange(6.0),
    "a copy in the order of memory": lambda x: np.copy(x, order="K").ravel("K") @ np.arange(6.0),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layout_of_an_argument_decides(name: str) -> None:
    f, C = LAYOUTS[name], np.arange(6.0).reshape(2, 3)
    layouts = (C, np.asfortranarray(C))
    expected = [fd.grad(eval("lambda x: f(x)", {"f": f}))(x) for x in layouts]
    gradient = fd.grad(f)
    for k in (0, 0, 0, 1, 0, 1, 1, 1, 0):
        np.testing.assert_array_equal(gradient(layouts[k]), expected[k])
    assert not np.array_equal(expected[0], expected[1])


def test_the_shape_of_an_argument_decides() -> None:
    gradient = fd.grad(lambda x: np.sum(x) ** 2 * len(x))
    for shape in [(3,)] * 5 + [(4,), (1,), (0,), (2, 3), (3,)]:
        expected = 2.0 * math.prod(shape) * shape[0]
        np.testing.assert_array_equal(gradient(np.ones(shape)), np.full(shape, expected))


def test_errors_are_located_where_the_function_is_now() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.linalg.solve(x, np.ones(2)))

    gradient = fd.grad(f)
    for _ in range(6):
        gradient(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError) as caught:
        gradient(np.zeros((2, 2)))
    assert any("test_repeated_calls.py" in note for note in caught.value.__notes__)


def test_what_is_returned_is_nobody_elses() -> None:
    A = np.arange(3.0)
    gradient = fd.value_and_grad(lambda x: np.sum(A * x))
    for _ in range(8):
        _, g = gradient(X)
        assert np.array_equal(g, [0.0, 1.0, 2.0])
        g += 1


def test_a_debugger_sees_every_call(traced: list[Any]) -> None:
    gradient = fd.grad(lambda x: np.sum(x**2))
    before = sys.gettrace()
    try:
        sys.settrace(lambda *_: None)
        for _ in range(4):
            gradient(X)
    finally:
        sys.settrace(before)
    assert len(traced) == 4


@pytest.mark.slow
def test_threads_keep_calls_beside_each_other() -> None:
    x, errors = np.arange(3.0), list[Exception]()

    def derive_many(number: int) -> None:
        try:
            for k in range(60):
                c = float(number + k)
                f = eval("lambda x, c: np.sum(x * x) * c", {"np": np})  # of code of its own
                for _ in range(3):
                    np.testing.assert_array_equal(fd.grad(f)(x, c), 2 * c * x)
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [Thread(target=derive_many, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert errors == []
