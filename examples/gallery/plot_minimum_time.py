r"""
Minimum time: swing a pendulum up with a weak motor
===================================================

A pendulum hangs at rest. Its motor is weaker than gravity at the horizontal: it has to swing back
first. How long does it take at least to stand upright, and what would a stronger motor gain?

By hand there are the Jacobian of the equations of motion at all times, the Hessian of their
Lagrangian, and for the second question the derivative of the optimality conditions. Here the
equations are written down, in containers.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcdiff as fd

STEPS, GRAVITY = 30, 9.81

# %%
# The problem
# -----------
# Angle, speed and torque at all times and the duration are unknown. The motion satisfies the
# trapezoidal rule; the torque is a part of the motor's limit.


def motion(x, limit):
    """Return what is 0 for a motion from hanging to standing."""
    angle, speed = x["angle"], x["speed"]
    force = limit * x["torque"] - GRAVITY * np.sin(angle)
    half = x["time"] / STEPS / 2
    return {
        "turning": np.diff(angle) - half * (speed[1:] + speed[:-1]),
        "swinging": np.diff(speed) - half * (force[1:] + force[:-1]),
        "ends": np.stack([angle[0], speed[0], angle[-1] - np.pi, speed[-1]]),
    }


part = np.linspace(0, 1, STEPS + 1)
angle = np.pi * part**2 - 1.5 * np.sin(np.pi * part) * (1 - part)
guess = {
    "angle": angle,
    "speed": np.gradient(angle, 3.0 / STEPS),
    "torque": np.zeros(STEPS + 1),
    "time": 3.0,
}
low = {"angle": None, "speed": None, "torque": -1.0, "time": 0.1}
high = {"angle": None, "speed": None, "torque": 1.0, "time": 20.0}

# %%
# Solutions for several motors, each from the one before, with the derivative of the duration by
# the limit. That derivative costs one solution of linear equations.

limits = np.linspace(5.0, 6.0, 6)
found, slopes = [], []
for limit in limits:
    program = fd.nlp(
        lambda x, _: x["time"], motion, guess, (low, high), (0, 0), args=(limit,)
    )
    found.append(program.solve())
    slopes.append(program.sensitivity(found[-1])()["time"])
    guess = found[-1].x
times = np.array([solution.value for solution in found])
print(f"{times[0]:.3f} s with {limits[0]} N m, {times[-1]:.3f} s with {limits[-1]} N m")

# %%
# The motion
# ----------
# The torque is nearly always at one of its bounds, as theory says.

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10, 3.6), width_ratios=(1, 1.3, 1.3), layout="constrained"
)
x = found[0].x
for k, turned in enumerate(x["angle"]):
    end = [np.sin(turned), -np.cos(turned)]
    left.plot(
        [0, end[0]], [0, end[1]], "o-", color=plt.cm.winter(k / STEPS), markevery=[1]
    )
left.set(aspect="equal", xticks=[], yticks=[], title="From blue to green")
middle.step(x["time"] * part, limits[0] * x["torque"], where="mid")
middle.set(xlabel="seconds", ylabel="N m", title="Torque of the weakest motor")
right.plot(limits, times, "o", label="solutions")
for limit, time, slope in zip(limits, times, slopes, strict=True):
    near = np.array([-0.09, 0.09])
    right.plot(limit + near, time + slope * near, color="tab:orange")
right.plot([], [], color="tab:orange", label="their derivatives")
right.set(xlabel="limit of the motor in N m", ylabel="seconds", title="Minimum time")
right.legend()

# %%
# The derivatives agree with the differences of neighbours, but for one pair: between them the
# switch of the torque passes from one interval to the next, and the curve has a kink.

differences = np.diff(times) / np.diff(limits)
middles = (np.array(slopes[1:]) + np.array(slopes[:-1])) / 2
print("by differences", differences.round(3), "and by derivatives", middles.round(3))
assert all(solution.success for solution in found)
assert np.mean(np.abs(x["torque"]) > 0.99) > 0.9
apart = np.abs(middles - differences)
assert np.sort(apart)[-2] < 0.02
assert apart.max() < 0.06
