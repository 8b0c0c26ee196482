"""Published examples of the propagation of uncertainties, with the results that are printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

ONES: Final = np.ones((10, 10))
"""Correlations of ten numbers that are all one."""


class Case(NamedTuple):
    """A measurement: a function of a vector, the vector, its standard deviations, and results.

    Results are numbers as they are printed, with all digits; `dof` are degrees of freedom, and
    `correlations` a matrix where the numbers are correlated.
    """

    source: str
    f: Callable[[Any], Any]
    x: Any
    u: Any
    value: str
    std: str
    dof: Any = None
    effective: str = ""
    correlations: Any = None
    order: int = 1


def _titration(x: Any) -> Any:
    return 1000 * x[0] * x[1] * x[2] / (x[3] * x[4] * x[5]) * x[6]


def _buoyancy(x: Any) -> Any:
    """Return how far a mass is from 100 g, in mg; the densities are of air and of both weights."""
    return (x[0] + x[1]) * (1 + (x[2] - 1.2) * (1 / x[3] - 1 / x[4])) - 100_000


def _stefan_boltzmann(x: Any) -> Any:
    """Return the constant in 1e-8 of Planck's, of gases, Rydberg's, a mass, and fine structure."""
    h, R, rydberg, mass, alpha = x
    c = 299_792_458.0
    return (
        1e8 * 32 * np.pi**5 * h * (R * rydberg) ** 4 / (15 * (mass * 1e-3) ** 4 * c**6 * alpha**8)
    )


def _block(x: Any) -> Any:
    """Return a length in mm of others, in mm and nm, and of temperatures."""
    standard, drift, difference, comparator, temperature, expansion, variation = x
    thermal = 50e6 * (11.5e-6 * temperature + expansion)
    return standard + 1e-6 * (drift + difference + comparator - thermal - variation)


_THIRD: Final = 3**-0.5
_KHP: Final = (0.3888, 1.0, 14.89, 18.64, 204.2212, 15.0, 1.0)
_AIR: Final = (100_000.0, 1.234, 1.2, 8e3, 8e3)
_AIRS: Final = (0.050, 0.020, 0.1 * _THIRD, 1e3 * _THIRD, 50 * _THIRD)

CASES: Final = (
    Case("JCGM 100, 5.2.2: ten resistors calibrated with one standard, in Ω",
         np.sum, np.full(10, 1000.0), np.full(10, 0.1), "10000", "1.0", correlations=ONES),
    Case("JCGM 100, 5.2.2: ten resistors calibrated independently, in Ω",
         np.sum, np.full(10, 1000.0), np.full(10, 0.1), "10000", "0.32"),
    Case("JCGM 100, G.4.1: a product of three means, in %",
         lambda x: 100 * np.prod(x), np.ones(3), (0.0025, 0.0057, 0.0082), "100", "1.03",
         (9.0, 4.0, 14.0), "19.0"),
    Case("JCGM 100, H.6: a hardness on Rockwell's scale C, of a depth and two corrections",
         lambda x: 100 - np.sum(x), (36.0, 0, 0), (0.45 * 5**-0.5, 0.11, 0.5), "64.0", "0.55"),
    Case("JCGM 101, 9.2.4: four numbers, of which one is uncertain by ten times as much",
         np.sum, np.zeros(4), (1.0, 1.0, 1.0, 10.0), "0.0", "10.1"),
    Case("JCGM 101, 9.3: a weight in air, in mg", _buoyancy, _AIR, _AIRS, "1.2340", "0.0539"),
    Case("JCGM 101, 9.3: the same with terms of second order",
         _buoyancy, _AIR, _AIRS, "1.2340", "0.0750", order=2),
    Case("EURACHEM QUAM, A1: a standard of cadmium, in mg/L",
         lambda x: 1000 * x[0] * x[1] / x[2], (100.28, 0.9999, 100.0), (0.05, 0.000058, 0.07),
         "1002.7", "0.9"),
    Case("EURACHEM QUAM, A2: a solution of sodium hydroxide, in mol/L",
         lambda x: 1000 * x[0] * x[1] / (x[2] * x[3]) * x[4],
         (0.3888, 1.0, 204.2212, 18.64, 1.0), (0.00013, 0.00029, 0.0038, 0.013, 0.0005),
         "0.10214", "0.00010"),
    Case("EURACHEM QUAM, A3: a titration, in mol/L, of its elementary quantities",
         lambda x: _titration(
             (x[0] - x[1] + 0.3888, x[2], x[3] + x[4] + 14.89, x[5] + x[6] + 18.64, x[7],
              x[8] + x[9] + 15, x[10])
         ),
         (0, 0, 1.0, 0, 0, 0, 0, 204.2212, 0, 0, 1.0),
         (0.15e-3 * _THIRD, 0.15e-3 * _THIRD, 0.0005 * _THIRD, 0.03 * 6**-0.5,
          15 * 8.4e-4 * _THIRD, 0.03 * 6**-0.5, 19 * 8.4e-4 * _THIRD, 0.0038, 0.02 * 6**-0.5,
          15 * 8.4e-4 * _THIRD, 0.001),
         "0.10139", "0.00018"),
    Case("EURACHEM QUAM, A3: the titration repeated three times",
         _titration, _KHP, (0.00013, 0.00029, 0.014, 0.015, 0.0038, 0.011, 0.001 * _THIRD),
         "0.10139", "0.00016"),
    Case("EURACHEM QUAM, A4: a pesticide in bread, relative",
         lambda x: x[0] / (x[1] / 0.9) * x[2], (1.0, 0.9, 1.0), (0.27, 0.043, 0.2), "1.0", "0.34"),
    Case("EURACHEM QUAM, A5: cadmium from ceramics, in mg/dm²",
         lambda x: x[0] * x[1] / x[2] * x[3] * x[4] * x[5], (0.26, 0.332, 5.73, 1, 1, 1),
         (0.018, 0.0018, 0.19, 0.0008, 0.001, 0.06), "0.015", "0.0015"),
    Case("EA-4/02, S2: a weight of 10 kg, in g",
         np.sum, (10_000.005, 0, 0.020, 0, 0),
         (0.0225, 0.015 * _THIRD, 0.025 * _THIRD, 0.01 * _THIRD, 0.01 * _THIRD),
         "10000.025", "0.0293"),
    Case("EA-4/02, S3: a resistor of 10 kΩ, in Ω",
         lambda x: (x[0] + x[1] + x[2]) * x[3] * x[4] - x[5],
         (10_000.053, 0.020, 0, 1.0, 1.0000105, 0),
         (0.0025, 0.01 * _THIRD, 0.00275 * _THIRD, 1e-6 * 6**-0.5, 0.158e-6 * 5**-0.5,
          0.0055 * _THIRD),
         "10000.178", "0.00833"),
    Case("EA-4/02, S4: a gauge block of 50 mm, in mm",
         _block, (50.00002, 0, -94, 0, 0, 0, 0),
         (15e-6, 30 * _THIRD, 5.37, 32 * _THIRD, 0.05 * _THIRD, 0.236e-6, 6.7 * _THIRD),
         "49.999926", "0.0000364"),
    Case("EA-4/02, S7, and NIST TN 1900, E11: a step attenuator, in dB",
         lambda x: x[0] + x[1] + x[2] + x[3] + x[4] - x[5] + x[6] - x[7] + x[8],
         (30.0402, 0.003, 0, 0, 0, 0, 0, 0, 0),
         (0.0091, 0.0025, 0.0014, 0.02, 0.0021, 0.0003, 0.0003, 0.002, 0.002),
         "30.043", "0.0224"),
    Case("NIST TN 1900, E13: a coefficient of thermal expansion, in 1e-6 K⁻¹",
         lambda x: 1e6 * (x[2] - x[0]) / (x[0] * (x[3] - x[1])), (1.4999, 288.15, 1.5021, 373.10),
         (0.0001, 0.02, 0.0002, 0.05), "17.266", "1.76"),
    Case("NIST Uncertainty Machine, manual: the Stefan-Boltzmann constant, in 1e-8 W m⁻² K⁻⁴",
         _stefan_boltzmann,
         (6.62606957e-34, 8.3144621, 10_973_731.568539, 5.4857990946e-4, 7.2973525698e-3),
         (2.9e-41, 7.5e-6, 5.5e-5, 2.2e-13, 2.4e-12), "5.67037", "0.0000205"),
    Case("NPL DEM-ES-011, 9.2: the logarithm of a number that is uniform from 0.1 to 1.1",
         lambda x: np.log(x[0]), (0.6,), (0.5 * _THIRD,), "-0.511", "0.481"),
)  # fmt: skip


_h, _c, _e, _k = 6.62607015e-34, 299_792_458.0, 1.602176634e-19, 1.380649e-23  # exact

CONSTANTS: Final[dict[str, Callable[[Any], Any]]] = {
    "inverse fine-structure constant": lambda m: 1 / m["alpha"],
    "Bohr radius": lambda m: m["alpha"] / (4 * np.pi * m["rydberg"]),
    "electron mass": lambda m: 2 * _h * m["rydberg"] / (_c * m["alpha"] ** 2),
    "classical electron radius": lambda m: m["alpha"] ** 3 / (4 * np.pi * m["rydberg"]),
    "Compton wavelength": lambda m: m["alpha"] ** 2 / (2 * m["rydberg"]),
    "Thomson cross section": lambda m: m["alpha"] ** 6 / (6 * np.pi * m["rydberg"] ** 2),
    "Hartree energy": lambda m: 2 * _h * _c * m["rydberg"],
    "Rydberg constant times c in Hz": lambda m: _c * m["rydberg"],
    "Bohr magneton": lambda m: _e * _c * m["alpha"] ** 2 / (8 * np.pi * m["rydberg"]),
    "electron charge to mass quotient":
        lambda m: -_e * _c * m["alpha"] ** 2 / (2 * _h * m["rydberg"]),
    "electron mass energy equivalent in MeV":
        lambda m: 2e-6 * _h * _c * m["rydberg"] / (_e * m["alpha"] ** 2),
    "vacuum mag. permeability": lambda m: 2 * _h * m["alpha"] / (_c * _e**2),
    "vacuum electric permittivity": lambda m: _e**2 / (2 * _h * _c * m["alpha"]),
    "characteristic impedance of vacuum": lambda m: 2 * _h * m["alpha"] / _e**2,
    "atomic unit of time": lambda m: 1 / (4 * np.pi * _c * m["rydberg"]),
    "atomic unit of velocity": lambda m: _c * m["alpha"],
    "atomic unit of force": lambda m: 8 * np.pi * _h * _c * m["rydberg"] ** 2 / m["alpha"],
    "Planck mass": lambda m: np.sqrt(_h * _c / (2 * np.pi * m["G"])),
    "Planck length": lambda m: np.sqrt(_h * m["G"] / (2 * np.pi * _c**3)),
    "Planck time": lambda m: np.sqrt(_h * m["G"] / (2 * np.pi * _c**5)),
    "Planck temperature": lambda m: np.sqrt(_h * _c**5 / (2 * np.pi * m["G"])) / _k,
}  # fmt: skip
"""Constants of CODATA as functions of those that are measured; their uncertainties are printed."""
