"""Bridged operations, whose home here is NumPy code: every rule of a bridge without a library."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.core.types import ArrayType
from funcdiff.errors import ConcreteValueError, InputError, NotDifferentiableError, OutputError
from funcdiff.interop.calls import Used, register, take_apart, type_of_array
from funcdiff.interop.numpy_code import NUMPY_CODE, program_without_values
from funcdiff.interop.operation import Operation
from tests.interop.patterns import NESTINGS, PATTERNS, POINT, Nesting, agree, in_numpy

X = np.array([0.3, -0.7, 1.2])


def bridged(f: Callable[..., Any]) -> Used:
    """Return NumPy code that funcdiff sees as another library's."""
    return Used(f, NUMPY_CODE)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("nesting", NESTINGS.values(), ids=NESTINGS)
def test_a_bridged_function_has_the_derivatives_of_its_code(nesting: Nesting) -> None:
    for name in list(PATTERNS)[::40]:
        f = in_numpy(name)
        agree(name, nesting(fd, bridged(f))(POINT), nesting(fd, f)(POINT))


@pytest.mark.slow
@pytest.mark.sampled(16, kind=r"\[.*-")
@pytest.mark.parametrize("nesting", NESTINGS.values(), ids=NESTINGS)
@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_has_its_derivatives_across_a_bridge(name: str, nesting: Nesting) -> None:
    f = in_numpy(name)
    agree(name, nesting(fd, bridged(f))(POINT), nesting(fd, f)(POINT))


def test_bridges_agreed_with_the_libraries_when_they_were_compared() -> None:
    frozen = json.loads(Path(__file__).with_name("agreement.json").read_text(encoding="utf-8"))
    for library, found in frozen.items():
        assert found["failed"] == {}, f"in {library}: run python -m tests.interop.freeze"
        assert found["wrap"] == found["patterns"] * len(NESTINGS)


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "jit": fd.jit,
    "batch": lambda h: lambda x: fd.vmap(h, axis_size=2)(np.stack([x, 2 * x])).sum(0),
    "shared": lambda h: lambda x: fd.vmap(lambda s: h(x * s))(np.array([0.5, 1.5])).sum(0),
    "forward": lambda h: lambda x: fd.jvp(h, (x,), (np.cos(x),))[1],
    "reverse": lambda h: lambda x: fd.vjp(h, x)[1](np.sin(x))[0],
    "checkpoint": fd.checkpoint,
}


@given(st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=4))
def test_transforms_nest_in_any_order_across_a_bridge(names: list[str]) -> None:
    def f(x: Any) -> Any:
        return np.tanh(x) * x[::-1] + x[0] * np.sum(x**2)

    inside, outside = bridged(f), f
    for name in names:
        inside, outside = TRANSFORMS[name](inside), TRANSFORMS[name](outside)
    agree(str(names), inside(X), outside(X))


def test_complex_derivatives_follow_the_conventions_across_a_bridge() -> None:
    z = X + 1j * X[::-1]

    def f(z: Any) -> Any:
        return np.sum(np.sin(z) * np.conj(z) * (2 + 1j)), np.real(z) * z[0]

    ct = np.complex128(1 + 2j), np.array([1j, 2.0, 3 - 1j])
    for g in (f, lambda z: f(z * 1j)):
        agree("pushed", fd.jvp(bridged(g), (z,), (1j * z,))[1][1], fd.jvp(g, (z,), (1j * z,))[1][1])
        (found,), (expected,) = (fd.vjp(h, z)[1](ct) for h in (bridged(g), g))
        agree("pulled", found, expected)
    square = fd.hessian(lambda x: abs(bridged(lambda z: f(z)[0])(x + 1j * x)) ** 2)(X)
    agree("hessian", square, fd.hessian(lambda x: abs(f(x + 1j * x)[0]) ** 2)(X))


# ---- the calculus of operations ------------------------------------------------------------------


def _operation() -> Operation:
    return Operation(lambda x, n, y: [np.exp(x) * y, n + 1, np.sum(x) * y[0]], NUMPY_CODE)


def test_pushing_and_pulling_are_each_others_transpose() -> None:
    op, args = _operation(), (X, np.array(3), np.array([1.0, 2.0, 0.5]))
    active, wanted = (True, False, True), (True, False, True)
    forward, backward = op.pushforward(active, wanted), op.pullback(active, wanted)
    assert forward.transpose() is backward
    assert backward.transpose() is forward
    ts, cts = [np.cos(X), X[::-1]], [X**2, np.array(0.7)]
    pushed, pulled = forward.run(*args, *ts), backward.run(*args, *cts)
    left = sum(np.sum(ct * y) for ct, y in zip(cts, pushed, strict=True))
    right = sum(np.sum(t * x) for t, x in zip(ts, pulled, strict=True))
    assert left == pytest.approx(right, rel=1e-14)


def test_what_a_batch_shares_is_summed_in_its_transpose() -> None:
    op = _operation().pushforward((True, False, True), (True, False, True))
    flags, kept = (True, False, False, True, False), (True, True)
    wide = op.batch(4, flags, kept)
    types = tuple(ArrayType(s, np.dtype(float)) for s in ((4, 3), (), (3,), (4, 3), (3,)))
    assert [t.shape for t in wide.types(types)] == [(4, 3), (4,)]
    back = wide.transpose()
    given = (*types[:3], *wide.types(types))
    assert [t.shape for t in back.types(given)] == [(4, 3), (3,)]
    assert back.transpose().types(types) == wide.types(types)
    # what is linear is pulled back by its transpose, wherever it is taken
    random = np.random.default_rng(0)
    args, ts = [random.normal(size=t.shape) for t in given], [random.normal(size=(4, 3)), X]
    pulled = back.pullback((False, False, False, True, True), (True, True)).run(*args, *ts)
    for y, z in zip(pulled, back.transpose().run(*args[:3], *ts), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-14)


def test_what_examples_share_is_differentiated_to_every_order() -> None:
    def f(w: Any, s: Any) -> Any:
        return np.sum(np.sin(w * s) * w) * s

    rows = np.array([0.5, 1.5, -0.3])
    for h in (f, bridged(f)):
        total: Any = lambda w, h=h: np.sum(fd.vmap(h, in_axes=(None, 0))(w, rows) ** 2)
        found = fd.grad(total)(X), fd.hessian(total)(X), fd.jacrev(fd.jacrev(fd.grad(total)))(X)
        if h is f:
            expected = found
    for order, (y, z) in enumerate(zip(found, expected, strict=True)):
        agree(str(order), y, z)


def test_derivatives_are_made_once() -> None:
    op = _operation()
    masks = (True, False, False), (True, False, False)
    assert op.pushforward(*masks) is op.pushforward(*masks)
    assert op.batch(2, (True,) * 3, (True,) * 3) is op.batch(2, (True,) * 3, (True,) * 3)


def test_a_function_of_the_users_is_not_transposed() -> None:
    with pytest.raises(NotDifferentiableError, match="only its derivatives are known to be linear"):
        _operation().transpose()


def test_code_that_decides_by_values_is_batched_one_by_one() -> None:
    def f(x: Any) -> Any:
        return x**2 if np.sum(x) > 0 else -x

    op = Operation(lambda x: [f(x)], NUMPY_CODE).batch(2, (True,), (True,))
    rows = np.stack([X, -X])
    np.testing.assert_array_equal(op.run(rows)[0], np.stack([X**2, X]))
    slopes = op.pullback((True,), (True,)).run(rows, np.ones_like(rows))[0]
    np.testing.assert_array_equal(slopes, np.stack([2 * X, -np.ones(3)]))
    one = Operation(lambda x: [f(x)], NUMPY_CODE)
    one.batch(2, (True,)).run(rows)
    types = (ArrayType((3,), np.dtype(float)),)
    assert one.types(types) == types  # though nobody could tell without values


def test_the_program_has_the_arrays_that_the_code_closes_over() -> None:
    table = np.arange(3.0) ** 1.5
    types = (ArrayType((3,), np.dtype(float)),)
    program, captures = program_without_values(lambda x: [x * table], types)
    np.testing.assert_array_equal(fd.evaluate(program, [X, *captures])[0], X * table)


# ---- calls ---------------------------------------------------------------------------------------


def test_arguments_and_results_are_in_containers() -> None:
    def f(p: Any, k: int, *, name: str) -> Any:
        return {"y": p["x"] ** k, "name": name, "pair": (p["x"][0], k)}

    found = bridged(f)({"x": X}, 2, name="square")
    assert found["name"] == "square"
    np.testing.assert_array_equal(found["y"], X**2)
    g = fd.grad(lambda p: np.sum(bridged(f)(p, 3, name="cube")["y"]))({"x": X})
    np.testing.assert_allclose(g["x"], 3 * X**2, rtol=1e-15)


def test_results_of_another_kind_than_before_are_refused() -> None:
    found: list[Any] = [X, (X, X), X[:2]]
    f = bridged(lambda x: found[0] * x if isinstance(found[0], np.ndarray) else found[0])
    f(X)
    found.pop(0)
    with pytest.raises(OutputError, match="must return the same container"):
        f(X)
    marks: list[Any] = ["one", 1.0]
    marked = bridged(lambda x: (x, marks.pop()))
    marked(X)
    with pytest.raises(OutputError, match="must return the same container"):
        marked(X)
    shorter = bridged(lambda x: x[: int(limit[0])])
    limit = np.array([2])
    shorter(X)
    limit[0] = 1
    with pytest.raises(OutputError, match=r"returned f64\[1\] where it had returned"):
        shorter(X)


def test_code_that_decides_by_values_needs_them_or_a_declaration() -> None:
    f = bridged(lambda x: x if x[0] > 0 else x**2)
    np.testing.assert_array_equal(fd.vjp(f, -X)[1](np.ones(3))[0], -2 * X)
    new = bridged(lambda x: x if x[0] > 0 else x**2)
    with pytest.raises(ConcreteValueError, match=r"Declare it: result=lambda \*args: np.empty"):
        fd.scan(lambda c, _: (new(c), None), X, None, 2)
    declared = Used(lambda x: x if x[0] > 0 else x**2, NUMPY_CODE, lambda x: np.empty(x.shape))
    found = fd.scan(lambda c, _: (declared(c), None), -X, None, 2)[0]
    np.testing.assert_array_equal(found, X**2)


def test_arguments_that_are_no_arrays_are_hashable() -> None:
    class Options:
        __hash__ = None  # type: ignore[assignment]

    with pytest.raises(InputError, match="is not hashable"):
        bridged(lambda x, _: x)(X, Options())


def test_arrays_of_another_library_cannot_be_written_to() -> None:
    def f(x: Any) -> Any:
        x += 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        bridged(f)(X)


def test_dtypes_that_numpy_lacks_are_refused() -> None:
    with pytest.raises(InputError, match="which NumPy does not compute with"):
        type_of_array(np.empty(2, "V2"), "V2")


class Tensor:
    """An array of another library's, which is no NumPy array."""

    def __init__(self, array: Any) -> None:
        self.array = array


register(Tensor, lambda x: (x.array, "cpu"), lambda y, device: Tensor(y))


def test_derivatives_by_another_librarys_arrays_are_such_arrays() -> None:
    def f(p: Any) -> Any:
        return np.sum(np.sin(p["w"]) * p["b"][0])

    p = {"w": Tensor(X), "b": [Tensor(X**2)]}
    gradient = fd.grad(f)(p)
    assert isinstance(gradient["b"][0], Tensor)
    np.testing.assert_allclose(gradient["w"].array, np.cos(X) * X**2, rtol=1e-15)
    square: Any = lambda x: np.sum(x**2)
    np.testing.assert_array_equal(fd.hessian(square)(Tensor(X)).array, 2 * np.eye(3))
    np.testing.assert_array_equal(fd.jacobian(fd.grad(square))(Tensor(X)).array, 2 * np.eye(3))
    sine: Any = np.sin
    _, pull = fd.vjp(sine, Tensor(X))
    np.testing.assert_array_equal(pull(np.ones(3))[0].array, np.cos(X))


def test_what_jax_traces_is_refused_with_the_cure() -> None:
    class JVPTracer:
        aval = "f64[3]"

    traced: Any = JVPTracer()
    with pytest.raises(InputError, match=r"which JAX traces.*fd\.interop\.jax\.wrap"):
        fd.grad(np.sum)(traced)


def test_bridges_take_another_librarys_arrays_for_leaves() -> None:
    xs, parts = take_apart(([Tensor(X)], {"k": 2}), lambda x: isinstance(x, Tensor))
    assert [type(x) for x in xs] == [Tensor]
    assert parts.rebuild([X]) == ([X], {"k": 2})


def test_threads_bridge_at_once() -> None:
    f = bridged(lambda x: np.sum(np.sin(x) ** 2))
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = [fd.hessian(f)(X * k) for _ in range(5)][-1]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, h in found.items():
        np.testing.assert_allclose(h, np.diag(2 * np.cos(2 * X * k)), atol=1e-14)
    assert len(found) == 4


@pytest.mark.parametrize("library", ["jax", "torch", "pytensor"])
def test_a_library_that_is_missing_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, library, None)
    monkeypatch.delitem(__import__("sys").modules, f"funcdiff.interop.{library}", raising=False)
    with pytest.raises(fd.errors.MissingDependencyError, match=rf'"funcdiff\[{library}\]"'):
        getattr(fd.interop, library)


def test_what_is_no_bridge_is_said() -> None:
    with pytest.raises(AttributeError, match="no attribute 'tensorflow'"):
        fd.interop.tensorflow  # type: ignore[attr-defined]  # noqa: B018
