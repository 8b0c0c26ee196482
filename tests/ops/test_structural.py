"""Operations that move elements: whatever the layout in memory, every bit of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcdiff.core.running.evaluate import evaluate
from funcdiff.core.text.parse import parse

N = 5000
RANDOM = np.random.default_rng(0)
WILD: dict[str, Any] = {
    "array": RANDOM.normal(size=N),
    "special": np.resize([np.nan, -0.0, np.inf, 1.0, -np.inf], N),
    "number": np.broadcast_to(1.5, N),
    "zero": np.broadcast_to(0.0, N),
    "negative zero": np.broadcast_to(-0.0, N),
    "strided": RANDOM.normal(size=2 * N)[::2],
}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("y", WILD)
@pytest.mark.parametrize("x", WILD)
@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "c128", "bool"])
def test_select_of_long_arrays_takes_every_bit(dtype: str, x: str, y: str) -> None:
    kind = {"f64": "f8", "f32": "f4", "i64": "i8", "c128": "c16", "bool": "?"}[dtype]
    mask = RANDOM.random(N) < 0.3
    with np.errstate(invalid="ignore"):
        a, b = (_as(WILD[name], kind) for name in (x, y))
    program = parse(
        f"program(%0: bool[{N}], %1: {dtype}[{N}], %2: {dtype}[{N}]) {{\n"
        f"  %3: {dtype}[{N}] = select %0, %1, %2\n  return %3\n}}"
    )
    before = a.tobytes(), b.tobytes()
    (result,) = evaluate(program, (mask, a, b))
    expected = np.where(mask, a, b)
    assert result.dtype == expected.dtype
    assert result.tobytes() == expected.tobytes()
    assert (a.tobytes(), b.tobytes()) == before


def _as(x: Any, kind: str) -> Any:
    """Convert, keeping an array that is one number repeated so."""
    return np.broadcast_to(x[0].astype(kind), N) if x.strides == (0,) else x.astype(kind)
