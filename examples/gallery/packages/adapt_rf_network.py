"""
Match an antenna: scikit-rf
===========================

A load of 20 - 30j ohms is matched to 50 ohms by a line and a stub. scikit-rf cascades networks,
with complex arrays of all frequencies. The lengths that reflect least over the whole band are found
with the exact gradient.

It needs scikit-rf: ``pip install scikit-rf``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd

skrf = fd.adapt("skrf")

# %%
# The network
# -----------

frequency = skrf.Frequency(2.2, 2.6, 41, "GHz")
medium = skrf.media.DefinedGammaZ0(frequency, gamma=1j * frequency.w / 2e8, z0=50.0)
load = medium.load((20.0 - 30.0j - 50.0) / (20.0 - 30.0j + 50.0))


def reflection(lengths):
    """Return the reflection at all frequencies; the lengths are in millimetres."""
    line = medium.line(lengths[0], "mm")
    stub = medium.shunt(medium.line(lengths[1], "mm") ** medium.open())
    return (stub**line**load).s[:, 0, 0]


def mean_power(lengths):
    return np.mean(np.abs(reflection(lengths)) ** 2)


# %%
# The design
# ----------

start = np.array([12.0, 8.0])
fit = minimize(fd.value_and_grad(mean_power), start, jac=True, method="BFGS")
print("lengths in mm:", fit.x.round(3))
print("reflected:", mean_power(start).round(4), "->", fit.fun.round(4))
print("evaluations:", fit.nfev)

# %%

ghz = np.linspace(2.2, 2.6, 41)
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
for name, lengths in (("start", start), ("matched", fit.x)):
    axes.plot(ghz, 20 * np.log10(np.abs(reflection(lengths))), label=name)
axes.set(xlabel="frequency (GHz)", ylabel="reflection (dB)")
axes.legend()

# %%
# .. image:: /_static/packages/adapt_rf_network.svg
#    :alt: The reflection over the band, at the start and matched

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_rf_network.svg"

assert np.linalg.norm(fd.grad(mean_power)(fit.x)) < 1e-5
assert fit.fun < 0.05
