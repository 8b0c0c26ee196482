"""Samples of whether an operation raises, and of what raises."""

from __future__ import annotations

import numpy as np

from funcdiff.core.builder import bind
from funcdiff.core.primitive import NONE, operation, registered
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.ops.control.guard import demand
from funcdiff.ops.elementwise.logic import isnan
from funcdiff.ops.linalg.factorizations import cholesky_p
from funcdiff.ops.linalg.systems import Triangle
from funcdiff.ops.user.failing import Fails, fails_p, program_of_operation
from tests.rules.sample import Sample, real, sample

POSITIVE = np.array([[2.0, 0.3], [0.3, 1.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])


def _fails(a: Tracer) -> Tracer:
    op = operation(cholesky_p, Triangle(True), (ArrayType(a.shape, a.dtype),))
    return bind(fails_p, Fails(program_of_operation(op), ()), a)[0]


def _fails_by_floating_errors(a: Tracer) -> Tracer:
    op = operation(registered("log"), NONE, (ArrayType(a.shape, a.dtype),))
    return bind(fails_p, Fails(program_of_operation(op), (), ("divide", "invalid")), a)[0]


SAMPLES: dict[str, list[Sample]] = {
    "demand": [sample(lambda x: demand(x, isnan(x), ValueError("nan")), real(3, 2))],
    "fails": [
        sample(_fails, POSITIVE),
        sample(_fails, INDEFINITE),
        sample(_fails_by_floating_errors, POSITIVE - 0.3),
    ],
}
