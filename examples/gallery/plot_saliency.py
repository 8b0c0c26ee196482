r"""
Saliency: which pixels make a digit
===================================

A network reads handwritten digits. Why does it take an image for a seven? The gradient of the score
by the pixels tells which ink matters; so does an experiment, that takes this ink away.

Training needs the gradient by the weights, saliency the gradient by the *input*, for every image.
By hand these are two backward passes through the same network, the second one usually with hooks
and buffers to clear. Here both are ``fd.grad``, by different arguments.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_digits

import funcdiff as fd

digits = load_digits()
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.target))
images, labels = digits.data[order] / 16, digits.target[order]
seen, unseen = slice(360, None), slice(360)


# %%
# The network
# -----------
# 64 pixels, 48 hidden numbers, ten scores.


def scores(weights, pixels):
    hidden = np.tanh(pixels @ weights["in"] + weights["in shift"])
    return hidden @ weights["out"] + weights["out shift"]


def loss(weights, pixels, labels):
    z = scores(weights, pixels)
    right = z[np.arange(len(labels)), labels]
    decay = np.sum(weights["in"] ** 2) + np.sum(weights["out"] ** 2)
    return np.mean(np.log(np.sum(np.exp(z), axis=1)) - right) + 2e-4 * decay


start = {
    "in": 0.1 * rng.standard_normal((64, 48)),
    "in shift": np.zeros(48),
    "out": 0.1 * rng.standard_normal((48, 10)),
    "out shift": np.zeros(10),
}
flat, unravel = fd.ravel_pytree(start)
both = fd.jit(fd.value_and_grad(lambda v: loss(unravel(v), images[seen], labels[seen])))
fit = minimize(both, flat, jac=True, method="L-BFGS-B", options={"maxiter": 100})
weights = unravel(fit.x)
guesses = np.argmax(scores(weights, images[unseen]), axis=1)
right = guesses == labels[unseen]
print(
    f"{right.mean():.1%} of {len(right)} images that were not learnt are read rightly"
)

# %%
# Saliency
# --------
# How far the score of a digit is above the mean of the others, and its gradient by the pixels of
# every image. Ink times gradient is what the ink contributes, to first order.


def margin(pixels, label):
    z = scores(weights, pixels)
    return z[label] - (np.sum(z) - z[label]) / 9


slopes = fd.vmap(fd.grad(margin))(images[unseen], guesses)
parts = images[unseen] * slopes

figure, grid = plt.subplots(3, 10, figsize=(11, 3.8), layout="compressed")
limits = [np.quantile(np.abs(values), 0.99) for values in (slopes, parts)]
for digit in range(10):
    k = np.argmax((labels[unseen] == digit) & right)
    grid[0, digit].imshow(images[unseen][k].reshape(8, 8), cmap="gray_r")
    for row, (values, limit) in enumerate(zip((slopes, parts), limits, strict=True)):
        picture = values[k].reshape(8, 8)
        grid[row + 1, digit].imshow(picture, cmap="RdBu_r", vmin=-limit, vmax=limit)
for axes in grid.flat:
    axes.set(xticks=[], yticks=[])
for axes, name in zip(grid[:, 0], ("image", "gradient", "ink × gradient"), strict=True):
    axes.set_ylabel(name)
figure.suptitle("Red raises the score of the digit, blue lowers it")

# %%
# The experiment
# --------------
# The inked pixels are wiped out one by one: in the order of what they contribute, or in any order.


def wiped(order, count):
    pixels = images[unseen].copy()
    np.put_along_axis(pixels, order[:, :count], 0.0, axis=1)
    return pixels


def share(order, count):
    return np.mean(np.argmax(scores(weights, wiped(order, count)), axis=1) == guesses)


inked = images[unseen] > 0
by_part = np.argsort(np.where(inked, -parts, np.inf), axis=1)
by_chance = np.argsort(np.where(inked, rng.random(parts.shape), np.inf), axis=1)
counts = np.arange(13)
first, any_order = (
    np.array([share(o, c) for c in counts]) for o in (by_part, by_chance)
)

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.plot(counts, 100 * first, "o-", label="those that contribute most")
axes.plot(counts, 100 * any_order, "s-", label="any")
axes.set(
    xlabel="inked pixels wiped out",
    ylabel="images still read alike in %",
    ylim=(0, 105),
)
axes.legend()

# %%
# Five pixels that the gradient names change most readings, five others few.

assert right.mean() > 0.95
assert first[5] < 0.5 < 0.8 < any_order[5]
