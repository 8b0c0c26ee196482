r"""
Densities for samplers: when did coal mining become safer?
==========================================================

Jarrett (1979) counted the explosions in British coal mines that killed ten or more, year by year.
Their rate fell at some time: how far, and when? The counts are taken as Poisson variables with an
early and a late rate,

.. math:: y_t \sim \mathrm{Poisson}(\lambda_1) \text{ for the first } s \text{ years,} \quad
   y_t \sim \mathrm{Poisson}(\lambda_2) \text{ after them,} \quad
   \lambda_{1, 2} \sim \mathrm{Exponential}(1)

and every number of years `s` is as likely as the others. It is summed over, since samplers that
follow gradients know no integers. Both rates are positive: ``fd.density`` makes a density of all
vectors of it, its gradient and its log-Jacobian included.
"""

from math import lgamma

import matplotlib.pyplot as plt
import numpy as np

import funcdiff as fd

digits = (
    "45401434063340263354531441553425223421322111130010110031"
    "0322011101010002100011023311211112420014000100000100101"
)
counts = np.array([int(digit) for digit in digits])
years = 1851 + np.arange(len(counts))
s = np.arange(1, len(counts))  # years at the early rate
before = np.cumsum(counts)[:-1]
after = counts.sum() - before


def of_change(rate):
    """Return the log-density of the counts, but for a constant, for every year of the change."""
    early, late = np.log(rate[..., :1]), np.log(rate[..., 1:])
    fixed = before * early - s * rate[..., :1]
    return fixed + after * late - (len(counts) - s) * rate[..., 1:]


def logp(p):
    """Return the logarithm of the posterior density of both rates."""
    terms = of_change(p["rate"])
    largest = np.max(terms)
    sum_of_all = largest + np.log(np.mean(np.exp(terms - largest)))
    return sum_of_all - np.sum(p["rate"])


d = fd.density(logp, {"rate": np.array([2.0, 1.5])}, bounds={"rate": (0, None)})

# %%
# Draws
# -----
# The sampler is one for reference, and says whether its chains agree. The probability of each year
# is that given the rates, averaged over the draws.

draws = d.sample(rng=1)
rate = draws.params["rate"]  # (chain, draw, early and late)
given = of_change(rate)
given = np.exp(given - given.max(axis=-1, keepdims=True))
chance = np.mean(given / given.sum(axis=-1, keepdims=True), axis=(0, 1))
last_year = years[:-1]
print(f"R-hat at most {draws.rhat['rate'].max():.4f}")
print(f"effective draws in the tails: {draws.tail_ess['rate'].round()}")
print(f"rates {rate.mean((0, 1)).round(2)} ± {rate.std((0, 1)).round(2)}")
print(f"likeliest last year at the early rate: {last_year[np.argmax(chance)]}")

# %%
# Was there a change at all?
# --------------------------
# The evidence of a model is the integral of its density. Laplace's approximation at the mode of the
# density of vectors estimates it, and here integrals over both rates are known.

fit = d.laplace()
constant = fd.density(
    lambda p: counts.sum() * np.log(p) - (len(counts) + 1) * p, 1.0, bounds=(0, None)
).laplace()


def log_integral(events, time):
    """Return the logarithm of the integral of ``rate**events * exp(-(time + 1) * rate)``."""
    return np.vectorize(lgamma)(events + 1.0) - (events + 1) * np.log(time + 1)


terms = log_integral(before, s) + log_integral(after, len(counts) - s)
exact = terms.max() + np.log(np.mean(np.exp(terms - terms.max())))
exact_constant = log_integral(counts.sum(), len(counts))
print(f"log-evidence of a change     {fit.log_evidence:.2f}, exactly {exact:.2f}")
print(
    f"log-evidence of no change    {constant.log_evidence:.2f}, exactly {exact_constant:.2f}"
)

# %%
# The result
# ----------

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4), layout="constrained", width_ratios=(3, 2)
)
left.bar(years, counts, width=1.0, color="0.8", label="explosions in a year")
early_share = np.concatenate([np.cumsum(chance[::-1])[::-1], [0.0]])
mean = rate.mean((0, 1))
left.plot(
    years, early_share * mean[0] + (1 - early_share) * mean[1], "C3", label="mean rate"
)
left.set(xlabel="year", ylabel="explosions", ylim=(0, 10))
left.legend(loc="upper left")
inset = left.inset_axes((0.52, 0.64, 0.45, 0.26))
inset.bar(last_year, chance, color="C0")
inset.set(xlim=(1880, 1902), title="chance of the last early year")
right.hist2d(*rate.reshape(-1, 2).T, bins=25, cmap="Blues")
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.stack([np.cos(angle), np.sin(angle)])
ellipse = fit.vector[:, None] + 2 * np.linalg.cholesky(fit.covariance) @ circle
right.plot(*np.exp(ellipse), "C3", label="Laplace, two deviations")
right.set(xlabel="early rate", ylabel="late rate")
right.legend()

# %%
# With a change the counts are exp(28) times as likely as without. It fell between 1886 and 1896,
# when the laws on mines had become stricter.

assert counts.sum() == 191
assert draws.rhat["rate"].max() < 1.01
assert not draws.diverging.any()
weights = np.exp(terms - exact) / len(terms)
exact_rates = [
    weights @ ((before + 1) / (s + 1)),
    weights @ ((after + 1) / (len(counts) - s + 1)),
]
assert np.all(np.abs(mean - exact_rates) < 0.03)
assert np.abs(chance - weights).max() < 0.01
assert abs(fit.log_evidence - exact) < 0.2
assert abs(constant.log_evidence - exact_constant) < 0.01
