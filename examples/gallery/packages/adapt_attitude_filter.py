"""
Tune an attitude filter of quaternions: rowan
=============================================

A complementary filter mixes a gyroscope, which drifts, with an accelerometer, which shakes. Its
gain and the offsets of the gyroscope are found from a recording for which the attitude is known,
by the gradient through all of its steps. `rowan` has the algebra of quaternions.

It needs rowan: ``pip install rowan``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd

rowan = fd.adapt("rowan")

# %%
# A recording
# -----------
# The body turns about a moving axis; the gyroscope has offsets, the accelerometer noise.

rng = np.random.default_rng(0)
dt, steps = 0.1, 60
offset = np.array([0.06, -0.04, 0.02])
up = np.array([0.0, 0.0, 1.0])
time = dt * np.arange(steps)
rates = np.stack([0.6 * np.sin(time), 0.5 * np.cos(1.3 * time), np.full(steps, 0.2)], 1)


def turned(q, rate):
    """Return the attitude a time step later; the rate is that of the body's own axes."""
    return rowan.multiply(q, rowan.exp(np.concatenate([[0.0], 0.5 * dt * rate])))


true = [np.array([1.0, 0.0, 0.0, 0.0])]
for rate in rates[1:]:
    true.append(turned(true[-1], rate))
true = np.stack(true)
gravity = rowan.rotate(rowan.conjugate(true), up)
gyroscope = rates + offset + 0.02 * rng.standard_normal((steps, 3))
accelerometer = gravity + 0.04 * rng.standard_normal((steps, 3))

# %%
# The filter
# ----------


@fd.adapt
def attitudes(parameters):
    """Filter with a gain and with offsets that are taken away from the gyroscope."""
    gain, offsets = np.exp(parameters[0]), parameters[1:]
    q = [np.array([1.0, 0.0, 0.0, 0.0])]
    for t in range(1, steps):
        expected = rowan.rotate(rowan.conjugate(q[-1]), up)
        correction = gain * np.cross(accelerometer[t], expected)
        q.append(turned(q[-1], gyroscope[t] - offsets + correction))
    return np.array(q)


def loss(parameters):
    """Return the mean square of the distance of quaternions, whose sign does not matter."""
    return np.mean(1.0 - np.sum(attitudes(parameters) * true, axis=1) ** 2)


# %%
# The result
# ----------

start = np.zeros(4)
fit = minimize(fd.value_and_grad(loss), start, jac=True, method="BFGS")
print("gain:", np.exp(fit.x[0]).round(3))
print("offsets:", fit.x[1:].round(3), "true:", offset)
print("mean square distance:", loss(start).round(6), "->", fit.fun.round(6))

# %%

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, parameters in (("start", start), ("tuned", fit.x)):
    cosine = np.abs(np.sum(attitudes(parameters) * true, axis=1))
    axes.plot(time, np.degrees(2 * np.arccos(np.minimum(cosine, 1.0))), label=name)
axes.set(xlabel="time (s)", ylabel="attitude, off by (°)")
axes.legend()

# %%
# .. image:: /_static/packages/adapt_attitude_filter.svg
#    :alt: How far the attitude is off over time, before and after the tuning

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_attitude_filter.svg"

assert np.all(np.abs(fit.x[1:] - offset) < 0.03)
assert fit.fun < 0.2 * loss(start)
