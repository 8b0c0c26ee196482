"""How many ways of calling NumPy's functions each library differentiates, and how many rightly.

Run ``python -m docs.benchmarks.call_patterns LIBRARY [N]`` where the library is installed, with N
for every Nth pattern.  The patterns are those of ``tests/patterns``.  Each is one call of one
function, of which the gradient of a weighted sum is compared with differences along a direction.

JAX and PyTorch ask for arrays and a namespace of their own.  What cannot be written there under
NumPy's name, or means something else, is counted apart: it tells nothing of their derivatives.
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
    "torch": "array_api_compat.torch",  # which has PyTorch's functions with NumPy's keywords
}
"""Libraries, and the namespace in which their users call NumPy's functions."""

OF_OWN_ARRAYS: Final = {"jax": "asarray", "torch": "as_tensor"}
"""Libraries whose users hold arrays of their own, and what makes one."""

STEP: Final = 1e-6
TOLERANCE: Final = 1e-6


def own(library: str, value: Any) -> Any:
    """Return an array as the library's users hold it."""
    if library not in OF_OWN_ARRAYS or not isinstance(value, np.ndarray):
        return value
    xp = importlib.import_module(NAMESPACES[library])
    return getattr(xp, OF_OWN_ARRAYS[library])(value)


def plain(array: Any) -> Any:
    """Return an array of any library as one of NumPy's; PyTorch conjugates when it has to."""
    return np.asarray(array.resolve_conj() if hasattr(array, "resolve_conj") else array)


def leaves(results: Any) -> list[Any]:
    """Return the floating and complex arrays of a result, which may be a tuple or a list."""
    if isinstance(results, tuple | list):
        return [leaf for part in results for leaf in leaves(part)]
    dtype = str(getattr(results, "dtype", ""))
    return [results] if "float" in dtype or "complex" in dtype else []


def weighted(p: Pattern, values: list[Any], xp: Any, library: str = "") -> Callable[..., Any]:
    """Return the real function ``Re⟨w, p(x)⟩`` of the floating arguments."""
    places = smooth(values)
    cotangents = weights(leaves(p.function(np, *values)))
    given = [own(library, value) for value in values]

    def total(*xs: Any) -> Any:
        changed = list(given)
        for place, x in zip(places, xs, strict=True):
            changed[place] = x
        found = leaves(p.function(xp, *changed))
        terms = [xp.sum(xp.real(own(library, w.conj()) * y) if w.dtype.kind == "c"
                        else own(library, w) * y)
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


def by_torch_func(module: Any, f: Callable[..., Any], xs: list[Any]) -> list[Any]:
    """Return the gradients by the transforms that PyTorch has beside its tensors' `backward`."""
    return by_transform(module.func, f, [module.as_tensor(x) for x in xs])


WAYS: Final = {"mygrad": by_tensors, "torch": by_torch_func}
"""How gradients are asked for, if not by transforms."""


def can_be_written(library: str, p: Pattern, values: list[Any]) -> bool:
    """Return whether the library's namespace has the call, and it means what NumPy's does."""
    xp = importlib.import_module(NAMESPACES[library])
    try:
        found = leaves(p.function(xp, *[own(library, value) for value in values]))
        expected = leaves(p.function(np, *values))
        return len(found) == len(expected) and all(
            a.shape == np.shape(b) and np.allclose(plain(a), b, equal_nan=True)
            for a, b in zip(found, expected, strict=True)
        )
    except Exception:  # whatever it says of what it lacks
        return False


def outcome(library: str, p: Pattern) -> str:
    """Return "right", "wrong", "not there", or the name of the exception."""
    module, xp = (importlib.import_module(n) for n in (library, NAMESPACES[library]))
    values = p.values()
    if library in OF_OWN_ARRAYS and not can_be_written(library, p, values):
        return "not there"
    xs = [np.asarray(values[place]) for place in smooth(values)]
    f = weighted(p, values, xp, library)
    try:
        found = WAYS.get(library, by_transform)(module, f, xs)
        gradients = [plain(g) for g in found]
    except Exception as error:  # whatever a library says of what it lacks
        return type(error).__name__
    if [g.shape for g in gradients] != [x.shape for x in xs]:
        return "wrong"
    ts = directions(xs)
    in_numpy = weighted(p, values, np)
    ahead, behind = ([x + h * t for x, t in zip(xs, ts, strict=True)] for h in (STEP, -STEP))
    expected = (in_numpy(*ahead) - in_numpy(*behind)) / (2 * STEP)
    # the gradient of a complex argument is the ascent direction, or its conjugate
    along = [
        sum(np.sum(change(g) * t).real for g, t in zip(gradients, ts, strict=True))
        for change in (np.conj, np.positive)
    ]
    scale = 1 + abs(expected)
    return "right" if min(abs(a - expected) for a in along) <= TOLERANCE * scale else "wrong"


def prepare(library: str) -> None:
    """Let a library compute with double precision, and make arrays by NumPy's name."""
    if library == "jax":
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    if library == "torch":
        torch = importlib.import_module("torch")
        torch.set_default_dtype(torch.float64)
        importlib.import_module(NAMESPACES["torch"]).array = torch.as_tensor  # type: ignore[attr-defined]


def main(library: str = "funcdiff", stride: str = "1") -> None:
    """Print the counts of a library, and each pattern that it lacks or has wrong."""
    warnings.simplefilter("ignore")
    patterns = [(family, p) for family, found in FAMILIES.items() for p in found
                if family != "special"][:: int(stride)]  # fmt: skip
    prepare(library)
    found = {}
    for k, (family, p) in enumerate(patterns):
        found[family, p.name] = outcome(library, p)
        if library == "jax" and k % 200 == 0:
            importlib.import_module("jax").clear_caches()  # which take gigabytes
    for (family, name), what in found.items():
        if what != "right":
            print(f"  {library}: {family}: {name}: {what}")
    counts = Counter(found.values())
    raised = len(found) - sum(counts[k] for k in ("right", "wrong", "not there"))
    print(f"{library} {version(library)}: {counts['right']} right, {counts['wrong']} wrong, "
          f"{raised} raise, {counts['not there']} not there, of {len(found)}")  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
