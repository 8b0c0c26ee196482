r"""
Gaussian process: hyperparameters by the marginal likelihood
============================================================

Monthly readings over ten years go up, have a season, and are noisy. How long is the season, how
fast does the trend bend, how large is the noise, and what will the next two years bring?

A Gaussian process answers all of it if its kernel's parameters are right. Those maximise the
logarithm of the marginal likelihood,

.. math:: -\tfrac12 y^T K^{-1} y - \tfrac12 \log\det K - \tfrac n2 \log 2\pi

By hand this needs, for every parameter θ, the matrix :math:`\partial K / \partial\theta` and the
formula :math:`\tfrac12 \alpha^T (\partial K) \alpha - \tfrac12 \mathrm{tr}(K^{-1} \partial K)`,
anew for every kernel that is tried. Here the kernel is written down, and that is all.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd

# %%
# The data are made, so that the answers are known: a period of 1 year, noise of 0.3.

rng = np.random.default_rng(3)
PERIOD, NOISE = 1.0, 0.3
times = np.arange(144) / 12
truth = (
    0.04 * times**2
    + np.sin(2 * np.pi * times / PERIOD)
    + 0.4 * np.sin(4 * np.pi * times)
)
readings = truth + NOISE * rng.standard_normal(len(times))
known = times < 10
t, offset = times[known], readings[known].mean()
y = readings[known] - offset

# %%
# The kernel
# ----------
# A smooth trend, plus a season that repeats itself, plus noise. Parameters are in a dict, as
# logarithms.


def kernel(p, a, b):
    gap = a[:, None] - b
    trend = np.exp(2 * p["trend"] - 0.5 * (gap / np.exp(p["bend"])) ** 2)
    wave = np.sin(np.pi * gap / np.exp(p["period"])) / np.exp(p["shape"])
    return trend + np.exp(2 * p["season"] - 2 * wave**2)


def covariance(p):
    return kernel(p, t, t) + np.exp(2 * p["noise"]) * np.eye(len(t))


def surprise(p):
    """Return the negative logarithm of the marginal likelihood."""
    factor = np.linalg.cholesky(covariance(p))
    white = np.linalg.solve(factor, y)
    return (
        0.5 * white @ white
        + np.log(np.diag(factor)).sum()
        + 0.5 * len(y) * np.log(2 * np.pi)
    )


# %%
# The fit
# -------
# Many periods fit a little, and a descent from a wrong one ends there. So the likelihood is first
# looked at for 200 periods at once, by ``fd.vmap``; the descent begins at the best of them.
# ``fd.ravel_pytree`` turns the dict into the vector that SciPy wants, and back.

guess = {
    "trend": 1.0,
    "bend": 1.0,
    "season": 0.0,
    "shape": 0.0,
    "period": 0.0,
    "noise": -0.5,
}
periods = np.linspace(0.3, 1.9, 200)
profile = fd.vmap(lambda log_period: surprise({**guess, "period": log_period}))(
    np.log(periods)
)
start, unravel = fd.ravel_pytree(
    {**guess, "period": np.log(periods[np.argmin(profile)])}
)

both = fd.jit(fd.value_and_grad(lambda v: surprise(unravel(v))))
fit = minimize(both, start, jac=True, method="BFGS", options={"gtol": 1e-4})
best = unravel(fit.x)

# %%
# The Hessian at the optimum gives the errors of the parameters.

errors = unravel(
    np.sqrt(np.diag(np.linalg.inv(fd.hessian(lambda v: surprise(unravel(v)))(fit.x))))
)
print(f"from {profile.min():.1f} to {fit.fun:.1f} in {fit.nfev} evaluations")
for name in best:
    print(f"{name:7}{np.exp(best[name]):8.3f}   ± {errors[name]:.1%}")

# %%
# Prediction
# ----------

ahead = np.linspace(0.0, 12.0, 400)
across = kernel(best, ahead, t)
mean = offset + across @ np.linalg.solve(covariance(best), y)
prior = np.diag(kernel(best, ahead, ahead)) + np.exp(2 * best["noise"])
spread = np.sqrt(
    prior - np.sum(across * np.linalg.solve(covariance(best), across.T).T, axis=1)
)

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
axes.fill_between(
    ahead, mean - 2 * spread, mean + 2 * spread, alpha=0.25, label="two deviations"
)
axes.plot(ahead, mean, label="predicted mean")
axes.plot(t, y + offset, ".", color="0.3", label="readings")
axes.plot(
    times[~known], readings[~known], "x", color="tab:red", label="readings held back"
)
axes.axvline(10, color="0.6", linestyle="--")
axes.set(xlabel="years", ylabel="reading", xlim=(0, 12))
axes.legend(loc="upper left")

# %%
# Period and noise are found, and the band holds at least 80 % of the readings of the two years that
# were held back.

inside = np.abs(np.interp(times, ahead, mean) - readings) < 2 * np.interp(
    times, ahead, spread
)
print(f"{inside[~known].mean():.0%} of the readings held back are inside the band")
assert np.abs(best["period"] - np.log(PERIOD)) < 0.005
assert np.abs(best["noise"] - np.log(NOISE)) < 3 * errors["noise"]
assert np.max(np.abs(fd.grad(surprise)(best)["noise"])) < 1e-3
assert inside[~known].mean() >= 0.8
