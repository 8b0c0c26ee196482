"""The square of a number, which shows what a call costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from docs.benchmarks.workloads.workload import Workload

HELLO = Workload(
    name="hello",
    arguments=lambda _: (np.array(3.0),),
    function=lambda np_, x: x * x,
    by_hand=lambda x: 2.0 * x,
)


def value(x: Any) -> Any:
    """Return the square by multiplying with logarithms."""
    return np.exp(2.0 * np.log(x))


WORKLOADS = (HELLO,)
TINY = (HELLO,)
