"""NIST's certified nonlinear regressions: parameters, and their standard errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares

import funcdiff as fd
from tests.uncertainty.freeze_nist import FROZEN

Model = Callable[..., Any]


def _waves(b: Any, x: Any) -> Any:
    found = b[0] + b[1] * np.cos(2 * np.pi * x / 12) + b[2] * np.sin(2 * np.pi * x / 12)
    for k in (3, 6):
        angle = 2 * np.pi * x / b[k]
        found = found + b[k + 1] * np.cos(angle) + b[k + 2] * np.sin(angle)
    return found


def _peaks(b: Any, x: Any) -> Any:
    peaks = [b[k] * np.exp(-(((x - b[k + 1]) / b[k + 2]) ** 2)) for k in (2, 5)]
    return b[0] * np.exp(-b[1] * x) + peaks[0] + peaks[1]


def _decays(b: Any, x: Any) -> Any:
    return sum(b[k] * np.exp(-b[k + 1] * x) for k in (0, 2, 4))


def _cubics(b: Any, x: Any) -> Any:
    above = b[0] + x * (b[1] + x * (b[2] + x * b[3]))
    return above / (1 + x * (b[4] + x * (b[5] + x * b[6])))


def _misra1a(b: Any, x: Any) -> Any:
    return b[0] * (1 - np.exp(-b[1] * x))


def _chwirut(b: Any, x: Any) -> Any:
    return np.exp(-b[0] * x) / (b[1] + b[2] * x)


MODELS: dict[str, Model] = {
    "Bennett5": lambda b, x: b[0] * (b[1] + x) ** (-1 / b[2]),
    "BoxBOD": _misra1a,
    "Chwirut1": _chwirut,
    "Chwirut2": _chwirut,
    "DanWood": lambda b, x: b[0] * x ** b[1],
    "ENSO": _waves,
    "Eckerle4": lambda b, x: b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2),
    "Gauss1": _peaks,
    "Gauss2": _peaks,
    "Gauss3": _peaks,
    "Hahn1": _cubics,
    "Kirby2": lambda b, x: (b[0] + b[1] * x + b[2] * x**2) / (1 + b[3] * x + b[4] * x**2),
    "Lanczos1": _decays,
    "Lanczos2": _decays,
    "Lanczos3": _decays,
    "MGH09": lambda b, x: b[0] * (x**2 + x * b[1]) / (x**2 + x * b[2] + b[3]),
    "MGH10": lambda b, x: b[0] * np.exp(b[1] / (x + b[2])),
    "MGH17": lambda b, x: b[0] + b[1] * np.exp(-x * b[3]) + b[2] * np.exp(-x * b[4]),
    "Misra1a": _misra1a,
    "Misra1b": lambda b, x: b[0] * (1 - (1 + b[1] * x / 2) ** -2),
    "Misra1c": lambda b, x: b[0] * (1 - (1 + 2 * b[1] * x) ** -0.5),
    "Misra1d": lambda b, x: b[0] * b[1] * x / (1 + b[1] * x),
    "Nelson": lambda b, x, z: b[0] - b[1] * x * np.exp(-b[2] * z),
    "Rat42": lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x)),
    "Rat43": lambda b, x: b[0] / (1 + np.exp(b[1] - b[2] * x)) ** (1 / b[3]),
    "Roszman1": lambda b, x: b[0] - b[1] * x - np.arctan(b[2] / (x - b[3])) / np.pi,
    "Thurber": _cubics,
}
PROBLEMS = json.loads(FROZEN.read_text())


@pytest.mark.thinned(27)
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", MODELS)
def test_a_certified_regression_has_its_parameters_and_standard_errors(
    name: str, start: int
) -> None:
    problem, model = PROBLEMS[name], MODELS[name]
    y, *xs = np.array(problem["data"], float)
    y = np.log(y) if name == "Nelson" else y
    certified, errors = np.array([problem["parameters"], problem["errors"]], float)

    def residuals(b: Any) -> Any:
        return model(b, *xs) - y

    jacobian = fd.jacobian(residuals)
    with np.errstate(all="ignore"):  # far starts overflow
        b = least_squares(
            residuals, np.array(problem["starts"][start], float), jac=jacobian, x_scale="jac",
            xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=2000,
        ).x  # fmt: skip
    np.testing.assert_allclose(b, certified, rtol=1e-6)  # it ends where the sum does not change
    for _ in range(30):  # Gauss-Newton, of which the derivatives are exact
        J = jacobian(b)
        size = np.linalg.norm(J, axis=0)
        b = b - np.linalg.lstsq(J / size, residuals(b), rcond=None)[0] / size
    np.testing.assert_allclose(b, certified, rtol=1e-9)

    noise = float(problem["deviation"])
    J = jacobian(b)
    size = np.linalg.norm(J, axis=0)
    root = np.linalg.inv(np.linalg.qr(J / size)[1])
    np.testing.assert_allclose(noise * np.linalg.norm(root, axis=1) / size, errors, rtol=2e-9)
    F = fd.fisher_information(lambda b: model(b, *xs), noise=noise)(b)
    unit = np.sqrt(np.diagonal(F))
    inverse = np.linalg.inv(F / np.outer(unit, unit))  # whose condition is the square
    np.testing.assert_allclose(np.sqrt(np.diagonal(inverse)) / unit, errors, rtol=1e-6)
