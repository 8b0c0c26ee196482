"""Published examples: what is printed is what is found, to the last digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.constants import physical_constants
from scipy.special import stdtrit

import funcdiff as fd
from funcdiff.scipy.special import ndtr
from tests.uncertainty.published import CASES, CONSTANTS, Case

THIRD = 3**-0.5


def rounds_to(found: Any, printed: str) -> bool:
    """Whether a number is another one with all the digits that are printed."""
    digits = len(printed.partition(".")[2])
    return bool(abs(found - float(printed)) <= 0.5001 * 10.0**-digits)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source.partition(":")[0])
def test_a_published_example_has_the_uncertainty_that_is_printed(case: Case) -> None:
    x, u = np.array(case.x, dtype=float), np.array(case.u)
    given = {"std": u} if case.correlations is None else {
        "cov": case.correlations * np.outer(u, u)
    }  # fmt: skip
    dof = None if case.dof is None else np.array(case.dof)
    found = fd.propagate(case.f)(x, **given, dof=dof, order=case.order, check=False)
    assert rounds_to(found.value, case.value)
    assert rounds_to(found.std, case.std)
    assert dof is None or rounds_to(found.dof, case.effective)
    if case.order == 1:
        r = np.eye(len(u)) if case.correlations is None else case.correlations
        terms = _exact_slopes(case.f, x) * u
        np.testing.assert_allclose(found.std, np.sqrt(terms @ r @ terms), rtol=1e-12)


def _exact_slopes(f: Any, x: Any) -> Any:
    """Return the gradient of an analytic function, to rounding, by steps along the imaginary axis.

    References
    ----------
    Squire, W. and Trapp, G. (1998), SIAM Review 40(1), 110-112.
    """
    return np.array([f(x + 1e-30j * row).imag for row in np.eye(len(x))]) / 1e-30


def test_constants_of_codata_have_the_uncertainties_that_are_printed() -> None:
    names = {
        "alpha": "fine-structure constant",
        "rydberg": "Rydberg constant",
        "G": "Newtonian constant of gravitation",
    }
    x, u = ({k: physical_constants[v][j] for k, v in names.items()} for j in (0, 2))
    for name, f in CONSTANTS.items():
        printed, _, uncertainty = physical_constants[name]
        found = fd.propagate(f)(x, std=u, check=False)
        of_vector = lambda v, f=f: f(dict(zip(x, v, strict=True)))
        slopes = _exact_slopes(of_vector, np.array([*x.values()]))
        np.testing.assert_allclose(found.std, np.linalg.norm(slopes * [*u.values()]), rtol=1e-12)
        # of each uncertainty two digits are printed, and 11, that of alpha, is right to 4.5 %
        assert abs(found.value - printed) <= 0.1 * uncertainty, name
        assert abs(found.std / uncertainty - 1) <= 0.06, name


# JCGM 100, table H.7: minutes and counts of a standard, a blank and a sample of radon in water
CYCLES = np.array([
    [243.74, 984.53, 1723.87, 2463.17, 3217.56, 3956.83],
    [15380, 14978, 14394, 13254, 12516, 11058],
    [4054, 3922, 4200, 3830, 3956, 3980],
    [367.37, 1107.66, 1846.99, 2586.28, 3340.68, 4079.94],
    [41432, 38706, 35860, 32238, 29640, 26356],
])  # fmt: skip


def test_the_activity_of_radon_is_that_of_example_h_4() -> None:
    at_standard, standard, blank, at_sample, sample = CYCLES
    S = (standard - blank) / 60 * np.exp(1.25894e-4 * at_standard)
    X = (sample - blank) / 60 * np.exp(1.25894e-4 * at_sample)
    C = np.cov(X, S) / 6
    assert np.round(np.sqrt(np.diagonal(C)), 2).tolist() == [6.42, 3.79]
    assert rounds_to(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]), "0.646")
    known = np.array([0.1368, 5.0192, 5.0571])  # activity of the standard, and both masses
    variances = np.diag([0.0018, 0.0050, 0.0010]) ** 2

    def activity(m: Any) -> Any:
        a, standard, sample = m["known"]
        return a * standard / sample * m["rates"][0] / m["rates"][1]

    found = fd.propagate(activity)(
        {"known": known, "rates": np.array([X.mean(), S.mean()])},
        cov={"known": variances, "rates": C},
    )
    assert rounds_to(X.mean() / S.mean(), "3.167")
    assert rounds_to(found.value, "0.430")  # 0.4300 is printed, which is of the rounded ratio
    assert rounds_to(found.std, "0.0083")
    ratio = X / S
    assert rounds_to(ratio.mean(), "3.170")
    other = fd.propagate(lambda m: m["known"][0] * m["known"][1] / m["known"][2] * m["ratio"])(
        {"known": known, "ratio": ratio.mean()},
        cov={"known": variances, "ratio": np.var(ratio, ddof=1) / 6},
    )
    assert rounds_to(other.value, "0.4304")
    assert rounds_to(other.std, "0.0084")


def test_the_voltage_of_a_zener_standard_is_that_of_example_h_5() -> None:
    days = np.array([172, 116, 13, 144, 106, 31, 60, 125, 163, 41.0])  # µV above 10 V
    found = fd.propagate(np.mean)(days, std=np.std(days, ddof=1))
    assert rounds_to(found.value, "97")
    assert rounds_to(found.std, "18")


def test_a_concentration_by_a_calibration_line_is_that_of_quam_a_5() -> None:
    c = np.repeat([0.1, 0.3, 0.5, 0.7, 0.9], 3)
    A = np.array([28, 29, 29, 84, 83, 81, 135, 131, 133, 180, 181, 183, 215, 230, 216]) / 1000
    b = np.linalg.lstsq(np.stack([np.ones(15), c], axis=1), A)[0]
    line = {"offset": b[0], "slope": b[1]}
    s = np.sqrt(np.sum((A - b[0] - b[1] * c) ** 2) / 13)
    std, cov = fd.standard_errors(lambda p: -(((A - p["offset"] - p["slope"] * c) / s) ** 2) / 2)(
        line
    )
    assert rounds_to(s, "0.005486")
    for found, printed in ((line, ("0.0087", "0.2410")), (std, ("0.0029", "0.0050"))):
        assert rounds_to(found["offset"], printed[0])
        assert rounds_to(found["slope"], printed[1])
    content = fd.propagate(lambda m: (m["A"] - m["line"]["offset"]) / m["line"]["slope"])(
        {"line": line, "A": np.mean([0.0712, 0.0716])},
        cov=np.block([[np.array([[cov[i][j] for j in line] for i in line]), np.zeros((2, 1))],
                      [np.zeros((1, 2)), np.array([[s**2 / 2]])]]),
    )  # fmt: skip
    assert rounds_to(content.value, "0.260")
    assert rounds_to(content.std, "0.018")


@pytest.mark.parametrize("r", [0.0, 0.9])
def test_magnitude_and_phase_are_those_of_supplement_2(r: float) -> None:
    """Polar coordinates of a complex number, JCGM 102, 9.3, by its first-order formula."""
    polar = lambda x: np.stack([np.hypot(x[0], x[1]), np.arctan2(x[1], x[0])])
    C = 1e-4 * np.array([[1.0, r], [r, 1.0]])
    for x, phase in ((0.001, "10.000"), (0.010, "1.000"), (0.100, "0.100")):
        found = fd.propagate(polar)(np.array([x, 0.0]), cov=C, check=False)
        assert rounds_to(found.std[0], "0.010")
        assert rounds_to(found.std[1], phase)
        assert np.isclose(found.cov[0, 1] / np.prod(found.std), r)


@pytest.mark.parametrize(("x", "std"), [(0.0, "67"), (0.010, "121"), (0.050, "505")])
def test_the_loss_of_supplement_1_is_right_with_correlations_too(x: float, std: str) -> None:
    """Comparison loss in the calibration of a power meter, JCGM 101, 9.4.3, in 1e-6."""
    C = 0.005**2 * np.array([[1.0, 0.9], [0.9, 1.0]])
    found = fd.propagate(lambda x: 1e6 * np.sum(x**2))(
        np.array([x, 0.0]), cov=C, order=2, check=False
    )
    assert rounds_to(found.std, std)


def uniform(z: Any, low: float, high: float) -> Any:
    """Return a uniform number that stands for a normal one."""
    return low + (high - low) * ndtr(z)


def trapezoid(z: Any, low: float, high: float, d: float) -> Any:
    """Return a number that is uniform between ends that are uniform within `d` of theirs."""
    end = uniform(z[0], low - d, low + d)
    return end + (low + high - 2 * end) * ndtr(z[1])


def end_gauge(m: Any) -> Any:
    """Return the deviation in nm of an end gauge, JCGM 101, 9.5."""
    theta = m["theta"] + 0.5 * np.sin(np.pi * uniform(m["z"][0], -1, 1))
    expansion = uniform(m["z"][1], 9.5e-6, 13.5e-6) * trapezoid(m["z"][2:4], -0.05, 0.05, 0.025)
    difference = trapezoid(m["z"][4:6], -1e-6, 1e-6, 0.1e-6) * theta
    length = m["standard"] + 50e6
    return length * (1 - expansion - difference) + m["d"] + m["random"] + m["systematic"] - 50e6


SAMPLED: Any = {
    "JCGM 101, 9.2.3: a sum of four uniform numbers": (
        lambda z: np.sum(uniform(z, -(3**0.5), 3**0.5)), np.zeros(4), 1.0, None, 0.0, 2.0
    ),
    "JCGM 101, 9.3: a weight in air": (
        lambda z: z[0] + z[1] + 1e5 * (uniform(z[2], 1.1, 1.3) - 1.2)
        * (1 / uniform(z[3], 7e3, 9e3) - 1 / uniform(z[4], 7.95e3, 8.05e3)),
        np.array([0.0, 1.234, 0, 0, 0]), np.array([0.05, 0.02, 1, 1, 1]), None, 1.2341, 0.0754,
    ),
    "JCGM 101, 9.5: an end gauge, with Student's t": (
        end_gauge,
        {"standard": 623.0, "d": 215.0, "random": 0.0, "systematic": 0.0, "theta": -0.1,
         "z": np.zeros(6)},
        {"standard": 25.0, "d": 6.0, "random": 4.0, "systematic": 7.0, "theta": 0.2, "z": 1.0},
        {"standard": 18, "d": 24, "random": 5, "systematic": 8, "theta": np.inf, "z": np.inf},
        838.0, 36.0,
    ),
    "NIST TN 1900, E3: a falling ball viscometer": (
        lambda x: x[0] * (x[1] - x[2]) / (x[1] - x[3]) * x[4] / x[5],
        np.array([4.63, 2217, 1180, 810, 61, 36.6]),
        np.array([0.0463, 0.5, 0.5, 0.5, 6.1, 5.49]), None, 5.82, 1.11,
    ),
    "NPL DEM-ES-011, 9.2: the logarithm of a uniform number": (
        lambda z: np.log(uniform(z, 0.1, 1.1)), 0.0, 1.0, None, -0.665, 0.606
    ),
}  # fmt: skip
"""By name: function, point, deviations, degrees of freedom, and mean and deviation of samples."""


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_have_the_moments_that_are_printed(name: str) -> None:
    f, x, u, dof, mean, std = SAMPLED[name]
    count = 60_000
    found = fd.propagate(f)(x, std=u, dof=dof, samples=count, rng=5, check=False)
    assert found.sampled is not None
    sampled, variance = found.sampled
    assert abs(sampled - mean) <= 4 * std / count**0.5 + 0.0006 * abs(mean)
    assert abs(variance**0.5 / std - 1) <= 0.02


def test_the_expanded_uncertainty_of_a_product_is_that_of_the_guide() -> None:
    """JCGM 100, G.4.1: 2.2 % at 95 %, with t of 19 degrees of freedom."""
    found = fd.propagate(lambda x: 100 * np.prod(x))(
        np.ones(3), std=np.array([0.0025, 0.0057, 0.0082]), dof=np.array([9.0, 4.0, 14.0])
    )
    assert rounds_to(stdtrit(19, 0.975), "2.09")
    assert rounds_to(found.half_width(0.95), "2.2")
