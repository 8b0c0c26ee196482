"""``python -m funcdiff [--adapt package] script.py ...``: runs a script on traced arrays.

The script itself is adapted, and so are the packages that it imports if they are Python code that
computes with NumPy, SciPy or `math`; those named after ``--adapt`` are, whatever they are made of.
``--adapt`` may stand right behind the script, too; what follows is the script's.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from funcdiff.adapting.adapt import adapt
from funcdiff.adapting.copies import run_script


def main(arguments: list[str]) -> None:
    """Run a script, and the packages that it imports, on traced arrays."""
    parser = argparse.ArgumentParser(prog="python -m funcdiff", description=main.__doc__)
    parser.add_argument(
        "--adapt", action="append", default=[], metavar="PACKAGE", help="adapt this one, too"
    )
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    asked = parser.parse_args(arguments)
    if not asked.script.is_file():
        parser.error(f"there is no file {asked.script}")
    rest = asked.arguments
    while rest[:1] == ["--adapt"] and len(rest) > 1:
        asked.adapt.append(rest[1])
        del rest[:2]
    for name in asked.adapt:
        adapt(name)
    sys.argv = [str(asked.script), *rest]
    sys.path[0] = str(asked.script.resolve().parent)
    run_script(asked.script)


if __name__ == "__main__":
    main(sys.argv[1:])
