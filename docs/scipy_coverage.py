"""The part of coverage.md that is about SciPy: what its namespaces cover, and what they refuse."""

from __future__ import annotations

import inspect
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import funcdiff.scipy
from funcdiff.scipy import covered

INTRODUCTION: Final = """\
## SciPy

`from funcdiff.scipy import linalg` in place of `from scipy import linalg`, and so with the others:
all of SciPy's names are there. What is covered takes plain arrays, for which it is SciPy's own, and
traced ones, in both modes, to any order, under `jit` and `vmap`, and all of SciPy's keywords, but
for what the notes say.
"""


def modules() -> list[str]:
    """Return the modules of SciPy's that have a namespace, and import those."""
    path = funcdiff.scipy.__path__
    for found in pkgutil.walk_packages(path, "funcdiff.scipy."):
        if found.ispkg:
            import_module(found.name)
    return sorted(covered.opened)


def covered_rows(module: str) -> Iterator[list[str]]:
    """Yield the row of each function, class and object that is covered."""
    names = covered.table[module]
    for name in sorted(covered.public(names), key=str.lower):
        value = names[name]
        kind = "class" if isinstance(value, type) else "object"
        kind = "function" if inspect.isroutine(value) else kind
        yield [f"`{name}`", kind, covered.notes.get((module, name), "")]


def refused_rows(module: str) -> Iterator[list[str]]:
    """Yield a row for each reason for which names are refused."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, why in covered.refused.get(module, {}).items():
        names[why].append(f"`{name}`")
    for why, refused in sorted(names.items(), key=lambda item: item[1]):
        yield [", ".join(sorted(refused)), why]
