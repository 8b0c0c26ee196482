"""
Calibrate a photovoltaic model: pvlib
=====================================

The single-diode model of a module has parameters that its data sheet does not give. They are fitted
to measured power by least squares, with the exact Jacobian of pvlib's own functions: irradiance and
temperature in, temperature of the cells, the five parameters, the current at a voltage.

It needs pvlib: ``pip install pvlib``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import funcdiff as fd

temperature = fd.adapt("pvlib.temperature")
pvsystem = fd.adapt("pvlib.pvsystem")

# %%
# The model
# ---------
# What is fitted: the reference photocurrent, the series resistance, the ideality of the diode and
# the heat that the wind does not take away, each relative to a first guess.

GUESS = np.array([6.0, 0.4, 1.6, 25.0])
voltage = 25.0


def current(scale, irradiance, air, wind):
    photocurrent, resistance, ideality, cooling = scale * GUESS
    cell = temperature.faiman(irradiance, air, wind, u0=cooling)
    five = pvsystem.calcparams_desoto(
        irradiance, cell, 0.003, ideality, photocurrent, 1e-9, 300.0, resistance
    )
    return pvsystem.i_from_v(voltage, *five, method="newton")


# %%
# Data: a day of measurements, made with other parameters and noise
# -----------------------------------------------------------------

rng = np.random.default_rng(0)
hours = np.linspace(-5.0, 5.0, 60)
irradiance = 1000.0 * np.cos(hours / 3.6) ** 1.2 * (1.0 - 0.2 * rng.random(60))
air = 18.0 + 6.0 * np.sin((hours + 3.0) / 4.0)
wind = 1.0 + 3.0 * rng.random(60)
truth = np.array([1.07, 1.3, 0.95, 1.2])
measured = current(truth, irradiance, air, wind) + 0.01 * rng.standard_normal(60)

# %%
# The fit
# -------


def residuals(scale):
    return current(scale, irradiance, air, wind) - measured


fit = least_squares(residuals, np.ones(4), jac=fd.jacobian(residuals))
print("calls of the model:", fit.nfev)
print("found:", fit.x.round(3), "true:", truth)

J = fd.jacobian(residuals)(fit.x)
spread = 0.01 * np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
print("standard errors:", spread.round(4))

# %%

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(hours, measured, ".", label="measured")
axes.plot(hours, current(np.ones(4), irradiance, air, wind), label="data sheet")
axes.plot(hours, current(fit.x, irradiance, air, wind), label="fitted")
axes.set(xlabel="hours from noon", ylabel="current (A)")
axes.legend()

# %%
# .. image:: /_static/packages/adapt_pv_model.svg
#    :alt: The current of the module over a day: measured, by the data sheet and fitted

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_pv_model.svg"

assert np.all(np.abs(fit.x - truth) < 5 * spread)
