"""What is private in SciPy, by its version: one table, and functions that say what they miss."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest
import scipy

import funcdiff as fd
import funcdiff.scipy
from funcdiff.errors import MissingDependencyError
from funcdiff.scipy.covered import public_names, table
from funcdiff.scipy.places import EARLIER, ONLY_BEFORE, ONLY_FROM, PLACES, missing, place
from tests.scipy.used_calls import CALLS, assert_right

HERE = Path(funcdiff.__file__).parent
VERSION = tuple(int(part) for part in scipy.__version__.split(".")[:2])
WINGS = [
    found.name
    for found in walk_packages(funcdiff.scipy.__path__, "funcdiff.scipy.")
    if found.ispkg and "primitives" not in found.name
]
RIGHT = {name: (call, arrays) for name, _, call, arrays in CALLS if call is not None}
OTHERS = ["scipy.sparse._sparsetools", "scipy.special._ufuncs"]
"""What the layers below use: with a check whether it is there."""


def _promised() -> dict[str, set[str]]:
    """Return modules and names that the table says this version has."""
    found = {module: set(names.split()) for module, names in PLACES.items()}
    for bounds, is_in in ((ONLY_FROM, VERSION.__ge__), (ONLY_BEFORE, VERSION.__lt__)):
        for version, names_of in bounds.items():
            for module, names in names_of.items():
                if is_in(version):
                    found.setdefault(module, set()).update(names.split())
    return found


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.thinned(28)
def test_calls_of_all_wings_have_scipys_values_and_derivatives(name: str) -> None:
    call, arrays = RIGHT[name]
    assert_right(call, arrays)


def test_every_place_is_where_the_table_says() -> None:
    for module, names in _promised().items():
        for name in names:
            place(module, name)


def test_no_function_is_disabled() -> None:
    for wing in WINGS:
        import_module(wing)
    assert missing == {}


def test_every_private_module_that_is_named_is_in_the_table() -> None:
    known = {*PLACES, *EARLIER, *EARLIER.values(), *OTHERS}
    known |= {m for bounds in (ONLY_FROM, ONLY_BEFORE) for found in bounds.values() for m in found}
    for path in HERE.rglob("*.py"):
        named = re.findall(r'"(scipy(?:\.\w+)*\._\w[\w.]*)"', path.read_text())
        assert set(named) <= known, path


def test_every_private_name_that_is_covered_is_in_the_table() -> None:
    for wing in WINGS:
        import_module(wing)
    listed = {module: set(names.split()) for module, names in PLACES.items()}
    for bounds in (ONLY_FROM, ONLY_BEFORE):
        for found in bounds.values():
            for module, names in found.items():
                listed.setdefault(module, set()).update(names.split())
    for now, before in EARLIER.items():
        listed.setdefault(before, set()).update(listed.get(now, set()))
    for module, covered in table.items():
        if "._" in module:
            assert set(covered) <= listed[module], module


@pytest.mark.parametrize("wing", WINGS)
def test_every_public_name_of_scipys_is_there(wing: str) -> None:
    plain, ours = import_module(wing.removeprefix("funcdiff.")), import_module(wing)
    for name in public_names(plain):
        assert name in dir(ours)
        if name not in ("interp2d", "matlab"):  # SciPy has them raise
            getattr(ours, name)


def test_a_place_that_is_missing_is_named_with_function_and_version() -> None:
    with pytest.raises(
        MissingDependencyError,
        match=rf"^scipy.stats.skew needs scipy.stats._none.one, which SciPy {scipy.__version__} "
        rf'does not have, at .*test_versions.py.*Install .*"funcdiff\[scipy\]"',
    ):
        place("scipy.stats._none", "one", user="scipy.stats.skew")


_WITHOUT = """
import sys
import numpy as np
import scipy.stats, scipy.interpolate
for module in ("scipy.stats._kde", "scipy.stats._stats_mstats_common", "scipy.stats._multivariate",
               "scipy.stats._stats_py", "scipy.interpolate._polyint"):
    sys.modules[module] = None
import funcdiff as fd
from funcdiff.scipy import interpolate, stats
x = np.arange(1.0, 6.0)
print(fd.grad(lambda x: stats.skew(x) + stats.norm.logpdf(x[0]))(x).shape)
print(fd.grad(lambda y: interpolate.CubicSpline(x, y)(2.5))(x).shape)
print(stats.siegelslopes(x, x).slope, stats.gaussian_kde(x)(3.0).shape)
for f in (lambda x: stats.siegelslopes(x, np.arange(5.0)).slope,
          lambda x: stats.gaussian_kde(x)(3.0)[0],
          lambda x: stats.multivariate_normal.logpdf(x, x),
          lambda x: stats.describe(x).mean,
          lambda x: interpolate.BarycentricInterpolator(np.arange(5.0), x)(0.5)):
    try:
        fd.grad(f)(x)
    except Exception as error:
        print(error)
"""


@pytest.mark.slow
def test_a_missing_module_disables_the_functions_that_need_it_alone(tmp_path: Path) -> None:
    script = tmp_path / "without.py"  # from whose lines a message knows what was called
    script.write_text(_WITHOUT)
    run = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join([str(HERE.parent), *sys.path])),
    )
    assert run.returncode == 0, run.stderr
    said = run.stdout.splitlines()
    assert said[:3] == ["(5,)", "(5,)", "1.0 (1,)"]
    wanted = (
        "siegelslopes.*_stats_mstats_common", "gaussian_kde.*_kde",
        "multivariate_normal.*_multivariate", "describe.*_stats_py", "_polyint",
    )  # fmt: skip
    for line, words in zip(said[3:], wanted, strict=True):
        assert re.search(words, line), line
        assert f"SciPy {scipy.__version__} does not have" in line


def test_eigenvalues_are_real_where_numpys_are() -> None:
    generator = np.random.default_rng(0)
    root = generator.normal(size=(3, 3))
    for m in (root @ root.T + np.eye(3), root - root.T, -root @ root.T - np.eye(3)):
        for f in (
            lambda m: np.linalg.eigvals(m),
            lambda m: np.linalg.eig(m)[0],
            lambda m: np.roots(np.stack([1.0, 9.0 + m[0, 0] ** 2, m[0, 1]])),
        ):
            expected, (value, _) = f(m), fd.vjp(f, m)
            assert value.dtype == expected.dtype
            np.testing.assert_allclose(value, expected)
        with np.errstate(invalid="ignore"):
            expected = np.sum(np.abs(np.sqrt(np.linalg.eigvals(m))))
            found = fd.vjp(lambda m: np.sum(np.abs(np.sqrt(np.linalg.eigvals(m)))), m)[0]
        np.testing.assert_allclose(found, expected)
