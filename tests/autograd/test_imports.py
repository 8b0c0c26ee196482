"""Programs that import autograd find funcdiff, and nothing stays of it behind."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.autograd
from funcdiff.autograd.__main__ import main
from funcdiff.autograd.imports import in_place_of_autograd

SCRIPT = """
import sys
import autograd.numpy as np
from autograd import grad
assert __name__ == "__main__"
np.save(sys.argv[1], grad(np.tanh)(float(sys.argv[2])))
"""


MODULES = """
builtins core differential_operators extend misc.fixed_points misc.optimizers misc.tracers numpy
numpy.fft numpy.linalg numpy.numpy_boxes numpy.numpy_jvps numpy.numpy_vjps numpy.numpy_vspaces
numpy.numpy_wrapper numpy.random scipy scipy.integrate scipy.linalg scipy.signal scipy.special
scipy.stats scipy.stats.norm test_util tracer util wrap_util
"""

NAMES = [
    "differential_operators: make_jvp_reversemode unary_to_nary _make_vjp _make_jvp",
    "builtins: DictBox SequenceBox NamedTupleVSpace subvals",
    "core: getval isbox primitive_vjps primitive_jvps VJPNode primitive_with_deprecation_warnings",
    "test_util: check_vjp check_jvp make_numerical_jvp",
    "wrap_util: wraps wrap_nary_f get_name get_doc",
    "numpy.numpy_jvps: broadcast",
    "numpy.numpy_wrapper: _astype wrap_namespace concatenate_args array_from_args metadata",
    "numpy.numpy_vjps: balanced_eq match_complex repeat_to_match_shape replace_zero defvjp",
    "numpy.numpy_boxes: ArrayBox SequenceBox",
    "util: func subval subvals toposort",
    "scipy.special: gammaln logsumexp",
]


def test_the_alias_is_the_same_module() -> None:
    with in_place_of_autograd():
        for name in ("", ".numpy", ".numpy.linalg", ".scipy.stats.norm", ".misc.flatten"):
            alias = import_module(f"autograd{name}")
            assert alias is import_module(f"funcdiff.autograd{name}")
    spec = funcdiff.autograd.__spec__
    assert spec is not None
    assert spec.name == "funcdiff.autograd"


def test_what_the_name_meant_before_it_means_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "autograd", ModuleType("autograd"))
    theirs = sys.modules["autograd"]
    with in_place_of_autograd():
        assert import_module("autograd") is funcdiff.autograd
    assert sys.modules["autograd"] is theirs


def test_a_function_stays_what_it_is_when_the_module_of_its_name_is_imported() -> None:
    with in_place_of_autograd():
        module = import_module("autograd.misc.flatten")
        assert import_module("autograd.misc").flatten is module.flatten


def test_a_module_that_is_not_there_is_named() -> None:
    with (
        in_place_of_autograd(),
        pytest.raises(ModuleNotFoundError, match=r"has no module 'numpy\.numpy_extra'"),
    ):
        import_module("autograd.numpy.numpy_extra")


@pytest.mark.parametrize("as_module", [False, True])
def test_a_script_runs_as_it_is(
    as_module: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, result = tmp_path / "run_alone.py", tmp_path / "result.npy"
    script.write_text(SCRIPT, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    main([*(["-m", "run_alone"] if as_module else [str(script)]), str(result), "0.5"])
    assert np.load(result) == fd.grad(np.tanh)(0.5)


WORKERS = """
import multiprocessing, subprocess, sys
import autograd
def module(_):
    import autograd.misc
    return autograd.grad.__module__
if __name__ == "__main__":
    if sys.argv[1] == "subprocess":
        code = "from autograd.numpy import linalg; import autograd; print(autograd.grad.__module__)"
        subprocess.run([sys.executable, "-c", code])
    else:
        with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
            print(pool.map(module, [0]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        "subprocess",
        pytest.param("spawn", marks=pytest.mark.slow),
        pytest.param("forkserver", marks=pytest.mark.slow),
    ],
)
def test_workers_of_a_program_find_funcdiff_too(how: str, tmp_path: Path) -> None:
    script = tmp_path / "with_workers.py"
    script.write_text(WORKERS, encoding="utf-8")
    run = [sys.executable, "-m", "funcdiff.autograd", str(script), how]
    found = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert "funcdiff.autograd.differential_operators" in found


def test_the_environment_is_what_it_was_behind_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "run_alone.py"
    script.write_text("import os, sys; sys.argv.append(os.environ['PYTHONPATH'])", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", sys.argv)
    for before in ("somewhere", None):
        if before is None:
            monkeypatch.delenv("PYTHONPATH", raising=False)
        else:
            monkeypatch.setenv("PYTHONPATH", before)
        path = sys.path[1:]
        main([str(script)])
        assert "workers" in sys.argv[-1]
        assert sys.argv[-1].endswith(before or "workers")
        assert os.environ.get("PYTHONPATH") == before
        assert sys.path[1:] == path


def test_submodules_are_attributes_as_they_are_in_autograd() -> None:
    for path in MODULES.split():
        found: Any = funcdiff.autograd
        for name in path.split("."):
            found = getattr(found, name)
        assert found is import_module(f"funcdiff.autograd.{path}"), path


@pytest.mark.parametrize("path", NAMES)
def test_a_name_that_packages_take_is_there(path: str) -> None:
    module, _, names = path.partition(": ")
    found = import_module(f"funcdiff.autograd.{module}")
    for name in names.split():
        assert getattr(found, name) is not None


def test_without_a_script_the_usage_is_shown() -> None:
    with pytest.raises(SystemExit, match=r"usage: python -m funcdiff\.autograd"):
        main([])


@pytest.mark.slow
def test_importing_funcdiff_imports_none_of_it() -> None:
    code = "import funcdiff, sys; sys.exit('funcdiff.autograd' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_names_of_numpy_and_scipy_are_funcdiffs() -> None:
    anp = import_module("funcdiff.autograd.numpy")
    assert anp.array is fd.numpy.array
    assert "sin" in dir(anp)
    assert anp.numpy_version
    linalg = import_module("funcdiff.autograd.scipy.linalg")
    assert linalg.solve_banded is fd.scipy.linalg.solve_banded
    assert "expm" in dir(linalg)
    stats = import_module("funcdiff.autograd.scipy.stats")
    assert stats.gamma.logpdf(1.0, 2.0) == fd.scipy.stats.gamma.logpdf(1.0, 2.0)
    assert "norm" in dir(stats)
    assert stats.expon is fd.scipy.stats.expon
