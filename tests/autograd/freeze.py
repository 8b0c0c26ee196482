"""Freeze what autograd says of every program, as a small data file beside the tests.

Run ``python -m tests.autograd.freeze`` in an environment with the extra ``bench``.
"""

from __future__ import annotations

import json
import runpy
import warnings
from pathlib import Path

from tests.autograd.flattened import numbers

PROGRAMS = Path(__file__).parent / "programs"
VALUES = Path(__file__).with_name("values.json")


def main() -> None:
    """Run the programs with autograd."""
    warnings.simplefilter("ignore")
    found = {}
    for program in sorted(PROGRAMS.glob("*.py")):
        results = runpy.run_path(str(program))["run"]()
        found[program.stem] = {name: [*numbers(y)] for name, y in results.items()}
    lines = [
        f"{json.dumps(program)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(y)}" for name, y in results.items())
        + "\n}"
        for program, results in found.items()
    ]
    VALUES.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
