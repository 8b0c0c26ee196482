r"""
Stiff reaction: a sparse Jacobian in an implicit solver
=======================================================

Robertson's reaction turns A into B slowly, and B into C and back quickly, with rates that differ by
nine orders of magnitude. Here it takes place in a tube, the left half of which is full of A, and
the three substances diffuse:

.. math:: A \xrightarrow{0.04} B, \qquad B + B \xrightarrow{3 \cdot 10^7} B + C, \qquad
   B + C \xrightarrow{10^4} A + C

An explicit method would take steps of a millisecond for hours. An implicit one solves equations
with the Jacobian, of which nearly all entries are zero. By hand one derives and codes those entries
and their places. Here ``fd.jacobian(..., sparse=True)`` reads the places off the program.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import funcdiff as fd

DIFFUSION = 1e-4


def change(_, state):
    """Return the time derivatives of A, B and C in all cells; the ends of the tube are closed."""
    a, b, c = substances = state.reshape(3, -1)
    cells = a.size
    slow, quick, back = 0.04 * a, 3e7 * b**2, 1e4 * b * c
    reaction = np.stack([back - slow, slow - quick - back, quick])
    padded = np.pad(substances, ((0, 0), (1, 1)), mode="edge")
    spreading = DIFFUSION * cells**2 * np.diff(padded, 2, axis=1)
    return (reaction + spreading).ravel()


# %%
# The pattern
# -----------
# In a tube of eight cells it can be seen. Columns of one colour share no row.

small = fd.sparsity(change, 1)(0.0, np.ones(24))
figure, axes = plt.subplots(figsize=(4.4, 4.4), layout="constrained")
axes.scatter(
    small.cols, small.rows, c=small.colors[small.cols], cmap="tab10", marker="s", s=60
)
axes.set(
    aspect="equal",
    title=f"{small.nnz} of {24**2} entries",
    xlabel="column",
    ylabel="row",
)
axes.invert_yaxis()

# %%
# The solution
# ------------
# With 300 cells there are 900 equations.

CELLS = 300
start = np.zeros((3, CELLS))
start[0, : CELLS // 2] = 1.0
start = start.ravel()
evaluate = fd.jit(change)
jacobian = fd.jit(fd.jacobian(change, 1, sparse=True, format="csc"))
times = np.array([1.0, 30.0, 1e3, 3e4])


def solve(start, times, jac=None):
    """Return the solution, and how often the right-hand side was evaluated for it."""
    calls = []

    def counted(t, state):
        calls.append(t)
        return evaluate(t, state)

    span, tolerances = (0, times[-1]), {"rtol": 1e-5, "atol": 1e-9}
    found = solve_ivp(counted, span, start, "BDF", times, jac=jac, **tolerances)
    return found, len(calls)


found, calls = solve(start, times, jacobian)
entries = jacobian(0.0, start).nnz
print(f"{len(start)} equations, {entries} entries of {len(start) ** 2}")
print(f"{calls} evaluations, {found.njev} Jacobians, {found.nlu} factorizations")

# %%
# Without a Jacobian the solver takes differences, one evaluation for each column of each Jacobian.
# On a tenth of the cells that can be waited for.

coarse = start.reshape(3, -1)[:, ::10].ravel()
differences, many = solve(coarse, times)
exact, few = solve(coarse, times, jacobian)
print(
    f"{len(coarse)} equations: {many} evaluations with differences, {few} with the Jacobian"
)

# %%
# The result
# ----------

# sphinx_gallery_thumbnail_number = 2
x = (np.arange(CELLS) + 0.5) / CELLS
figure, axes = plt.subplots(1, 4, figsize=(11, 3), sharey=True, layout="constrained")
for place, time, state in zip(axes, times, found.y.T, strict=True):
    a, b, c = state.reshape(3, -1)
    place.plot(x, a, label="A")
    place.plot(x, 2e4 * b, label="B, times 20000")
    place.plot(x, c, label="C")
    place.set(title=f"after {time:g} s", xlabel="place in the tube")
axes[0].set_ylabel("concentration")
axes[-1].legend()

# %%
# Nothing is lost: the sum of all substances stays what it was. The Jacobian agrees with ``fd.jvp``
# in a direction, and both ways of solving agree.

state = found.y[:, -1]
direction = np.random.default_rng(0).standard_normal(len(state))
_, product = fd.jvp(lambda y: change(0.0, y), (state,), (direction,))
assert found.success
assert np.allclose(found.y.sum(axis=0), start.sum(), rtol=1e-6)
assert np.allclose(jacobian(0.0, state) @ direction, product, rtol=1e-10, atol=1e-6)
assert np.abs(differences.y - exact.y).max() < 1e-3
assert few < many / 2
