"""Parabolic cylinder functions, with their slopes as functions of their own.

D and V solve w'' = (x²/4 - v - 1/2)·w, and W solves w'' = (a - x²/4)·w (NIST Digital Library of
Mathematical Functions, sections 12.2 and 12.14).
"""

from __future__ import annotations

from typing import Any

from funcdiff.scipy.primitives.special.family import Op, result_of, special


def _pair(name: str, order: str, curvature: Op) -> tuple[Op, Op]:
    """Declare a function of an order and a place, and its slope there."""
    value = special(f"{name}_value", order, lambda v, x, y: slope(v, x), run=result_of(name, 0))
    slope: Op = special(
        f"{name}_slope",
        order,
        lambda v, x, y: curvature(v, x) * value(v, x),
        run=result_of(name, 1),
    )
    return value, slope


def _well(v: Any, x: Any) -> Any:
    return x * x / 4 - v - 0.5


pbdv_value, pbdv_slope = _pair("pbdv", "v", _well)
pbvv_value, pbvv_slope = _pair("pbvv", "v", _well)
pbwa_value, pbwa_slope = _pair("pbwa", "a", lambda a, x: a - x * x / 4)
