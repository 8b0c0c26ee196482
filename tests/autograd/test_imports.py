"""Programs that import autograd find funcdiff, and nothing stays of it behind."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

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
