r"""
Three bodies: find a periodic orbit
===================================

Three equal masses can chase each other along one figure of eight (Moore, 1993; Chenciner and
Montgomery, 2000): after a third of the period each is where the next one began. Which speeds do it,
and is the motion stable?

The motion is computed with a symplectic method in 390 steps, and least squares make a third of it
end as it should. By hand that takes the *variational equations*: 144 further differential equations
with the second derivatives of the potential. Here forces are ``fd.grad`` of the potential, and the
derivative of the end by the beginning is ``fd.jacobian`` of the simulation.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import funcdiff as fd

STEPS = 390


def potential(places):
    """Return the energy of three unit masses at places, an array (3, 2)."""
    gaps = places - np.roll(places, 1, axis=0)
    return -np.sum(1 / np.sqrt(np.sum(gaps**2, axis=1)))


def energy(state):
    return 0.5 * np.sum(state[1] ** 2) + potential(state[0])


# %%
# Störmer and Verlet's method is half a step of the speeds, one of the places, half a step of the
# speeds; three of them, the middle one backward, have order four (Yoshida, 1990). The state is an
# array (2, 3, 2) of places and speeds; the period may be traced, too.

OUTER = 1 / (2 - 2 ** (1 / 3))


def orbit(start, period, steps=STEPS):
    """Return the states at all times, an array (steps + 1, 2, 3, 2)."""
    pull = fd.grad(potential)

    def leaps(state, _):
        places, speeds = state
        for part in (OUTER, 1 - 2 * OUTER, OUTER):
            size = part * period / STEPS
            speeds = speeds - size / 2 * pull(places)
            places = places + size * speeds
            speeds = speeds - size / 2 * pull(places)
        state = np.stack([places, speeds])
        return state, state

    return np.concatenate([start[None], fd.scan(leaps, start, length=steps)[1]])


# %%
# Search
# ------
# The bodies begin on a line. By symmetry two numbers give all speeds, and the period is the third
# unknown. The guess is rough.

line = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])


def beginning(unknown):
    speed = unknown[:2]
    return np.stack([line, np.stack([speed, speed, -2 * speed])])


@fd.jit
def gap(unknown):
    start = beginning(unknown)
    third = orbit(start, unknown[2], STEPS // 3)[-1]
    return (third - start[:, [1, 2, 0]]).ravel()


guess = np.array([0.33, 0.55, 6.2])
fit = least_squares(
    gap, guess, jac=fd.jit(fd.jacobian(gap)), xtol=1e-14, ftol=1e-14, gtol=1e-14
)
speed, period = fit.x[:2], fit.x[2]
print(f"speeds {speed.round(5)}, period {period:.5f}: {fit.nfev} orbits")

# %%
# Stability
# ---------
# The derivative of the end of an orbit by its beginning is a matrix M of 12 by 12 numbers. The
# method is symplectic if :math:`M^T \Omega M = \Omega`; the orbit is stable, as far as a linear
# analysis tells, if no eigenvalue of M is larger than one.

start = beginning(fit.x)
states = orbit(start, period)
print(f"a whole orbit misses its beginning by {np.abs(states[-1] - start).max():.1e}")
M = fd.jacobian(lambda start: orbit(start, period)[-1])(start).reshape(12, 12)
omega = np.kron(np.array([[0, 1], [-1, 0]]), np.eye(6))
values = np.linalg.eigvals(M)
print(f"M'ΩM differs from Ω by {np.abs(M.T @ omega @ M - omega).max():.1e}")
print(
    f"moduli of the eigenvalues: {np.abs(values).min():.4f} to {np.abs(values).max():.4f}"
)

# %%
# The orbit
# ---------

first = orbit(beginning(guess), period)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 3.6), width_ratios=(2, 1), layout="constrained"
)
for body, color in enumerate(["tab:blue", "tab:orange", "tab:green"]):
    left.plot(*first[:, 0, body].T, ":", color=color, alpha=0.7)
    left.plot(*states[: STEPS // 3, 0, body].T, color=color, linewidth=2)
    left.plot(*states[0, 0, body], "o", color=color, markersize=9)
left.set(aspect="equal", title="A third of a period; dotted: a whole one of the guess")
change = fd.vmap(energy)(states) - energy(start)
right.plot(np.linspace(0, period, STEPS + 1), change)
right.set(xlabel="time", title="Change of the energy")

# %%
# The period and the speed of the middle body are those that Chenciner and Montgomery print, from
# computations by Simó. The orbit closes, and is stable.

printed = np.array([0.93240737, 0.86473146])

assert abs(2 * np.linalg.norm(speed) - np.linalg.norm(printed)) < 1e-5
assert abs(period - 6.32591398) < 1e-5
assert np.abs(states[-1] - start).max() < 1e-10
assert np.abs(M.T @ omega @ M - omega).max() < 1e-9
assert np.abs(values).max() < 1.001
