"""
Fit an orbit to observations: sgp4
==================================

A satellite was seen for one pass, its distance measured from the ground. The elements of its orbit
follow by least squares through SGP4, the model of all published elements: a thousand lines of
Python with ``math.sin`` and many cases, of which the derivatives by all elements are exact.

It needs sgp4: ``pip install sgp4``.
"""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import funcdiff as fd

propagation = fd.adapt("sgp4.propagation")
gravity = fd.adapt("sgp4.earth_gravity")

# %%
# The model
# ---------
# The elements are eccentricity, argument of perigee, inclination, mean anomaly, mean motion (rad a
# minute) and ascending node; times are in minutes, places in kilometres.

minutes = np.linspace(0.0, 90.0, 15)
station = np.array([3500.0, -2400.0, 4700.0])


def places(elements):
    e, perigee, inclination, anomaly, motion, node = (elements[i] for i in range(6))
    satellite = SimpleNamespace(whichconst=gravity.wgs72)
    propagation.sgp4init(
        gravity.wgs72, "i", "25544", 25545.69, 3.9e-5, 0.0, 0.0,
        e, perigee, inclination, anomaly, motion, node, satellite,
    )  # fmt: skip
    return np.stack([np.stack(propagation.sgp4(satellite, t)[0]) for t in minutes])


def distances(elements):
    return np.sqrt(np.sum((places(elements) - station) ** 2, axis=1))


# %%
# Observations, and the fit
# -------------------------

truth = np.array([0.0107, 0.31, 0.9013, 1.4946, 0.06764, 3.686])
rng = np.random.default_rng(0)
measured = distances(truth) + 0.1 * rng.standard_normal(len(minutes))
guess = truth + np.array([0.004, 0.05, -0.02, 0.05, 1e-4, 0.03])


def residuals(elements):
    return (distances(elements) - measured) / 0.1


jacobian = fd.jacobian(residuals)
fit = least_squares(residuals, guess, jac=jacobian, x_scale="jac")
J = jacobian(fit.x)
spread = np.sqrt(np.diag(np.linalg.inv(J.T @ J)))
print("found:", fit.x.round(5))
print("true: ", truth)
print("standard errors:", spread)
print("evaluations:", fit.nfev)

# %%

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, elements in (("guess", guess), ("fitted", fit.x)):
    axes.semilogy(minutes, np.abs(distances(elements) - measured), label=name)
axes.set(xlabel="minute", ylabel="distance, off by (km)")
axes.legend()

# %%
# .. image:: /_static/packages/adapt_orbit_fit.svg
#    :alt: How far distances are off over time, by the guess and by the fitted orbit

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_orbit_fit.svg"

assert np.all(np.abs(fit.x - truth) < 5 * spread)
