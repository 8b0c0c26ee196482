"""The gradients written by hand in the benchmarks are those of funcdiff."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from docs.benchmarks.workloads.causes import CAUSES
from docs.benchmarks.workloads.in_numpy import funcdiff_eager, funcdiff_jit
from docs.benchmarks.workloads.machine import machine
from docs.benchmarks.workloads.options import NARROW, environment, widest
from docs.benchmarks.workloads.page import page
from docs.benchmarks.workloads.ratios import Setting, cell, means, shortfalls
from docs.benchmarks.workloads.registry import TINY, WORKLOADS
from docs.benchmarks.workloads.timing import Figures, must_agree
from docs.benchmarks.workloads.workload import Workload
from funcdiff.pytree import flatten_with_paths


@pytest.mark.thinned(21)
@pytest.mark.parametrize("w", TINY, ids=lambda w: w.name)
def test_the_gradient_by_hand_is_that_of_the_function(w: Workload) -> None:
    arguments = w.drawn()
    expected = dict(flatten_with_paths(w.by_hand(*arguments))[0])
    for make in (funcdiff_eager, funcdiff_jit):
        found = dict(flatten_with_paths(make(w)(*arguments))[0])
        assert found.keys() == expected.keys()
        for path, x in found.items():
            tolerance = 1e-5 if x.dtype == np.float32 else 1e-10
            assert x.dtype == np.asarray(expected[path]).dtype
            np.testing.assert_allclose(x, expected[path], rtol=tolerance, atol=tolerance)


def test_every_workload_has_a_name_of_its_own() -> None:
    names = [w.name for w in WORKLOADS]
    assert len(set(names)) == len(names)


def test_a_ratio_is_the_median_over_the_rounds_in_which_both_took_part() -> None:
    seconds: dict[str, list[float | None]] = {"fd": [1.0, 2.0, 4.0], "jax": [2.0, None, 20.0]}
    assert Figures("w", seconds).ratio("jax", "fd") == (2.0 + 5.0) / 2
    assert Figures("w", seconds).ratio("torch", "fd") is None


def test_the_page_marks_what_is_slower_than_the_other() -> None:
    assert cell(0.5) == "0.50 ▼"
    assert cell(2.0) == "2.00"
    assert cell(None) == "–"
    figures = [Figures("a", {"fd": [1.0], "by hand": [4.0]}), Figures("b", {"fd": [1.0]})]
    assert "| by hand | – | – | – | 4.00 (0 of 1 below 1) |" in means({Setting(1, 256): figures})


def test_the_page_says_why_a_workload_is_slower() -> None:
    for start in CAUSES:
        assert any(w.name.startswith(start) for w in WORKLOADS)
    seconds: dict[str, list[float | None]] = {"fd.jit": [1.0], "by hand": [0.5], "jax.jit": [2.0]}
    slow, quick = Figures("embedding", seconds), Figures("LSTM", {"fd.jit": [1.0]})
    section = shortfalls({Setting(1, 256): [slow, quick], Setting(2, 512): [slow, quick]})
    assert f"| embedding | 0.50 ▼ | 2.00 | – | {CAUSES['embedding']} |" in section
    assert "LSTM" not in section
    assert shortfalls({Setting(1, 256): [quick]}) == ""


def test_a_wrong_value_is_noticed_before_timing() -> None:
    must_agree({"a": np.array([1.0, 0.0])}, {"a": np.array([1.0, 1e-9])})
    for wrong in ({"a": np.array([1.0, 1e-3])}, {"b": np.array([1.0, 0.0])}):
        with pytest.raises(AssertionError):
            must_agree(wrong, {"a": np.array([1.0, 0.0])})


def test_the_page_shows_every_setting_and_what_was_in_force() -> None:
    names = ("by hand", "fd.jit", "fd", "autograd", "jax.jit", "jax.jit, own", "torch, own")
    seconds: dict[str, list[float | None]] = {name: [1.0, 2.0] for name in names}
    figures = Figures("embedding", seconds, peaks={"by hand": 2, "fd.jit": 3, "fd": 3})
    run = {"rounds": 2, "warm calls": 3, "cpu time": True, "workloads": [asdict(figures)]}
    run |= {"first calls": {"fd": 1e-3}, "slopes": {"n": [10, 100], "fd": [1.0, 2.0]}}
    runs = [run | machine() | {"threads": 1, "bits": bits} for bits in (256, 512)]
    runs[0]["unseen"] = [["a", way, 1.0, 2.0, 3.0, 4.0] for way in ("grad", "vjp", "jvp")]
    text = page(runs)
    for section in ("### `fd.jit`, 1 thread, 512 bits", "### `fd`, 1 thread, 256 bits"):
        assert section in text
    assert "| embedding | 0.0 | 0.0 | 0.0 | 1.50 ▼ |" in text
    assert "| a | 1e+03 | 2e+03 | 0.50 | 0.50 | 0.50 |" in text
    assert page(json.loads(json.dumps(runs))) == text


def test_the_environment_keeps_every_library_to_narrow_vectors() -> None:
    narrow, wide = environment(1, 256), environment(1, widest())
    if widest() > 256:
        assert "--xla_cpu_max_isa=AVX2" in narrow["XLA_FLAGS"]
        assert narrow["OPENBLAS_CORETYPE"] == "Haswell"
    assert not set(NARROW) & set(wide)
