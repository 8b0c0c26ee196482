"""`jit`: traced once per kind of arguments; composes with every transform in either order."""

from __future__ import annotations

import copy
import dataclasses
import enum
import subprocess
import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, InputError, RecompilationWarning

X = np.array([0.3, -0.7, 1.2])


def f(x: Any) -> Any:
    return np.sum(np.tanh(x) ** 2 * x)


FD: Any = fd
"""funcdiff without its types: lambdas of lambdas say too little to be inferred."""


class Kind(enum.IntEnum):
    PLAIN = 1
    DOUBLE = 2


class Model:
    def __init__(self, weight: float) -> None:
        self.weight = weight

    @FD.jit  # type: ignore[untyped-decorator]
    def scaled(self, x: Any) -> Any:
        return self.weight * x

    @FD.custom_jvp  # type: ignore[untyped-decorator]
    def ruled(self, x: Any) -> Any:
        return self.weight * x

    ruled.defjvp(lambda p, t: (p[0].ruled(p[1]), 100.0 * t[1]))


COMPOSITIONS: dict[str, tuple[Any, Any]] = {
    "jit": (lambda f: FD.jit(f), f),
    "jit of grad": (lambda f: FD.jit(FD.grad(f)), FD.grad(f)),
    "grad of jit": (lambda f: FD.grad(FD.jit(f)), FD.grad(f)),
    "jit of grad of jit": (lambda f: FD.jit(FD.grad(FD.jit(f))), FD.grad(f)),
    "hessian of jit": (lambda f: FD.hessian(FD.jit(f)), FD.hessian(f)),
    "jit of hessian": (lambda f: FD.jit(FD.hessian(f)), FD.hessian(f)),
    "jvp of jit": (lambda f: lambda x: FD.jvp(FD.jit(f), (x,), (x,)),
                   lambda x: FD.jvp(f, (x,), (x,))),
    "jit of jvp": (lambda f: FD.jit(lambda x: FD.jvp(f, (x,), (x,))),
                   lambda x: FD.jvp(f, (x,), (x,))),
    "jit of vjp": (lambda f: FD.jit(lambda x: FD.vjp(f, x)[1](2.0)),
                   lambda x: FD.vjp(f, x)[1](2.0)),
    "vmap of jit": (lambda f: FD.vmap(FD.jit(lambda a: f(a * X))),
                    FD.vmap(lambda a: f(a * X))),
    "jit of vmap": (lambda f: FD.jit(FD.vmap(lambda a: f(a * X))), FD.vmap(lambda a: f(a * X))),
    "jit of scan": (lambda f: FD.jit(lambda x: FD.scan(lambda c, a: (c + f(a * x), c), 0.0, x)[0]),
                    lambda x: FD.scan(lambda c, a: (c + f(a * x), c), 0.0, x)[0]),
    "scan of jit": (lambda f: lambda x: FD.scan(
        FD.jit(lambda c, a: (c + f(a * x), c)), 0.0, x)[0],
        lambda x: FD.scan(lambda c, a: (c + f(a * x), c), 0.0, x)[0]),
    "jit of cond": (lambda f: FD.jit(lambda x: FD.cond(x[0] > 0, f, np.sum, x)), f),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions_agree_with_the_plain_function(name: str) -> None:
    jitted, plain = COMPOSITIONS[name]
    g = jitted(f)
    for _ in range(4):
        for found, expected in zip(
            fd.pytree.flatten(g(X))[0], fd.pytree.flatten(plain(X))[0], strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_function_is_called_once_per_kind_of_arguments() -> None:
    calls = []

    @fd.jit
    def g(x: Any, how: str = "a") -> Any:
        calls.append((np.shape(x), how))
        return x * 2.0

    for x in (X, X, np.ones(3), np.ones(2), 2.0, 3.0):
        np.testing.assert_array_equal(g(x), np.asarray(x) * 2.0)
    assert g(X.astype(np.float32)).dtype == np.float32
    g(X, how="b")
    g(X, "b")
    assert len(calls) == 6
    g.clear_cache()
    g(X)
    assert len(calls) == 7


@pytest.mark.parametrize(
    "static",
    [
        {"static_argnums": 1},
        {"static_argnames": "n"},
        {"static_argnums": (-1,)},
        {"static_argnames": ("n",)},
    ],
)
def test_static_arguments_decide_in_python(static: Any) -> None:
    g = fd.jit(lambda x, n: x * 2 if n > 1 else x[:n], **static)
    np.testing.assert_array_equal(g(X, 2), X * 2)
    np.testing.assert_array_equal(g(X, 1), X[:1])
    np.testing.assert_array_equal(g(X, n=2), X * 2)
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(g(x, 1)))(X), [1.0, 0.0, 0.0])


def test_a_value_dependent_if_names_the_cures() -> None:
    g = fd.jit(lambda x: x if x > 0 else -x, guards=False)
    with pytest.raises(ConcreteValueError, match="static_argnames") as raised:
        g(2.0)
    assert "test_jit.py" in str(raised.value)


def test_unhashable_static_arguments_raise() -> None:
    with pytest.raises(InputError, match="not hashable"):
        fd.jit(lambda x, o: x, static_argnums=1)(2.0, [2])


def test_unknown_static_names_raise() -> None:
    with pytest.raises(InputError, match="has the parameters x"):
        fd.jit(lambda x: x, static_argnames="n")


def test_a_jitted_function_may_close_over_an_outer_trace() -> None:
    def outer(w: Any) -> Any:
        return fd.jit(lambda x: np.sum(w * x))(X)

    np.testing.assert_array_equal(fd.grad(outer)(np.ones(3)), X)
    np.testing.assert_array_equal(fd.grad(outer)(np.zeros(3)), X)


def test_rules_of_the_users_are_there_whatever_was_compiled_before() -> None:
    h = fd.custom_jvp(lambda x: x * 2.0)
    h.defjvp(lambda p, t: (h(*p), 10.0 * t[0]))
    g = fd.jit(h)
    assert g(3.0) == 6.0
    assert fd.grad(g)(3.0) == 10.0


def test_many_kinds_of_arguments_are_warned_about_once() -> None:
    g = fd.jit(lambda x: x * 2.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(80):
            g(np.ones(n))
    assert [w.category for w in caught] == [RecompilationWarning]
    assert "shapes" in str(caught[0].message)


def test_the_program_and_its_source_can_be_read() -> None:
    lowered = fd.jit(lambda x: np.sin(x) * 2.0).lower(X)
    assert str(lowered.program).startswith("program(%0: f64[3])")
    assert "sin(x0, v1)" in lowered.source


def test_static_values_that_are_equal_but_not_the_same_are_told_apart() -> None:
    g: Any = fd.jit(lambda x, n: np.copysign(x, n), static_argnums=1)
    np.testing.assert_array_equal(g(X, 0.0), np.abs(X))
    np.testing.assert_array_equal(g(X, -0.0), -np.abs(X))
    h: Any = fd.jit(lambda x, n: x / 2 if isinstance(n, bool) else x * n * 10, static_argnums=1)
    np.testing.assert_array_equal(h(X, 1), X * 10)
    np.testing.assert_array_equal(h(X, True), X / 2)
    k: Any = fd.jit(lambda x, n: x * n[0], static_argnames="n")
    integers = np.arange(3)
    assert k(integers, n=(2,)).dtype == integers.dtype
    assert k(integers, n=(2.0,)).dtype == np.float64


def test_a_static_nan_is_compiled_once() -> None:
    traced = []
    g: Any = fd.jit(lambda x, n: traced.append(n) or x, static_argnums=1)  # type: ignore[func-returns-value]
    for _ in range(3):
        g(X, float("nan"))
    assert len(traced) == 1


def test_members_of_an_enumeration_are_no_numbers() -> None:
    g: Any = fd.jit(lambda x, e: x if e is Kind.PLAIN else 2 * x)
    assert g(1.0, Kind.PLAIN) == 1.0
    assert g(1.0, Kind.DOUBLE) == 2.0


def test_methods_can_be_compiled_and_have_rules() -> None:
    model = Model(3.0)
    assert model.scaled(2.0) == 6.0
    assert fd.grad(model.ruled)(2.0) == 100.0
    assert Model(5.0).scaled(2.0) == 10.0


@pytest.mark.slow
def test_programs_that_come_back_are_compiled_without_further_imports() -> None:
    code = (
        "import sys, numpy as np, funcdiff as fd; f = fd.grad(lambda x: np.sum(np.sin(x)))\n"
        "for _ in range(30): f(np.ones(2))\n"
        "print('funcdiff.backend.code.source' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "True\n"


@pytest.mark.slow
def test_what_a_first_derivative_does_not_need_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys, funcdiff as fd, numpy as np; fd.grad(lambda x: np.sum(x * x))(np.ones(2))\n"
        "late = ('scipy', 'nn', 'testing', 'reading', 'api.jit', 'backend.kernels')\n"
        "print([name for name in late if f'funcdiff.{name}' in sys.modules])\n"
        "print([name for name in fd.__all__ if getattr(fd, name) is None])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n[]\n"


def test_a_loop_of_writes_is_compiled_to_writes_in_place() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        for k in range(5):
            y[k] = np.sin(x[k]) + (y[k - 1] if k else 0.0)
        return y * 1.0

    x = np.linspace(0.0, 1.0, 6)
    g, h = fd.jit(f), fd.jit(fd.grad(lambda x: np.sum(f(x) ** 2)))
    for _ in range(3):
        np.testing.assert_array_equal(g(x), f(x))
        np.testing.assert_allclose(h(x), fd.grad(lambda x: np.sum(f(x) ** 2))(x), rtol=1e-14)


def test_an_object_that_holds_a_compiled_function_can_be_copied() -> None:
    class Model:
        def __init__(self) -> None:
            self.f = fd.jit(np.sin)

    model = copy.deepcopy(Model())
    assert model.f(0.0) == 0.0


# ---- programs are found by containers, names and types of arguments ------------------------------


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Layer:
    w: Any
    name: str = dataclasses.field(default="", metadata={"static": True})


CONTAINERS: dict[str, Any] = {
    "a tuple": (X, 2.0),
    "a list": [X, [2.0]],
    "a dict": {"x": X, "s": 2.0},
    "the other order": {"s": 2.0, "x": X},
    "keys that are no text": {1: X, True + 1: 2.0},
    "a named tuple": Pair(X, (2.0, None)),
    "a dataclass": Layer([X, 2.0], name="first"),
    "another": Layer([X, 2.0], name="second"),
    "of numbers": (1.0, np.float64(2.0)),
    "deep": ((((((((((X, 2.0),),),),),),),),),),
    "empty": ([], X),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_arguments_in_containers_are_found_directly(name: str) -> None:
    x = CONTAINERS[name]

    def g(tree: Any) -> Any:
        return sum(np.sum(np.sin(leaf)) for leaf in fd.pytree.flatten(tree)[0])

    jitted = fd.jit(fd.grad(g))
    (expected, structure), calls = fd.pytree.flatten(fd.grad(g)(x)), []
    for _ in range(4):
        found = fd.pytree.flatten(jitted(x))
        assert found[1] == structure
        calls.append(found[0])
    for leaves in calls:
        for a, b in zip(leaves, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)
            assert type(a) is type(b)
    if np.ndim(expected[0]):  # results are the caller's own
        assert not np.shares_memory(calls[0][0], calls[1][0])
    assert jitted.cache_info().kinds == 1


def test_kinds_of_containers_are_told_apart() -> None:
    seen = []

    def g(tree: Any, *, s: Any = 1.0, t: Any = 1.0) -> Any:
        seen.append((tree, s, t))
        return tree, s - t

    class Name(str):
        pass

    jitted = fd.jit(g)
    kinds = [{"a": 1.0}, {Name("a"): 1.0}, {"b": 1.0}, [1.0], (1.0,), Pair(1.0, None), {1: 1.0},
             {1.0: 1.0}, {True: 1.0}, (1.0, None), Layer(1.0, "p"), Layer(1.0, "q")]  # fmt: skip
    for _ in range(3):
        for kind in kinds:
            found, _ = jitted(kind)
            assert fd.pytree.flatten(found)[1] == fd.pytree.flatten(kind)[1]
            assert not isinstance(kind, dict) or [*map(type, found)] == [*map(type, kind)]
    assert len(seen) == len(kinds)


def test_keywords_are_found_directly() -> None:
    jitted = fd.jit(lambda x, s=1.0, t=1.0: x * (s - t))
    for _ in range(3):
        assert np.array_equal(jitted(X, s=3.0, t=1.0), 2.0 * X)
        assert np.array_equal(jitted(X, t=1.0, s=3.0), 2.0 * X)
        assert np.array_equal(jitted(X, t=3.0), -2.0 * X)
        assert np.array_equal(jitted(x=X, s=3.0), 2.0 * X)
    static = fd.jit(lambda x, way="up": x if way == "up" else -x, static_argnames="way")
    for _ in range(3):
        assert np.array_equal(static(X, way="up"), X)
        assert np.array_equal(static(X, way="down"), -X)


def test_containers_that_contain_themselves_are_refused_by_name() -> None:
    endless: list[Any] = [X]
    endless.append(endless)
    jitted = fd.jit(lambda x: x[0])
    jitted([X])
    with pytest.raises(fd.errors.PytreeError, match="contains itself"):
        jitted(endless)


def test_branches_by_numbers_in_containers_are_guarded() -> None:
    def g(tree: Any, *, scale: Any = 1.0) -> Any:
        return tree["x"] * 2.0 if tree["s"] > scale else tree["x"]

    jitted = fd.jit(g)
    for s, scale in ((1.0, 0.0), (1.0, 2.0), (3.0, 2.0), (1.0, 2.0)) * 3:
        expected = g({"x": X, "s": s}, scale=scale)
        assert np.array_equal(jitted({"x": X, "s": s}, scale=scale), expected)
    assert jitted.cache_info().leaves == 2


def test_a_number_of_python_and_one_of_numpy_are_compiled_apart() -> None:
    f = fd.jit(lambda x: x * np.ones(2, np.float32))
    for x, dtype in ((2.0, np.float32), (np.float64(2.0), np.float64), (2.0, np.float32)):
        assert f(x).dtype == dtype


def test_calls_that_find_their_program_are_counted() -> None:
    f = fd.jit(lambda x: x * 2.0)
    for _ in range(4):
        f(np.ones(3))
        f(2.0)
    assert (f.cache_info().kinds, f.cache_info().hits) == (2, 6)
    f.clear_cache()
    f(2.0)
    assert (f.cache_info().kinds, f.cache_info().hits) == (1, 6)
    for _ in range(3):
        fd.grad(f)(2.0)  # of another kind, as it is traced
    assert f.cache_info().hits == 8
