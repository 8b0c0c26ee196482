"""Programs with loops, branches and solvers, and transforms that keep a function's signature."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import funcdiff as fd

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    position: Vector
    time: float


def energy(state: State, mass: Vector, *, scale: float = 1.0) -> np.float64:
    return np.sum(fd.tap("force", mass * state.position) ** 2) * scale * state.time


def step(state: State) -> State:
    return State(0.5 * state.position, state.time + 1.0)


def going(state: State) -> bool:
    return state.time < 3.0


def counted(_: int, state: State) -> State:
    return step(state)


def halved(x: Vector) -> Vector:
    return 0.5 * x + 1.0


def parabola(x: float) -> float:
    return x * x - 2.0


def newton(f: Callable[[float], Any], x: float) -> float:
    for _ in range(8):
        x = x - f(x) / fd.grad(f)(x)
    return x


x: Vector = np.array([1.0, 2.0, 3.0])
state = State(x, 0.0)


def wrapped_functions_keep_their_signatures() -> None:
    assert_type(fd.jit(energy)(state, x, scale=2.0), np.float64)
    assert_type(fd.jit(fd.grad(energy))(state, x, scale=2.0), State)
    assert_type(fd.grad(fd.jit(energy))(state, x), State)
    assert_type(fd.checkpoint(energy)(state, x, scale=2.0), np.float64)
    assert_type(fd.value_and_grad(fd.checkpoint(energy))(state, x), tuple[np.float64, State])
    assert_type(fd.tap("x", x), Vector)
    assert_type(fd.tap_grads(energy)(state, x), dict[str, Any])
    assert_type(fd.tap_values(energy)(state, x, scale=2.0), dict[str, Any])
    assert_type(fd.trace(energy)(state, x), fd.Program)


def loops_carry_the_type_of_their_state() -> None:
    assert_type(fd.while_loop(going, step, state), State)
    assert_type(fd.fori_loop(0, 3, counted, state), State)
    assert_type(fd.fori_loop(0, 3, lambda _, s: step(s), state), State)
    assert_type(fd.switch(1, [step, step], state), State)
    assert_type(fd.cond(x[0] > 0, step, lambda s: s, state), State)


def solutions_have_the_type_of_the_guess() -> None:
    assert_type(fd.fixed_point(halved, x), Vector)
    assert_type(fd.custom_root(parabola, 1.0, newton), float)


def kinetic(velocity: Vector, mass: float) -> np.float64:
    return mass * np.sum(velocity**2)


def slope_by(transform: Callable[[Callable[[float], float]], Callable[[float], float]]) -> float:
    return transform(parabola)(3.0)


def transforms_are_functions_to_pass_on() -> None:
    partial(fd.grad, argnums=1)(kinetic)(x, 2.0)
    partial(fd.jvp, halved)((x,), (x,))
    for jacobian in (fd.jacfwd, fd.jacrev):
        assert_type(jacobian(halved)(x), NDArray[Any])
    with_rest = bool(x[0] < 0)
    fd.jacobian(halved, has_aux=with_rest)(x)
    assert_type(slope_by(fd.grad), float)
    assert_type(fd.grad.__name__, str)


@fd.jit(static_argnames="n")
def power(x: Vector, n: int) -> Vector:
    raised: Vector = x**n
    return raised


@fd.grad(argnums=1)
def by_mass(velocity: Vector, mass: float) -> np.float64:
    return kinetic(velocity, mass)


@fd.value_and_grad(argnums=1)
def with_value(velocity: Vector, mass: float) -> np.float64:
    return kinetic(velocity, mass)


@fd.vmap(in_axes=(0, None))
def scaled(x: float, by: float) -> float:
    return x * by


@fd.checkpoint(keep="force")
def kept(state: State, mass: Vector) -> np.float64:
    return energy(state, mass)


@fd.jacobian(mode="forward")
def rows(x: Vector) -> Vector:
    return halved(x)


@fd.derivative(n=2)
def curvature(x: float) -> float:
    return x**3


def transforms_with_options_are_decorators() -> None:
    assert_type(power(x, n=2), Vector)
    power.lower(x, 2)
    assert_type(by_mass(x, 2.0), Any)
    assert_type(with_value(x, mass=2.0), tuple[np.float64, Any])
    annotated: Callable[[float, float], float] = scaled
    annotated_too: Any = annotated
    annotated_too(x, 2.0)
    assert_type(kept(state, x), np.float64)
    rows(x)
    curvature(2.0)


PROGRAMS = [
    transforms_with_options_are_decorators,
    transforms_are_functions_to_pass_on,
    wrapped_functions_keep_their_signatures,
    loops_carry_the_type_of_their_state,
    solutions_have_the_type_of_the_guess,
]
