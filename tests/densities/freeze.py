"""Freeze what ArviZ says of chains: ``python -m tests.densities.freeze``, with ArviZ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import arviz

from tests.densities.chains import KINDS, NUMBERS, chains

FROZEN: Final = Path(__file__).with_name("arviz.json")

if __name__ == "__main__":
    found = {}
    for numbers in NUMBERS:
        for kind in KINDS:
            x = chains(numbers, kind)
            values = (arviz.rhat(x), arviz.ess(x, method="bulk"), arviz.ess(x, method="tail"))
            found[f"{numbers}, {kind}"] = [float(value) for value in values]
    FROZEN.write_text(json.dumps({"arviz": arviz.__version__, "found": found}, indent=1) + "\n")
