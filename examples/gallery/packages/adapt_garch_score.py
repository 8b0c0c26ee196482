"""
GARCH by the exact score: arch
==============================

The variance of tomorrow's return depends on today's: a recursion through the whole series, whose
derivative is usually taken by differences. `arch` has that recursion in Python, too, beside its
compiled one. Adapted, it gives the exact score, the Hessian, and White's robust standard errors.

It needs arch: ``pip install arch``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd

recursions = fd.adapt("arch.univariate.recursions_python")
univariate = fd.adapt("arch.univariate")

# %%
# Data: returns of a GARCH(1, 1)
# ------------------------------

rng = np.random.default_rng(3)
omega, alpha, beta = 0.05, 0.1, 0.85
returns, variance = np.zeros(600), 1.0
for t in range(600):
    returns[t] = np.sqrt(variance) * rng.standard_normal()
    variance = omega + alpha * returns[t] ** 2 + beta * variance

# %%
# The likelihood
# --------------

signs, squares = np.sign(returns), returns**2
bounds = np.ones((600, 1)) * np.array([1e-6, 1e6])


@fd.adapt
def variances(parameters):
    start = np.zeros(600)
    return recursions.garch_recursion_python(
        parameters, squares, signs, start, 1, 0, 1, 600, 1.0, bounds
    )


def losses(parameters):
    """Return minus the logarithm of the likelihood, day by day."""
    sigma2 = variances(parameters)
    return -univariate.Normal().loglikelihood([], returns, sigma2, individual=True)


def loss(parameters):
    return np.sum(losses(parameters))


# %%
# The estimate
# ------------

fit = minimize(
    fd.value_and_grad(loss),
    np.array([0.1, 0.05, 0.8]),
    jac=True,
    bounds=[(1e-4, None), (0.0, 1.0), (0.0, 1.0)],
)
scores = fd.jacobian(losses)(fit.x)
bread = np.linalg.inv(fd.hessian(loss)(fit.x))
spread = np.sqrt(np.diag(bread @ (scores.T @ scores) @ bread))
print("found:", fit.x.round(3), "true:", (omega, alpha, beta))
print("robust standard errors:", spread.round(3))

# %%

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(returns, lw=0.5, color="grey", label="return")
axes.plot(2 * np.sqrt(variances(fit.x)), label="twice the volatility")
axes.set(xlabel="day", ylabel="percent")
axes.legend(loc="upper right")

# %%
# .. image:: /_static/packages/adapt_garch_score.svg
#    :alt: Daily returns, and twice the fitted volatility around them

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_garch_score.svg"

assert np.all(np.abs(fit.x - [omega, alpha, beta]) < 3 * spread)
assert np.linalg.norm(np.sum(scores, axis=0)) < 0.05
