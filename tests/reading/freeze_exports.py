"""Run exported texts in JAX and PyTorch, and freeze what agrees with NumPy.

``python -m tests.reading.freeze_exports`` writes ``exports.json`` and the texts of `GOLDEN`.  It
needs the packages of the ``bench`` extra.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from typing import Any

import jax
import numpy as np
import pytest
import torch

import funcdiff as fd
from tests.reading import spectra
from tests.reading.exporting import (
    FROZEN,
    GOLDEN,
    TEXTS,
    VERIFIED_TARGETS,
    Outcome,
    arguments,
    digest,
    program_of,
    texts,
)
from tests.reading.readable import KEPT
from tests.rules.test_rules import NAMED

FREE_SIGNS = ("svd",)
"""Operations of which the signs of vectors are the library's choice."""


ANY_ORDER = ("argpartition", "partition")
"""Operations of which the order within each part is the library's choice."""


def runner(target: str) -> Any:
    """Return what makes a function of the library's arrays one that is run as it should be."""
    return jax.jit if target == "jax" else lambda f: f


def given(target: str, x: Any) -> Any:
    return jax.numpy.asarray(x) if target == "jax" else torch.as_tensor(np.array(x))


def numpy_of(y: Any) -> Any:
    return y.detach().resolve_conj().numpy() if isinstance(y, torch.Tensor) else np.asarray(y)


def assert_close(found: Any, expected: Any, *, up_to_signs: bool = False) -> None:
    found, expected = numpy_of(found), np.asarray(expected)
    assert found.dtype == expected.dtype, f"dtype {found.dtype} for {expected.dtype}"
    assert found.shape == expected.shape, f"shape {found.shape} for {expected.shape}"
    if up_to_signs:
        found, expected = np.abs(found), np.abs(expected)
    exact = expected.dtype.kind not in "fc"
    tolerance = 0.0 if exact else float(np.finfo(expected.dtype).eps) ** 0.5
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def run(target: str, name: str, text: str) -> str:
    """Return what went wrong; empty if the text computes what NumPy does."""
    scope: dict[str, Any] = {}
    leaves = [np.asarray(x) for x in arguments(name)]
    program = program_of(name)
    if len(leaves) != len(program.inputs):
        return "the sample closes over arrays"
    try:
        exec(text, scope)
        found = runner(target)(scope["program"])(*(given(target, x) for x in leaves))
        with np.errstate(all="ignore"):
            expected = fd.evaluate(program, leaves)
        free = name.rpartition("-")[0] in FREE_SIGNS
        if name.rpartition("-")[0] in ANY_ORDER:
            found, expected = ([np.sort(numpy_of(y), None)] for (y,) in (found, expected))
        for y, z in zip(found, expected, strict=True):
            assert_close(y, z, up_to_signs=free)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:80]}"
    return ""


def outcome(target: str) -> Outcome:
    found: Outcome = {"verified": {}, "failed": {}, "refused": {}}
    for name, text in texts(target, NAMED, found["refused"]):
        if target not in VERIFIED_TARGETS:
            continue
        failure = run(target, name, text)
        if failure:
            found["failed"][name] = failure
        else:
            found["verified"][name] = digest(text)
    return found


def write_texts() -> None:
    """Write the texts of whole functions, and check that those for JAX and PyTorch compute."""
    for name, target in GOLDEN:
        f, args = KEPT[name]
        exported = fd.export(f, target)(*args)
        (TEXTS / f"{name}.{target}.txt").write_text(exported.source, encoding="utf-8")
        if target not in VERIFIED_TARGETS:
            continue
        again = pickle.loads(pickle.dumps(exported))
        for call in (exported, runner(target)(again)):
            found, expected = (fd.pytree.flatten(g(*args))[0] for g in (call, f))
            for y, z in zip(found, expected, strict=True):
                assert_close(y, z)


def check_spectra(target: str) -> dict[str, str]:
    """Check derivatives of spectra, NaN where there is none; return digests of their texts."""
    digests = {}
    for name, (f, a) in spectra.CASES.items():
        exported = spectra.exported(name, target)
        assert_close(runner(target)(exported)(given(target, a)), fd.grad(f)(a))
        digests[name] = digest(exported.source)
    a = spectra.REPEATED
    nowhere = fd.export(fd.grad(spectra.dependent), target)(spectra.A)  # type: ignore[arg-type]
    assert np.isnan(numpy_of(runner(target)(nowhere)(given(target, a)))).all()
    return digests


def check_precision_of_jax() -> None:
    """Check that double precision is refused where JAX would round it, and single is not."""
    double = fd.export(fd.grad(lambda x: np.sum(x**3)), "jax")(np.ones(2))
    single = fd.export(fd.grad(lambda x: np.sum(x**3)), "jax")(np.ones(2, np.float32))
    with jax.enable_x64(False):
        for call in (double, jax.jit(double)):
            with pytest.raises(TypeError, match="jax_enable_x64"):
                call(np.ones(2))
        assert_close(single(np.ones(2, np.float32)), np.full(2, 3, np.float32))


def check_device_of_pytorch() -> None:
    """Check that nothing stays on the CPU where arguments are elsewhere, in memory or not."""
    table = np.arange(40.0).reshape(20, 2) ** 1.5
    small = np.array([1.0, 2.5])

    def f(scale: Any, x: Any) -> Any:
        return np.sum((table @ (x * small)) ** 2 * np.arange(20)) * scale

    x = torch.ones(2, dtype=torch.float64, device="meta")
    assert fd.export(fd.grad(f, 1), "torch")(2.0, np.ones(2))(2.0, x).device.type == "meta"


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    warnings.simplefilter("ignore")  # of arguments that are not finite
    write_texts()
    check_precision_of_jax()
    check_device_of_pytorch()
    digests = {target: check_spectra(target) for target in VERIFIED_TARGETS}
    spectra.FROZEN.write_text(
        json.dumps(digests, indent=0, sort_keys=True) + "\n", encoding="utf-8"
    )
    found = {target: outcome(target) for target in (*VERIFIED_TARGETS, "cupy")}
    FROZEN.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    for target, parts in found.items():
        sys.stdout.write(f"{target}: {len(parts['verified'])} verified, {parts['failed']}\n")


if __name__ == "__main__":
    main()
