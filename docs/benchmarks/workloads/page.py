"""The page of the documentation that shows the figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from docs.benchmarks.workloads.absolute import (
    first_calls,
    first_calls_of_workloads,
    left_out,
    memory,
    slopes,
    times,
    unseen,
)
from docs.benchmarks.workloads.ratios import (
    GOAL,
    Measured,
    Setting,
    means,
    means_by_kind,
    measured,
    of_setting,
    shortfalls,
    table,
)

PAGE: Final = Path(__file__).parents[3] / "docs" / "benchmarks.md"
FIRST: Final = Path(__file__).parents[1] / "asv" / "first.md"
"""The first result of airspeed velocity."""

HEAD: Final = """# Benchmarks

<!-- Written by `python -m docs.benchmarks.workloads --write`. -->

This page compares the time that a gradient takes in funcdiff and in other libraries, for whole
programs. A program makes every table:

```sh
python -m pip install -e ".[bench,scipy]"
python -m docs.benchmarks.workloads --write
```

[What SciPy's functions cost](scipy.md#what-it-costs), beside those of `jax.scipy`, is measured by
`python -m docs.benchmarks.scipy_functions`. The evaluations of GradBench have
[a page of their own](gradbench.md).

A cell is the other's time divided by funcdiff's: **2.0 means that funcdiff takes half the time**,
and a cell below {goal:g} is marked with ▼, because there funcdiff is slower. All workloads are
shown, and those that a contestant cannot run are listed at the end with the reason.

How it is measured: the values of all are checked against each other first. They run in one process
and take turns in {rounds} rounds; a ratio is taken in each round, and the median of the ratios is
shown. After the check each is called for a second or 1,300 times, but {warm} times at least, before
the first round, so that programs are compiled, by the engine that `jit` stays with, and allocators
have their memory; one whose calls take seconds is called three times, and takes turns in some
rounds only. Each setting below has a process of its own.

- `fd.jit` is `fd.jit(fd.grad(f))`, which makes [machine code](jit.md#machine-code) of programs
  where that is estimated to pay, with the package `llvmlite`, and calls NumPy elsewhere.
- `fd` is `fd.grad(f)`, which traces `f` again wherever anything that `f` sees may have changed.
  Here nothing has; with new arrays of data in each call, as of small batches, it takes some 20 µs
  more, and 1 to 4 for each operation.
- `fd.jit, numpy` is `fd.jit(fd.grad(f), engine="numpy")`: what `fd.jit` is without `llvmlite`.
- `fd.jit, llvm` is `fd.jit(fd.grad(f), engine="llvm")`: whole programs, or chains of elementwise
  operations, are machine code.
- **by hand** is the derivative by somebody who tried: products of matrices where they replace
  temporaries, one forward pass that is used again, `out=` and sums in place, Python's numbers where
  arrays are of two elements, and SciPy where it has what is wanted (inverses of factors, sparse
  products, distributions).
- **autograd** is HIPS autograd: the same text of the function, by `autograd.numpy`.
- **jax.jit** is `jax.jit(jax.grad(f))` with `float64` enabled, from NumPy's arrays to NumPy's;
  **jax.jit, own** has JAX's arrays, made before, and ends with `block_until_ready`. Loops are
  `jax.lax.scan` or `fori_loop`, also where funcdiff has a loop of Python.
- **torch** is `backward()` on tensors that share NumPy's memory (`torch.autograd.functional` for
  matrices and products); **torch, own** has tensors of its own.

`--threads 1 2` measures with two threads, too, `--bits` with the vectors wanted, and
`--contestants` names those that take part, also two that are not shown unless they are named:
`jax`, operation by operation, and `torch.func`.
"""


def page(runs: Sequence[dict[str, Any]]) -> str:
    """Return the text of the page from the runs of all settings."""
    found = measured(runs)
    first = next(iter(found.values()))
    parts = [
        HEAD.format(goal=GOAL, rounds=runs[0]["rounds"], warm=runs[0]["warm calls"]),
        machine(runs),
        means(found),
        means_by_kind(found),
        shortfalls(found),
        *tables(found, "Compiled", "fd.jit"),
        *tables(found, "Compiled, by NumPy alone", "fd.jit, numpy"),
        *tables(found, "Compiled, all as machine code", "fd.jit, llvm"),
        *tables(found, "Eager", "fd"),
        others(first),
        times(next(iter(found)), first),
        memory(first),
        unseen(runs),
        first_calls(runs),
        first_calls_of_workloads(first),
        slopes(runs),
        left_out(found),
        FIRST.read_text(encoding="utf-8"),
    ]
    return "\n".join(part for part in parts if part)


_KERNELS: Final = """\
With 512 bits each library chooses its kernels itself, with 256 bits they are kept to AVX2 by the
variables shown, as they are on processors without AVX-512. Two exceptions: XLA's products of
matrices are made by YNNPACK, which looks at the processor itself and knows no such variable, so at
256 bits they still have 512, which favours JAX wherever products take most of the time; and
PyTorch's BLAS is kept to AVX2 in both, on processors that are not Intel's.
"""


def machine(runs: Sequence[dict[str, Any]]) -> str:
    """Return the section of the machine and of what was in force in each setting."""
    first = runs[0]
    width = first["widest"]
    text = (
        "## Machine and settings\n\n"
        f"{first['cpu']}, {first['cores']} cores, {first['system']}, with vectors of {width} bits"
        f"{' (AVX-512)' if width == 512 else ''}.\n{_KERNELS if width == 512 else ''}"
        f"Versions: {', '.join(f'{name} {v}' for name, v in first['versions'].items())}.\n\n"
    )
    rows = [
        [
            str(Setting(run["threads"], run["bits"])),
            ", ".join(run["kernels"]) or "baseline",
            run["blas"],
            "CPU time" if run["cpu time"] else "the clock",
            f"{run['load']:.1f}",
            "<br>".join(f"`{name}={value}`" for name, value in run["in force"].items()) or "none",
        ]
        for run in runs
    ]
    head = ["setting", "NumPy's loops", "BLAS kernels", "measured", "load average", "variables"]
    note = (
        "\nA load above the number of threads means that other programs ran at the same time, and"
        " that the\nfigures are noisy; CPU time suffers less of it than the clock.\n"
    )
    return text + table(head, rows).replace("--:", "---") + note


def tables(found: Measured, title: str, name: str) -> list[str]:
    """Return the tables of one of ours in each setting."""
    sections = [f"### `{name}`, {s}\n\n{of_setting(figures, name)}" for s, figures in found.items()]
    return [f"## {title}\n", *sections]


def others(first: Any) -> str:
    """Return the section of the others that are measured once."""
    names = ("jax", "torch.func")
    shown = [f for f in first if any(name in f.seconds for name in names)]
    if not shown:
        return ""
    return (
        "## Further ways\n\n`jax` is `jax.grad(f)` operation by operation (loops are compiled all"
        " the same), `torch.func` is\n`torch.func.grad`, `jvp` of `grad`, `jacrev` or `jacfwd` and"
        " `hessian`; both with NumPy's arrays, in\nunits of `fd`.\n\n"
        + of_setting(shown, "fd", names)
    )
