"""The namespaces of `funcdiff.scipy`: every public name of SciPy's is covered, or refused."""

from __future__ import annotations

import copy
import pickle
import pkgutil
import re
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial
import scipy.stats

import funcdiff as fd
import funcdiff.scipy
from funcdiff.errors import LostDerivativeError, UnsupportedNumPyError
from funcdiff.scipy import interpolate, signal, stats
from funcdiff.scipy.covered import UncoveredNameError, public_names, refused, table
from funcdiff.scipy.spatial.transform import Rotation
from tests.scipy.agreement import assert_agrees

MODULES: tuple[str, ...] = (
    "scipy.cluster", "scipy.cluster.hierarchy", "scipy.cluster.vq", "scipy.constants", "scipy.fft",
    "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize",
    "scipy.signal", "scipy.signal.windows", "scipy.sparse", "scipy.sparse.csgraph",
    "scipy.sparse.linalg", "scipy.spatial", "scipy.spatial.distance", "scipy.spatial.transform",
    "scipy.special", "scipy.stats",
)  # fmt: skip
"""Those that have been gone through whole."""


def functions(module: str) -> dict[str, Any]:
    """Return the public functions and classes of a module of SciPy's."""
    plain = import_module(module)
    found = {name: getattr(plain, name) for name in public_names(plain)}
    return {
        name: value
        for name, value in found.items()
        if callable(value)
        and not isinstance(value, ModuleType)
        and not (isinstance(value, type) and issubclass(value, BaseException))
    }


def enter(module: str) -> None:
    """Import a module of ours, and what it enters when its names are asked for."""
    dir(import_module(module.replace("scipy", "funcdiff.scipy", 1)))


@pytest.mark.parametrize("module", MODULES)
def test_every_function_of_scipys_is_covered_or_refused_with_a_reason(module: str) -> None:
    enter(module)
    known = {*table[module], *refused[module]}
    assert sorted(set(functions(module)) - known) == []


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_both_covered_and_refused(module: str) -> None:
    enter(module)
    assert set(table[module]) & set(refused[module]) == set()


def test_a_name_that_scipy_does_not_have_is_missing_and_a_near_one_is_suggested() -> None:
    with pytest.raises(UncoveredNameError, match=r"no attribute 'block_diags'.*block_diag"):
        fd.scipy.linalg.block_diags  # noqa: B018


def test_what_is_not_covered_is_scipys_own_and_refuses_traced_arrays() -> None:
    constants = fd.scipy.constants
    assert constants.c == 299792458.0
    with pytest.raises(UnsupportedNumPyError, match=r"scipy\.constants\.value of a .*by its name"):
        fd.grad(lambda x: constants.value(x))(1.0)


def test_scipys_code_runs_on_traced_arrays() -> None:
    temperatures = np.array([0.0, 20.0, -40.0])
    for scale in ("Kelvin", "Rankine", "F"):
        assert_agrees(
            "scipy.constants",
            lambda s, x, scale=scale: s.convert_temperature(x, "Celsius", scale),
            temperatures,
        )
    assert_agrees("scipy.constants", lambda s, x: s.lambda2nu(x), np.array([2.0, 3.0]))


def test_plain_values_go_to_scipy_itself() -> None:
    found = fd.scipy.linalg.block_diag([1, 2], np.eye(2))
    np.testing.assert_array_equal(found[0], [1, 2, 0, 0])


def test_plain_functions_and_compiled_ones_name_the_import_line_of_ours() -> None:
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    tree = scipy.spatial.cKDTree(points)
    for call, cure in (
        (
            lambda x: scipy.ndimage.map_coordinates(x * np.eye(3), [[0.5], [0.4]], order=1),
            "ndimage import map_coordinates`, and map_coordinates(x * np.eye(3), [[0.5], [0.4]], ",
        ),
        (
            lambda x: scipy.optimize.linear_sum_assignment(x * np.eye(3)),
            "optimize import linear_sum_assignment`, and linear_sum_assignment(x * np.eye(3)) as",
        ),
        (lambda x: tree.query(x * np.ones(2)), "spatial import cKDTree`"),
        (
            lambda x: scipy.interpolate.LinearNDInterpolator(points, x * np.ones(3)),
            "interpolate import LinearNDInterpolator`, and LinearNDInterpolator(points, x",
        ),
        (lambda x: scipy.signal.remez(9, [0, x, 0.3, 0.5], [1, 0]), "Use firls or firwin2"),
    ):
        with pytest.raises(LostDerivativeError, match=re.escape(cure)):
            fd.vjp(call, 0.1)


def test_callable_objects_of_scipys_are_refused_as_functions_are() -> None:
    special = fd.scipy.special
    with pytest.raises(UnsupportedNumPyError, match=r"sph_legendre_p of a.*Write sph_harm_y"):
        fd.grad(lambda x: special.sph_legendre_p(2, 1, x))(0.3)
    assert special.legendre_p(2, 0.3) == pytest.approx(-0.365)


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "multivariate_hypergeom": lambda urn, x: urn.pmf([1, 2], [3, 4], x),
    "poisson_binom": lambda trials, x: trials([x / 9, 0.5, 0.7]).pmf(1),
    "random_table": lambda tables, x: tables.mean([3, 2], [x, 2]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_objects_that_are_refused_are_scipys_own_where_nothing_is_traced(name: str) -> None:
    f, plain, ours = REFUSED[name], getattr(scipy.stats, name), getattr(stats, name)
    for found in (ours, pickle.loads(pickle.dumps(ours))):
        np.testing.assert_array_equal(f(found, 3), f(plain, 3))
    with pytest.raises(UnsupportedNumPyError, match=rf"scipy\.stats\.{name} of a traced array"):
        fd.grad(lambda x: f(ours, x))(3.0)
    before = plain.random_state
    ours.random_state = np.random.RandomState(7)
    assert plain.random_state is ours.random_state
    plain.random_state = before


# ---- pickles -------------------------------------------------------------------------------------

X = np.arange(6.0)
PLACES = np.array([[0.0, 0.0], [1.0, 0.1], [0.1, 1.0], [1.1, 1.2]])

OBJECTS: dict[str, tuple[Any, Callable[[Any, Any], Any]]] = {
    "frozen": (stats.gamma(2.0, scale=3.0), lambda d, x: d.logpdf(x)),
    "discrete": (stats.nbinom(2.5, 0.3), lambda d, x: d.logpmf(3) * x),
    "distribution": (stats.norm, lambda d, x: d.logpdf(x)),
    "normal": (
        stats.multivariate_normal(np.zeros(2), np.eye(2)), lambda d, x: d.logpdf(x * np.ones(2))
    ),
    "cubic": (interpolate.CubicSpline(X, X**2), lambda s, x: s(x)),
    "pchip": (interpolate.PchipInterpolator(X, X**2), lambda s, x: s(x)),
    "b-spline": (interpolate.make_interp_spline(X, X**2), lambda s, x: s(x)),
    **{
        name: (
            getattr(interpolate, name)(PLACES, PLACES[:, 0] ** 2),
            lambda s, x: s(x / 9 * np.ones(2))[0],
        )
        for name in ("LinearNDInterpolator", "CloughTocher2DInterpolator")
    },
    "radial": (interpolate.RBFInterpolator(X[:, None], X), lambda s, x: s(x * np.ones((1, 1)))[0]),
    "system": (
        signal.lti([1.0], [1.0, 2.0]), lambda s, x: s.output(x * np.ones(3), [0, 1, 2])[1][2]
    ),
    "rotation": (Rotation.from_rotvec([0.1, 0.2, 0.3]), lambda r, x: r.apply(x * X[:3])[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_a_pickle_is_the_same_object_with_the_same_derivatives(name: str) -> None:
    given, f = OBJECTS[name]
    for found in (pickle.loads(pickle.dumps(given)), copy.deepcopy(given), copy.copy(given)):
        assert type(found) is type(given)
        expected = fd.value_and_grad(lambda x: f(given, x))(1.3)
        assert fd.value_and_grad(lambda x: f(found, x))(1.3) == expected  # noqa: B023


def test_a_pickle_of_a_frozen_distribution_has_its_seed() -> None:
    given = stats.norm(1.0, 2.0)
    given.random_state = 3
    found = pickle.loads(pickle.dumps(given))
    np.testing.assert_array_equal(found.rvs(3), scipy.stats.norm(1.0, 2.0).rvs(3, random_state=3))
    np.testing.assert_array_equal(found.rvs(3), [given.rvs(3), given.rvs(3)][1])
    assert pickle.loads(pickle.dumps(stats.norm)) is stats.norm


def test_no_module_of_ours_hides_names_of_one_of_scipys() -> None:
    hidden = []
    for found in pkgutil.walk_packages(funcdiff.scipy.__path__, "funcdiff.scipy."):
        with suppress(ImportError):
            plain = import_module(found.name.removeprefix("funcdiff."))
            ours = import_module(found.name)
            names = [n for n in getattr(plain, "__all__", dir(plain)) if not n.startswith("_")]
            hidden += [f"{found.name}.{name}" for name in names if not hasattr(ours, name)]
    assert not hidden
