"""At first sight derivatives go by a tape: the same numbers, and no program derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.derivatives.dense import jacobian_program
from funcdiff.api.derivatives.programs import (
    gradient_program,
    jvp_program,
    linearize_programs,
    vjp_programs,
)
from funcdiff.backend.tape import tape
from funcdiff.backend.tape.steps import NeedsProgramError
from funcdiff.core.running.evaluate import executable, patience
from funcdiff.errors import InternalError
from funcdiff.passes import recorded

X = np.array([0.5, -1.2, 2.0])
PROGRAMS = (gradient_program, jacobian_program, jvp_program, linearize_programs, vjp_programs)


@pytest.fixture(autouse=True)
def unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FUNCDIFF_CHECK")  # which derives the program at once, to compare
    fd.clear_caches()


def derived() -> int:
    """How many programs of derivatives there are."""
    return sum(len(programs) for programs in PROGRAMS)


def loss(x: Any) -> Any:
    y = np.concatenate([np.sin(x) * x, x[::-1] / (1 + x**2)])
    return np.sum(np.linalg.norm(y.reshape(2, 3) @ x)) + np.max(y) + y[1] ** 2


def results(f: Callable[[Any], Any], x: Any) -> list[Any]:
    """What every derivative of the first order gives for a function of one array."""
    y, f_vjp = fd.vjp(f, x)
    value, gradient = fd.value_and_grad(f)(x)
    return [fd.grad(f)(x), value, gradient, y, *f_vjp(2.5), *fd.jvp(f, (x,), (np.cos(x),))]


def test_a_program_is_derived_when_it_comes_back_and_computes_the_same() -> None:
    first = results(loss, X)
    assert derived() == 0
    for _ in range(8):
        for y, z in zip(results(loss, X), first, strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-14, atol=1e-15)
            assert type(y) is type(z)
    assert derived() == 4  # with and without the value


def test_what_a_derivative_adds_to_is_kept_where_it_is_not_zero() -> None:
    a = np.array([[2.0, 1.0, 0.3], [0.4, -1.5, 0.7]])
    weights = np.arange(1.0, 7.0).reshape(2, 3)

    def of_factors(a: Any) -> Any:  # the rest of a wide matrix is beside what its square gives
        q, r = np.linalg.qr(a)
        return np.sum(weights * r) + q[0, 1]

    first = fd.grad(of_factors)(a)
    assert derived() == 0
    np.testing.assert_allclose(first, fd.jit(fd.grad(of_factors))(a), rtol=1e-12)


@pytest.mark.parametrize(("size", "calls"), [(1, 9), (3000, 4), (10_000, 2)])
def test_a_program_is_derived_when_it_has_come_back_a_few_times(
    size: int, calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "least", 8)
    x = np.ones(size)
    for call in range(calls):
        assert derived() == 0, call
        fd.grad(lambda x: np.sin(np.cos(x) * x)[0])(x)
    assert derived() == 1


def test_a_derived_program_is_compiled_when_it_has_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "least", 8)
    programs = [fd.trace(lambda x: np.sin(x))(np.ones(n)) for n in (3, 9000)]
    assert [executable.__wrapped__(program)._runs_left for program in programs] == [8, 4]


def test_long_programs_wait_longer() -> None:
    def long(x: Any) -> Any:
        for _ in range(100):
            x = np.sin(x) + 0.1
        return np.sum(x)

    calls = 0
    while not derived():
        fd.grad(long)(X)
        calls += 1
    assert calls == 202 // 64 + 1
    tape.forget_sightings()


@pytest.mark.parametrize("is_loop", [True, False])
def test_long_loops_wait_less(is_loop: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "LONG", 400)
    bits = np.random.default_rng(0).integers(0, 2, 250)

    def long(x: Any) -> Any:
        for bit in bits:
            x = np.sin(x) + 0.1 if is_loop or bit else np.cos(x)
            x = 0.9 * x if is_loop or not bit else x
        return np.sum(x)

    calls, entries = 0, len(fd.trace(long)(X).equations)
    while not derived():
        fd.grad(long)(X)
        calls += 1
    assert calls == 7 if is_loop else entries // 64 <= calls <= entries // 64 + 1
    tape.forget_sightings()


@pytest.mark.parametrize("f", [
    lambda x: np.sum(np.where(x > 0, np.log(x), 0.0)),
    lambda x: np.sum(np.where(x != 0, np.sin(x) / x, 1.0)),
    lambda x: np.linalg.norm(x[1:2]),
    lambda x: np.sum(np.sqrt(np.abs(x)) ** 2),
    lambda x: np.sum(np.exp(-1 / x**2)),
    lambda x: np.sum(np.exp(1e4 * x) / (1 + np.exp(1e4 * x))),
])  # fmt: skip
def test_where_something_is_not_finite_the_program_decides(f: Callable[[Any], Any]) -> None:
    x = np.array([1.0, 0.0, 2.0])
    expected = fd.jit(fd.grad(f))(x)
    np.testing.assert_array_equal(fd.grad(f)(x), expected)
    assert derived() >= 1


def test_equal_eigenvalues_are_left_to_the_program() -> None:
    def f(a: Any) -> Any:
        values, vectors = np.linalg.eigh(a + a.T)
        return np.sum((vectors * np.exp(values)) @ vectors.T)

    a = np.diag([1.0, 1.0 + 1e-13, 2.0])
    np.testing.assert_allclose(fd.grad(f)(a), fd.jit(fd.grad(f))(a), rtol=1e-12)


def test_programs_on_large_arrays_are_derived_at_once() -> None:
    fd.grad(lambda x: np.sum(np.sin(x)))(np.ones(70_000))
    fd.jvp(lambda x: np.sum(np.sin(x)), (np.ones(70_000),), (np.ones(70_000),))
    fd.vjp(lambda x: np.sum(np.sin(x)), np.ones(70_000))
    assert derived() == 3


@pytest.mark.parametrize("size", [0, 1, 3])
def test_axes_of_every_length(size: int) -> None:
    x = np.linspace(0.3, 1.5, size)

    def f(x: Any) -> Any:
        grid = x[:, None] * np.sin(x)
        return np.sum(grid @ np.ones((size, 2))) + np.sum(np.cumsum(x)[::-1])

    first = results(f, x)
    assert derived() == 0
    for y, z in zip(results(f, x), first, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_every_dtype_and_the_complex_convention(dtype: Any) -> None:
    x = (X + 1j * X[::-1]).astype(dtype) if np.dtype(dtype).kind == "c" else X.astype(dtype)

    def f(x: Any) -> Any:
        return np.sum(np.abs(np.exp(x) * x.conj())) + np.sum(x.imag * 2 + x.real**2)

    first = fd.grad(f)(x)
    second = fd.grad(f)(x)
    assert first.dtype == x.dtype == second.dtype
    np.testing.assert_allclose(first, second, rtol=1e-6)


def test_auxiliary_results_go_along() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        return np.sum(y), {"y": y, "name": "sine"}

    expected = np.cos(X)
    (value, aux), gradient = fd.value_and_grad(f, has_aux=True)(X)
    np.testing.assert_array_equal(gradient, expected)
    np.testing.assert_array_equal(aux["y"], np.sin(X))
    y, f_vjp, aux = fd.vjp(f, X, has_aux=True)
    np.testing.assert_array_equal(f_vjp(1.0)[0], expected)
    _, tangent, aux = fd.jvp(f, (X,), (X,), has_aux=True)
    np.testing.assert_allclose(tangent, expected @ X)
    assert value == y
    assert aux["name"] == "sine"
    assert derived() == 0


def test_results_that_do_not_depend_on_the_input_are_zeros() -> None:
    y, f_vjp = fd.vjp(lambda x, z: (np.floor(x), 3.0, z * 2), X, 1.5)
    np.testing.assert_array_equal(y[0], np.floor(X))
    gx, gz = f_vjp((X, 1.0, 2.0))
    np.testing.assert_array_equal(gx, np.zeros(3))
    assert gz == 4.0
    value, tangent = fd.jvp(lambda x: (np.floor(x), 3.0), (X,), (X,))
    np.testing.assert_array_equal(tangent[0], np.zeros(3))
    assert (value[1], tangent[1]) == (3.0, 0.0)
    assert derived() == 0


def test_cotangents_of_parts_are_added_up_in_memory_of_the_tape() -> None:
    c = np.arange(1.0, 7.0).reshape(2, 3)

    def f(x: Any) -> Any:
        total = np.sum(x * c) + np.sum(x[0] * x[1]) + x[1, 2]  # by turns a part and the whole
        for k in range(3):
            total = total + x[k % 2, k] * np.sum(x[:, ::2]) + np.sum(x[[0, 1, 1], [k, 0, 0]])
        return total + np.sum(x) + np.sum(x[x > 2.5])

    first = results(f, c + 0.25)
    assert derived() == 0
    for y, z in zip(results(f, c + 0.25), first, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-14)
    np.testing.assert_array_equal(c, np.arange(1.0, 7.0).reshape(2, 3))
    _, f_vjp = fd.vjp(lambda x: (x[:2], x[1:]), np.ones(3))
    ct = np.array([1.0, 2.0])
    for _ in range(3):
        np.testing.assert_array_equal(f_vjp((ct, ct))[0], [1.0, 3.0, 2.0])
    np.testing.assert_array_equal(ct, [1.0, 2.0])
    _, f_vjp = fd.vjp(lambda x: (x, x[:2]), np.ones(3))
    whole = np.array([1.0, 2.0, 4.0])
    for _ in range(3):  # to which the part is added in a copy
        np.testing.assert_array_equal(f_vjp((whole, ct))[0], [2.0, 4.0, 4.0])
    np.testing.assert_array_equal(whole, [1.0, 2.0, 4.0])


def pairs(x: Any, z: Any) -> Any:
    return {"a": np.sin(x) * z, "b": np.sum(x) ** 2, "c": (z**3, np.outer(x, x))}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_jacobians_at_first_sight_have_the_blocks_of_the_program(mode: Any, dtype: Any) -> None:
    x, z = X.astype(dtype), np.float64(1.5)
    derive = fd.value_and_jacobian(pairs, (0, 1), mode=mode)
    first = fd.pytree.flatten(derive(x, z))
    assert derived() == 0
    for _ in range(8):
        again = fd.pytree.flatten(derive(x, z))
        assert again[1] == first[1]
        for y, v in zip(again[0], first[0], strict=True):
            assert (y.shape, y.dtype, type(y)) == (v.shape, v.dtype, type(v))
            np.testing.assert_allclose(y, v, rtol=1e-6)
    assert derived() == 1


@pytest.mark.parametrize("size", [0, 1, 3])
def test_jacobians_of_few_elements_and_none(size: int) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.concatenate([x * y, x[:1], np.reshape(y, 1) ** 2])

    x, y = np.linspace(0.5, 1.0, size), 2.0
    for mode in ("forward", "reverse"):
        first = fd.jacobian(f, (0, 1), mode=mode)(x, y)
        fd.clear_caches()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FUNCDIFF_CHECK", "1")
            again = fd.jacobian(f, (0, 1), mode=mode)(x, y)
        for a, b in zip(first, again, strict=True):
            np.testing.assert_array_equal(a, b)


def test_jacobians_of_holomorphic_functions_and_of_complex_results() -> None:
    z = X + 0.5j
    first = fd.jacobian(lambda z: z * z * (1 + 2j), holomorphic=True)(z)
    np.testing.assert_allclose(first, np.diag(2 * z * (1 + 2j)), rtol=1e-14)
    mixed = fd.jacobian(lambda x: (x * (1 + 2j), x**2))(X)
    np.testing.assert_allclose(mixed[0], np.eye(3) * (1 + 2j))
    np.testing.assert_allclose(mixed[1], np.diag(2 * X))
    assert derived() == 0


def test_hessians_go_by_a_tape_of_the_gradient() -> None:
    first = fd.hessian(lambda x: np.sum(np.sin(x) * x[::-1] ** 2))(X)
    assert len(jacobian_program) == 0
    for _ in range(8):
        again = fd.hessian(lambda x: np.sum(np.sin(x) * x[::-1] ** 2))(X)
        np.testing.assert_allclose(again, first, rtol=1e-13, atol=1e-15)


def test_second_derivatives_of_lengths_of_vectors_go_by_a_tape() -> None:
    def f(x: Any) -> Any:
        return np.std(x) * np.linalg.norm(x - 0.3) + np.var(x) ** 2

    t = np.array([0.3, 0.8, -0.5])
    found = fd.hvp(f, (X,), (t,))
    assert len(jvp_program) == 0
    np.testing.assert_allclose(found, fd.hessian(f)(X) @ t, rtol=1e-11)


def test_a_linear_map_is_derived_for_many_directions() -> None:
    x = X.copy()
    y, f_jvp = fd.linearize(lambda x: (np.sin(x) * x, 2.0, np.floor(x)), x)
    assert derived() == 0
    x[:] = 0  # the map is that of the point as it was
    slope = np.cos(X) * X + np.sin(X)
    for k in range(40):
        t = np.cos(k + np.arange(3.0))
        ty, constant, steps = f_jvp(t)
        np.testing.assert_allclose(ty, slope * t, rtol=1e-14)
        assert constant == 0.0
        np.testing.assert_array_equal(steps, np.zeros(3))
        ty[:] = 7
    assert derived() == 1
    np.testing.assert_array_equal(y[0], np.sin(X) * X)
    rows = fd.vmap(f_jvp)(np.eye(3))[0]
    np.testing.assert_allclose(rows, np.diag(slope), rtol=1e-14)


def test_operations_on_what_is_not_differentiated_have_no_tangents() -> None:
    _, t = fd.jvp(lambda x, c: np.sin(c) * x + np.cos(c), (X, X + 1), (X,), argnums=0)
    np.testing.assert_array_equal(t, np.sin(X + 1) * X)
    assert derived() == 0


def test_tangents_of_what_is_added_to_are_kept() -> None:
    def f(x: Any) -> Any:
        y = x * x
        np.add.at(y, [0, 2, 0], x)
        y[1:] += x[:2]
        return y

    x, t = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0])
    _, tangent = fd.jvp(f, (x,), (t,))
    assert derived() == 0
    np.testing.assert_allclose(tangent, fd.jacobian(f)(x) @ t, rtol=1e-14)


@pytest.mark.slow
def test_a_long_program_of_new_operations_is_derived_at_once() -> None:
    x = np.ones(301)

    def sums(x: Any) -> Any:
        return sum(np.sum(x[:k]) * 0.5 for k in range(301))

    fd.grad(sums)(x)
    assert derived() == 1
    fd.grad(lambda x: sums(x) * 2.0)(x)  # the operations are known now
    assert derived() == 1


def test_reads_at_different_places_share_their_derivatives() -> None:
    x, t = np.linspace(0.5, 2.0, 301), np.cos(np.arange(301.0))

    def reads(x: Any) -> Any:
        return sum(x[k] ** 2 for k in range(301)) + np.sum(x[3:9:2] * x[5:8])

    expected = 2 * x
    expected[3:9:2] += x[5:8]
    expected[5:8] += x[3:9:2]
    np.testing.assert_allclose(fd.grad(reads)(x), expected, rtol=1e-15)
    np.testing.assert_allclose(fd.jvp(reads, (x,), (t,))[1], expected @ t, rtol=1e-13)
    assert derived() == 0


@pytest.mark.parametrize("cut", [np.s_[1:4, 2:], np.s_[::2, 1::3], np.s_[2:, 1], np.s_[0, 0]])
def test_derivatives_of_slices_follow_from_those_in_the_corner(cut: Any) -> None:
    x, c = np.arange(1.0, 31.0).reshape(5, 6), np.sin(np.arange(30.0)).reshape(5, 6)

    def f(x: Any) -> Any:
        y = x * c
        y[cut] = x[cut] ** 2
        z = np.sin(y)
        z[cut] += y[cut]
        return z

    _, tangent = fd.jvp(f, (x,), (c,))
    _, f_vjp = fd.vjp(f, x)
    cotangent = f_vjp(c)[0]
    only, constant = fd.jvp(lambda v: f(np.stack([v, x])[0]), (x,), (c,))
    assert derived() == 0
    fd.clear_caches()
    jacobian = fd.jacobian(f)(x)
    np.testing.assert_allclose(tangent, np.tensordot(jacobian, c), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(constant, tangent, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(only, f(x), rtol=1e-14)
    np.testing.assert_allclose(cotangent, np.tensordot(c, jacobian), rtol=1e-13, atol=1e-14)


def test_operations_of_several_results_and_cotangents_of_some() -> None:
    def f(a: Any) -> Any:
        q, r = np.linalg.qr(a)
        return r, q[0]

    a = np.array([[2.0, 1.0], [0.5, -1.0], [1.0, 3.0]])
    for pick in (lambda a: np.sum(f(a)[0] ** 3), lambda a: f(a)[1][0] * 2, lambda a: f(a)[0][0, 1]):
        first = fd.grad(pick)(a)
        np.testing.assert_allclose(fd.grad(pick)(a), first, rtol=1e-12)
    assert derived() == 3


def test_a_pullback_stays_what_it_was_whatever_is_written_to() -> None:
    x, scale = X.copy(), np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        y = np.sin(x) * scale
        return y, y * x

    outputs, f_vjp = fd.vjp(f, x)
    cts = (np.ones(3), np.ones(3))
    (expected,) = f_vjp(cts)
    kept = expected.copy()
    x[:] = 0
    scale[:] = 0
    expected[:] = 7
    for y in outputs:
        y[:] = 7
    (again,) = f_vjp(cts)
    np.testing.assert_array_equal(again, kept)


def test_gradients_are_arrays_of_their_own() -> None:
    c = np.array([1.0, 2.0, 3.0])
    gradient = fd.grad(lambda x: np.sum(x * c))(X)
    gradient[:] = 0
    np.testing.assert_array_equal(c, [1.0, 2.0, 3.0])
    x, y = fd.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(X, X)
    x += 1
    np.testing.assert_array_equal(y, np.ones(3))
    assert np.sum(fd.grad(np.sum)(np.ones((2, 3)))) == 6


def test_a_pullback_of_the_first_call_takes_traced_cotangents() -> None:
    _, f_vjp = fd.vjp(lambda x: np.sin(x) * x, X)
    (rows,) = fd.vmap(f_vjp)(np.eye(3))
    np.testing.assert_allclose(rows, np.diag(np.sin(X) + X * np.cos(X)), rtol=1e-15)
    (second,) = (fd.grad(lambda v: np.sum(f_vjp(v * v)[0]))(X),)
    np.testing.assert_allclose(second, 2 * X * (np.sin(X) + X * np.cos(X)), rtol=1e-14)


def test_loops_of_a_length_that_differs_derive_nothing() -> None:
    def root(x: Any) -> Any:
        y = x
        while np.max(np.abs(y * y - x) / x) > 1e-12:
            y = (y + x / y) / 2
        return np.sum(y)

    for k in range(1, 9):
        x = np.array([1.0, 10.0**k])
        np.testing.assert_allclose(fd.grad(root)(x), 0.5 / np.sqrt(x), rtol=1e-9)
    assert derived() == 0


def test_code_of_the_users_is_not_run_twice() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return np.cos(x)

    f = fd.custom_vjp(counted)
    f.defvjp(lambda x: (counted(x), x), lambda x, ct: (-np.sin(x) * ct,))
    np.testing.assert_allclose(fd.grad(lambda x: np.sum(f(x)))(X), -np.sin(X))
    assert len(calls) <= 2


def test_a_disagreement_of_the_two_ways_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUNCDIFF_CHECK", "1")
    right = tape.Tape.pull
    monkeypatch.setattr(tape.Tape, "pull", lambda self, cts: [2 * ct for ct in right(self, cts)])
    with pytest.raises(InternalError, match="disagree"):
        fd.grad(lambda x: np.sum(x * x))(X)
    _, f_vjp = fd.vjp(lambda x: np.sum(x * x), X)
    with pytest.raises(InternalError, match="disagree"):
        f_vjp(1.0)


def test_a_failure_of_the_tape_itself_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tape.Tape, "pull", lambda _self, cts: cts[99])
    fd.grad(lambda x: np.sum(x * x))(X)  # which the program computes
    assert derived() == 1
    fd.clear_caches()
    monkeypatch.setenv("FUNCDIFF_CHECK", "1")
    with pytest.raises(InternalError, match="a tape failed"):
        fd.grad(lambda x: np.sum(x * x))(X)


def test_an_attempt_tells_failures_of_ours_from_others() -> None:
    def fails(error: type[Exception]) -> None:
        raise error("here")

    assert tape.attempt(fails, ZeroDivisionError) is None
    assert tape.attempt(fails, NeedsProgramError) is None
    with pytest.raises(InternalError):
        tape.attempt(fails, InternalError)
    assert tape.attempt(lambda: np.divide(1.0, 0.0)) is None
    with np.errstate(all="ignore"):
        assert tape.attempt(lambda: np.exp(np.float64(1e4))) is None
        assert np.exp(np.float64(1e4)) == np.inf  # outside everything is as it was


def test_long_derivatives_of_elementwise_operations_serve_arrays_of_all_shapes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FUNCDIFF_CHECK", "1")
    shapes: list[tuple[int, ...]] = [(n,) for n in range(30)]
    for shape in [*shapes, (2, 3), (1, 4), (), (3, 0)]:
        x = np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)
        found = fd.grad(lambda x: np.sum(np.hypot(x, 2.0 - x)))(x)
        np.testing.assert_allclose(found, (2 * x - 2) / np.hypot(x, 2 - x), rtol=1e-13)
        assert found.shape == shape
