"""Distributions of `funcdiff.scipy.stats`: derivatives by value, location, scale and shapes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.stats._distr_params import distcont, distdiscrete

import funcdiff as fd
from funcdiff.errors import NotDifferentiableError, UnsupportedNumPyError
from funcdiff.scipy import stats
from funcdiff.scipy.stats.frames import Distribution
from funcdiff.testing import check_grads
from tests.scipy.agreement import assert_agrees
from tests.together import together

CONTINUOUS: dict[str, tuple[float, ...]] = {
    "norm": (), "gamma": (2.3,), "beta": (2.3, 1.7), "t": (3.4,), "chi2": (2.6,),
    "lognorm": (0.7,), "expon": (), "weibull_min": (1.7,), "uniform": (), "laplace": (),
    "logistic": (), "cauchy": (), "invgamma": (5.4,), "pareto": (5.3,), "f": (3.2, 9.1),
    "gumbel_r": (), "gumbel_l": (), "genextreme": (-0.1,), "genpareto": (0.1,),
    "truncnorm": (-1.1, 2.3), "halfnorm": (), "skewnorm": (1.4,), "exponnorm": (1.3,),
    "vonmises": (2.4,), "rayleigh": (), "nct": (6.2, 0.8), "loggamma": (1.7,), "triang": (0.4,),
}  # fmt: skip
"""Shape parameters of the distributions that are gone through whole."""
DISCRETE: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "binom": ((7.0,), (0.4,)), "poisson": ((), (2.7,)), "nbinom": ((), (3.4, 0.4)),
    "geom": ((), (0.3,)), "bernoulli": ((), (0.4,)), "betabinom": ((7.0,), (1.3, 2.4)),
}  # fmt: skip
"""Their whole numbers, and the other shape parameters."""
METHODS = ("pdf", "logpdf", "cdf", "sf", "logcdf", "logsf")


def whole(s: Any, name: str, x: Any, *parameters: Any) -> Any:
    """Return what all methods of a continuous distribution say, in one array."""
    found = getattr(s, name)
    values = [getattr(found, method)(x, *parameters) for method in METHODS]
    values += [getattr(found, method)((0.3, 0.8), *parameters) for method in ("ppf", "isf")]
    values += [np.reshape(found.entropy(*parameters), 1), np.reshape(found.median(*parameters), 1)]
    if name != "cauchy":
        values += [np.reshape(v, 1) for v in found.stats(*parameters, moments="mv")]
    return np.concatenate(values)


def discrete(s: Any, name: str, counts: Any, *shapes: Any) -> Any:
    found, k = getattr(s, name), np.array([1.0, 3.0] if name != "bernoulli" else [0.0, 1.0])
    methods = ("pmf", "logpmf", "cdf", "sf", "logcdf", "logsf")
    skipped = ("logsf", "logcdf") if name == "bernoulli" else ()
    values = [getattr(found, m)(k, *counts, *shapes) for m in methods if m not in skipped]
    values += [np.reshape(v, 1) for v in found.stats(*counts, *shapes, moments="mvsk")]
    values.append(np.reshape(found.entropy(*counts, *shapes), 1))
    return np.concatenate(values)


def assert_derivatives(call: Callable[..., Any], *point: Any) -> None:
    """Compare derivatives in both modes, and second ones, with differences of SciPy's values."""
    ours, plain = functools.partial(call, stats), functools.partial(call, scipy.stats)
    rng = np.random.default_rng(0)
    ts = [rng.uniform(0.5, 1.0, np.shape(x)) for x in point]

    def quotient(f: Callable[..., Any], h: float) -> Any:
        low, high, lower, higher = (
            f(*(x + k * h * t for x, t in zip(point, ts, strict=True))) for k in (-1, 1, -2, 2)
        )
        return (8 * (high - low) - (higher - lower)) / (12 * h)

    def slope(*xs: Any) -> Any:
        return fd.jvp(ours, xs, tuple(ts))[1]

    y, t = fd.jvp(ours, tuple(point), tuple(ts))
    np.testing.assert_allclose(y, plain(*point), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(t, quotient(plain, 1e-4), rtol=2e-6, atol=2e-7)
    ct = rng.normal(size=y.shape)
    pulled = fd.vjp(ours, *point)[1](ct)
    found = sum(np.sum(c * d) for c, d in zip(pulled, ts, strict=True))
    np.testing.assert_allclose(found, np.sum(ct * t), rtol=1e-10)
    second = fd.jvp(slope, tuple(point), tuple(ts))[1]
    np.testing.assert_allclose(second, quotient(slope, 1e-4), rtol=2e-6, atol=2e-6)


@pytest.mark.thinned(154)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_every_method_of_a_continuous_distribution(name: str) -> None:
    shapes = CONTINUOUS[name]
    x = getattr(scipy.stats, name).ppf([0.25, 0.7], *shapes, 0.2, 1.3)
    point = [np.asarray(v) for v in (x, *shapes, 0.2, 1.3)]
    assert_derivatives(lambda s, *xs: whole(s, name, *xs), *point)


@pytest.mark.thinned(10)
@pytest.mark.parametrize("name", DISCRETE)
def test_every_method_of_a_discrete_distribution(name: str) -> None:
    counts, shapes = DISCRETE[name]
    assert_derivatives(lambda s, *xs: discrete(s, name, counts, *xs), *map(np.asarray, shapes))


# ---- all the others ------------------------------------------------------------------------------

WITHOUT = {
    "gausshyper", "genhyperbolic", "geninvgauss", "irwinhall", "kappa4", "ksone", "kstwo",
    "kstwobign", "landau", "levy_stable", "studentized_range", "tukeylambda",
    "dpareto_lognorm", "pearson3", "erlang",
}  # fmt: skip
"""Densities that are compiled, integrated, chosen by values, or of whole numbers."""


@pytest.mark.slow
@together
@pytest.mark.parametrize(("name", "shapes"), [row for row in distcont if row[0] not in WITHOUT])
def test_the_density_of_any_other_is_differentiated(name: str, shapes: tuple[float, ...]) -> None:
    x = getattr(scipy.stats, name).ppf(0.37, *shapes)
    point = [np.asarray(v, float) for v in (x, *shapes)]

    def along(s: Any, h: Any) -> Any:
        return getattr(s, name).logpdf(*(v + h for v in point))

    difference = (along(scipy.stats, 1e-5) - along(scipy.stats, -1e-5)) / 2e-5
    assert fd.derivative(lambda h: along(stats, h))(0.0) == pytest.approx(
        difference, rel=1e-5, abs=1e-6
    )


MIDST = {
    "genpareto": (0.0,), "genextreme": (0.0,), "skewnorm": (0.0,), "kappa4": (0.0, 0.0),
    "rice": (0.0,), "vonmises": (0.0,), "triang": (1.0,), "genlogistic": (0.4,),
}  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", MIDST)
def test_a_member_with_a_formula_of_its_own_has_the_derivatives_of_its_family(name: str) -> None:
    shapes, plain, ours = MIDST[name], getattr(scipy.stats, name), getattr(stats, name)
    places = np.array([0.0, 0.4]) if name == "genlogistic" else plain.ppf([0.3, 0.8], *shapes)
    inward = -1e-5 if name == "triang" else 1e-5
    for method in ("logpdf", "cdf", "logsf"):
        value, f = getattr(plain, method)(places, *shapes), getattr(ours, method)
        np.testing.assert_array_equal(fd.vjp(lambda *p: f(places, *p), *shapes)[0], value)  # noqa: B023
        for k in range(len(shapes)):
            moved = [p + inward * (i == k) for i, p in enumerate(shapes)]
            expected = (getattr(plain, method)(places, *moved) - value) / inward
            for jacobian in (fd.jacfwd, fd.jacrev):
                slopes = jacobian(f, argnums=k + 1)(places, *shapes)
                np.testing.assert_allclose(slopes, expected, rtol=1e-3, atol=1e-4)


def test_the_density_of_a_logistic_family_has_no_kink_at_zero() -> None:
    assert fd.derivative(stats.genlogistic.logpdf)(0.0, 0.4) == pytest.approx(-0.3)


def test_by_a_shape_that_chose_another_formula_the_derivative_is_nan() -> None:
    by_c, by_d = fd.grad(stats.trapezoid.mean, argnums=(0, 1))(0.2, 1.0)
    np.testing.assert_allclose(by_c, (0.2**2 - 4 * 0.2 + 3) / (3 * 1.8**2), rtol=1e-12)
    assert np.isnan(by_d)


@pytest.mark.parametrize("name", ["cdf", "sf"])
def test_noncentral_probabilities_without_noncentrality_have_slopes_in_it(name: str) -> None:
    slope = fd.grad(getattr(stats.ncx2, name), argnums=2)(3.0, 4.0, 0.0)
    expected = scipy.stats.chi2.pdf(3.0, 6.0)
    np.testing.assert_allclose(slope, -expected if name == "cdf" else expected, rtol=1e-13)


@pytest.mark.parametrize(("point", "slopes", "bend"), [
    ((3.0, 4.0, 0.0), (-1 / 6, -0.0086596134951513787, -0.125), -0.16123351671205661),
    ((9000.0, 3.3, 40.0), (-0.46665832533387961, 1.353482981784823, 6.985626799877087),
     -0.00041701427178127861),
    ((1e-9, 250.0, 2.5), (123999999999.50499, -13.120360710754748, -0.499999999998),
     -0.0020080213330601191),
])  # fmt: skip
def test_logarithms_of_noncentral_densities_have_slopes_far_out_and_at_the_end(
    point: Any, slopes: Any, bend: float
) -> None:
    f = stats.ncx2.logpdf
    for derivative in (fd.grad, fd.jacfwd):
        found = derivative(f, argnums=(0, 1, 2))(*point)
        np.testing.assert_allclose(found, slopes, rtol=1e-13)
    found = fd.grad(fd.grad(f, argnums=1), argnums=1)(*point)
    np.testing.assert_allclose(found, bend, rtol=1e-12)


@pytest.mark.parametrize(("name", "shapes"), [("ncx2", (3.3, 0.7)), ("ncf", (3.3, 7.2, 0.7))])
def test_noncentral_distributions_have_derivatives_by_shapes(name: str, shapes: Any) -> None:
    ours = getattr(stats, name)
    for method, start in (
        ("pdf", (2.0,)),
        ("logpdf", (2.0,)),
        ("logcdf", (2.0,)),
        ("ppf", (0.3,)),
        ("std", ()),
    ):
        f, point = getattr(ours, method), (*start, *shapes)
        places = tuple(range(len(point)))
        slopes: Any = fd.grad(f, argnums=places)(*point)
        for k in places:
            step = 1e-5 * np.eye(len(point))[k]
            above, below = f(*(point + step)), f(*(point - step))
            np.testing.assert_allclose(slopes[k], (above - below) / 2e-5, rtol=2e-6)


def test_every_distribution_keeps_its_kind() -> None:
    for name in {row[0] for row in (*distcont, *distdiscrete)}:
        plain, ours = getattr(scipy.stats, name), getattr(stats, name)
        assert isinstance(ours, type(plain))
    assert isinstance(stats.norm(0.0, 1.0), type(scipy.stats.norm(0.0, 1.0)))


SUMS: dict[str, tuple[Callable[..., tuple[Any, ...]], float]] = {
    "zipfian": (
        lambda s, a: (
            s.zipfian.logpmf([1, 3], a, [9, 3]), s.zipfian.cdf([0, 4], a, 9),
            s.zipfian.sf([2, 12], a, 9), *s.zipfian.stats(a, 9, moments="mvsk"),
            s.zipfian.entropy(a, [1, 9]),
        ), 1.0),
    "zipf": (
        lambda s, a: (s.zipf.cdf([1, 4], a), s.zipf.logsf([1, 2], a), s.zipf.entropy(a)), 7.3),
    "geninvgauss": (
        lambda s, b: (
            s.geninvgauss.logpdf([0.2, 3.0], 2.3, b), s.geninvgauss.cdf([0.2, 3.0], 2.3, b),
            s.geninvgauss.mean(2.3, b), s.geninvgauss.entropy(2.3, b),
        ), 1.5),
    "genhyperbolic": (
        lambda s, a: (
            s.genhyperbolic.logpdf([-2.0, 3.0], 0.5, a, -a / 3),
            s.genhyperbolic.cdf([-2.0, 3.0], 0.5, a, -a / 3), s.genhyperbolic.var(0.5, a, -0.5),
        ), 1.5),
}  # fmt: skip


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_powers_and_densities_with_bessels_functions_have_derivatives(name: str) -> None:
    methods, shape = SUMS[name]
    parts = [(lambda s, a, k=k: methods(s, a)[k]) for k in range(len(methods(stats, shape)))]
    for part in parts:
        assert_derivatives(part, np.asarray(shape))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The integral is probably divergent")
def test_an_infinite_moment_has_no_derivative_of_any_order() -> None:
    for moment, shape in (
        (stats.zipf.mean, 1.5), (stats.pareto.mean, 0.5), (stats.alpha.mean, 3.5),
        (lambda b: stats.pareto.moment(3, b), 2.62), (lambda a: stats.kappa3.moment(3, a), 1.0),
    ):  # fmt: skip
        assert np.isnan(fd.grad(moment)(shape))
        assert np.isnan(fd.hessian(moment)(shape))
        assert np.isnan(fd.jvp(moment, (shape,), (1.0,))[1])
    assert fd.grad(lambda c: stats.lomax.moment(1, c))(4.5) == pytest.approx(-1 / 3.5**2)


def test_integrals_of_narrow_densities_and_stated_moments_have_all_digits() -> None:
    slopes = fd.grad(stats.burr12.entropy, argnums=(0, 1))(10.0, 4.0)
    np.testing.assert_allclose(slopes, [-0.0816666666666667, -0.0570593398365962], rtol=1e-13)
    skewness = fd.grad(lambda c: stats.fisk.stats(c, moments="s"))(3.0857548622253179)
    assert skewness == pytest.approx(-436.73110952596, rel=1e-12)


def test_means_of_functions_have_derivatives_by_all_that_they_depend_on() -> None:
    def bell(m: Any, s: Any, a: Any) -> Any:  # exp(-m²a/(1 + 2as²))/√(1 + 2as²)
        return stats.norm(m, s).expect(lambda x: np.exp(-a * x * x))

    m, s, a = 0.2, 1.3, 0.7
    y, c = bell(m, s, a), 1 + 2 * a * s * s
    expected = [-2 * m * a, 2 * a * s * (2 * a * m * m / c - 1), -(s * s) - m * m / c]
    np.testing.assert_allclose(
        fd.grad(bell, argnums=(0, 1, 2))(m, s, a), y / c * np.array(expected), rtol=1e-8
    )
    squares = fd.value_and_grad(lambda mu: stats.poisson(mu).expect(lambda k: k**2))(2.2)
    np.testing.assert_allclose(squares, [2.2 + 2.2**2, 1 + 4.4], rtol=1e-9)


# ---- tails, as mpmath has them with forty digits -------------------------------------------------


def test_logarithms_keep_their_digits_far_out() -> None:
    def close(found: Any, expected: float, digits: float = 1e-12) -> None:
        assert found == pytest.approx(expected, rel=digits)

    close(fd.grad(stats.norm.logsf)(40.0), -40.024968847207264)
    close(fd.grad(fd.grad(stats.norm.logsf))(40.0), -0.99937733162140861, 1e-9)
    close(fd.grad(stats.norm.logcdf)(-40.0), 40.024968847207264)
    close(fd.grad(stats.norm.logpdf)(1e8), -1e8)
    close(fd.grad(stats.gamma.logsf)(600.0, 2.5), -0.99750416318582868, 1e-11)
    close(fd.grad(stats.gamma.logsf, argnums=1)(600.0, 2.5), 5.6954410620448301, 1e-10)
    close(fd.grad(stats.gamma.logcdf, argnums=1)(1e-8, 2.5), -19.523837385413935)
    close(fd.grad(stats.t.logcdf, argnums=1)(-1e4, 3.3), -8.2428462385669163)
    close(fd.grad(stats.t.logcdf)(-1e4, 3.3), 0.00032999999116471726)
    close(fd.grad(stats.beta.logcdf, argnums=1)(1e-6, 2.3, 1.2), -13.747176424744137)
    close(fd.grad(stats.beta.logcdf, argnums=2)(1e-6, 2.3, 1.2), 1.3921958402674769, 1e-11)
    close(fd.grad(stats.truncnorm.logpdf, argnums=1)(20.5, 20.0, 25.0), 20.049753068527851)
    close(
        fd.grad(stats.truncnorm.logpdf, argnums=2)(20.5, 20.0, 20.7), -1.3049215601435923e-5, 1e-9
    )


def test_compiled_distribution_functions_have_derivatives_in_their_shapes() -> None:
    vonmises = fd.vmap(fd.grad(stats.vonmises.cdf, argnums=1), (None, 0))(
        0.3, np.array([3.0, 80.0])
    )
    np.testing.assert_allclose(vonmises, [0.033019332870687149, 0.00018953196686550507], rtol=1e-11)
    slopes = fd.grad(stats.nct.cdf, argnums=(1, 2))(1.4, 3.5, 0.7)
    np.testing.assert_allclose(slopes, [0.013787573767124779, -0.31075968039559599], rtol=1e-11)


def test_outside_of_the_support_derivatives_are_zero_and_neighbours_unharmed() -> None:
    x = np.array([-1.0, 0.5, 3.0, np.inf, -np.inf])
    for name, shapes in (("gamma", (2.2,)), ("beta", (2.2, 1.3)), ("weibull_min", (1.4,))):
        found = getattr(stats, name)
        for method in ("pdf", "cdf", "sf"):
            y, pull = fd.vjp(getattr(found, method), x, *shapes)
            slopes = pull(np.ones(5))
            assert slopes[0][0] == 0.0
            assert slopes[0][4] == 0.0
            assert np.all(np.isfinite(slopes[0]))
            assert np.all(np.isfinite(slopes[1]))
            with np.errstate(all="ignore"):
                expected = getattr(getattr(scipy.stats, name), method)(x, *shapes)
            np.testing.assert_array_equal(y, expected)
    y, pull = fd.vjp(stats.gamma.logpdf, x[:3], 2.2)
    assert y[0] == -np.inf
    slopes = pull(np.ones(3))
    assert slopes[0][0] == 0.0
    assert np.all(np.isfinite(slopes[0]))
    assert np.isfinite(slopes[1])


def test_invalid_parameters_give_nan_where_they_are() -> None:
    scale = np.array([1.0, -1.0, 2.0])
    y, pull = fd.vjp(lambda s: stats.norm.logpdf(0.3, 0.0, s), scale)
    np.testing.assert_array_equal(np.isnan(y), [False, True, False])
    assert np.all(np.isfinite(pull(np.ones(3))[0][[0, 2]]))


def test_parameters_are_broadcast_batched_and_compiled() -> None:
    x, a, scale = np.ones((3, 1)), np.array([1.2, 2.3]), np.float64(1.3)
    assert_agrees(
        "scipy.stats", lambda s, x, a, c: s.gamma.logpdf(x, a, scale=c), x, a, scale, order=1
    )
    assert_agrees(
        "scipy.stats", lambda s, x, a, c: s.gamma(a, scale=c).cdf(x), x, a, scale, order=1
    )


@pytest.mark.thinned(2)
@pytest.mark.parametrize("method", ["logpdf", "pdf", "cdf", "ppf"])
def test_a_method_is_recorded_once_and_decides_nothing_by_the_values_it_met(method: str) -> None:
    plain, ran = Distribution._parameters, []

    def watched(*args: Any) -> Any:
        ran.append(args)
        return plain(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Distribution, "_parameters", watched)
        for x, shape, loc, scale in [
            (0.5, 2.0, 0.9, 1.5), (0.9, 2.0, 0.4, 1.5), (0.5, 2.0, 0.9, -1.0), (0.5, -2.0, 0.9, 1.0)
        ]:  # fmt: skip
            ours, theirs = (
                functools.partial(getattr(s.weibull_max, method), loc=loc, scale=scale)
                for s in (stats, scipy.stats)
            )
            found, _ = fd.jvp(ours, (x, shape), (1.0, 0.0))
            np.testing.assert_allclose(found, theirs(x, shape), rtol=1e-12)
    assert len(ran) == 1


def test_lists_of_traced_numbers_are_arrays() -> None:
    slope = fd.grad(lambda a: np.sum(stats.norm.logpdf([a, 2 * a], 0.0, 1.0)))(0.2)
    assert slope == pytest.approx(-1.0)


def test_dtypes_are_scipys() -> None:
    single = np.array([0.3, 0.7], np.float32)
    calls: tuple[Callable[..., Any], ...] = (
        lambda s, x: s.norm.pdf(x),
        lambda s, x: s.gamma.cdf(x, np.float32(2.5)),
        lambda s, x: s.gamma.ppf(x, np.float32(2.5)),
        lambda s, x: s.norm.logpdf(x, np.float32(0.1), np.float32(1.2)),
    )
    for call in calls:
        expected = call(scipy.stats, single)
        found, pull = fd.vjp(functools.partial(call, stats), single)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
        assert pull(np.ones_like(found))[0].dtype == np.float32


# ---- what has none -------------------------------------------------------------------------------


def test_whole_numbers_have_no_derivative_and_steps_are_flat() -> None:
    with pytest.raises(NotDifferentiableError, match=r"binom\.logpmf .* parameter n .*whole"):
        fd.grad(stats.binom.logpmf, argnums=1)(2.0, 7.0, 0.3)
    assert fd.grad(stats.poisson.cdf)(2.0, 3.3) == 0.0
    assert fd.grad(stats.poisson.ppf, argnums=1)(0.3, 3.3) == 0.0
    assert fd.grad(stats.nbinom.logpmf, argnums=1)(2.0, 7.5, 0.3) != 0.0


def test_an_unknown_derivative_is_refused_and_others_of_the_method_are_not() -> None:
    assert fd.grad(stats.landau.cdf)(0.3) == pytest.approx(scipy.stats.landau.pdf(0.3), rel=1e-12)
    with pytest.raises(NotDifferentiableError, match=r"range\.cdf .* no derivative is known"):
        fd.grad(stats.studentized_range.cdf, argnums=1)(2.0, 3.3, 7.0)
    with pytest.raises(UnsupportedNumPyError, match=r"norm\.fit .* minimize \.nnlf"):
        fd.grad(lambda x: stats.norm.fit(x)[0])(np.array([1.0, 2.0]))


# ---- random variates -----------------------------------------------------------------------------


def test_variates_are_scipys_and_stay_at_their_quantile() -> None:
    for name, shapes in (("gamma", 2.3), ("t", 4.5), ("vonmises", 2.0), ("weibull_min", 1.7)):
        ours, plain = getattr(stats, name), getattr(scipy.stats, name)

        def level(a: Any, ours: Any = ours) -> Any:
            return ours.cdf(ours.rvs(a, size=3, random_state=5), a)

        def moved(a: Any, ours: Any = ours) -> Any:
            return ours.rvs(a, 0.5, size=3, random_state=5)

        drawn, pull = fd.vjp(moved, shapes)
        np.testing.assert_array_equal(drawn, plain.rvs(shapes, 0.5, size=3, random_state=5))
        assert pull(np.ones(3))[0] != 0.0
        np.testing.assert_allclose(fd.derivative(level)(shapes), np.zeros(3), atol=1e-12)


def test_variates_move_with_location_and_scale() -> None:
    rng, same = np.random.default_rng(3), np.random.default_rng(3)
    drawn, pull = fd.vjp(
        lambda m, s: stats.norm.rvs(m, s, size=4, random_state=rng), 0.5, np.full(4, 2.0)
    )
    expected = scipy.stats.norm.rvs(0.5, np.full(4, 2.0), size=4, random_state=same)
    np.testing.assert_array_equal(drawn, expected)
    assert rng.normal() == same.normal()
    d_loc, d_scale = pull(np.ones(4))
    assert d_loc == 4.0
    np.testing.assert_allclose(d_scale, (expected - 0.5) / 2)
    two = fd.vmap(lambda a: stats.gamma(a).rvs(2, random_state=7))(np.array([2.2, 3.0]))
    np.testing.assert_array_equal(two[1], scipy.stats.gamma.rvs(3.0, size=2, random_state=7))
    assert stats.poisson(np.float64(2.5)).rvs(random_state=1) == scipy.stats.poisson(2.5).rvs(
        random_state=1
    )


# ---- several variables ---------------------------------------------------------------------------

_RNG = np.random.default_rng(0)
_HALF = _RNG.normal(size=(3, 3))
COV, PAIR = _HALF @ _HALF.T + 2 * np.eye(3), np.array([[2.0, 0.3], [0.3, 1.0]])
MEAN, POINTS, TABLE = _RNG.normal(size=3), _RNG.normal(size=(4, 3)), _RNG.normal(size=(3, 2))
WISHART, ALPHA, P = COV + np.eye(3), np.array([1.2, 2.0, 0.7]), np.array([0.2, 0.3, 0.5])
COUNTS = np.array([[1.0, 2.0, 3.0], [0.0, 4.0, 2.0]])


def sym(a: Any) -> Any:
    return (a + np.swapaxes(a, -1, -2)) / 2


def shares(a: Any) -> Any:
    return a / np.sum(a)


NU = np.float64(5.3)
MULTIVARIATE: dict[str, tuple[Any, ...]] = {
    "normal": (lambda s, x, m, c: s.multivariate_normal.logpdf(x, m, sym(c)), POINTS, MEAN, COV),
    "frozen normal": (
        lambda s, x, m, c: s.multivariate_normal(m, sym(c)).pdf(x), POINTS, MEAN, COV
    ),
    "normal entropy": (lambda s, c: s.multivariate_normal.entropy(None, sym(c)), COV),
    "a multiple of the identity": (
        lambda s, x, v: s.multivariate_normal.logpdf(x, np.zeros(3), v * np.eye(3)), POINTS, NU
    ),
    "normal by a factor": (
        lambda s, x, c: s.multivariate_normal.logpdf(x, cov=s.Covariance.from_cholesky(np.tril(c))),
        POINTS, COV,
    ),
    "t": (lambda s, x, m, c, d: s.multivariate_t.logpdf(x, m, sym(c), d), POINTS, MEAN, COV, NU),
    "t entropy": (lambda s, c, d: s.multivariate_t.entropy(MEAN, sym(c), d), COV, NU),
    "dirichlet": (lambda s, x, a: s.dirichlet.logpdf(shares(x), a), P, ALPHA),
    "dirichlet moments": (lambda s, a: (s.dirichlet.var(a), s.dirichlet.cov(a)), ALPHA),
    "dirichlet entropy": (lambda s, a: s.dirichlet(a).entropy(), ALPHA),
    "wishart": (lambda s, x, d, c: s.wishart.logpdf(sym(x), d, sym(c)), WISHART, NU, COV),
    "frozen wishart": (lambda s, d, c: s.wishart(d, sym(c)).pdf(WISHART), NU, COV),
    "wishart entropy": (lambda s, d, c: s.wishart.entropy(d, sym(c)), NU, COV),
    "invwishart": (lambda s, x, d, c: s.invwishart.logpdf(sym(x), d, sym(c)), WISHART, NU, COV),
    "invwishart moments": (
        lambda s, d, c: (s.invwishart.mean(d, sym(c)), s.invwishart.var(d, sym(c))), NU + 4, COV
    ),
    "matrix_normal": (
        lambda s, x, m, u, v: s.matrix_normal.logpdf(x, m, sym(u), sym(v)),
        TABLE, TABLE / 3, COV, PAIR,
    ),
    "multinomial": (lambda s, p: s.multinomial.logpmf(COUNTS, 6, shares(p)), P),
    "multinomial entropy": (lambda s, p: s.multinomial.entropy(6, shares(p)), P),
}  # fmt: skip


@pytest.mark.thinned(14)
@pytest.mark.parametrize("name", MULTIVARIATE)
def test_distributions_of_several_variables(name: str) -> None:
    call, *point = MULTIVARIATE[name]
    assert_agrees("scipy.stats", call, *point, order=1)


def test_what_has_no_values_decides_nothing_about_a_distribution() -> None:
    def laws(s: Any, df: Any) -> Any:
        p = np.stack([df / (1 + df), 1 / (1 + df)])
        counts = s.multinomial.logpmf([2, 1], 3, p), s.multinomial.cov(3, p)
        return s.multivariate_t.logpdf(POINTS, MEAN, COV, df), *counts

    freedom = np.array([2.5, 40.0])
    found = fd.scan(lambda c, df: (c, laws(stats, df)), 0, freedom)[1]
    expected = zip(*(laws(scipy.stats, df) for df in freedom), strict=True)
    for ours, scipys in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, scipys, rtol=1e-12)


def test_a_t_vector_of_infinite_freedom_is_normal() -> None:
    def t(x: Any, df: Any) -> Any:
        return stats.multivariate_t.logpdf(x, MEAN, COV, df).sum()

    x = POINTS[0]
    assert fd.grad(t, argnums=1)(x, np.inf) == 0.0
    slope = fd.grad(stats.multivariate_normal.logpdf)(x, MEAN, COV)
    np.testing.assert_allclose(fd.grad(t)(x, np.inf), slope, rtol=1e-12)
    found = fd.value_and_grad(lambda b: stats.multivariate_t.cdf(b, MEAN, COV, np.inf))(x)
    expected = fd.value_and_grad(stats.multivariate_normal.cdf)(x, MEAN, COV)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_what_is_fitted_or_singular_in_several_variables_is_refused() -> None:
    with pytest.raises(NotDifferentiableError, match=r"\.fit of a multivariate"):
        fd.grad(lambda m: stats.vonmises_fisher.fit(m))(np.eye(3))
    with pytest.raises(np.linalg.LinAlgError, match="must be symmetric positive definite"):
        fd.grad(lambda c: stats.multivariate_normal.logpdf(np.zeros(2), cov=c))(np.ones((2, 2)))


@pytest.mark.parametrize(("name", "before", "end", "slope"), [
    ("binom", (7,), 0.0, np.inf),
    ("binom", (7,), 1.0, -np.inf),
    ("binom", (0,), 1.0, 0.0),
    ("bernoulli", (), 1.0, -np.inf),
    ("nbinom", (3.5,), 1.0, -np.inf),
    ("poisson", (), 0.0, np.inf),
    ("geom", (), 1.0, -np.inf),
    ("geom", (), 0.0, -np.inf),
])  # fmt: skip
def test_entropies_have_the_slopes_of_the_limit_where_one_outcome_is_left(
    name: str, before: tuple[float, ...], end: float, slope: float
) -> None:
    def entropy(p: Any) -> Any:
        return getattr(stats, name).entropy(*before, p)

    with np.errstate(all="ignore"):
        inner = np.abs(end - 1e-7)
        found = fd.grad(entropy)(end), fd.jvp(entropy, (end,), (1.0,))[1]
        assert found == (slope, slope)
        assert np.sign(fd.grad(entropy)(inner)) == np.sign(slope)
        if name != "geom":  # whose second slope is a difference of infinite ones
            assert fd.grad(fd.grad(entropy))(end) == (-np.inf if slope else 0.0)
    steps = [float(np.squeeze(entropy(0.3 + h))) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(fd.grad(entropy)(0.3), (steps[0] - steps[1]) / 2e-5, rtol=1e-6)


@together
@pytest.mark.parametrize("name", ["norm", "gamma", "genextreme", "poisson", "binom"])
def test_no_data_have_no_slope(name: str) -> None:
    shapes = {"norm": (), "binom": (7, 0.4)}.get(name, (0.3,))
    method = "logpmf" if name in DISCRETE else "logpdf"

    def total(*parameters: Any) -> Any:
        return np.sum(getattr(getattr(stats, name), method)(np.zeros(0), *shapes[:-1], *parameters))

    assert fd.grad(total)(shapes[-1] if shapes else 0.2) == 0.0


@pytest.mark.slow
def test_means_of_functions_are_differentiated_where_densities_are_infinite_or_vanish() -> None:
    def mean_logarithm(a: Any) -> Any:
        return stats.beta.expect(np.log, args=(a, 0.5))

    slope = scipy.special.polygamma(1, 0.7) - scipy.special.polygamma(1, 1.2)
    assert fd.grad(mean_logarithm)(0.7) == pytest.approx(slope, rel=1e-8)

    def mean_square(loc: Any, scale: Any, name: str) -> Any:
        return getattr(stats, name)(loc=loc, scale=scale).expect(lambda x: x * x)

    for name, mean, square in (("arcsine", 0.5, 3 / 8), ("gumbel_r", np.euler_gamma, 1.978111990)):
        expected = [2 * (0.3 + 1.2 * mean), 2 * (0.3 * mean + 1.2 * square)]
        for jacobian in (fd.jacfwd, fd.jacrev, lambda f, **of: fd.jit(fd.jacrev(f, **of))):
            slopes = jacobian(mean_square, argnums=(0, 1))(0.3, 1.2, name)
            np.testing.assert_allclose(slopes, expected, rtol=1e-8)
    size = fd.grad(lambda a: stats.dweibull.expect(abs, args=(a,)))(0.8)  # Γ(1 + 1/a)
    assert size == pytest.approx(-1.013588936674051, rel=1e-9)

    def bell(loc: Any) -> Any:  # smooth, though the density has a corner
        return stats.laplace(loc, 1.05).expect(lambda x: np.exp(-x * x))

    def smooth(loc: float) -> Any:
        return scipy.stats.laplace(loc, 1.05).expect(lambda x: np.exp(-x * x))

    bent = (smooth(0.201) - 2 * smooth(0.2) + smooth(0.199)) * 1e6
    assert fd.grad(fd.grad(bell))(0.2) == pytest.approx(bent, rel=1e-4)
    many_scales = fd.grad(
        lambda c, loc: stats.fatiguelife(c, loc, 1.05).expect(lambda x: np.exp(-x * x)), (0, 1)
    )
    np.testing.assert_allclose(many_scales(29.0, -0.01), [1.646434569e-4, -0.02295824606], 1e-6)


@pytest.mark.slow
def test_integrals_over_densities_with_corners_or_chosen_formulas_have_derivatives() -> None:
    def pulled(method: Any, *shapes: float) -> Any:
        return fd.grad(method, argnums=tuple(range(len(shapes))))(*shapes)

    np.testing.assert_allclose(  # by mpmath
        pulled(stats.crystalball.mean, 2.0, 3.0), [0.2280908995280086, 0.06242487088602561], 1e-10
    )
    np.testing.assert_allclose(pulled(stats.skewcauchy.entropy, 0.5), 0.0, atol=1e-14)
    assert np.isnan(pulled(stats.crystalball.var, 2.0, 3.0)).all()  # the moment is infinite
    np.testing.assert_allclose(
        pulled(stats.kappa4.entropy, 0.0, 0.1), [-0.55, -np.euler_gamma], rtol=1e-9
    )
    np.testing.assert_allclose(
        pulled(stats.kappa4.mean, 0.0, 0.0), [0.5, -0.9890559953279725], rtol=1e-9
    )
    by_m = fd.derivative(lambda m: stats.crystalball.pdf(0.3, 2.0, m))(3.0)
    assert fd.grad(stats.crystalball.pdf, argnums=2)(0.3, 2.0, 3.0) == pytest.approx(by_m)
    slope = fd.grad(stats.norminvgauss.cdf, argnums=1)(0.3, 1.25, 0.5)
    assert slope == pytest.approx(0.111884684160666, rel=1e-10)


@pytest.mark.slow
def test_mixed_derivatives_of_integrated_probabilities_agree_on_both_sides_of_the_median() -> None:
    for x in (0.5, 2.5):
        bent = fd.hessian(lambda v: stats.rice.cdf(v[0], v[1]))(np.array([x, 0.77]))
        slope = fd.grad(stats.rice.pdf, argnums=1)(x, 0.77)
        np.testing.assert_allclose([bent[0, 1], bent[1, 0]], slope, rtol=1e-12)


@pytest.mark.slow
def test_pearson3_is_smooth_where_it_is_normal_and_skellam_is_a_function_of_both_means() -> None:
    x = np.array([-0.5, 0.9])
    at_normal = fd.jacrev(stats.pearson3.pdf, argnums=1)(x, 0.0)  # φ·(x³ - 3x)/6
    np.testing.assert_allclose(at_normal, scipy.stats.norm.pdf(x) * (x**3 - 3 * x) / 6, 1e-12)
    by_skew = fd.jacfwd(stats.pearson3.cdf, argnums=1)(x, 0.0)
    np.testing.assert_allclose(by_skew, scipy.stats.norm.pdf(x) * (1 - x**2) / 6, rtol=1e-10)
    entropies = [fd.grad(stats.pearson3.entropy)(s) for s in (0.03, 0.8, -0.8)]
    expected = [-0.0050005625253068, -0.14428165493135, 0.14428165493135]  # by mpmath
    np.testing.assert_allclose(entropies, expected, rtol=1e-9)

    h = 1e-5
    for method, places in (("pmf", (-2,)), ("entropy", ())):
        plain, ours = (getattr(s.skellam, method) for s in (scipy.stats, stats))
        by_mean = (plain(*places, 1.5, 0.8 + h) - plain(*places, 1.5, 0.8 - h)) / (2 * h)
        assert fd.grad(ours, argnums=len(places) + 1)(*places, 1.5, 0.8) == pytest.approx(
            by_mean, rel=1e-7
        )


@pytest.mark.slow
def test_skellam_has_derivatives_by_both_means_as_by_mpmath() -> None:
    near = np.array([-0.047002899973825801, 0.13897878035717745])
    far = np.array([-1.1373746473665912e-5, 2.144860582806013e-6])
    for method, point, expected in (
        ("cdf", (-2, 1.5, 0.8), near),
        ("cdf", (-1.5, 1.5, 0.8), near),
        ("sf", (9, 2.0, 3.5), -far),
        ("logpmf", (-3, 1.5, 2.5), (-0.4649490576653504, 0.5210305654007897)),
        ("logpmf", (180, 120.0, 0.001), (0.5000055248417528, -0.337018989661666)),
        ("logsf", (-2, 1.5, 0.8), -near / 0.93899829125136532),
        ("logcdf", (9, 2.0, 3.5), far / (1 - 2.5854479134900962e-6)),
    ):
        f = getattr(stats.skellam, method)
        for derivative in (fd.grad, fd.jacfwd):
            np.testing.assert_allclose(derivative(f, argnums=(1, 2))(*point), expected, rtol=1e-11)
    k, means = np.arange(-3.0, 4.0)[:, None], np.array([1.0, 2.0])
    for f in (stats.skellam.cdf, stats.skellam.pmf, stats.skellam.logpmf):
        check_grads(functools.partial(f, k), (means, means[::-1]), order=2)
    bend = fd.grad(fd.grad(stats.skellam.logpmf, argnums=1), argnums=2)(180, 120.0, 0.001)
    np.testing.assert_allclose(bend, 0.005524821627331685, rtol=1e-11)


def test_negative_log_likelihoods_need_no_values() -> None:
    x, thetas = np.array([1.0, 2.0, 0.4]), np.array([[2.3, -0.1, 1.4], [2.3, 0.5, 1.0]])
    found = fd.scan(lambda c, theta: (c, stats.gamma.nnlf(theta, x)), 0.0, thetas)[1]
    np.testing.assert_allclose(found, [scipy.stats.gamma.nnlf(t, x) for t in thetas], rtol=1e-14)
    slope = fd.grad(lambda theta: stats.gamma.nnlf(theta, x))(thetas[0])
    score = fd.grad(lambda t: -stats.gamma.logpdf(x, t[0], t[1], t[2]).sum())(thetas[0])
    np.testing.assert_allclose(slope, score, rtol=1e-12)


@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_a_quantile_at_an_end_of_the_support_moves_with_it(method: str) -> None:
    ends: dict[str, tuple[tuple[float, ...], tuple[Any, Any]]] = {
        "genpareto": ((-0.5,), ((0.0,), (4.0,))),
        "genextreme": ((0.5,), ((0.0,), (-4.0,))),
        "genhalflogistic": ((0.25,), ((0.0,), (-16.0,))),
        "truncnorm": ((-1.0, 2.0), ((1.0, 0.0), (0.0, 1.0))),
        "reciprocal": ((1.0, 3.0), ((1.0, 0.0), (0.0, 1.0))),
    }
    for name, (shapes, (low, high)) in ends.items():
        quantile = getattr(getattr(stats, name), method)
        for q, expected in (
            ((0.0, low), (1.0, high)) if method == "ppf" else ((1.0, low), (0.0, high))
        ):
            for k, slope in enumerate(expected):

                def f(
                    s: Any, q: Any = q, k: int = k, shapes: Any = shapes, of: Any = quantile
                ) -> Any:
                    return of(q, *shapes[:k], s, *shapes[k + 1 :])

                for found in (fd.grad(f), fd.jacfwd(f), fd.jit(fd.grad(f))):
                    np.testing.assert_allclose(found(shapes[k]), slope, rtol=1e-14)
    np.testing.assert_allclose(
        fd.hessian(lambda c: stats.genpareto.isf(0.0, c))(-0.5), 16.0, rtol=1e-14
    )
