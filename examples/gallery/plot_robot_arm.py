r"""
Robot arm: plan a motion by iLQR
================================

A two-link arm hangs at rest. Within 1.5 seconds its hand is to be at a point above the shoulder, at
rest, with little torque in the joints.

By hand there are two derivations. The equations of motion, from the Lagrangian: mass matrix,
centrifugal and Coriolis terms. And for the planner (iLQR) the Jacobians of a time step by state and
torque, and gradients and Hessians of the cost, for every step of the motion. Here the energies and
the cost are written down.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcdiff as fd

LENGTHS, MASSES, GRAVITY = np.array([0.5, 0.5]), np.array([1.0, 0.8]), 9.81
STEPS, SIZE = 60, 0.025
TARGET = np.array([0.4, 0.6])

# %%
# Equations of motion from the energies
# -------------------------------------
# The masses are at the ends of the links. With :math:`L = T - V` the Lagrange equations say
# :math:`L_{vv}\,\dot v = L_q - L_{vq}\,v + u`; all three terms are derivatives of one function.


def joints(angles):
    """Return the ends of both links; zero angles hang down."""
    total = np.cumsum(angles)
    links = LENGTHS[:, None] * np.stack([np.sin(total), -np.cos(total)], axis=1)
    return np.cumsum(links, axis=0)


def lagrangian(angles, speeds):
    _, motion = fd.jvp(joints, (angles,), (speeds,))
    kinetic = 0.5 * MASSES @ np.sum(motion**2, axis=1)
    return kinetic - GRAVITY * MASSES @ joints(angles)[:, 1]


def acceleration(angles, speeds, torques):
    mass = fd.hessian(lagrangian, 1)(angles, speeds)
    force, mixed = fd.jvp(
        lambda q: fd.grad(lagrangian, (0, 1))(q, speeds), (angles,), (speeds,)
    )
    return np.linalg.solve(mass, force[0] - mixed[1] + torques - 0.1 * speeds)


def step(state, torques):
    speeds = state[2:] + SIZE * acceleration(state[:2], state[2:], torques)
    return np.concatenate([state[:2] + SIZE * speeds, speeds])


def cost(state, torques):
    return SIZE * (1e-3 * torques @ torques + 1e-3 * state[2:] @ state[2:])


def ending(state):
    """Return what should be zero at the end, as four numbers."""
    return np.concatenate([20 * (joints(state[:2])[1] - TARGET), 2 * state[2:]])


def final_cost(state):
    return 0.5 * np.sum(ending(state) ** 2)


# %%
# The planner
# -----------
# Each iteration linearises the motion at all times at once, by ``fd.vmap`` of a Jacobian, and
# solves the linear-quadratic problem backward in time (Tassa, Erez and Todorov, 2012). ``fd.jit``
# compiles.

advance = fd.jit(step)
linearized = fd.jit(fd.vmap(fd.jacobian(step, (0, 1))))
quadratic = fd.jit(fd.vmap(fd.hessian(cost, (0, 1))))
slopes = fd.jit(fd.vmap(fd.grad(cost, (0, 1))))


def follow(states, torques, gains, shifts, size):
    """Run the arm with new torques; return its states, the torques and the cost."""
    state, new_states, new_torques, total = states[0], [states[0]], [], 0.0
    for k in range(STEPS):
        torque = torques[k] + size * shifts[k] + gains[k] @ (state - states[k])
        total += cost(state, torque)
        state = advance(state, torque)
        new_torques.append(torque)
        new_states.append(state)
    return np.stack(new_states), np.stack(new_torques), total + final_cost(state)


def improve(states, torques, damping):
    """Return gains and shifts of the torques that are best for the linearised motion."""
    A, B = linearized(states[:-1], torques)
    (Lxx, Lxu), (_, Luu) = quadratic(states[:-1], torques)
    Lx, Lu = slopes(states[:-1], torques)
    miss, J = fd.value_and_jacobian(ending)(states[-1])
    v, V = J.T @ miss, J.T @ J  # Gauss and Newton's, which is never negative
    gains, shifts = np.zeros((STEPS, 2, 4)), np.zeros((STEPS, 2))
    for k in reversed(range(STEPS)):
        Qx, Qu = Lx[k] + A[k].T @ v, Lu[k] + B[k].T @ v
        Qxx, Quu = (
            Lxx[k] + A[k].T @ V @ A[k],
            Luu[k] + B[k].T @ V @ B[k] + damping * np.eye(2),
        )
        Qux = Lxu[k].T + B[k].T @ V @ A[k]
        gains[k], shifts[k] = -np.linalg.solve(Quu, Qux), -np.linalg.solve(Quu, Qu)
        v = Qx + Qux.T @ shifts[k]
        V = Qxx + Qux.T @ gains[k]
        V = (V + V.T) / 2
    return gains, shifts


# %%
# Beginning with no torque at all:

none = np.zeros((STEPS, 2, 4)), np.zeros((STEPS, 2))
states, torques, total = follow(
    np.zeros((STEPS + 1, 4)), np.zeros((STEPS, 2)), *none, 0.0
)
costs, damping = [total], 1e-3
while len(costs) < 3 or costs[-3] - total > 1e-6 * total:
    gains, shifts = improve(states, torques, damping)
    tries = (
        follow(states, torques, gains, shifts, size) for size in (1.0, 0.5, 0.25, 0.1)
    )
    better = next((tried for tried in tries if tried[2] < total), None)
    if better is None:
        damping *= 10
    else:
        states, torques, total = better
        costs.append(total)
        damping /= 2
hand = joints(states[-1, :2])[1]
print(f"cost from {costs[0]:.1f} to {total:.4f} in {len(costs) - 1} iterations")
print(f"the hand ends at {hand.round(4)}, at {np.abs(states[-1, 2:]).max():.3f} rad/s")

# %%
# The motion
# ----------

figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4.5), width_ratios=(1, 1.7), layout="constrained"
)
for k in range(0, STEPS + 1, 4):
    points = np.vstack([[0.0, 0.0], joints(states[k, :2])])
    left.plot(*points.T, "o-", color=plt.cm.winter(k / STEPS), markersize=4)
left.plot(
    *np.stack([joints(state[:2])[1] for state in states]).T, ":", color="0.4", zorder=0
)
left.plot(*TARGET, "x", color="tab:red", markersize=12, label="target")
left.set(
    aspect="equal",
    xlim=(-0.7, 0.7),
    xticks=(-0.5, 0, 0.5),
    title="The arm, from blue to green",
)
left.legend(loc="lower left")
right.plot(SIZE * np.arange(STEPS), torques, label=["shoulder", "elbow"])
right.set(xlabel="seconds", ylabel="torque in N m", title="Torques of the joints")
right.legend()

# %%
# The hand is at the target, and at rest. And the plan is stationary: the gradient of the whole cost
# by all torques, by one reverse pass through the motion, is next to nothing.


def whole(torques):
    def move(state, torque):
        return step(state, torque), cost(state, torque)

    last, parts = fd.scan(move, np.zeros(4), torques)
    return np.sum(parts) + final_cost(last)


before, after = (np.abs(fd.grad(whole)(plan)).max() for plan in (0 * torques, torques))
print(f"largest slope: {before:.2g} before, {after:.1g} after")
assert np.linalg.norm(hand - TARGET) < 0.01
assert np.abs(states[-1, 2:]).max() < 0.1
assert np.all(np.diff(costs) < 0)
assert after < 1e-3 * before
