"""
Sensitivities of a psychrometric chart: psychrolib
==================================================

How wrong is the wet-bulb temperature if the sensors of temperature, humidity and pressure are a
little wrong? PsychroLib computes with ``math.log`` and ``math.exp``, for single numbers. Its
derivatives, exact, give the error budget at every point of the chart.

It needs PsychroLib: ``pip install psychrolib``.
"""

import matplotlib.pyplot as plt
import numpy as np

import funcdiff as fd

psychrolib = fd.adapt("psychrolib")
psychrolib.SetUnitSystem(psychrolib.SI)

# %%
# The derivatives of one state
# ----------------------------
# The state is the dry-bulb temperature (°C), the relative humidity and the pressure (Pa).
#
# PsychroLib finds the wet bulb by bisection: it compares humidities, and what a comparison decides
# has no derivative. So the equation that is solved is differentiated: one step of Newton's method
# from the solution does not move it, but has its derivative.


def excess(wet_bulb, state):
    """Return by how much the humidity ratio at a wet-bulb temperature is larger than it is."""
    dry_bulb, humidity, pressure = state[0], state[1], state[2]
    there = psychrolib.GetHumRatioFromTWetBulb(dry_bulb, wet_bulb, pressure)
    return there - psychrolib.GetHumRatioFromRelHum(dry_bulb, humidity, pressure)


def wet_bulb(state):
    found = psychrolib.GetTWetBulbFromRelHum(
        *(float(x) for x in fd.stop_gradient(state))
    )
    value, slope = fd.value_and_grad(excess)(found, state)
    return found - value / fd.stop_gradient(slope)


state = np.array([25.0, 0.5, 101325.0])
print("wet bulb:", round(wet_bulb(state), 3))
print("by temperature, humidity, pressure:", fd.grad(wet_bulb)(state))

# %%
# The chart
# ---------
# The error of the wet-bulb temperature, if the thermometer may be wrong by 0.2 °C, the humidity by
# 0.02 and the barometer by 100 Pa, independently of each other.

errors = np.array([0.2, 0.02, 100.0])
temperatures, humidities = np.linspace(5.0, 45.0, 21), np.linspace(0.1, 0.9, 17)
slope = fd.grad(wet_bulb)
budget = np.array(
    [
        [
            np.linalg.norm(slope(np.array([t, h, 101325.0])) * errors)
            for t in temperatures
        ]
        for h in humidities
    ]
)

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
lines = axes.contour(temperatures, humidities, budget, 8)
axes.clabel(lines)
axes.set(
    title="Uncertainty of the wet bulb (°C)",
    xlabel="dry-bulb temperature (°C)",
    ylabel="relative humidity",
)

# %%
# .. image:: /_static/packages/adapt_psychrometric_chart.svg
#    :alt: Lines of equal uncertainty over temperature and humidity

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_psychrometric_chart.svg"

# %%
# Differences of solutions agree.


def solution(humidity):
    return psychrolib.GetTWetBulbFromRelHum(25.0, humidity, 101325.0)


difference = (solution(0.55) - solution(0.45)) / 0.1
assert abs(difference - slope(state)[1]) < 0.02 * abs(difference)
