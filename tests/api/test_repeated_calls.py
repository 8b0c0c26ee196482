"""Calls that are not traced again, and what a function can see that changes between them.

The second call that is like one before looks whether anything warns: there, what only computes is
called twice.
"""

from __future__ import annotations

import math
import random
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.api.calls import differentiated, tracing

X = np.array([0.5, -1.25, 2.0])

CHANGES = {
    "a number": ("c = 2.0", "np.sum(c * x)", "c = 3.0"),
    "a number, zero of the other sign": ("c = 0.0", "np.sum(x) * np.copysign(1.0, c)", "c = -0.0"),
    "an array in place": ("A = np.arange(3.0)", "np.sum(A * x)", "A[1] = 7.0"),
    "an array by another name": (
        "A = np.arange(4.0)\nview = A[1:]", "np.sum(view * x)", "A[2] = 7.0",
    ),
    "an array's shape": (
        "A = np.arange(6.0).reshape(2, 3)", "np.sum(A.reshape(-1)[:3] * x) * len(A)",
        "A.resize((3, 2), refcheck=False)",
    ),
    "another array": ("A = np.arange(3.0)", "np.sum(A * x)", "A = np.ones(3)"),
    "a value computed of an array": ("A = np.arange(3.0)", "np.sum(x) * np.sum(A**2)", "A += 1"),
    "a branch by an array": (
        "A = np.arange(3.0)", "np.sum(x) if A[0] == 0 else np.sum(x**2)", "A[0] = 1",
    ),
    "a list": ("L = [1.0, 2.0]", "sum(v * np.sum(x) for v in L)", "L.append(3.0)"),
    "a list in a list": ("L = [[1.0], [2.0]]", "L[0][0] * np.sum(x)", "L[0][0] = 5.0"),
    "a list in a tuple": ("L = ([1.0], 2.0)", "L[0][0] * np.sum(x)", "L[0][0] = 5.0"),
    "a dictionary": ("D = {'c': 1.0}", "np.sum(x * D['c'])", "D['c'] = 4.0"),
    "a dictionary's order": (
        "D = {'a': 1.0, 'b': 2.0}", "np.sum(x * list(D.values())[0])", "D['a'] = D.pop('a')",
    ),
    "a helper": ("def h(x): return x**2", "np.sum(h(x))", "def h(x): return x**3"),
    "a helper's code": (
        "def h(x): return x**2\ndef other(x): return x**3", "np.sum(h(x))",
        "h.__code__ = other.__code__",
    ),
    "a helper's default": (
        "def h(x, c=2.0): return c * x", "np.sum(h(x))", "h.__defaults__ = 3.0,",
    ),
    "a helper's keyword default": (
        "def h(x, *, c=2.0): return c * x", "np.sum(h(x))", "h.__kwdefaults__['c'] = 3.0",
    ),
    "a helper's mutable default": (
        "def h(x, c=[2.0]): return c[0] * x", "np.sum(h(x))", "h.__defaults__[0][0] = 3.0",
    ),
    "its own default": ("", "np.sum(c * x)", "f.__defaults__ = (5.0,)", "x, c=2.0"),
    "its own code": ("", "np.sum(x)", "f.__code__ = (lambda x: np.sum(x**2)).__code__"),
    "a cell": (
        "def make():\n    c = 2.0\n    def h(x): return c * x\n"
        "    def change():\n        nonlocal c\n        c = 3.0\n    return h, change\n"
        "h, change = make()",
        "np.sum(h(x))", "change()",
    ),
    "what a helper's helper sees": (
        "c = 2.0\ndef h(x): return k(x)\ndef k(x): return c * x", "np.sum(h(x))", "c = 3.0",
    ),
    "a name that hides Python's": (
        "L = [1.0, 2.0]", "np.sum(x) * sum(L)", "sum = lambda L: 10.0",
    ),
    "a name that hides no more": (
        "L = [1.0, 2.0]\nsum = lambda L: 10.0", "np.sum(x) * sum(L)", "del sum",
    ),
    "a module": (
        "import types\nm = types.ModuleType('m')\nm.c = 2.0", "np.sum(m.c * x)", "m.c = 3",
    ),
    "a module's function": (
        "import types\nm = types.ModuleType('m')\nm.h = lambda x: x**2", "np.sum(m.h(x))",
        "m.h = lambda x: x**3",
    ),
    "an instance": (
        "class Model:\n    def __init__(self): self.c = 2.0\nm = Model()", "np.sum(m.c * x)",
        "m.c = 3.0",
    ),
    "an instance's dictionary": (
        "class Model:\n    def __init__(self): self.c = 2.0\nm = Model()", "np.sum(m.c * x)",
        "m.__dict__ = {'c': 3.0}",
    ),
    "an instance's class": (
        "class Model:\n    c = 2.0\nclass Other:\n    c = 3.0\nm = Model()", "np.sum(m.c * x)",
        "m.__class__ = Other",
    ),
    "an attribute before that of the class": (
        "class Model:\n    c = 2.0\nm = Model()", "np.sum(m.c * x)", "m.c = 3.0",
    ),
    "a class": ("class Model:\n    c = 2.0\nm = Model()", "np.sum(m.c * x)", "Model.c = 3.0"),
    "a class between": (
        "class Base:\n    c = 2.0\nclass Model(Base): pass\nm = Model()", "np.sum(m.c * x)",
        "Model.c = 3.0",
    ),
    "a method": (
        "class Model:\n    c = 2.0\n    def h(self, x): return self.c * x\nm = Model()",
        "np.sum(m.h(x))", "Model.h = lambda self, x: x**2",
    ),
    "an operator": (
        "class Model:\n    def __call__(self, x): return x**2\nm = Model()", "np.sum(m(x))",
        "Model.__call__ = lambda self, x: x**3",
    ),
    "an operator that was not there": (
        "class Model: pass\nm = Model()", "np.sum(x) if m else np.sum(x**2)",
        "Model.__bool__ = lambda self: False",
    ),
    "a property": (
        "class Model:\n    a = 2.0\n    @property\n    def c(self): return self.a\nm = Model()",
        "np.sum(m.c * x)", "m.a = 3.0",
    ),
    "an attribute that is made": (
        "class Model:\n    def __getattr__(self, name): return state[0]\n"
        "m = Model()\nstate = [2.0]",
        "np.sum(m.c * x)", "state[0] = 3.0",
    ),
    "a slot": (
        "class Model:\n    __slots__ = ('c',)\nm = Model()\nm.c = 2.0", "np.sum(m.c * x)",
        "m.c = 3.0",
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass Model:\n    c: float\nm = Model(2.0)",
        "np.sum(m.c * x)", "m.c = 3.0",
    ),
    "a namespace": (
        "from types import SimpleNamespace\nm = SimpleNamespace(c=2.0)", "np.sum(m.c * x)",
        "m.c = 3.0",
    ),
    "an attribute of a function": (
        "def h(x): return h.c * x\nh.c = 2.0", "np.sum(h(x))", "h.c = 3.0",
    ),
    "a partial function": (
        "from functools import partial\nh = partial(lambda c, x: c * x, 2.0)", "np.sum(h(x))",
        "h = partial(lambda c, x: c * x, 3.0)",
    ),
    "a partial function's keyword": (
        "from functools import partial\nh = partial(lambda x, c: c * x, c=2.0)", "np.sum(h(x))",
        "h.keywords['c'] = 3.0",
    ),
    "an iterator": ("it = iter([float(k) for k in range(99)])", "np.sum(x) * next(it)", ""),
    "a generator": (
        "def made():\n    k = 0.0\n    while True:\n        yield k\n        k += 1\ng = made()",
        "np.sum(x) * next(g)", "",
    ),
    "what it counts": ("k = [0.0]", "(k.append(1.0), np.sum(x) * len(k))[1]", ""),
    "what it writes": ("A = np.zeros(2)", "(A.__setitem__(0, A[0] + 1), A[0] * np.sum(x))[1]", ""),
    "random numbers": ("import random", "np.sum(x) * random.random()", ""),
    "NumPy's random numbers": ("", "np.sum(x) * np.random.rand()", ""),
    "a generator of NumPy's": ("rng = np.random.default_rng(0)", "np.sum(x) * rng.random()", ""),
    "the time": ("import time", "np.sum(x) * time.perf_counter()", ""),
    "an imported name": ("", "np.sum(x) * __import__('time').perf_counter()", ""),
    "a cache": (
        "import functools\nc = [2.0]\n@functools.lru_cache\ndef h(): return c[0]",
        "np.sum(x) * h()", "c[0] = 3.0; h.cache_clear()",
    ),
    "the environment": (
        "import os\nos.environ['FUNCDIFF_TEST'] = '2'",
        "np.sum(x) * int(os.environ['FUNCDIFF_TEST'])",
        "os.environ['FUNCDIFF_TEST'] = '3'",
    ),
    "names looked up by text": ("c = 2.0", "np.sum(x) * globals()['c']", "c = 3.0"),
    "code that is evaluated": ("c = 2.0", "np.sum(x) * eval('c')", "c = 3.0"),
    "a set": ("s = {2.0}", "np.sum(x) * max(s)", "s.add(3.0)"),
    "what a function made by us sees": (
        "import funcdiff as fd\nc = 2.0\nh = fd.checkpoint(lambda x: c * x)",
        "np.sum(h(x))", "c = 3.0",
    ),
    "what our loops see": (
        "import funcdiff as fd\nc = 2.0\ndef h(y, v): return y + c * v, None",
        "fd.scan(h, 0.0, x)[0]", "c = 3.0",
    ),
    "a rule": (
        "import funcdiff as fd\nc = 2.0\nh = fd.custom_vjp(lambda x: c * x)\n"
        "h.defvjp(lambda x: (c * x, None), lambda _, ct: (c * ct,))", "np.sum(h(x))", "c = 3.0",
    ),
    "an operand of the same name": ("c = 2.0", "np.sum(c * x)", "c = X.copy()"),
}  # fmt: skip


def _numerical(f: Callable[..., Any], x: Any) -> Any:
    """Return the gradient by central differences."""
    steps = 1e-5 * np.eye(len(x))
    return np.array([(f(x + e) - f(x - e)) / 2e-5 for e in steps])


@pytest.mark.parametrize("name", CHANGES)
def test_changes_are_seen(name: str) -> None:
    before, body, change, *parameters = CHANGES[name]
    space: dict[str, Any] = {"np": np, "X": X}
    exec(f"{before}\ndef f({(parameters or ['x'])[0]}): return {body}", space)
    f, gradient = space["f"], fd.grad(space["f"])
    if not change:  # it is another function in every call
        found = [gradient(X)[0] for _ in range(6)]
        assert len(set(found)) == 6
        return
    for k in range(6):
        np.testing.assert_allclose(gradient(X), _numerical(f, X), rtol=1e-6)
        if k == 3:
            unchanged = _numerical(f, X)
            exec(change, space)
            assert not np.allclose(_numerical(f, X), unchanged)


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
    expected = _numerical(f, X)
    space["counted"].clear()
    for derivative in (fd.grad, lambda f: lambda x: fd.vjp(f, x)[1](1.0)[0]):
        for _ in range(8):
            np.testing.assert_allclose(derivative(f)(X), expected, rtol=1e-6, atol=1e-8)
    assert len(traced) == (16 if name in OPEN else 2)
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


def test_other_arguments_decide(traced: list[Any]) -> None:
    A = np.arange(1.0, 4.0)

    def f(x: Any, y: Any, c: Any = 1.0, flag: bool = False) -> Any:
        sign = math.copysign(1.0, c)
        return np.sum(x * y) * c * sign if flag else np.sum(x**2 * y) * sign

    for _ in range(4):
        for y, c, flag in ((A, 1.0, True), (A, -0.0, False), (A, 0.0, False), (2.0, 2, True)):
            found = fd.grad(f)(X, y, c, flag=flag)
            slope = y * (abs(c) if flag else 2 * X * math.copysign(1.0, c))
            np.testing.assert_allclose(found, slope * np.ones(3))
    assert len(traced) == 8
    A += 1
    np.testing.assert_allclose(fd.grad(f)(X, A, 1.0, flag=True), A)  # which was changed
    for k in range(20):  # a number that is another one in every call
        np.testing.assert_allclose(fd.grad(f)(X, 1.0, float(k), flag=True), np.full(3, float(k)))


def test_types_and_containers_decide() -> None:
    def f(x: Any) -> Any:
        return np.sum(x["a"] ** 2) + x["b"][0] * 3.0 if "b" in x else np.sum(x["a"])

    for _ in range(4):
        assert np.array_equal(fd.grad(f)({"a": X})["a"], np.ones(3))
        for dtype in (np.float32, np.float64):
            for size in (0, 1, 3):
                found = fd.grad(f)({"a": np.ones(size, dtype), "b": [1.0]})
                assert found["a"].dtype == dtype
                assert found["a"].shape == (size,)
                assert found["b"] == [3.0]
        assert fd.grad(f)({"a": X.reshape(3, 1)})["a"].shape == (3, 1)
    square = lambda x: x * x
    for _ in range(4):
        assert type(fd.grad(square)(np.array(3.0))) is np.ndarray
        assert type(fd.grad(square)(3.0)) is np.float64


def test_functions_that_are_made_anew_and_derivatives_in_derivatives(traced: list[Any]) -> None:
    A = np.arange(3.0)
    for _ in range(6):
        loss = partial(lambda c, x: np.sum(c * x**3), A)
        assert np.allclose(fd.grad(lambda x: np.sum(A * x**2))(X), 2 * A * X)
        assert np.allclose(fd.hvp(loss, (X,), (A,)), 6 * A * X * A)
        assert np.allclose(fd.hessian(_Model().loss)(X), fd.hessian(_Model().loss)(X).T)
        y, slope = fd.jvp(loss, (X,), (A,))
        assert np.allclose((y, slope), (np.sum(A * X**3), np.sum(3 * A * A * X**2)))
    before = len(traced)
    fd.hvp(partial(lambda c, x: np.sum(c * x**3), A), (X,), (A,))
    assert len(traced) > before  # its code is another one


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


_SOURCE = """
c, n, A, L, D = 2.0, 2, np.arange(3.0), [1.0, 2.0], {"k": 0.5}
class Model:
    scale = 1.0
    def __init__(self): self.w = np.ones(3)
    def __call__(self, x): return self.scale * self.w * x
model = Model()
def helper(x, power=2): return x ** power + D["k"]
def f(x):
    y = c * x
    for _ in range(n):
        y = np.sin(y) * A + helper(y)
    return np.sum(y * L[0]) + np.sum(model(x)) * len(L)
"""

_MUTATIONS = (
    "c = c + 0.5", "n = n % 3 + 1", "A[0] += 1", "A = A + 1", "L.append(3.0)", "L[0] = 1.5",
    "D['k'] = 1.5", "D = dict(D)", "model.w[1] = 2.0", "model.w = np.arange(3.0)",
    "Model.scale = 3.0", "model.scale = 0.5", "helper.__defaults__ = (3,)",
    "def helper(x, power=3): return np.cos(x) + D['k']", "model = Model()",
    "Model.__call__ = lambda self, x: self.w + x", "L = L[:1]", "A.sort()", "",
)  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(_MUTATIONS), st.integers(1, 4)), max_size=8))
def test_any_sequence_of_changes_is_seen(steps: list[tuple[str, int]]) -> None:
    space: dict[str, Any] = {"np": np}
    exec(_SOURCE, space)
    gradient = fd.grad(space["f"])
    for mutation, calls in [("", 3), *steps]:
        exec(mutation, space)
        expected = _numerical(space["f"], X)
        for _ in range(calls):
            np.testing.assert_allclose(gradient(X), expected, rtol=1e-5, atol=1e-6)


def test_random_stays_random() -> None:
    random.seed(0)
    gradient = fd.grad(lambda x: np.sum(x) * random.random())
    assert len({gradient(X)[0] for _ in range(8)}) == 8


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
