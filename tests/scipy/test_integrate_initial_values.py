"""Initial value problems: SciPy's solutions, and derivatives of what was computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import integrate as plain

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, InputError, UnsupportedNumPyError
from funcdiff.scipy import integrate
from funcdiff.scipy.integrate import equations, initial_value

TOLERANCE = {"RK23": 1e-7, "RK45": 1e-10, "DOP853": 1e-11, "Radau": 1e-8, "BDF": 1e-8}
ACCURACY = {"RK23": 1e-4, "RK45": 1e-7, "DOP853": 1e-7, "Radau": 1e-5, "BDF": 1e-4}
METHODS = list(TOLERANCE)
TIGHT = {"rtol": 1e-11, "atol": 1e-12}


def _tight(method: str) -> dict[str, Any]:
    return {"method": method, "rtol": TOLERANCE[method], "atol": TOLERANCE[method]}


def lotka_volterra(_t: Any, y: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return np.stack([y[0] * (a - b * y[1]), y[1] * (d * y[0] - c)])


RATES, START = np.array([1.5, 1.0, 3.0, 1.0]), np.array([2.0, 1.0])


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thinned(10)
def test_values_are_scipys(method: str) -> None:
    for options in (
        {},
        {"t_eval": np.linspace(0, 1, 7)},
        {"dense_output": True},
        {"events": lambda _t, y, *_p: y[0] - 1.5},
        {"max_step": 0.2, "first_step": 1e-3, "vectorized": False},
    ):
        expected = plain.solve_ivp(lotka_volterra, (0, 1), START, method, args=(*RATES,), **options)

        def solve(p: Any, options: Any = options, expected: Any = expected) -> Any:
            found = integrate.solve_ivp(
                lotka_volterra, (0, 1), START, method, args=(*p,), **options
            )
            assert found.keys() == expected.keys()
            for name in ("nfev", "njev", "nlu", "status", "message", "success"):
                assert found[name] == expected[name]
            sol = None if found.sol is None else found.sol(np.linspace(-0.1, 1, 9))
            return found.t, found.y, found.t_events, found.y_events, sol

        t, y, t_events, y_events, sol = fd.vjp(solve, RATES)[0]
        # steps follow differences of near numbers, so that a last bit of BLAS's becomes 1e-11
        np.testing.assert_allclose(t, expected.t, rtol=1e-9)
        np.testing.assert_allclose(y, expected.y, rtol=1e-9)
        if expected.t_events is not None:
            np.testing.assert_allclose(t_events[0], expected.t_events[0], rtol=1e-9)
            np.testing.assert_allclose(y_events[0], expected.y_events[0], rtol=1e-9)
        if sol is not None:
            # equations of implicit methods are solved to the end, which SciPy does not
            tolerance = 1e-2 if method in ("Radau", "BDF") else 1e-12
            exact = expected.sol(np.linspace(-0.1, 1, 9))
            np.testing.assert_allclose(sol, exact, rtol=tolerance, atol=1e-3 * tolerance)


def test_what_is_not_traced_is_scipys_inside_of_a_trace() -> None:
    def f(x: Any) -> Any:
        found = integrate.solve_ivp(lambda t, y: [-y[0]], (0, 1), [1.0], dense_output=True)
        assert isinstance(found.sol, plain.OdeSolution)
        return x * found.y[0, -1]

    assert fd.grad(f)(2.0) == plain.solve_ivp(lambda t, y: -y, (0, 1), [1.0]).y[0, -1]


@pytest.mark.parametrize("method", METHODS)
def test_a_solution_that_is_not_traced_takes_traced_times(method: str) -> None:
    found = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], method, dense_output=True)
    times = np.array([0.8, 0.1])
    y, pull = fd.vjp(found.sol, times)
    np.testing.assert_array_equal(y, found.sol(times))
    step = (found.sol(times + 1e-6) - found.sol(times - 1e-6)) / 2e-6
    np.testing.assert_allclose(pull(np.ones((1, 2)))[0], step[0], rtol=1e-7)


# ---- closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thinned(10)
def test_exponential_decay(method: str) -> None:
    def left(k: Any, t0: Any, t1: Any, y0: Any) -> Any:
        found = integrate.solve_ivp(lambda _t, y: -k * y, (t0, t1), [y0], **_tight(method))
        return found.y[0, -1]

    def exact(k: Any, t0: Any, t1: Any, y0: Any) -> Any:
        return y0 * np.exp(-k * (t1 - t0))

    at, places, accuracy = (0.5, 0.3, 2.1, 1.4), (0, 1, 2, 3), ACCURACY[method]
    for f in (fd.grad, fd.jacfwd, fd.hessian):
        wanted = np.array(f(exact, places)(*at))
        np.testing.assert_allclose(np.array(f(left, places)(*at)), wanted, atol=accuracy)
    np.testing.assert_allclose(fd.jit(fd.grad(left))(*at), fd.grad(exact)(*at), atol=accuracy)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thinned(10)
def test_an_oscillator_at_given_times(method: str) -> None:
    times = np.array([0.2, 1.0, 2.5])

    def swing(w: Any, t: Any) -> Any:
        return integrate.solve_ivp(
            lambda _t, y: np.stack([y[1], -w * w * y[0]]), (0, 2.5), [1.0, 0.0], t_eval=t,
            **_tight(method),
        ).y[0]  # fmt: skip

    direction = np.array([0.3, -0.2, 0.0])
    _, pushed = fd.jvp(swing, (1.3, times), (1.0, direction))
    exact = -np.sin(1.3 * times) * (times + 1.3 * direction)
    np.testing.assert_allclose(pushed, exact, atol=30 * ACCURACY[method])
    batch = fd.vmap(fd.grad(lambda w: np.sum(swing(w, times))))(np.array([1.3, 0.7]))
    wanted = [np.sum(-np.sin(w * times) * times) for w in (1.3, 0.7)]
    np.testing.assert_allclose(batch, wanted, atol=3 * ACCURACY[method])


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "LSODA"])
def test_steps_at_once_and_one_by_one_have_the_same_derivatives(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(x: Any) -> Any:
        found = integrate.solve_ivp(
            lotka_volterra, (0, 1 + x[0]), START * x[1], method, args=(*RATES[:3], x[1]),
            dense_output=True, events=lambda _t, y, *_p: y[0] - 2.3,
        )  # fmt: skip
        return np.sum(found.y**2) + found.t_events[0][0] + np.sum(found.sol(0.7))

    results = []
    for few in (24, 0):
        monkeypatch.setattr(equations, "FEW", few)
        monkeypatch.setattr(initial_value, "_entered", {})
        monkeypatch.setattr(initial_value, "_problems", {})
        x = np.array([0.3, 1.1])
        results.append([fd.grad(call)(x), fd.hessian(call)(x)])
    for together, alone in zip(*results, strict=True):
        np.testing.assert_allclose(together, alone, rtol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.thinned(10)
def test_a_continuous_solution_has_the_derivatives_of_the_solution(method: str) -> None:
    def f(k: Any, t: Any) -> Any:
        found = integrate.solve_ivp(
            lambda _t, y: -k * y, (0, 2), [1.0], dense_output=True, **_tight(method)
        )
        return found.sol(t)[0] if np.ndim(t) else found.sol(t)

    t = np.array([1.7, 0.2, 1.1])
    value, pushed = fd.jvp(f, (0.5, t), (1.0, np.ones(3)))
    np.testing.assert_allclose(value, np.exp(-0.5 * t), atol=ACCURACY[method])
    wanted = (-t - 0.5) * np.exp(-0.5 * t)
    np.testing.assert_allclose(pushed, wanted, atol=30 * ACCURACY[method])
    assert fd.vjp(f, 0.5, 1.0)[0].shape == (1,)


def test_time_may_run_backwards() -> None:
    def f(k: Any) -> Any:
        found = integrate.solve_ivp(
            lambda _t, y: -k * y, (2.0, 0.0), [1.0], t_eval=[1.5, 0.5], dense_output=True, **TIGHT
        )
        return np.stack([*found.y[0], found.sol(0.7)[0]])

    t = 2 - np.array([1.5, 0.5, 0.7])
    np.testing.assert_allclose(fd.jvp(f, (0.5,), (1.0,))[1], t * np.exp(0.5 * t), rtol=1e-7)


@pytest.mark.parametrize("method", ["RK45", "BDF"])
@pytest.mark.thinned(6)
def test_states_may_be_complex(method: str) -> None:
    def f(w: Any) -> Any:
        found = integrate.solve_ivp(lambda _t, y: 1j * w * y, (0, 1), [1 + 0j], **_tight(method))
        return np.real(found.y[0, -1])

    accuracy = 10 * ACCURACY[method]
    np.testing.assert_allclose(fd.grad(f)(2.0), -np.sin(2.0), atol=accuracy)
    np.testing.assert_allclose(fd.grad(fd.grad(f))(2.0), -np.cos(2.0), atol=accuracy)


# ---- events --------------------------------------------------------------------------------------


def _ground(_t: Any, y: Any, *_args: Any) -> Any:
    return y[0]


_ground.terminal, _ground.direction = True, -1  # type: ignore[attr-defined]


def _fall(gravity: Any, state: Any, start: Any = 0.0) -> Any:
    return integrate.solve_ivp(
        lambda _t, y, g: np.stack([y[1], -g]), (start, start + 20.0), state, events=_ground,
        args=(gravity,), **TIGHT,
    )  # fmt: skip


def _second(f: Any, places: Any) -> Any:
    return fd.jacfwd(fd.jacobian(f, places), places)


def test_a_terminal_event_ends_the_solution_at_a_time_that_is_differentiated() -> None:
    def end(g: Any, height: Any) -> Any:
        found = _fall(g, np.stack([height, 0.0 * height]))
        return found.t[-1], found.y[1, -1], found.t_events[0][0], found.y_events[0][0, 1]

    def exact(g: Any, height: Any) -> Any:
        t, v = np.sqrt(2 * height / g), -np.sqrt(2 * g * height)
        return t, v, t, v

    for f in (fd.jacobian, fd.jacfwd, _second):
        found = fd.pytree.flatten(f(end, (0, 1))(9.81, 10.0))[0]
        wanted = fd.pytree.flatten(f(exact, (0, 1))(9.81, 10.0))[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-8)
    compiled = fd.jit(fd.grad(lambda g: end(g, 10.0)[0]))
    for g in (9.81, 5.0, 9.81):
        np.testing.assert_allclose(compiled(g), -np.sqrt(5.0 / g**3), rtol=1e-9)


@pytest.mark.slow
def test_events_that_end_nothing_have_times_and_states() -> None:
    def crossings(w: Any) -> Any:
        found = integrate.solve_ivp(
            lambda _t, y: np.stack([y[1], -w * w * y[0]]), (0, 7), [1.0, 0.0],
            events=[lambda _t, y: y[0], lambda t, _y: t - 100.0], **TIGHT,
        )  # fmt: skip
        assert found.t_events[1].shape == (0,)
        assert found.y_events[1].shape == (0,)
        return found.t_events[0], found.y_events[0][:, 1]

    k = np.arange(3) + 0.5
    times, speeds = fd.jvp(crossings, (1.3,), (1.0,))[1]
    np.testing.assert_allclose(times, -np.pi * k / 1.3**2, rtol=1e-8)
    np.testing.assert_allclose(speeds, [-1, 1, -1], rtol=1e-7)


# ---- options -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_implicit_methods_take_jacobians(method: str) -> None:
    """Robertson's problem, against differences of SciPy's own solutions."""

    def rate(_t: Any, y: Any, k: Any) -> Any:
        a, b, c = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
        return np.stack([-a + c, a - b - c, b])

    def jac(_t: Any, y: Any, k: Any) -> Any:
        return np.stack([
            np.stack([-k[0], k[2] * y[2], k[2] * y[1]]),
            np.stack([k[0], -2 * k[1] * y[1] - k[2] * y[2], -k[2] * y[1]]),
            np.stack([0.0 * k[0], 2 * k[1] * y[1], 0.0 * k[0]]),
        ])  # fmt: skip

    k = np.array([0.04, 3e7, 1e4])
    options = {"method": method, "rtol": 1e-9, "atol": 1e-12, "args": (k,)}

    def end(s: Any, scale: Any, **more: Any) -> Any:
        given = {**options, **more, "args": (k * scale,)}
        return s.solve_ivp(rate, (0, 40.0), [1.0, 0.0, 0.0], **given).y[:, -1]

    unit = np.ones(3)
    jacobian = fd.jacobian(lambda scale: end(integrate, scale, jac=jac))(unit)
    differences = [(end(plain, unit + h) - end(plain, unit - h)) / 2e-3 for h in 1e-3 * np.eye(3)]
    np.testing.assert_allclose(jacobian, np.transpose(differences), rtol=2e-4, atol=1e-9)
    sparse = fd.jacobian(lambda scale: end(integrate, scale, jac_sparsity=np.ones((3, 3))))(unit)
    np.testing.assert_allclose(sparse, jacobian, rtol=1e-6, atol=1e-10)


def test_functions_may_be_vectorized() -> None:
    def f(k: Any) -> Any:
        return integrate.solve_ivp(lambda _t, y: -k * y, (0, 1), [1.0], vectorized=True).y[0, -1]

    np.testing.assert_allclose(fd.grad(f)(0.5), -np.exp(-0.5), rtol=1e-3)


def test_what_cannot_be_done_says_what_to_write() -> None:
    def last(k: Any, **options: Any) -> Any:
        return integrate.solve_ivp(lambda _t, y: -k * y, (0, 1), [1.0], **options).y[0, -1]

    with pytest.raises(ConcreteValueError, match="Give t_eval there"):
        fd.vmap(last)(np.array([0.5, 0.1, 3.0]))
    with pytest.raises(UnsupportedNumPyError, match="one of RK23, RK45"):
        fd.grad(lambda k: last(k, method=plain.OdeSolver))(0.5)
    with pytest.raises(InputError, match="Give a complex y0"):
        fd.grad(lambda k: last(k * 1j).real)(0.5)
    with pytest.raises(ValueError, match="must be 1-dimensional"):
        fd.grad(lambda k: integrate.solve_ivp(lambda _t, y: -k * y, (0, 1), 1.0).y[0, -1])(0.5)
