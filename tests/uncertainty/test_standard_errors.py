"""Standard errors, information, intervals and designs, against closed forms."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import errors

T = np.linspace(0, 2, 9)
B = 1 + 2 * T + np.array([0.3, -0.2, 0.1, 0.4, -0.5, 0.2, -0.1, -0.4, 0.2])
DESIGN = np.stack([np.ones(9), T], axis=1)
BEST = np.linalg.lstsq(DESIGN, B)[0]
P = {"a": BEST[0], "b": BEST[1]}


def line(p: Any, t: Any) -> Any:
    return p["a"] + p["b"] * t


def loglike(p: Any) -> Any:
    return -((B - line(p, T)) ** 2) / 2


def _dense(cov: Any) -> Any:
    return np.array([[cov[i][j] for j in "ab"] for i in "ab"])


GROUPS = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])


def test_kinds_of_errors_are_their_formulas_for_a_line() -> None:
    S = (B - DESIGN @ BEST)[:, None] * DESIGN
    by_group = np.stack([S[np.equal(GROUPS, k)].sum(axis=0) for k in range(3)])
    inverse = np.linalg.inv(DESIGN.T @ DESIGN)
    wanted: dict[str, Any] = {
        "hessian": inverse,
        "opg": np.linalg.inv(S.T @ S),
        "sandwich": inverse @ S.T @ S @ inverse,
        "cluster": inverse @ by_group.T @ by_group @ inverse,
    }
    for kind, cov in wanted.items():
        groups: Any = GROUPS if kind == "cluster" else None
        std, found = fd.standard_errors(loglike)(P, kind=kind, groups=groups)
        np.testing.assert_allclose(_dense(found), cov, rtol=1e-11)
        np.testing.assert_allclose([std["a"], std["b"]], np.sqrt(np.diagonal(cov)), rtol=1e-11)


def test_a_singular_information_names_the_direction_in_the_parameters() -> None:
    both: Any = lambda p: -((B - (p["a"] + p["b"]) * T) ** 2) / 2
    with pytest.raises(errors.InputError, match=r"singular.*x\['a'\].*-1·x\['b'\]"):
        fd.standard_errors(both)(P)
    with pytest.raises(errors.InputError, match=r"\['c'\]\[1\]"):
        fd.standard_errors(lambda p: -((p["c"][0] - 1.0) ** 2) + 0 * p["c"][1])(
            {"c": np.array([1.0, 2.0])}
        )
    with pytest.raises(errors.InputError, match="not positive definite"):
        fd.standard_errors(lambda x: x**2)(0.0)
    with pytest.raises(errors.InputError, match="not finite"):
        fd.standard_errors(lambda x: x**1.5)(0.0)


def test_units_of_parameters_do_not_make_an_information_singular() -> None:
    std, _ = fd.standard_errors(lambda p: -((p * np.array([1e9, 1e-9]) - 1) ** 2) / 2)(
        np.array([1e-9, 1e9])
    )
    np.testing.assert_allclose(std, [1e-9, 1e9], rtol=1e-13)


def test_parameters_on_bounds_count_as_known_and_are_named() -> None:
    with pytest.warns(errors.UncertaintyWarning, match=r"\['a'\]") as told:
        std, _ = fd.standard_errors(loglike)(P, lower={"a": P["a"], "b": -np.inf})
    assert told[0].filename == __file__
    assert std["a"] == 0
    assert np.isclose(std["b"] ** 2, 1 / np.sum(T**2), rtol=1e-13)


@pytest.mark.parametrize("errors_of", [fd.standard_errors, fd.confidence_intervals])
def test_parameters_outside_of_their_bounds_are_refused(errors_of: Any) -> None:
    for bounds in ({"lower": {"a": P["a"] + 1, "b": -np.inf}}, {"upper": {"a": -5.0, "b": 9.0}}):
        with pytest.raises(errors.InputError, match=r"x\['a'\] is .*not between its bounds"):
            errors_of(loglike)(P, **bounds)


def test_observations_and_groups_are_asked_for() -> None:
    total: Any = lambda p: np.sum(loglike(p))
    with pytest.raises(errors.InputError, match="each observation"):
        fd.standard_errors(total)(P, kind="opg")
    with pytest.raises(errors.InputError, match="groups= of shape"):
        fd.standard_errors(loglike)(P, kind="cluster")
    with pytest.raises(errors.InputError, match=r"kind='robust', at .* Write one of .'hessian'"):
        fd.standard_errors(loglike)(P, kind="robust")


@pytest.mark.parametrize(
    "noise", [0.5, np.full(9, 0.5), 0.25 * np.eye(9)], ids=["one", "each", "matrix"]
)
def test_the_information_of_a_line_is_its_formula(noise: Any) -> None:
    F = fd.fisher_information(line, noise=noise)(P, T)
    np.testing.assert_allclose(_dense(F), DESIGN.T @ DESIGN / 0.25, rtol=1e-13)
    for wrong in (np.ones(4), np.eye(9) + np.eye(9, k=-1)):  # too few, and not symmetric
        with pytest.raises(errors.InputError, match=r"noise= of shape .* does not fit 9 data"):
            fd.fisher_information(line, noise=wrong)(P, T)


def test_the_profile_of_a_quadratic_is_walds_interval() -> None:
    wald = fd.confidence_intervals(loglike)(P)
    profile = fd.confidence_intervals(loglike)(P, kind="profile")
    for a, b in zip(wald, profile, strict=True):
        np.testing.assert_allclose([a["a"], a["b"]], [b["a"], b["b"]], rtol=1e-7)


def test_the_profile_of_a_rate_is_where_its_likelihood_has_fallen() -> None:
    like: Any = lambda r: 5 * np.log(r) - 2 * r
    low, high = fd.confidence_intervals(like)(2.5, kind="profile", level=0.9)
    fallen = 1.6448536269514722**2 / 2
    np.testing.assert_allclose([like(2.5) - like(x) for x in (low, high)], fallen, rtol=1e-8)
    with pytest.raises(errors.ConvergenceError, match="Maximise"):
        fd.confidence_intervals(like)(2.0, kind="profile")
    with pytest.raises(errors.ConvergenceError, match="unbounded"):
        fd.confidence_intervals(lambda x: -(np.tanh(x) ** 2))(0.0, kind="profile")


def _normal(p: Any, y: Any) -> Any:
    return -np.log(p["s"]) - ((y - p["m"]) / p["s"]) ** 2 / 2


def test_the_profile_of_a_mean_is_its_closed_form_where_the_deviation_is_estimated_too() -> None:
    y = np.array([1.0, 2.5, 2.7, 4.1, 6.0])
    n, best = len(y), {"m": y.mean(), "s": y.std()}
    low, high = fd.confidence_intervals(_normal)(best, y, kind="profile")
    # the deviation is sqrt(s² + (m - mean)²) where the profile passes, so n·log of that falls
    half = best["s"] * np.sqrt(np.exp(1.959963984540054**2 / n) - 1)
    np.testing.assert_allclose([low["m"], high["m"]], [y.mean() - half, y.mean() + half], rtol=1e-7)
    fall = [sum(_normal(best, y) - _normal({"m": y.mean(), "s": s["s"]}, y)) for s in (low, high)]
    np.testing.assert_allclose(fall, 1.959963984540054**2 / 2, rtol=1e-7)


@pytest.mark.parametrize("kind", ["wald", "profile"])
def test_intervals_end_at_bounds_which_a_warning_names(kind: Any) -> None:
    free = fd.confidence_intervals(loglike)(P, kind=kind)
    bounds: dict[str, Any] = {
        "lower": {"a": P["a"] - 0.1, "b": -np.inf}, "upper": {"a": np.inf, "b": 100.0}
    }  # fmt: skip
    with pytest.warns(errors.UncertaintyWarning, match=r"end at the bounds .*: x\['a'\], at"):
        low, high = fd.confidence_intervals(loglike)(P, kind=kind, **bounds)
    assert low["a"] == P["a"] - 0.1
    assert np.isclose(high["a"], free[1]["a"], rtol=1e-7)
    if kind == "wald":
        assert [low["b"], high["b"]] == [free[0]["b"], free[1]["b"]]
    else:  # `b` is profiled over an `a` that stays on its bound
        assert high["b"] < free[1]["b"]
        fall = np.sum(loglike(P) - loglike({"a": low["a"], "b": high["b"]}))
        assert np.isclose(fall, 1.959963984540054**2 / 2, rtol=1e-7)


def test_a_maximum_on_a_bound_has_an_interval_on_the_other_side() -> None:
    fallen = 1.959963984540054**2 / 2
    with pytest.warns(errors.UncertaintyWarning, match="bounds of parameters: x"):
        low, high = fd.confidence_intervals(lambda r: -3 * r)(0.0, kind="profile", lower=0.0)
    assert low == 0
    assert np.isclose(high, fallen / 3, rtol=1e-8)
    with pytest.warns(errors.UncertaintyWarning, match="bounds of parameters: x"):
        low, high = fd.confidence_intervals(lambda r: 5 * np.log(r) - 2 * r)(
            2.5, kind="profile", lower=0.0, upper=3.0
        )
    assert 0 < low < high == 3


def test_designs_have_the_criteria_of_a_line_and_their_derivatives() -> None:
    xi, at = np.array([-1.0, 0.3, 1.2]), np.array([0.0, 2.0])
    matrix: Any = lambda t: np.stack([np.ones(len(t)), t], axis=1)
    M = matrix(xi).T @ matrix(xi)
    inverse = np.linalg.inv(M)
    wanted: dict[Any, Any] = {
        "D": -np.log(np.linalg.det(M)),
        "A": np.trace(inverse),
        "E": np.linalg.eigvalsh(inverse)[-1],
        "I": np.mean(np.diagonal(matrix(at) @ inverse @ matrix(at).T)),
    }
    for kind, value in wanted.items():
        options: dict[str, Any] = {"at": at} if kind == "I" else {}
        of = fd.design.criterion(kind, line, P, **options)
        assert np.isclose(of(xi), value, rtol=1e-12), kind
        fd.testing.check_grads(of, (xi,), order=1)
    with pytest.raises(errors.InputError, match="at="):
        fd.design.criterion("I", line, P)


@pytest.mark.parametrize("kind", ["D", "A", "E", "I"])
@pytest.mark.parametrize("xi", [[0.1, 0.7], [0.3, 0.3], [1 / 3, 0.9], [0.1, 0.7, 0.7, 0.1]])
def test_designs_that_do_not_determine_the_parameters_are_infinitely_bad(
    kind: Any, xi: list[float]
) -> None:
    at = np.array([0.0, 1.0]) if kind == "I" else None
    parabola = lambda p, t: p[0] + p[1] * t + p[2] * t**2
    bad = fd.design.criterion(kind, parabola, np.ones(3), at=at)
    assert bad(np.array(xi)) == np.inf == fd.jit(bad)(np.array(xi))


def test_a_complex_likelihood_is_refused() -> None:
    for estimate in (fd.standard_errors, fd.confidence_intervals):
        with pytest.raises(errors.OutputError, match="dtype complex128"):
            estimate(lambda p: -(p**2) * (1 + 1j))(1.0)


def test_a_covariance_of_one_datum_is_no_deviation() -> None:
    information = fd.fisher_information(lambda p: 3 * p, noise=np.array([[0.25]]))(1.0)
    np.testing.assert_allclose(information, 36.0)


def test_intervals_of_parameters_of_single_precision_are_found() -> None:
    loglike = lambda p: -np.sum((np.array([1.0, 2.0, 4.0, 5.0]) - p) ** 2) / 2
    found = fd.confidence_intervals(loglike)(np.float32(3.0), kind="profile")
    np.testing.assert_allclose(found, [2.020018, 3.979982], rtol=1e-6)


def test_weights_count_repetitions() -> None:
    xi = np.array([-1.0, 0.5])
    weighted = fd.design.criterion("A", line, P, weights=np.array([2.0, 1.0]))(xi)
    repeated = fd.design.criterion("A", line, P)(np.array([-1.0, -1.0, 0.5]))
    assert np.isclose(weighted, repeated, rtol=1e-13)


def test_bounds_are_numbers_or_containers_with_none() -> None:
    def loglike(p: Any) -> Any:
        rest = p["rest"]
        return -np.sum((B - p["mean"]) ** 2 + rest[0] ** 2) / 2 - rest[1] ** 2

    params = {"mean": float(np.mean(B)), "rest": np.zeros(2)}
    of = fd.standard_errors(loglike)
    plain, _ = of(params)
    for lower in (-5.0, {"mean": None, "rest": -5.0}, {"mean": -5.0, "rest": np.array([-1, -2.0])}):
        found, _ = of(params, lower=lower)
        np.testing.assert_array_equal(found["rest"], plain["rest"])
    with pytest.warns(errors.UncertaintyWarning, match=r"x\['rest'\]\[1\]"):
        of(params, lower={"mean": None, "rest": np.array([-1.0, 0.0])})
    with pytest.raises(errors.InputError, match="bounds have the structure"):
        of(params, lower={"mean": 0.0})
    with pytest.raises(errors.InputError, match=r"bounds of x\['mean'\] are 9.0 and 1.0"):
        fd.confidence_intervals(loglike)(params, lower=9.0, upper=1.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: fd.standard_errors(loglike)(P, kind="cluster", groups=["a"] * 9),
            errors.InputError,
            "two groups at least, .* 1 groups",
        ),
        (
            lambda: fd.standard_errors(loglike)(P, kind="cluster"),
            errors.InputError,
            r"groups= of shape \(9,\)",
        ),
        (lambda: fd.standard_errors(np.sqrt)(0.0), errors.InputError, "not finite at x, at"),
        (
            lambda: fd.standard_errors(lambda p: np.arange(3))(1.0),
            errors.OutputError,
            "the result is of dtype int64.*Return floating real",
        ),
        (
            lambda: fd.fisher_information(lambda p: np.arange(3))(1.0),
            errors.OutputError,
            "the result is of dtype int64.*Return floating numbers",
        ),
        (
            lambda: fd.design.criterion("D", line, P, weights=np.ones(2))(T),
            errors.InputError,
            r"weights= of shape \(2,\) for 9 data",
        ),
        (
            lambda: fd.confidence_intervals(loglike)(P, level=95),
            errors.InputError,
            "a fraction, such as level=0.95",
        ),
    ],
)
def test_what_has_no_errors_is_told(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "noise", [0.0, -1.0, np.nan, np.inf, "a", {"u": 1.0}, np.zeros(9), np.ones((9, 9)), np.ones(2)]
)
def test_noise_that_is_none_is_refused(noise: Any) -> None:
    with pytest.raises(errors.InputError, match=r"noise= of shape .* 9 data"):
        fd.fisher_information(line, noise=noise)(P, T)
    with pytest.raises(errors.InputError, match=r"noise= of shape .* 9 data"):
        fd.design.criterion("D", line, P, noise=noise)(T)


def test_information_is_differentiated_by_the_noise() -> None:
    def entry(s: Any) -> Any:
        return fd.fisher_information(line, noise=s)(P, T)["a"]["a"]

    np.testing.assert_allclose(fd.grad(entry)(0.5), -2 * len(T) / 0.5**3)
