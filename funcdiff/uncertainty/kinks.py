"""Finds kinks within the uncertainty of arguments: what `explain` knows of kinks, in sigmas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from funcdiff.api.calls.tracing import run
from funcdiff.api.derivatives.jacobian import value_and_jacobian
from funcdiff.core.program import Program
from funcdiff.reading.explanation.inspections import kinked, phrase
from funcdiff.reading.provenance import Examined, origin_of

_BESIDE: Final = 1e-7
"""So many standard deviations beside the point: on a kink itself, a distance has no slope."""


def near_kinks(g: Callable[[Any], Any], x: Any, L: Any) -> Iterator[str]:
    """Say which kinks lie within a standard deviation of the point; ``L·Lᵀ`` is the covariance."""
    beside = _BESIDE * np.random.default_rng(0).standard_normal(L.shape[1])
    examined = Examined.of(lambda s: g(x + L @ s), (beside,), {})
    program, captured = examined.program, examined.trace.captures
    for _, eq, gap, convention in kinked(program):
        seen = Program(
            program.inputs, program.equations, (*eq.operands, eq.results[0]), program.origins
        )

        def distance(s: Any, seen: Any = seen, gap: Any = gap, p: Any = eq.params) -> Any:
            *xs, y = run(seen, [s, *captured])
            return np.reshape(gap(p, xs, y), -1)

        gaps, slopes = value_and_jacobian(distance)(beside)
        sigma = np.sqrt(np.sum(slopes * slopes, axis=1))
        close = (gaps <= sigma) & (sigma > 0)
        if np.any(close):
            nearest = np.min(gaps[close] / sigma[close])
            place = origin_of(program, eq.results[0]).place
            where = f" at {place}" if place else ""
            yield (
                f"fd.propagate: {phrase(program, eq)}{where} has a kink {nearest:.2g} standard "
                f"deviations away ({convention}), which linearization does not see. Compare with "
                "samples=, or give check=False."
            )
