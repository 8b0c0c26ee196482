"""Further arguments of functions, ``args=``: they come as they come from SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import funcdiff as fd
import funcdiff.numpy as fnp
import funcdiff.scipy.integrate
import funcdiff.scipy.optimize
import funcdiff.scipy.signal
from tests.together import together

OURS = (funcdiff.scipy.optimize, funcdiff.scipy.integrate)
SCIPYS = (scipy.optimize, scipy.integrate)
FORMS: dict[str, Callable[[Any], Any]] = {
    "a tuple": lambda c: (c, 1.0),
    "a list": lambda c: [c, 1.0],
    "one in a tuple": lambda c: (c,),
    "one in a list": lambda c: [c],
    "one": lambda c: c,
    "a list in a tuple": lambda c: ([c, 1.0],),
}
BOX = [(0.1, 3.0)]
ONE = np.ones(1)


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _flat(part)]
    return [value]


def _shown(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_shown, value))
    return np.ndim(value)


class Problem:
    """A function whose root, and least value, is at the root of the product of its arguments."""

    def __init__(self) -> None:
        self.received: set[str] = set()

    def equation(self, x: Any, *args: Any) -> Any:
        self.received.add(str(_shown(args)))
        return x * x - math.prod(_flat(args))

    def step(self, x: Any, *args: Any) -> Any:
        return x - 0.2 * self.equation(x, *args)

    def cost(self, x: Any, *args: Any) -> Any:
        return np.sum(self.equation(x, *args) ** 2)

    def rate(self, t: Any, y: Any, *args: Any) -> Any:
        return self.equation(0.5 * y, *args)


Solve = Callable[[Any, Any, Problem, Any], Any]
SOLVERS: dict[str, Solve] = {
    "newton": lambda o, _, p, a: o.newton(p.equation, 1.0, args=a),
    "newton by position": lambda o, _, p, a: o.newton(p.equation, 1.0, None, a),
    "fixed_point": lambda o, _, p, a: o.fixed_point(p.step, 1.0, args=a),
    "brentq": lambda o, _, p, a: o.brentq(p.equation, 0.0, 5.0, args=a),
    "brentq by position": lambda o, _, p, a: o.brentq(p.equation, 0.0, 5.0, a),
    "root_scalar": lambda o, _, p, a: o.root_scalar(p.equation, args=a, bracket=(0.0, 5.0)).root,
    "root": lambda o, _, p, a: o.root(p.equation, ONE, args=a).x[0],
    "fsolve": lambda o, _, p, a: o.fsolve(p.equation, ONE, args=a)[0],
    "least_squares": lambda o, _, p, a: o.least_squares(p.equation, ONE, args=a).x[0],
    "leastsq": lambda o, _, p, a: o.leastsq(p.equation, ONE, args=a)[0][0],
    "minimize": lambda o, _, p, a: o.minimize(p.cost, ONE, args=a).x[0],
    "minimize_scalar": lambda o, _, p, a: o.minimize_scalar(
        p.cost, args=a, bounds=BOX[0], method="bounded"
    ).x,
    "fmin_bfgs": lambda o, _, p, a: o.fmin_bfgs(p.cost, ONE, args=a, disp=0)[0],
    "fmin_cg": lambda o, _, p, a: o.fmin_cg(p.cost, ONE, args=a, disp=0)[0],
    "fmin_l_bfgs_b": lambda o, _, p, a: o.fmin_l_bfgs_b(p.cost, ONE, None, a, True)[0][0],
    "fminbound": lambda o, _, p, a: o.fminbound(p.cost, *BOX[0], args=a),
    "differential_evolution": lambda o, _, p, a: o.differential_evolution(
        p.cost, BOX, args=a, seed=1, maxiter=4
    ).x[0],
    "dual_annealing": lambda o, _, p, a: o.dual_annealing(
        p.cost, BOX, args=a, seed=1, maxiter=4
    ).x[0],
    "shgo": lambda o, _, p, a: o.shgo(p.cost, BOX, args=a).x[0],
    "direct": lambda o, _, p, a: o.direct(p.cost, BOX, args=a, maxiter=20).x[0],
    "a constraint": lambda o, _, p, a: o.minimize(
        lambda x: np.sum(x**2), 2 * ONE, method="SLSQP",
        constraints={"type": "ineq", "fun": p.equation, "args": a},
    ).x[0],
    "quad": lambda _, i, p, a: i.quad(p.equation, 0.0, 1.0, args=a)[0],
    "quad_vec": lambda _, i, p, a: i.quad_vec(p.equation, 0.0, 1.0, args=a)[0],
    "solve_ivp": lambda _, i, p, a: i.solve_ivp(
        p.rate, (0.0, 1.0), ONE, args=a, t_eval=np.array([0.0, 1.0])
    ).y[0, -1],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@together
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SOLVERS)
def test_further_arguments_come_as_from_scipy(name: str, form: str) -> None:
    plain, traced = Problem(), Problem()
    solve, make = SOLVERS[name], FORMS[form]
    try:
        expected = float(solve(*SCIPYS, plain, make(1.7)))
    except (TypeError, RuntimeError):  # what is no iterable
        with pytest.raises(TypeError, match=r"test_further_arguments|iterable"):
            fd.grad(lambda c: solve(*OURS, traced, make(c)))(1.7)
        return
    value, slope = fd.value_and_grad(lambda c: solve(*OURS, traced, make(c)))(1.7)
    assert traced.received == plain.received
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    if name not in ("quad", "quad_vec", "solve_ivp"):  # the root of c
        np.testing.assert_allclose(slope, 0.5 / math.sqrt(1.7), rtol=1e-3)


def _in_a_buffer(x: Any) -> Any:
    """Return a root, by way of an array that is traced wherever anything is."""
    buffer = fnp.zeros(2)
    buffer[0], buffer[1] = np.sum(x), 1.0
    return buffer[0] ** 2 - 2.0 * buffer[1]


def _cost(x: Any) -> Any:
    return _in_a_buffer(x) ** 2


def _vector(x: Any) -> Any:
    return np.reshape(_in_a_buffer(x), (1,))


WITHOUT: dict[str, Callable[[Any, Any], Any]] = {
    "newton": lambda o, _: o.newton(_in_a_buffer, 1.0),
    "fixed_point": lambda o, _: o.fixed_point(lambda x: x - 0.1 * _in_a_buffer(x), 1.0),
    "brentq": lambda o, _: o.brentq(_in_a_buffer, 0.0, 5.0, full_output=True)[0],
    "root_scalar": lambda o, _: o.root_scalar(_in_a_buffer, bracket=(0.0, 5.0)).root,
    "root": lambda o, _: o.root(_vector, ONE).x[0],
    "fsolve": lambda o, _: o.fsolve(_vector, ONE, full_output=True)[0][0],
    "least_squares": lambda o, _: o.least_squares(_vector, ONE).x[0],
    "leastsq": lambda o, _: o.leastsq(_vector, ONE, full_output=True)[0][0],
    "minimize": lambda o, _: o.minimize(_cost, ONE).x[0],
    "minimize in a box": lambda o, _: o.minimize(_cost, ONE, bounds=BOX).x[0],
    "minimize_scalar": lambda o, _: o.minimize_scalar(_cost, bounds=BOX[0], method="bounded").x,
    "fmin": lambda o, _: o.fmin(_cost, ONE, disp=0)[0],
    "differential_evolution": lambda o, _: o.differential_evolution(_cost, BOX, seed=1).x[0],
    "shgo": lambda o, _: o.shgo(_cost, BOX).x[0],
    "basinhopping": lambda o, _: o.basinhopping(_cost, ONE, niter=1).x[0],
    "quad": lambda _, i: i.quad(_in_a_buffer, 0.0, 1.0)[0],
    "solve_ivp": lambda _, i: i.solve_ivp(lambda t, y: _vector(y), (0.0, 0.5), ONE).y[0, -1],
}
TRACES: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: fd.grad(f)(2.0),
    "jvp": lambda f: fd.jvp(f, (2.0,), (1.0,))[1],
    "jit": lambda f: fd.jit(f)(1.0),
    "vmap": lambda f: fd.vmap(f)(np.ones(2))[0],
    "grad of jit": lambda f: fd.grad(fd.jit(f))(2.0),
}


@pytest.mark.filterwarnings("ignore")
@together
@pytest.mark.thinned(5)
@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("name", WITHOUT)
def test_what_a_solver_finds_is_a_constant_of_what_its_function_does_not_depend_on(
    name: str, trace: str
) -> None:
    solve = WITHOUT[name]
    found = TRACES[trace](lambda s: s * solve(*OURS))
    np.testing.assert_allclose(found, float(solve(*SCIPYS)), rtol=1e-3)


def test_a_window_of_what_is_no_number_is_refused_as_by_scipy() -> None:
    from_scipy = funcdiff.scipy.signal.get_window
    for window in (np.ones(8), np.ones((2, 2)), np.ones(0)):
        with pytest.raises(ValueError, match="must be a tuple, a string or a float"):
            fd.grad(lambda w: np.sum(from_scipy(w, 8)))(window)
    assert fd.grad(lambda w: np.sum(from_scipy(w, 8)))(3.0) < 0
