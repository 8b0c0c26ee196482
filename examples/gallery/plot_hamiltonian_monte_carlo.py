r"""
Hamiltonian Monte Carlo: eight schools
======================================

Eight schools tried a course of coaching; each measured its effect on test scores, with a standard
error (Rubin, 1981). How large is the effect in each school, if the schools are somewhat alike?

.. math:: y_i \sim N(\theta_i, \sigma_i), \quad \theta_i = \mu + \tau \eta_i, \quad
   \eta_i \sim N(0, 1), \quad \mu \sim N(0, 5), \quad \tau \sim \mathrm{Cauchy}^+(0, 5)

Hamiltonian Monte Carlo samples all ten unknowns by simulating a particle that the gradient of the
log density pushes. By hand one derives that gradient, the change of variables for τ > 0 included,
and a batch of chains needs it once more for arrays. Here the density is written for one chain;
``fd.grad`` differentiates, ``fd.vmap`` makes 64 chains of it, ``fd.jit`` compiles.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcdiff as fd

effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def log_density(v):
    """Return the logarithm of the posterior density, but for a constant, of (μ, log τ, η)."""
    mu, tau, eta = v[0], np.exp(v[1]), v[2:]
    prior = -0.5 * (mu / 5) ** 2 - np.log1p((tau / 5) ** 2) + v[1]  # of log τ, not of τ
    return (
        prior
        - 0.5 * eta @ eta
        - 0.5 * np.sum(((effects - mu - tau * eta) / errors) ** 2)
    )


# %%
# The sampler
# -----------
# A momentum is drawn, the particle follows 16 leapfrog steps, and Metropolis's test decides whether
# its end is taken. The length of the steps varies a little, against resonance. The first unknown is
# about four times as wide as the others, and gets a mass to match.

CHAINS, KEPT, WARM = 64, 500, 200
scale = np.ones(10)
scale[0] = 4.0
push = fd.jit(fd.vmap(fd.value_and_grad(log_density)))
rng = np.random.default_rng(1)


def transition(v, value, slope):
    momentum = rng.standard_normal(v.shape)
    size = 0.25 * scale * rng.uniform(0.8, 1.2)
    new, energy = v, 0.5 * np.sum(momentum**2, axis=1) - value
    new_value, new_slope, pace = value, slope, momentum
    for _ in range(16):
        pace = pace + 0.5 * size * new_slope
        new = new + size * pace
        new_value, new_slope = push(new)
        pace = pace + 0.5 * size * new_slope
    change = energy - (0.5 * np.sum(pace**2, axis=1) - new_value)
    taken = np.log(rng.random(CHAINS)) < change
    row = taken[:, None]
    state = (
        np.where(row, new, v),
        np.where(taken, new_value, value),
        np.where(row, new_slope, slope),
    )
    return state, taken.mean()


v = rng.standard_normal((CHAINS, 10))
state, draws, accepted = (v, *push(v)), [], []
for k in range(WARM + KEPT):
    state, share = transition(*state)
    if k >= WARM:
        draws.append(state[0])
        accepted.append(share)
draws = np.stack(draws, axis=1)  # (chain, draw, unknown)
mu, tau = draws[..., 0], np.exp(draws[..., 1])
theta = mu[..., None] + tau[..., None] * draws[..., 2:]

# %%
# Did the chains mix?
# -------------------
# Gelman and Rubin's number compares the variance between chains with that inside of them; it should
# be next to 1.


def mixing(x):
    inside, between = (
        x.var(axis=1, ddof=1).mean(axis=0),
        x.mean(axis=1).var(axis=0, ddof=1),
    )
    return np.sqrt((KEPT - 1) / KEPT + between / inside)


worst = mixing(draws).max()
print(
    f"{np.mean(accepted):.0%} of the steps taken, R between chains at most {worst:.4f}"
)
print(f"μ = {mu.mean():.2f} ± {mu.std():.2f}   τ = {tau.mean():.2f} ± {tau.std():.2f}")

# %%
# The result
# ----------

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
names = np.array(list("ABCDEFGH"))
places = np.arange(8)
left.errorbar(
    effects, places - 0.12, xerr=errors, fmt="o", color="0.6", label="measured"
)
left.errorbar(
    theta.mean((0, 1)),
    places + 0.12,
    xerr=theta.std((0, 1)),
    fmt="o",
    label="all together",
)
left.set(yticks=places, yticklabels=names, ylabel="school", xlabel="effect")
left.invert_yaxis()
left.legend()
right.hist2d(mu.ravel(), tau.ravel(), bins=30, range=((-8, 16), (0, 15)), cmap="Blues")
right.set(xlabel="μ, the mean of the schools", ylabel="τ, how they differ")

# %%
# Means and deviations agree with the published reference posterior (posteriordb,
# ``eight_schools_noncentered``: μ = 4.4 ± 3.3, τ = 3.6 ± 3.2).

assert worst < 1.01
assert 0.6 < np.mean(accepted) < 0.99
assert abs(mu.mean() - 4.4) < 0.15
assert abs(mu.std() - 3.3) < 0.15
assert abs(tau.mean() - 3.6) < 0.15
assert abs(tau.std() - 3.2) < 0.2
