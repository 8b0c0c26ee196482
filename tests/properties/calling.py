"""The first call of a function, the later ones and the compiled ones compute the same.

A derivative goes by a tape at first, as a program when it comes back, and is compiled after a few
calls; a jitted function is traced in the first call and runs directly from the second one on.  So
one call tells little about the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.testing.subject import disagreement, rounding

EAGER: Final = 8
"""Calls of which the last ones are compiled."""
JITTED: Final = 3
"""Calls of which the first one traces, and the last ones run directly."""


def every_call(f: Callable[..., Any], *xs: Any) -> Any:
    """Return the first results, and require all later calls and jitted ones to agree.

    Shapes, dtypes and bits are those of the first call; of derivatives when they come back, and of
    jitted calls, which may add up in another order, bits up to rounding.  Whether a leaf without
    axes is an array or a number stays as it was, too.
    """
    first = every_eager_call(f, *xs)
    expected = fd.pytree.flatten(first)[0]
    jitted = fd.jit(f)
    calls = [fd.pytree.flatten(jitted(*xs))[0] for _ in range(JITTED)]
    for found in calls:
        _require_same(found, expected, rounding([*fd.pytree.flatten(xs)[0], *expected]))
        assert list(map(type, found)) == list(map(type, calls[0]))
    return first


def every_eager_call(f: Callable[..., Any], *xs: Any) -> Any:
    """Return the first results, and require that all later plain calls agree.

    A tape adds up in another order than a program, which then keeps its bits.  Where programs are
    checked, that begins at the second call; else nested derivatives go by tapes a little longer.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FUNCDIFF_CHECK", "1")
        fd.clear_caches()  # what has run before goes by a tape, and is interpreted, again
        first = f(*xs)
        tape = expected = fd.pytree.flatten(first)[0]
        for k in range(EAGER - 1):
            found = fd.pytree.flatten(f(*xs))[0]
            if k == 0:
                _require_same(found, tape, rounding([*fd.pytree.flatten(xs)[0], *tape]))
                expected = found
            _require_same(found, expected, tolerance=0.0)
            assert list(map(type, found)) == list(map(type, tape))
    return first


def _require_same(found: list[Any], expected: list[Any], tolerance: float) -> None:
    assert len(found) == len(expected)
    sizes = [np.abs(z[np.isfinite(z)]).max(initial=1.0) for z in map(np.asarray, expected)]
    for y, z in zip(found, expected, strict=True):
        assert np.shape(y) == np.shape(z)
        assert np.asarray(y).dtype == np.asarray(z).dtype
        if tolerance:
            assert disagreement(y, z, tolerance, float(max(sizes))) is None
        else:
            np.testing.assert_array_equal(y, z)
            np.testing.assert_array_equal(np.signbit(np.real(y)), np.signbit(np.real(z)))
