"""Every call pattern in every precision: results have NumPy's dtype, gradients the argument's.

Half and extended precision are asked for wherever NumPy itself takes them; integers and booleans
that stand in the place of a floating argument flow through as constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import value_under_trace
from tests.patterns.pattern import FUNCTION, Pattern, smooth, weights
from tests.patterns.tables import FAMILIES

PATTERNS = [
    pytest.param(p, id=f"{family}: {p.name}")
    for family, patterns in FAMILIES.items()
    for p in patterns
]
every_pattern = pytest.mark.parametrize("p", PATTERNS)
Cast = Callable[[Any], Any]


def _cast(real: str, complex_: str) -> Cast:
    """Return the function that changes the precision of floating and complex arrays."""
    names = {"f": real, "c": complex_}
    return lambda x: x.astype(names.get(x.dtype.kind, x.dtype))


def _first_real_is_complex(values: list[Any]) -> list[Any]:
    k = next((k for k, x in enumerate(values) if x.dtype.kind == "f"), None)
    return [
        (x + 0.25j * x[::-1] if x.ndim else x + 0.25j).astype(np.complex64) if j == k else x
        for j, x in enumerate(values)
    ]


CHANGES: Final[dict[str, Callable[[list[Any]], list[Any]]]] = {
    "half": lambda values: list(map(_cast("f2", "c8"), values)),
    "single": lambda values: list(map(_cast("f4", "c8"), values)),
    "extended": lambda values: list(map(_cast("g", "G"), values)),
    "single and double": lambda values: [_cast("f4", "c8")(values[0]), *values[1:]],
    "complex for real": _first_real_is_complex,
}


def _numpy(p: Pattern, values: list[Any]) -> list[Any] | None:
    """Return NumPy's results, or None if it does not take such arguments."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            results = fd.pytree.flatten(p.function(np, *values))[0]
    except (TypeError, ValueError, np.exceptions.ComplexWarning):
        return None
    return [np.asarray(y) for y in results]


@pytest.mark.thinned(288)
@pytest.mark.sampled(12, kind=FUNCTION)
@every_pattern
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_have_numpys_dtype_and_gradients_the_arguments(p: Pattern) -> None:
    for precision in CHANGES:
        try:
            require_dtypes(p, precision)
        except Exception as failure:
            failure.add_note(f"in the precision {precision!r}")
            raise


def require_dtypes(p: Pattern, precision: str) -> None:
    values = CHANGES[precision](p.values())
    expected = _numpy(p, values)
    if expected is None:
        return
    found = fd.pytree.flatten(value_under_trace(partial(p.function, np), *values))[0]
    assert [np.asarray(y).dtype for y in found] == [y.dtype for y in expected]
    for y, z in zip(found, expected, strict=True):
        if p.exact or z.dtype.kind in "biu":
            np.testing.assert_array_equal(y, z)
        else:
            np.testing.assert_allclose(y, z, rtol=256 * np.finfo(z.dtype).eps, atol=1e-2)
    places = smooth(values)
    floating = [k for k, y in enumerate(expected) if y.dtype.kind in "fc"]

    def function(*xs: Any) -> list[Any]:
        changed = list(values)
        for k, x in zip(places, xs, strict=True):
            changed[k] = x
        results = fd.pytree.flatten(p.function(np, *changed))[0]
        return [results[k] for k in floating]

    xs = tuple(values[k] for k in places)
    cotangents = weights([expected[k] for k in floating])
    ys, pull = fd.vjp(function, *xs)
    cts = pull([v.astype(y.dtype)[()] for v, y in zip(cotangents, ys, strict=True)])
    assert [(ct.shape, ct.dtype) for ct in cts] == [(x.shape, x.dtype) for x in xs]
    tangents = fd.jvp(function, xs, xs)[1]
    assert [t.dtype for t in tangents] == [y.dtype for y in ys]
