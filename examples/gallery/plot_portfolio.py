r"""
Sensitivities: a portfolio with costs of trading
================================================

Markowitz's investor weighs the expected return of a portfolio against its variance; trading from
the portfolio that is held costs a share of what is bought and sold,

.. math:: \max_w \; \mu^\mathsf{T} w - \tfrac{\gamma}{2} w^\mathsf{T} \Sigma w
   - k \sum_i (b_i + s_i), \quad w = w_0 + b - s, \quad \sum_i w_i + k \sum_i (b_i + s_i) = 1

with nothing below 0. Purchases and sales are variables of their own, so that nothing has a kink.
How does the portfolio change with the expectations, which nobody knows well? ``sensitivity``
differentiates the solution by all of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcdiff as fd

names = ["bonds", "shares", "gold", "land", "cash"]
expected = np.array([0.03, 0.075, 0.04, 0.055, 0.02])
spread = np.array([0.05, 0.18, 0.15, 0.11, 0.01])
together = np.full((5, 5), 0.2) + 0.8 * np.eye(5)
covariance = together * np.outer(spread, spread)
held = np.array([0.3, 0.1, 0.1, 0.1, 0.4])


def loss(x, expected, cost):
    """Return what is to be small."""
    w, traded = x["held"], np.sum(x["bought"] + x["sold"])
    return 2.5 * w @ covariance @ w - expected @ w + cost * traded


def rules(x, _, cost):
    """Return what is to be 0: the balance of each asset, and of all money."""
    paid = cost * np.sum(x["bought"] + x["sold"])
    return {
        "assets": x["held"] - held - x["bought"] + x["sold"],
        "money": np.sum(x["held"]) + paid - 1,
    }


start = {"held": held, "bought": np.zeros(5), "sold": np.zeros(5)}


def portfolio(expected, cost):
    """Return the program for expectations and a cost of trading."""
    return fd.nlp(
        loss, rules, start, bounds=(0, None), cbounds=(0, 0), args=(expected, cost)
    )


program = portfolio(expected, 0.01)
solution = program.solve()
assert solution.success, solution.message
assert np.all(np.minimum(solution.x["bought"], solution.x["sold"]) < 1e-6)  # never both

# %%
# The sensitivities agree with solutions for changed expectations.

by_expected = program.sensitivity(solution)()["held"]
h = 1e-4
for k in range(5):
    up, down = (
        portfolio(expected + sign * h * np.eye(5)[k], 0.01).solve().x["held"]
        for sign in (1, -1)
    )
    assert np.allclose(by_expected[:, k], (up - down) / (2 * h), atol=0.02)

# %%
# The higher the cost, the less is traded; what is not traded does not move at all.

costs = np.linspace(0.002, 0.05, 13)
found = [portfolio(expected, cost).solve() for cost in costs]
assert all(s.success for s in found)
traded = [np.sum(s.x["bought"] + s.x["sold"]) for s in found]
assert all(np.diff(traded) < 1e-6)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.stackplot(costs, np.stack([s.x["held"] for s in found]).T, labels=names, alpha=0.8)
left.set(
    xlabel="cost of trading",
    ylabel="share of the portfolio",
    xlim=(costs[0], costs[-1]),
)
left.legend(loc="lower left", frameon=False, ncols=2)
most = np.abs(by_expected).max()
image = right.imshow(by_expected, cmap="RdBu", vmin=-most, vmax=most)
right.set(xticks=range(5), yticks=range(5), xticklabels=names, yticklabels=names)
right.set(xlabel="expected return of", ylabel="share of", title="change of shares")
figure.colorbar(image, ax=right)
plt.show()
