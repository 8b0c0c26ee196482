"""In an eager derivative of the first order the user's rules run on values: arrays, no tracers."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spsolve

import funcdiff as fd
from funcdiff.api.calls.tracing import run
from funcdiff.api.derivatives import gradient
from funcdiff.api.derivatives.first_sight import MOST_VECTORS
from funcdiff.errors import (
    ConcreteValueError,
    InputError,
    InternalError,
    NotDifferentiableError,
    OutputError,
    TracerError,
)

X = np.array([0.5, -1.2, 2.0])
PLAIN = (np.ndarray, np.generic)


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare nothing with traced rules: for that the function is called again."""
    monkeypatch.delenv("FUNCDIFF_CHECK")


class Counted:
    """The sine with a rule of some kind, which counts the calls of its parts."""

    def __init__(self, kind: str) -> None:
        self.body, self.rules = 0, 0
        declare: Any = {"primitive": fd.primitive}.get(kind, fd.custom_vjp)
        self.f = declare(self._sine)
        if kind == "jvp":
            self.f.defjvp(self._push)
        else:
            self.f.defvjp(self._forward, self._backward)

    def _sine(self, x: Any) -> Any:
        assert isinstance(x, PLAIN)
        self.body += 1
        return np.sin(x)

    def _forward(self, x: Any) -> Any:
        return self.f(x), x

    def _backward(self, x: Any, ct: Any) -> Any:
        self.rules += 1
        return (ct * np.conj(np.cos(x)),)

    def _push(self, primals: Any, tangents: Any) -> Any:
        self.rules += 1
        return self.f(*primals), tangents[0] * np.cos(primals[0])


DERIVATIVES: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: fd.grad(lambda x: np.sum(f(x)))(x),
    "value_and_grad": lambda f, x: fd.value_and_grad(lambda x: np.sum(f(x)))(x)[1],
    "vjp": lambda f, x: fd.vjp(f, x)[1](np.ones_like(x))[0],
    "jvp": lambda f, x: fd.jvp(f, (x,), (np.ones_like(x),))[1],
}


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("kind", ["vjp", "jvp", "primitive"])
@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_the_function_and_its_rule_run_once(derivative: Any, kind: str) -> None:
    made = Counted(kind)
    for n in range(1, 10):
        np.testing.assert_allclose(derivative(made.f, X), np.cos(X), rtol=1e-15)
        assert (made.body, made.rules) == (n, n)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("kind", ["vjp", "jvp", "primitive"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("derivative", [DERIVATIVES["vjp"], DERIVATIVES["jvp"]])
def test_every_dtype_and_layout(derivative: Any, dtype: Any, kind: str) -> None:
    f = Counted(kind).f
    whole = np.linspace(0.1, 1.3, 24).reshape(4, 6).astype(dtype) * (1 + 0.3j).real
    if np.dtype(dtype).kind == "c":
        whole = whole * dtype(1 + 0.3j)
    row = np.broadcast_to(whole[0], (3, 6))
    for x in (whole, whole.T, whole[::2, 1::3], row, whole[:0], whole[:1, :1], whole[0, 0]):
        found, expected = derivative(f, x), derivative(np.sin, x)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-5 if whole.itemsize < 9 else 1e-13)
        assert type(found) is type(expected)


# ---- what rules may do -----------------------------------------------------------------------


def sparse_solver() -> Any:
    a = csc_matrix(np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 0.5], [1.0, 0.0, 4.0]]))
    solve: Any = fd.custom_vjp(lambda b: spsolve(a, b))

    def backward(_: None, g: Any) -> Any:
        if not np.any(g) or float(np.max(np.abs(g))) == 0:
            return (None,)
        return (spsolve(a.T.tocsc(), g),)

    solve.defvjp(lambda b: (solve(b), None), backward)
    return solve, a.toarray()


def test_rules_may_look_at_values_and_call_what_is_not_numpy() -> None:
    solve, a = sparse_solver()
    for scale in (1.0, 0.0, 1.0, 2.0):
        found = fd.grad(lambda b, scale=scale: scale * np.sum(solve(b) ** 2))(X)
        expected = fd.grad(lambda b, scale=scale: scale * np.sum(np.linalg.solve(a, b) ** 2))(X)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    y, f_vjp = fd.vjp(solve, X)
    np.testing.assert_allclose(y, np.linalg.solve(a, X))
    for row in np.eye(3):
        np.testing.assert_allclose(f_vjp(row)[0], np.linalg.solve(a.T, row))


def test_opaque_functions_in_rules_need_no_result() -> None:
    cosine = fd.primitive(lambda x: np.array([np.cos(v) for v in x]))
    sine = fd.primitive(lambda x: np.array([np.sin(v) for v in x]))
    sine.defjvp(lambda p, t: (sine(*p), cosine(*p) * t[0]))
    for derivative in DERIVATIVES.values():
        np.testing.assert_allclose(derivative(sine, X), np.cos(X))
    with pytest.raises(ConcreteValueError, match="result="):
        fd.jit(fd.grad(lambda x: np.sum(sine(x))))(X)


def test_a_primitive_may_return_another_shape_each_time() -> None:
    positive = fd.primitive(lambda x: x[x > 0])

    def backward(x: Any, ct: Any) -> Any:
        slope = np.zeros_like(x)
        slope[x > 0] = ct
        return (slope,)

    positive.defvjp(lambda x: (positive(x), x), backward)
    for x in (X, -X, X[:0], np.ones(4)):
        found = fd.grad(lambda x: np.sum(positive(x) ** 2))(x)
        np.testing.assert_allclose(found, np.where(x > 0, 2 * x, 0))


def test_a_rule_may_take_derivatives_itself_and_call_functions_with_rules() -> None:
    inner = Counted("vjp").f
    outer: Any = fd.custom_vjp(lambda x: np.exp(inner(x)))

    def backward(x: Any, ct: Any) -> Any:
        y, pull = fd.vjp(lambda x: np.exp(inner(x)), x)
        slope = fd.grad(lambda x: np.sum(np.exp(inner(x))))(x)
        assert all(isinstance(v, PLAIN) for v in (y, slope))
        return (0.5 * pull(ct)[0] + 0.5 * ct * slope,)

    outer.defvjp(lambda x: (outer(x), x), backward)
    for derivative in (DERIVATIVES["grad"], DERIVATIVES["vjp"]):
        found = derivative(outer, X)
        np.testing.assert_allclose(found, np.exp(np.sin(X)) * np.cos(X), rtol=1e-13)
    again = fd.grad(lambda x: np.sum(outer(outer(x))))(X)
    expected = fd.grad(lambda x: np.sum(np.exp(np.sin(np.exp(np.sin(x))))))(X)
    np.testing.assert_allclose(again, expected, rtol=1e-13)


@pytest.mark.usefixtures("once")
def test_what_is_drawn_at_random_is_drawn_once() -> None:
    random = np.random.default_rng(0)
    noisy: Any = fd.custom_vjp(lambda x: x * random.normal(size=x.shape))

    def forward(x: Any) -> Any:
        noise = random.normal(size=x.shape)
        return x * noise, noise

    noisy.defvjp(forward, lambda noise, ct: (ct * noise,))
    fd.grad(lambda x: np.sum(noisy(x)))(X)  # which learns what the function returns
    for _ in range(8):
        value, slope = fd.value_and_grad(lambda x: np.sum(noisy(x)))(X)
        np.testing.assert_allclose(value, X @ slope)
    y, f_vjp = fd.vjp(noisy, X)
    np.testing.assert_allclose(f_vjp(np.ones(3))[0], y / X)


@pytest.mark.usefixtures("once")
def test_a_rule_that_calls_its_function_gets_the_values_that_it_had() -> None:
    random = np.random.default_rng(0)
    noisy = fd.primitive(lambda x: x * random.normal(size=x.shape))
    noisy.defjvp(lambda p, t: ((y := noisy(*p)), t[0] * y / p[0]))
    for _ in range(8):
        y, ty = fd.jvp(noisy, (X,), (X,))
        np.testing.assert_allclose(y, ty)


# ---- where rules on values do not decide -----------------------------------------------------


def logarithm(kind: str) -> Any:
    f = fd.custom_vjp(np.log)
    if kind == "vjp":
        f.defvjp(lambda x: (np.log(x), x), lambda x, ct: (ct / x,))
    else:
        f.defjvp(lambda p, t: (np.log(p[0]), t[0] / p[0]))
    return f


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_an_infinite_slope_does_not_meet_the_zero_of_a_mask(derivative: Any, kind: str) -> None:
    f, x = logarithm(kind), np.array([1.0, 0.0, 2.0])
    for _ in range(4):
        found = derivative(lambda x: np.where(x > 0, f(x), 0.0), x)
        np.testing.assert_array_equal(found, [1.0, 0.0, 0.5])


def test_what_is_not_finite_is_seen_before_another_rule_hides_it() -> None:
    f = logarithm("vjp")
    clipped: Any = fd.custom_vjp(lambda x: x)
    clipped.defvjp(lambda x: (clipped(x), None), lambda _, ct: (np.where(np.isnan(ct), 3.0, ct),))
    x = np.array([1.0, 0.0, 2.0])

    def masked(x: Any) -> Any:
        return np.where(x > 0, f(clipped(x)), 0.0)

    expected = fd.jit(fd.grad(lambda x: np.sum(masked(x))))(x)
    for _ in range(4):
        np.testing.assert_array_equal(DERIVATIVES["grad"](masked, x), expected)
        np.testing.assert_array_equal(DERIVATIVES["vjp"](masked, x), expected)


def test_where_rules_cannot_be_traced_the_numbers_stay_what_they_say() -> None:
    root = fd.custom_vjp(lambda x: np.sqrt(x))
    root.defvjp(
        lambda x: (np.sqrt(x), x), lambda x, ct: (ct / 2 / np.array([float(v) ** 0.5 for v in x]),)
    )
    for _ in range(4):
        slope = fd.grad(lambda x: np.sum(root(x)))(np.array([0.0, 4.0]))
        np.testing.assert_array_equal(slope, [np.inf, 0.25])


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_rules_that_are_no_functions_are_found_by_checks(
    derivative: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUNCDIFF_CHECK", "1")
    count = iter(range(1000))
    f: Any = fd.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (2 * x, None), lambda _, ct: (next(count) * ct,))
    # whichever check meets it first: a program that other tests ran often is compiled
    found = "rules that ran on values and traced rules|compiled code and the interpreter"
    with pytest.raises(InternalError, match=f"({found}) disagree"):
        derivative(f, X)


# ---- pullbacks, which are called later -------------------------------------------------------


def test_a_pullback_stays_what_it_was_whatever_is_written_to() -> None:
    buffer, x = np.ones(3), X.copy()
    f: Any = fd.custom_vjp(lambda x, c: x * c)
    f.defvjp(lambda x, c: (x * c, (x, c)), lambda xc, ct: (ct * xc[1], ct * xc[0]))

    def total(x: Any) -> Any:
        y = x
        for k in range(3):
            buffer[:] = k + 2
            y = f(y, buffer)
        return y

    y, f_vjp = fd.vjp(total, x)
    for _ in range(3):
        x[:], buffer[:], y[:] = 7, 7, 7
        np.testing.assert_array_equal(f_vjp(np.ones(3))[0], [24.0, 24.0, 24.0])


def test_what_rules_return_is_copied() -> None:
    buffer = np.zeros(3)

    def fill(x: Any) -> Any:
        buffer[:] = x
        return buffer

    f: Any = fd.custom_vjp(lambda x: fill(2 * x))
    f.defvjp(lambda x: (fill(2 * x), fill(2 * x)), lambda twice, ct: (fill(ct * twice),))

    def g(x: Any) -> Any:
        y, z = f(x), f(3 * x)
        return np.sum(y * z)

    assert np.any(buffer == 0)
    # d(y z) = z 2x + 3 y 6x, with y = 2x and z = 6x
    np.testing.assert_allclose(fd.value_and_grad(g)(X)[0], np.sum(12 * X**2))
    np.testing.assert_allclose(fd.grad(g)(X), 6 * X * 2 * X + 3 * 2 * X * 6 * X)


def test_a_pullback_takes_traced_cotangents() -> None:
    f, x = Counted("vjp").f, X.copy()
    _, f_vjp = fd.vjp(f, x)
    for _ in range(2):
        x[:] = 7
        (rows,) = fd.vmap(f_vjp)(np.eye(3))
        np.testing.assert_allclose(rows, np.diag(np.cos(X)))
        np.testing.assert_allclose(fd.jit(f_vjp)(X)[0], X * np.cos(X))
        slope = fd.grad(lambda v: np.sum(f_vjp(v * v)[0]))(X)
        np.testing.assert_allclose(slope, 2 * X * np.cos(X))


@pytest.mark.usefixtures("once")
def test_a_pullback_that_has_to_be_derived_of_another_value_raises() -> None:
    scale = [2.0]
    f: Any = fd.custom_vjp(lambda x: scale[0] * x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (scale[0] * ct,))
    _, f_vjp = fd.vjp(f, X)
    scale[0] = 3.0
    with pytest.raises(NotDifferentiableError, match=r"something else than before.* Call fd\.vjp"):
        fd.vmap(f_vjp)(np.eye(3))


@pytest.mark.usefixtures("once")
def test_rules_and_residuals_are_forgotten_with_the_derivative(collect: Callable[[], int]) -> None:
    class Factors:
        pass

    alive = []
    f: Any = fd.custom_vjp(lambda x: 2 * x)

    def forward(x: Any) -> Any:
        factors = Factors()
        alive.append(weakref.ref(factors))
        return 2 * x, factors

    f.defvjp(forward, lambda _, ct: (2 * ct,))
    for _ in range(5):
        fd.grad(lambda x: np.sum(f(x)))(X)
    _, f_vjp = fd.vjp(f, X)
    collect()
    assert [r() is None for r in alive] == [True] * 5 + [False]
    del f_vjp
    collect()
    assert alive[-1]() is None


# ---- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["residual", "cotangent", "primal", "tangent"])
def test_what_rules_get_cannot_be_changed_in_place(place: str) -> None:
    f: Any = fd.custom_vjp(lambda x: 2 * x)

    def backward(x: Any, ct: Any) -> Any:
        target = x if place == "residual" else ct
        target *= 2
        return (target,)

    def push(primals: Any, tangents: Any) -> Any:
        target = primals[0] if place == "primal" else tangents[0]
        target *= 2
        return 2 * primals[0], target

    if place in ("primal", "tangent"):
        f.defjvp(push)
    else:
        f.defvjp(lambda x: (2 * x, x), backward)
    kind = "JVP" if place in ("primal", "tangent") else "backward"
    derivative = DERIVATIVES["jvp" if kind == "JVP" else "grad"]
    with pytest.raises(InputError, match=rf"{kind} rule .* changes an input in place, at .*"):
        derivative(f, X)
    np.testing.assert_array_equal(X, [0.5, -1.2, 2.0])


@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_errors_of_rules_come_out_as_they_are_and_name_the_rule(derivative: Any) -> None:
    f: Any = fd.custom_vjp(lambda x: 2 * x)

    def fails(*_args: Any) -> Any:
        raise OSError("the disk is full")

    f.defvjp(lambda x: (2 * x, None), fails)
    f.defjvp(fails)
    for _ in range(6):
        with pytest.raises(OSError, match="the disk is full") as caught:
            derivative(f, X)
        assert "rule fails" in "".join(caught.value.__notes__)
        assert "test_rules_on_values.py" in "".join(caught.value.__notes__)
        assert caught.traceback[-1].name == "fails"


def test_a_forward_rule_that_returns_something_else_is_refused_each_time() -> None:
    f: Any = fd.custom_vjp(lambda x: 2 * x)
    f.defvjp(lambda x: (np.float32(2) * x.astype(np.float32), None), lambda _, ct: (ct,))
    for _ in range(3):
        with pytest.raises(OutputError, match=r"forward rule .* must return first what .*f64\[3\]"):
            fd.grad(lambda x: np.sum(f(x)))(X)


def test_rules_that_are_traced_say_so_and_how_to_write_them() -> None:
    solve, _ = sparse_solver()
    with pytest.raises(ConcreteValueError) as caught:
        fd.jit(fd.vjp(solve, X)[1])(X)
    note = "".join(caught.value.__notes__)
    assert "the backward rule backward" in note
    assert "was traced" in note
    assert "fd.cond" in note
    assert "result=" in note
    with pytest.raises(TracerError) as second:
        fd.grad(lambda x: np.sum(fd.grad(lambda x: np.sum(solve(x) ** 2))(x)))(X)
    assert any("was traced" in note for note in second.value.__notes__)


# ---- closures --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("mode", ["grad", "vjp", "jvp"])
def test_a_rule_may_close_over_what_is_traced(mode: str, kind: str) -> None:
    def g(x: Any) -> Any:
        y = np.cumsum(x)
        f: Any = fd.custom_vjp(lambda z: 2 * z)
        if kind == "vjp":
            f.defvjp(lambda z: (2 * z, y), lambda kept, ct: (ct * y * kept,))
        else:
            f.defjvp(lambda p, t: (2 * p[0], t[0] * y * y))
        return f(3 * x)

    for _ in range(3):
        found = DERIVATIVES[mode](g, X)
        np.testing.assert_allclose(found, 3 * np.cumsum(X) ** 2, rtol=1e-13)


# ---- arguments and results -------------------------------------------------------------------


@pytest.mark.usefixtures("once")
def test_containers_weak_numbers_and_arrays_without_axes_come_as_they_are() -> None:
    seen = []

    def body(p: Any, n: Any, how: Any, *, scale: Any = 1.0) -> Any:
        seen.append((type(p["a"]), type(p["b"][0]), type(n), how, type(scale)))
        return {"y": p["a"] * n * scale, "z": [p["b"][0] ** 2], "n": n, "how": how}

    f: Any = fd.custom_vjp(lambda p, n, how, scale=1.0: body(p, n, how, scale=scale))
    f.defvjp(
        lambda p, n, how, scale: (f(p, n, how, scale), (p, n, how)),
        lambda kept, ct: (
            {"a": ct["y"] * kept[1], "b": [2 * kept[0]["b"][0] * ct["z"][0], None]},
            *(None, None, None),
        ),
    )

    def g(a: Any, b: Any) -> Any:
        out = f({"a": a, "b": [b, 1.5]}, 3, "well", scale=1)
        assert out["how"] == "well"
        assert out["n"] == 3
        return np.sum(out["y"]) + out["z"][0], out

    for _ in range(3):
        (value, out), (ga, gb) = fd.value_and_grad(g, (0, 1), has_aux=True)(X, 2.0)
        np.testing.assert_array_equal(ga, [3.0, 3.0, 3.0])
        assert (gb, type(gb)) == (4.0, np.float64)
        np.testing.assert_allclose(value, 3 * X.sum() + 4)
        np.testing.assert_array_equal(out["y"], 3 * X)
        gb = fd.grad(g, 1, has_aux=True)(X, np.array(2.0))[0]
        assert (gb.shape, type(gb)) == ((), np.ndarray)
    assert seen[0] == (np.ndarray, float, int, "well", int)
    assert (np.ndarray, np.ndarray, int, "well", int) in seen


def test_a_result_that_is_a_python_number_is_one() -> None:
    f: Any = fd.primitive(lambda x: float(np.sum(x)))
    f.defvjp(lambda x: (f(x), np.size(x)), lambda n, ct: (ct * np.ones(n),))
    slope = fd.grad(lambda x: np.sum(f(x) * x.astype(np.float32)))(X)
    np.testing.assert_allclose(slope, np.sum(X) + np.full(3, np.sum(X)), rtol=1e-6)
    assert fd.jvp(lambda x: f(x) * np.float32(2), (X,), (X,))[0].dtype == np.float32


@pytest.mark.usefixtures("once")
def test_results_of_other_kinds_come_as_they_are() -> None:
    found: list[Any] = []
    results: list[Any] = [
        "text", None, np.array(["a", "b"]), X.astype(">f8"), np.arange(3), X > 0, (), {}, 2,
        np.array(3.0), [X, 1.5, True],
    ]  # fmt: skip
    for result in results:
        f: Any = fd.custom_vjp(lambda x, result=result: result)
        f.defvjp(lambda x, result=result: (result, None), lambda _, ct: (None,))

        def g(x: Any, f: Any = f) -> Any:
            found.append(f(x))
            return np.sum(x)

        np.testing.assert_array_equal(fd.grad(g)(X), np.ones(3))
        leaves = fd.pytree.flatten(found[-1])[0]
        expected = fd.pytree.flatten(result)[0]
        assert [isinstance(x, np.ndarray) for x in leaves] == [
            isinstance(x, np.ndarray) for x in expected
        ]
        assert [np.shape(x) for x in leaves] == [np.shape(x) for x in expected]


def test_a_jvp_rule_gets_the_result_that_was_although_its_buffer_changed() -> None:
    buffer = np.zeros(3)

    def fill(x: Any) -> Any:
        buffer[:] = np.exp(x)
        return buffer

    f = fd.primitive(fill)
    f.defjvp(lambda p, t: (f(*p), t[0] * f(*p)))
    _, tangent = fd.jvp(lambda x: f(f(x) - 1), (X,), (np.ones(3),))
    np.testing.assert_allclose(tangent, np.exp(np.exp(X) - 1) * np.exp(X))


def test_complex_cotangents_follow_the_adjoint_convention() -> None:
    f: Any = fd.custom_vjp(lambda z: (1 + 2j) * z)
    f.defvjp(lambda z: (f(z), None), lambda _, ct: ((1 - 2j) * ct,))
    g: Any = fd.custom_jvp(lambda z: (1 + 2j) * z)
    g.defjvp(lambda p, t: (g(*p), (1 + 2j) * t[0]))
    z, v = X + 1j * X[::-1], X - 0.5j
    for c in (f, g):
        expected = fd.vjp(lambda z: (1 + 2j) * z, z)[1](v)[0]
        np.testing.assert_allclose(fd.vjp(c, z)[1](v)[0], expected)
        np.testing.assert_allclose(fd.jvp(c, (z,), (v,))[1], (1 + 2j) * v)
        np.testing.assert_allclose(fd.grad(c, holomorphic=True)(1 + 1j), 1 + 2j)


def test_several_results_of_which_some_have_cotangents() -> None:
    f: Any = fd.custom_vjp(lambda x: (np.sin(x), np.cos(x), np.floor(x).astype(int)))

    def backward(x: Any, ct: Any) -> Any:
        assert ct[2] is None
        return (ct[0] * np.cos(x) - ct[1] * np.sin(x),)

    f.defvjp(lambda x: (f(x), x), backward)
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(f(x)[0]))(X), np.cos(X))
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(f(x)[1]))(X), -np.sin(X))
    np.testing.assert_array_equal(fd.grad(lambda x: np.sum(f(x)[2] * x))(X), np.floor(X))
    (y, z, n), f_vjp = fd.vjp(f, X)
    np.testing.assert_allclose(f_vjp((y, z, n))[0], y * np.cos(X) - z * np.sin(X), atol=1e-16)
    assert n.dtype.kind == "i"


def test_only_the_arguments_that_are_differentiated_have_tangents() -> None:
    f: Any = fd.custom_jvp(lambda n, x, y: x**n * y, nondiff_argnums=0)

    def push(n: Any, primals: Any, tangents: Any) -> Any:
        (x, y), (tx, ty) = primals, tangents
        return f(n, x, y), n * x ** (n - 1) * y * tx + x**n * ty

    f.defjvp(push)
    y = np.arange(1.0, 4.0)
    for g in (fd.grad(lambda x: np.sum(f(3, x, y))), fd.grad(lambda x: np.sum(f(3, x=x, y=y)))):
        np.testing.assert_allclose(g(X), 3 * X**2 * y)
    np.testing.assert_allclose(fd.grad(lambda y: np.sum(f(2, X, y)))(y), X**2)
    np.testing.assert_allclose(fd.jvp(lambda y: f(2, X, y), (y,), (y,))[1], X**2 * y)
    assert isinstance(fd.value_and_grad(lambda x: np.sum(x) + f(2, 3.0, 2.0))(X)[0], np.float64)


def test_sixteen_threads_take_derivatives_of_one_function() -> None:
    f = Counted("vjp").f

    def slope(k: int) -> Any:
        x = X + k
        return fd.grad(lambda x: np.sum(f(f(x))))(x), np.cos(np.sin(x)) * np.cos(x)

    with ThreadPoolExecutor(16) as pool:
        for found, expected in pool.map(slope, range(64)):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("size", [3, 200_000])
@pytest.mark.parametrize("kind", ["vjp", "jvp"])
@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_a_work_buffer_may_be_used_again_after_each_call(
    derivative: Any, kind: str, size: int
) -> None:
    buffer = np.ones(size)
    f: Any = fd.custom_vjp(lambda x, c: x * c)
    if kind == "vjp":
        f.defvjp(lambda x, c: (x * c, c), lambda c, ct: (ct * c, None))
    else:
        f.defjvp(lambda p, t: (p[0] * p[1], t[0] * p[1]))

    def g(x: Any) -> Any:
        for k in range(3):
            buffer[:] = k + 2
            x = f(x, buffer)
        buffer[:] = 7
        return x

    np.testing.assert_array_equal(derivative(g, np.ones(size)), np.full(size, 24.0))


def test_a_large_work_buffer_may_be_used_again_where_forward_rules_run_later() -> None:
    test_a_work_buffer_may_be_used_again_after_each_call(DERIVATIVES["jvp"], "jvp", 200_000)


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_a_pullback_of_large_arrays_keeps_what_it_needs(kind: str) -> None:
    x = np.linspace(0, 1, 200_000)
    f = Counted(kind).f
    _, f_vjp = fd.vjp(lambda x: f(x + 0), x)
    expected = np.cos(x)
    x[:] = 9
    np.testing.assert_allclose(f_vjp(np.ones_like(x))[0], expected)


@pytest.mark.usefixtures("once")
def test_what_the_arguments_of_rules_need_is_not_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sine, ran = Counted("vjp").f, ""

    def noted(program: Any, *rest: Any) -> Any:
        nonlocal ran
        ran = str(program)
        return run(program, *rest)

    def loss(x: Any) -> Any:
        y = x[::-1] * np.tanh(x)
        return np.sum(sine(y) * y), y

    for n in range(8):  # on a tape, then by a program
        x = X + n
        with monkeypatch.context() as patched:
            patched.setattr(gradient, "run", noted)
            (value, y), g = fd.value_and_grad(loss, has_aux=True)(x)
        _, pull, aux = fd.vjp(loss, x, has_aux=True)
        x += 1.0  # what is known is in part a view of it
        aux[...] = 0.0
        both = [pull()[0] for _ in range(MOST_VECTORS + 1)][-1]
        x -= 1.0
        (expected, z), h = fd.jit(fd.value_and_grad(loss, has_aux=True))(x)
        for found, wanted in ((value, expected), (y, z), (g, h), (both, h)):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert "custom_known_tangent" in ran
    assert "tanh" not in ran
