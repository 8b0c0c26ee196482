"""How many ways of calling NumPy's functions each library differentiates, and how many rightly.

Run ``python -m docs.benchmarks.call_patterns [library ...]`` where the library is installed.  The
patterns are those of ``tests/patterns``.  Each is one call of one function, of which the gradient
of a weighted sum is compared with differences along a direction.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

import numpy as np

from tests.patterns.pattern import Pattern, directions, smooth, weights
from tests.patterns.tables import FAMILIES

NAMESPACES: Final = {
    "funcdiff": "funcdiff.numpy",
    "advect": "numpy",
    "autograd": "autograd.numpy",
    "jax": "jax.numpy",
    "mygrad": "mygrad",
}
"""Libraries with ``grad``, and the namespace in which their users call NumPy's functions."""

STEP: Final = 1e-6
TOLERANCE: Final = 1e-6


def leaves(results: Any) -> list[Any]:
    """Return the floating and complex arrays of a result, which may be a tuple or a list."""
    if isinstance(results, tuple | list):
        return [leaf for part in results for leaf in leaves(part)]
    return [results] if np.dtype(getattr(results, "dtype", "O")).kind in "fc" else []


def weighted(p: Pattern, values: list[Any], xp: Any) -> Callable[..., Any]:
    """Return the real function ``Re⟨w, p(x)⟩`` of the floating arguments."""
    places = smooth(values)
    cotangents = weights(leaves(p.function(np, *values)))

    def total(*xs: Any) -> Any:
        changed = list(values)
        for place, x in zip(places, xs, strict=True):
            changed[place] = x
        found = leaves(p.function(xp, *changed))
        terms = [xp.sum(xp.real(w.conj() * y) if w.dtype.kind == "c" else w * y)
                 for w, y in zip(cotangents, found, strict=True)]  # fmt: skip
        return sum(terms[1:], terms[0])

    return total


def by_transform(module: Any, f: Callable[..., Any], xs: list[Any]) -> list[Any]:
    """Return the gradients by ``grad`` with ``argnums``."""
    return list(module.grad(f, tuple(range(len(xs))))(*xs))


def by_tensors(module: Any, f: Callable[..., Any], xs: list[Any]) -> list[Any]:
    """Return the gradients that ``backward`` leaves on MyGrad's tensors."""
    tensors = [module.tensor(x) for x in xs]
    f(*tensors).backward()
    return [t.grad for t in tensors]


def outcome(library: str, p: Pattern) -> str:
    """Return "right", "wrong", or the name of the exception."""
    module, xp = (importlib.import_module(n) for n in (library, NAMESPACES[library]))
    values = p.values()
    xs = [np.asarray(values[place]) for place in smooth(values)]
    f = weighted(p, values, xp)
    try:
        found = (by_tensors if library == "mygrad" else by_transform)(module, f, xs)
        gradients = [np.asarray(g) for g in found]
    except Exception as error:  # whatever a library says of what it lacks
        return type(error).__name__
    if [g.shape for g in gradients] != [x.shape for x in xs]:
        return "wrong"
    ts = directions(xs)
    plain = weighted(p, values, np)
    ahead, behind = ([x + h * t for x, t in zip(xs, ts, strict=True)] for h in (STEP, -STEP))
    expected = (plain(*ahead) - plain(*behind)) / (2 * STEP)
    # the gradient of a complex argument is the ascent direction, or its conjugate
    along = [
        sum(np.sum(change(g) * t).real for g, t in zip(gradients, ts, strict=True))
        for change in (np.conj, np.positive)
    ]
    scale = 1 + abs(expected)
    return "right" if min(abs(a - expected) for a in along) <= TOLERANCE * scale else "wrong"


def main(libraries: list[str]) -> None:
    """Print the counts of each library, and each pattern that it lacks or has wrong."""
    warnings.simplefilter("ignore")
    patterns = [(family, p) for family, found in FAMILIES.items() for p in found
                if family != "special"]  # fmt: skip
    for library in libraries:
        if library == "jax":
            importlib.import_module("jax").config.update("jax_enable_x64", True)
        found = {(family, p.name): outcome(library, p) for family, p in patterns}
        for (family, name), what in found.items():
            if what != "right":
                print(f"  {library}: {family}: {name}: {what}")
        counts = Counter(found.values())
        raised = len(found) - counts["right"] - counts["wrong"]
        print(f"{library} {version(library)}: {counts['right']} right, {counts['wrong']} wrong, "
              f"{raised} raise, of {len(found)}")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:] or ["funcdiff"])
