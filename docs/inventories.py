"""Writes inventories of NumPy's and SciPy's documentation, so that links to them need no network.

Both projects have a page ``reference/generated/NAME.html`` for each function and class, at the name
under which they recommend it.  The names are read from the packages that are installed; of what is
public in several places, every name gets the page of the shortest.
"""

from __future__ import annotations

import importlib
import inspect
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any, Final

NUMPY: Final = "https://numpy.org/doc/stable/"
SCIPY: Final = "https://docs.scipy.org/doc/scipy/"
_MODULES: Final = {
    "numpy": (
        "",
        "linalg",
        "fft",
        "lib.stride_tricks",
        "random",
        "testing",
        "polynomial",
        "typing",
    ),
    "scipy": (
        *("special", "linalg", "optimize", "integrate", "interpolate", "signal", "sparse", "stats"),
        *("fft", "ndimage", "spatial", "spatial.distance", "sparse.linalg", "cluster.hierarchy"),
        *("sparse.csgraph", "constants", "cluster.vq", "optimize.elementwise"),
    ),
}
_HEADER: Final = """# Sphinx inventory version 2
# Project: {project}
# Version: {version}
# The remainder of this file is compressed using zlib.
"""


def entries(package: str) -> list[str]:
    """Return the lines of an inventory: name, role, priority, page and title.

    Parameters
    ----------
    package
        ``"numpy"`` or ``"scipy"``.

    Returns
    -------
    list of str
        One line for each public function, class and method, sorted.
    """
    lines = {}
    for inside in _MODULES[package]:
        path = f"{package}.{inside}" if inside else package
        module = importlib.import_module(path)
        for name in getattr(module, "__all__", dir(module)):
            found = getattr(module, name, None)
            if name.startswith("_") or isinstance(found, ModuleType) or found is None:
                continue
            for full, role in _documented(f"{path}.{name}", found):
                lines[full] = f"{full} py:{role} 1 {_page(full)} -"
    return [lines[name] for name in sorted(lines)]


def _documented(full: str, found: Any) -> list[tuple[str, str]]:
    if not inspect.isclass(found):
        return [(full, "function" if callable(found) else "data")]
    if issubclass(found, BaseException):
        return [(full, "exception")]
    methods = [name for name in dir(found) if not name.startswith("_")]
    return [(full, "class"), *[(f"{full}.{name}", "method") for name in methods]]


def _page(full: str) -> str:
    return "reference/generated/$.html#$".replace("$", full)


def write_inventories(folder: Path) -> None:
    """Write ``numpy.inv``, and ``scipy.inv`` if SciPy is installed, in Sphinx's second format.

    Parameters
    ----------
    folder
        Where to; it is made if it does not exist.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for package in _MODULES:
        version = importlib.import_module(package).__version__
        body = "\n".join([*entries(package), ""]).encode()
        head = _HEADER.format(project=package, version=version).encode()
        (folder / f"{package}.inv").write_bytes(head + zlib.compress(body, 9))
