"""What PyTorch says, frozen by `freeze`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FROZEN: dict[str, list[list[float]]] = json.loads(
    (Path(__file__).parent / "oracle.json").read_text(encoding="utf-8")
)


def assert_frozen(name: str, *arrays: Any) -> None:
    """Assert that arrays are those that were frozen under a name."""
    for a, numbers in zip(arrays, FROZEN[name], strict=True):
        expected = np.asarray(numbers).view(a.dtype).reshape(a.shape)
        scale = max(1.0, float(np.max(np.abs(expected))))
        np.testing.assert_allclose(a, expected, rtol=1e-11, atol=1e-11 * scale)
