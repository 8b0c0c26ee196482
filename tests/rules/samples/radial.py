"""Samples of functions of a radius: of a norm and a root, with parameters of both shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff.ops.elementwise import mathematics as ops
from funcdiff.ops.linalg.radial import Radial, known, radial
from tests.rules.sample import Sample, body, real, sample

SQUARES = np.array([0.4, 2.3, 1.1])


def _waves(r: Any, k: Any) -> Any:
    return (np.cos(k * r) * (1 + r),)


def _bells(r: Any, a: Any, b: Any) -> Any:
    return ((a + r) * np.exp(-b * r),)


def _functions(f: Callable[..., Any], *, order: int, kink: bool) -> Callable[..., Any]:
    """Return what is known to be the function of a square and parameters that `f` is."""

    def function(s: Any, *parameters: Any) -> Any:
        numbers = [np.ones(()) for _ in range(1 + len(parameters))]
        r = ops.root_of_squares(s)
        (y,) = f(r, *parameters)
        if order:  # of g(r) = r⁴ that is 2·r²
            y = 2 * s
        return radial(Radial(body(f, *numbers), order, kink), [y, r, s, *parameters])

    return function


def _fourth(r: Any) -> Any:
    return (r**4,)


SAMPLES: dict[str, list[Sample]] = {
    "radial": [
        sample(_functions(_waves, order=0, kink=True), SQUARES, real(3)),
        sample(_functions(_waves, order=0, kink=False), SQUARES, np.array(0.7)),
        sample(_functions(_bells, order=0, kink=True), SQUARES, np.array(0.7), real(3)),
        sample(_functions(_fourth, order=1, kink=True), SQUARES),
    ],
    "known": [sample(lambda x: known(2 * x, x + x), real(3, 2))],
}
