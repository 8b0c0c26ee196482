"""Draws the figures of the paper: `python docs/paper/figures.py` writes them beside it."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.pyplot as plt

HERE = Path(__file__).parent
OTHERS = ("by hand", "jax.jit, own", "torch, own", "autograd")


def ratios() -> dict[str, list[float]]:
    """Return the other's time divided by that of ``fd.jit``, by contestant, in order of size."""
    page = (HERE.parent / "benchmarks.md").read_text(encoding="utf-8")
    table = page.partition("### `fd.jit`, 1 thread, 256 bits\n")[2].partition("\n\n###")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line]
    head, _, *body = [row for row in rows if len(row) > 1]
    columns = {name: [row[head.index(name)] for row in body] for name in OTHERS}
    numbers = {k: [re.match(r"[\d.]+", cell) for cell in v] for k, v in columns.items()}
    return {k: sorted(float(m[0]) for m in v if m) for k, v in numbers.items()}


def main() -> None:
    """Draw how many workloads are how much slower elsewhere."""
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for name, values in ratios().items():
        label = "hand-written NumPy" if name == "by hand" else name.removesuffix(", own")
        axes.plot(range(1, len(values) + 1), values, marker=".", lw=1, label=label)
    axes.axhline(1.0, color="0.5", lw=0.8)
    axes.set(yscale="log", xlabel="workload, in order of the ratio",
             ylabel="time of the other / time of fd.jit")  # fmt: skip
    axes.legend(frameon=False)
    figure.savefig(HERE / "speed.png", dpi=150)


if __name__ == "__main__":
    main()
