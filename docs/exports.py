"""Write export-coverage.md, the page of what can be exported, from what was run.

Every operation of the registry has samples, so that every one is in the table.

``python -m docs.exports`` writes the page anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).with_name("export-coverage.md")
FROZEN: Final = Path(__file__).parents[1] / "tests" / "reading" / "exports.json"

_HEAD: Final = """\
# What can be exported

<!-- Written by docs/exports.py: python -m docs.exports -->

This page says which operations [`export`](export.md) can write for JAX, PyTorch and CuPy. The tests
have samples of each operation.

- "yes": the texts of all samples were run on the CPU, with JAX under `jax.jit`, and gave NumPy's
  results to half the digits of the dtype or more.
- "in part": so did those of some samples, and others are refused.
- "no": the operation is refused.

The texts for CuPy were written, but not run.

| operations | JAX | PyTorch | CuPy |
|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(set().union(*map(_names, frozen.values()))):
        answers = tuple(_answer(frozen[target], name) for target in ("jax", "torch"))
        cupy = "no" if name in frozen["cupy"]["refused"] else "yes"
        groups.setdefault((*answers, cupy), []).append(f"`{name}`")
    order = ["yes", "in part", "no"]
    rows = sorted(groups.items(), key=lambda row: [order.index(word) for word in row[0]])
    return _HEAD + "".join(
        f"| {', '.join(names)} | {' | '.join(answers)} |\n" for answers, names in rows
    )


def _names(frozen: dict[str, Any]) -> set[str]:
    """Return the operations of which there are samples."""
    tried = {sample.rpartition("-")[0] for sample in (*frozen["verified"], *frozen["failed"])}
    return tried.union(frozen["refused"])


def _answer(frozen: dict[str, Any], name: str) -> str:
    verified = any(sample.rpartition("-")[0] == name for sample in frozen["verified"])
    failed = any(sample.rpartition("-")[0] == name for sample in frozen["failed"])
    if not verified:
        return "no"
    return "in part" if failed or name in frozen["refused"] else "yes"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
