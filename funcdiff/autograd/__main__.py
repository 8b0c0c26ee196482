"""``python -m funcdiff.autograd script.py ...``: runs a program with funcdiff for autograd."""

import runpy
import sys
from pathlib import Path

from funcdiff.autograd.imports import for_workers, in_place_of_autograd

_USAGE = "usage: python -m funcdiff.autograd (script.py | -m module) [argument ...]"


def main(arguments: list[str]) -> None:
    """Run a script, or after ``-m`` a module, with the arguments that follow it."""
    is_module = arguments[:1] == ["-m"]
    if len(arguments) <= is_module:
        sys.exit(_USAGE)
    sys.argv = arguments[is_module:]
    name = sys.argv[0]
    if not is_module:
        sys.path[0] = str(Path(name).resolve().parent)
    with in_place_of_autograd(), for_workers():
        if is_module:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(name, run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
