"""SciPy's solvers take the derivatives as they come: float64 arrays of the shapes they expect."""

from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize

import funcdiff as fd
from funcdiff.errors import InputError

START = np.array([1.3, 0.7, 0.8, 1.9, 1.2])


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def weighted(x: Any, scale: Any, *, shift: float = 0.0) -> Any:
    return scale * rosenbrock(x - shift)


class Watched:
    """A derivative that notes what it returns, and scribbles over it after the solver took it."""

    def __init__(self, derivative: Any) -> None:
        self.derivative = derivative
        self.seen: list[Any] = []

    def __call__(self, *args: Any) -> Any:
        result = self.derivative(*args)
        self.seen.append(result)
        return result

    def check(self, *shape: int) -> None:
        assert self.seen
        for result in self.seen:
            assert type(result) is np.ndarray
            assert (result.dtype, result.shape) == (np.float64, shape)
            assert result.flags.owndata
            assert result.flags.writeable


# ---- minimize --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"])
def test_solvers_with_gradients_find_the_minimum(method: str) -> None:
    gradient = Watched(fd.grad(rosenbrock))
    found = optimize.minimize(rosenbrock, START, jac=gradient, method=method, tol=1e-9)
    np.testing.assert_allclose(found.x, 1, atol=2e-3)
    gradient.check(5)


@pytest.mark.parametrize(
    "method", ["Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov"]
)
def test_solvers_with_hessians_find_the_minimum(method: str) -> None:
    start = np.full(5, 1.1)  # dogleg needs a positive definite Hessian all the way
    hessian = Watched(fd.hessian(rosenbrock))
    found = optimize.minimize(
        rosenbrock, start, jac=fd.grad(rosenbrock), hess=hessian, method=method, tol=1e-8
    )
    assert found.success
    np.testing.assert_allclose(found.x, 1, atol=1e-5)
    assert found.nit < 60
    hessian.check(5, 5)


@pytest.mark.parametrize("method", ["Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"])
def test_solvers_with_products_need_no_hessian(method: str) -> None:
    product = Watched(lambda x, p: fd.hvp(rosenbrock, (x,), (p,)))
    found = optimize.minimize(
        rosenbrock, START, jac=fd.grad(rosenbrock), hessp=product, method=method, tol=1e-8
    )
    assert found.success
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
    product.check(5)


def test_value_and_gradient_come_from_one_call() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return rosenbrock(x)

    found = optimize.minimize(fd.value_and_grad(f), START, jac=True, method="L-BFGS-B")
    assert found.success
    np.testing.assert_allclose(found.x, 1, atol=1e-4)
    assert len(calls) == found.nfev
    assert isinstance(found.fun, float)


def test_further_arguments_are_passed_on() -> None:
    found = optimize.minimize(
        weighted, START, args=(3.0,), jac=fd.grad(weighted), hess=fd.hessian(weighted),
        method="trust-exact",
    )  # fmt: skip
    np.testing.assert_allclose(found.x, 1, atol=1e-5)


def test_a_start_of_integers_or_a_list_becomes_float() -> None:
    for start in ([0, 0, 0], np.zeros(3, int), (0.0, 0.0, 0.0)):
        found = optimize.minimize(rosenbrock, start, jac=fd.grad(rosenbrock), method="BFGS")
        np.testing.assert_allclose(found.x, 1, atol=1e-4)


def test_constraints_take_gradients_and_jacobians() -> None:
    """Hock and Schittkowski, problem 71: the solution is known to six digits."""

    def objective(x: Any) -> Any:
        return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]

    def product(x: Any) -> Any:
        return np.prod(x) - 25.0

    def sphere(x: Any) -> Any:
        return np.sum(x**2) - 40.0

    solution = [1.0, 4.742999, 3.821151, 1.379408]
    slsqp = optimize.minimize(
        objective, [1.0, 5.0, 5.0, 1.0], jac=fd.grad(objective), method="SLSQP",
        bounds=[(1, 5)] * 4,
        constraints=[
            {"type": "ineq", "fun": product, "jac": fd.grad(product)},
            {"type": "eq", "fun": sphere, "jac": fd.jacobian(sphere)},
        ],
    )  # fmt: skip
    np.testing.assert_allclose(slsqp.x, solution, atol=1e-4)

    def both(x: Any) -> Any:
        return np.stack([product(x), sphere(x)])

    jacobian = Watched(fd.jacobian(both))
    curvature = Watched(lambda x, v: fd.hessian(lambda x: both(x) @ v)(x))
    constraint = optimize.NonlinearConstraint(both, [0, 0], [np.inf, 0], jacobian, curvature)
    interior = optimize.minimize(
        objective, [1.0, 5.0, 5.0, 1.0], jac=fd.grad(objective), hess=fd.hessian(objective),
        method="trust-constr", bounds=[(1, 5)] * 4, constraints=[constraint],
        options={"gtol": 1e-8, "maxiter": 2000},
    )  # fmt: skip
    np.testing.assert_allclose(interior.x, solution, atol=1e-3)
    jacobian.check(2, 4)
    curvature.check(4, 4)


def test_parameters_in_containers_go_through_a_vector() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3))
    y = (x @ [1.0, -2.0, 0.5] + 0.3 > 0).astype(float)

    def loss(params: Any) -> Any:
        z = x @ params["w"] + params["b"]
        return np.mean(np.logaddexp(0, z) - y * z) + 0.1 * np.sum(params["w"] ** 2)

    start, unravel = fd.ravel_pytree({"w": np.zeros(3), "b": 0.0})
    flat = lambda v: loss(unravel(v))
    found = optimize.minimize(
        flat, start, jac=fd.grad(flat), hess=fd.hessian(flat), method="trust-exact",
        options={"gtol": 1e-9},
    )  # fmt: skip
    gradient = fd.grad(loss)(unravel(found.x))
    np.testing.assert_allclose(gradient["w"], 0, atol=1e-8)
    np.testing.assert_allclose(gradient["b"], 0, atol=1e-8)


def test_newtons_method_takes_the_three_from_one_call() -> None:
    x = np.array([1.2, 1.2, 1.1])
    step = fd.value_grad_and_hessian(rosenbrock)
    for _ in range(12):
        value, gradient, hessian = step(x)
        x = x - np.linalg.solve(hessian, gradient)
    assert value < 1e-20
    np.testing.assert_allclose(x, 1, atol=1e-10)


def test_one_dimensional_newton_and_halley_take_derivatives() -> None:
    f: Any = lambda x: np.exp(x) - 3 * x**2
    root = optimize.newton(f, 3.5, fprime=fd.derivative(f), fprime2=fd.derivative(f, n=2))
    np.testing.assert_allclose(f(root), 0, atol=1e-12)
    both = lambda x: (f(x), fd.derivative(f)(x), fd.derivative(f, n=2)(x))
    halley = optimize.root_scalar(both, x0=3.5, fprime=True, fprime2=True, method="halley")
    np.testing.assert_allclose(halley.root, root, rtol=1e-12)
    many = optimize.newton(f, np.array([3.5, 4.0]), fprime=fd.elementwise_grad(f))
    np.testing.assert_allclose(many, root, rtol=1e-10)


# ---- root and least_squares ---------------------------------------------------------------------


def system(x: Any) -> Any:
    return np.stack([x[0] + 0.5 * (x[0] - x[1]) ** 3 - 1.0, 0.5 * (x[1] - x[0]) ** 3 + x[1]])


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_takes_the_jacobian(method: str) -> None:
    jacobian = Watched(fd.jacobian(system))
    found = optimize.root(system, [0.0, 0.0], jac=jacobian, method=method)
    assert found.success
    np.testing.assert_allclose(found.x, [0.8411639, 0.1588361], atol=1e-6)
    jacobian.check(2, 2)
    together = optimize.root(fd.value_and_jacobian(system), [0.0, 0.0], jac=True, method=method)
    np.testing.assert_allclose(together.x, found.x, atol=1e-8)


def test_a_start_of_integers_that_scipy_passes_on_is_refused_with_the_cure() -> None:
    with pytest.raises(InputError, match=r"dtype int64.*\.astype\(float\)"):
        optimize.root(system, [0, 0], jac=fd.jacobian(system))


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_a_curve_is_fitted_to_data(method: str) -> None:
    rng = np.random.default_rng(7)
    t = np.linspace(0.0, 4.0, 60)
    truth = np.array([2.5, 1.3, 0.5])
    y = truth[0] * np.exp(-truth[1] * t) + truth[2] + 0.01 * rng.normal(size=60)

    def residuals(p: Any, t: Any, y: Any) -> Any:
        return p[0] * np.exp(-p[1] * t) + p[2] - y

    jacobian = Watched(fd.jacobian(residuals))
    found = optimize.least_squares(
        residuals, [1.0, 1.0, 0.0], jac=jacobian, args=(t, y), method=method
    )
    assert found.success
    np.testing.assert_allclose(found.x, truth, atol=0.05)
    jacobian.check(60, 3)

    def model(t: Any, a: Any, k: Any, c: Any) -> Any:
        return a * np.exp(-k * t) + c

    by_parameters = fd.jacobian(model, argnums=(1, 2, 3))
    fitted, _ = optimize.curve_fit(
        model, t, y, p0=[1.0, 1.0, 0.0],
        jac=lambda t, *p: np.stack(by_parameters(t, *map(float, p)), axis=-1),
    )  # fmt: skip
    np.testing.assert_allclose(fitted, found.x, rtol=1e-5)


# ---- differential equations ----------------------------------------------------------------------


def robertson(t: Any, y: Any) -> Any:
    """Robertson's chemical kinetics (1966): rate constants from 0.04 to 3e7."""
    slow, fast, back = 0.04 * y[0], 3e7 * y[1] ** 2, 1e4 * y[1] * y[2]
    return np.stack([back - slow, slow - back - fast, fast])


def van_der_pol(t: Any, y: Any, mu: float) -> Any:
    return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_stiff_kinetics_are_solved_with_the_exact_jacobian(method: str) -> None:
    jacobian = Watched(fd.jacobian(robertson, argnums=1))
    found = integrate.solve_ivp(
        robertson, (0.0, 400.0), [1.0, 0.0, 0.0], method=method, jac=jacobian,
        rtol=1e-7, atol=1e-10,
    )  # fmt: skip
    assert found.success
    # Hairer and Wanner, Solving Ordinary Differential Equations II, at t = 400: 0.4505...
    np.testing.assert_allclose(found.y[0, -1], 0.450519, rtol=1e-4)
    np.testing.assert_allclose(found.y.sum(axis=0), 1, rtol=1e-6)
    jacobian.check(3, 3)


def test_a_stiff_oscillator_takes_fewer_evaluations_with_its_jacobian() -> None:
    calls = []  # SciPy's own count leaves out what the differences take

    def counted(t: Any, y: Any, mu: Any) -> Any:
        calls.append(t)
        return van_der_pol(t, y, mu)

    span, start, options = (0.0, 300.0), [2.0, 0.0], {"method": "Radau", "args": (100.0,)}
    exact = integrate.solve_ivp(
        counted, span, start, jac=fd.jacobian(van_der_pol, argnums=1), **options
    )
    with_jacobian = len(calls)
    differences = integrate.solve_ivp(counted, span, start, **options)
    assert exact.success
    assert with_jacobian < len(calls) - with_jacobian
    np.testing.assert_allclose(exact.y[:, -1], differences.y[:, -1], rtol=0.05, atol=0.05)
