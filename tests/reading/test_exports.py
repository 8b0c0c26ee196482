"""Texts for other libraries: those that were run there, what is refused, how they are called."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from docs import exports
from funcdiff.errors import InputError, ProgramError
from funcdiff.reading.views import TARGETS, Exported, Target
from tests.reading import spectra
from tests.reading.exporting import FROZEN, GOLDEN, TEXTS, VERIFIED_TARGETS, digest, frozen, texts
from tests.reading.readable import KEPT
from tests.rules.test_rules import NAMED

FIRST = [name for name in NAMED if name.endswith("-0")]


def assert_frozen(target: str, names: list[str]) -> None:
    """Assert that what was run is written as it was; samples may have come since."""
    verified = frozen()[target]["verified"]
    known = [name for name in names if name in verified]
    written = {name: digest(text) for name, text in texts(target, known, {})}
    changed = [name for name in known if written.get(name) != verified[name]]
    assert changed == [], "run python -m tests.reading.freeze_exports"


@pytest.mark.parametrize("target", VERIFIED_TARGETS)
def test_what_is_written_is_what_was_run(target: str) -> None:
    assert_frozen(target, FIRST[::4])


@pytest.mark.slow
@pytest.mark.parametrize("target", VERIFIED_TARGETS)
def test_all_that_is_written_is_what_was_run(target: str) -> None:
    assert_frozen(target, list(NAMED))


@pytest.mark.slow
@pytest.mark.parametrize("target", VERIFIED_TARGETS)
def test_derivatives_of_spectra_are_written_as_they_were_run(target: Target) -> None:
    frozen_spectra = json.loads(spectra.FROZEN.read_text(encoding="utf-8"))
    found = {name: digest(spectra.exported(name, target).source) for name in spectra.CASES}
    assert found == frozen_spectra[target], "run python -m tests.reading.freeze_exports"


@pytest.mark.parametrize("name", ["vectors of eigh", "vectors of svd", "vectors of eig", "det"])
def test_derivatives_of_spectra_are_exported(name: str) -> None:
    frozen_spectra = json.loads(spectra.FROZEN.read_text(encoding="utf-8"))
    for target in VERIFIED_TARGETS:
        assert digest(spectra.exported(name, target).source) == frozen_spectra[target][name]


@pytest.mark.parametrize(("name", "target"), GOLDEN)
def test_whole_functions_are_written_as_somebody_has_read_them(name: str, target: Target) -> None:
    f, args = KEPT[name]
    kept = (TEXTS / f"{name}.{target}.txt").read_text(encoding="utf-8")
    assert fd.export(f, target)(*args).source == kept


def test_the_page_is_what_its_generator_writes() -> None:
    assert exports.PAGE.read_text(encoding="utf-8") == exports.page(), "run python -m docs.exports"
    assert exports.FROZEN == FROZEN


# ---- calls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cross_entropy_gradient", "recurrent_gradient", "square_root"])
def test_a_text_for_cupy_computes_where_numpy_stands_in_for_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", np)
    f, args = KEPT[name]
    found, expected = (fd.pytree.flatten(g(*args))[0] for g in (fd.export(f, "cupy")(*args), f))
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-12)


TABLE = np.arange(40.0).reshape(20, 2) ** 1.5


def with_table(x: Any) -> Any:
    return TABLE @ np.sin(x)


def test_an_exported_function_has_its_text_and_the_arrays_that_it_closes_over() -> None:
    x = np.array([0.3, 0.7])
    exported = pickle.loads(pickle.dumps(fd.export(with_table, "numpy")(x)))
    assert isinstance(exported, Exported)
    assert (exported.target, exported.name) == ("numpy", "with_table")
    assert list(exported.captured) == ["TABLE"]
    for _ in range(2):
        np.testing.assert_array_equal(exported(x), with_table(x))
    np.testing.assert_array_equal(exported(x, TABLE=2 * TABLE), 2 * with_table(x))
    assert repr(exported).startswith("<with_table for numpy: ")
    assert "funcdiff" not in exported.source.split('"""', 2)[2]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", [0, 1])
def test_empty_arrays_and_numbers_are_written(target: Target, size: int) -> None:
    def f(p: Any, scale: float) -> Any:
        return {"y": np.cumsum(p["x"][::-1]) * scale, "n": p["x"].size}

    x = np.ones(size, np.float32)
    exported = fd.export(f, target)({"x": x}, 2.0)
    assert exported.source.isascii()
    if target == "numpy":
        found = exported({"x": x}, 2.0)
        np.testing.assert_array_equal(found["y"], 2 * np.ones(size))
        assert found["n"] == size


def doubled(x: Any) -> Any:
    return x * 2 + x[0]


def test_jax_is_asked_for_double_precision_only_where_it_is_used() -> None:
    for dtype, asked in ((np.float32, False), (np.float64, True), (np.complex128, True)):
        x: Any = np.ones(2, dtype)
        text = fd.export(doubled, "jax")(x).source
        assert ("jax_enable_x64" in text) is asked
    counted = fd.export(lambda x: np.sum(np.sort(x)), "jax")(np.arange(3)).source
    assert "jax_enable_x64" not in counted


def test_pytorch_makes_arrays_on_the_device_of_the_first_argument_that_has_axes() -> None:
    def f(scale: float, x: Any) -> Any:
        return np.arange(3) * x * scale

    text = fd.export(f, "torch")(2.0, np.ones(3)).source
    assert "    with x.device:\n" in text
    assert ".device" not in fd.export(doubled, "torch")(np.ones(3)).source


def _hidden(x: Any) -> Any:
    return np.sum(x**2)


@pytest.mark.parametrize("word", ["_hidden", "max", "np", "double__name_"])
def test_functions_of_any_name_are_called(word: str) -> None:
    def f(x: Any) -> Any:
        return _hidden(x)

    f.__name__ = f.__qualname__ = word
    for derived in (f, fd.grad(f)):
        exported = fd.export(derived, "numpy")(np.ones(2))
        np.testing.assert_array_equal(exported(np.ones(2)), derived(np.ones(2)))


# ---- what is refused -----------------------------------------------------------------------------


def solver(f: Any, x: Any) -> Any:
    return x - f(x)


def iterated(x: Any) -> Any:
    return KEPT["square_root"].f(x)["root"]


def implicit(x: Any) -> Any:
    return fd.custom_root(lambda y: y - x, x, solver)


REFUSED: list[tuple[Any, tuple[Any, ...], Target, str]] = [
    (lambda x: fd.scipy.special.jv(1.5, x), (2.0,), "jax", "jv cannot be written as JAX"),
    (lambda x: fd.scipy.special.dawsn(x), (2.0,), "torch", "PyTorch has no counterpart of scipy"),
    (fd.grad(iterated), (2.0,), "jax", "use fori_loop or scan"),
    (implicit, (1.0,), "jax", "root cannot be written as JAX code: it needs"),
    (lambda x: fd.scipy.special.gammaln(x), (2.0,), "cupy", "no counterpart of scipy.special"),
    (lambda x: np.sort(x), (np.array([1j, 2.0]),), "torch", "does not order complex numbers"),
    (lambda x: x + 1, (np.ones(2, np.longdouble),), "jax", "no counterpart of numpy.longdouble"),
]


@pytest.mark.parametrize(("f", "args", "target", "message"), REFUSED)
def test_what_a_library_lacks_is_refused_by_name(
    f: Any, args: tuple[Any, ...], target: Target, message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        fd.export(f, target)(*args)


def test_a_target_that_there_is_not_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"'tensorflow' at .*Give one of 'cupy', 'jax'"):
        fd.export(np.sin, "tensorflow")  # type: ignore[arg-type]


def test_a_parameter_that_hides_the_library_is_refused() -> None:
    def f(jnp: Any) -> Any:
        return np.sin(jnp)

    with pytest.raises(InputError, match="a parameter named jnp"):
        fd.export(f, "jax")(1.0)
    assert "def f(jnp)" in fd.export(f, "numpy")(1.0).source


@pytest.mark.slow
def test_nothing_of_the_libraries_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys, funcdiff; "
        "sys.exit(any(name.startswith('funcdiff.reading.export.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
