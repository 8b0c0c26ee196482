"""A mixture of normal distributions, fitted by Newton's method with Hessian-vector products."""

from typing import Any

import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.multivariate_normal as mvn
from autograd import grad, hessian_vector_product
from autograd.misc.flatten import flatten_func
from autograd.scipy.special import logsumexp
from scipy.optimize import minimize


def log_likelihood(parameters: dict[str, Any], data: Any) -> Any:
    weights = parameters["weights"] - logsumexp(parameters["weights"])
    parts = [
        weight + mvn.logpdf(data, mean, np.dot(root.T, root))
        for weight, mean, root in zip(
            weights, parameters["means"], parameters["roots"], strict=True
        )
    ]
    return np.sum(logsumexp(np.vstack(parts), axis=0))


def run(steps: int = 2) -> dict[str, Any]:
    random = npr.RandomState(6)
    data = np.concatenate(
        [center + random.randn(12, 2) for center in ([0.0, 3.0], [2.5, -1.0], [-3.0, -2.0])]
    )
    parameters = {
        "weights": 0.1 * random.randn(3),
        "means": 1.5 * random.randn(3, 2),
        "roots": np.array([2.0 * np.eye(2)] * 3),
    }
    objective, unflatten, start = flatten_func(lambda p: -log_likelihood(p, data), parameters)

    def scalar(x: Any) -> Any:
        return objective(x)[0]

    found = minimize(
        scalar, start, jac=grad(scalar), hessp=hessian_vector_product(scalar), method="trust-ncg",
        options={"maxiter": steps},
    )  # fmt: skip
    fitted = unflatten(found.x)
    return {"fun": found.fun, "weights": fitted["weights"], "means": fitted["means"]}
