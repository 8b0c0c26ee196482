"""Log-densities of containers with constraints as those of unconstrained vectors."""

from __future__ import annotations

import pickle
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from multiprocessing import get_context
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.backend.native import machine
from funcdiff.errors import (
    ConvergenceError,
    InputError,
    MissingDependencyError,
    OutputError,
    PytreeError,
)

FEW = pytest.mark.filterwarnings("ignore:sample, at:funcdiff.errors.SamplingWarning")

PRECISION = np.linalg.inv(np.array([[2.0, 0.6], [0.6, 0.5]]))
MEAN = np.array([1.0, -2.0])


def normal_and_gamma(p: Any) -> Any:
    """Return the log-density of a normal vector and of a gamma variable with mean 3/2."""
    if p["x"][0] > 1e3:
        return -np.inf
    distance = p["x"] - MEAN
    return -0.5 * distance @ PRECISION @ distance + 2 * np.log(p["tau"]) - 2 * p["tau"]


def schools(p: Any) -> Any:
    """Return the log-density of a hierarchy of ten short operations."""
    errors = np.array([15.0, 10, 16, 11])
    z = (np.array([28.0, 8, -3, 7]) - p["mu"] - np.exp(p["mu"]) * p["eta"]) / errors
    prior = np.log1p((p["mu"] / 5) ** 2) + np.sum(np.log1p(p["eta"] ** 2))
    return -0.5 * np.sum(z**2) - prior - 0.5 * np.sum(p["eta"] ** 2)


def make(**options: Any) -> Any:
    params = {"x": np.zeros(2), "tau": 1.0}
    return fd.density(normal_and_gamma, params, bounds={"tau": (0, None)}, **options)


@pytest.mark.parametrize("engine", ["numpy", "llvm"])
def test_the_gradient_is_that_of_the_density_with_its_log_jacobian(engine: str) -> None:
    d, z = make(engine=engine), np.array([0.3, -0.1, 0.7])

    def by_hand(z: Any) -> Any:
        return normal_and_gamma({"x": z[:2], "tau": np.exp(z[2])}) + z[2]

    for _ in range(9):
        value, gradient = d.value_and_grad(z)
        np.testing.assert_allclose(value, by_hand(z), rtol=1e-14)
        np.testing.assert_allclose(gradient, fd.grad(by_hand)(z), rtol=1e-13)
    np.testing.assert_allclose(d.hessian(z), fd.hessian(by_hand)(z), rtol=1e-12, atol=1e-14)


def test_a_branch_may_return_minus_infinity() -> None:
    d = make()
    outside = np.array([2e3, 0.0, 0.0])
    for _ in range(2):
        assert d.value_and_grad(outside)[0] == -np.inf
        assert np.isfinite(d.value_and_grad(d.start)[0])


def test_the_density_is_zero_where_a_matrix_cannot_be_factorized() -> None:
    d = fd.density(lambda x: np.linalg.cholesky(np.diag(x))[0, 0], np.ones(2))
    for _ in range(2):
        assert d.value(-np.ones(2)) == d.value_and_grad(-np.ones(2))[0] == -np.inf
        assert d.value_and_grad(np.ones(2))[0] == 1.0
    with pytest.raises(np.linalg.LinAlgError):
        fd.density(lambda x: np.linalg.cholesky(x)[0, 0], np.ones((2, 3)))


@pytest.mark.parametrize("logp", [lambda x: x, lambda x: np.sum(x) + 1j, lambda _: None])
def test_a_density_that_is_no_real_scalar_is_refused(logp: Any) -> None:
    with pytest.raises(OutputError, match="Return a real scalar"):
        fd.density(logp, np.ones(2))


def test_an_engine_computes_all_and_is_kept_in_copies() -> None:
    with pytest.raises(InputError, match="engine='cuda'"):
        make(engine="cuda")
    with pytest.raises(FrozenInstanceError):
        make().engine = "llvm"
    chosen = machine.is_tried_here()  # unasked, where so many calls as samplers make pay
    ways: dict[Any, Any] = {"llvm": (True, True), "numpy": (False, False), None: (chosen, False)}
    params = {"mu": 0.0, "eta": np.ones(4)}
    for engine, expected in ways.items():
        d: Any = pickle.loads(pickle.dumps(fd.density(schools, params, engine=engine)))
        made = d.value_and_grad.function, d.hessian.function
        found = ["run(" in pickle.loads(pickle.dumps(f)).lower(d.start).source for f in made]
        assert tuple(found) == expected, engine
        np.testing.assert_allclose(d.value(d.start), schools(params), rtol=1e-14)


def test_densities_are_pickled_and_used_by_threads() -> None:
    d, z = make(), np.random.default_rng(0).normal(size=(40, 3))
    expected = [d.value(row) for row in z]
    copy = pickle.loads(pickle.dumps(d))
    with ThreadPoolExecutor(4) as pool:
        values = [value for value, _ in pool.map(copy.value_and_grad, z)]
    np.testing.assert_allclose(values, expected, rtol=1e-14)
    settings = pickle.loads(pickle.dumps(d.emcee()))
    assert settings["ndim"] == 3
    np.testing.assert_allclose(settings["log_prob_fn"](z[0]), expected[0], rtol=1e-14)
    value_and_grad = pickle.loads(pickle.dumps(d.value_and_grad))
    np.testing.assert_allclose(value_and_grad(z[0])[0], expected[0], rtol=1e-14)


@pytest.mark.slow
def test_processes_use_a_density_and_each_compiles_its_own() -> None:
    d, z = make(), np.random.default_rng(0).normal(size=(40, 3))
    d.value_and_grad(z[0])
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(d.value_and_grad, z))
    for row, (value, gradient) in zip(z, found, strict=True):
        expected = d.value_and_grad(row)
        np.testing.assert_allclose(value, expected[0], rtol=1e-14)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-14)


def test_containers_go_there_and_back_through_every_bound() -> None:
    params = {
        "a": {"w": np.array([0.2, 0.3, 0.5]), "rho": -0.4},
        "L": np.array([[2.0, 0.0], [-1.0, 0.5]]),
        "cuts": np.array([-1.0, 0.0, 4.0]),
        "corr": np.array([[1.0, 0.0], [0.6, 0.8]]),
        "free": np.ones((2, 1)),
    }
    bounds = {
        "a": {"w": "simplex", "rho": (-1, 1)},
        "L": "cholesky",
        "cuts": "ordered",
        "corr": "correlation_cholesky",
    }
    d = fd.density(lambda p: np.sum(p["free"]), params, bounds)
    assert d.size == 2 + 1 + 3 + 3 + 1 + 2
    back = d.constrain(d.unconstrain(params))
    fd.pytree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-14), back, params)


@pytest.mark.parametrize(
    ("params", "bounds", "message"),
    [
        ({"tau": 1.0}, {"tua": (0, None)}, "no leaf of params0 has the key 'tua'.*Write one of"),
        ({"a": {"b": 1.0}}, {"a": {"c": (0, 1)}}, "the key 'c'.*Write one of: b"),
        ({"a": {"b": 1.0}}, {"c": {"b": (0, 1)}}, "the key 'c'.*Write one of: a"),
        ({"tau": -1.0}, {"tau": (0, None)}, r"params\['tau'\] does not satisfy its bound"),
        ({"tau": 0.0}, {"tau": (0, None)}, "or is on it"),
        ({"w": np.ones(3)}, {"w": "simplex"}, "does not satisfy"),
        ({"w": np.array([1.0, 0.0])}, {"w": "ordered"}, "does not satisfy"),
        ({"L": np.ones((2, 2))}, {"L": "cholesky"}, "does not satisfy"),
        ({"L": 2 * np.eye(2)}, {"L": "correlation_cholesky"}, "does not satisfy"),
        ({"w": 1.0}, {"w": "simplex"}, "for vectors"),
        ({"L": np.ones((2, 3))}, {"L": "cholesky"}, "for square matrices"),
        ({"x": 1.0}, {"x": (1, 0)}, "increasing numbers"),
        ({"x": 1.0}, {"x": "simple"}, "one of: 'cholesky'"),
        ({"x": np.arange(3)}, None, "parameters are real"),
        ({"x": 1j}, None, "parameters are real"),
    ],
)
def test_errors_say_what_to_write(params: Any, bounds: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fd.density(lambda _: 0.0, params, bounds)


def test_keys_below_a_leaf_are_told_from_other_keys() -> None:
    with pytest.raises(InputError, match="Write one of: a bound of the leaf itself"):
        fd.density(lambda p: -p["a"], {"a": 1.0}, {"a": {"k": (0, None)}})


def test_a_bound_of_a_container_holds_for_all_its_leaves() -> None:
    params = {"a": {"b": 2.0, "c": np.ones(2)}, "d": 3.0}
    d = fd.density(lambda _: 0.0, params, {"a": (0, None)})
    np.testing.assert_allclose(d.start, [np.log(2.0), 0.0, 0.0, 3.0])
    np.testing.assert_allclose(fd.density(lambda _: 0.0, params, (0, None)).start[3], np.log(3.0))


@FEW
def test_arviz_gets_names_and_groups_as_its_version_wants_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = fd.density(lambda p: -np.sum(p["a"]["b"] ** 2), {"a": {"b": np.zeros(2)}})
    draws = d.sample(4, rng=0, warmup=20, chains=2)

    def before(posterior: Any = None, *, sample_stats: Any = None) -> Any:
        return {"posterior": posterior, "sample_stats": sample_stats}

    for from_dict in (before, lambda data: data):
        monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=from_dict))
        found = d.arviz(draws)
        np.testing.assert_array_equal(found["posterior"]["a.b"], draws.params["a"]["b"])
        assert found["sample_stats"]["diverging"].shape == (2, 4)


def test_a_container_of_other_shapes_has_no_vector() -> None:
    with pytest.raises(InputError, match=r"params\['x'\].*shape \(2,\)"):
        make().unconstrain({"x": np.zeros((2, 1)), "tau": 1.0})


@pytest.mark.parametrize("bound", [None, (0, None), "ordered", "simplex"])
@pytest.mark.parametrize("method", ["value", "value_and_grad", "constrain", "constrain_all"])
def test_vectors_of_another_length_are_refused(method: str, bound: Any) -> None:
    d = fd.density(lambda x: -np.sum(x**2), np.array([0.3, 0.7]), bound)
    for shape in ((d.size + 1,), (d.size - 1,), (d.size, d.size + 2)):
        with pytest.raises(InputError, match=rf"a vector of shape \({d.size},\) is wanted"):
            getattr(d, method)(np.zeros(shape))


@FEW
def test_parameters_without_freedom_are_drawn_too() -> None:
    d = fd.density(lambda x: np.sum(x), np.ones(1), "simplex")
    draws = d.sample(5, rng=0, chains=2, warmup=20)
    np.testing.assert_array_equal(draws.params, np.ones((2, 5, 1)))
    assert d.constrain_all(np.zeros((0, 0))).shape == (0, 1)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nutpie", None)
    with pytest.raises(MissingDependencyError, match='python -m pip install "nutpie'):
        make().nutpie()


def test_vectors_may_be_lists_and_of_any_real_dtype() -> None:
    d = fd.density(lambda x: -np.sum((x - 1.0) ** 2), np.ones(2), (0, None))
    value, gradient = d.value_and_grad(np.array([0.0, 1.0]))
    for z in ([0.0, 1.0], [0, 1], np.array([0, 1]), np.array([0, 1], np.float32)):
        assert d.value(z) == value
        np.testing.assert_array_equal(d.value_and_grad(z)[1], gradient)
        assert d.hessian(z).shape == (2, 2)


def test_where_a_matrix_is_singular_second_derivatives_are_undefined() -> None:
    d = fd.density(lambda x: np.linalg.cholesky(x * np.eye(2))[0, 0], np.array(1.0))
    assert d.value(-np.ones(1)) == -np.inf
    value, gradient = d.value_and_grad(-np.ones(1))
    gradient[...] = 7.0
    assert value == -np.inf
    assert d.value_and_grad(-np.ones(1))[1] == 0
    assert np.isnan(d.hessian(-np.ones(1))).all()
    with pytest.raises(ConvergenceError, match="log-density was -inf"):
        d.laplace(-np.ones(1))


def test_a_container_of_another_structure_is_told() -> None:
    d = fd.density(lambda p: -np.sum(p["a"] ** 2) - p["b"], {"a": np.ones(2), "b": 1.0})
    np.testing.assert_array_equal(d.unconstrain({"b": 2.0, "a": np.zeros(2)}), [0.0, 0.0, 2.0])
    with pytest.raises(PytreeError, match=r"params\['a'\] is \[\*, \*\], not one value.*line"):
        d.unconstrain({"a": [0.0, 0.0], "b": 2.0})


def test_a_density_is_differentiated_by_what_it_closes_over_but_not_by_its_start() -> None:
    def at(a: Any) -> Any:
        return fd.density(lambda x: -a * np.sum(x**2), np.ones(2)).value(np.array([1.0, 2.0]))

    assert fd.grad(at)(3.0) == -5.0
    with pytest.raises(InputError, match="params0 needs values, but is traced"):
        fd.grad(lambda a: fd.density(lambda x: -np.sum(x**2), a).value(np.ones(2)))(np.ones(2))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"draws": 10.5}, "draws=10.5"),
        ({"warmup": 20.5}, "warmup=20.5"),
        ({"chains": True}, "chains=True"),
        ({"target": np.ones(2)}, "target="),
        ({"rng": np.random.RandomState(0)}, r"rng=RandomState.*np\.random\.default_rng"),
        ({"rng": "seed"}, "rng='seed'"),
    ],
)
def test_samples_that_cannot_be_drawn_are_refused(given: Any, message: str) -> None:
    d = fd.density(lambda x: -np.sum(x**2), np.ones(2))
    with pytest.raises(InputError, match=message):
        d.sample(**{"draws": 10, "rng": 0, "warmup": 20, **given})


@FEW
def test_densities_and_draws_show_what_they_are_of_and_no_wall_of_numbers() -> None:
    d = make()
    assert repr(d) == "<Density of parameters {'x': (2,), 'tau': ()}>"
    shown = repr(d.sample(4, rng=0, warmup=20, chains=2))
    assert shown == "<Draws of parameters {'x': (2, 4, 2), 'tau': (2, 4)}>"
