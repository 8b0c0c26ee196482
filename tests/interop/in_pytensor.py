"""Bridges in PyTensor and PyMC: ``python -m pytest tests/interop/in_pytensor.py``, with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.gradient import Rop, hessian, jacobian
from pytensor.graph.replace import vectorize_graph

from funcdiff.errors import ConcreteValueError, InputError, OutputError
from funcdiff.interop.pytensor import wrap
from tests.interop.patterns import agree

pytestmark = pytest.mark.filterwarnings("ignore")  # of PyTensor and PyMC, about compilers

X = np.array([0.3, 0.7, -0.2])


def ours(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(x[0]) * x**2)


def theirs(x: Any) -> Any:
    return pt.sum(pt.sin(x) * pt.exp(x[0]) * x**2)


def _gradient(y: Any, x: Any) -> Any:
    return pytensor.grad(pt.sum(y), x)


NESTINGS: dict[str, Callable[[Any, Any], Any]] = {
    "value": lambda h, x: h(x),
    "gradient": lambda h, x: _gradient(h(x), x),
    "hessian": lambda h, x: hessian(h(x), x),
    "jacobian": lambda h, x: jacobian(_gradient(h(x), x), x),
    "third": lambda h, x: _gradient(_gradient(_gradient(h(x), x) ** 2, x) ** 2, x),
    "forward": lambda h, x: Rop(h(x), x, pt.cos(x)),
    "forward over reverse": lambda h, x: Rop(_gradient(h(x), x), x, pt.cos(x)),
    "reverse over forward": lambda h, x: _gradient(Rop(_gradient(h(x), x), x, pt.cos(x)) ** 3, x),
}


@pytest.mark.parametrize("shape", [(3,), (None,)])
@pytest.mark.parametrize("nesting", NESTINGS.values(), ids=NESTINGS)
def test_derivatives_nest(nesting: Callable[[Any, Any], Any], shape: tuple[int | None]) -> None:
    x = pt.tensor("x", dtype="float64", shape=shape)
    found, expected = (
        pytensor.function([x], nesting(h, x), mode="FAST_COMPILE")(X) for h in (wrap(ours), theirs)
    )
    agree("nesting", found, expected)


def test_graphs_are_vectorized() -> None:
    x, rows = (pt.tensor(dtype="float64", shape=shape) for shape in ((3,), (4, 3)))
    slope = _gradient(wrap(ours)(x), x)
    run = pytensor.function([rows], vectorize_graph(slope, {x: rows}), mode="FAST_COMPILE")
    one = pytensor.function([x], slope, mode="FAST_COMPILE")
    given = np.arange(12.0).reshape(4, 3) / 10
    agree("rows", run(given), np.stack([one(row) for row in given]))


def test_integers_have_no_derivative_and_containers_come_back() -> None:
    x, n = pt.dvector("x"), pt.lvector("n")
    found = wrap(lambda x, n: {"y": x**n, "place": np.argmax(x)})(x, n)
    slope = pytensor.grad(found["y"].sum(), x)
    agree("slope", slope.eval({x: X, n: [1, 2, 3]}), [1, 2 * X[1], 3 * X[2] ** 2])
    assert int(found["place"].eval({x: X, n: [1, 2, 3]})) == 1


def test_code_that_decides_by_values_is_declared() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**2) if x[0] > 0 else np.sum(x)

    x = pt.dvector("x")
    with pytest.raises(ConcreteValueError, match="Declare it: result="):
        wrap(f)(x)
    slope = pytensor.function([x], _gradient(wrap(f, result=lambda x: np.empty(()))(x), x))
    agree("up", slope(X), 2 * X)
    agree("down", slope(-X), np.ones(3))
    wrong = wrap(lambda x: np.float32(x[0]), result=lambda x: np.empty(()))
    with pytest.raises(OutputError, match="f32"):
        wrong(pt.dvector("x")).eval({"x": X})
    shorter = wrap(lambda x: x[x > 0], result=lambda x: np.empty(x.shape))
    with pytest.raises(OutputError, match="or declared"):
        shorter(x).eval({x: X})
    first = wrap(lambda x: x[:2])(x)  # of two and of three numbers the graph takes two
    with pytest.raises(OutputError, match="the graph has"):
        first.eval({x: X[:1]})


def test_shapes_that_decide_how_many_axes_there_are_have_to_be_known() -> None:
    x = pt.dvector("x")
    with pytest.raises(InputError, match=r"pt\.specify_shape"):
        wrap(lambda x: x if x.shape[0] == 2 else x[:, None])(x)


def test_models_with_a_likelihood_in_numpy_are_sampled() -> None:
    rng = np.random.default_rng(0)
    times = np.linspace(0, 2, 30)
    counts = rng.poisson(np.exp(2.0 - times))

    def log_likelihood(theta: Any) -> Any:
        logarithm = theta[0] - theta[1] * times
        return np.sum(counts * logarithm - np.exp(logarithm))

    means = []
    for bridged in (True, False):
        with pm.Model():
            theta = pm.Normal("theta", 0.0, 2.0, shape=2)
            if bridged:
                pm.Potential("data", wrap(log_likelihood)(theta))
            else:
                pm.Poisson("data", pm.math.exp(theta[0] - theta[1] * times), observed=counts)
            trace = pm.sample(
                500, tune=500, chains=2, cores=1, progressbar=False, random_seed=3,
                compute_convergence_checks=False,
            )  # fmt: skip
        means.append(trace.posterior["theta"].mean(("chain", "draw")).to_numpy())
    np.testing.assert_allclose(means[0], means[1], atol=0.05)
