r"""
Enzyme rates: errors of a fit, and where to measure next
========================================================

How fast an enzyme works depends on the concentration of what it works on, by the law of Michaelis
and Menten,

.. math:: v = \frac{V c}{K + c}

with the largest rate :math:`V` and the concentration :math:`K` of half of that. Twelve rates were
measured (treated with puromycin; Bates and Watts, *Nonlinear regression analysis and its
applications*, 1988). How well do they determine both numbers, their ratio, and the curve? And at
which concentrations should the next two rates be measured?
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd
import funcdiff.scipy.optimize

concentration = np.repeat([0.02, 0.06, 0.11, 0.22, 0.56, 1.10], 2)
rate = np.array([76.0, 47, 97, 107, 123, 139, 159, 152, 191, 201, 207, 200])


def law(p, c):
    return p["V"] * c / (p["K"] + c)


# %%
# The fit, and its standard errors
# --------------------------------
#
# The Fisher information is made of the Jacobian of the law. Its inverse is the covariance.


def residuals(p):
    return law({"V": p[0], "K": p[1]}, concentration) - rate


best = fd.scipy.optimize.least_squares(residuals, np.array([200.0, 0.1]), xtol=1e-14)
p = {"V": best.x[0], "K": best.x[1]}
noise = np.sqrt(np.sum(best.fun**2) / (len(rate) - 2))


def loglike(p):
    return -(((rate - law(p, concentration)) / noise) ** 2) / 2


def expected(p):
    return law(p, concentration)


F = fd.fisher_information(expected, noise=noise)(p)
cov = np.linalg.inv([[F[a][b] for b in p] for a in p])
for k, name in enumerate(p):
    print(f"{name} = {p[name]:.5g} ± {np.sqrt(cov[k, k]):.2g}")
assert np.allclose(
    np.sqrt(np.diagonal(cov)), [6.947, 0.008281], rtol=1e-3
)  # as published

# %%
# Both are correlated, so the error of their ratio is less than that of independent numbers. Without
# more, the call would warn: :math:`K` is uncertain by an eighth, over which its inverse bends. The
# terms of second order are in with ``order=2``.


def slope(p):
    return p["V"] / p["K"]


ratio = fd.propagate(slope)(p, cov=cov, order=2, check=False)
variances = {name: cov[k, k] for k, name in enumerate(p)}
alone = fd.propagate(slope)(p, cov=variances, order=2, check=False)
print(
    f"V/K = {ratio.value:.0f} ± {ratio.std:.0f}, of which the mean is {ratio.shift:.0f} more"
)
print(f"It would be ± {alone.std:.0f} if V and K were independent.")
assert ratio.std < alone.std

# %%
# Of the likelihood's own intervals, that of :math:`K` reaches further up than down.

low, high = fd.confidence_intervals(loglike)(p, kind="profile")
print(f"95 % of K by its profile: {low['K']:.4f} to {high['K']:.4f}")
assert high["K"] - p["K"] > p["K"] - low["K"]

# %%
# The band of the curve
# ---------------------
#
# The whole curve is one function of the parameters.

c = np.linspace(0, 1.2, 121)
curve = fd.propagate(lambda p: law(p, c))(p, cov=cov, check=False)

# %%
# Where to measure next
# ---------------------
#
# The criterion D is the volume of the region of likely parameters, and differentiable in the
# concentrations. For two of them the best ones are known in closed form: the largest that can be
# had, and :math:`K c / (2 K + c)`.

D = fd.design.criterion("D", law, p, noise=noise)
largest = 1.1
found = minimize(
    fd.value_and_grad(D), [0.3, 0.9], jac=True, bounds=[(1e-3, largest)] * 2, tol=1e-12
)
print("measure next at", np.round(found.x, 4))
assert np.allclose(
    found.x, [p["K"] * largest / (2 * p["K"] + largest), largest], rtol=1e-4
)

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
axes[0].fill_between(
    c,
    curve.value - 2 * curve.std,
    curve.value + 2 * curve.std,
    alpha=0.3,
    label="two deviations",
)
axes[0].plot(c, curve.value)
axes[0].plot(concentration, rate, "k.", label="measured")
for place in found.x:
    axes[0].axvline(place, color="C1", linestyle=":")
axes[0].set(
    xlabel="concentration, ppm",
    ylabel="rate, counts/min²",
    title="next at the dotted lines",
)
axes[0].legend()

where = np.linspace(0.01, 1.0, 200)
axes[1].plot(where, [D(np.array([x, largest])) for x in where])
axes[1].axvline(found.x[0], color="C1", linestyle=":")
axes[1].set(xlabel="concentration of one, the other at 1.1 ppm", ylabel="criterion D")
plt.show()
