"""
Vapour-liquid equilibrium and its sensitivities: thermo, chemicals
==================================================================

The boiling temperature of a mixture of ethanol and water solves an equation: the partial pressures,
by Raoult's law with activity coefficients, sum up to the pressure. Newton's method solves it, with
the derivative of what `chemicals` and `thermo` compute, and the derivative goes through its steps.
So the parameters of the activity model are fitted to measured boiling points.

It needs thermo: ``pip install thermo``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import funcdiff as fd

nrtl = fd.adapt("thermo.nrtl")
vapor_pressure = fd.adapt("chemicals.vapor_pressure")

# %%
# The model
# ---------
# The vapour pressures are Antoine's, in Pa and K; the activity coefficients NRTL's.


def pressure(T, x, tau):
    """Return the pressure of the vapour above a mixture with the fraction x of ethanol."""
    taus = [[0.0, tau[0]], [tau[1], 0.0]]
    gammas = nrtl.NRTL_gammas([x, 1.0 - x], taus, [[0.0, 0.3], [0.3, 0.0]])
    ethanol = vapor_pressure.Antoine(T, 10.33675, 1648.22, -42.232)
    water = vapor_pressure.Antoine(T, 10.11564, 1687.537, -42.98)
    return gammas[0] * x * ethanol + gammas[1] * (1.0 - x) * water


def boiling(x, tau):
    """Return the temperature at which the pressure is that of the atmosphere."""
    T = 360.0
    for _ in range(6):
        value, slope = fd.value_and_grad(pressure)(T, x, tau)
        T = T - (value - 101325.0) / slope
    return T


# %%
# Data, and the fit
# -----------------

fractions = np.array([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.97])
truth = np.array([-0.2, 1.8])
rng = np.random.default_rng(0)
measured = np.array(
    [boiling(x, truth) for x in fractions]
) + 0.05 * rng.standard_normal(9)


def residuals(tau):
    return np.stack([boiling(x, tau) for x in fractions]) - measured


fit = least_squares(residuals, np.array([0.2, 1.0]), jac=fd.jacobian(residuals))
J = fd.jacobian(residuals)(fit.x)
spread = 0.05 * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
print("found:", fit.x.round(3), "true:", truth, "standard errors:", spread.round(3))
print("evaluations:", fit.nfev)

# %%

grid = np.linspace(0.0, 1.0, 41)[1:-1]
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(fractions, measured, "o", label="measured")
axes.plot(grid, [boiling(x, fit.x) for x in grid], label="fitted")
axes.set(xlabel="fraction of ethanol", ylabel="boiling point (K)")
axes.legend()

# %%
# .. image:: /_static/packages/adapt_vapour_liquid.svg
#    :alt: Boiling points over the fraction of ethanol, measured and fitted

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_vapour_liquid.svg"

assert np.all(np.abs(fit.x - truth) < 4 * spread)
