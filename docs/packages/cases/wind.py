"""Wind energy: windpowerlib."""

import numpy as np

from docs.packages.case import case


@case("windpowerlib.wind_speed", [4.0, 8.0])
def logarithmic_profile(wind_speed, speed):
    return wind_speed.logarithmic_profile(speed, 10.0, 100.0, 0.15)


@case("windpowerlib.wind_speed", [0.1, 0.2])
def hellman(wind_speed, exponent):
    return wind_speed.hellman(np.array([4.0, 8.0]), 10.0, 100.0, hellman_exponent=exponent)


@case("windpowerlib.density", [280.0, 290.0])
def barometric(density, temperature):
    return density.barometric(101325.0, 10.0, 100.0, temperature)


@case("windpowerlib.temperature", [280.0, 290.0])
def linear_gradient(temperature, measured):
    return temperature.linear_gradient(measured, 2.0, 100.0)


@case("windpowerlib.power_output", [4.5, 8.2, 11.3])
def power_curve(power_output, speed):
    speeds = np.array([3.0, 5.0, 8.0, 11.0, 25.0])
    values = np.array([0.0, 2e5, 9e5, 2e6, 2e6])
    return power_output.power_curve(speed, speeds, values)


@case("windpowerlib.tools", [0.5, 1.5])
def gauss_distribution(tools, x):
    return tools.gauss_distribution(x, 1.2, 0.3)
