"""Programs with derivative rules of users' own and the checks of them, which keep signatures."""

from functools import partial
from typing import Any, NamedTuple, assert_type

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd
from funcdiff.testing import check_grads, check_jvp, check_vjp

Vector = NDArray[np.float64]


class State(NamedTuple):
    position: Vector
    time: float


@fd.custom_jvp
def softplus(x: float) -> float:
    return float(np.log1p(np.exp(float(x))))


@softplus.defjvp
def softplus_rule(primals: tuple[float], tangents: tuple[float]) -> tuple[float, float]:
    (x,), (t,) = primals, tangents
    return softplus(x), t * (1 / (1 + np.exp(-x)))


@fd.custom_vjp
def energy(state: State, mass: float = 1.0) -> np.float64:
    return np.sum(state.position**2) * (mass * state.time)


def energy_forward(state: State, mass: float = 1.0) -> tuple[np.float64, tuple[State, float]]:
    return energy(state, mass), (state, mass)


def energy_backward(residuals: tuple[State, float], ct: np.float64) -> tuple[State, np.float64]:
    state, mass = residuals
    size = np.sum(state.position**2)
    slope = State(ct * mass * 2 * state.position * state.time, ct * mass * size)
    return slope, ct * size * state.time


energy.defvjp(energy_forward, energy_backward)

state = State(np.ones(3), 2.0)


def functions_with_rules_keep_their_signatures() -> None:
    assert_type(softplus(1.0), float)
    assert_type(fd.grad(softplus)(1.0), float)
    assert_type(energy(state, mass=2.0), np.float64)
    assert_type(fd.grad(energy)(state, 2.0), State)
    assert_type(fd.grad(energy)(state, mass=2.0), State)
    assert_type(fd.value_and_grad(energy)(state, 2.0), tuple[np.float64, State])


def rules_can_be_checked() -> None:
    check_grads(energy, (state, 2.0), order=1, modes=("reverse",), rtol=1e-5)
    check_vjp(energy, partial(fd.vjp, energy), (state, 2.0))
    check_jvp(np.sin, lambda ps, ts: (np.sin(ps[0]), np.cos(ps[0]) * ts[0]), (np.ones(2),))


def untyped(x: Any) -> Any:
    return x * x


def untyped_functions_are_accepted() -> None:
    assert_type(fd.grad(untyped)(2.0), Any)
    fd.custom_vjp(untyped).defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))


@partial(fd.custom_vjp, nondiff_argnums=(0, 1))
def scaled(options: dict[str, int], name: str, x: Vector) -> Vector:
    return x * options[name]


def scaled_forward(options: dict[str, int], name: str, y: Vector) -> tuple[Vector, None]:
    return scaled(options, name, y), None


def scaled_backward(options: dict[str, int], name: str, _: None, ct: Vector) -> tuple[Vector]:
    return (ct * options[name],)


scaled.defvjp(scaled_forward, scaled_backward)
scaled.defvjp(lambda o, n, x: (x * o[n], None), lambda o, n, _, ct: (ct * o[n],))


def rules_take_fixed_arguments_first() -> None:
    assert_type(fd.vjp(lambda x: scaled({"k": 2}, "k", x), np.ones(3))[0], Vector)


def a_rule_keeps_its_signature() -> None:
    assert_type(softplus_rule((1.0,), (1.0,)), tuple[float, float])


PROGRAMS = [
    rules_take_fixed_arguments_first,
    a_rule_keeps_its_signature,
    functions_with_rules_keep_their_signatures,
    rules_can_be_checked,
    untyped_functions_are_accepted,
]
