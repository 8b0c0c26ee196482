"""
Match a colour: colour-science
==============================

Three inks are mixed on white paper; how much of each gives the colour that is nearest to a given
one? Near means CIEDE2000, with its many cases and angles. `colour` computes it, and adapted it has
the gradient.

It needs colour-science: ``pip install colour-science``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd

colour = fd.adapt("colour")

# %%
# The model
# ---------
# Each ink lets a part of the light through, in ten bands of the spectrum; twice as much of it lets
# the square of that through. The bands are seen by the observer of 1931.

bands = np.linspace(425.0, 665.0, 10)


def ink(centre, width):
    return 1.0 - 0.93 * np.exp(-(((bands - centre) / width) ** 2))


inks = np.stack([ink(640.0, 70.0), ink(540.0, 50.0), ink(440.0, 55.0)])
observer = np.stack(
    [
        1.06 * np.exp(-(((bands - 599) / 53) ** 2))
        + 0.36 * np.exp(-(((bands - 442) / 31) ** 2)),
        1.01 * np.exp(-(((bands - 556) / 65) ** 2)),
        1.78 * np.exp(-(((bands - 449) / 33) ** 2)),
    ]
)
observer /= np.sum(observer[1])


def lab(amounts):
    light = np.prod(inks ** amounts[:, None], axis=0)
    return colour.XYZ_to_Lab(observer @ light)


def distance(amounts, wanted):
    return colour.difference.delta_E_CIE2000(lab(amounts), wanted)


# %%
# The match
# ---------

wanted = np.array([62.0, 18.0, 31.0])
start = np.array([0.3, 0.3, 0.3])
fit = minimize(
    fd.value_and_grad(distance),
    start,
    args=(wanted,),
    jac=True,
    bounds=[(0.0, 2.0)] * 3,
)
print("amounts of cyan, magenta, yellow:", fit.x.round(3))
print("distance:", distance(start, wanted).round(2), "->", fit.fun.round(4))
print("evaluations:", fit.nfev)

# %%


def shown(values):
    xyz = colour.Lab_to_XYZ(values)
    return np.clip(colour.XYZ_to_sRGB(xyz), 0.0, 1.0)


figure, axes = plt.subplots(1, 3, figsize=(6, 2), layout="constrained")
for axis, name, values in zip(
    axes, ("start", "match", "wanted"), (lab(start), lab(fit.x), wanted), strict=True
):
    axis.imshow(shown(values)[None, None])
    axis.set(title=name, xticks=[], yticks=[])

# %%
# .. image:: /_static/packages/adapt_colour_match.svg
#    :alt: Three patches of colour: the start, the match and what was wanted

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_colour_match.svg"

assert fit.fun < 1e-2
