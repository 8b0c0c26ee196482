"""Freezes NIST's certified nonlinear regressions (StRD).

    python -m tests.uncertainty.freeze_nist DIR

DIR has the 27 files as NIST publishes them, ``Misra1a.dat`` and so on; the source distribution of
lmfit has them as ``NIST_STRD``.  Numbers are kept as they are printed.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

FROZEN = Path(__file__).parent / "data" / "nist.json"

_PARAMETER = re.compile(r"^\s*b\d+\s*=(?P<numbers>.*)$")
_NUMBER = re.compile(r"^[-+.\dEe\s]+$")


def read(text: str) -> dict[str, Any]:
    """Return starts, certified values and data of a file."""
    lines = text.splitlines()
    rows = [m["numbers"].split() for line in lines if (m := _PARAMETER.match(line))]
    assert all(len(row) == 4 for row in rows)
    first = max(k for k, line in enumerate(lines) if line.startswith("Data:"))
    data = [line.split() for line in lines[first + 1 :] if line.strip() and _NUMBER.match(line)]
    deviation = next(line for line in lines if line.startswith("Residual Standard Deviation"))
    return {
        "starts": [[row[k] for row in rows] for k in (0, 1)],
        "parameters": [row[2] for row in rows],
        "errors": [row[3] for row in rows],
        "deviation": deviation.split(":")[1].strip(),
        "data": [list(column) for column in zip(*data, strict=True)],
    }


def main() -> None:
    """Write the file of all."""
    files = sorted(Path(sys.argv[1]).glob("*.dat"))
    found = {path.stem: read(path.read_text()) for path in files}
    assert len(found) == 27
    rows = [f"{json.dumps(name)}: {json.dumps(problem)}" for name, problem in found.items()]
    FROZEN.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
