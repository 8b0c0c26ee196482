"""Run cases in a process of its own; each outcome is written as soon as it is known."""

from __future__ import annotations

import faulthandler
import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import funcdiff as fd
from docs.packages.cases import cases
from docs.packages.checks import outcomes


def main(output: Path, titles: set[str]) -> None:
    """Run the cases with given titles, and append a line to a file for each before and after."""
    with output.open("a", encoding="utf-8") as lines:
        for case in [c for c in cases() if c.title in titles]:
            print(json.dumps({"title": case.title, "started": True}), file=lines, flush=True)
            row: dict[str, Any] = {"title": case.title}
            plain = case.function(import_module)
            row["as it is"] = outcomes(case, import_module, plain)
            row["adapted"] = outcomes(case, fd.adapt, plain)
            print(json.dumps(row), file=lines, flush=True)


if __name__ == "__main__":
    faulthandler.enable(all_threads=False)
    np.seterr(all="ignore")
    logging.disable()
    main(Path(sys.argv[1]), set(sys.argv[2:]))
