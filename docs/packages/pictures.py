"""Run a page of the gallery that needs a package, and keep its picture for the documentation."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import Final

import matplotlib as mpl
import matplotlib.pyplot as plt

FOLDER: Final = Path(__file__).parents[1] / "_static" / "packages"


def main(page: Path) -> None:
    """Run a page, and write its one figure; the same figure gives the same file."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = page.stem
    runpy.run_path(str(page), run_name="__main__")
    (number,) = plt.get_fignums()
    FOLDER.mkdir(exist_ok=True)
    plt.figure(number).savefig(
        FOLDER / f"{page.stem}.svg", bbox_inches="tight", metadata={"Date": None}
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
