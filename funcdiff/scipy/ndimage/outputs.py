"""Writes results into arrays for outputs, converted to their dtype as the compiled code does it."""

from __future__ import annotations

from typing import Any

import numpy as np


def write(output: Any, y: Any, *, rounds: bool = False) -> None:
    """Let an output be some numbers: integers cut off, or rounded and kept from going below 0.

    Too large ones wrap around, as conversion by way of 64 bits has it.
    """
    kind = output.dtype.kind
    if output.dtype == np.float16:
        raise RuntimeError("array type dtype('float16') not supported")
    if kind in "iu" and y.dtype.kind == "f":
        if rounds:
            below = y - 0.5 if kind == "i" else np.zeros_like(y)
            y = np.where(y > 0, y + 0.5, below)
        if rounds and kind == "u":
            y = np.minimum(y, float(np.iinfo(output.dtype).max))
        y = y if output.dtype == np.uint64 else y.astype(np.int64)
    output[...] = y.astype(output.dtype)
