"""What holds of every function of arrays: NumPy's value, adjoint modes, a batch that is a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.testing import strategies
from funcdiff.testing.subject import disagreement, rounding
from tests.numpy.agreement import value_under_trace
from tests.properties.calling import every_call

Function = Callable[..., Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

SLOW: Final = settings().max_examples > 10
"""Whether slow tests are run, of more examples and of longer programs."""


def examples(quick: int, slow: int) -> settings:
    """Return how many examples are drawn by default, and how many with the slow tests."""
    return settings(max_examples=slow if SLOW else quick, deadline=None)


few: Final = settings(max_examples=settings().max_examples // 3)
"""A third of the profile's examples: each of them is checked in every mode."""

REAL: Final = ("f2", "f4", "f8", "g")
COMPLEX: Final = ("c8", "c16")
DISCRETE: Final = ("?", "i1", "u2", "i8")
DTYPES: Final = (*REAL, *COMPLEX, *DISCRETE)


def arrays(
    draw: Draw, shape: tuple[int, ...], kinds: Sequence[str] = (*REAL, *COMPLEX)
) -> np.ndarray[Any, Any]:
    """Draw an array of one of the dtypes, sometimes not contiguous in memory."""
    dtype = np.dtype(draw(st.sampled_from(kinds)))
    x = draw(strategies.arrays(shape, dtype))
    return np.asarray(np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim and draw(st.booleans()) else x)


def require_value(f: Function, *xs: Any, exact: bool = True) -> None:
    """Require NumPy's value under a trace: bits, shapes and dtypes; contractions to rounding."""
    expected = fd.pytree.flatten(f(*xs))[0]
    found = fd.pytree.flatten(value_under_trace(f, *xs))[0]
    assert len(found) == len(expected)
    for y, z in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        if exact or z.dtype.kind in "biu":
            np.testing.assert_array_equal(y, z)
        else:
            assert disagreement(y, z, rounding([y, z, *xs])) is None


def require_laws(f: Function, *xs: Any, exact: bool = True) -> None:
    """Require NumPy's value, <v, J t> = <Jᴴ v, t>, and a batch of pullbacks that is a loop.

    Derivatives are computed in every kind of call (see `every_call`).
    """
    require_value(f, *xs, exact=exact)
    places = [k for k, x in enumerate(xs) if x.dtype.kind in "fc"]

    def floating(*given: Any) -> list[Any]:
        changed = list(xs)
        for k, x in zip(places, given, strict=True):
            changed[k] = x
        return [y for y in fd.pytree.flatten(f(*changed))[0] if y.dtype.kind in "fc"]

    points = tuple(xs[k] for k in places)
    random = np.random.default_rng(len(xs) + sum(x.size for x in xs))
    tangents = tuple(_noise(random, x) for x in points)
    weights = [_noise(random, np.asarray(y)) for y in floating(*points)]

    def pulled(*given: Any) -> Any:
        return fd.vjp(floating, *given)[1](weights)

    def derivatives(*given: Any) -> Any:
        return fd.jvp(floating, given, tangents), pulled(*given)

    (ys, pushed), cts = every_call(derivatives, *points)
    assert [(ct.shape, ct.dtype) for ct in cts] == [(x.shape, x.dtype) for x in points]
    left = [np.vdot(v, t) for v, t in zip(weights, pushed, strict=True)]
    right = [np.vdot(ct, t) for ct, t in zip(cts, tangents, strict=True)]
    scale = sum(float(np.sum(np.abs(v) * np.abs(t))) for v, t in zip(weights, pushed, strict=True))
    eps = rounding([*xs, *ys])
    assert disagreement(np.real(np.sum(left)), np.real(np.sum(right)), eps, 1.0 + scale) is None
    batch = [np.stack([x, x[::-1] if x.ndim else -x]) for x in points]
    loops = [pulled(*(x[k] for x in batch)) for k in range(2)]
    for k, found in enumerate(fd.vmap(pulled)(*batch) if batch else ()):
        loop = np.stack([row[k] for row in loops])
        assert disagreement(found, loop, eps, 1.0 + float(np.max(np.abs(loop), initial=0))) is None


def _noise(random: np.random.Generator, x: Any) -> Any:
    x = np.asarray(x)
    noise = random.uniform(-1, 1, x.shape)
    if x.dtype.kind == "c":
        noise = noise + 1j * random.uniform(-1, 1, x.shape)
    return np.asarray(noise).astype(x.dtype)[()]
