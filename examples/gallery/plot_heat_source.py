r"""
Heat: find a source by the gradient of a simulation
===================================================

Something in a square plate gives off heat. Twenty-five sensors read the temperature, with noise, at
five times. Where is the source, how strong and how wide is it?

The simulation is ordinary NumPy that updates an array in place. By hand its gradient needs the
*adjoint*: a second simulation that runs backward in time, with the transposed boundary treatment,
fed by what the sensors say, and every state of the first one kept for it. Here it is ``fd.grad``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import funcdiff as fd

SIDE, STEPS, RATE = 40, 150, 0.2
rows, columns = np.mgrid[:SIDE, :SIDE] / (SIDE - 1)
sensors = np.ix_(range(4, 40, 8), range(4, 40, 8))


# %%
# The simulation
# --------------
# The edge of the plate is kept at zero; the source heats in every step.


def simulate(source):
    heat = np.zeros_like(source)
    seen = []
    for step in range(1, STEPS + 1):
        around = heat[2:, 1:-1] + heat[:-2, 1:-1] + heat[1:-1, 2:] + heat[1:-1, :-2]
        heat[1:-1, 1:-1] += RATE * (around - 4 * heat[1:-1, 1:-1])
        heat[1:-1, 1:-1] += source[1:-1, 1:-1]
        if step % 30 == 0:
            seen.append(heat[sensors])
    return np.stack(seen), heat


def blob(place):
    row, column, strength, width = place
    return strength * np.exp(
        -((rows - row) ** 2 + (columns - column) ** 2) / (2 * width**2)
    )


truth = np.array([0.31, 0.66, 0.05, 0.06])
noise = 0.01
clean, final = simulate(blob(truth))
readings = clean + noise * np.random.default_rng(0).standard_normal(clean.shape)


def misfit(source):
    return np.sum((simulate(source)[0] - readings) ** 2) / (2 * noise**2)


# %%
# Where to begin
# --------------
# One reverse pass tells, for each of the 1600 cells, how the misfit would change if that cell gave
# off heat. Where it would fall most the search begins.

sensitivity = fd.grad(misfit)(np.zeros((SIDE, SIDE)))
hint = np.unravel_index(np.argmin(sensitivity), sensitivity.shape)
start = np.array([rows[hint], columns[hint], 0.02, 0.1])

# %%
# The search
# ----------
# Four numbers describe a source. Strength and width are searched as logarithms, for they are
# positive.


def loss(v):
    return misfit(blob(np.concatenate([v[:2], np.exp(v[2:])])))


begin = np.concatenate([start[:2], np.log(start[2:])])
fit = minimize(fd.value_and_grad(loss), begin, jac=True, method="BFGS")
found = np.concatenate([fit.x[:2], np.exp(fit.x[2:])])
print("true ", truth)
print("start", start.round(3))
print("found", found.round(3), f"after {fit.nfev} simulations")

# %%
# Two pictures
# ------------

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
square = (-0.5 / (SIDE - 1), 1 + 0.5 / (SIDE - 1)) * 2
shown = left.imshow(final, origin="lower", extent=square, cmap="inferno")
left.plot(
    columns[sensors],
    rows[sensors],
    "s",
    color="deepskyblue",
    markersize=4,
    markerfacecolor="none",
)
left.set(title="Temperature at the end, and the sensors")
figure.colorbar(shown, ax=left)
shown = right.imshow(sensitivity, origin="lower", extent=square, cmap="YlOrBr_r")
right.plot(
    truth[1],
    truth[0],
    "o",
    color="tab:blue",
    markersize=14,
    markerfacecolor="none",
    label="true",
)
right.plot(start[1], start[0], "^", color="tab:green", label="start")
right.plot(found[1], found[0], "x", color="tab:red", label="found")
right.set(title="Gradient of the misfit by the source's cells")
right.legend()
figure.colorbar(shown, ax=right)

# %%
# The source is found to a thousandth of the plate's side, and nothing is left but noise: the misfit
# per reading is about one half.

assert np.all(np.abs(found[:2] - truth[:2]) < 2e-3)
assert np.all(np.abs(found[2:] / truth[2:] - 1) < 0.1)
assert 0.3 < fit.fun / readings.size < 0.7
