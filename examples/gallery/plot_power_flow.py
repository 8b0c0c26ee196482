r"""
Multipliers: optimal power flow, and what electricity costs where
=================================================================

Five nodes of a grid are joined by six lines. Two of the nodes have power stations, a cheap one and
a dear one. With complex voltages :math:`V_i e^{\mathrm i \theta_i}` and admittances
:math:`G + \mathrm i B` of the grid, each node sends

.. math:: P_i = V_i \sum_j V_j (G_{ij} \cos\theta_{ij} + B_{ij} \sin\theta_{ij}), \quad
   Q_i = V_i \sum_j V_j (G_{ij} \sin\theta_{ij} - B_{ij} \cos\theta_{ij})

which equals what is generated there less the load. Generation is to cost least, with voltages
within 5 % of 1 and no line loaded above its limit. The multipliers of the balances are the prices
of power, node by node.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcdiff as fd

ends = np.array([[0, 1], [0, 2], [1, 2], [1, 3], [2, 4], [3, 4]])
impedance = np.array(
    [0.02 + 0.1j, 0.03 + 0.12j, 0.02 + 0.09j, 0.02 + 0.1j, 0.03 + 0.12j, 0.02 + 0.1j]
)
limit = np.array([2.0, 2.0, 2.0, 0.6, 2.0, 2.0])
load = np.array([0.0, 0.5, 0.6, 0.8, 0.7])
reactive_load = 0.3 * load
stations = np.array([0, 4])

admittance = np.zeros((5, 5), complex)
for (i, j), z in zip(ends, impedance, strict=True):
    admittance[[i, j], [i, j]] += 1 / z
    admittance[[i, j], [j, i]] -= 1 / z
G, B = admittance.real, admittance.imag


def cost(x, _):
    """Return the cost of generation."""
    return 10 * x["p"][0] + x["p"][0] ** 2 + 25 * x["p"][1] + 2 * x["p"][1] ** 2


def balances(x, load):
    """Return what nodes lack of both powers, and the flow on lines."""
    angle = np.append(0.0, x["angle"])  # that of the first node is 0
    v, between = x["v"], angle[:, None] - angle
    cosines, sines = np.cos(between), np.sin(between)
    given, given_reactive = (
        np.stack([power[0], 0.0, 0.0, 0.0, power[1]]) for power in (x["p"], x["q"])
    )
    i, j = ends.T
    g, b = -G[i, j], -B[i, j]
    flow = g * v[i] ** 2 - v[i] * v[j] * (g * cosines[i, j] + b * sines[i, j])
    return {
        "active": load + v * ((G * cosines + B * sines) @ v) - given,
        "reactive": reactive_load
        + v * ((G * sines - B * cosines) @ v)
        - given_reactive,
        "flow": flow,
    }


start = {"angle": np.zeros(4), "v": np.ones(5), "p": np.ones(2), "q": np.zeros(2)}
low = {"angle": -1.0, "v": 0.95, "p": 0.0, "q": -2.0}
high = {"angle": 1.0, "v": 1.05, "p": 3.0, "q": 2.0}
nothing = {"active": 0.0, "reactive": 0.0}


def dispatch(load):
    """Return the program for the loads of nodes."""
    limits = ({**nothing, "flow": -limit}, {**nothing, "flow": limit})
    return fd.nlp(
        cost, balances, start, bounds=(low, high), cbounds=limits, args=(load,)
    )


solution = dispatch(load).solve()
assert solution.success, solution.message
prices = solution.multipliers["active"]

# %%
# A price is what a little more load costs, as a solution with more load shows, node by node. Where
# a line is full, power behind it is dearer.

h = 1e-3
for node in range(5):
    up, down = (dispatch(load + s * h * np.eye(5)[node]).solve().value for s in (1, -1))
    assert abs((up - down) / (2 * h) - prices[node]) < 1e-2
flow = balances(solution.x, load)["flow"]
full = np.abs(flow) > limit - 1e-5
assert full.any()
print("prices", prices.round(2), "generated", solution.x["p"].round(3))

# %%
# The picture: prices of nodes, and flows on lines; full lines are red.

places = np.array([[0.0, 1.0], [1.0, 1.8], [1.0, 0.2], [2.2, 1.8], [2.2, 0.2]])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for (i, j), f, is_full in zip(ends, flow, full, strict=True):
    axes.plot(
        *places[[i, j]].T, color="C3" if is_full else "C7", lw=1 + 4 * abs(f), zorder=1
    )
    axes.annotate(f"{abs(f):.2f}", places[[i, j]].mean(0), ha="center", va="bottom")
axes.scatter(*places.T, c=prices, s=900, cmap="YlOrRd", vmin=0, vmax=60, zorder=2)
for node, price in enumerate(prices):
    axes.annotate(f"{price:.1f}", places[node], ha="center", va="center")
axes.set_axis_off()
axes.margins(0.15)
plt.show()
