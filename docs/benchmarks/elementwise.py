"""Elementwise functions: NumPy's, funcdiff's machine code, numexpr's, numba's and XLA's.

Run ``python -m docs.benchmarks.elementwise [--bits 256] [--size 100000] [name ...]``; who is not
installed is left out (``pip install funcdiff[llvm] numexpr numba jax``).  Printed are nanoseconds
an element, of float64 and float32, in one thread, the smallest of several rounds of CPU time; then,
in milliseconds, gradients of some workloads by hand and by ``jit``.  ``--bits 256`` keeps all from
vectors of 512 bits, as on a processor without AVX-512.  A name chooses functions and workloads.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import funcdiff as fd
from docs.benchmarks.workloads.in_numpy import funcdiff_eager
from docs.benchmarks.workloads.options import environment, widest
from docs.benchmarks.workloads.registry import WORKLOADS
from docs.benchmarks.workloads.workload import Workload

FUNCTIONS: Final = (
    *("sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("arctan", "erf", "logaddexp(x, 0)", "x**3", "x**2.5"),
)
ROWS: Final = (
    *("tanh chain, n = 10", "tanh chain, n = 1000", "tanh chain, n = 100000", "Black-Scholes, n ="),
    *("sums by owner", "attention", "LSTM, 100 steps, scan", "logistic regression"),
)
ROUNDS: Final = 7
ENTRY: Final = "FUNCDIFF_ELEMENTWISE"
"""Set in the environment of the process that measures."""


def called(np_: Any, name: str, x: Any) -> Any:
    """Return a function of an array by a library that has NumPy's names."""
    if name == "logaddexp(x, 0)":
        return np_.logaddexp(x, 0.0 * x)
    if name.startswith("x**"):
        return x ** (int(name[3:]) if name[3:].isdigit() else float(name[3:]))
    return np_.erf(x) if name == "erf" else getattr(np_, name)(x)


def numpy_names() -> Any:
    """Return NumPy with SciPy's error function."""
    erf = importlib.import_module("scipy.special").erf
    return SimpleNamespace(**vars(np) | {"erf": erf})


def by_jit(engine: Any) -> Callable[[str, Any], Callable[[], Any]]:
    """Return the way of funcdiff's compiled functions."""

    def make(name: str, x: Any) -> Callable[[], Any]:
        return partial(fd.jit(lambda x: called(numpy_names(), name, x), engine=engine), x)

    return make


def by_numpy(name: str, x: Any) -> Callable[[], Any]:
    """Return the way of plain NumPy."""
    return lambda: called(numpy_names(), name, x)


def by_numexpr(name: str, x: Any) -> Callable[[], Any]:
    """Return the way of numexpr, whose wheels have no vector library."""
    library = importlib.import_module("numexpr")
    library.set_num_threads(1)
    text = name if name.startswith("x**") else f"{name}(x)"
    library.evaluate(text, {"x": x})
    return lambda: library.re_evaluate({"x": x})


def by_numba(name: str, x: Any) -> Callable[[], Any]:
    """Return the way of numba: a loop, without fast mathematics."""
    library = importlib.import_module("numba")
    body = {"erf": "math.erf(x[i])", "logaddexp(x, 0)": "np.logaddexp(x[i], 0.0 * x[i])"}
    term = body.get(name, name.replace("x", "x[i]") if "**" in name else f"np.{name}(x[i])")
    names: dict[str, Any] = {"np": np, "math": importlib.import_module("math")}
    text = f"def loop(x, y):\n    for i in range(x.size):\n        y[i] = {term}\n    return y\n"
    exec(text, names)
    return partial(library.njit(error_model="numpy")(names["loop"]), x, np.empty_like(x))


def by_jax(name: str, x: Any) -> Callable[[], Any]:
    """Return the way of XLA, on its own array."""
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    numpy = SimpleNamespace(**vars(jax.numpy) | {"erf": jax.scipy.special.erf})
    run, own = jax.jit(lambda x: called(numpy, name, x)), jax.numpy.asarray(x)
    return lambda: run(own).block_until_ready()


WAYS: Final[dict[str, tuple[str, Callable[[str, Any], Callable[[], Any]]]]] = {
    "NumPy": ("scipy", by_numpy),
    "fd.jit": ("scipy", by_jit("numpy")),
    "fd.jit llvm": ("llvmlite", by_jit("llvm")),
    "numexpr": ("numexpr", by_numexpr),
    "numba": ("numba", by_numba),
    "XLA": ("jax", by_jax),
}


def smallest(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return seconds of CPU time for each call, which take turns."""
    found = dict.fromkeys(calls, np.inf)
    numbers = {}
    for name, call in calls.items():
        for _ in range(3):
            start = time.process_time()
            call()
            once = time.process_time() - start
        numbers[name] = max(1, min(2000, int(0.01 / max(once, 1e-6))))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(numbers[name]):
                call()
            found[name] = min(found[name], (time.process_time() - start) / numbers[name])
    return found


def table(title: str, rows: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Print a table in Markdown."""
    columns = list(dict.fromkeys(column for _, cells in rows for column in cells))
    print(f"\n| {title} | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    for name, cells in rows:
        print(f"| {name} | {' | '.join(cells.get(column, '') for column in columns)} |", flush=True)


def functions(dtype: type, size: int, names: Sequence[str]) -> None:
    """Print nanoseconds an element of functions."""
    x: Any = np.random.default_rng(0).uniform(0.1, 0.9, size).astype(dtype)
    rows = []
    for name in names:
        calls = {}
        for way, (module, make) in WAYS.items():
            if importlib.util.find_spec(module) is None:
                continue
            try:
                call = make(name, x)
                call()
            except Exception:  # no such function there
                continue
            calls[way] = call
        found = smallest(calls)
        rows.append((name, {way: f"{1e9 * t / size:.2f}" for way, t in found.items()}))
    table(f"ns an element, {dtype.__name__}", rows)


def gradients(names: Sequence[str]) -> None:
    """Print milliseconds of gradients."""
    rows = []
    for w in (w for w in WORKLOADS if any(name in w.name for name in names)):
        arguments = w.drawn()
        calls: dict[str, Callable[[], Any]] = {"by hand": partial(w.by_hand, *arguments)}
        for title, engine in (("fd.jit", "numpy"), ("fd.jit llvm", "llvm")):
            calls[title] = partial(fd.jit(funcdiff_eager(w), engine=engine), *arguments)  # type: ignore[call-overload]
        if importlib.util.find_spec("jax") is not None:
            calls["XLA"] = in_jax(w, arguments)
        rows.append((w.name, {way: f"{1e3 * t:.3g}" for way, t in smallest(calls).items()}))
    table("ms, gradient", rows)


def in_jax(w: Workload, arguments: Any) -> Callable[[], Any]:
    """Return JAX's compiled derivative on its own arrays."""
    ways = importlib.import_module("docs.benchmarks.workloads.in_jax")
    return partial(ways.compiled_on_own_arrays(w), *ways.own_arrays(arguments))


def keep_llvm_narrow() -> None:
    """Let LLVM make code for a processor without vectors of 512 bits."""
    llvm: Any = importlib.import_module("llvmlite.binding")
    llvm.get_host_cpu_name = lambda: "haswell"
    llvm.get_host_cpu_features = lambda: SimpleNamespace(flatten=lambda: "")


def main() -> None:
    """Measure in a process of its own, whose environment says how wide vectors may be."""
    parser = argparse.ArgumentParser(prog="python -m docs.benchmarks.elementwise")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--bits", type=int, default=widest(), choices=(256, 512))
    parser.add_argument("--size", type=int, default=100_000)
    given = parser.parse_args()
    if ENTRY not in os.environ:
        variables = environment(1, given.bits) | {ENTRY: "1"}
        if given.bits < widest():
            variables |= {"NUMBA_CPU_NAME": "haswell"}
        command = [sys.executable, "-m", "docs.benchmarks.elementwise", *sys.argv[1:]]
        raise SystemExit(subprocess.run(command, env=variables, check=False).returncode)
    if importlib.util.find_spec("llvmlite") is not None and "haswell" in os.environ.get(
        "NUMBA_CPU_NAME", ""
    ):
        keep_llvm_narrow()
    fd.set_num_threads(1)
    print(f"vectors of at most {given.bits} bits, n = {given.size}")
    chosen = [f for f in FUNCTIONS if not given.names or f in given.names]
    if chosen:
        for dtype in (np.float64, np.float32):
            functions(dtype, given.size, chosen)
    rows = given.names or ROWS
    if any(name in w.name for name in rows for w in WORKLOADS):
        gradients(rows)


if __name__ == "__main__":
    main()
