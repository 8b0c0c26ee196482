"""
Tune a Kalman filter by its gradient: filterpy
==============================================

The noise of a motion model is rarely known. Its maximum likelihood estimate maximizes the sum of
the log-likelihoods of the innovations, which `filterpy` computes while it filters: attributes of an
object that are written again and again. An adapted filter has the exact gradient of that sum.

It needs filterpy: ``pip install filterpy``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd

kalman = fd.adapt("filterpy.kalman")

# %%
# Data: a body that is pushed at random, seen with noise
# ------------------------------------------------------

rng = np.random.default_rng(2)
dt, pushed, seen = 0.5, 0.3, 0.8
F = np.array([[1.0, dt], [0.0, 1.0]])
G = np.array([0.5 * dt**2, dt])
state, places, measured = np.array([0.0, 1.0]), [], []
for _ in range(80):
    state = F @ state + G * pushed * rng.standard_normal()
    places.append(state[0])
    measured.append(state[0] + seen * rng.standard_normal())

# %%
# The likelihood
# --------------


def run(logs):
    """Filter with the standard deviations of push and measurement, given by their logarithms."""
    push, noise = np.exp(logs[0]), np.exp(logs[1])
    kf = kalman.KalmanFilter(dim_x=2, dim_z=1)
    kf.x, kf.F, kf.H = np.zeros(2), F, np.array([[1.0, 0.0]])
    kf.P, kf.Q = np.eye(2) * 10.0, push**2 * np.outer(G, G)
    kf.R = np.reshape(noise**2, (1, 1))
    total, path = 0.0, []
    for z in measured:
        kf.predict()
        kf.update(np.array([z]))
        total, path = total + kf.log_likelihood, [*path, kf.x[0]]
    return -total, path


def loss(logs):
    return run(logs)[0]


# %%
# The estimate and its standard error
# -----------------------------------

start = np.log([2.0, 0.2])
fit = minimize(fd.value_and_grad(loss), start, jac=True, method="BFGS")
spread = np.sqrt(np.diag(np.linalg.inv(fd.hessian(loss)(fit.x))))
print("push and noise:", np.exp(fit.x).round(3), "true:", (pushed, seen))
print("relative standard errors:", spread.round(3))
print("evaluations:", fit.nfev)

# %%

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(measured, ".", label="measured")
axes.plot(places, label="true")
axes.plot(run(fit.x)[1], label="filtered")
axes.set(xlabel="step", ylabel="place")
axes.legend()

# %%
# .. image:: /_static/packages/adapt_kalman_tuning.svg
#    :alt: Places as they were measured, as they were, and as the tuned filter has them

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_kalman_tuning.svg"

assert np.all(np.abs(fit.x - np.log([pushed, seen])) < 3 * spread)
