"""Samples of integrals: of several outputs, with ends and break points that move."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcdiff.core.program import Program
from funcdiff.ops.user.integral import Integral, integral
from tests.rules.sample import Sample, body, real, sample

THETA, SCALE = real(2, start=3), np.float64(0.7)


def _integrands(a: Any, b: Any, x: Any) -> Any:
    return np.exp(-b * x) * a[::-1] + x * a, np.cos(b * x) * a[1]


def _jump(a: Any, jump: Any, x: Any) -> Any:
    return (np.where(x < jump, a[0] * x, np.exp(a[1] * x)),)


def _weighted(a: Any, x: Any) -> Any:
    return (np.exp(-a * x) * np.cos(1.5 * x),)


BODY = body(_integrands, THETA, SCALE, 0.0)
WAVE, WEIGHTED = body(lambda a, x: (np.exp(-a * x),), THETA, 0.0), body(_weighted, THETA, 0.0)
JUMP = body(_jump, THETA, 0.0, 0.0)
TIGHT = (("epsabs", 1e-12), ("epsrel", 1e-12))
COSINE = (*TIGHT, ("weight", "cos"), ("wvar", 1.5))
BATCH = ((3, (True, False, False, True)),)


def _integral(program: Program, ends: Program, routine: str, options: Any, batches: Any) -> Any:
    def f(*xs: Any) -> Any:
        points = len(xs) - len(program.inputs) - 1
        p = Integral(program, ends, points, 0, False, routine, options, batches)
        return integral(p, xs)[:-1]

    return f


A, B = np.float64(0.2), np.float64(1.4)


def _over_jump(a: Any, end: Any, jump: Any) -> Any:
    return _integral(JUMP, JUMP, "quad", TIGHT, ())(a, jump, 0.1 * end, end, jump)


SAMPLES: dict[str, list[Sample]] = {
    "integral": [
        sample(_over_jump, THETA, B, np.float64(0.6)),
        sample(_integral(BODY, BODY, "quad_vec", (), ()), THETA, SCALE, A, B, order=1),
        sample(_integral(WAVE, WEIGHTED, "quad", COSINE, ()), THETA, A, B, order=1),
        sample(
            _integral(BODY, BODY, "quad", TIGHT, BATCH),
            real(3, 2, start=5), SCALE, A, B * np.ones(3), order=1,
        ),
    ],
}  # fmt: skip
